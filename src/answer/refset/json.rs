//! The JSON object of `pfnset refset`.

use crate::analysis::refset::final_state_check::Verification;
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::totals::timeline::{PeakAndAverage, Timeline};
use crate::analysis::refset::totals::working_set_check::MemInfoWsCheck;
use crate::analysis::refset::{ReferenceSet, StackShare};
use crate::analysis::table::Dimension as _;
use crate::answer::json_facts::{Fact, Facts};
use crate::event::page_identity::PageUse;
use crate::model::window::Origin;
use serde_json::{Map, Value, json};

/// The whole object.
pub(super) fn facts(set: &ReferenceSet) -> Facts<'_> {
    let none = || Fact::Is(Value::Null);
    let facts = Facts::of_trace()
        .doubts(&set.warnings)
        .notes(&set.warnings)
        .filter(&set.filter)
        .missing(&set.missing)
        .code_page(set.code_page)
        .all(head(set))
        .all(flows(set))
        .all(held(set))
        .has("held_by_process", Fact::table(|| set.process_peak_table()))
        .all(outside(set))
        .has("verification", set.verification.as_ref().map_or_else(none, verification))
        .is("working_sets", set.mem_info_ws.as_ref().map(working_sets))
        .group_by(&set.dimensions)
        .has("rows", Fact::table(|| set.table()));
    let facts = match &set.timeline {
        Some(line) => facts.has("timeline", timeline(line)),
        None => facts,
    };
    match set.stacks {
        Some(share) => facts.is("stacks", stacks(share)),
        None => facts,
    }
}

/// How many pages and accesses have a known stack.
fn stacks(share: StackShare) -> Value {
    json!({
        "pages": share.pages,
        "pages_with_stack": share.pages_with_stack,
        "accesses": share.accesses,
        "accesses_with_stack": share.accesses_with_stack,
    })
}

/// What was looked at.
fn head(set: &ReferenceSet) -> Value {
    json!({
        "window": {
            "start_s": set.window_times.0.seconds(),
            "stop_s": set.window_times.1.seconds(),
            "start_mark": set.window.from_mark,
            "stop_mark": set.window.to_mark,
            "origin": match set.window.origin {
                Origin::Marks => "marks",
                Origin::WholeTrace => "whole_trace",
                Origin::User => "user",
            },
        },
        "working_set_events": set.has_removals,
    })
}

/// What came and went.
fn flows(set: &ReferenceSet) -> Value {
    let access = |table: &[u64]| named(AccessReason::ALL.iter().map(|reason| reason.name()), table);
    let release = |table: &[u64]| named(ReleaseReason::ALL.iter().map(|reason| reason.name()), table);
    json!({
        "accesses": set.balance.accessed(),
        "accesses_by_reason": access(&set.balance.accesses),
        "releases": set.balance.released(),
        "releases_by_reason": release(&set.balance.releases),
        "reaccesses": set.balance.reaccessed(),
        "reaccesses_by_reason": access(&set.balance.reaccesses),
        "reaccesses_wpa_rules": set.balance.reaccessed_wpa(),
        "reaccesses_wpa_rules_by_reason": access(&set.balance.wpa_reaccesses),
        "second_mappings": set.balance.second_mappings,
        "never_held": set.balance.never_held,
        "unattributed": set.balance.unattributed,
        "offer_events": set.graphics.map(|graphics| graphics.offers),
        "reclaim_events": set.graphics.map(|graphics| graphics.reclaims),
    })
}

/// What was held.
fn held(set: &ReferenceSet) -> Value {
    let steps = set.balance.steps();
    let by_class = set.average.by_class.iter();
    json!({
        "held_at_start": set.held_at_start,
        "held_at_stop": set.held_at_stop,
        "balance": steps.iter().map(|step| (step.name.to_owned(), json!(step.pages))).collect::<Map<_, _>>(),
        "peak_held": { "pages": set.peak.0, "time_s": set.peak.1.seconds() },
        "average_held": {
            "pages": set.average.pages,
            "by_class": by_class.map(|(class, pages)| (class.name().to_owned(), json!(pages))).collect::<Map<_, _>>(),
        },
    })
}

/// Pages that are in no working set.
fn outside(set: &ReferenceSet) -> Value {
    let of_access = |reason: AccessReason| set.balance.accesses.get(reason as usize).copied().unwrap_or(0);
    let of_release = |reason: ReleaseReason| set.balance.releases.get(reason as usize).copied().unwrap_or(0);
    let by_use = PageUse::ALL.iter().zip(set.kernel.by_use).filter(|(_, pages)| *pages > 0);
    json!({
        "kernel": {
            "pages_logged": set.kernel.logged(),
            "pages_released": set.kernel.released,
            "pages_at_stop": set.kernel.at_stop,
            "by_use": by_use.map(|(page_use, pages)| (page_use.name().to_owned(), json!(pages))).collect::<Map<_, _>>(),
        },
        "pool": {
            "pages_allocated": of_access(AccessReason::PoolAllocate),
            "pages_freed": of_release(ReleaseReason::PoolFree),
            "pages_at_stop": set.pool_at_stop,
        },
        "ranges": {
            "pages_accessed": of_access(AccessReason::PageRangeAccess),
            "pages_released": of_release(ReleaseReason::PageRangeRelease),
            "pages_at_stop": set.ranges_at_stop,
        },
    })
}

fn named<'n>(names: impl Iterator<Item = &'n str>, counts: &[u64]) -> Value {
    Value::Object(names.zip(counts).map(|(name, count)| (name.to_owned(), json!(count))).collect())
}

fn working_sets(sets: &MemInfoWsCheck) -> Value {
    json!({
        "records": sets.records,
        "compared": sets.compared,
        "agree": sets.agree,
        "worst": sets.worst.iter().map(|difference| json!({
            "process": difference.process,
            "time_s": difference.time.seconds(),
            "recorded_pages": difference.recorded_pages,
            "tracked_pages": difference.tracked_pages,
        })).collect::<Vec<_>>(),
    })
}

fn verification(v: &Verification) -> Fact<'_> {
    let facts = Facts::default()
        .is("time_s", v.time.seconds())
        .is("tracked", v.tracked)
        .is("matched", v.all.matched)
        .is("matched_other_use", v.other_use)
        .is("only_tracked", v.all.only_tracked)
        .is("only_final", v.all.only_final)
        .is("kernel_pool_and_ranges", v.kernel_pool_and_ranges)
        .is("residue", v.residue())
        .has("by_use", Fact::table(|| v.use_table()))
        .has("by_process", Fact::table(|| v.process_table()))
        .has("examples", Fact::table(|| v.examples_table()));
    Fact::Object(facts)
}

fn timeline(line: &Timeline) -> Fact<'_> {
    let group_by = || line.dimensions.iter().map(|dimension| dimension.name());
    let mut facts = Facts::default().is("group_by", group_by().collect::<Vec<_>>());
    for (name, value) in PeakAndAverage::FIELDS.into_iter().zip(line.extent.values()) {
        facts = facts.value(name, value);
    }
    if line.is_by_category() {
        facts = facts.is("categories", line.groups.iter().map(|group| group.category()).collect::<Vec<_>>());
    }
    let of_group = group_by().chain(PeakAndAverage::FIELDS).chain(["pages"]);
    let facts = facts
        .has("points", Fact::records(["time_s", "pages", "by_category"], || line.point_records()))
        .has("groups", Fact::records(of_group, || line.group_records()));
    Fact::Object(facts)
}
