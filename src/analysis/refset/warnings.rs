//! What casts doubt on a reference set.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::access_stacks::StackShare;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::replay::outside_working_sets::Unmatched;
use crate::etl::clock::Clock;
use crate::model::window::{Origin, TextMark};
use crate::moment::Moment;
use crate::trace::Trace;
use crate::trace::analysis_needs::{REFERENCE_SET, VIEWS};
use crate::trace::trust::readiness::{Need, undescribed, untold_ranges};
use crate::trace::trust::trust_report::TrustReport;
use crate::trace::trust::warning::{Warning, symbols_missing};
use crate::units::{count, counted};

/// So many releases without one access, or accesses of one kind without one of another, are no chance.
const MANY_RELEASES: u64 = 100;

impl ReferenceSet {
    /// What casts doubt on the trace, on the account, and what was not recorded.
    pub(super) fn add_warnings(&mut self, trace: &Trace, max_residue: f64, of_symbols: Vec<String>) {
        let trust = trace.trust();
        self.missing = trace.missing(&REFERENCE_SET);
        self.code_page = trace.code_page_of_names();
        let is_told = |need: &&Need| ["WorkingSet", "Memory"].contains(&need.keyword);
        let costs: Vec<Need> = self.missing.iter().filter(|need| !is_told(need)).copied().collect();
        self.warnings = trust.warnings();
        self.warnings.extend(self.of_marks(&trace.system().marks, &trace.etl().clock));
        self.warnings.extend(self.own_warnings(trust, max_residue));
        self.warnings.extend(self.later_scenarios(&trace.etl().clock));
        self.warnings.extend(self.starts_inside(&trace.system().marks, &trace.etl().clock));
        self.warnings.extend(self.stacks.and_then(lack_of_stacks));
        self.warnings.extend(symbols_missing(REFERENCE_SET.name, of_symbols));
        self.warnings.extend(trust.not_there_for(REFERENCE_SET.name, &costs));
        self.warnings.extend(undescribed(trace.survey(), trace.processes(), &REFERENCE_SET));
        let untold = untold_ranges(trace.survey(), trace.processes(), self.window.from);
        self.warnings.extend(untold.map(|(of, processes, text)| {
            let pages = if of.keyword == VIEWS.keyword { "copies on write" } else { "VirtualAlloc pages" };
            grave("rundown_incomplete", format!("{text}: their {pages} can count as others")).of(processes)
        }));
    }

    /// Marks of the scenario that are missing, or of which there are more than the window has ends.
    fn of_marks(&self, marks: &[TextMark], clock: &Clock) -> Vec<Warning> {
        let window = &self.window;
        let seconds = |moment: Moment| clock.nanos(moment.time).seconds();
        let mut warnings = Vec::new();
        if let Some(stop) = window.stop_without_start(marks) {
            let begin = match &window.from_mark {
                Some(mark) => format!("the window begins with the first mark, \"{mark}\""),
                None => "the window is the whole trace".to_owned(),
            };
            let (mark, at) = (&stop.value, seconds(stop.moment));
            let text = format!(
                "no mark says when the scenario starts, though \"{mark}\" at {at:.3} s says when it stops: {begin}"
            );
            warnings.push(note("no_start_mark", text));
        } else if window.origin == Origin::WholeTrace {
            let text = "the trace has no marks of a scenario: the window is the whole trace";
            warnings.push(note("no_marks", text.to_owned()));
        }
        if window.lacks_stop_mark() {
            let end = match &window.to_mark {
                Some(mark) => format!("the last mark after it, \"{mark}\""),
                None => "the end of the trace or the page sequence there".to_owned(),
            };
            let text = format!("no mark says when the scenario stops: the window ends with {end}");
            warnings.push(note("no_stop_mark", text));
        }
        warnings.extend(window.not_emptied_at().map(|mark| {
            let text = format!(
                "the window begins with the mark \"{mark}\", which is none of a recorder of reference sets, and no page was logged as active after it: \
                 working sets were not emptied there"
            );
            note("not_emptied", text)
        }));
        let stops = window.later_stops(marks);
        if let (Some(first), Some(mark)) = (stops.first(), &window.to_mark) {
            let times = stops.len() as u64;
            let more = if times > 1 {
                format!(", and {} after it", counted(times - 1, "time", "times"))
            } else {
                String::new()
            };
            let text = format!(
                "the window ends with the first stop mark, at {:.3} s: \"{mark}\" stands again at {:.3} s{more}; another window can be \
                 asked for",
                seconds(window.to),
                seconds(*first)
            );
            warnings.push(note("later_stops", text).of(times));
        }
        warnings
    }

