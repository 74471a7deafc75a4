//! What is held in the end against the final page sequence, each page once.

use crate::refset::rules::{Content, Owner, Place, Rules, within};
use etl_writer::machine::{Event, PAGE, What};
use std::collections::{BTreeMap, BTreeSet};

impl Rules<'_> {
    /// What is held and what the final sequence says, each page once.
    pub fn verify(&mut self, events: &[Event]) {
        let key = |owner: Owner, place: Place, content: Content, page_use: u8| match (content, place) {
            (Content::Shared(pfn, _), _) => format!("frame {pfn}"),
            (Content::Combined(prototype), _) => format!("combined {prototype}"),
            (Content::Private, Place::Frame(pfn)) if page_use == 8 => format!("frame {pfn}"),
            (Content::Private, _) if page_use == 7 => format!("session {place:?}"),
            (Content::Private, _) => format!("{owner:?} {place:?}"),
        };
        let tracked: BTreeSet<String> = (self.held.iter().filter(|page| !page.apart))
            .map(|page| key(page.owner, page.places[0], page.content, page.page_use))
            .collect();
        let mut last: BTreeSet<String> = BTreeSet::new();
        for event in events {
            let What::Final(page) = &event.what else { continue };
            if page.list != 6 {
                continue;
            }
            let place = self.place_of(page);
            let in_range = |ranges: &BTreeMap<u64, u64>| {
                ranges.iter().any(|(&base, &pages)| within(Place::At(page.u2), base, pages * PAGE))
            };
            let explained = self
                .held
                .iter()
                .any(|held| held.apart && (held.places[0] == place || held.places[0] == Place::Frame(page.pfn)))
                || (page.page_use == 4 && in_range(&self.pool))
                || (page.page_use == 13 && in_range(&self.ranges));
            let name = match page.page_use {
                1 => key(Owner::System, place, Content::Shared(page.pfn, page.u2), 1),
                2 if page.u2 & 1 != 0 => key(Owner::System, place, Content::Combined(page.u2 & !1), 2),
                2 => key(Owner::System, place, Content::Shared(page.pfn, page.u2), 2),
                0 | 3 | 12 if self.by_key(page.key).is_none() => format!("nobody's {place:?} {}", page.key),
                other => key(self.owner_of(page), place, Content::Private, other),
            };
            if tracked.contains(&name) || !explained {
                last.insert(name);
            }
        }
        let matched = tracked.intersection(&last).count() as u64;
        let (ours, theirs) = (tracked.len() as u64, last.len() as u64);
        self.said.verification = (ours, matched, ours - matched, theirs - matched);
    }
}
