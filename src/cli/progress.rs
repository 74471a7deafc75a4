//! A progress bar on standard error: only on a terminal, only for work over a second; or numbers for another program.

use crate::cli::host_call::{Call, Watch};
use crate::cli::terminal::Characters;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

/// How much is done, in bytes.
type Done<'d> = &'d (dyn Fn() -> u64 + Sync);

/// Runs `work`; when it takes more than a second, shows how much of `total_bytes` is done.
pub fn with_bar<T>(quiet: bool, total_bytes: u64, done_bytes: impl Fn() -> u64 + Sync, work: impl FnOnce() -> T) -> T {
    shown(quiet, (Some(total_bytes), "reading {bar:40} {bytes}/{total_bytes} {eta}"), &done_bytes, work)
}

/// Runs `work`; when it takes more than a second, shows how much was unpacked so far.
pub fn while_unpacking<T>(quiet: bool, done_bytes: impl Fn() -> u64 + Sync, work: impl FnOnce() -> T) -> T {
    shown(quiet, (None, "unpacking {spinner} {bytes}"), &done_bytes, work)
}

/// Only what depends on `T` is here: each command's work has a type of its own.
fn shown<T>(quiet: bool, bar: (Option<u64>, &'static str), done: Done<'_>, work: impl FnOnce() -> T) -> T {
    let call = Call::current();
    if call.is_none() && (quiet || !std::io::stderr().is_terminal()) {
        return work();
    }
    std::thread::scope(|scope| {
        let finished = begin(scope, call.as_ref().map(|call| &*call.watch), bar, done);
        let result = work();
        drop(finished);
        result
    })
}

/// Begins a thread that shows progress until what is returned is dropped. Without a thread for it there is no bar.
fn begin<'scope>(
    scope: &'scope Scope<'scope, '_>,
    watch: Option<&'scope Watch>,
    (total_bytes, template): (Option<u64>, &'static str),
    done: Done<'scope>,
) -> Sender<()> {
    let (finished, waiting) = channel::<()>();
    let show = move || match watch {
        Some(watch) => tell(watch, total_bytes, done, &waiting),
        None => draw(template, total_bytes, done, &waiting),
    };
    let _ = std::thread::Builder::new().spawn_scoped(scope, show);
    finished
}

/// True when the work is not finished after this time.
fn goes_on(waiting: &Receiver<()>, time: Duration) -> bool {
    waiting.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
}

/// The template, but for what has begun and gave nothing yet: "0 B" would say that nothing comes.
fn template_at(template: &'static str, total_bytes: Option<u64>, done: u64) -> &'static str {
    if total_bytes.is_none() && done == 0 { "unpacking {spinner}" } else { template }
}

fn draw(template: &'static str, total_bytes: Option<u64>, done: Done<'_>, waiting: &Receiver<()>) {
    if !goes_on(waiting, Duration::from_secs(1)) {
        return;
    }
    let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::stderr());
    let set_template = |template: &str| {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(match Characters::error_is_ascii() {
                true => style.progress_chars("#>-").tick_chars("|/-\\ "),
                false => style,
            });
        }
    };
    let mut shown = "";
    while goes_on(waiting, Duration::from_millis(100)) {
        let bytes = done();
        let wanted = template_at(template, total_bytes, bytes);
        if wanted != shown {
            set_template(wanted);
            shown = wanted;
        }
        bar.set_position(bytes);
    }
    bar.finish_and_clear();
}

/// How often another program is told.
const TOLD_EVERY: Duration = Duration::from_millis(50);

/// Another program sees how much is done. Each scan of a trace counts from 0: what those before it read is added.
fn tell(watch: &Watch, total_bytes: Option<u64>, done: Done<'_>, waiting: &Receiver<()>) {
    let (mut before, mut last) = (0u64, done());
    let start = last;
    watch.total.store(total_bytes.unwrap_or(0), Ordering::Release);
    while goes_on(waiting, TOLD_EVERY) {
        let now = done();
        if now < last {
            before += last;
        }
        last = now;
        watch.done.store((before + now).saturating_sub(start), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn bytes_are_shown_when_there_are_some() {
        let at = |total, done| template_at("unpacking {spinner} {bytes}", total, done);
        assert_eq!(at(None, 0), "unpacking {spinner}");
        assert_eq!([at(None, 1), at(Some(1), 0)], ["unpacking {spinner} {bytes}"; 2]);
    }

    /// A bar that stands still looks like a program that hangs.
    #[test]
    fn what_is_told_goes_on_over_several_scans() {
        let (watch, done) = (Watch::default(), AtomicU64::new(0));
        let wait_for = |told: &AtomicU64, least: u64| {
            let came = (0..4000).any(|_| {
                std::thread::sleep(Duration::from_millis(5));
                told.load(Ordering::Acquire) >= least
            });
            assert!(came, "{told:?} of {least}");
        };
        let count = || done.load(Ordering::Relaxed);
        std::thread::scope(|scope| {
            let finished = begin(scope, Some(&watch), (Some(200), ""), &count);
            // Known from the moment on from which it counts.
            wait_for(&watch.total, 200);
            for (at, least) in [(40, 40), (100, 100), (10, 110), (90, 190)] {
                done.store(at, Ordering::Relaxed);
                wait_for(&watch.done, least);
            }
            drop(finished);
        });
        assert_eq!((watch.total.load(Ordering::Relaxed), watch.done.load(Ordering::Relaxed)), (200, 190));
    }
}