    /// What casts doubt on the account itself.
    fn own_warnings(&self, trust: &TrustReport, max_residue: f64) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !self.has_removals {
            warnings.push(no_trims(trust));
        }
        warnings.extend(self.missing_releases());
        if self.verification.is_none() {
            let fate = match trust.absence_reason("Memory").is_incomplete() {
                true => "the page sequence after the scenario is in the part of the trace that is missing",
                false => "there is no page sequence after the scenario",
            };
            warnings.push(note("unproved", format!("{fate}: nothing proves the result")));
        }
        let unattributed = self.balance.unattributed;
        if unattributed > 0 {
            let text = format!(
                "{} accesses could not be attributed: they name no process, or one that never started",
                count(unattributed)
            );
            warnings.push(grave("accesses_unattributed", text).of(unattributed));
        }
        warnings.extend(self.unmatched_outside());
        let missing = self.missing_kinds().chain(self.missing_outside());
        warnings.extend(missing.map(|(_, text)| grave("accesses_missing", text)));
        // That a keyword was off is said with the others, and of releases without accesses above.
        let is_told = |reason: AccessReason| {
            reason == AccessReason::PoolAllocate || self.missing_outside().any(|(missing, _)| missing == reason)
        };
        let told = self.unrecorded.iter().filter(|of| !is_told(of.reason));
        warnings.extend(told.map(|of| note("accesses_unrecorded", of.text.clone())));
        warnings.extend((self.left_out.sum() > 0).then(|| {
            let text = format!("left out: {} of pool and page ranges", self.left_out.counts().join(", "));
            note("records_left_out", text).of(self.left_out.sum())
        }));
        warnings.extend(self.difference_at_the_end(max_residue));
        warnings.extend(self.mem_info_ws.as_ref().filter(|sets| sets.residue > max_residue).map(|sets| {
            let text = format!(
                "what is tracked differs from the working sets that Windows logged by {:.2} % of their pages: {}. The \
                 largest differences: pfnset refset --format json, working_sets",
                sets.residue * 100.0,
                self.reason_of_difference(trust)
            );
            grave("working_sets_differ", text)
        }));
        warnings
    }

    /// Scenarios of the trace after the one that is counted.
    fn later_scenarios(&self, clock: &Clock) -> Option<Warning> {
        let starts: Vec<Moment> = self.window.later_starts().collect();
        let first = clock.nanos(starts.first()?.time).seconds();
        let text = format!(
            "counted is the first scenario alone: the start mark stands again at {first:.3} s{}; another window can be asked for",
            if starts.len() > 1 { format!(", and {} times after it", starts.len() - 1) } else { String::new() }
        );
        Some(note("later_scenarios", text).of(starts.len() as u64))
    }

    /// Pages that entered a working set in which they were: where trims were recorded, a release before each of them is missing. Without
    /// trims they are expected, and WPA's rules have such accesses in any trace: those are another number.
    fn missing_releases(&self) -> Option<Warning> {
        // The rundown can name a page whose access was logged just before it, and combining a page that was combined before.
        let of = [AccessReason::PrivatePageAccess, AccessReason::SharablePageAccess];
        let again: u64 = of.iter().filter_map(|reason| self.balance.reaccesses.get(*reason as usize)).sum();
        let trims = self.balance.releases.get(ReleaseReason::RemovedFromWorkingSet as usize).copied().unwrap_or(0);
        let text = format!(
            "{} a working set that had them already (re-accesses), beside {}: releases before them are missing, so pages count as held \
             that were not",
            counted(again, "page entered", "pages entered"),
            counted(trims, "trim", "trims")
        );
        // Most pages whose trim is missing are not accessed again: those that are stand for many.
        let warning = match again.saturating_mul(100) > trims {
            true => grave(RELEASES_MISSING, text),
            false => note("some_releases_missing", text),
        };
        (self.has_removals && again > 0).then(|| warning.of(again))
    }

    /// Start marks within the window, at which the recorder empties the working sets.
    fn starts_inside(&self, marks: &[TextMark], clock: &Clock) -> Option<Warning> {
        let starts = self.window.starts_inside(marks);
        let first = clock.nanos(starts.first()?.time).seconds();
        let more = starts.len() - 1;
        let text = format!(
            "a start mark stands inside of the window, at {first:.3} s{}: the working sets were emptied there, so what is held after it was \
             accessed after it; another window can be asked for",
            if more > 0 { format!(", and {} after it", counted(more as u64, "time", "times")) } else { String::new() }
        );
        Some(note("starts_inside", text).of(starts.len() as u64))
    }

    /// Reasons of accesses of which the trace has no record at all, beside so many others that this is no chance.
    pub(crate) fn missing_kinds(&self) -> impl Iterator<Item = (AccessReason, String)> + use<> {
        let [rundown, private, shareable] = self.records;
        let is_emptied = !self.window.resets.is_empty();
        let kinds = [
            (AccessReason::ActiveRundown, rundown, private + shareable, "active page (InMemoryActive)", is_emptied),
            (
                AccessReason::PrivatePageAccess,
                private,
                rundown + shareable,
                "access of a private page (PageAccess)",
                true,
            ),
            (
                AccessReason::SharablePageAccess,
                shareable,
                rundown + private,
                "access of a shareable page (PageAccessEx)",
                true,
            ),
        ];
        kinds.into_iter().filter(|(_, own, others, _, is_due)| *is_due && *own == 0 && *others >= MANY_RELEASES).map(
            |(reason, _, others, what, _)| {
                let text = format!(
                    "no {what} is in the trace, beside {} of the others: they were not recorded, or were lost, and count in no sum",
                    counted(others, "record", "records")
                );
                (reason, text)
            },
        )
    }

    /// Reasons of accesses of pool and ranges of which no record is there, beside so many releases that this is no chance.
    pub(crate) fn missing_outside(&self) -> impl Iterator<Item = (AccessReason, String)> + use<> {
        let Unmatched { ranges, pool, .. } = self.unmatched;
        let kinds = [
            (AccessReason::PoolAllocate, pool, "allocation of pool", "frees"),
            (AccessReason::PageRangeAccess, ranges, "access of a range of pages", "releases"),
        ];
        kinds.into_iter().filter(|(_, (taken, gone), ..)| *taken == 0 && *gone >= MANY_RELEASES).map(|(reason, of, what, ends)| {
            let text = format!(
                "no {what} is in the trace, beside {} {ends}: these accesses were not recorded, or were lost, and count in no sum",
                count(of.1)
            );
            (reason, text)
        })
    }

    /// Releases that nothing told before, and accesses of what was held: the account of pool and ranges is not whole.
    fn unmatched_outside(&self) -> Option<Warning> {
        // So few can be held until the end.
        const FEW: u64 = 10;
        let Unmatched { released_pages, held_again, ranges, pool } = self.unmatched;
        let never = |(taken, gone): (u64, u64), what: &str| {
            (taken > FEW && gone == 0).then(|| format!("none of {} {what} has a release", count(taken)))
        };
        let untold = (pool.0 == 0 && (FEW + 1..MANY_RELEASES).contains(&pool.1))
            .then(|| format!("none of {} frees of pool has an allocation", count(pool.1)));
        let released =
            || format!("{} of ranges were released that nothing told before", counted(released_pages, "page", "pages"));
        let again = || {
            let places = counted(held_again, "range or block of pool was", "ranges and blocks of pool were");
            format!("{places} accessed again without a release")
        };
        let told = [
            (released_pages > 0).then(released),
            (held_again > 0).then(again),
            never(ranges, "ranges"),
            never(pool, "allocations of pool"),
            untold,
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        (!told.is_empty()).then(|| {
            let text =
                format!("pool and ranges, which are in no working set, are not known in full: {}", told.join("; "));
            note("outside_unmatched", text).of(released_pages.max(held_again).max(1))
        })
    }

    /// What the final page sequence says otherwise.
    fn difference_at_the_end(&self, max_residue: f64) -> Option<Warning> {
        let verification = self.verification.as_ref()?;
        if let Some(why) = &verification.incomplete {
            let unknown = verification.share_of_unknown();
            let sequence = format!("the page sequence after the scenario is not whole ({why})");
            return Some(match unknown > max_residue {
                true => grave(
                    "residue",
                    format!("{sequence}, and has pages that the account lacks: {:.2} %", unknown * 100.0),
                ),
                false => note("unproved", format!("{sequence}: nothing proves the result")),
            });
        }
        let residue = verification.residue();
        if verification.is_hopeless() {
            let text = "no page of the final page sequence matches what is tracked: nothing proves the result";
            return Some(grave("nothing_matches", text.to_owned()));
        }
        let other_use = verification.share_of_other_use();
        if residue <= max_residue && other_use > max_residue {
            let text = format!(
                "{} of {} pages that match have another use in the final page sequence than by their accesses: categories of the \
                 account are wrong",
                count(verification.other_use),
                count(verification.all.matched)
            );
            return Some(grave("uses_differ", text).of(verification.other_use));
        }
        (residue > max_residue).then(|| {
            let text = format!(
                "the account differs from the final page sequence by {:.2} % of the pages that match: something was not \
                 recorded (pfnset refset --verify shows what differs)",
                residue * 100.0
            );
            grave("residue", text)
        })
    }

    /// Why working sets can differ from those that Windows logged.
    fn reason_of_difference(&self, trust: &TrustReport) -> &'static str {
        match () {
            () if trust.any() => "data was lost or is damaged",
            () if !self.window.resets.iter().any(|&reset| reset <= self.window.from) => {
                "the working sets were not emptied before the window, so what was held before is unknown"
            }
            () if !self.has_removals => "trims were not recorded, so trimmed pages look as if still held",
            () => "something was not recorded",
        }
    }
}

