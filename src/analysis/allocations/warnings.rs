//! What makes the numbers doubtful.

use super::commit_counts::CommitCheck;
use super::replay_result::{Check, IdleFrees, Replayed};
use super::stacks_known::{StackShare, StackShares};
use crate::etl::record_id::HookId;
use crate::load::allocation_kinds::AllocationKind;
use crate::load::allocation_rules::LeftOut;
use crate::trace::Trace;
use crate::trace::trust::readiness::{Need, undescribed};
use crate::trace::trust::trust_report::TrustReport;
use crate::trace::trust::warning::{Warning, Warnings};
use crate::units::{PAGE_BYTES, count, counted};

/// One line each, most important first.
pub fn warnings(
    trace: &Trace,
    of: AllocationKind,
    missing: &[Need],
    replayed: &Replayed,
    of_stacks: Vec<Warning>,
) -> Warnings {
    let (trust, needs) = (trace.trust(), of.needs());
    let analysis = needs.name;
    let mut warnings = of_trace(trace, of);
    let note = |code, text| Warning::note(analysis, code, text);
    let number =
        |name: &str| replayed.records.iter().find(|(found, _)| *found == name).map_or(0, |(_, number)| *number);
    warnings.extend(of_stacks);
    let by_rule = LeftOut { impossible: number("malformed"), failed: number("failed") };
    let kinds: [(&str, &str, &str); 3] = [
        ("no_process", "record of no known process", "records of no known process"),
        (
            "unknown_size",
            "free of a whole reservation that is not known",
            "frees of whole reservations that are not known",
        ),
        ("unknown_frees", "free of a block from before the trace", "frees of blocks from before the trace"),
    ];
    let seen = kinds.iter().filter(|(name, ..)| number(name) > 0);
    let left_out: Vec<String> =
        by_rule.counts().into_iter().chain(seen.map(|(name, one, many)| counted(number(name), one, many))).collect();
    if !left_out.is_empty() {
        let sum = kinds.iter().map(|(name, ..)| number(name)).fold(by_rule.sum(), u64::saturating_add);
        warnings.push(note("records_left_out", format!("left out: {}", left_out.join(", "))).of(sum));
    }
    let estimated = number("estimated_bytes");
    if estimated > 0 {
        let bytes = count(estimated);
        let text = format!("estimated: {bytes} bytes were freed in regions of which only the sum was known");
        warnings.push(note("frees_estimated", text).of(estimated));
    }
    warnings.extend(missing_frees(of, replayed, [number("allocations"), number("frees")]));
    warnings.extend(missing_allocations(of, replayed, [number("allocations"), number("frees")]));
    warnings.extend(after_ends(trace, of, number("after_end"), [number("allocations"), number("frees")]));
    warnings.extend(impossible_listed(of, replayed.listed_left_out));
    warnings.extend(frees_that_differ(of, number("mismatched"), number("frees")));
    warnings.extend(undated_frees(trust).map(|text| note("frees_undated", text.into())));
    warnings.extend(unknown_start(of, replayed));
    warnings.extend(trust.not_there_for(analysis, missing));
    warnings.extend(undescribed(trace.survey(), trace.processes(), needs));
    warnings
}

/// What any reader of the trace has to know, but not that records do not fit their layout where all of these are of other kinds of allocations.
fn of_trace(trace: &Trace, of: AllocationKind) -> Warnings {
    let mut all = trace.trust().warnings();
    let misfits = &trace.survey().misfits;
    let is_of_others = |hook: HookId| {
        let mut others = AllocationKind::ALL.into_iter().filter(|other| *other != of);
        others.any(|other| other.hooks().contains(&hook) || other.rundowns().contains(&hook))
    };
    let of_others = misfits.iter().filter(|(misfit, _)| misfit.hook().is_some_and(is_of_others));
    if of_others.map(|(_, records)| records).sum::<u64>() == misfits.total() {
        all.retain(|warning| warning.code != "records_misfit");
    }
    all
}

