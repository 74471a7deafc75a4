//! Thread events alone: which process a thread id is of, and since when.

use crate::etl::EtlFile;
use crate::etl::buffer_order::ranks;
use crate::event::hooks::*;
use crate::event::{Decoded, Event, decode};
use crate::load::stacks::first_walk::ThreadRecord;
use crate::load::timed_records::for_each_moment;
use crate::moment::At;

/// All thread events, in record order.
pub fn thread_records(etl: &EtlFile) -> Vec<At<ThreadRecord>> {
    let rank = ranks(&etl.buffers);
    let found = etl.fold_buffers(Vec::new, |all: &mut Vec<At<ThreadRecord>>, area| {
        for_each_moment(area, &rank, etl.before_first(), |raw, hook, moment| {
            let is_wanted =
                hook.is_none_or(|hook| matches!(hook, THREAD_START | THREAD_END | THREAD_DC_START | THREAD_DC_END));
            if is_wanted
                && let Ok(record) = raw.read()
                && let Decoded::Event { event: Event::Thread { phase, thread }, .. } = decode(&record)
            {
                let (thread_id, process_id) = (thread.thread_id, thread.process_id);
                all.push(At { moment, value: ThreadRecord { phase, thread_id, process_id } });
            }
        });
    });
    let mut all: Vec<At<ThreadRecord>> = found.into_iter().flatten().collect();
    all.sort_unstable_by_key(|record| record.moment);
    all
}
