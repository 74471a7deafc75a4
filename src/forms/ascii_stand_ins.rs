//! Text for terminals and programs that do not show Unicode. The characters that this program itself prints get ASCII stand-ins
//! of the same width, so that tables stay aligned. Other characters, in names, do not change.

use std::io::{self, Write};

/// The stand-in of a character; `None` for one that this program does not use.
pub fn stand_in(c: char) -> Option<char> {
    Some(match c {
        '─' | '–' | '—' | '−' => '-',
        '…' => '~', // as in short file names of Windows
        '→' => '>',
        '›' => '>',
        '←' => '<',
        '’' => '\'',
        '×' => 'x',
        '·' => '*',
        '÷' => '/',
        'Δ' => 'd',
        'µ' => 'u',
        '\u{a0}' => ' ',
        // Parts of a bar.
        '█' => '#',
        '▓' => '=',
        '▒' => '-',
        '░' => '.',
        // Levels of a curve, of which the eighth is a whole block.
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        _ => return None,
    })
}

/// The text with stand-ins.
pub fn ascii(text: &str) -> String {
    text.chars().map(|c| stand_in(c).unwrap_or(c)).collect()
}

/// Passes text on with stand-ins. Each piece that is written must end at the end of a character, as those of `write!` do.
#[derive(Debug)]
pub struct Ascii<W>(pub W);

impl<W: Write> Write for Ascii<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.is_ascii() => self.0.write_all(ascii(text).as_bytes())?,
            _ => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_letters() {
        let mut out = Ascii(Vec::new());
        write!(out, "──── \\De…é.dll 記録 → {} › 2\n█▓▒░", String::from("▁▄█")).unwrap();
        assert_eq!(String::from_utf8(out.0).unwrap(), "---- \\De~é.dll 記録 > _-# > 2\n#=-.");
    }
}
