//! Aligned text for a screen: warnings, headings, tables, bars. This form owns its styles: a line is made harmless before it
//! gets one.

use crate::answer::answer_type::Warnings;
use crate::answer::{Answer, Block, Rows};
use crate::escape::visible;
use crate::forms::column_widths::Fitted;
use crate::forms::line_wrapping::{paragraph, wrap};
use crate::forms::{Look, aligned_table, bar, sparkline};
use crate::units::counted;
use anstyle::{AnsiColor, Style};
use std::borrow::Cow;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Why a block is not written.
const NO_TABLE: &str = "the answer has no such table";

const HEADING: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Writes an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let mut counted = CountedLines { out, lines: 0 };
    above(answer, look, &mut counted)?;
    let lines_above = counted.lines;
    below(answer, look, &mut counted)?;
    let lines = counted.lines;
    if !look.is_shorter_than(lines) {
        return Ok(());
    }
    answer.closing.iter().try_for_each(|line| paragraph(out, line, look.width.into()))?;
    let length = lines - lines_above;
    let last = usize::from(!answer.warnings.is_empty());
    if answer.closing.is_empty() && look.is_shorter_than(length + last) {
        title(answer).map_or(Ok(()), |text| heading(out, &shortened(&visible(&text), look.width.into()), look))?;
    }
    last_line(&answer.warnings, look, out)
}

/// Writes an answer, without what a terminal repeats at the end.
///
/// # Errors
/// What the writer says.
pub(super) fn whole(answer: &Answer<'_>, look: Look, out: &mut dyn Write) -> io::Result<()> {
    above(answer, look, out)?;
    below(answer, look, out)
}

/// What an answer is of: its first line without warnings. Where each of several tables has such a line, that of the last one, which is
/// the table in sight.
fn title(answer: &Answer<'_>) -> Option<String> {
    let of_screen = || {
        let blocks = answer.screen.as_ref()?;
        let first = blocks.first()?;
        let is_alike = |block: &&Block| std::mem::discriminant(*block) == std::mem::discriminant(first);
        let last = || blocks.iter().rfind(is_alike);
        match first {
            Block::Heading(_) | Block::Title(_) if answer.tables.len() > 1 => last().and_then(text_of),
            Block::Heading(_) | Block::Title(_) | Block::Text(_) => text_of(first),
            Block::Rows(number) => answer.tables.get(*number)?.table().title.clone(),
            _ => None,
        }
    };
    let of_tables = || answer.tables.last()?.table().title.clone();
    answer.headline.first().cloned().or_else(of_screen).or_else(of_tables)
}

fn text_of(block: &Block) -> Option<String> {
    match block {
        Block::Heading(text) | Block::Title(text) | Block::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Writes what `write` does; where that is longer than the terminal, it repeats the gravest of these warnings at the end.
///
/// # Errors
/// What the writer says.
pub(super) fn with_last_line(
    out: &mut dyn Write,
    look: Look,
    warnings: &Warnings,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut counted = CountedLines { out, lines: 0 };
    write(&mut counted)?;
    let lines = counted.lines;
    repeated(out, look, warnings, lines)
}

/// Repeats the gravest of these warnings below so many lines, where a terminal has fewer.
///
/// # Errors
/// What the writer says.
pub(crate) fn repeated(out: &mut dyn Write, look: Look, warnings: &Warnings, lines: usize) -> io::Result<()> {
    match look.is_shorter_than(lines) {
        true => last_line(warnings, look, out),
        false => Ok(()),
    }
}

/// Repeats what makes the numbers wrong, in one line, with the number of the other warnings: where they were told first has scrolled
/// away.
fn last_line(warnings: &Warnings, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = warnings.iter().find(|warning| warning.is_grave) else {
        return match warnings.len() {
            0 => Ok(()),
            notes => styled(out, &format!("! {} above", counted(notes as u64, "note", "notes")), WARNING, look),
        };
    };
    let others = warnings.len() - 1;
    let more = if others == 0 { String::new() } else { format!(" (+ {others} above)") };
    let room = usize::from(look.width).saturating_sub(2 + more.width());
    let text = shortened(&visible(&first.text), room);
    styled(out, &format!("! {text}{more}"), WARNING, look)
}

/// The beginning of a text, in so many columns.
fn shortened(text: &str, room: usize) -> String {
    match wrap(text, room.saturating_sub(2)).as_slice() {
        _ if text.width() <= room => text.to_owned(),
        [first, ..] => format!("{} …", first.trim_end_matches([' ', ',', ':', ';'])),
        [] => String::new(),
    }
}

/// A writer that counts lines.
struct CountedLines<'o> {
    out: &'o mut dyn Write,
    lines: usize,
}

impl Write for CountedLines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.lines += bytes.iter().take(written).filter(|&&byte| byte == b'\n').count();
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The headline and the warnings.
fn above(answer: &Answer<'_>, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Fitted::new(out, look.width);
    answer.headline.iter().try_for_each(|line| heading(&mut out, line, look))?;
    if !answer.headline.is_empty() {
        writeln!(out)?;
    }
    warnings(&mut out, &answer.warnings, look)?;
    out.flush()
}

/// What was asked for.
fn below(answer: &Answer<'_>, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Fitted::new(out, look.width);
    match &answer.screen {
        Some(blocks) => {
            let is_title = |part: &Block| matches!(part, Block::Heading(_) | Block::Title(_));
            let (head, rest) = blocks.split_at(blocks.iter().position(is_title).map_or(0, |at| at + 1));
            head.iter().try_for_each(|part| block(&mut out, part, answer, look))?;
            chosen_by(&mut out, answer, look)?;
            rest.iter().try_for_each(|part| block(&mut out, part, answer, look))?;
        }
        None => titled_tables(&mut out, answer, look)?,
    }
    out.flush()
}

/// What chose the rows.
fn chosen_by(out: &mut dyn Write, answer: &Answer<'_>, look: Look) -> io::Result<()> {
    answer.chosen_by.iter().try_for_each(|line| paragraph(out, line, look.width.into()))
}

/// Writes the tables below their titles, and the notes below them.
///
/// # Errors
/// What the writer says.
fn titled_tables(out: &mut dyn Write, answer: &Answer<'_>, look: Look) -> io::Result<()> {
    for (number, one) in answer.tables.iter().map(Rows::table).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        one.title.iter().try_for_each(|title| heading(out, title, look))?;
        let is_chosen = number == 0 && answer.chosen_by.is_some();
        if is_chosen {
            chosen_by(out, answer, look)?;
        }
        if is_chosen || one.title.is_some() {
            writeln!(out)?;
        }
        aligned_table::text(out, &one, answer.units, look.width)?;
    }
    if !answer.notes.is_empty() {
        writeln!(out)?;
    }
    answer.notes.iter().try_for_each(|note| paragraph(out, note, look.width.into()))
}

