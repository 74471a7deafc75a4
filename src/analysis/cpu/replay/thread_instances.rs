//! Thread instances. Thread ids are reused, so an instance is an id and a lifetime.

use crate::analysis::cpu::delay_percentiles::ReadyKind;
use crate::analysis::cpu::query::{CpuQuery, Dimension};
use crate::analysis::cpu::replay::process_pair_counts::ProcessNumber;
use crate::analysis::cpu::replay::ready_queue_length::PendingEntry;
use crate::dimensions::process_dimensions::ProcessCode;
use crate::dimensions::{Condition, Label};
use crate::event::Phase;
use crate::event::cswitch::wait_reason_name;
use crate::model::process::Processes;
use crate::moment::Moment;
use crate::units::Ticks;
use foldhash::HashMap as FastMap;
use std::borrow::Cow;

/// Index of an instance.
pub type ThreadIndex = u32;

/// The idle threads.
pub const IDLE_INSTANCE: ThreadIndex = 0;

/// An unknown thread.
pub const UNKNOWN_INSTANCE: ThreadIndex = 1;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It could run.
    Ready,
    /// It waits.
    Waiting,
    /// Unknown, because no record says it.
    Unknown,
    /// It has ended.
    Ended,
}

/// Why a thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaitReason(u16);

impl WaitReason {
    /// It has been started and was not ready yet.
    pub const START: WaitReason = WaitReason(0x100);
    /// Its stack or its process is not in memory.
    pub const IN_SWAP: WaitReason = WaitReason(0x101);

    /// The kernel's wait reason.
    pub const fn of_kernel(reason: u8) -> WaitReason {
        WaitReason(reason as u16)
    }

    /// A reason of an unknown state, whose number may mean something else.
    pub const fn of_unknown_state(reason: u8) -> WaitReason {
        WaitReason(0x200 | reason as u16)
    }

    /// Name as in JSON: the kernel's, `start`, `in_swap`, or the number.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            WaitReason::START => "start".into(),
            WaitReason::IN_SWAP => "in_swap".into(),
            WaitReason(number) => {
                let known = u8::try_from(number).ok().and_then(wait_reason_name);
                known.map_or_else(|| (number & 0xff).to_string().into(), Cow::Borrowed)
            }
        }
    }
}

/// A ready record for a thread that still ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyRecord {
    /// Stamp of the record.
    pub time: Ticks,
    /// On which processor.
    pub processor: u16,
    /// The thread that logged it.
    pub waker: ThreadIndex,
    /// True when a deferred procedure call logged it.
    pub from_dpc: bool,
}

/// Ready records for a thread that still ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyReadyRecords {
    /// The first.
    pub first: ReadyRecord,
    /// When and on which processor the others were logged.
    pub more: Vec<(Ticks, u16)>,
}

impl EarlyReadyRecords {
    /// When and where all were logged.
    pub fn all(&self) -> impl Iterator<Item = (Ticks, u16)> {
        std::iter::once((self.first.time, self.first.processor)).chain(self.more.iter().copied())
    }
}

/// A thread that runs when the window ends, and its ready records until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadiedAtEnd {
    /// The thread.
    pub instance: ThreadIndex,
    /// Where it runs.
    pub processor: u16,
    /// The records.
    pub records: Box<EarlyReadyRecords>,
}

/// A thread from its start to its end.
#[derive(Debug, Clone)]
pub struct ThreadInstance {
    /// Thread id.
    pub thread_id: u32,
    /// What it does.
    pub state: State,
    /// Since when.
    pub since: Ticks,
    /// Where it runs; where the record was logged at its ready time.
    pub processor: u16,
    /// Why it is ready.
    pub ready: ReadyKind,
    /// Who took the processor away.
    pub preemptor: ThreadIndex,
    /// Why it waits, or waited last.
    pub wait: WaitReason,
    /// Where that wait began.
    pub wait_processor: u16,
    /// It is ready, unless a later record says that it still waited.
    pub pending: Option<PendingEntry>,
    /// Its end was logged while it ran.
    pub ends_at_switch_out: bool,
    /// Another record than a rundown was about it.
    pub has_records: bool,
    /// Ready records of the current run.
    pub early_ready: Option<Box<EarlyReadyRecords>>,
    /// Ticks of the window by [`State`].
    pub profile: [u64; 4],
    /// Clock ticks at which it ran.
    pub charged: u64,
    /// Samples that met it.
    pub samples: u64,
    /// When it began; [`Ticks`] of `i64::MIN`: before the trace.
    pub begin: Ticks,
    /// When it has ended.
    pub end: Option<Ticks>,
    /// When a record of threads named it last.
    pub(crate) named: Ticks,
    /// Its process.
    pub process: Option<ProcessEvidence>,
    /// What pairs of processes count it as, once they do.
    pub process_number: Option<ProcessNumber>,
    /// True when pairs count it at all: the user's conditions on thread ids hold.
    pub is_wanted: bool,
}

/// From what a thread's process is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEvidence {
    /// Process id.
    pub process_id: u32,
    /// When a record named it.
    pub moment: Moment,
    /// True for the start of the thread, which can be logged before that of its process.
    pub is_start: bool,
}

