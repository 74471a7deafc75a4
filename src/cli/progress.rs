//! A progress bar on standard error: only on a terminal, only for work over a second; or numbers for another program.

use crate::cli::call::{Call, Watch};
use crate::cli::terminal::Characters;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs `work`; when it takes more than a second, shows how much of `total_bytes` is done.
pub fn with_bar<T>(quiet: bool, total_bytes: u64, done_bytes: impl Fn() -> u64 + Send, work: impl FnOnce() -> T) -> T {
    shown(quiet, Some(total_bytes), "reading {bar:40} {bytes}/{total_bytes} {eta}", done_bytes, work)
}

/// Runs `work`; when it takes more than a second, shows how much was unpacked so far.
pub fn while_unpacking<T>(quiet: bool, done_bytes: impl Fn() -> u64 + Send, work: impl FnOnce() -> T) -> T {
    shown(quiet, None, "unpacking {spinner} {bytes}", done_bytes, work)
}

fn shown<T>(
    quiet: bool,
    total_bytes: Option<u64>,
    template: &str,
    done_bytes: impl Fn() -> u64 + Send,
    work: impl FnOnce() -> T,
) -> T {
    if let Some(call) = Call::current() {
        return watched(&call.watch, total_bytes, done_bytes, work);
    }
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    std::thread::scope(|scope| {
        let (finished, waiting) = channel::<()>();
        let watch = move || {
            if waiting.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(match Characters::error_is_ascii() {
                    true => style.progress_chars("#>-").tick_chars("|/-\\ "),
                    false => style,
                });
            }
            while waiting.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(done_bytes());
            }
            bar.finish_and_clear();
        };
        // Without a thread for it there is no bar.
        let _ = std::thread::Builder::new().spawn_scoped(scope, watch);
        let result = work();
        drop(finished);
        result
    })
}

/// How often another program is told.
const TOLD_EVERY: Duration = Duration::from_millis(50);

/// Runs `work`; another program sees how much is done. Each scan of a trace counts from 0: what those before it read is added.
fn watched<T>(
    watch: &Watch,
    total_bytes: Option<u64>,
    done_bytes: impl Fn() -> u64 + Send,
    work: impl FnOnce() -> T,
) -> T {
    watch.total.store(total_bytes.unwrap_or(0), Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (finished, waiting) = channel::<()>();
        let look = move || {
            let (mut before, mut last) = (0u64, done_bytes());
            let start = last;
            while waiting.recv_timeout(TOLD_EVERY) == Err(RecvTimeoutError::Timeout) {
                let now = done_bytes();
                if now < last {
                    before += last;
                }
                last = now;
                watch.done.store((before + now).saturating_sub(start), Ordering::Relaxed);
            }
        };
        let _ = std::thread::Builder::new().spawn_scoped(scope, look);
        let result = work();
        drop(finished);
        result
    })
}
