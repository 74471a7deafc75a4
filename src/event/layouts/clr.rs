//! Records of the .NET runtime: which method lies where, which module it is of, and stacks that the runtime walked.
//!
//! Sources: `docs/formats.md` (".NET runtime"), checked on recorded traces (8-byte pointers). These records have manifest headers; the runtime
//! and its rundown are two providers with equal layouts.

use crate::byte_reader::{Cursor, Wide};
use crate::etl::record::Record;
use crate::etl::record_id::RecordId;
use crate::event::outcome::Fault;
use crate::event::payload::PointerArray;
use crate::units::PointerSize;
use uuid::{Uuid, uuid};

/// Provider of the runtime.
pub const CLR: Uuid = uuid!("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
/// Provider of the runtime's rundown.
pub const CLR_RUNDOWN: Uuid = uuid!("a669021c-c450-4609-a035-5af59af4df18");
/// Event of [`CLR`] that holds a stack.
pub const CLR_STACK: u16 = 82;

/// Bytes before the frames of a stack.
const STACK_HEAD: usize = 8;
/// Bytes before the names of a method.
const METHOD_HEAD: usize = 36;
/// Bytes before the path of a module.
const MODULE_HEAD: usize = 24;

/// What happened to a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodPhase {
    /// Its code was made or loaded.
    Load,
    /// Its code was thrown away.
    Unload,
    /// A rundown lists it.
    Rundown,
}

/// The code of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method<'a> {
    /// Id of its module.
    pub module_id: u64,
    /// First address.
    pub start: u64,
    /// Size, bytes.
    pub size_bytes: u32,
    /// Namespace, with the type.
    pub namespace: Wide<'a>,
    /// Name.
    pub name: Wide<'a>,
}

/// A record of the runtime that stacks need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clr<'a> {
    /// 82: the stack of the runtime's event before it on the same thread. Return addresses, innermost first.
    Stack(PointerArray<'a>),
    /// 143, 144.
    Method(MethodPhase, Method<'a>),
    /// 152, 153, 154: a module and the path of its file.
    Module {
        /// Id of the module.
        module_id: u64,
        /// Path of the file with the intermediate code.
        il_path: Wide<'a>,
    },
}

impl<'a> Clr<'a> {
    /// Decodes a record; `None` for other records.
    pub fn read(record: &Record<'a>) -> Option<Result<Clr<'a>, Fault>> {
        let RecordId::Manifest { provider, id } = record.id else { return None };
        let cursor = Cursor::new(record.payload, record.pointer);
        match (provider, id) {
            (CLR, CLR_STACK) => Some(stack(cursor, record.pointer)),
            (CLR, 143) => Some(method(cursor, MethodPhase::Load)),
            (CLR, 144) => Some(method(cursor, MethodPhase::Unload)),
            (CLR_RUNDOWN, 143 | 144) => Some(method(cursor, MethodPhase::Rundown)),
            (CLR | CLR_RUNDOWN, 152..=154) => Some(module(cursor)),
            _ => None,
        }
    }
}

impl<'a> Clr<'a> {
    /// The parts of the record that name something.
    pub fn names(&self) -> impl Iterator<Item = Wide<'a>> {
        let names = match self {
            Clr::Stack(_) => [None, None],
            Clr::Method(_, method) => [Some(method.namespace), Some(method.name)],
            Clr::Module { il_path, .. } => [Some(*il_path), None],
        };
        names.into_iter().flatten()
    }

    /// Bytes of the payload up to the end of what is read of it.
    pub fn read_bytes(&self) -> usize {
        let numbers = match self {
            Clr::Stack(frames) => STACK_HEAD + frames.bytes().len(),
            Clr::Method(..) => METHOD_HEAD,
            Clr::Module { .. } => MODULE_HEAD,
        };
        // Each text has a NUL.
        self.names().fold(numbers, |sum, name| sum + name.0.len() + 2)
    }
}

fn stack<'a>(mut c: Cursor<'a>, pointer: PointerSize) -> Result<Clr<'a>, Fault> {
    c.skip(4, "runtime instance")?;
    let count = c.u32("frame count")?;
    let bytes = (count as usize).checked_mul(pointer.bytes()).ok_or(Fault::Count { count })?;
    let frames = c.take(bytes, "frames").map_err(|_| Fault::Count { count })?;
    Ok(Clr::Stack(PointerArray::new(frames, pointer)))
}

