//! One thing that a page was joined with.

use crate::analysis::resident::explain::cited_event::CitedEvent;

/// Something that the page was joined with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Kind as in JSON.
    pub kind: &'static str,
    /// Kind for people.
    pub title: &'static str,
    /// What it is.
    pub text: String,
    /// First address, and the first address after the range.
    pub range: Option<(u64, u64)>,
    /// The events that name it, by time.
    pub events: Vec<CitedEvent>,
    /// True when the corrected rules decided by it.
    pub corrected: bool,
    /// True when WPA's rules decided by it.
    pub wpa: bool,
}

/// A fact that decides nothing.
pub(super) fn fact(
    kind: &'static str,
    title: &'static str,
    text: String,
    range: Option<(u64, u64)>,
    events: Vec<CitedEvent>,
) -> Fact {
    Fact { kind, title, text, range, events, corrected: false, wpa: false }
}
