//! Kernel pool: allocations and frees.
//!
//! Sources: `docs/formats.md` ("Pool"): `PoolAllocFree` and `SessionPoolAllocFree` of the Windows MOF. Not checked on a
//! recorded trace. Snapshot classes are empty in the MOF, so `pool_snapshot` keeps their payloads raw and lists possible
//! layouts, which a caller can test on all records of an id.

use crate::byte_reader::{LayoutField, layout};
use crate::event::payload::ANY;
use std::fmt;
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    POOL_ALLOC = 0x0e20, "Pool: Alloc";
    SESSION_ALLOC = 0x0e21, "Pool: SessionAlloc";
    POOL_FREE = 0x0e22, "Pool: Free";
    SESSION_FREE = 0x0e23, "Pool: SessionFree";
    ADD_PAGE = 0x0e24, "Pool: AddPage";
    SESSION_ADD_PAGE = 0x0e25, "Pool: SessionAddPage";
    BIG_PAGE = 0x0e26, "Pool: BigPage";
    SESSION_BIG_PAGE = 0x0e27, "Pool: SessionBigPage";
}

/// What happened to a piece of pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoolAction {
    /// `0x0e20`, `0x0e21`: allocated.
    Alloc,
    /// `0x0e22`, `0x0e23`: freed.
    Free,
    /// `0x0e24`, `0x0e25`: a page was added (layout assumed from the length).
    AddPage,
    /// `0x0e26`, `0x0e27`: a big page was added (layout assumed from the length).
    AddBigPage,
}

/// A pool tag: four characters in memory order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PoolTag(pub u32);

impl PoolTag {
    /// The four characters, without the *protected* mark in bit 7 of the last one.
    pub const fn characters(self) -> [u8; 4] {
        self.without_mark().0.to_le_bytes()
    }

    /// The same tag without that mark.
    pub(crate) const fn without_mark(self) -> PoolTag {
        PoolTag(self.0 & 0x7fff_ffff)
    }

    /// The four characters, and `\xNN` for those that cannot be printed: no two tags have one text.
    pub(crate) fn exact_text(self) -> String {
        let character = |byte: u8| match byte {
            b'\\' => "\\\\".to_owned(),
            0x20..=0x7e => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        };
        self.characters().map(character).concat()
    }

    /// True when freeing needs the tag too.
    pub const fn is_protected(self) -> bool {
        self.0 >> 31 != 0
    }

    /// True when at least one character can be printed.
    pub fn has_printable(self) -> bool {
        self.characters().iter().any(|c| (0x20..0x7f).contains(c))
    }
}

impl fmt::Display for PoolTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.characters().iter().try_for_each(|&c| f.write_char(if (0x20..0x7f).contains(&c) { c.into() } else { '.' }))
    }
}

impl fmt::Debug for PoolTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// A piece of pool: 24/16 bytes, or 28/20 with a session id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolPiece {
    /// Pool type as recorded, with the tracer's own mark.
    pub pool_type: u32,
    /// Tag.
    pub tag: PoolTag,
    /// Size.
    pub size_bytes: u64,
    /// Address.
    pub address: u64,
    /// Session; only in the session pool's records.
    pub session_id: Option<u32>,
}

impl PoolPiece {
    /// Bit of the pool type: session pool.
    pub const SESSION: u32 = 0x20;
    /// Bit of the pool type: not executable.
    pub const NO_EXECUTE: u32 = 0x200;
    /// Bit of the pool type: a big allocation; a mark of the tracer, not part of the type.
    pub const BIG: u32 = 0x1000_0000;

    /// True for paged pool.
    pub const fn is_paged(&self) -> bool {
        self.pool_type & 1 != 0
    }
}

impl LayoutField<'_, PoolTag> for U32 {
    fn value(&self) -> PoolTag {
        PoolTag(self.get())
    }
}

layout! {
    PieceLayout<P> = 24 / 16 bytes => PoolPiece, fn read(ANY) {
        pool_type: U32, tag: U32, size_bytes: P, address: P
    } with |_| { session_id: None }
}

layout! {
    SessionPieceLayout<P> = 28 / 20 bytes => PoolPiece, fn read_session(ANY) {
        pool_type: U32, tag: U32, size_bytes: P, address: P, session_id: U32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn pieces_with_and_without_a_session() {
        for (p, size, at) in [(P8, 24, [8, 16]), (P4, 16, [8, 12])] {
            let bytes =
                Bytes::new(size).u32(0, 0x1000_0201).raw(4, b"Fil\xe5").ptr(p, at[0], 0x120).ptr(p, at[1], 0xa000_0010);
            let session = bytes.clone().more(&7u32.to_le_bytes());
            for (hook, expected) in [
                (0x0e20, PoolAction::Alloc),
                (0x0e22, PoolAction::Free),
                (0x0e24, PoolAction::AddPage),
                (0x0e26, PoolAction::AddBigPage),
            ] {
                let Event::Pool { action, piece } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!((action, piece.session_id), (expected, None));
                assert_eq!((piece.size_bytes, piece.address), (0x120, 0xa000_0010));
                assert_eq!(piece.pool_type, PoolPiece::BIG | PoolPiece::NO_EXECUTE | 1);
                assert!(piece.is_paged());
                check_fixed(hook, 2, p, &bytes);
                let Event::Pool { action, piece } = event(hook + 1, 2, p, &session) else { panic!() };
                assert_eq!((action, piece.session_id, piece.address), (expected, Some(7), 0xa000_0010));
                check_fixed(hook + 1, 2, p, &session);
            }
        }
    }

    #[test]
    fn tags_lose_their_protected_mark_in_print() {
        let tag = PoolTag(u32::from_le_bytes(*b"Fil\xe5"));
        assert_eq!((tag.to_string().as_str(), tag.is_protected(), tag.has_printable()), ("File", true, true));
        let plain = PoolTag(u32::from_le_bytes(*b"A\0\x01 "));
        assert_eq!((plain.to_string().as_str(), plain.is_protected(), plain.has_printable()), ("A.. ", false, true));
    }
}
