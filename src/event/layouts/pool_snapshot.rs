//! Snapshots of the kernel pool, whose layout is not public.
//!
//! The MOF classes are empty. Only the layouts of system queries with similar names are public; [`PoolForm`] lists the layouts
//! that a snapshot could have by them. A caller tests a form with [`PoolSnapshot::fits`] on *every* record of an id and uses it
//! only if all of them pass; else it counts the records and reports their lengths. Source: `docs/formats.md` ("Pool").

use super::pool::PoolTag;
use crate::byte_reader::{Cursor, exactly, layout, number, size};
use crate::event::payload::Payload;
use crate::units::{PAGE_BYTES, PointerSize};
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    SNAPSHOT_DC_START = 0x0e28, "Pool: SnapshotDCStart";
    SNAPSHOT_DC_END = 0x0e29, "Pool: SnapshotDCEnd";
    BIG_SNAPSHOT_DC_START = 0x0e2a, "Pool: BigSnapshotDCStart";
    BIG_SNAPSHOT_DC_END = 0x0e2b, "Pool: BigSnapshotDCEnd";
    SESSION_SNAPSHOT_DC_START = 0x0e2c, "Pool: SessionSnapshotDCStart";
    SESSION_SNAPSHOT_DC_END = 0x0e2d, "Pool: SessionSnapshotDCEnd";
    SESSION_BIG_SNAPSHOT_DC_START = 0x0e2e, "Pool: SessionBigSnapshotDCStart";
    SESSION_BIG_SNAPSHOT_DC_END = 0x0e2f, "Pool: SessionBigSnapshotDCEnd";
}

/// What a snapshot record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoolSnapshotKind {
    /// `0x0e28`, `0x0e29`: pool pages.
    Pool,
    /// `0x0e2a`, `0x0e2b`: big allocations.
    Big,
    /// `0x0e2c`, `0x0e2d`: pool pages of a session.
    Session,
    /// `0x0e2e`, `0x0e2f`: big allocations of a session.
    SessionBig,
}

/// A snapshot record, not interpreted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSnapshot<'a> {
    /// What it is about.
    pub kind: PoolSnapshotKind,
    /// The payload.
    pub bytes: &'a [u8],
    /// Pointer size of the record.
    pub pointer: PointerSize,
}

/// How a snapshot could be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PoolForm {
    /// Pool pages: total size, first address, overhead (2 bytes), 2 bytes, count; then entries of 16/12 bytes.
    Pages,
    /// Big allocations: count, padding to the pointer size, entries of 24/12 bytes.
    PaddedCount {
        /// A session id stands first.
        session_id: bool,
    },
    /// Big allocations: count, entries.
    Count {
        /// A session id stands first.
        session_id: bool,
    },
    /// Big allocations: entries only.
    EntriesOnly {
        /// A session id stands first.
        session_id: bool,
    },
}

/// One allocation of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolEntry {
    /// Address.
    pub address: u64,
    /// Size.
    pub size_bytes: u64,
    /// Tag.
    pub tag: PoolTag,
    /// In use; always true for big allocations.
    pub allocated: bool,
    /// In paged pool; only big allocations say so.
    pub paged: Option<bool>,
}

impl<'a> PoolSnapshot<'a> {
    /// A snapshot record as it is.
    pub fn new(payload: &Payload<'a>, kind: PoolSnapshotKind) -> PoolSnapshot<'a> {
        PoolSnapshot { kind, bytes: payload.bytes, pointer: payload.pointer }
    }

    /// The forms that records of this kind could have.
    pub fn forms(&self) -> &'static [PoolForm] {
        use PoolForm::*;
        const BIG: [PoolForm; 3] =
            [PaddedCount { session_id: false }, Count { session_id: false }, EntriesOnly { session_id: false }];
        const SESSION_BIG: [PoolForm; 6] = [
            BIG[0],
            BIG[1],
            BIG[2],
            PaddedCount { session_id: true },
            Count { session_id: true },
            EntriesOnly { session_id: true },
        ];
        match self.kind {
            PoolSnapshotKind::Pool | PoolSnapshotKind::Session => &[Pages],
            PoolSnapshotKind::Big => &BIG,
            PoolSnapshotKind::SessionBig => &SESSION_BIG,
        }
    }

