//! The JSON object of `pfnset refset`.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::{MatchCounts, Verification};
use crate::analysis::refset::reason::{AccessReason, ReleaseReason};
use crate::analysis::refset::totals::mem_info_ws::MemInfoWsCheck;
use crate::analysis::refset::totals::timeline::{PeakAndAverage, Timeline, TimelineGroup};
use crate::analysis::table::Dimension as _;
use crate::answer::facts::{Fact, Facts};
use crate::answer::numbers;
use crate::event::page::PageUse;
use crate::facets::{Label, LabelKind};
use crate::model::window::Origin;
use serde_json::{Map, Value, json};

/// The whole object.
pub(super) fn facts(set: &ReferenceSet) -> Facts<'_> {
    let parts = [head(set), flows(set), held(set), outside(set), proof(set)];
    let mut facts = Facts::of_trace();
    for part in parts {
        facts = facts.all(part);
    }
    let facts = facts.has("rows", Fact::table(|| set.table()));
    match &set.timeline {
        Some(line) => facts.has("timeline", Fact::lazy(|| Fact::Is(timeline(line)))),
        None => facts,
    }
}

/// What was looked at.
fn head(set: &ReferenceSet) -> Value {
    json!({
        "missing_keywords": set.missing.iter().map(|need| need.keyword).collect::<Vec<_>>(),
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
    let steps = set.balance.steps(numbers::count);
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
        "held_by_process": set.process_peaks.iter().map(|holder| json!({
            "process": holder.process,
            "peak_pages": holder.peak.0,
            "peak_time_s": holder.peak.1.seconds(),
            "average_pages": holder.average,
        })).collect::<Vec<_>>(),
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

/// What proves the result.
fn proof(set: &ReferenceSet) -> Value {
    json!({
        "verification": set.verification.as_ref().map(verification),
        "working_sets": set.mem_info_ws.as_ref().map(working_sets),
        "group_by": set.dimensions.iter().map(|dimension| dimension.name()).collect::<Vec<_>>(),
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

fn verification(v: &Verification) -> Value {
    let group = |key: &str, name: &str, a: &MatchCounts| json!({ key: name, "matched": a.matched, "only_tracked": a.only_tracked, "only_final": a.only_final });
    json!({
        "time_s": v.time.seconds(),
        "tracked": v.tracked,
        "matched": v.all.matched,
        "only_tracked": v.all.only_tracked,
        "only_final": v.all.only_final,
        "kernel_pool_and_ranges": v.kernel_pool_and_ranges,
        "residue": v.residue(),
        "by_use": v.by_use.iter().map(|(page_use, a)| group("use", page_use.name(), a)).collect::<Vec<_>>(),
        "by_process": v.by_process.iter().map(|(process, a)| group("process", process, a)).collect::<Vec<_>>(),
        "examples": v.examples.iter().map(|example| json!({
            "only": if example.only_tracked { "tracked" } else { "final" },
            "process": example.process,
            "use": example.page_use.name(),
            "pfn": format!("0x{:x}", example.pfn),
            "address": format!("0x{:x}", example.address),
        })).collect::<Vec<_>>(),
    })
}

fn timeline(line: &Timeline) -> Value {
    let count = line.times.len();
    let mut points: Vec<Map<String, Value>> = (line.times.iter().zip(&line.pages))
        .map(|(time, pages)| [("time_s".to_owned(), json!(time.seconds())), ("pages".to_owned(), json!(pages))])
        .map(|fields| fields.into_iter().collect())
        .collect();
    let mut object = Map::new();
    object.insert("group_by".into(), line.dimensions.iter().map(|dimension| dimension.name()).collect());
    object.extend(extent(&line.extent));
    if line.is_by_category() {
        let name = |group: &TimelineGroup| group.labels.concat();
        object.insert("categories".into(), line.groups.iter().map(name).collect());
        let mut groups: Vec<_> = line.groups.iter().map(|group| (name(group), group.pages(count))).collect();
        for point in &mut points {
            let now = groups.iter_mut().map(|(name, pages)| (name.clone(), json!(pages.next())));
            point.insert("by_category".into(), Value::Object(now.collect()));
        }
    }
    let group = |group: &TimelineGroup| {
        let labels = line.dimensions.iter().zip(&group.labels);
        let mut fields: Map<String, Value> =
            labels.map(|(dimension, label)| (dimension.name().to_owned(), value(label))).collect();
        fields.extend(extent(&group.extent));
        fields.insert("pages".into(), group.pages(count).collect());
        fields
    };
    object.insert("points".into(), points.into_iter().collect());
    object.insert("groups".into(), line.groups.iter().map(group).collect());
    Value::Object(object)
}

/// A number as a number, other labels as texts.
fn value(label: &Label) -> Value {
    match label.kind() {
        LabelKind::Number(number) => json!(number),
        _ => json!(label.as_str()),
    }
}

/// Peak and average.
fn extent(extent: &PeakAndAverage) -> [(String, Value); 3] {
    [
        ("peak_pages".into(), json!(extent.peak)),
        ("peak_time_s".into(), json!(extent.peak_time.seconds())),
        ("average_pages".into(), json!(extent.average)),
    ]
}
