//! Markdown (GitHub's). Text from outside stays text: no HTML, link, image, mention or list comes of it.

use crate::analysis::table::{Align, Table};
use crate::answer::{Answer, Block, Rows, Units};
use crate::escape::visible;
use crate::forms::cells::{cells, for_table, heading};
use crate::forms::sparkline;
use std::borrow::Cow;
use std::io::{self, Write};

/// Stands between two characters that would have a meaning together; nothing is shown for it.
const NOTHING: &str = "<!-- -->";

/// Writes an answer: warnings, then what it shows, or its tables below their titles.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    answer.headline.iter().try_for_each(|text| writeln!(out, "**{}**\n", plain(text)))?;
    for warning in &answer.warnings {
        writeln!(out, "> {}\n", line(&warning.text))?;
    }
    answer.chosen_by.iter().try_for_each(|text| writeln!(out, "{}\n", line(text)))?;
    match &answer.document {
        Some(blocks) => document(out, blocks, answer),
        None => with_sentences(out, answer),
    }
}

/// Writes parts one below the other. Between a table or a list and what follows is one empty line: without it a sentence would be a row
/// of the table.
fn document(out: &mut dyn Write, blocks: &[Block], answer: &Answer<'_>) -> io::Result<()> {
    let (mut is_open, mut was_list, mut heading) = (false, false, None);
    for part in blocks {
        let is_list = matches!(part, Block::Pair(..) | Block::Item(..) | Block::Bar(_));
        let is_blank = matches!(part, Block::Blank);
        if is_open && (is_blank || !(is_list && was_list)) {
            writeln!(out)?;
        }
        match part {
            Block::Blank => {}
            // A heading above a table is mostly its title.
            Block::Rows(number) => match answer.tables.get(*number).map(Rows::table) {
                Some(own) if own.title.as_ref() == heading => rows(out, &own, answer.units)?,
                _ => block(out, part, answer)?,
            },
            Block::Table(own) if own.title.as_ref() == heading => rows(out, own, answer.units)?,
            _ => block(out, part, answer)?,
        }
        if let Block::Heading(text) | Block::Title(text) = part {
            heading = Some(text);
        }
        let is_table = matches!(part, Block::Rows(_) | Block::Table(_) | Block::Ranked(..) | Block::Either(..));
        (is_open, was_list) = (is_list || is_table, is_list);
    }
    Ok(())
}

/// Writes the tables of an answer, and the sentences that stand above the first and below the last table of its screen: sums, and what is
/// not known.
fn with_sentences(out: &mut dyn Write, answer: &Answer<'_>) -> io::Result<()> {
    let screen = answer.screen.as_deref().unwrap_or_default();
    let is_table =
        |part: &Block| matches!(part, Block::Rows(_) | Block::Table(_) | Block::Ranked(..) | Block::Either(..));
    let first = screen.iter().position(is_table).unwrap_or(screen.len());
    let last = screen.iter().rposition(is_table).map_or(screen.len(), |at| at + 1);
    let (above, below) = (screen.get(..first).unwrap_or_default(), screen.get(last..).unwrap_or_default());
    let is_sentence =
        |part: &&Block| matches!(part, Block::Text(_) | Block::Line(_) | Block::Fitting(_) | Block::Course(..));
    let mut all = answer.tables.iter().map(Rows::table);
    if let Some(one) = all.next() {
        title(out, &one)?;
        above.iter().filter(is_sentence).try_for_each(|part| block(out, part, answer))?;
        rows(out, &one, answer.units)?;
    }
    let mut others = all.peekable();
    if others.peek().is_some() {
        writeln!(out)?;
        tables(out, others, answer.units)?;
    }
    // A screen has the notes in its sentences.
    let notes = answer.notes.iter().filter(|_| answer.screen.is_none());
    let notes = notes.map(|note| Block::Text(note.clone())).collect::<Vec<_>>();
    let mut below = below.iter().filter(is_sentence).chain(&notes).peekable();
    if below.peek().is_some() {
        writeln!(out)?;
    }
    below.try_for_each(|part| block(out, part, answer))
}

