//! One record of any header kind, and its bytes.
//!
//! Offsets are those of the header tables: SYSTEM and COMPACT (size at 4), PERFINFO (size at 4, time at 8), FULL,
//! INSTANCE and EVENT (size at 0), MESSAGE (marker 0x90), and the kinds that readers must skip by size. What a
//! payload means is left to `payloads`; which buffer a record lands in is left to `container`.

use super::bytes::{Ptr, Put};

/// Which header a record has; the value in parentheses is the pointer size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderKind {
    /// Types 1, 2: 0x20 bytes, hook id, thread, process, kernel and user time.
    System(Ptr),
    /// Types 3, 4: 0x18 bytes, hook id, thread, process.
    Compact(Ptr),
    /// Types 16, 17: 0x10 bytes, hook id, no ids.
    PerfInfo(Ptr),
    /// Types 10, 20: 0x30 bytes, class GUID and opcode.
    Full(Ptr),
    /// Types 11, 21: 0x48 bytes, as `Full` plus instance ids.
    Instance(Ptr),
    /// Types 18, 19: 0x50 bytes plus extended items; provider GUID and event id.
    Event(Ptr),
    /// Type 15: WPP message, fields chosen by [`Rec::options`].
    Message,
    /// Type 13: an event that failed to log; the payload follows an 8-byte head.
    Error,
    /// Any other type number, size at offset 0; the payload follows an 8-byte head.
    Unknown(u8),
    /// No header at all: the payload is the record, whatever it holds.
    Raw,
}

/// One extended data item of an EVENT record.
#[derive(Clone, Debug)]
pub struct Item {
    /// Item type: 1 related activity, 5 / 6 stack, 11 TraceLogging schema, 12 provider traits, …
    pub kind: u16,
    /// Item data, unpadded.
    pub data: Vec<u8>,
}

/// One record. Build it with the constructors and the chaining setters, or set fields directly.
#[derive(Clone, Debug)]
pub struct Rec {
    /// Header kind and pointer size.
    pub header: HeaderKind,
    /// Processor whose buffer gets the record.
    pub processor: u16,
    /// Raw time stamp, session clock ticks.
    pub time: u64,
    /// Thread id of the header, 0xffffffff none.
    pub thread: u32,
    /// Process id of the header, 0xffffffff none.
    pub process: u32,
    /// CPU time in the kernel, timer units.
    pub kernel_time: u32,
    /// CPU time in user mode, timer units.
    pub user_time: u32,
    /// Hook id, group × 256 + type (SYSTEM, COMPACT, PERFINFO).
    pub hook: u16,
    /// Event version; SYSTEM family and EVENT take the low byte.
    pub version: u16,
    /// Spare bits to set in the high byte of a SYSTEM-family version (mask 0x78).
    pub spare_bits: u8,
    /// PEBS index: sets bit 15 of the version and adds 8 bytes.
    pub pebs: Option<u64>,
    /// Performance counters, at most 7: set bits 8–10 of the version and add 8 bytes each.
    pub counters: Vec<u64>,
    /// Class GUID, provider GUID or message GUID, in file byte order.
    pub guid: [u8; 16],
    /// Class type / opcode.
    pub opcode: u8,
    /// Level.
    pub level: u8,
    /// Instance id, parent instance id, parent class GUID (INSTANCE).
    pub instance: (u32, u32, [u8; 16]),
    /// Event id (EVENT) or message number (MESSAGE).
    pub id: u16,
    /// Channel (EVENT); 11 is TraceLogging.
    pub channel: u8,
    /// Task (EVENT).
    pub task: u16,
    /// Keywords (EVENT).
    pub keywords: u64,
    /// Activity id (EVENT).
    pub activity: [u8; 16],
    /// Extended items (EVENT), linked in this order.
    pub items: Vec<Item>,
    /// Options of a MESSAGE: 1 sequence, 2 GUID, 4 component, 8 / 0x10 time, 0x20 ids, 0x40 / 0x80 pointer size.
    pub options: u16,
    /// Sequence number (MESSAGE with option 1).
    pub sequence: u32,
    /// Component id (MESSAGE with option 4).
    pub component: u32,
    /// Payload bytes.
    pub payload: Vec<u8>,
    /// A lie for the size field, for tests of damage; `None` is the truth.
    pub size_field: Option<u16>,
}

