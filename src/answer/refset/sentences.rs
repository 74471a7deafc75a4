//! What the answer of `pfnset refset` says in sentences.

use crate::analysis::refset::final_state_check::Verification;
use crate::analysis::refset::graphics_events::GraphicsEvents;
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::totals::working_set_check::MemInfoWsCheck;
use crate::analysis::refset::{ReferenceSet, StackShare};
use crate::answer::numbers;
use crate::model::window::Origin;
use crate::units::Nanos;

/// `Held at stop, from 0.002000 s "…" to 0.069326 s (67.326 ms)`.
pub(super) fn title(set: &ReferenceSet, what: &str) -> String {
    let (from, to) = set.window_times;
    let end = |time: Nanos, mark: &Option<String>| match mark {
        Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
        None => format!("{:.6} s", time.seconds()),
    };
    let whole = if set.window.origin == Origin::WholeTrace { ", the whole trace" } else { "" };
    let length = numbers::duration(Nanos(to.0.saturating_sub(from.0)));
    let (from, to) = (end(from, &set.window.from_mark), end(to, &set.window.to_mark));
    format!("{what} from {from} to {to} ({length}{whole})")
}

/// What rows count.
pub(super) fn rows_title(set: &ReferenceSet) -> &'static str {
    match (set.with_impact() || set.is_net, set.with_ended) {
        (true, _) => "Impact",
        (false, true) => "Pages held",
        (false, false) => "Held at stop,",
    }
}

/// `258 of the 1,671 pages held at stop`.
pub(super) fn selected(set: &ReferenceSet) -> String {
    let selected = set.summary.as_ref().map_or(0, |summary| summary.categories.measure.pages);
    let (selected, all) = (numbers::count(selected.unsigned_abs()), numbers::count(set.held_at_stop));
    format!("{selected} of the {all} pages held at stop")
}

/// What rows count where their sums are not those of the accesses and releases.
pub(super) fn row_notes(set: &ReferenceSet) -> Vec<String> {
    let by = |dimension| set.dimensions.contains(&dimension);
    let net = set.is_net.then(|| {
        "Impacting pages count where they came in the window and stayed, and are subtracted where they were held before \
         and released in it: rows and totals of them are net growth, which can be negative and has no shares."
            .to_owned()
    });
    match () {
        () if set.with_impact() => std::iter::once(
            "Pages counts a page for each holder, charged pages a physical page once: for the process that accessed \
             it first, until the last holder releases it (WPA's impact size). So a process can be charged for a page \
             that it has released and others still hold."
                .to_owned(),
        )
        .chain(net)
        .collect(),
        () if set.is_net => net.into_iter().collect(),
        () if set.is_selection || !set.with_ended => Vec::new(),
        () => [(by(Dimension::AccessReason), entered(set)), (by(Dimension::ReleaseReason), left(set))]
            .into_iter()
            .filter_map(|(is_shown, note)| is_shown.then_some(note))
            .collect(),
    }
}

/// Of how many pages the stack is known, where rows or conditions ask for stacks.
pub(super) fn stack_share(set: &ReferenceSet) -> Option<String> {
    let StackShare { pages, pages_with_stack, accesses, accesses_with_stack } = set.stacks?;
    let of_accesses = format!(
        "of {} of the {} page accesses of the trace",
        numbers::count(accesses_with_stack),
        numbers::count(accesses)
    );
    if set.with_impact() || set.is_net {
        // Pages of both signs have no share.
        return Some(format!("Stacks are known {of_accesses}. Pages that were held at the start have none."));
    }
    let [known, all] = [pages_with_stack, pages].map(i64::unsigned_abs);
    let share = if all == 0 { String::new() } else { format!(" ({})", numbers::percent(known, all)) };
    let [known, all] = [known, all].map(numbers::count);
    let before = if set.chooses_stacks() { ", before the conditions on stacks," } else { "" };
    Some(format!(
        "Stacks are known of {known} of {all} pages{share}{before} and {of_accesses}. Pages that were held at the start have none."
    ))
}