fn method<'a>(mut c: Cursor<'a>, phase: MethodPhase) -> Result<Clr<'a>, Fault> {
    c.skip(8, "method id")?;
    let (module_id, start) = (c.u64("module id")?, c.u64("start address")?);
    let size_bytes = c.u32("size")?;
    c.skip(8, "token and flags")?;
    let (namespace, name) = (c.wide("namespace")?, c.wide("name")?);
    Ok(Clr::Method(phase, Method { module_id, start, size_bytes, namespace, name }))
}

fn module(mut c: Cursor<'_>) -> Result<Clr<'_>, Fault> {
    let module_id = c.u64("module id")?;
    c.skip(16, "assembly id and flags")?;
    Ok(Clr::Module { module_id, il_path: c.wide("IL path")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::header_type::HeaderType;
    use crate::etl::record_id::Position;
    use crate::event::testing::*;

    fn read(provider: Uuid, id: u16, pointer: PointerSize, payload: &[u8]) -> Option<Result<Clr<'_>, Fault>> {
        Clr::read(&Record {
            header: HeaderType::Event64,
            id: RecordId::Manifest { provider, id },
            version: 0,
            pointer,
            thread_id: None,
            process_id: None,
            time: None,
            payload,
            extended: &[],
            position: Position::default(),
        })
    }

    #[test]
    fn stacks_have_as_many_frames_as_they_say() {
        for p in [P8, P4] {
            let bytes = Bytes::new(8 + 2 * p.bytes()).u32(4, 2).ptr(p, 8, 0x7000_0001).ptr(p, 8 + p.bytes(), 5);
            let Some(Ok(Clr::Stack(frames))) = read(CLR, 82, p, &bytes.0) else { panic!() };
            assert_eq!(frames.iter().collect::<Vec<_>>(), [0x7000_0001, 5]);
            assert_eq!(read(CLR, 82, p, &bytes.clone().cut(1).0), Some(Err(Fault::Count { count: 2 })));
            assert_eq!(read(CLR, 82, p, &bytes.u32(4, u32::MAX).0), Some(Err(Fault::Count { count: u32::MAX })));
        }
        assert_eq!(read(CLR_RUNDOWN, 82, P8, &[0; 64]), None);
    }

    #[test]
    fn methods_and_modules() {
        let bytes = Bytes::new(36).u64(8, 7).u64(16, 0x1000).u32(24, 0x40).wide("A.B").wide("Run").wide("void ()");
        for (provider, id, phase) in [
            (CLR, 143, MethodPhase::Load),
            (CLR, 144, MethodPhase::Unload),
            (CLR_RUNDOWN, 143, MethodPhase::Rundown),
            (CLR_RUNDOWN, 144, MethodPhase::Rundown),
        ] {
            let Some(Ok(Clr::Method(found, method))) = read(provider, id, P4, &bytes.0) else { panic!() };
            assert_eq!((found, method.module_id, method.start, method.size_bytes), (phase, 7, 0x1000, 0x40));
            assert_eq!((method.namespace.text(), method.name.text()), ("A.B".into(), "Run".into()));
        }
        assert!(matches!(read(CLR, 143, P8, &bytes.0[..30]), Some(Err(_))));
        let bytes = Bytes::new(24).u64(0, 7).wide(r"C:\a.dll").wide("");
        let Some(Ok(Clr::Module { module_id: 7, il_path })) = read(CLR, 152, P8, &bytes.0) else { panic!() };
        assert_eq!(il_path.text(), r"C:\a.dll");
    }

    #[test]
    fn bytes_that_are_read_end_with_the_last_name() {
        let length = |id: u16, bytes: &Bytes| match read(CLR, id, P8, &bytes.clone().wide("behind").0) {
            Some(Ok(found)) => found.read_bytes() == bytes.0.len(),
            _ => false,
        };
        assert!(length(82, &Bytes::new(24).u32(4, 2)));
        assert!(length(143, &Bytes::new(36).wide("A.B").wide("")) && length(152, &Bytes::new(24).wide("C")));
    }
}
