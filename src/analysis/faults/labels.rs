//! Names of processes and files, each text once.

use super::file_key_names::KeyNames;
use crate::analysis::stacks::{Owners, Texts};
use crate::moment::Moment;

/// Texts, and whose threads and processes are.
pub struct Named<'t> {
    /// Whose threads and processes are.
    pub owners: Owners<'t>,
    /// Texts.
    pub texts: Texts,
}

impl Named<'_> {
    /// The label of a process id at a moment.
    pub fn process(&mut self, process_id: Option<u32>, moment: Moment) -> u32 {
        let label = self.owners.label(process_id, moment);
        self.texts.id(&label)
    }

    /// The label of a file key at a moment.
    pub fn file(&mut self, files: &KeyNames, key: u64, moment: Moment) -> u32 {
        files.at(key, moment).unwrap_or_else(|| self.texts.id(&format!("Unknown (0x{key:x})")))
    }
}