/// Thread or process id of a header that names none.
pub const NO_ID: u32 = 0xffff_ffff;

impl Rec {
    /// A record of this header kind with nothing else set.
    pub fn new(header: HeaderKind) -> Rec {
        Rec {
            header,
            processor: 0,
            time: 0,
            thread: NO_ID,
            process: NO_ID,
            kernel_time: 0,
            user_time: 0,
            hook: 0,
            version: 2,
            spare_bits: 0,
            pebs: None,
            counters: Vec::new(),
            guid: [0; 16],
            opcode: 0,
            level: 0,
            instance: (0, 0, [0; 16]),
            id: 0,
            channel: 0,
            task: 0,
            keywords: 0,
            activity: [0; 16],
            items: Vec::new(),
            options: 0,
            sequence: 0,
            component: 0,
            payload: Vec::new(),
            size_field: None,
        }
    }

    /// SYSTEM header: hook id with thread and process.
    pub fn system(p: Ptr, hook: u16, version: u16, payload: Vec<u8>) -> Rec {
        Rec { hook, version, payload, ..Rec::new(HeaderKind::System(p)) }
    }

    /// COMPACT header: hook id with thread and process, no CPU times.
    pub fn compact(p: Ptr, hook: u16, version: u16, payload: Vec<u8>) -> Rec {
        Rec { hook, version, payload, ..Rec::new(HeaderKind::Compact(p)) }
    }

    /// PERFINFO header: hook id only.
    pub fn perf(p: Ptr, hook: u16, version: u16, payload: Vec<u8>) -> Rec {
        Rec { hook, version, payload, ..Rec::new(HeaderKind::PerfInfo(p)) }
    }

    /// FULL (classic) header: class GUID, opcode and version.
    pub fn full(p: Ptr, class: [u8; 16], opcode: u8, version: u16, payload: Vec<u8>) -> Rec {
        Rec { guid: class, opcode, version, payload, ..Rec::new(HeaderKind::Full(p)) }
    }

    /// INSTANCE header: as FULL, with instance id, parent id and parent class GUID.
    pub fn instance(p: Ptr, class: [u8; 16], opcode: u8, instance: (u32, u32, [u8; 16]), payload: Vec<u8>) -> Rec {
        Rec { guid: class, opcode, instance, payload, ..Rec::new(HeaderKind::Instance(p)) }
    }

    /// EVENT (manifest) header: provider GUID and event id.
    pub fn event(p: Ptr, provider: [u8; 16], id: u16, version: u16, payload: Vec<u8>) -> Rec {
        Rec { guid: provider, id, version, payload, ..Rec::new(HeaderKind::Event(p)) }
    }

    /// WPP message with these options; sequence, component, GUID, time and ids are written as the options say.
    pub fn message(number: u16, options: u16, payload: Vec<u8>) -> Rec {
        Rec { id: number, options, payload, ..Rec::new(HeaderKind::Message) }
    }

    /// ERROR record (type 13).
    pub fn error(payload: Vec<u8>) -> Rec {
        Rec { payload, ..Rec::new(HeaderKind::Error) }
    }

    /// A record of a type number nobody knows, with its size at offset 0.
    pub fn unknown(kind: u8, payload: Vec<u8>) -> Rec {
        Rec { payload, ..Rec::new(HeaderKind::Unknown(kind)) }
    }

    /// Bytes put into the record chain as they are (padded to 8 like any record).
    pub fn raw(bytes: Vec<u8>) -> Rec {
        Rec { payload: bytes, ..Rec::new(HeaderKind::Raw) }
    }

