//! Which sign separates the cells of a table.

/// Signs that tables are exported with.
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];
/// Rows that are asked.
const ROWS: usize = 50;

/// The first rows of a table under one delimiter.
pub fn rows_of(text: &str, delimiter: u8) -> Vec<Vec<String>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
    let mut rows = Vec::new();
    let mut record = csv::ByteRecord::new();
    while rows.len() <= ROWS && reader.read_byte_record(&mut record).unwrap_or(false) {
        rows.push(record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect());
    }
    rows
}

/// `sep=;` above the heading: the delimiter, and the text after the line.
pub fn declared(text: &str) -> Option<(u8, usize)> {
    let line = text.split_inclusive('\n').next()?;
    let line = if line.ends_with('\n') { line } else { line.split_inclusive('\r').next()? };
    let sign = line.trim_end_matches(['\r', '\n']).trim_matches('"').strip_prefix("sep=")?;
    match sign.as_bytes() {
        [delimiter] => Some((*delimiter, line.len())),
        [] if line.starts_with("sep=\t") => Some((b'\t', line.len())),
        _ => None,
    }
}

/// The delimiter of a text whose heading is its first line: the one under which most headings are `known`, then the one
/// under which most rows have as many cells as the heading.
pub fn delimiter(text: &str, known: impl Fn(&str) -> bool) -> u8 {
    let score = |delimiter: &u8| {
        let rows = rows_of(text, *delimiter);
        let Some((heading, rows)) = rows.split_first() else { return (0, 0, 0) };
        let named = heading.iter().filter(|heading| known(heading)).count();
        let even = rows.iter().filter(|row| row.len() == heading.len()).count();
        (named, even * 100 / rows.len().max(1), heading.len().min(2))
    };
    // Without evidence, the first one is used.
    DELIMITERS.iter().rev().copied().max_by_key(score).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_rows_tell_the_delimiter() {
        let known = |heading: &str| ["Process", "Size (MB)", "Page Category"].contains(&heading);
        for (text, wanted) in [
            ("Process,Size (MB)\n\"a;b;c\",1.000\n", b','),
            ("Process;Size (MB)\na,b;0,004\n", b';'),
            ("Page Category\tSize (MB)\nImage\t0,004\n", b'\t'),
            ("Page Category\nImage\n", b','),
            ("\"Process;Size\";Size (MB)\nx;0,1\n", b';'),
            ("x;y\n1,2;3,4\n", b';'),
        ] {
            assert_eq!(delimiter(text, known), wanted, "{text}");
        }
        assert_eq!(declared("sep=;\r\na;b\n"), Some((b';', 7)));
        assert_eq!(declared("sep=\t\na\tb\n"), Some((b'\t', 6)));
        assert_eq!(declared("sep=;\ra;b\r"), Some((b';', 6)));
        assert_eq!(declared("separate,b\n"), None);
    }
}