/// Writes tables, each below its title.
///
/// # Errors
/// What the writer says.
pub fn tables<'t>(
    out: &mut dyn Write,
    tables: impl IntoIterator<Item = Cow<'t, Table>>,
    units: Units,
) -> io::Result<()> {
    for (number, one) in tables.into_iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        table(out, &one, units)?;
    }
    Ok(())
}

fn block(out: &mut dyn Write, block: &Block, answer: &Answer<'_>) -> io::Result<()> {
    match block {
        Block::Heading(text) | Block::Title(text) => writeln!(out, "**{}**\n", plain(text)),
        Block::Text(text) | Block::Line(text) => writeln!(out, "{}\n", line(text)),
        Block::Fitting(texts) => texts.first().map_or(Ok(()), |text| writeln!(out, "{}\n", line(text))),
        Block::Pair(label, _, text) => writeln!(out, "- {}: {}", line(label), plain(text)),
        Block::Item(indent, text) => writeln!(out, "{:indent$}- {}", "", line(text)),
        Block::Course(label, course) => writeln!(out, "{} {}\n", line(label), sparkline::shown(course, None)),
        Block::Bar(parts) => parts.iter().try_for_each(|(words, _)| writeln!(out, "- {}", line(words))),
        Block::Rows(number) | Block::Ranked(number, ..) | Block::Either(number, _) => {
            match answer.tables.get(*number) {
                Some(rows) => table(out, &rows.table(), answer.units),
                None => Err(io::Error::other("the answer has no such table")),
            }
        }
        Block::Table(own) => table(out, own, answer.units),
        Block::Blank => writeln!(out),
    }
}

fn table(out: &mut dyn Write, table: &Table, units: Units) -> io::Result<()> {
    title(out, table)?;
    rows(out, table, units)
}

fn title(out: &mut dyn Write, table: &Table) -> io::Result<()> {
    table.title.iter().try_for_each(|title| writeln!(out, "**{}**\n", plain(title)))
}

fn rows(out: &mut dyn Write, table: &Table, units: Units) -> io::Result<()> {
    let units = for_table(units, table);
    let cell = |text: &String| plain(text).replace('|', "\\|").replace("  ", "&emsp;");
    let titles = table.columns.iter().map(|column| cell(&heading(column, units.size)));
    writeln!(out, "| {} |", titles.collect::<Vec<_>>().join(" | "))?;
    let rules = table.columns.iter().map(|column| if column.align == Align::Left { "---" } else { "---:" });
    writeln!(out, "|{}|", rules.collect::<Vec<_>>().join("|"))?;
    for line in &table.lines {
        let mut cells = cells(line, units, None);
        cells.resize(table.columns.len().max(cells.len()), String::new());
        writeln!(out, "| {} |", cells.iter().map(cell).collect::<Vec<_>>().join(" | "))?;
    }
    Ok(())
}

/// A text on a line of its own, where its first characters could begin a list, a heading or a quotation.
fn line(text: &str) -> String {
    let text = plain(text.trim_start());
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match text.chars().next() {
        Some('#' | '+' | '-' | '=' | '>' | ':') => format!("\\{text}"),
        Some(c) if c.is_ascii_digit() && number.starts_with(['.', ')']) => {
            let digits = text.len() - number.len();
            format!("{}\\{number}", text.get(..digits).unwrap_or_default())
        }
        _ => text,
    }
}

