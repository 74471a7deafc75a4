//! A progress bar on standard error: only on a terminal, only for work over a second.

use crate::cli::terminal::Characters;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
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