fn block(out: &mut dyn Write, block: &Block, answer: &Answer<'_>, look: Look) -> io::Result<()> {
    let (units, width) = (answer.units, usize::from(look.width));
    let rows = |number: usize| answer.tables.get(number).map(Rows::table).ok_or_else(|| io::Error::other(NO_TABLE));
    match block {
        Block::Heading(text) => wrap(&visible(text), width).iter().try_for_each(|line| heading(out, line, look)),
        Block::Title(text) => heading(out, text, look),
        Block::Text(text) => paragraph(out, text, width),
        Block::Line(text) => writeln!(out, "{}", visible(text)),
        Block::Fitting(texts) => {
            let fits = |text: &&String| visible(text).width() <= width;
            texts.iter().find(fits).or(texts.last()).map_or(Ok(()), |text| paragraph(out, text, width))
        }
        Block::Pair(label, column, text) => pair(out, label, *column, text, width),
        Block::Item(indent, text) => item(out, *indent, text, width),
        Block::Bar(parts) => bar::text(out, parts, look.width),
        Block::Course(label, course) => {
            let label = visible(label);
            writeln!(out, "{label} {}", sparkline::in_columns(course, width.saturating_sub(label.width() + 1)))
        }
        Block::Rows(number) => aligned_table::text(out, rows(*number)?.as_ref(), units, look.width),
        Block::Table(own) => aligned_table::text(out, own, units, look.width),
        Block::Ranked(number, what, more) => match more
            + aligned_table::ranked(out, rows(*number)?.as_ref(), units, look.width)?
        {
            0 => Ok(()),
            hidden => paragraph(out, &format!("{hidden} smaller {what} are not shown: --format csv has all"), width),
        },
        Block::Either(number, narrow) => {
            let wide = rows(*number)?;
            let fitting = if aligned_table::fits(wide.as_ref(), units, look.width) { wide.as_ref() } else { narrow };
            aligned_table::text(out, fitting, units, look.width)
        }
        Block::Blank => writeln!(out),
    }
}

/// Narrowest that the text of a pair becomes.
const LEAST_OF_PAIR: usize = 12;

fn pair(out: &mut dyn Write, label: &str, column: usize, text: &str, width: usize) -> io::Result<()> {
    let (mut label, text) = (visible(label), visible(text));
    for line in wrap(&text, width.saturating_sub(column).max(LEAST_OF_PAIR)) {
        writeln!(out, "{}", format!("{label:<column$}{line}").trim_end())?;
        label = Cow::Borrowed("");
    }
    Ok(())
}

fn item(out: &mut dyn Write, indent: usize, text: &str, width: usize) -> io::Result<()> {
    let mut mark = "-";
    for part in wrap(&visible(text), width.saturating_sub(indent + 2)) {
        writeln!(out, "{:indent$}{mark} {part}", "")?;
        mark = " ";
    }
    Ok(())
}

/// A bold line.
fn heading(out: &mut dyn Write, text: &str, look: Look) -> io::Result<()> {
    styled(out, &visible(text), HEADING, look)
}

fn styled(out: &mut dyn Write, text: &str, style: Style, look: Look) -> io::Result<()> {
    if look.color { writeln!(out, "{style}{text}{style:#}") } else { writeln!(out, "{text}") }
}

