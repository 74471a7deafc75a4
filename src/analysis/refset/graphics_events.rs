//! WPA's reasons Reclaim and Offer: memory of graphics allocations that a process offers to others and takes back. They are
//! events of the provider Microsoft-Windows-DxgKrnl, which no recording has by default, and name no page: they are counted
//! and nothing else.

use crate::etl::record_id::RecordId;
use crate::load::survey::Survey;
use std::ops::RangeInclusive;
use uuid::{Uuid, uuid};

/// The provider.
const DXG_KRNL: Uuid = uuid!("802ec45a-1e99-4b83-9920-87c98277ba9d");
/// Event ids of its task OfferAllocation.
const OFFER: RangeInclusive<u16> = 186..=188;
/// Event ids of its task ReclaimAllocation.
const RECLAIM: RangeInclusive<u16> = 190..=190;

/// Events of the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphicsEvents {
    /// Memory was offered.
    pub offers: u64,
    /// Memory was taken back.
    pub reclaims: u64,
}

impl GraphicsEvents {
    /// Counts them; `None` when the provider has no event in the trace.
    pub fn of(survey: &Survey) -> Option<GraphicsEvents> {
        let events = || {
            survey.kinds.iter().filter_map(|kind| match kind.id {
                RecordId::Manifest { provider: DXG_KRNL, id } => Some((id, kind.count)),
                _ => None,
            })
        };
        let of = |ids: RangeInclusive<u16>| events().filter(|(id, _)| ids.contains(id)).map(|(_, count)| count).sum();
        events().next()?;
        Some(GraphicsEvents { offers: of(OFFER), reclaims: of(RECLAIM) })
    }
}
