//! Messages on standard error: warnings, errors, notes. Lines are as wide as the terminal or `COLUMNS`. Without either, each
//! message is one line, for programs that read it. Another program that runs a command gets them as they are.

use crate::cli::host_call::Call;
use crate::cli::terminal::{self, Characters};
use crate::escape;
use crate::forms::ascii_stand_ins::ascii;
use crate::forms::column_widths::Fitted;
use std::io::{self, Write};

/// Writes a note after the program's name. It is one line, also where a name in it has more.
pub fn write(note: &str) {
    if let Some(call) = Call::current() {
        return call.tell(note);
    }
    write_fitted(&mut io::stderr(), &format!("pfnset: {}\n", escape::visible(note)));
}

/// Writes a message of our own that has several lines: no text from outside may be in it.
pub fn write_lines(message: &str) {
    write_fitted(&mut io::stderr(), &format!("pfnset: {}\n", escape::lines(message)));
}

/// Writes the help of a program that was called without anything.
pub fn write_short_help(text: &str) {
    write_fitted(&mut io::stderr(), text);
}

/// Writes what the parser of the command line says of wrong usage; arguments are in it in writing.
pub fn write_usage(error: &clap::Error) {
    write_fitted(&mut anstream::stderr(), &error.render().ansi().to_string());
}

/// Writes the help or the version to standard output, as the parser of the command line does.
///
/// # Errors
/// That of standard output.
pub fn write_help(error: &clap::Error) -> io::Result<()> {
    match Characters::of_variable().output_is_ascii(false) {
        true => {
            let text = error.render().ansi().to_string().replace('…', "...");
            anstream::stdout().write_all(ascii(&text).as_bytes())?;
        }
        false => error.print()?,
    }
    io::stdout().flush()
}

/// Nobody may be there to read it: that is no error.
fn write_fitted(out: &mut dyn Write, text: &str) {
    let in_ascii = Characters::error_is_ascii().then(|| ascii(text));
    let text = in_ascii.as_deref().unwrap_or(text);
    let _ = match terminal::error_width() {
        None => out.write_all(text.as_bytes()),
        Some(width) => {
            let mut fitted = Fitted::new(out, width);
            fitted.write_all(text.as_bytes()).and_then(|()| fitted.flush())
        }
    };
}
