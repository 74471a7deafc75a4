//! How much the tests try. Each has its usual number of random cases, which finds faults in practice; `PFNSET_CASES` scales all of
//! them. Where nothing is set it is 256, so that a run by hand tries a third; `.ci/run` tries the usual number, 768, with the program as
//! it is shipped, and `.ci/full` ten times as many. A run chooses other cases each time; those of one with `PROPTEST_RNG_SEED` come
//! again. (`PROPTEST_CASES` gives every test that many, whatever its own number: proptest takes it before all else.)

use proptest::prelude::{ProptestConfig, Strategy};
use proptest::sample::subsequence;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// The `PFNSET_CASES` of the usual number.
const USUAL: u64 = 768;

/// What the settings want.
fn asked() -> u64 {
    std::env::var("PFNSET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256)
}

/// So many times as the settings want a usual number; at least once.
pub fn times(usual: u64) -> u64 {
    (usual * asked() / USUAL).max(1)
}

/// The settings of a property test with its usual number of cases.
pub fn cases(usual: u64) -> ProptestConfig {
    let cases = u32::try_from(times(usual)).unwrap_or(u32::MAX);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// One in `parts` of a list, in its order, at the usual number of cases: a list that one run need not go through, since others
/// choose other parts of it. All of it where the settings want so many times the usual number, nothing less than one.
#[allow(dead_code)] // not all that include this file use it
pub fn one_in<T: Clone>(parts: u64, all: Vec<T>) -> Vec<T> {
    if all.is_empty() {
        return all;
    }
    let wanted = times(all.len() as u64) / parts;
    let count = usize::try_from(wanted).unwrap_or(usize::MAX).clamp(1, all.len());
    let mut runner = TestRunner::new(ProptestConfig::default());
    let places =
        subsequence((0..all.len()).collect::<Vec<usize>>(), count).new_tree(&mut runner).expect("a part of a list");
    places.current().into_iter().map(|place| all[place].clone()).collect()
}

/// True in one run of `parts` at the usual number of cases, for what takes seconds: never with fewer cases, in each run with so many
/// times the usual number.
#[allow(dead_code)] // not all that include this file use it
pub fn one_run_in(parts: u64) -> bool {
    let cases = asked();
    let mut runner = TestRunner::new(ProptestConfig::default());
    let drawn = (0..USUAL * parts).new_tree(&mut runner).expect("a number");
    cases >= USUAL && drawn.current() < cases
}
