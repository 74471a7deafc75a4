//! From a [`Rec`] to bytes: the header tables, field by field.
//!
//! Padding between records is 0xA5, neither zero nor filler: a reader that takes padding for payload (a string's NUL,
//! another array entry) shows it.

use super::bytes::{Ptr, Put};
use super::record::{HeaderKind, Item, Rec};

/// Byte between the end of a record and the next multiple of 8.
pub const PADDING: u8 = 0xa5;

impl Rec {
    /// Appends the record, padded to a multiple of 8, to `out`, whose length is a multiple of 8 already.
    ///
    /// # Panics
    /// When the record is longer than its 16-bit size field can say.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut put = Put { bytes: std::mem::take(out), p: self.pointer() };
        let size_at = self.put_header(&mut put);
        put.raw(&self.payload);
        *out = put.bytes;
        if let Some(at) = size_at {
            let size = u16::try_from(out.len() - start).expect("a record has at most 65535 bytes");
            let size = self.size_field.unwrap_or(size);
            out[start + at..start + at + 2].copy_from_slice(&size.to_le_bytes());
        }
        out.resize(start + (out.len() - start).next_multiple_of(8), PADDING);
    }

    /// Bytes the record takes in a buffer, padding included.
    pub fn encoded_len(&self) -> usize {
        let mut out = Vec::new();
        self.encode(&mut out);
        out.len()
    }

    /// Writes the header with size 0; returns where the size belongs, counted from the record's start.
    fn put_header(&self, put: &mut Put) -> Option<usize> {
        match self.header {
            HeaderKind::System(p) => {
                self.put_marker(put, p.pick(2, 1));
                put.u32(self.thread).u32(self.process).u64(self.time).u32(self.kernel_time).u32(self.user_time);
                self.put_extensions(put);
                Some(4)
            }
            HeaderKind::Compact(p) => {
                self.put_marker(put, p.pick(4, 3));
                put.u32(self.thread).u32(self.process).u64(self.time);
                self.put_extensions(put);
                Some(4)
            }
            HeaderKind::PerfInfo(p) => {
                self.put_marker(put, p.pick(17, 16));
                put.u64(self.time);
                self.put_extensions(put);
                Some(4)
            }
            HeaderKind::Full(p) => {
                self.put_classic(put, p.pick(20, 10));
                Some(0)
            }
            HeaderKind::Instance(p) => {
                self.put_classic(put, p.pick(21, 11));
                put.u32(self.instance.0).u32(self.instance.1).raw(&self.instance.2);
                Some(0)
            }
            HeaderKind::Event(p) => {
                self.put_event(put, p);
                Some(0)
            }
            HeaderKind::Message => {
                self.put_message(put);
                Some(0)
            }
            HeaderKind::Error => {
                put.u16(0).u8(13).u8(0xc0).u32(0);
                Some(0)
            }
            HeaderKind::Unknown(kind) => {
                put.u16(0).u8(kind).u8(0xc0).u32(0);
                Some(0)
            }
            HeaderKind::Raw => None,
        }
    }

    /// First 8 bytes of types 1, 2, 3, 4, 16, 17: version with extension bits, type, 0xC0, size, hook id.
    fn put_marker(&self, put: &mut Put, kind: u8) {
        assert!(self.counters.len() <= 7, "the version field counts at most 7 counters");
        let pebs = if self.pebs.is_some() { 0x80 } else { 0 };
        let high = pebs | (self.spare_bits & 0x78) | self.counters.len() as u8;
        put.u8(self.version as u8).u8(high).u8(kind).u8(0xc0).u16(0).u16(self.hook);
    }

    /// The 8-byte items that the version's high byte announces: PEBS first, then counters.
    fn put_extensions(&self, put: &mut Put) {
        if let Some(index) = self.pebs {
            put.u64(index);
        }
        for counter in &self.counters {
            put.u64(*counter);
        }
    }

    /// The 0x30 bytes that FULL and INSTANCE share.
    fn put_classic(&self, put: &mut Put, kind: u8) {
        put.u16(0).u8(kind).u8(0xc0);
        put.u8(self.opcode).u8(self.level).u16(self.version);
        put.u32(self.thread).u32(self.process).u64(self.time).raw(&self.guid);
        put.u32(self.kernel_time).u32(self.user_time);
    }

    /// The 0x50 bytes of types 18 and 19, then the linked items.
    fn put_event(&self, put: &mut Put, p: Ptr) {
        let flags = if self.items.is_empty() { 0 } else { 1 };
        put.u16(0).u8(p.pick(19, 18)).u8(0xc0);
        put.u16(flags).u16(0).u32(self.thread).u32(self.process).u64(self.time).raw(&self.guid);
        put.u16(self.id).u8(self.version as u8).u8(self.channel).u8(self.level).u8(self.opcode).u16(self.task);
        put.u64(self.keywords).u32(self.kernel_time).u32(self.user_time).raw(&self.activity);
        for (index, item) in self.items.iter().enumerate() {
            put_item(put, item, index + 1 < self.items.len());
        }
    }

    /// WPP message: 8 bytes, then what the options ask for, unaligned.
    fn put_message(&self, put: &mut Put) {
        let o = self.options;
        put.u16(0).u8(0).u8(0x90).u16(self.id).u16(o);
        if o & 0x01 != 0 {
            put.u32(self.sequence);
        }
        if o & 0x04 != 0 {
            put.u32(self.component);
        } else if o & 0x02 != 0 {
            put.raw(&self.guid);
        }
        if o & 0x18 != 0 {
            put.u64(self.time);
        }
        if o & 0x20 != 0 {
            put.u32(self.thread).u32(self.process);
        }
    }
}

/// One extended item: 8-byte head, data, zero padding to 8. The size in the head counts the padding.
fn put_item(put: &mut Put, item: &Item, linked: bool) {
    let size = (8 + item.data.len()).next_multiple_of(8);
    put.u16(u16::try_from(size).expect("an item has at most 65535 bytes")).u16(item.kind);
    put.u16(u16::from(linked)).u16(item.data.len() as u16).raw(&item.data).zeros(size - 8 - item.data.len());
}