    /// True when the payload is header and entries of this form, to the byte, and all entries are plausible: kernel
    /// addresses, page-aligned for big allocations, with tags of which a character can be printed (drivers have tags with others).
    pub fn fits(&self, form: PoolForm) -> bool {
        let page_aligned = |entry: &PoolEntry| form == PoolForm::Pages || entry.address.is_multiple_of(PAGE_BYTES);
        let plausible = |entry: PoolEntry| {
            self.is_kernel_address(entry.address)
                && page_aligned(&entry)
                && (!entry.allocated || entry.tag.has_printable())
        };
        self.entries(form).is_some_and(|mut entries| entries.all(plausible))
    }

    fn is_kernel_address(&self, address: u64) -> bool {
        match self.pointer {
            PointerSize::P8 => address >> 47 == 0x1_ffff,
            PointerSize::P4 => address >> 31 == 1,
        }
    }

    /// The entries by a form; `None` when header and entries would not fill the payload.
    pub fn entries(&self, form: PoolForm) -> Option<impl Iterator<Item = PoolEntry> + 'a> {
        let (entries, first_address) = self.split(form)?;
        let (pointer, pages) = (self.pointer, form == PoolForm::Pages);
        let size = if pages { size::<PageEntry>(pointer) } else { size::<BigEntry>(pointer) };
        let mut next_address = first_address;
        Some(entries.chunks_exact(size).filter_map(move |entry| {
            if !pages {
                return exactly::<BigEntry>(entry, pointer);
            }
            let address = next_address;
            let entry = exactly::<PageEntry>(entry, pointer)?;
            next_address = next_address.wrapping_add(entry.size_bytes);
            Some(PoolEntry { address, ..entry })
        }))
    }

    /// The session that a record is of, by a form that says it.
    pub fn session_id(&self, form: PoolForm) -> Option<u32> {
        let (PoolForm::PaddedCount { session_id }
        | PoolForm::Count { session_id }
        | PoolForm::EntriesOnly { session_id }) = form
        else {
            return None;
        };
        if session_id { Cursor::new(self.bytes, self.pointer).u32("session id").ok() } else { None }
    }

    /// The bytes of the entries, and the address of the first one (0 where entries have their own).
    fn split(&self, form: PoolForm) -> Option<(&'a [u8], u64)> {
        let mut c = Cursor::new(self.bytes, self.pointer);
        let mut first_address = 0;
        let count = match form {
            PoolForm::Pages => {
                let header = c.read::<PagesHeader>().ok()?;
                first_address = header.first_address;
                Some(header.count)
            }
            PoolForm::PaddedCount { session_id } | PoolForm::Count { session_id } => {
                c.skip(if session_id { 4 } else { 0 }, "session id").ok()?;
                let count = c.u32("count").ok()?;
                if matches!(form, PoolForm::PaddedCount { .. }) {
                    c.skip(c.position().next_multiple_of(self.pointer.bytes()) - c.position(), "padding").ok()?;
                }
                Some(count)
            }
            PoolForm::EntriesOnly { session_id } => {
                c.skip(if session_id { 4 } else { 0 }, "session id").ok()?;
                None
            }
        };
        let pages = form == PoolForm::Pages;
        let size = if pages { size::<PageEntry>(self.pointer) } else { size::<BigEntry>(self.pointer) };
        let entries = c.rest();
        let whole = entries.len().is_multiple_of(size);
        let counted = count.is_none_or(|count| u64::from(count) == (entries.len() / size) as u64);
        (whole && counted).then_some((entries, first_address))
    }
}

/// What stands before the entries of [`PoolForm::Pages`].
pub(in crate::event) struct PagesStart {
    first_address: u64,
    count: u32,
}

layout! {
    PagesHeader<P> = 24 / 16 bytes => PagesStart { -total_bytes(P), first_address: P, -overhead(U32), count: U32 }
}

layout! {
    /// The address is the sum of all before it.
    PageEntry<P> = 16 / 12 bytes => PoolEntry {
        allocated: u8, -pool_index([u8; 3]), size_bytes: U32, tag: U32, -padding(P::Padding)
    } with |_| { address: 0, paged: None }
}

