//! What came and went at addresses: images, methods of .NET, and the processes that they were in.

use crate::etl::record::Record;
use crate::event::Phase;
use crate::event::clr::{Clr, MethodPhase};
use crate::event::image::Image;
use crate::event::merged::AddedByMerge;
use crate::symbols::PdbId;

/// A record about something at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressRecord {
    /// A process began: what was known of its id is gone.
    ProcessStart(u32),
    /// An image.
    Image {
        /// Kind.
        phase: Phase,
        /// Id of the process that has it.
        process_id: u32,
        /// First address.
        base: u64,
        /// Bytes.
        size: u64,
        /// Last component of the file name, as logged.
        name: Box<str>,
    },
    /// A method.
    Method {
        /// Kind.
        phase: MethodPhase,
        /// Id of the process that has it.
        process_id: u32,
        /// First address.
        start: u64,
        /// Bytes.
        size: u64,
        /// Module id.
        module_id: u64,
        /// `Namespace.Type.Method`.
        name: Box<str>,
    },
    /// A module of .NET.
    Module {
        /// Id of the process that has it.
        process_id: u32,
        /// Its id.
        module_id: u64,
        /// Last component of the path of its file.
        name: Box<str>,
    },
    /// The database of the image that a record of the same time, process and address names.
    Pdb {
        /// Id of the process that has it.
        process_id: u32,
        /// First address of the image.
        base: u64,
        /// The database.
        id: PdbId,
    },
}

/// Longest name that is kept, bytes.
const LONGEST: usize = 4096;

fn cut(mut text: String) -> Box<str> {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    text.into()
}

fn last_component(path: &str) -> Box<str> {
    cut(path.rsplit(['\\', '/']).next().unwrap_or_default().to_owned())
}

impl AddressRecord {
    /// Of an image; records without a process id of their own have the header's.
    pub fn of_image(phase: Phase, image: &Image<'_>, logged_by: Option<u32>) -> AddressRecord {
        let process_id = image.process_id.or(logged_by).unwrap_or(0);
        let name = last_component(&image.file_name.text());
        AddressRecord::Image { phase, process_id, base: image.base, size: image.size_bytes, name }
    }

    /// Of a record that merging adds; `None` for others than those of databases of native code.
    pub fn of_merged(added: &AddedByMerge<'_>) -> Option<AddressRecord> {
        let AddedByMerge::Pdb { managed: false, base, process_id, id } = added else { return None };
        let id = PdbId { name: last_component(&id.pdb_name.text()), guid: id.guid, age: id.age };
        Some(AddressRecord::Pdb { process_id: *process_id, base: *base, id })
    }

    /// Of the runtime; `None` for its stacks.
    pub fn of_runtime(event: &Clr<'_>, record: &Record<'_>) -> Option<AddressRecord> {
        let process_id = record.process_id?;
        Some(match event {
            Clr::Stack(_) => return None,
            Clr::Method(phase, method) => {
                let (namespace, name) = (method.namespace.text(), method.name.text());
                let name = if namespace.is_empty() { name } else { format!("{namespace}.{name}") };
                let (start, size, module_id) = (method.start, method.size_bytes.into(), method.module_id);
                AddressRecord::Method { phase: *phase, process_id, start, size, module_id, name: cut(name) }
            }
            Clr::Module { module_id, il_path } => {
                AddressRecord::Module { process_id, module_id: *module_id, name: last_component(&il_path.text()) }
            }
        })
    }
}
