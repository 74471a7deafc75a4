//! The threads that do parallel work.

use crate::cli::host_call::Call;
use anyhow::Context;
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::process;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How many can be asked for.
pub const POSSIBLE: RangeInclusive<u16> = 1..=1024;

/// The stack of the main thread of most systems: whole commands run on threads of a pool.
const STACK_BYTES: usize = 8 << 20;

/// Pools that nobody uses, by the number of threads that was asked for. Each call has one for itself: a thread of a pool that waits for a
/// part of its work takes up what else is there to do, so that a call could not end before another one. A process that was forked has
/// none of the threads of its parent, so each process has pools of its own.
static POOLS: Mutex<Pools> = Mutex::new(BTreeMap::new());

/// By process, and by the number of threads.
type Pools = BTreeMap<(u32, Option<u16>), Vec<Arc<ThreadPool>>>;

/// Keeps a pool for the next call.
pub fn give_back(asked: Option<u16>, pool: Arc<ThreadPool>) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.entry((process::id(), asked)).or_default().push(pool);
}

/// Threads for a command inside of another program: as many as are asked for, else one for each processor. They are the caller's until
/// it gives them back.
pub fn pool(asked: Option<u16>) -> anyhow::Result<Arc<ThreadPool>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (process::id(), asked);
    if let Some(pool) = pools.get_mut(&key).and_then(Vec::pop) {
        return Ok(pool);
    }
    // Threads that do not exist here cannot be waited for either.
    pools.retain(|(process, _), pools| {
        let is_own = *process == key.0;
        if !is_own {
            std::mem::take(pools).into_iter().for_each(std::mem::forget);
        }
        is_own
    });
    let builder = ThreadPoolBuilder::new().stack_size(STACK_BYTES).num_threads(asked.unwrap_or(0).into());
    Ok(Arc::new(builder.build().context("cannot start threads")?))
}

/// Starts as many threads as are asked for, else one for each processor. Where the system gives fewer, the work is done by those
/// that it gives; without any, by the thread that calls this.
pub fn start(asked: Option<u16>) -> anyhow::Result<()> {
    if Call::current().is_some() {
        return Ok(()); // the command runs on them
    }
    let processors = || thread::available_parallelism().map_or(1, NonZero::get);
    let wanted = asked.map_or_else(processors, usize::from);
    // The pool would end with an error at the first thread that it does not get, so they are there before it.
    let mut waiting = (0..wanted).map_while(|_| idle_thread().ok()).collect::<Vec<_>>().into_iter();
    let pool = ThreadPoolBuilder::new();
    let started = match waiting.len() {
        0 => pool.num_threads(1).use_current_thread().build_global(),
        threads => pool.num_threads(threads).spawn_handler(|work| pass(&mut waiting, work)).build_global(),
    };
    started.context("cannot start threads")
}

/// How many there are.
pub fn count() -> usize {
    rayon::current_num_threads()
}

/// A thread that waits for what it has to do.
fn idle_thread() -> io::Result<Sender<ThreadBuilder>> {
    let (send, receive) = channel::<ThreadBuilder>();
    thread::Builder::new().spawn(move || receive.into_iter().for_each(ThreadBuilder::run))?;
    Ok(send)
}

fn pass(waiting: &mut impl Iterator<Item = Sender<ThreadBuilder>>, work: ThreadBuilder) -> io::Result<()> {
    let sent = waiting.next().map(|thread| thread.send(work));
    sent.and_then(Result::ok).ok_or_else(|| io::Error::other("a thread has ended"))
}