/// Warnings that the account of held pages does not add up. That trims were not recorded is none of them: it says how many pages that can
/// concern nowhere, and where it is many, the page sequence after the scenario shows it.
pub(crate) const ACCOUNT_IS_WRONG: [&str; 6] =
    ["residue", "nothing_matches", "uses_differ", "working_sets_differ", "accesses_unattributed", RELEASES_MISSING];

/// Those of them that the page sequence after the scenario tells.
pub(crate) const DISPROVED_BY_PAGES: [&str; 3] = ["residue", "nothing_matches", "uses_differ"];

/// Code of re-accesses that prove that releases are missing. How many there are is known all the same.
pub(crate) const RELEASES_MISSING: &str = "releases_missing";

fn grave(code: &'static str, text: String) -> Warning {
    Warning::grave(REFERENCE_SET.name, code, text)
}

fn note(code: &'static str, text: String) -> Warning {
    Warning::note(REFERENCE_SET.name, code, text)
}

/// Of rows and conditions by code: accesses without a stack.
fn lack_of_stacks(share: StackShare) -> Option<Warning> {
    let without = share.accesses.saturating_sub(share.accesses_with_stack);
    if share.accesses_with_stack == 0 {
        let text = "no record of a page access has a stack: rows by stack, function and module have one label (xperf: \
                    -stackwalk PageAccess+PageAccessEx)";
        return Some(note("no_stacks", text.into()));
    }
    let text = || {
        let [without, all] = [without, share.accesses].map(count);
        format!("{without} of {all} page accesses have no stack: their pages have no function and no module")
    };
    (without > 0).then(|| note("stacks_incomplete", text()).of(without))
}

/// The doubt of a trace without RemoveFromWS events.
pub(crate) fn no_trims(trust: &TrustReport) -> Warning {
    let fate = match trust.absence_reason("WorkingSet").is_incomplete() {
        true => "are not in the part of the trace that is left",
        false => "were not recorded",
    };
    let text = format!("trims {fate} (keyword WorkingSet, RemoveFromWS events): trimmed pages look as if still held");
    grave("no_trims", text)
}
