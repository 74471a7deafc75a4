//! What a recorder keyword records: its name, its events, the things that they describe, and what an analysis reads from them.

use crate::etl::record_id::HookId;
use crate::model::category::Category;
use std::slice::from_ref;

/// What one keyword records, as far as analyses use it.
#[derive(Debug)]
pub struct Recorded {
    /// Keyword in a WPR profile.
    pub keyword: &'static str,
    /// Flag of xperf; `None` where xperf has none.
    pub xperf: Option<&'static str>,
    /// What the events are, for people.
    pub events: &'static str,
    /// Things that exist for a while. Events of the first ones show that the keyword was recorded.
    pub things: &'static [Things],
    /// Other events, any of which show that the keyword was recorded.
    pub others: &'static [HookId],
    /// Dimensions whose labels come from it.
    pub dimensions: fn() -> Vec<&'static str>,
    /// Pages that have another category without it.
    pub exchanges: &'static [Exchange],
    /// Kinds of hard faults, by name, of which it tells one from the others.
    pub fault_kinds: &'static [&'static str],
}

/// Things that the kernel lists in rundowns.
#[derive(Debug)]
pub struct Things {
    /// What they are, in the plural.
    pub name: &'static str,
    /// Events at which they begin.
    pub begins: &'static [HookId],
    /// Events at which they end.
    pub ends: &'static [HookId],
    /// Records of the rundown at the start of a session.
    pub at_start: &'static [HookId],
    /// Records of the rundown at its stop.
    pub at_stop: &'static [HookId],
    /// Records of rundowns at any time.
    pub at_any_time: &'static [HookId],
    /// Events of no rundown that tell what there is.
    pub told_by: &'static [HookId],
    /// What becomes of pages when no record of these things is there, though others of their keyword are.
    pub without: &'static str,
}

impl Things {
    /// Things with one event of each kind: begin, end, rundown at the start of a session, rundown at its stop.
    pub(crate) const fn of(name: &'static str, [begin, end, start, stop]: &'static [HookId; 4]) -> Things {
        let (begins, ends, at_start, at_stop) = (from_ref(begin), from_ref(end), from_ref(start), from_ref(stop));
        Things { name, begins, ends, at_start, at_stop, at_any_time: &[], told_by: &[], without: "" }
    }

    /// Records of rundowns.
    pub fn rundowns(&self) -> impl Iterator<Item = HookId> + use<> {
        self.at_start.iter().chain(self.at_stop).chain(self.at_any_time).copied()
    }

    /// What tells of things that were there before.
    pub fn described(&self) -> impl Iterator<Item = HookId> + use<> {
        self.rundowns().chain(self.told_by.iter().copied())
    }

    /// What tells of changes.
    pub fn changes(&self) -> impl Iterator<Item = HookId> + use<> {
        self.begins.iter().chain(self.ends).copied()
    }
}

/// Categories that pages are exchanged between when a part of the things is not known.
#[derive(Debug)]
pub struct Exchange {
    /// Those that cannot occur without the keyword.
    pub needs: &'static [Category],
    /// All of them.
    pub family: &'static [Category],
    /// True where the detail of pages of the first ones comes from it.
    pub has_detail: bool,
    /// True where only WPA's rules exchange them.
    pub is_of_wpa: bool,
}

impl Exchange {
    /// Categories without details that come from the keyword.
    pub(crate) const fn new(needs: &'static [Category], family: &'static [Category]) -> Exchange {
        Exchange { needs, family, has_detail: false, is_of_wpa: false }
    }
}

impl Recorded {
    /// A keyword and its flag in xperf; what its events are, for people.
    pub(crate) const fn new(keyword: &'static str, xperf: Option<&'static str>, events: &'static str) -> Recorded {
        Recorded {
            keyword,
            xperf,
            events,
            things: &[],
            others: &[],
            dimensions: Vec::new,
            exchanges: &[],
            fault_kinds: &[],
        }
    }

    /// A keyword with a flag in xperf and events that describe no things.
    pub(crate) const fn of_events(
        keyword: &'static str,
        xperf: &'static str,
        events: &'static str,
        others: &'static [HookId],
    ) -> Recorded {
        Recorded { others, ..Recorded::new(keyword, Some(xperf), events) }
    }

    /// Events, any of which show that the keyword was recorded.
    pub fn hooks(&self) -> impl Iterator<Item = HookId> + use<> {
        let things = self.things.iter().take(1);
        let of_things = things.flat_map(|things| things.described().chain(things.begins.iter().copied()));
        of_things.chain(self.others.iter().copied())
    }

    /// All events that an analysis reads.
    pub(crate) fn all_hooks(&self) -> impl Iterator<Item = HookId> + use<> {
        let of_things = self.things.iter().flat_map(|things| things.described().chain(things.changes()));
        of_things.chain(self.others.iter().copied())
    }

    /// Records of rundowns.
    pub fn rundowns(&self) -> impl Iterator<Item = HookId> + use<> {
        self.things.iter().flat_map(Things::rundowns)
    }
}
