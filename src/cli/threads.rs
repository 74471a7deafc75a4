//! The threads that do parallel work.

use anyhow::Context;
use rayon::{ThreadBuilder, ThreadPoolBuilder};
use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Starts as many threads as are asked for, else one for each processor. Where the system gives fewer, the work is done by those
/// that it gives; without any, by the thread that calls this.
pub fn start(asked: Option<u16>) -> anyhow::Result<()> {
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
