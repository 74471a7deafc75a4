//! Any text as a file of budgets, judged on a trace: no panic, and verdicts follow from the limits.
//!
//! Input: the budgets, a byte of 0, and a saved baseline.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::internals::TraceValues;
use pfnset::internals::Verdict;
use pfnset::internals::{Baseline, Saved};
use pfnset::internals::{TraceResult, read_budgets};
use pfnset::trace::Trace;
use std::path::Path;
use std::sync::OnceLock;

/// Small, so that each input is judged in little time.
const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/resident-small.etl");

fuzz_target!(|data: &[u8]| {
    static TRACES: OnceLock<Trace> = OnceLock::new();
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let saved = parts.next().and_then(|baseline| Saved::read(baseline).ok().flatten()).map(Baseline::Saved);
    let Ok(budgets) = read_budgets(Path::new("budgets.toml"), &text) else { return };
    let budgets = &budgets[..budgets.len().min(4)];
    let trace = TRACES.get_or_init(|| Trace::open(Path::new(TRACE)).expect("the fixture"));
    let earlier = saved.map(|baseline| baseline.values(budgets));
    let values = TraceValues::answer(trace, budgets);
    let result = TraceResult::new(
        vec![TRACE.into()],
        budgets,
        values,
        earlier.as_ref().map(|earlier| earlier.values.as_slice()),
    );
    assert_eq!(result.budgets.len(), budgets.len());
    for budget in &result.budgets {
        let is_beyond = budget.limits.iter().any(|limit| limit.room < 0);
        assert_eq!(is_beyond, budget.verdict == Verdict::Fail, "{budget:?}");
        assert!(budget.value.is_some() || budget.verdict == Verdict::Invalid);
        assert!(budget.verdict <= result.verdict || budget.budget.optional);
    }
});
