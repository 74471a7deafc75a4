//! The machine that a trace was recorded on, as far as two traces are compared by it.

use crate::trace::Trace;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::PAGE_BYTES;
use serde::{Deserialize, Serialize};

/// A machine; `None`: the trace does not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    #[serde(default)]
    ram_mib: Option<u64>,
    /// What page sequences list: less than there is by what firmware keeps, so it is compared with the same only.
    #[serde(default)]
    listed_mib: Option<u64>,
    /// Pages of the one of both that is known. What was saved without them has whole MiB.
    #[serde(default)]
    pages: Option<u64>,
    #[serde(default)]
    processors: Option<u32>,
    #[serde(default)]
    os_build: Option<u32>,
}

impl Machine {
    /// That of a trace.
    pub fn of(trace: &Trace) -> Machine {
        let header = &trace.etl().header;
        let known = |number: &u32| *number > 0;
        let mib = |pages: Option<u64>| pages.map(|pages| pages / PAGES_PER_MIB).filter(|size| *size > 0);
        let ram_mib = mib(trace.system().ram_pages);
        let is_whole = ram_mib.is_none() && !trace.trust().any();
        let listed = || trace.snapshots().iter().map(|snapshot| snapshot.pages).max();
        let listed = is_whole.then(listed).flatten();
        Machine {
            ram_mib,
            listed_mib: mib(listed),
            pages: trace.system().ram_pages.filter(|_| ram_mib.is_some()).or(listed),
            processors: trace.survey().machine_processors.or(Some(header.processors)).filter(known),
            os_build: Some(header.os_build).filter(known),
        }
    }

    /// How the machine of an earlier recording differs, which the texts call `named`. Both are measured rightly, and another build of Windows may be what is compared:
    /// so these are notes.
    pub fn differences(&self, earlier: &Machine, named: &str) -> Warnings {
        let ram = self.ram_mib.zip(earlier.ram_mib).filter(|(now, before)| is_other_size(*now, *before));
        // Of the pages of a sequence some can be missing.
        let is_much = |(now, before): &(u64, u64)| now.abs_diff(*before) > now.max(before) / 5;
        let ram = ram.or(self.listed_mib.zip(earlier.listed_mib).filter(is_much));
        let ram = ram.map(|(now, before)| {
            let [now, before] = [self.size(now), earlier.size(before)];
            let text = format!(
                "it was recorded on a machine with {now} of RAM, {named} on one with {before}: how much memory is used \
                 depends on how much there is, so growth of memory says little"
            );
            Warning::note(OF_TRACE, "machine_differs", text)
        });
        let processors = self.processors.zip(earlier.processors).filter(|(now, before)| now != before);
        let processors = processors.map(|(now, before)| {
            let text = format!(
                "it was recorded on a machine with {now} processor{}, {named} on one with {before}: times, and what Windows \
                 keeps for each processor, depend on their number",
                if now == 1 { "" } else { "s" }
            );
            Warning::note(OF_TRACE, "machine_differs", text)
        });
        let build = self.os_build.zip(earlier.os_build).filter(|(now, before)| now != before);
        let build = build.map(|(now, before)| {
            let text = format!("it is of build {now} of Windows, {named} of build {before}: growth is that of both");
            Warning::note(OF_TRACE, "build_differs", text)
        });
        ram.into_iter().chain(processors).chain(build).collect()
    }

    /// So many MiB for people, with what of the last one is known.
    fn size(&self, mib: u64) -> String {
        let exact = self.pages.filter(|pages| pages / PAGES_PER_MIB == mib);
        let mib = exact.map_or(mib as f64, |pages| pages as f64 / PAGES_PER_MIB as f64);
        // As the sizes of tables are shown.
        match mib {
            mib if mib < 1024.0 => format!("{mib:.2} MiB"),
            mib if mib < 1024.0 * 1024.0 => format!("{:.2} GiB", mib / 1024.0),
            mib => format!("{:.2} TiB", mib / 1024.0 / 1024.0),
        }
    }
}

const PAGES_PER_MIB: u64 = (1 << 20) / PAGE_BYTES;

/// True where sizes of RAM differ by more than firmware takes for itself.
const fn is_other_size(one: u64, other: u64) -> bool {
    let larger = if one > other { one } else { other };
    one.abs_diff(other) > larger / 50
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_both_is_compared() {
        let machine = |ram_mib, processors, os_build| Machine {
            ram_mib,
            processors: Some(processors),
            os_build: Some(os_build),
            ..Machine::default()
        };
        let codes = |one: &Machine, other: &Machine| -> Vec<&'static str> {
            one.differences(other, "the baseline").iter().map(|warning| warning.code).collect()
        };
        let first = machine(Some(16_384), 8, 19045);
        assert_eq!(codes(&first, &machine(Some(16_300), 8, 19045)), [""; 0]);
        assert_eq!(codes(&first, &machine(None, 8, 22631)), ["build_differs"]);
        assert_eq!(codes(&first, &machine(Some(8192), 4, 19045)), ["machine_differs"; 2]);
        assert_eq!(codes(&first, &Machine::default()), [""; 0]);
        let listed = |listed_mib| Machine { listed_mib, ..Machine::default() };
        assert_eq!(codes(&listed(Some(24)), &listed(Some(12))), ["machine_differs"]);
        assert_eq!(codes(&first, &listed(Some(12))), [""; 0]);
        let [exact, whole] = [Some(3000), None].map(|pages| Machine { pages, ..listed(Some(11)) });
        assert_eq!([exact.size(11), whole.size(11)], ["11.72 MiB", "11.00 MiB"]);
    }
}