/// The warnings, each on its own lines, before anything else.
///
/// # Errors
/// What the writer says.
pub fn warnings(out: &mut dyn Write, warnings: &Warnings, look: Look) -> io::Result<()> {
    for warning in warnings {
        let mut mark = "! ";
        for part in wrap(&visible(&warning.text), usize::from(look.width).saturating_sub(2)) {
            styled(out, &format!("{mark}{part}"), WARNING, look)?;
            mark = "  ";
        }
    }
    if warnings.is_empty() { Ok(()) } else { writeln!(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::Table;
    use crate::trace::trust::Warning;

    #[test]
    fn what_scrolls_away_is_repeated_in_one_line() {
        let lines = |rows, grave: &[&str]| {
            let answer = Answer {
                warnings: grave.iter().map(|&line| Warning::grave("trace", "data_lost", line.to_owned())).collect(),
                screen: Some(vec![Block::Line("row".into()); 5]),
                ..Answer::new("s")
            };
            let mut out = Vec::new();
            write(&answer, Look { width: 40, color: false, rows }, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().map(str::to_owned).collect::<Vec<String>>()
        };
        let long = "DATA WAS LOST while recording: 10 events, 2 buffers";
        assert_eq!(lines(None, &[long]).len(), 8);
        assert_eq!(lines(Some(9), &[long]).len(), 8);
        assert_eq!(lines(Some(5), &[]).len(), 5);
        assert_eq!(lines(Some(7), &["short"]).last().unwrap(), "! short");
        assert_eq!(lines(Some(7), &[long, "x"]).last().unwrap(), "! DATA WAS LOST while … (+ 1 above)");
    }

    #[test]
    fn a_title_out_of_sight_is_repeated_and_one_in_sight_is_not() {
        let lines = |rows, notes: usize, length: usize| {
            let screen = std::iter::once(Block::Title("Title".into()));
            let answer = Answer {
                warnings: vec![Warning::note("trace", "unusual_file", "note".into()); notes].into(),
                screen: Some(screen.chain(std::iter::repeat_n(Block::Line("row".into()), length)).collect()),
                ..Answer::new("s")
            };
            let mut out = Vec::new();
            write(&answer, Look { width: 40, color: false, rows: Some(rows) }, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().map(str::to_owned).collect::<Vec<String>>()
        };
        assert_eq!(lines(10, 0, 8).len(), 9);
        let end = |length| lines(10, 20, length).split_off(20 + 1 + 1 + length);
        assert_eq!(end(7), ["! 20 notes above"]);
        // The title is the first line in sight, and would be out of sight with a line more.
        assert_eq!(end(8), ["Title", "! 20 notes above"]);
        assert_eq!(end(9), ["Title", "! 20 notes above"]);
        assert_eq!(lines(10, 0, 9).last().unwrap(), "Title");
    }

    /// The heading of the first snapshot stood below the table of the last one.
    #[test]
    fn of_several_tables_the_title_of_the_last_is_repeated() {
        let last_line = |first: Option<&str>| {
            let of_table = |number: usize| {
                let rows = std::iter::repeat_n(Block::Line("row".into()), 12);
                std::iter::once(Block::Title(format!("Snapshot {number}"))).chain(rows)
            };
            let of_all = first.map(|text| Block::Heading(text.into()));
            let answer = Answer {
                tables: vec![Table::default().into(), Table::default().into()],
                screen: Some(of_all.into_iter().chain((0..2).flat_map(of_table)).collect()),
                ..Answer::new("s")
            };
            let mut out = Vec::new();
            write(&answer, Look { width: 40, color: false, rows: Some(10) }, &mut out).unwrap();
            String::from_utf8(out).unwrap().lines().last().unwrap().to_owned()
        };
        assert_eq!(last_line(None), "Snapshot 1");
        assert_eq!(last_line(Some("2 traces: 1 fails")), "2 traces: 1 fails");
    }

    #[test]
    fn only_own_styles_reach_the_terminal() {
        let hostile = || "a\u{1b}]0;x\u{202e}\nb".to_owned();
        let blocks = vec![
            Block::Heading(hostile()),
            Block::Title(hostile()),
            Block::Text(hostile()),
            Block::Line(hostile()),
            Block::Fitting(vec![hostile()]),
            Block::Pair(hostile(), 4, hostile()),
            Block::Item(2, hostile()),
            Block::Bar(vec![(hostile(), 1)]),
        ];
        let warnings = vec![Warning::note("trace", "unusual_file", hostile())].into();
        let answer = Answer { headline: vec![hostile()], warnings, screen: Some(blocks), ..Answer::new("s") };
        for color in [true, false] {
            let mut out = Vec::new();
            write(&answer, Look { width: 60, color, rows: None }, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let bare =
                ["\u{1b}[1m", "\u{1b}[33m", "\u{1b}[0m"].iter().fold(text.clone(), |text, own| text.replace(own, ""));
            assert!(!bare.chars().any(|c| c != '\n' && crate::escape::is_hidden(c)), "{text:?}");
            assert!(bare.matches("a\\x1b]0;x\\u{202e}\\x0ab").count() == 11, "{bare}");
            assert_eq!(text.contains('\u{1b}'), color);
        }
    }
}