    /// Sets the time stamp, session clock ticks.
    pub fn at(mut self, time: u64) -> Rec {
        self.time = time;
        self
    }

    /// Sets the processor.
    pub fn on(mut self, processor: u16) -> Rec {
        self.processor = processor;
        self
    }

    /// Sets the header's thread and process id.
    pub fn by(mut self, thread: u32, process: u32) -> Rec {
        (self.thread, self.process) = (thread, process);
        self
    }

    /// Sets the header's kernel and user time, timer units.
    pub fn cpu_time(mut self, kernel: u32, user: u32) -> Rec {
        (self.kernel_time, self.user_time) = (kernel, user);
        self
    }

    /// Adds a PEBS index behind a SYSTEM-family header.
    pub fn with_pebs(mut self, index: u64) -> Rec {
        self.pebs = Some(index);
        self
    }

    /// Adds performance counters behind a SYSTEM-family header.
    pub fn with_counters(mut self, counters: &[u64]) -> Rec {
        self.counters = counters.to_vec();
        self
    }

    /// Adds an extended item to an EVENT record.
    pub fn with_item(mut self, kind: u16, data: &[u8]) -> Rec {
        self.items.push(Item { kind, data: data.to_vec() });
        self
    }

    /// Appends a stack item: match id and addresses of the item's own width (type 5: 4 bytes, type 6: 8 bytes).
    pub fn with_stack(self, width: Ptr, match_id: u64, frames: &[u64]) -> Rec {
        let mut put = Put::new(width);
        put.u64(match_id);
        frames.iter().for_each(|frame| {
            put.ptr(*frame);
        });
        self.with_item(width.pick(6, 5), &put.done())
    }

    /// Appends bytes to the payload: tail padding, or too long a record.
    pub fn with_tail(mut self, tail: &[u8]) -> Rec {
        self.payload.extend_from_slice(tail);
        self
    }

    /// Cuts the payload to `len` bytes.
    pub fn cut_payload(mut self, len: usize) -> Rec {
        self.payload.truncate(len);
        self
    }

    /// Sets the event version.
    pub fn versioned(mut self, version: u16) -> Rec {
        self.version = version;
        self
    }

    /// The same event with another header kind; hook ids become class type numbers and back.
    pub fn with_header(mut self, header: HeaderKind) -> Rec {
        if matches!(header, HeaderKind::Full(_) | HeaderKind::Instance(_)) {
            self.opcode = self.hook as u8;
        }
        self.header = header;
        self
    }

    /// The same event as a FULL record of `class`; the type number is the hook id's low byte.
    pub fn into_class(self, class: [u8; 16]) -> Rec {
        let p = self.pointer();
        Rec { guid: class, ..self.with_header(HeaderKind::Full(p)) }
    }

    /// Lies in the size field.
    pub fn lie_size(mut self, size: u16) -> Rec {
        self.size_field = Some(size);
        self
    }

    /// Pointer size that the header states; 8 for kinds that state none.
    pub fn pointer(&self) -> Ptr {
        match self.header {
            HeaderKind::System(p)
            | HeaderKind::Compact(p)
            | HeaderKind::PerfInfo(p)
            | HeaderKind::Full(p)
            | HeaderKind::Instance(p)
            | HeaderKind::Event(p) => p,
            _ => Ptr::P8,
        }
    }
}

/// Schema of a TraceLogging event (item type 11): length, tags, name, then name and type byte of each field.
pub fn tracelogging_schema(event: &str, fields: &[(&str, u8)]) -> Vec<u8> {
    let mut put = Put::new(Ptr::P8);
    put.u16(0).u8(0).narrow(event);
    for (name, kind) in fields {
        put.narrow(name).u8(*kind);
    }
    let len = put.written() as u16;
    put.bytes[..2].copy_from_slice(&len.to_le_bytes());
    put.done()
}
