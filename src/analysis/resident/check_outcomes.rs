//! The outcomes of the checks: which were made, which failed, and why.

use crate::analysis::resident::consistency_checks::{Checks, Compared, FRESH};
use crate::model::page_owner_key::KeyReading;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::ram_size::RamSource;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{count, counted};

/// Gaps between the ranges of physical memory that a machine can have: devices and firmware take a few dozen at most.
const MOST_GAPS: u64 = 64;

/// What came out of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What was checked.
    pub check: &'static str,
    /// False when the trace lacks what it needs.
    pub was_made: bool,
    /// What does not agree.
    pub warnings: Warnings,
}

impl Outcome {
    fn new(check: &'static str, was_made: bool, warnings: Warnings) -> Outcome {
        Outcome { check, was_made, warnings }
    }
}

/// Numbers of the table can be wrong.
fn grave(code: &'static str, amount: u64, text: String) -> Warning {
    Warning::grave(RESIDENT_SET.name, code, text).of(amount)
}

impl Checks {
    /// All checks.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let outcome =
            |check, was_made, warning: Option<Warning>| Outcome::new(check, was_made, warning.into_iter().collect());
        let mut outcomes = vec![
            outcome("lost buffers", true, self.lost_part()),
            Outcome::new("gaps", true, self.too_many_gaps().into_iter().chain(self.like_pages()).collect()),
            outcome("duplicates", true, self.repeated()),
            self.of_ram(),
        ];
        outcomes.push(self.of_lists());
        outcomes.push(outcome("combined pages", self.combined_mmstats.is_some(), self.combined_differ()));
        outcomes.push(outcome("PFN database", self.pfn_database.is_some(), self.database_differs()));
        outcomes.push(outcome("end rundown", true, self.contradicted()));
        let mut keys = Warnings::default();
        self.key_failures(&mut keys);
        outcomes.push(Outcome::new("owner keys", true, keys));
        outcomes
    }

    /// What does not agree.
    pub fn failures(&self) -> Warnings {
        self.outcomes().into_iter().flat_map(|outcome| outcome.warnings).collect()
    }

    /// What of the sequence is missing for certain.
    pub(crate) fn missing_part(&self) -> Option<String> {
        self.lost_part().or_else(|| self.too_few().next()).map(|warning| warning.text)
    }

    fn compared(&self, what: &str, counted: u64, expected: u64) -> Compared {
        Compared::new(what.into(), counted, expected, self.pages)
    }

    fn lost_part(&self) -> Option<Warning> {
        let lost = counted(self.lost_buffers, "lost buffer falls", "lost buffers fall");
        let text = || format!("{lost} into the page sequence: pages are missing from every table");
        (self.lost_buffers > 0).then(|| grave("sequence_lost_buffers", self.lost_buffers, text()))
    }

    fn too_many_gaps(&self) -> Option<Warning> {
        (self.gaps > MOST_GAPS).then(|| {
            let text = format!(
                "{} between the first and the last are missing in {} gaps, more than a machine's memory map has: page \
                 records may have been lost",
                counted(self.missing_pfns, "PFN", "PFNs"),
                count(self.gaps)
            );
            grave("sequence_gaps", self.missing_pfns, text)
        })
    }

    fn like_pages(&self) -> Option<Warning> {
        (self.like_pages > 0).then(|| {
            let text = format!(
                "{} in the page sequence, with the size of its records: if the id is damaged, {} not counted",
                counted(self.like_pages, "record of an unknown event lies", "records of unknown events lie"),
                counted(self.like_pages, "page is", "pages are"),
            );
            Warning::note(RESIDENT_SET.name, "records_like_pages", text).of(self.like_pages)
        })
    }

    fn repeated(&self) -> Option<Warning> {
        let twice = counted(self.duplicates, "PFN occurs", "PFNs occur");
        let text = || format!("{twice} twice in the page sequence");
        (self.duplicates > 0).then(|| grave("sequence_duplicates", self.duplicates, text()))
    }

    /// Lists of MemInfo give no size: they only can prove that pages are missing.
    fn of_ram(&self) -> Outcome {
        let too_few: Warnings = self.too_few().collect();
        Outcome::new("size of RAM", self.ram_pages.is_some() || !too_few.is_empty(), too_few)
    }

    /// Fewer pages than the machine has, or than another snapshot of the trace.
    fn too_few(&self) -> impl Iterator<Item = Warning> {
        // The configuration counts what Windows does not use, which is much of a small machine alone.
        let is_less = |ram: u64| self.pages + self.pages / 20 + 4096 < ram || self.pages * 10 < ram.saturating_mul(9);
        let below_ram = self.known_ram.filter(|(ram, _)| is_less(*ram)).map(|(ram, source)| {
            let (pages, ram_text) = (count(self.pages), count(ram));
            let least = match source {
                RamSource::Configuration => format!("the machine has {ram_text}"),
                RamSource::Lists => {
                    format!("the lists of a MemInfo record have {ram_text} without those that are active")
                }
            };
            // What lies at the end of RAM is lost at once with the end of the sequence.
            let ends = (self.pfns.1 < ram).then(|| format!(": it ends with PFN {}", count(self.pfns.1)));
            let text = format!("the sequence has {pages} pages, {least}{}", ends.unwrap_or_default());
            grave("sequence_too_few", ram - self.pages, text)
        });
        below_ram.into_iter().chain(self.fewer.clone())
    }

    fn combined_differ(&self) -> Option<Warning> {
        // Combined pages can be out of RAM, so fewer are fine.
        let combined = self.compared("Combined pages", self.combined, self.combined_mmstats?);
        (combined.counted > combined.expected && !combined.is_fine())
            .then(|| differs(&combined, "combined_pages_differ", "MMStats"))
    }

    fn database_differs(&self) -> Option<Warning> {
        let database = self.compared("PFN database", self.pfn_database_counted, self.pfn_database?.1);
        (!database.is_fine()).then(|| differs(&database, "pfn_database_differs", "the kernel"))
    }

    pub(super) fn contradicted(&self) -> Option<Warning> {
        self.contradictions.warning(RESIDENT_SET.name, "the end rundown wins")
    }

    fn of_lists(&self) -> Outcome {
        let mut failures = Warnings::default();
        self.list_failures(&mut failures);
        let is_fresh = self.meminfo_age.is_none_or(|age| age <= FRESH);
        Outcome::new("lists", !self.lists.is_empty() && is_fresh, failures)
    }

    fn list_failures(&self, failures: &mut Warnings) {
        // All of them together are told where no single one is off.
        let (single, all) = self.lists.split_at(self.lists.len().saturating_sub(1));
        let mut off: Vec<_> = single.iter().filter(|list| !list.is_fine()).collect();
        if off.is_empty() {
            off.extend(all.iter().filter(|list| !list.is_fine()));
        }
        match self.meminfo_age.filter(|&age| age > FRESH) {
            Some(age) if !off.is_empty() => {
                let age = age.seconds();
                let text = format!(
                    "the last MemInfo record is {age:.1} s older than the page sequence: lists were not checked"
                );
                failures.push(Warning::note(RESIDENT_SET.name, "lists_unchecked", text));
            }
            Some(_) => {}
            None => {
                failures.extend(off.iter().take(3).map(|list| differs(list, "lists_differ", "MemInfo")));
                if off.len() > 3 {
                    let more = off.len() as u64 - 3;
                    failures.push(grave("lists_differ", more, format!("{more} more lists differ from MemInfo")));
                }
            }
        }
    }

    /// Warnings about the version and the owner keys of the page records.
    fn key_failures(&self, failures: &mut Warnings) {
        let note = |text| Warning::note(RESIDENT_SET.name, "keys_read_otherwise", text);
        let (own, (keyed, unnamed)) = (KeyReading::of_version(self.version), self.keyed);
        if !matches!(self.version, 2 | 4) {
            failures.push(note(format!(
                "page records have version {}, known are 2 and 4; owner keys are read as {}",
                self.version,
                self.reading.name()
            )));
        }
        if self.reading != own {
            failures.push(note(format!(
                "owner keys are read as {}: as {}, which their version {} calls for, they name almost no process",
                self.reading.name(),
                own.name(),
                self.version
            )));
        }
        if unnamed > keyed / 100 {
            let text = format!(
                "{} of {} active private pages have an owner key that names no process (keys read as {})",
                count(unnamed),
                count(keyed),
                self.reading.name()
            );
            failures.push(grave("keys_name_no_process", unnamed, text));
        }
    }
}