/// Of rows and conditions by code: records without a stack. `has_none`: no record of the trace has one.
pub fn lack_of_stacks(analysis: &'static str, stacks: StackShares, has_none: bool) -> Vec<Warning> {
    if has_none && stacks.is_any() {
        let text = "no record has a stack: rows by function and stack name no function ([no stack] or n/a)";
        return vec![Warning::note(analysis, "no_stacks", text.into())];
    }
    let lacking = |(share, how, dimensions): (Option<StackShare>, &str, &str)| {
        let StackShare { pieces, pieces_with_stack, bytes, bytes_with_stack } = share?;
        let without = pieces.saturating_sub(pieces_with_stack);
        let [of_pieces, of_bytes] = [(without, pieces), (bytes.saturating_sub(bytes_with_stack), bytes)]
            .map(|(part, all)| format!("{} of {}", count(part), count(all)));
        let text = format!(
            "{of_pieces} pieces ({of_bytes} bytes) were {how} by a record without a stack: their {dimensions} are not known"
        );
        (without > 0).then(|| Warning::note(analysis, "stacks_incomplete", text).of(without))
    };
    let allocated = (stacks.allocated, "allocated", "function and stack");
    let freed = (stacks.freed, "freed", "free_function and free_stack");
    [allocated, freed].into_iter().filter_map(lacking).collect()
}

/// Records of ids whose process has ended are in no sum. A few come late; where starts of processes are missing, they are of those that have
/// the ids then.
fn after_ends(trace: &Trace, of: AllocationKind, ended: u64, [allocations, frees]: [u64; 2]) -> Option<Warning> {
    let (starts, _) = trace.processes().starts_missing();
    let is_many = ended >= LATE && ended.saturating_mul(100) > allocations.saturating_add(frees);
    (starts > 0 && is_many).then(|| {
        let text = format!(
            "{} of {} are of processes that have ended by the records, and {} in no record: what those that had the ids after them allocated \
             is in no sum",
            counted(ended, "record", "records"),
            of.name(),
            counted(starts, "start of a process is", "starts of processes are"),
        );
        Warning::grave(of.needs().name, ALLOCATIONS_MISSING, text).of(ended)
    })
}

/// So many records after the end of their process can be late.
const LATE: u64 = 10;

/// Codes of frees that the records lack: budgets are `invalid` then.
pub const FREES_UNKNOWN: [&str; 2] = ["frees_not_recorded", "frees_missing"];

/// So many allocations without one free are no chance.
const MANY_ALLOCATIONS: u64 = 100;

/// Frees that no record tells, though nothing else says that records were lost.
fn missing_frees(of: AllocationKind, replayed: &Replayed, [allocations, frees]: [u64; 2]) -> Option<Warning> {
    let (analysis, name, again) = (of.needs().name, of.name(), replayed.allocated_again);
    let [not_recorded, missing] = FREES_UNKNOWN;
    let IdleFrees { impossible, unmatched } = replayed.idle_frees;
    // A few can all be of blocks from before the trace.
    let is_idle = frees > 0 && (frees == impossible || frees >= MANY_ALLOCATIONS && frees <= impossible + unmatched);
    if is_idle && allocations >= MANY_ALLOCATIONS {
        let text = format!(
            "none of {} is of what was allocated, beside {} allocations (impossible are {}): what seems to be never freed can be all that \
             was allocated",
            counted(frees, &format!("free of {name}"), &format!("frees of {name}")),
            count(allocations),
            count(impossible)
        );
        return Some(Warning::grave(analysis, missing, text).of(frees));
    }
    if frees == 0 && allocations >= MANY_ALLOCATIONS {
        let text = format!(
            "no free of {name} is in the trace, beside {} allocations: frees were not recorded, or were lost. What seems to be never freed can be all that was allocated",
            count(allocations)
        );
        return Some(Warning::grave(analysis, not_recorded, text));
    }
    let text = format!(
        "{} of {} allocations of {name} are at addresses that no record freed",
        count(again),
        count(allocations)
    );
    let is_many = allocations >= MANY_ALLOCATIONS && again.saturating_mul(10) > allocations;
    let warning = if is_many {
        Warning::grave(analysis, missing, text)
    } else {
        Warning::note(analysis, "allocated_again", text)
    };
    (again > 0).then(|| warning.of(again))
}

/// Code of frees that say something else than their allocations: budgets are `invalid` then.
pub const FREES_DIFFER: &str = "frees_differ";

