//! What casts doubt on the table of a page sequence, for all commands that count its pages.

use crate::analysis::resident::commit_stacks::{AllocationShare, CommitStacks};
use crate::analysis::resident::consistency_checks::{BaseCounts, Checks};
use crate::analysis::resident::page_dimensions::Dimension;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::dimensions::{Condition, ProcessFacet};
use crate::etl::record_id::HookId;
use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
use crate::load::allocation_kinds::AllocationKind;
use crate::load::trace_parts::Parts;
use crate::model::snapshot::{FIRST_BUILD_WITH_COLD, Snapshot};
use crate::trace::Trace;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::readiness::undescribed;
use crate::trace::trust::untold_labels::{LABELS_UNKNOWN, services_unknown};
use crate::trace::trust::warning::{Warning, Warnings, symbols_missing};
use crate::units::count;

/// What the checks are made of.
pub(crate) const PARTS: Parts = SnapshotContext::PARTS.and(Parts::COUNTERS);

/// The checks of a snapshot, whose pages are counted for them, and what the pages were joined with.
fn checks(trace: &Trace, index: usize) -> Option<(Checks, SnapshotContext<'_>)> {
    let snapshot = trace.snapshots().get(index)?;
    let context = SnapshotContext::new(trace, snapshot);
    let counts = BaseCounts::count(trace.etl(), &context, snapshot);
    Some((Checks::new(&counts, &context, snapshot, trace), context))
}

/// What the checks of a snapshot found, for a command that shows numbers of its pages; they are counted.
pub(crate) fn failed_checks(trace: &Trace, index: usize) -> Warnings {
    trace.gather(PARTS);
    checks(trace, index).map(|(checks, _)| checks.failures()).unwrap_or_default()
}

/// All warnings of these snapshots; their pages are counted.
pub(crate) fn of_snapshots(trace: &Trace, snapshots: &[usize]) -> Warnings {
    with_last_context(trace, snapshots).0
}

/// The same of one snapshot, and why its lists are too far from the kernel's own counters for any number of its pages.
pub(crate) fn with_lists(trace: &Trace, index: usize) -> (Warnings, Option<String>) {
    trace.gather(PARTS);
    let checks = checks(trace, index).map(|(checks, _)| checks);
    let warnings = of_checks(trace, &checks.iter().map(|checks| (index, checks)).collect::<Vec<_>>());
    (warnings, checks.and_then(|checks| checks.far_from_meminfo()))
}

