//! Any text as a file of budgets, judged on a trace: no panic, verdicts follow from the limits, and every form of them is harmless.
//!
//! Input: the budgets, a byte of 0, and a saved baseline.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::answer::numbers::Unit;
use pfnset::trace::Trace;
use pfnset::unstable_api::{Baseline, Checked, Saved, TraceResult, TraceValues, Verdict};
use pfnset::unstable_api::{check_answer, junit, one_warning, read_budgets};
use std::path::Path;
use std::sync::OnceLock;

#[path = "../every_form.rs"]
mod every_form;

use every_form::{NAME, harmless, written};

/// Small, so that each input is judged in little time: pages, hard faults, and allocations of all kinds.
const TRACES: [&str; 3] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/resident-small.etl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/faults-x86.etl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/alloc-x86.etl"),
];

fuzz_target!(|data: &[u8]| {
    static OPEN: OnceLock<Vec<Trace>> = OnceLock::new();
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let saved = parts.next().and_then(|baseline| Saved::read(baseline).ok().flatten()).map(Baseline::Saved);
    let Ok(budgets) = read_budgets(Path::new("budgets.toml"), &text) else { return };
    let budgets = &budgets[..budgets.len().min(4)];
    let open = |path: &&str| Trace::open(Path::new(path)).expect("a fixture");
    let earlier = saved.map(|baseline| baseline.values(budgets));
    for (path, trace) in TRACES.iter().zip(OPEN.get_or_init(|| TRACES.iter().map(open).collect())) {
        let values = TraceValues::answer(trace, budgets);
        let result = TraceResult::new(vec![path.into()], budgets, values, earlier.as_ref());
        judged(&result, budgets.len());
        let told = one_warning(NAME);
        let (name, verdict) = (Path::new(NAME), result.verdict);
        let checked = Checked { budgets: name, baseline: Some(name), of_baseline: &told, verdict };
        harmless(junit(std::slice::from_ref(&result), &told, true, Unit::Auto).expect("a document").into());
        written(check_answer(checked, std::slice::from_ref(&result), told.clone()));
    }
});

fn judged(result: &TraceResult, budgets: usize) {
    assert_eq!(result.budgets.len(), budgets);
    for budget in &result.budgets {
        let is_beyond = budget.limits.iter().any(|limit| limit.room < 0);
        assert_eq!(is_beyond, budget.verdict == Verdict::Fail, "{budget:?}");
        assert!(budget.value.is_some() || budget.verdict == Verdict::Invalid);
        assert!(budget.verdict <= result.verdict || budget.budget.optional);
    }
}
