//! The same result for any number of threads.

use super::serial;
use crate::opened::open;
use etl_writer::{Rec, Rng, Session, Trace};
use pfnset::trace::Survey;
use pfnset::unstable_api::TraceDigest;

/// Records of `processors` with few different times, so that many are equal.
fn crowded(count: u64, processors: u64, seed: u64) -> Vec<Rec> {
    let mut rng = Rng::new(seed);
    let mut ticks = vec![0; processors as usize];
    let rec = |n| {
        let cpu = rng.below(processors);
        ticks[cpu as usize] += rng.below(3);
        serial(n, ticks[cpu as usize]).on(cpu as u16)
    };
    (0..count).map(rec).collect()
}

#[test]
fn one_thread_and_two_say_the_same() {
    let session = Session { buffer_size: 0x1000, ..Session::windows8().merged() };
    let opened = open(&Trace::new(session).push_all(crowded(5_000, 8, 4)).finish());
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let survey = Survey::new(&opened);
            let kinds: Vec<_> = survey
                .kinds
                .iter()
                .map(|k| (k.id, k.version, k.count, k.bytes, k.first, k.last, k.processors.clone()))
                .collect();
            let counts = (survey.total, survey.by_header, survey.by_processor, survey.spans);
            (kinds, counts, TraceDigest::new(&opened))
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(7));
}