/// Frees of another size or tag than what was allocated at their address: those of blocks from before the trace, whose sizes are all that
/// tells of them, are no better.
fn frees_that_differ(of: AllocationKind, mismatched: u64, frees: u64) -> Option<Warning> {
    let text = format!(
        "{} of {} frees of {} are of another size or tag than what was allocated at their address: growth and what was there before the \
         trace are wrong",
        count(mismatched),
        count(frees),
        of.name()
    );
    let is_many = frees >= MANY_ALLOCATIONS && mismatched.saturating_mul(10) > frees;
    is_many.then(|| Warning::grave(of.needs().name, FREES_DIFFER, text).of(mismatched))
}

/// Code of pool snapshots with entries that cannot be true: budgets are `invalid` then.
pub const SNAPSHOT_IMPOSSIBLE: &str = "snapshot_impossible";

/// Entries of pool snapshots that were left out. One bit that was read wrongly is enough to make a block larger than all others together.
fn impossible_listed(of: AllocationKind, number: u64) -> Option<Warning> {
    let text = format!(
        "left out: {} of more than the machine has: what was there before the trace, and with it peaks, growth and what is there at the \
         end, is wrong by what they were",
        counted(number, "allocation of a pool snapshot", "allocations of pool snapshots")
    );
    (number > 0).then(|| Warning::grave(of.needs().name, SNAPSHOT_IMPOSSIBLE, text).of(number))
}

/// Code of allocations that the records lack: budgets are `invalid` then.
pub const ALLOCATIONS_MISSING: &str = "allocations_missing";

/// What it does to the numbers.
const TOO_LITTLE: &str = "records of allocations are missing, and growth is too small by them";

/// Allocations of blocks that no record tells.
fn missing_allocations(of: AllocationKind, replayed: &Replayed, [allocations, frees]: [u64; 2]) -> Option<Warning> {
    let (analysis, name, again) = (of.needs().name, of.name(), replayed.freed_again);
    if of != AllocationKind::Commit && allocations == 0 && frees >= MANY_ALLOCATIONS {
        let text = format!(
            "no allocation of {name} is in the trace, beside {} frees: allocations were not recorded, or were lost",
            count(frees)
        );
        return Some(Warning::grave(analysis, ALLOCATIONS_MISSING, text));
    }
    let about = if again.is_estimated { "about " } else { "" };
    let since = match of {
        AllocationKind::Heap => ", though their address was freed before, or their heap created",
        _ => ", though their address was freed before",
    };
    let text = format!(
        "{about}{} of {} frees of {name} are of blocks that no record allocated",
        count(again.frees),
        count(frees)
    );
    let is_many = frees >= MANY_ALLOCATIONS && again.frees.saturating_mul(10) > frees;
    let warning = if is_many {
        Warning::grave(analysis, ALLOCATIONS_MISSING, format!("{text}{since}: {TOO_LITTLE}"))
    } else {
        Warning::note(analysis, "freed_again", text)
    };
    (again.frees > 0).then(|| warning.of(again.frees))
}

/// What was lost at no known time: a buffer that is missing between others has one, and tells nothing of the rest.
fn undated_frees(trust: &TrustReport) -> Option<&'static str> {
    let loss = trust.loss_of_all();
    if loss.holes.is_empty() {
        return (loss.any() || trust.lost_line().is_some()).then_some(
            "records were lost at times that the trace does not tell: frees may be among them, which Doubtful (doubtful_bytes) does not \
             count",
        );
    }
    loss.is_partly_undated().then_some(
        "records were lost in the missing buffers, and others may have been lost at times that the trace does not tell: Doubtful \
         (doubtful_bytes) counts frees of the missing buffers alone",
    )
}

/// What is not in the sums, because nothing tells of it.
fn unknown_start(of: AllocationKind, replayed: &Replayed) -> Option<Warning> {
    let number = replayed.at_start.iter().find(|(source, _)| *source == "unknown").map(|(_, number)| *number)?;
    let had = counted(number, "process had", "processes had");
    let text = match of {
        AllocationKind::Commit => {
            // What a record decommits was committed; what it releases may have been reserved alone.
            format!(
                "nothing tells what {had} committed before the trace: the sums have what of it was decommitted in the trace, and growth is \
                 too large by what was released"
            )
        }
        AllocationKind::Pool => {
            // A free has the size of its block, which was there before where no record allocated it.
            "no pool snapshot tells what was allocated before: the sums have what of it was freed in the trace or is in the snapshot of \
             the end, and nothing else of it"
                .to_owned()
        }
        AllocationKind::Heap => {
            format!(
                "nothing tells what heap blocks {had} before the trace: they are in no sum, and growth is too large by what of them was freed in the trace"
            )
        }
    };
    Some(Warning::note(of.needs().name, "start_unknown", text).of(number))
}

