//! How wide lines may be, and which characters the terminal shows.

use crate::cli::host_call::Call;
use clap::ValueEnum;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Width of tables where no terminal says otherwise, columns.
const DEFAULT_WIDTH: u16 = 120;
/// Least width that anything is fitted to.
const LEAST_WIDTH: u16 = 40;
/// Names the characters, as `--characters` does.
pub const CHARACTERS: &str = "PFNSET_CHARACTERS";

/// Variables of terminals of Windows that show Unicode: Windows Terminal, ConEmu, VS Code and others, Alacritty.
const TERMINALS: [&str; 4] = ["WT_SESSION", "ConEmuPID", "TERM_PROGRAM", "ALACRITTY_WINDOW_ID"];

/// Columns of standard output, or of a file.
pub fn output_width(is_file: bool) -> u16 {
    if let Some(call) = Call::current() {
        return call.width.unwrap_or(u16::MAX).max(LEAST_WIDTH);
    }
    let terminal = !is_file && io::stdout().is_terminal();
    let width = terminal_size::terminal_size().map(|(width, _)| width.0).filter(|_| terminal);
    let piped = || if is_file { None } else { width_behind_pipe() };
    width.or_else(columns).or_else(piped).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

/// Columns of the terminal on which a pipe most likely ends, as that into `less` or `head`: the one of standard error or standard
/// input. A file has a width of its own, so that its content does not depend on the window.
#[cfg(unix)]
fn width_behind_pipe() -> Option<u16> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let output = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    if !output.metadata().ok()?.file_type().is_fifo() {
        return None;
    }
    let error = terminal_size::terminal_size_of(io::stderr());
    error.or_else(|| terminal_size::terminal_size_of(io::stdin())).map(|(width, _)| width.0)
}

/// The standard library cannot tell a pipe from a file there.
#[cfg(not(unix))]
fn width_behind_pipe() -> Option<u16> {
    None
}

/// Rows of the terminal that standard output is; `None` for a file or a pipe.
pub fn output_rows(is_file: bool) -> Option<u16> {
    let terminal = !is_file && Call::current().is_none() && io::stdout().is_terminal();
    terminal_size::terminal_size().map(|(_, rows)| rows.0).filter(|&rows| terminal && rows > 0)
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

/// Characters of lines, bars and marks in text for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Characters {
    /// What the terminal or the locale shows
    Auto,
    /// As they are, in UTF-8
    Unicode,
    /// ASCII stand-ins
    Ascii,
}

impl Characters {
    /// Whether text on standard output needs ASCII stand-ins. Files are UTF-8.
    pub fn output_is_ascii(self, is_file: bool) -> bool {
        !is_file && Call::current().is_none() && self.is_ascii(io::stdout().is_terminal())
    }

    /// Whether standard error needs them.
    pub fn error_is_ascii() -> bool {
        Characters::of_variable().is_ascii(io::stderr().is_terminal())
    }

    /// What the environment asks for.
    pub fn of_variable() -> Characters {
        let chosen = std::env::var(CHARACTERS).ok().and_then(|name| Characters::from_str(&name, true).ok());
        chosen.unwrap_or(Characters::Auto)
    }

    fn is_ascii(self, is_terminal: bool) -> bool {
        match self {
            Characters::Auto => !shows_unicode(|name| std::env::var_os(name), is_terminal, cfg!(windows)),
            Characters::Unicode => false,
            Characters::Ascii => true,
        }
    }
}

/// A locale decides where the environment names one. Without one:
///
/// * A console of Windows gets UTF-16 from the standard library, for any code page; but nothing says which characters its font has.
///   Terminals that have all of Unicode name themselves in variables.
/// * A pipe or a redirected file on Windows is read in the code page of the console (`more`, `findstr`, PowerShell), where
///   UTF-8 becomes `â”€` (1252) or `ΓöÇ` (437).
/// * Elsewhere UTF-8 is usual, also in containers and services, which have no locale.
fn shows_unicode(variable: impl Fn(&str) -> Option<OsString>, is_terminal: bool, is_windows: bool) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| variable(name)).find(|name| !name.is_empty());
    match locale {
        Some(name) => {
            let name = name.to_string_lossy().to_ascii_lowercase();
            name.contains("utf-8") || name.contains("utf8")
        }
        None if is_windows => is_terminal && TERMINALS.iter().any(|name| variable(name).is_some()),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::shows_unicode;
    use std::ffi::OsString;

    #[test]
    fn the_locale_decides_then_the_system() {
        let shows = |variables: &[(&str, &str)], is_terminal, is_windows| {
            let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| OsString::from(v));
            shows_unicode(value, is_terminal, is_windows)
        };
        for (variables, expected) in [
            (&[("LANG", "C.UTF-8")][..], true),
            (&[("LANG", "de_DE.utf8"), ("LC_ALL", "")], true),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "de_DE.UTF-8"), ("LC_CTYPE", "POSIX")], false),
            (&[("LC_CTYPE", "UTF-8"), ("LANG", "C")], true),
            (&[("LANG", "en_US")], false),
        ] {
            for (is_terminal, is_windows) in [(true, true), (true, false), (false, true), (false, false)] {
                assert_eq!(shows(variables, is_terminal, is_windows), expected, "{variables:?}");
            }
        }
        for (variables, expected) in
            [(&[][..], [false, false, true, true]), (&[("WT_SESSION", "1")], [true, false, true, true])]
        {
            let all = [(true, true), (false, true), (true, false), (false, false)];
            assert_eq!(all.map(|(terminal, windows)| shows(variables, terminal, windows)), expected, "{variables:?}");
        }
    }
}
