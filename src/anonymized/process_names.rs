//! Stand-ins for the names in process events. They are 8-bit text and perhaps cut, but belong to the full name that a path or
//! the command line of the process has: so their stand-ins are made from the stand-in of that name.

use crate::anonymized::{StandIns, TextKind};
use crate::byte_reader::Narrow;
use crate::model::process_name::{aligned, is_doubtful};
use crate::trace::Trace;
use foldhash::HashMap as FastMap;

/// Full names of the processes whose events do not have them.
#[derive(Debug, Default)]
pub struct ProcessNames {
    full: FastMap<Logged, Box<str>>,
}

/// Whose name, as what it was logged.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Logged {
    process_id: u32,
    key: u64,
    name: Box<[u8]>,
}

impl ProcessNames {
    /// Finds the names.
    pub fn new(trace: &Trace) -> ProcessNames {
        let doubtful = trace.processes().instances.iter().filter(|process| is_doubtful(process.logged_name()));
        let full = doubtful.map(|process| {
            let name = process.logged_name().into();
            (Logged { process_id: process.process_id, key: process.key, name }, process.name.clone())
        });
        ProcessNames { full: full.collect() }
    }

    /// Replaces the name in a process event; `copy` has the same bytes as `logged`.
    pub fn replace(&self, names: &StandIns, id: (u32, u64), logged: Narrow<'_>, copy: &mut [u8]) {
        names.narrow(copy, TextKind::Process);
        let Narrow(logged) = logged;
        let (process_id, key) = id;
        let full = self.full.get(&Logged { process_id, key, name: logged.into() });
        let Some((full, widths)) = full.and_then(|full| Some((full, aligned(logged, full)?))) else { return };
        let new = names.of(full, TextKind::Names);
        let mut at = 0;
        for ((letter, new), width) in full.chars().zip(new.chars()).zip(widths) {
            let range = at..at + width;
            at += width;
            if let (Some(logged), Some(copy)) = (logged.get(range.clone()), copy.get_mut(range)) {
                replace_letter(letter, new, logged, copy);
            }
        }
    }
}

/// One letter: in ASCII and UTF-8 that of the full name's stand-in; in a code page any, because no table tells which letter it
/// is. A `?` stands for a letter that the code page lacks, and stays.
fn replace_letter(letter: char, new: char, logged: &[u8], copy: &mut [u8]) {
    match logged {
        [byte] if letter.is_ascii() => {
            let new = u8::try_from(new).unwrap_or(*byte);
            let new = if byte.is_ascii_uppercase() { new.to_ascii_uppercase() } else { new.to_ascii_lowercase() };
            copy.fill(new);
        }
        _ if letter.encode_utf8(&mut [0; 4]).as_bytes().starts_with(logged) => {
            copy.iter_mut().zip(new.encode_utf8(&mut [0; 4]).bytes()).for_each(|(byte, new)| *byte = new);
        }
        _ => {}
    }
}
