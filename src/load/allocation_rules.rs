//! What counts as an allocation, and which sizes cannot be: one rule for the commands that replay allocations and for those that sum up their records.
//!
//! Source: `docs/allocations.md` ("Commit", "Pool", "Heap").

use crate::event::virtual_memory::VirtualRange;
use crate::units::{MOST_BYTES, PointerSize, counted};

/// What a record of an allocation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It allocates its bytes.
    Allocates,
    /// It is true and allocates nothing: reserved, reset, or of physical pages (AWE), which are not charged as commit.
    AllocatesNothing,
    /// It cannot be true: of no bytes, of more than any machine has, beyond the end of the address space, at address 0, or without a flag that says what was done.
    Impossible,
    /// The allocation failed: there is no block.
    Failed,
}

impl Verdict {
    /// Of `0x0262`; `pointer`: that of the record, which says where its address space ends.
    pub fn of_range(range: &VirtualRange, pointer: PointerSize) -> Verdict {
        const RESET: u32 = VirtualRange::RESET | VirtualRange::RESET_UNDO;
        let is = |flags: u32| range.flags & flags != 0;
        let end = u128::from(range.base) + u128::from(range.size_bytes);
        if range.size_bytes == 0 || end > pointer.pick(1u128 << 64, 1u128 << 32) {
            return Verdict::Impossible;
        }
        match () {
            () if !is(VirtualRange::RESERVE | VirtualRange::COMMIT | RESET) => Verdict::Impossible,
            () if is(VirtualRange::COMMIT) && range.size_bytes > MOST_BYTES => Verdict::Impossible,
            () if is(VirtualRange::COMMIT) && !is(VirtualRange::PHYSICAL) => Verdict::Allocates,
            () => Verdict::AllocatesNothing,
        }
    }

    /// What a record of pool (`0x0e20`, `0x0e21`) does; `most_bytes`: no allocation of the machine is larger.
    pub fn of_pool(address: u64, bytes: u64, most_bytes: u64) -> Verdict {
        // Addresses of 32 bits end at 4 GiB; those of 64 bits begin far above.
        let end = if address >> 32 == 0 { 1 << 32 } else { u64::MAX };
        let is_beyond = address.checked_add(bytes).is_none_or(|after| after > end);
        if address == 0 || bytes > most_bytes || is_beyond { Verdict::Impossible } else { Verdict::Allocates }
    }

    /// Of `0x1021`, and of the new block of `0x1022`.
    pub fn of_block(address: u64, bytes: u64) -> Verdict {
        match () {
            () if address == 0 => Verdict::Failed,
            () if bytes > MOST_BYTES => Verdict::Impossible,
            () => Verdict::Allocates,
        }
    }

    /// Of bytes that a request of a disk or a hard fault read: 2 GiB are more than any has.
    pub fn of_transfer(bytes: u32) -> Verdict {
        if bytes >> 31 == 0 { Verdict::Allocates } else { Verdict::Impossible }
    }
}

/// How many records were left out, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Those that cannot be true.
    pub impossible: u64,
    /// Allocations that failed.
    pub failed: u64,
}

impl LeftOut {
    /// Counts a record.
    pub fn note(&mut self, verdict: Verdict) {
        self.impossible += u64::from(verdict == Verdict::Impossible);
        self.failed += u64::from(verdict == Verdict::Failed);
    }

    /// All of them.
    pub fn sum(&self) -> u64 {
        self.impossible.saturating_add(self.failed)
    }

    /// `1 impossible record`, `2 failed allocations`: what there is of it.
    pub fn counts(&self) -> Vec<String> {
        let kinds = [
            (self.impossible, "impossible record", "impossible records"),
            (self.failed, "failed allocation", "failed allocations"),
        ];
        kinds
            .into_iter()
            .filter(|(number, ..)| *number > 0)
            .map(|(number, one, many)| counted(number, one, many))
            .collect()
    }
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, other: LeftOut) {
        self.impossible += other.impossible;
        self.failed += other.failed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_allocates_what_it_commits() {
        let of = |base, size_bytes, flags, pointer| {
            Verdict::of_range(&VirtualRange { base, size_bytes, process_id: 4, flags, commit_bytes: None }, pointer)
        };
        let p8 = |size, flags| of(0x1_0000, size, flags, PointerSize::P8);
        assert_eq!([p8(4096, 0x1000), p8(1, 0x3000), p8(4096, 0x2000_1000)], [Verdict::Allocates; 3]);
        assert_eq!([p8(4096, 0x2000), p8(4096, 0x8_0000), p8(4096, 0x40_3000)], [Verdict::AllocatesNothing; 3]);
        assert_eq!(
            [p8(0, 0x1000), p8(4096, 0), p8(u64::MAX, 0x1000), p8(u64::MAX, 0x8_0000), p8(1 << 52, 0x1000)],
            [Verdict::Impossible; 5]
        );
        assert_eq!([p8(1 << 52, 0x2000), p8(1 << 48, 0x1000)], [Verdict::AllocatesNothing, Verdict::Allocates]);
        assert_eq!(
            [Verdict::of_block(16, 1 << 52), Verdict::of_pool(16, 1 << 52, MOST_BYTES)],
            [Verdict::Impossible; 2]
        );
        let of_pool = |bytes| Verdict::of_pool(16, bytes, 1 << 30);
        assert_eq!([of_pool(1 << 30), of_pool((1 << 30) + 1)], [Verdict::Allocates, Verdict::Impossible]);
        let p4 = |base| of(base, 4096, 0x1000, PointerSize::P4);
        assert_eq!([p4(0xffff_f000), p4(0xffff_f001)], [Verdict::Allocates, Verdict::Impossible]);
    }

    #[test]
    fn what_is_left_out_is_counted_by_its_reason() {
        let mut all = LeftOut::default();
        let verdicts =
            [Verdict::of_block(0, 8), Verdict::of_block(16, 8), Verdict::Impossible, Verdict::AllocatesNothing];
        verdicts.into_iter().for_each(|verdict| all.note(verdict));
        all += LeftOut { failed: 1, ..LeftOut::default() };
        assert_eq!((all.sum(), all.counts()), (3, vec!["1 impossible record".into(), "2 failed allocations".into()]));
    }
}
