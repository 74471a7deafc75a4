//! Tables as Windows Performance Analyzer exports them: headings with units, cells in a culture, any delimiter and encoding.
//!
//! Written from the description of the form, with nothing of the reader: numbers are put together digit by digit.

/// How numbers look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Culture {
    /// Sign before the digits after the point.
    pub decimal: char,
    /// Sign between groups of three digits.
    pub group: char,
}

/// English.
pub const ENGLISH: Culture = Culture { decimal: '.', group: ',' };
/// German.
pub const GERMAN: Culture = Culture { decimal: ',', group: '.' };
/// French, as newer versions of Windows print it.
pub const FRENCH: Culture = Culture { decimal: ',', group: '\u{202f}' };
/// Swiss.
pub const SWISS: Culture = Culture { decimal: '.', group: '\u{2019}' };
/// All of them, with two more kinds of blanks and quotes.
pub const CULTURES: [Culture; 6] =
    [ENGLISH, GERMAN, FRENCH, SWISS, Culture { decimal: ',', group: '\u{a0}' }, Culture { decimal: '.', group: '\'' }];

/// How characters become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Without a mark.
    Utf8,
    /// With a byte-order mark.
    Utf8Marked,
    /// Little-endian, marked.
    Utf16,
    /// Big-endian, marked.
    Utf16BigEndian,
}

/// All encodings.
pub const ENCODINGS: [Encoding; 4] = [Encoding::Utf8, Encoding::Utf8Marked, Encoding::Utf16, Encoding::Utf16BigEndian];

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Sign between cells.
    pub delimiter: char,
    /// Encoding.
    pub encoding: Encoding,
    /// Look of numbers.
    pub culture: Culture,
    /// CRLF, else LF.
    pub crlf: bool,
    /// A column with the number of pages.
    pub pages: bool,
    /// A column with the size, in this unit: `B`, `KB`, `MB`.
    pub size: Option<&'static str>,
    /// A last row with the sums and no keys.
    pub total: bool,
    /// A line `sep=;` above the heading.
    pub declared: bool,
}

impl Default for Form {
    fn default() -> Form {
        Form {
            delimiter: ',',
            encoding: Encoding::Utf8,
            culture: ENGLISH,
            crlf: true,
            pages: true,
            size: Some("MB"),
            total: false,
            declared: false,
        }
    }
}

/// A row: its cells, and how many pages it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// One for each heading.
    pub cells: Vec<String>,
    /// Pages.
    pub pages: u64,
}

impl Culture {
    /// Digits in groups of three.
    fn grouped(self, number: u64) -> String {
        let digits = number.to_string();
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(self.group);
            }
            text.push(digit);
        }
        text
    }

    /// A size as a cell of a column in this unit shows it, rounded to its digits.
    pub fn size(self, pages: u64, unit: &str) -> String {
        let bytes = pages * 4096;
        let per_unit = match unit {
            "B" => return self.grouped(bytes),
            "KB" => 1 << 10,
            "MB" => 1 << 20,
            other => panic!("no unit {other}"),
        };
        let thousandths = (bytes * 1000 + per_unit / 2) / per_unit;
        format!("{}{}{:03}", self.grouped(thousandths / 1000), self.decimal, thousandths % 1000)
    }
}

impl Form {
    fn quoted(&self, cell: &str) -> String {
        match cell.contains([self.delimiter, '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.to_owned(),
        }
    }

    /// The file.
    pub fn file(&self, headings: &[&str], rows: &[Row]) -> Vec<u8> {
        let mut text = String::new();
        let mut line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| self.quoted(cell)).collect();
            text.push_str(&cells.join(&self.delimiter.to_string()));
            text.push_str(if self.crlf { "\r\n" } else { "\n" });
        };
        let mut heading: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
        heading.extend(self.pages.then(|| "Page Count".to_owned()));
        heading.extend(self.size.map(|unit| format!("Size ({unit})")));
        if self.declared {
            line(&[format!("sep={}", self.delimiter)]);
        }
        line(&heading);
        let total = self
            .total
            .then(|| Row { cells: vec![String::new(); headings.len()], pages: rows.iter().map(|row| row.pages).sum() });
        for row in rows.iter().chain(&total) {
            let mut cells = row.cells.clone();
            cells.extend(self.pages.then(|| self.culture.grouped(row.pages)));
            cells.extend(self.size.map(|unit| self.culture.size(row.pages, unit)));
            line(&cells);
        }
        if self.declared {
            // The line itself is never quoted.
            text = text.replacen(&format!("\"sep={}\"", self.delimiter), &format!("sep={}", self.delimiter), 1);
        }
        self.encode(&text)
    }

    fn encode(&self, text: &str) -> Vec<u8> {
        let marked = |text: &str| format!("\u{feff}{text}");
        match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf8Marked => marked(text).into_bytes(),
            Encoding::Utf16 => marked(text).encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16BigEndian => marked(text).encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }
}
