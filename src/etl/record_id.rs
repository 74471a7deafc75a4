//! Ids of records: which kind of event a record is, and where it lies in the file.

use crate::etl::header_type::HeaderType;
use std::fmt;
use uuid::Uuid;

/// Group × 256 + type of a kernel event, e.g. `0x0223` = Memory/PageInMemory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HookId(pub u16);

impl HookId {
    /// The event group (class), e.g. 0x02 = Memory.
    pub const fn group(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// The event type inside its group.
    pub const fn kind(self) -> u8 {
        self.0 as u8
    }
}

impl fmt::Display for HookId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// Where a record lies: buffer in file order, then offset in the (decompressed) event area of that buffer.
///
/// Its order is *file order*, the tie-breaker for equal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Position {
    /// Index of the buffer in file order.
    pub buffer: u32,
    /// Offset of the record in the event area, bytes.
    pub offset: u32,
}

/// What kind of event a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordId {
    /// Kernel event by hook id.
    Kernel(HookId),
    /// Classic event by class GUID and opcode.
    Classic {
        /// Class GUID.
        class: Uuid,
        /// Event type inside the class.
        opcode: u8,
    },
    /// Manifest or TraceLogging event by provider and id.
    Manifest {
        /// Provider GUID.
        provider: Uuid,
        /// Event id (0 for TraceLogging).
        id: u16,
    },
    /// WPP message by GUID (if the message carries one) and number.
    Message {
        /// Message GUID; nil when the message has none.
        guid: Uuid,
        /// Message number.
        number: u16,
    },
    /// A kind whose layout is not public (ERROR, others by header type).
    Opaque(HeaderType),
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordId::Kernel(hook) => write!(f, "{hook}"),
            RecordId::Classic { class, opcode } => write!(f, "{class} type {opcode}"),
            RecordId::Manifest { provider, id } => write!(f, "{provider} event {id}"),
            RecordId::Message { guid, number } => write!(f, "{guid} message {number}"),
            RecordId::Opaque(header) => write!(f, "header type {}", header.name()),
        }
    }
}
