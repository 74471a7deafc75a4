//! Tables that programs exported: WPA's CSV files, and the JSON and CSV of pfnset itself.
//!
//! [`Exported::of`] finds out what a file is by its content, never by its name. All readers give the same result: labels in
//! named dimensions, and how much memory each combination of them has ([`CountedRow`]).

pub mod amount;
mod file_kind;
mod pfnset_csv;
mod pfnset_json;
pub mod pfnset_table;
pub(crate) mod selection;
pub mod wpa;

pub use amount::CountedRow;
pub use file_kind::{EXPECTED, first_bytes};

use crate::error::Reason;
use crate::input::Input;
use file_kind::HEAD;
use pfnset_table::PfnsetTable;
use wpa::columns::KnownLabels;
use wpa::text::Text;
use wpa::{WpaExport, WpaOptions};

/// What a file is.
#[derive(Debug)]
pub enum Exported {
    /// No text: perhaps a trace.
    NoText(Input),
    /// JSON or CSV that pfnset wrote.
    Pfnset(Box<PfnsetTable>),
    /// CSV that WPA exported.
    Wpa(Box<WpaExport>),
}

impl Exported {
    /// Looks at the content of a file.
    ///
    /// # Errors
    /// A text that says why it is no table, and what it looks like.
    pub fn of(input: Input, options: &WpaOptions, known: KnownLabels<'_>) -> Result<Exported, Reason> {
        if input.bytes().is_empty() {
            return Err(format!("{EXPECTED}, and it is empty").into());
        }
        let text = Text::new(input.bytes());
        if !text.is_plausible() {
            return Ok(Exported::NoText(input));
        }
        if let Some(reason) = &input.cut {
            return Err(format!("it is cut, and a part of a table cannot be compared: {reason}").into());
        }
        let head = text.head(HEAD);
        if head.trim_start().starts_with(['{', '[']) {
            return pfnset_table(pfnset_json::read(&text.whole())?);
        }
        if pfnset_csv::is_one(text, &head) {
            return pfnset_table(pfnset_csv::read(text)?);
        }
        WpaExport::new(input, options, known).map(|export| Exported::Wpa(Box::new(export)))
    }
}

fn pfnset_table(table: PfnsetTable) -> Result<Exported, Reason> {
    table.other_class().map_or(Ok(Exported::Pfnset(Box::new(table))), |reason| Err(reason.into()))
}
