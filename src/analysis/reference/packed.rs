//! Steps in 48 bytes: sorting them moves them, and a slab holds a million.

use crate::analysis::category::Category;
use crate::analysis::reference::reason::AccessReason;
use crate::analysis::reference::step::{CORRECTED, Kind, Step};
use crate::event::page::PageUse;
use crate::model::working_set_owner::{Owner, OwnerId};
use crate::moment::Moment;
use crate::units::{PAGE_BYTES, PointerSize};

const PFN_BITS: u32 = 40;

/// A step, packed.
#[derive(Debug, Clone, Copy)]
pub struct PackedStep {
    /// When it happens.
    pub moment: Moment,
    /// Whose working set; of a step that only WPA's rules follow: its process id.
    owner: OwnerId,
    identity: u64,
    /// Address; below the page: kind (4 bits), rules (2), reason (3), pointer size (1).
    address: u64,
    /// Frame (40 bits), use (4), category (8 from bit 48).
    frame: u64,
}

impl PackedStep {
    /// Packs a step that both rule sets follow under one process id, or one of them alone.
    #[inline(always)]
    pub fn new(step: &Step) -> PackedStep {
        let below = step.kind as u64
            | u64::from(step.rules) << 4
            | (step.reason as u64) << 6
            | u64::from(step.pointer == PointerSize::P8) << 9;
        let owner =
            if step.rules & CORRECTED == 0 { OwnerId::new(Owner::UnknownProcess(step.process_id)) } else { step.owner };
        PackedStep {
            moment: step.moment,
            owner,
            identity: step.identity,
            address: step.address & !(PAGE_BYTES - 1) | below,
            frame: step.pfn & ((1 << PFN_BITS) - 1) | (step.page_use as u64) << PFN_BITS | (step.category as u64) << 48,
        }
    }

    /// Whose working set it is about, or whose process id.
    #[inline(always)]
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// The step. `process_id` is the id of the owner's process.
    #[inline(always)]
    pub fn unpack(&self, process_id: u32) -> Step {
        let below = self.address & (PAGE_BYTES - 1);
        Step {
            moment: self.moment,
            address: self.address & !(PAGE_BYTES - 1),
            pfn: self.frame & ((1 << PFN_BITS) - 1),
            identity: self.identity,
            owner: self.owner,
            process_id,
            kind: Kind::ALL.get((below & 15) as usize).copied().unwrap_or(Kind::Remove),
            category: Category::ALL.get((self.frame >> 48) as usize).copied().unwrap_or(Category::Unused),
            page_use: PageUse::from_bits(self.frame >> PFN_BITS),
            rules: (below >> 4 & 3) as u8,
            reason: AccessReason::ALL.get((below >> 6 & 7) as usize).copied().unwrap_or(AccessReason::ActiveRundown),
            pointer: if below >> 9 & 1 != 0 { PointerSize::P8 } else { PointerSize::P4 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::reference::step::WPA;
    use crate::units::Ticks;

    #[test]
    fn steps_survive_packing() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
            let step = Step {
                moment: Moment { time: Ticks(-5), order: 7 },
                address: 0xffff_f000_1234_5000,
                pfn: 0xff_1234_5678,
                identity: 0xffff_a000_1234_5679,
                owner: OwnerId::new(Owner::UnknownKey(0xffff_ffff_ffff)),
                process_id: 4242,
                kind,
                category: Category::WsMetaData,
                page_use: PageUse::Use15,
                rules: CORRECTED | WPA,
                reason: AccessReason::PageCombine,
                pointer: PointerSize::P4,
            };
            assert_eq!(PackedStep::new(&step).unpack(4242), step);
            let wpa = PackedStep::new(&Step { rules: WPA, pointer: PointerSize::P8, ..step });
            assert_eq!(wpa.owner().owner(), Owner::UnknownProcess(4242));
            assert_eq!((wpa.unpack(4242).rules, wpa.unpack(1).pointer), (WPA, PointerSize::P8));
        }
        assert_eq!(size_of::<PackedStep>(), 48);
    }
}
