//! The events that a processor passes on to the scheduler: who ran until then, what happened.

use crate::moment::Moment;
use crate::units::Ticks;

/// A record on its way to the scheduler.
#[derive(Debug, Clone, Copy)]
pub struct ProcessorEvent {
    /// Stamp of the record, or end of the span.
    pub time: Ticks,
    /// Ticks of the span that ends here, without interrupts.
    pub cpu: u64,
    /// The new thread; the thread that became ready; the thread of a sample.
    pub thread: u32,
    /// The old thread; the waker, where the header names it; how many samples.
    pub other: u32,
    /// Clock ticks of the span that ends here.
    pub charged: u32,
    /// The processor.
    pub processor: u16,
    /// What it is.
    pub kind: ProcessorEventKind,
    /// State of the old thread; flags of a sample.
    pub state: u8,
    /// Wait reason of the old thread.
    pub reason: u8,
}

/// The kinds of a [`ProcessorEvent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessorEventKind {
    /// A context switch.
    Switch,
    /// A context switch from another thread than the one that ran.
    Break,
    /// The window ends in a run that the next switch breaks.
    BrokenLater,
    /// Records are missing from here on.
    RecordsMissing,
    /// A thread became ready.
    Ready,
    /// A deferred procedure call readied a thread.
    ReadyFromDpc,
    /// A sample.
    Sample,
}

/// Events in order, and how the spans that they end are spread over the timeline.
#[derive(Debug, Default)]
pub struct ProcessorEvents {
    /// Events.
    pub events: Vec<ProcessorEvent>,
    /// Places of their records among those of equal time, see [`Moment::order`].
    pub orders: Vec<u64>,
    /// Parts of spans, in order of their events.
    pub parts: Vec<StepPart>,
}

/// The part of a span that lies in one step of the timeline.
#[derive(Debug, Clone, Copy)]
pub struct StepPart {
    /// Index of the event that ends the span.
    pub index: u32,
    /// Step of the timeline.
    pub number: u32,
    /// Length.
    pub ticks: u64,
}

impl ProcessorEvents {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.events.clear();
        self.orders.clear();
        self.parts.clear();
    }

    /// When the record of an event was logged.
    pub fn moment(&self, index: usize) -> Option<Moment> {
        Some(Moment { time: self.events.get(index)?.time, order: *self.orders.get(index)? })
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, order: u64, event: ProcessorEvent) {
        self.events.push(event);
        self.orders.push(order);
    }
}