/// What Windows says of working sets.
pub(super) fn agreement(sets: &MemInfoWsCheck) -> String {
    let (agree, compared, records) =
        (numbers::count(sets.agree), numbers::count(sets.compared), numbers::count(sets.records));
    let all = format!("{agree} of {compared} have as many pages as Windows logged (MemInfoWS records: {records})");
    match sets.worst.first() {
        None => all,
        Some(worst) => format!(
            "{all}; the largest difference: {} has {}, logged were {} at {} s",
            worst.process,
            numbers::count(worst.tracked_pages),
            numbers::count(worst.recorded_pages),
            numbers::seconds(worst.time)
        ),
    }
}

/// WPA's reasons Reclaim and Offer.
pub(super) fn graphics(events: Option<GraphicsEvents>) -> String {
    const PROVIDER: &str = "Microsoft-Windows-DxgKrnl";
    match events {
        None => format!("WPA's Reclaim and Offer were not recorded (provider {PROVIDER})"),
        Some(GraphicsEvents { offers, reclaims }) => format!(
            "Reclaim: {} and Offer: {} events of {PROVIDER}; they name no pages",
            numbers::count(reclaims),
            numbers::count(offers)
        ),
    }
}

/// How the rows by access reason follow from the accesses.
fn entered(set: &ReferenceSet) -> String {
    let flows = &set.balance;
    let mut terms = vec![
        format!("{} of pages held already", numbers::count(flows.held_already())),
        format!("{} of pages that were never held", numbers::count(flows.never_held)),
        format!(
            "{} of kernel, pool and range pages, which are in no working set",
            numbers::count(flows.accessed_outside)
        ),
    ];
    let not_started = numbers::count(flows.not_started.unsigned_abs());
    match flows.not_started {
        0 => {}
        1.. => terms.push(format!("{not_started} for processes that start after the window")),
        _ => terms.push(format!("less {not_started} from before the window, for processes that start in it")),
    }
    let emptied = match flows.emptied {
        0 => String::new(),
        emptied => format!(", less {} in working sets that were emptied", numbers::count(emptied)),
    };
    format!(
        "By access reason the rows add up to {} pages held at start and {} that entered working sets since{emptied}. The \
         other accesses of the {} in all: {}.",
        numbers::count(set.held_at_start),
        numbers::count(flows.entered()),
        numbers::count(flows.accessed()),
        terms.join(", ")
    )
}

/// How the rows by release reason follow from the releases.
fn left(set: &ReferenceSet) -> String {
    let flows = &set.balance;
    format!(
        "By release reason the rows add up to {} pages that left working sets and {} held at stop. The other {} releases of \
         the {} in all: of kernel, pool and range pages, which are in no working set.",
        numbers::count(flows.left()),
        numbers::count(set.held_at_stop),
        numbers::count(flows.released_outside),
        numbers::count(flows.released())
    )
}

pub(super) fn verdict(v: &Verification) -> String {
    if v.incomplete.is_some() {
        return format!(
            "{} pages match, {} only tracked, {} only in the final state, of which a part is missing: no residue",
            numbers::count(v.all.matched),
            numbers::count(v.all.only_tracked),
            numbers::count(v.all.only_final),
        );
    }
    if v.is_hopeless() {
        return "impossible: no page of the final page sequence matches, so most of it must be missing".into();
    }
    format!(
        "{} pages match, {} only tracked, {} only in the final state: residue {:.2} %",
        numbers::count(v.all.matched),
        numbers::count(v.all.only_tracked),
        numbers::count(v.all.only_final),
        v.residue() * 100.0
    )
}

/// `SharablePageAccess 1,288, …`.
pub(super) fn reasons(list: &[(&str, u64)]) -> String {
    list.iter().map(|(name, count)| format!("{name} {}", numbers::count(*count))).collect::<Vec<_>>().join(", ")
}
