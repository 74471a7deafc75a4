//! Tables that programs exported: WPA's CSV files, and the JSON and CSV of pfnset itself.
//!
//! [`Exported::of`] finds out what a file is by its content, never by its name. All readers give the same result: labels in
//! named dimensions, and how much memory each combination of them has ([`CountedRow`]).

pub mod amount;
mod pfnset_csv;
mod pfnset_json;
pub mod pfnset_table;
pub mod wpa;

use crate::input::Input;
use amount::Amount;
use pfnset_table::PfnsetTable;
use wpa::columns::KnownLabels;
use wpa::text::Text;
use wpa::{WpaExport, WpaOptions};

/// The memory of one combination of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedRow {
    /// One for each dimension asked for.
    pub labels: Vec<Box<str>>,
    /// How much.
    pub amount: Amount,
}

/// What a file is.
#[derive(Debug)]
pub enum Exported {
    /// No text: perhaps a trace.
    NoText(Input),
    /// JSON or CSV that pfnset wrote.
    Pfnset(PfnsetTable),
    /// CSV that WPA exported.
    Wpa(WpaExport),
}

impl Exported {
    /// Looks at the content of a file.
    ///
    /// # Errors
    /// A text that says why it is no table, and what it looks like.
    pub fn of(input: Input, options: &WpaOptions, known: KnownLabels<'_>) -> Result<Exported, String> {
        if input.bytes().is_empty() {
            return Err(format!("{EXPECTED}, and it is empty"));
        }
        let text = Text::new(input.bytes());
        if !text.is_plausible() {
            return Ok(Exported::NoText(input));
        }
        if let Some(reason) = &input.cut {
            return Err(format!("it is cut, and a part of a table cannot be compared: {reason}"));
        }
        let head = text.head(HEAD);
        if head.trim_start().starts_with(['{', '[']) {
            return pfnset_json::read(&text.whole()).map(Exported::Pfnset);
        }
        if pfnset_csv::is_one(&head) {
            return pfnset_csv::read(text).map(Exported::Pfnset);
        }
        WpaExport::new(input, options, known).map(Exported::Wpa)
    }
}

/// Bytes at the begin of a text that are looked at.
const HEAD: usize = 1 << 16;

/// What a file can be, for messages.
pub const EXPECTED: &str = "expected a trace (.etl), JSON or CSV that pfnset wrote, or a table exported by WPA";

/// The first bytes of a file as a person reads them.
pub fn first_bytes(bytes: &[u8]) -> String {
    let start: Vec<u8> = bytes.iter().copied().take(24).collect();
    match std::str::from_utf8(&start) {
        Ok(text) if !text.contains(|c: char| c.is_control() && !c.is_whitespace()) => {
            format!("\"{}\"", text.split(['\r', '\n']).next().unwrap_or_default())
        }
        _ => start.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}