/// Codes of [`warnings_at_end`].
pub const AT_END: [&str; 3] = ["frees_lost", "differs_from_rundown", FAR_FROM_RUNDOWN];

/// Code of commit that is another one than that of the end rundown by more than can be stacks that grew, copied pages and estimates.
pub const FAR_FROM_RUNDOWN: &str = "far_from_rundown";

/// Differences of fewer bytes are small ones.
const FEW_BYTES: u128 = 16 * PAGE_BYTES as u128;

/// So many allocations of an end snapshot that a tenth of them is no chance.
const MANY_LISTED: u64 = 20;

/// By how much the sums differ, where that is more than a tenth, or processes, more than a quarter of the sum together: too much of one does not
/// make up for too little of another.
fn far(check: &CommitCheck) -> Option<&'static str> {
    let is_far = |apart: u128, of: u128| apart > FEW_BYTES && apart.saturating_mul(of) > check.rundown_bytes;
    if is_far(check.computed_bytes.abs_diff(check.rundown_bytes), 10) {
        return Some("more than a tenth");
    }
    if is_far((check.computed_bytes + check.unlisted_bytes).abs_diff(check.rundown_bytes), 10) {
        return Some("more than a tenth with the processes that it does not list, whose ends may be missing");
    }
    is_far(check.difference_bytes, 4).then_some("more than a quarter, process by process")
}

/// What makes the sums at the end doubtful. `doubtful_bytes`: of pieces whose frees may be lost.
pub fn warnings_at_end(of: AllocationKind, doubtful_bytes: u128, check: Option<Check>) -> Vec<Warning> {
    let note = |code, text| Warning::note(of.needs().name, code, text);
    let bytes = |sum: u128| count(u64::try_from(sum).unwrap_or(u64::MAX));
    let [frees_lost, differs_from_rundown, far_from_rundown] = AT_END;
    let mut warnings = Vec::new();
    if doubtful_bytes > 0 {
        let (name, bytes) = (of.name(), bytes(doubtful_bytes));
        let text = format!("{name} at the end: {bytes} bytes of it may have been freed by records that were lost");
        warnings.push(note(frees_lost, text));
    }
    if let Some(Check::Commit(check)) = &check
        && let Some(how_far) = far(check)
    {
        let unlisted = (check.unlisted > 0).then(|| {
            let processes = counted(check.unlisted, "process", "processes");
            format!(" (and {} bytes in {processes} that the end rundown does not list)", bytes(check.unlisted_bytes))
        });
        let text = format!(
            "commit at the end is {} bytes by the records{} and {} bytes by the end rundown, which differs by {}, in {} of {} processes, by \
             {} bytes in all: sums, peaks and rows are as far from what was committed",
            bytes(check.computed_bytes),
            unlisted.unwrap_or_default(),
            bytes(check.rundown_bytes),
            how_far,
            count(check.processes - check.equal),
            count(check.processes),
            bytes(check.difference_bytes),
        );
        warnings.push(Warning::grave(of.needs().name, far_from_rundown, text));
        return warnings;
    }
    let differs = match check {
        Some(Check::Commit(check)) if check.equal < check.processes => Some(format!(
            "commit at the end differs from the end rundown in {} of {} processes, by {} bytes in all",
            count(check.processes - check.equal),
            count(check.processes),
            bytes(check.difference_bytes),
        )),
        Some(Check::Pool(check)) if check.missing > 0 => {
            let text = format!(
                "pool at the end: {} of {} allocations of the end snapshot are in no record",
                count(check.missing),
                count(check.entries),
            );
            if check.entries >= MANY_LISTED && check.missing.saturating_mul(10) > check.entries {
                let warning = Warning::grave(of.needs().name, ALLOCATIONS_MISSING, format!("{text}: {TOO_LITTLE}"));
                warnings.push(warning.of(check.missing));
                return warnings;
            }
            Some(text)
        }
        _ => None,
    };
    warnings.extend(differs.map(|text| note(differs_from_rundown, text)));
    warnings
}
