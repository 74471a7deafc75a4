//! What is wrong with a row, in words: line, column, what to do.

use super::culture::{Contradiction, Place};
use super::rows::{Fault, Reading, RowError};
use crate::error::{Reason, Setting};

impl Reading<'_> {
    /// `line 57, column "Size (MB)"`.
    fn where_is(&self, place: Place) -> String {
        let heading = self.columns.headings.get(place.1 as usize);
        let column = heading.map_or_else(String::new, |heading| format!(", column \"{}\"", heading.text));
        format!("line {}{column}", self.line(place))
    }

    /// A line on a row that cannot be read: where it is, and what to do.
    pub fn error_text(&self, error: &RowError) -> Reason {
        let place = self.where_is(error.place);
        let map = |text| Reason::with(Setting::ColumnMap, text);
        match &error.fault {
            Fault::Length(found) => Reason::from(format!(
                "line {}: it has {found} columns where the heading has {}; export the table again, or correct the line",
                self.line(error.place),
                self.columns.says.len()
            )),
            Fault::NoNumber(text) => map(format!(
                "{place}: \"{text}\" is no number; the column map can leave a column out: \"HEADING=ignore\""
            )),
            Fault::Negative(text) => map(format!(
                "{place}: \"{text}\" is negative, as in a table of differences; export one snapshot, or leave the \
                 column out in the column map: \"HEADING=ignore\""
            )),
            Fault::Ambiguous(text) => {
                let text = format!(
                    "{place}: \"{text}\" can be two numbers, and nothing in the file tells which sign is the decimal one; \
                     choose the locale of the numbers (en, de, fr, …) or their signs"
                );
                Reason::with(Setting::Locale, text)
            }
            Fault::NoHexadecimal(text) => Reason::from(format!("{place}: \"{text}\" is no hexadecimal number")),
            Fault::OtherBytes(text) => Reason::from(format!(
                "{place}: \"{text}\" is another amount than the pages of the row: it was changed after pfnset wrote it; write it \
                 again"
            )),
            Fault::NoFrameNumber(text) => Reason::from(format!("{place}: \"{text}\" is no page frame number")),
            Fault::TooMany => map(format!(
                "{place}: a page frame number above 40 bits, or more than 16,777,216 combinations of labels: these columns are \
                 not what their headings say; the column map can name them"
            )),
        }
    }

    /// A line on a sign that contradicts the file's culture.
    pub fn contradiction(&self, found: &Contradiction) -> String {
        let place = self.where_is(found.at);
        let is_otherwise = found.sign != found.expected;
        let before = match found.first {
            Some(first) => format!("{} has", self.where_is(first)),
            None => "your options say".to_owned(),
        };
        let other = match is_otherwise {
            true => format!("{before} {}", found.expected),
            false => format!("{before} it in another role"),
        };
        format!(
            "{place}: {} is the {} here, and {other}: a file has one culture; export it again, or correct the cell",
            found.sign, found.role
        )
    }
}