fn differs(compared: &Compared, code: &'static str, whose: &str) -> Warning {
    let Compared { what, counted, expected, .. } = compared;
    let text = format!("{what}: {} pages counted, {whose} says {}", count(*counted), count(*expected));
    grave(code, counted.abs_diff(*expected), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::resident::consistency_checks::Compared;
    use crate::analysis::rundown_contradictions::RundownContradictions;
    use crate::model::page_owner_key::KeyReading;
    use crate::units::Nanos;

    /// Checks that all pass.
    fn checks() -> Checks {
        Checks {
            pages: 100,
            pfns: (1, 100),
            missing_pfns: 0,
            gaps: 0,
            duplicates: 0,
            like_pages: 0,
            ram_pages: Some(100),
            known_ram: Some((100, RamSource::Configuration)),
            lost_buffers: 0,
            bad_list: 0,
            bad_meminfo: Some(0),
            combined: 3,
            combined_mmstats: Some(3),
            pfn_database: Some((0xffff_fa80_0000_0000, 5)),
            pfn_database_counted: 5,
            lists: vec![Compared { what: "Zero".into(), counted: 7, expected: 7, slack: 16 }],
            contradictions: RundownContradictions::default(),
            meminfo_age: Some(Nanos(0)),
            version: 4,
            reading: KeyReading::of_version(4),
            known_things: Default::default(),
            keyed: (50, 0),
            fewer: None,
        }
    }

    #[test]
    fn what_failed_is_told_by_its_check() {
        let fine = checks();
        assert_eq!(fine.failures().texts(), [""; 0]);
        assert_eq!(fine.outcomes().iter().filter(|outcome| outcome.was_made).count(), 9);
        let failed = |checks: Checks| -> Vec<&str> {
            checks
                .outcomes()
                .iter()
                .filter(|outcome| !outcome.warnings.is_empty())
                .map(|outcome| outcome.check)
                .collect()
        };
        assert_eq!(failed(Checks { like_pages: 1, ..fine.clone() }), ["gaps"]);
        assert_eq!(failed(Checks { duplicates: 1, ..fine.clone() }), ["duplicates"]);
        assert_eq!(failed(Checks { lost_buffers: 2, gaps: 65, ..fine.clone() }), ["lost buffers", "gaps"]);
        assert_eq!(
            failed(Checks {
                keyed: (100, 50),
                contradictions: RundownContradictions { count: 1, examples: Vec::new() },
                ..fine.clone()
            }),
            ["end rundown", "owner keys"]
        );
        let none = Checks {
            ram_pages: None,
            known_ram: None,
            lists: vec![],
            combined_mmstats: None,
            pfn_database: None,
            ..fine
        };
        assert_eq!(none.outcomes().iter().filter(|outcome| outcome.was_made).count(), 5);
    }
}