impl ThreadInstance {
    fn new(thread_id: u32, begin: Ticks) -> ThreadInstance {
        ThreadInstance {
            thread_id,
            state: State::Unknown,
            since: begin,
            processor: 0,
            ready: ReadyKind::Wakeup,
            preemptor: UNKNOWN_INSTANCE,
            wait: WaitReason::START,
            wait_processor: 0,
            pending: None,
            ends_at_switch_out: false,
            has_records: false,
            early_ready: None,
            profile: [0; 4],
            charged: 0,
            samples: 0,
            begin,
            end: None,
            named: Ticks(i64::MIN),
            process: None,
            process_number: None,
            is_wanted: true,
        }
    }

    /// Its process.
    pub fn process_code(&self, processes: &Processes) -> ProcessCode {
        let Some(ProcessEvidence { process_id, moment, is_start }) = self.process else { return ProcessCode::Unknown };
        if process_id == 0 {
            return ProcessCode::Idle;
        }
        let indices = processes.instances_of(process_id);
        let all = || indices.iter().filter_map(|&index| Some((index, processes.instances.get(index)?)));
        let alive = all().rev().find(|(_, process)| process.is_alive(moment));
        // Threads end after their process has ended, and start before its start has been logged.
        let next = || all().find(|(_, process)| process.begin > moment).filter(|_| is_start);
        let before = || all().rev().find(|(_, process)| process.begin <= moment);
        let found = alive.or_else(next).or_else(before).or_else(|| all().next());
        let index = found.and_then(|(index, _)| u32::try_from(index).ok());
        index.map_or(ProcessCode::UnknownId(process_id), ProcessCode::Instance)
    }
}

/// Starts of threads, of those that no rundown at the start lists.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadStarts {
    has_rundown: bool,
    /// Threads of which only the end or the rundown at the end is there.
    unseen: u64,
    /// Starts that are there.
    there: u64,
}

impl ThreadStarts {
    /// Takes a record of a thread, which an earlier one has described or not.
    pub(crate) fn follow(&mut self, phase: Phase, is_described: bool) {
        self.has_rundown |= phase == Phase::DcStart;
        self.there += u64::from(phase == Phase::Start);
        self.unseen += u64::from(!is_described && matches!(phase, Phase::End | Phase::DcEnd));
    }

    /// Starts that are missing, and those that are there.
    pub(crate) fn missing(self) -> (u64, u64) {
        (if self.has_rundown { self.unseen } else { 0 }, self.there)
    }
}

/// All instances, and which of them each thread id names now.
#[derive(Debug)]
pub struct ThreadInstances {
    /// All instances; the first two are [`IDLE_INSTANCE`] and [`UNKNOWN_INSTANCE`].
    pub all: Vec<ThreadInstance>,
    /// By thread id ÷ 4 where ids are as Windows gives them; 0 = none.
    dense: Vec<ThreadIndex>,
    sparse: FastMap<u32, ThreadIndex>,
    /// The user's conditions on thread ids.
    conditions: Vec<Condition<Dimension>>,
}

/// Thread ids below this are looked up in a table instead of a map.
const MOST_DENSE: u32 = 1 << 22;

impl ThreadInstances {
    /// Before the trace.
    pub fn new(query: &CpuQuery) -> ThreadInstances {
        let before = Ticks(i64::MIN);
        let mut idle = ThreadInstance::new(0, before);
        idle.process = Some(ProcessEvidence { process_id: 0, moment: Moment::FIRST, is_start: false });
        // Read anew: an id alone is no answer to the user's patterns, where the thread's process does not meet them.
        let of_threads = query.conditions.iter().filter(|condition| condition.dimension == Dimension::Thread);
        let conditions = of_threads.filter_map(|condition| Condition::parse(&condition.text()).ok()).collect();
        let mut instances = ThreadInstances {
            all: vec![idle, ThreadInstance::new(u32::MAX, before)],
            dense: Vec::new(),
            sparse: FastMap::default(),
            conditions,
        };
        for instance in [IDLE_INSTANCE, UNKNOWN_INSTANCE] {
            instances.all[instance as usize].is_wanted =
                instances.is_wanted(instances.all[instance as usize].thread_id);
        }
        instances
    }

    fn is_wanted(&self, thread_id: u32) -> bool {
        self.conditions.iter().all(|condition| condition.matches([&Label::number(thread_id)]))
    }

    /// The instance that a thread id names now, ended or not.
    #[inline(always)]
    pub fn current(&self, thread_id: u32) -> Option<ThreadIndex> {
        if thread_id == 0 {
            return Some(IDLE_INSTANCE);
        }
        if thread_id & 3 == 0 && thread_id < MOST_DENSE {
            return self.dense.get((thread_id / 4) as usize).copied().filter(|&instance| instance != 0);
        }
        self.sparse.get(&thread_id).copied()
    }

    /// A new instance with this id.
    pub fn add(&mut self, thread_id: u32, begin: Ticks) -> ThreadIndex {
        let instance = self.all.len() as ThreadIndex;
        self.all.push(ThreadInstance { is_wanted: self.is_wanted(thread_id), ..ThreadInstance::new(thread_id, begin) });
        if thread_id & 3 == 0 && thread_id < MOST_DENSE {
            let at = (thread_id / 4) as usize;
            if self.dense.len() <= at {
                self.dense.resize(at + 1, 0);
            }
            self.dense.get_mut(at).into_iter().for_each(|slot| *slot = instance);
        } else {
            self.sparse.insert(thread_id, instance);
        }
        instance
    }

    /// An instance by its index.
    #[inline(always)]
    pub fn get_mut(&mut self, instance: ThreadIndex) -> &mut ThreadInstance {
        let at = if (instance as usize) < self.all.len() { instance } else { UNKNOWN_INSTANCE };
        &mut self.all[at as usize]
    }
}