/// The same of several, and what the pages of the last one were joined with.
pub(crate) fn with_last_context<'t>(
    trace: &'t Trace,
    snapshots: &[usize],
) -> (Warnings, Option<(usize, SnapshotContext<'t>)>) {
    trace.gather(PARTS);
    let (mut all, mut last) = (Vec::new(), None);
    for &index in snapshots {
        let Some((checks, context)) = checks(trace, index) else { continue };
        all.push((index, checks));
        last = Some((index, context));
    }
    (of_checks(trace, &all.iter().map(|(index, checks)| (*index, checks)).collect::<Vec<_>>()), last)
}

/// All warnings, where the pages were counted already.
pub(crate) fn of_checks(trace: &Trace, checks: &[(usize, &Checks)]) -> Warnings {
    let trust = trace.trust();
    let mut warnings = trust.warnings();
    warnings.extend(trace.page_sequences().warnings(&trace.etl().clock));
    for (index, of) in checks {
        let name = (checks.len() > 1).then(|| format!("snapshot {index}"));
        let named = |warning: Warning| match &name {
            Some(name) if !warning.text.starts_with(&**name) => warning.named(name),
            _ => warning,
        };
        warnings.extend(of.failures().into_iter().chain(of.known_things.warnings()).map(named));
    }
    warnings.extend(trace.page_sequences().repetition());
    warnings.extend(trust.not_there_for(RESIDENT_SET.name, &trace.missing(&RESIDENT_SET)));
    warnings.extend(undescribed(trace.survey(), trace.processes(), &RESIDENT_SET));
    warnings
}

/// What is missing of the stacks of commits.
pub(crate) fn of_stacks(stacks: &CommitStacks) -> Warnings {
    let AllocationShare { allocations, with_stack } = stacks.share();
    let without = allocations.saturating_sub(with_stack);
    let none = (with_stack == 0).then(|| {
        let text = "no record of VirtualAlloc has a stack: rows by stack, function and module tell at most what was committed in the \
                    trace (xperf: -stackwalk VirtualAlloc)";
        Warning::note(RESIDENT_SET.name, "no_stacks", text.to_owned())
    });
    let some = (with_stack > 0 && without > 0).then(|| {
        let [some, all] = [without, allocations].map(count);
        let text = format!(
            "{some} of {all} VirtualAlloc records have no stack: the pages that they committed have no function and no module"
        );
        Warning::note(RESIDENT_SET.name, "stacks_incomplete", text).of(without)
    });
    none.into_iter().chain(some).chain(of_symbols(stacks)).collect()
}

/// What the records do not tell of pages, where rows or conditions ask for it: tags of the pool, and flags that older Windows leaves clear.
pub(crate) fn of_untold(
    trace: &Trace,
    snapshots: &[usize],
    dimensions: &[Dimension],
    conditions: &[Condition<Dimension>],
) -> impl Iterator<Item = Warning> {
    let is_asked_for =
        |of: Dimension| dimensions.contains(&of) || conditions.iter().any(|condition| condition.dimension == of);
    let is_untold = |tells: fn(&Snapshot, u32) -> bool| {
        let mut chosen = snapshots.iter().filter_map(|&index| trace.snapshots().get(index));
        chosen.any(|snapshot| !tells(snapshot, trace.etl().header.os_build))
    };
    let tags = is_asked_for(Dimension::PoolTag).then(|| untold_tags(trace)).flatten().map(str::to_owned);
    let non_tradeable = (is_asked_for(Dimension::NonTradeable) && is_untold(|of, _| of.tells_non_tradeable())).then(|| {
        format!(
            "the page records ({PAGE_IN_MEMORY}) do not tell which pages are non-tradeable (non_tradeable): only those of \
             {PAGE_IN_MEMORY_24H2} do, of Windows 11 24H2 and later, and \"false\" of others is no answer"
        )
    });
    let cold = (is_asked_for(Dimension::Cold) && is_untold(Snapshot::tells_cold)).then(|| {
        format!(
            "the page records of build {} of Windows do not tell which pages are cold: only those of version 1903 (build \
             {FIRST_BUILD_WITH_COLD}) and later do",
            trace.etl().header.os_build
        )
    });
    let untold = [tags, non_tradeable, cold].into_iter().flatten();
    untold.map(|text| Warning::note(RESIDENT_SET.name, LABELS_UNKNOWN, text))
}

/// Why nobody knows the tags of all pages of the pool.
fn untold_tags(trace: &Trace) -> Option<&'static str> {
    let (pool, survey) = (AllocationKind::Pool, trace.survey());
    let has_any = |hooks: &[HookId]| hooks.iter().any(|hook| survey.kernel_count(*hook) > 0);
    // Records tell of what was allocated in the trace, and most of the pool is older.
    if has_any(pool.hooks()) && !has_any(pool.rundowns()) {
        return Some("no pool snapshot tells what was allocated before the trace: pages of it have no tag");
    }
    let is_unknown = trace.spaces().pool.is_empty();
    is_unknown.then_some("no record of the pool is in the trace: which tags (pool_tag) its pages have is unknown")
}

/// That nothing lists services, where rows or conditions ask for them.
pub(crate) fn of_services(
    trace: &Trace,
    dimensions: &[Dimension],
    conditions: &[Condition<Dimension>],
) -> Option<Warning> {
    let of_conditions = conditions.iter().map(|condition| condition.dimension);
    let mut all = dimensions.iter().copied().chain(of_conditions);
    services_unknown(trace.system(), RESIDENT_SET.name, all.any(|of| of == Dimension::Process(ProcessFacet::Service)))
}

/// What is missing of symbols.
pub(crate) fn of_symbols(stacks: &CommitStacks) -> impl Iterator<Item = Warning> {
    symbols_missing(RESIDENT_SET.name, stacks.told.iter().cloned())
}

/// What can be said before a page is counted: of the records of these snapshots.
pub(crate) fn before_counting(trace: &Trace, snapshots: &[usize]) -> Warnings {
    let checks: Vec<(usize, Checks)> = (snapshots.iter())
        .filter_map(|&index| Some((index, Checks::of_sequence(trace.snapshots().get(index)?, trace))))
        .collect();
    of_checks(trace, &checks.iter().map(|(index, checks)| (*index, checks)).collect::<Vec<_>>())
}

/// The same for the last whole snapshot, where there is one, without what was not recorded.
pub(crate) fn of_last_before_counting(trace: &Trace) -> Warnings {
    let last = SnapshotChoice::Last.indices(trace.snapshots()).unwrap_or_default();
    let mut warnings = if last.is_empty() { Warnings::default() } else { before_counting(trace, &last) };
    warnings.retain(|warning| {
        let is_told = warning.is_grave || warning.is_of(&["sequence_fragments", "records_like_pages"]);
        warning.analysis == RESIDENT_SET.name && is_told
    });
    warnings
}