layout! {
    /// Bit 0 of the address is set for non-paged pool.
    BigEntry<P> = 24 / 12 bytes => PoolEntry {
        -address_raw(P), size_bytes: P, tag: U32, -padding(P::Padding)
    } with |raw| { address: number(&raw.address_raw) & !1, allocated: true, paged: Some(number(&raw.address_raw) & 1 == 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::{Bytes, P4, P8, event};
    use crate::event::{Event, Phase};

    fn snapshot(hook: u16, pointer: PointerSize, bytes: &Bytes) -> PoolSnapshot<'_> {
        match event(hook, 2, pointer, bytes) {
            Event::PoolSnapshot { snapshot, .. } => snapshot,
            other => panic!("{other:?}"),
        }
    }

    fn fitting(snapshot: &PoolSnapshot<'_>) -> Vec<PoolForm> {
        snapshot.forms().iter().copied().filter(|form| snapshot.fits(*form)).collect()
    }

    const TAG: u32 = u32::from_le_bytes(*b"File");

    #[test]
    fn a_padded_big_snapshot_fits_one_form() {
        let bytes = Bytes::new(8 + 2 * 24).u32(0, 2);
        let bytes = bytes.u64(8, 0xffff_a000_0000_1001).u64(16, 0x3000).u32(24, TAG);
        let bytes = bytes.u64(32, 0xffff_a000_0000_5000).u64(40, 0x1000).u32(48, TAG);
        let snapshot = snapshot(0x0e2a, P8, &bytes);
        assert_eq!(fitting(&snapshot), [PoolForm::PaddedCount { session_id: false }]);
        let entries: Vec<_> = snapshot.entries(PoolForm::PaddedCount { session_id: false }).unwrap().collect();
        assert_eq!(entries[0].address, 0xffff_a000_0000_1000);
        assert_eq!((entries[0].size_bytes, entries[0].paged), (0x3000, Some(false)));
        assert_eq!((entries[1].tag.to_string().as_str(), entries[1].paged), ("File", Some(true)));
    }

    #[test]
    fn a_session_id_in_front_is_found_by_the_equation() {
        let bytes = Bytes::new(8 + 24).u32(0, 1).u32(4, 1).u64(8, 0xffff_a000_0000_1000).u32(24, TAG);
        // Session 1 with one entry, or one entry after a padded count: both equations hold; records of other sessions
        // decide.
        let both = [PoolForm::PaddedCount { session_id: false }, PoolForm::PaddedCount { session_id: true }];
        let fits = fitting(&snapshot(0x0e2e, P8, &bytes));
        assert!(both.iter().all(|form| fits.contains(form)));
        let bytes = bytes.u32(0, 5);
        let fits = fitting(&snapshot(0x0e2e, P8, &bytes));
        assert!(!fits.contains(&both[0]) && fits.contains(&both[1]));
    }

    #[test]
    fn implausible_entries_refuse_a_form() {
        let bytes = Bytes::new(4 + 12).u32(0, 1).u32(4, 0x8000_1001).u32(8, 0x1000).u32(12, TAG);
        assert!(snapshot(0x0e2b, P4, &bytes).fits(PoolForm::Count { session_id: false }));
        assert!(!snapshot(0x0e2b, P4, &bytes.clone().u32(4, 0x7000_1000)).fits(PoolForm::Count { session_id: false }));
        assert!(!snapshot(0x0e2b, P4, &bytes.clone().u32(4, 0x8000_1010)).fits(PoolForm::Count { session_id: false }));
        assert!(!snapshot(0x0e2b, P4, &bytes.clone().u32(12, 1)).fits(PoolForm::Count { session_id: false }));
        assert!(fitting(&snapshot(0x0e2b, P4, &bytes.cut(1))).is_empty());
    }

    #[test]
    fn addresses_of_pool_pages_are_running_sums() {
        let bytes = Bytes::new(24 + 2 * 16).u64(0, 0x1000).u64(8, 0xffff_a000_0000_2000).u32(20, 2);
        let bytes = bytes.u8(24, 1).u32(28, 0x40).u32(32, TAG).u32(44, 0xfc0);
        let snapshot = snapshot(0x0e28, P8, &bytes);
        assert_eq!(fitting(&snapshot), [PoolForm::Pages]);
        let entries: Vec<_> = snapshot.entries(PoolForm::Pages).unwrap().collect();
        assert_eq!(entries[1].address, 0xffff_a000_0000_2040);
        assert_eq!((entries[0].allocated, entries[1].allocated), (true, false));
    }

    #[test]
    fn kinds_and_phases_follow_the_hook_id() {
        for (hook, kind, phase) in [
            (0x0e28, PoolSnapshotKind::Pool, Phase::DcStart),
            (0x0e2b, PoolSnapshotKind::Big, Phase::DcEnd),
            (0x0e2c, PoolSnapshotKind::Session, Phase::DcStart),
            (0x0e2f, PoolSnapshotKind::SessionBig, Phase::DcEnd),
        ] {
            let bytes = Bytes::new(0);
            let Event::PoolSnapshot { phase: found, snapshot } = event(hook, 2, P8, &bytes) else { panic!() };
            assert_eq!((snapshot.kind, found), (kind, phase));
        }
    }
}
