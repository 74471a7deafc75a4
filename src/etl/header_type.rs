//! Kinds of record headers: what the first 8 bytes of a record say.
//!
//! The type byte and the two places where a size can be, as `docs/formats.md` ("Records") has them. The rest of a
//! header is read by `etl::record`.

use crate::units::PointerSize;

/// The kind of a record header, by the type byte at offset 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HeaderType {
    /// Type 1: kernel event with ids and CPU times, 4-byte pointers.
    System32,
    /// Type 2: the same with 8-byte pointers.
    System64,
    /// Type 3: kernel event with ids.
    Compact32,
    /// Type 4: the same with 8-byte pointers.
    Compact64,
    /// Type 10: classic (class GUID and opcode).
    Full32,
    /// Type 11: classic with instance ids.
    Instance32,
    /// Type 13: an event that could not be logged; layout not public.
    Error,
    /// Type 15: WPP message.
    Message,
    /// Type 16: kernel event with a time only.
    Perfinfo32,
    /// Type 17: the same with 8-byte pointers.
    Perfinfo64,
    /// Type 18: manifest or TraceLogging event of a 32-bit process.
    Event32,
    /// Type 19: manifest or TraceLogging event of a 64-bit process.
    Event64,
    /// Type 20: classic, 8-byte pointers.
    Full64,
    /// Type 21: classic with instance ids, 8-byte pointers.
    Instance64,
    /// Any other type byte; skipped by its size.
    Other(u8),
}

impl HeaderType {
    const fn from_type_byte(byte: u8) -> Self {
        match byte {
            1 => HeaderType::System32,
            2 => HeaderType::System64,
            3 => HeaderType::Compact32,
            4 => HeaderType::Compact64,
            10 => HeaderType::Full32,
            11 => HeaderType::Instance32,
            13 => HeaderType::Error,
            15 => HeaderType::Message,
            16 => HeaderType::Perfinfo32,
            17 => HeaderType::Perfinfo64,
            18 => HeaderType::Event32,
            19 => HeaderType::Event64,
            20 => HeaderType::Full64,
            21 => HeaderType::Instance64,
            other => HeaderType::Other(other),
        }
    }

    /// Smallest size of a record of this kind, bytes: its header without extensions.
    pub const fn header_bytes(self) -> usize {
        use HeaderType::*;
        match self {
            System32 | System64 => 0x20,
            Compact32 | Compact64 => 0x18,
            Perfinfo32 | Perfinfo64 => 0x10,
            Full32 | Full64 => 0x30,
            Instance32 | Instance64 => 0x48,
            Event32 | Event64 => 0x50,
            Message | Error | Other(_) => 8,
        }
    }

    /// Pointer size of the payload. Messages have it in their options; for kinds without a known layout it is 8 bytes.
    pub const fn pointer(self) -> PointerSize {
        use HeaderType::*;
        match self {
            System32 | Compact32 | Perfinfo32 | Full32 | Instance32 | Event32 => PointerSize::P4,
            _ => PointerSize::P8,
        }
    }

    /// True for the kernel logger's own headers, whose events are named by a hook id.
    pub const fn is_kernel(self) -> bool {
        use HeaderType::*;
        matches!(self, System32 | System64 | Compact32 | Compact64 | Perfinfo32 | Perfinfo64)
    }

    /// Name as in the JSON key `by_header`; other types by number.
    pub fn name(self) -> String {
        match self {
            HeaderType::System32 => "system32".into(),
            HeaderType::System64 => "system64".into(),
            HeaderType::Compact32 => "compact32".into(),
            HeaderType::Compact64 => "compact64".into(),
            HeaderType::Full32 => "full32".into(),
            HeaderType::Instance32 => "instance32".into(),
            HeaderType::Error => "error".into(),
            HeaderType::Message => "message".into(),
            HeaderType::Perfinfo32 => "perfinfo32".into(),
            HeaderType::Perfinfo64 => "perfinfo64".into(),
            HeaderType::Event32 => "event32".into(),
            HeaderType::Event64 => "event64".into(),
            HeaderType::Full64 => "full64".into(),
            HeaderType::Instance64 => "instance64".into(),
            HeaderType::Other(number) => number.to_string(),
        }
    }
}

/// What the first 8 bytes of a record say: kind and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    /// 0xFFFFFFFF: the event area has no more records.
    Filler,
    /// A record of this kind and size in bytes, header included. The size has not been checked.
    Record(HeaderType, usize),
    /// No record starts here.
    Unknown,
}

/// Reads kind and size from the first 8 bytes of a record.
#[inline(always)]
pub(crate) fn marker(head: [u8; 8]) -> Marker {
    let word = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let size_at_0 = usize::from(u16::from_le_bytes([head[0], head[1]]));
    let size_at_4 = usize::from(u16::from_le_bytes([head[4], head[5]]));
    if word == u32::MAX {
        Marker::Filler
    } else if head[3] & 0xc0 == 0xc0 {
        let kind = HeaderType::from_type_byte(head[2]);
        Marker::Record(kind, if kind.is_kernel() { size_at_4 } else { size_at_0 })
    } else if head[3] & 0xf0 == 0x90 {
        Marker::Record(HeaderType::Message, size_at_0)
    } else {
        Marker::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_tell_kind_and_size() {
        assert_eq!(marker([2, 0, 17, 0xc0, 40, 0, 0x23, 0x02]), Marker::Record(HeaderType::Perfinfo64, 40));
        assert_eq!(marker([0x60, 0, 19, 0xc0, 1, 0, 0, 0]), Marker::Record(HeaderType::Event64, 0x60));
        assert_eq!(marker([60, 0, 0, 0x90, 43, 0, 0xaa, 0]), Marker::Record(HeaderType::Message, 60));
        assert_eq!(marker([0xff; 8]), Marker::Filler);
        assert_eq!(marker([0; 8]), Marker::Unknown);
    }
}
