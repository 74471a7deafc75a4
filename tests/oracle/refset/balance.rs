//! What is held at the window's end follows from its begin and from what came and went, and the rows by any dimensions add
//! up to it.

use pfnset::analysis::refset::ReferenceSet;
use pfnset::analysis::refset::query::{Dimension, Query};
use pfnset::dimensions::Condition;
use pfnset::trace::Trace;
use pfnset::units::Nanos;
use proptest::prelude::*;

/// Groupings: what is held at the end, and (with a release reason) all that was held in the window.
const GROUPINGS: [&[Dimension]; 5] = [
    &[Dimension::AccessReason, Dimension::ReleaseReason],
    &[Dimension::ReleaseReason, Dimension::PROCESS],
    &[Dimension::Class, Dimension::FILE, Dimension::AccessReason],
    &[Dimension::Detail],
    &[Dimension::Impact, Dimension::PROCESS],
];

/// Conditions of which each page meets one.
const HALVES: [[&str; 2]; 3] = [
    ["category=Image", "category=!Image"],
    ["process=p*", "process=!p*"],
    ["access_reason=SharablePageAccess", "access_reason=!SharablePageAccess"],
];

fn sum(set: &ReferenceSet) -> i64 {
    set.rows.iter().map(|row| row.measure.pages).sum()
}

/// Checks one grouping and one pair of conditions, which a number chooses.
pub fn check(trace: &Trace, query: &Query, set: &ReferenceSet, choice: u64) -> Result<(), TestCaseError> {
    let flows = &set.balance;
    let steps = flows.steps();
    let followed = set.held_at_start as i64 + steps.iter().map(|step| step.pages).sum::<i64>();
    prop_assert_eq!(followed, set.held_at_stop as i64, "{:?}", flows);

    let dimensions = GROUPINGS[choice as usize % GROUPINGS.len()];
    let grouped = Query { group_by: dimensions.to_vec(), ..query.clone() };
    let rows = ReferenceSet::answer(trace, &grouped).unwrap();
    prop_assert_eq!(rows.balance, *flows, "rows change no total");
    if dimensions.contains(&Dimension::Impact) {
        let gained = set.held_at_stop as i64 - set.held_at_start as i64;
        let of = |name: &str| -> i64 {
            rows.rows.iter().filter(|row| row.labels[0] == name).map(|row| row.measure.pages).sum()
        };
        // What was held before and was emptied in the window has no row.
        prop_assert!((gained..=gained + flows.emptied as i64).contains(&of("Impacting")), "{:?}", flows);
    } else if rows.with_ended {
        prop_assert_eq!(sum(&rows), (set.held_at_start + flows.entered() - flows.emptied) as i64);
        prop_assert_eq!(sum(&rows), (flows.left() + set.held_at_stop) as i64);
    } else {
        prop_assert_eq!(sum(&rows), set.held_at_stop as i64);
    }
    let mut halves = 0;
    for condition in HALVES[choice as usize / GROUPINGS.len() % HALVES.len()] {
        let mut half = grouped.clone();
        half.conditions.push(Condition::parse(condition).unwrap());
        let half = ReferenceSet::answer(trace, &half).unwrap();
        prop_assert_eq!((half.peak, half.balance), (set.peak, *flows), "conditions choose rows alone");
        halves += sum(&half);
    }
    prop_assert_eq!(halves, sum(&rows));
    timeline(trace, query, set, choice)
}

/// A timeline by process has each process's peak and average; the halves of a condition add up to the whole at each point.
fn timeline(trace: &Trace, query: &Query, set: &ReferenceSet, choice: u64) -> Result<(), TestCaseError> {
    let by = |condition: Option<&str>| {
        let mut query = Query { timeline: Some(Nanos(5000)), timeline_by: vec![Dimension::PROCESS], ..query.clone() };
        query.conditions.extend(condition.map(|condition| Condition::parse(condition).unwrap()));
        ReferenceSet::answer(trace, &query).unwrap().timeline.unwrap()
    };
    let whole = by(None);
    prop_assert_eq!((whole.extent.peak, whole.extent.peak_time), set.peak);
    prop_assert!((whole.extent.average - set.average.pages).abs() < 1e-6);
    prop_assert_eq!(whole.pages.last(), Some(&set.held_at_stop));
    prop_assert_eq!(whole.groups.len(), set.process_peaks.len());
    for holder in &set.process_peaks {
        let found = whole.groups.iter().find(|group| group.labels[0] == holder.process).unwrap();
        prop_assert_eq!((found.extent.peak, found.extent.peak_time), holder.peak, "{}", &holder.process);
        prop_assert!((found.extent.average - holder.average).abs() < 1e-6);
    }
    let mut sums = vec![0; whole.times.len()];
    for group in &whole.groups {
        sums.iter_mut().zip(group.pages(whole.times.len())).for_each(|(sum, pages)| *sum += pages);
    }
    prop_assert_eq!(&sums, &whole.pages);
    let halves = HALVES[choice as usize % HALVES.len()].map(|condition| by(Some(condition)).pages);
    let sums: Vec<u64> = halves[0].iter().zip(&halves[1]).map(|(a, b)| a + b).collect();
    prop_assert_eq!(sums, whole.pages);
    Ok(())
}