/// A text in which no character has a meaning of its own.
fn plain(text: &str) -> String {
    let text = visible(text);
    let mut shown = String::with_capacity(text.len() + 8);
    let (mut before, mut rest) = (' ', text.chars());
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(' ');
        // In a word, `_` has no meaning.
        let is_marked = match c {
            '\\' | '`' | '*' | '[' | ']' | '~' => true,
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '<' => after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?'),
            '&' => after == '#' || after.is_ascii_alphanumeric(),
            _ => false,
        };
        if is_marked {
            shown.push('\\');
        }
        shown.push(c);
        let is_joined = match c {
            '@' => after.is_alphanumeric() || after == '_',
            '#' => after.is_ascii_digit(),
            ':' => after == '/' || ends_with_scheme(&shown),
            'w' | 'W' => after == '.' && ends_with(&shown, "www"),
            '-' => after.is_ascii_digit() && ends_with(&shown, "GH-"),
            _ => false,
        };
        if is_joined {
            shown.push_str(NOTHING);
        }
        before = c;
    }
    shown
}

/// True for an address that needs no `//`.
fn ends_with_scheme(text: &str) -> bool {
    ends_with(text, "mailto:") || ends_with(text, "xmpp:")
}

fn ends_with(text: &str, end: &str) -> bool {
    let tail = text.len().checked_sub(end.len()).and_then(|at| text.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::{Column, Line, Value};

    #[test]
    fn markdown_keeps_nesting_and_escapes_bars() {
        let mut table = Table {
            columns: vec![Column::text("Name"), Column::number("Pages"), Column::number("Share")],
            ..Table::default()
        }
        .titled("Rows");
        table.lines = vec![Line { depth: 1, ..Line::new([Value::text("a|b"), Value::count(1), Value::Share(50.0)]) }];
        let mut out = Vec::new();
        tables(&mut out, [Cow::Owned(table)], Units::default()).unwrap();
        let expected = "**Rows**\n\n| Name | Pages | Share |\n|---|---:|---:|\n| &emsp;a\\|b | 1 | 50.0 % |\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn parts_of_a_document_do_not_join() {
        let table = || {
            let lines = vec![Line::new([Value::text("a")])];
            Table { columns: vec![Column::text("Name")], lines, ..Table::default() }.titled("All")
        };
        let pair = || Block::Pair("By".into(), 9, "x".into());
        let blocks = vec![
            Block::Title("All".into()),
            Block::Blank,
            Block::Rows(0),
            Block::Line("below".into()),
            pair(),
            pair(),
            Block::Table(table().titled("Other")),
        ];
        let answer = Answer { tables: vec![table().into()], document: Some(blocks), ..Answer::new("s") };
        let mut out = Vec::new();
        write(&answer, &mut out).unwrap();
        let rows = "| Name |\n|---|\n| a |\n";
        let expected = format!("**All**\n\n{rows}\nbelow\n\n- By: x\n- By: x\n\n**Other**\n\n{rows}");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn text_stays_text() {
        for (text, expected) in [
            ("<img src=x>", r"\<img src=x>"),
            ("</td><!-- x", r"\</td>\<!-- x"),
            ("[a](b) ![c](d)", r"\[a\](b) !\[c\](d)"),
            ("`x` *y* ~z~ _w_ a_b", r"\`x\` \*y\* \~z\~ \_w\_ a_b"),
            ("&lt;&#64; & <0.01", r"\&lt;\&#<!-- -->64; & <0.01"),
            ("@user a@b.c @", "@<!-- -->user a@<!-- -->b.c @"),
            ("http://x.y WWW.x.y mailto:q", "http:<!-- -->//x.y WWW<!-- -->.x.y mailto:<!-- -->q"),
            ("#12 GH-3 a#b", "#<!-- -->12 GH-<!-- -->3 a#b"),
            ("C:\\dir\u{202e}\n", r"C:\\dir\\u{202e}\\x0a"),
        ] {
            assert_eq!(plain(text), expected, "{text}");
        }
    }

    #[test]
    fn a_line_begins_no_list_heading_or_quotation() {
        for (text, expected) in [
            ("# a", r"\# a"),
            ("- a", r"\- a"),
            ("    code", "code"),
            ("> q", r"\> q"),
            ("12. x", r"12\. x"),
            ("12 x", "12 x"),
            ("* x", r"\* x"),
        ] {
            assert_eq!(line(text), expected, "{text}");
        }
    }
}
