//! Interrupts and deferred procedure calls as small values.

use crate::etl::record_id::HookId;
use crate::event::hooks::{DPC, ISR, ISR_MSI, PASSIVE_ISR, THREADED_DPC, TIMER_DPC};
use crate::event::perfinfo::DpcKind;
use crate::moment::Moment;
use crate::units::Ticks;

/// What took a processor away from its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Interruption {
    /// An interrupt service routine.
    Isr,
    /// A deferred procedure call.
    Dpc,
    /// A deferred procedure call in a thread.
    ThreadedDpc,
    /// A deferred procedure call of a timer.
    TimerDpc,
}

/// An interrupt or deferred procedure call. It is logged at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptionEvent {
    /// When it ended.
    pub end: Moment,
    /// When it began, as recorded.
    pub begin: Ticks,
    /// Address of its routine.
    pub routine: u64,
    /// Kind.
    pub kind: Interruption,
    /// True when the processor switched to another thread between its begin and its end, which cannot be: its begin is wrong.
    pub holds_switch: bool,
}

/// Of a hook.
pub(crate) fn interruption_of(hook: HookId) -> Option<Interruption> {
    Some(match hook {
        ISR | PASSIVE_ISR | ISR_MSI => Interruption::Isr,
        DPC => Interruption::Dpc,
        THREADED_DPC => Interruption::ThreadedDpc,
        TIMER_DPC => Interruption::TimerDpc,
        _ => return None,
    })
}

/// Of a deferred procedure call.
pub(crate) const fn of_dpc(kind: DpcKind) -> Interruption {
    match kind {
        DpcKind::Threaded => Interruption::ThreadedDpc,
        DpcKind::Plain => Interruption::Dpc,
        DpcKind::Timer => Interruption::TimerDpc,
    }
}
