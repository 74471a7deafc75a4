//! How wide lines may be.

use std::io::{self, IsTerminal};

/// Width of tables where no terminal says otherwise, columns.
const DEFAULT_WIDTH: u16 = 120;
/// Least width that anything is fitted to.
const LEAST_WIDTH: u16 = 40;

/// Columns of standard output, or of a file.
pub fn output_width(is_file: bool) -> u16 {
    let terminal = !is_file && io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map(|(width, _)| width.0).filter(|_| terminal);
    width.or_else(columns).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

/// Columns of standard error; `None` where neither a terminal nor the user says it.
pub fn error_width() -> Option<u16> {
    let terminal = io::stderr().is_terminal().then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
    terminal.map(|(width, _)| width.0).or_else(columns).map(|width| width.max(LEAST_WIDTH))
}

/// The width that the user's environment states, for pipes into pagers.
fn columns() -> Option<u16> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}
