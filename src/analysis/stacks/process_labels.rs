//! Which process an event is of, as a label.

use crate::dimensions::IDLE_PROCESS;
use crate::event::Phase;
use crate::load::stacks::first_walk::ThreadRecord;
use crate::load::stacks::stack_events::Owner;
use crate::model::process::Processes;
use crate::moment::{At, Moment};
use crate::trace::trust::warning::{Warning, records_missing};
use crate::units::counted;
use foldhash::HashMap as FastMap;

/// The label of a process of which nothing is known, not even the id.
pub(crate) const NO_PROCESS_KNOWN: &str = "Unknown";

/// Codes of starts of threads that are missing: of most, of some.
pub(crate) const STARTS_MISSING: [&str; 2] = ["thread_starts_missing", "some_thread_starts_missing"];

/// Codes of ends of threads that are missing: of most, of some.
pub(crate) const ENDS_MISSING: [&str; 2] = ["thread_end_records_missing", "some_thread_end_records_missing"];

/// Code of threads that the rundowns list in two processes.
pub(crate) const PROCESS_DIFFERS: &str = "thread_process_differs";

/// The instances of a process id.
#[derive(Default)]
struct Lives {
    /// That of the first record.
    first: Option<usize>,
    /// Starts in order of time, each with the last instance of those that have started by then.
    started: Vec<(Moment, usize)>,
}

impl Lives {
    fn sort(&mut self) {
        self.started.sort_unstable();
        let mut last = 0;
        for (_, index) in &mut self.started {
            last = last.max(*index);
            *index = last;
        }
    }
}

/// Process and thread ids over time.
pub struct Owners<'t> {
    processes: &'t Processes,
    by_id: FastMap<u32, Lives>,
    threads: FastMap<u32, ThreadLives>,
    /// Starts of threads that are missing, and those that are there.
    starts_missing: (u64, u64),
    /// The same of ends.
    ends_missing: (u64, u64),
    /// Threads that the rundown at the start lists in another process than that at the end.
    differing: u64,
}

/// The threads of an id.
#[derive(Default)]
struct ThreadLives {
    /// Process of the first record.
    first: u32,
    /// When the id became that of another thread, and of which process.
    changes: Vec<(Moment, u32)>,
    /// The end of the last one, where it has ended.
    ended: Option<Moment>,
    /// Its last record.
    last: Option<Moment>,
    /// True where the rundown at the end lists it.
    is_listed: bool,
    /// The process that the rundown at the start lists it in; `None` from the next start or end on, after which the id is another thread's.
    listed: Option<u32>,
    /// True where the rundown at the end lists it in another process.
    differs: bool,
}

impl ThreadLives {
    /// True where the next record of the id says that the end of its thread is missing: it is that of another thread.
    fn lacks_end(&self, record: &ThreadRecord) -> bool {
        self.last.is_some() && self.ended.is_none() && record.phase == Phase::Start
    }

    /// True where its last thread is in no record of an end, and not in the rundown at the end, which began then.
    fn lacks_last_end(&self, rundown: Moment) -> bool {
        self.ended.is_none() && !self.is_listed && self.last.is_some_and(|last| last < rundown)
    }

    /// Takes the next record of the id. Returns true where it is of a thread whose start is missing: a thread that has ended does nothing any
    /// more, so from then on the id is that of the one which the next record names.
    fn follow(&mut self, moment: Moment, record: &ThreadRecord) -> bool {
        self.compare(record);
        self.last = Some(moment);
        self.is_listed |= record.phase == Phase::DcEnd;
        let ended = self.ended.take();
        let is_start = record.phase == Phase::Start;
        match (is_start, ended) {
            (true, _) => self.changes.push((moment, record.process_id)),
            (false, Some(end)) => self.changes.push((end, record.process_id)),
            (false, None) => {}
        }
        self.ended = (record.phase == Phase::End).then(|| Moment { order: moment.order.saturating_add(1), ..moment });
        !is_start && ended.is_some()
    }

    /// A thread never changes its process: where both rundowns name another one, one of them is wrong.
    fn compare(&mut self, record: &ThreadRecord) {
        match record.phase {
            Phase::DcStart => self.listed = Some(record.process_id),
            Phase::DcEnd => self.differs |= self.listed.is_some_and(|process| process != record.process_id),
            _ => self.listed = None,
        }
    }
}

impl<'t> Owners<'t> {
    /// Of a trace.
    pub fn new(processes: &'t Processes, threads: &[At<ThreadRecord>]) -> Owners<'t> {
        let mut by_id: FastMap<u32, Lives> = FastMap::default();
        for (index, process) in processes.instances.iter().enumerate().take(processes.named) {
            let lives = by_id.entry(process.process_id).or_default();
            lives.first.get_or_insert(index);
            // Without a record of its start it is there since the one before it with its id ended.
            if process.begin != Moment::FIRST {
                lives.started.push((process.begin, index));
            }
        }
        by_id.values_mut().for_each(Lives::sort);
        let has_rundown = threads.iter().any(|record| record.value.phase == Phase::DcStart);
        let mut of_threads: FastMap<u32, ThreadLives> = FastMap::default();
        let (mut missing, mut there, mut ends_missing) = (0, 0, 0);
        for At { moment, value } in threads {
            let is_first = !of_threads.contains_key(&value.thread_id);
            let new = || ThreadLives { first: value.process_id, ..ThreadLives::default() };
            let lives = of_threads.entry(value.thread_id).or_insert_with(new);
            ends_missing += u64::from(lives.lacks_end(value));
            let is_missing = lives.follow(*moment, value);
            there += u64::from(value.phase == Phase::Start);
            let is_unseen = is_first && has_rundown && matches!(value.phase, Phase::End | Phase::DcEnd);
            missing += u64::from(is_missing || is_unseen);
        }
        let count_of = |phase: Phase| threads.iter().filter(|record| record.value.phase == phase).count() as u64;
        if let Some(rundown) = threads.iter().find(|record| record.value.phase == Phase::DcEnd) {
            ends_missing += of_threads.values().filter(|lives| lives.lacks_last_end(rundown.moment)).count() as u64;
        }
        let ends_missing = (ends_missing, count_of(Phase::End));
        let differing = of_threads.values().filter(|lives| lives.differs).count() as u64;
        Owners { processes, by_id, threads: of_threads, starts_missing: (missing, there), ends_missing, differing }
    }

    /// That starts or ends of threads are missing, or their rundowns do not agree.
    pub fn doubt(&self, analysis: &'static str) -> Vec<Warning> {
        let (missing, there) = self.starts_missing;
        let text = format!(
            "{} in no record, though their ends or listings are; {}: of which process their events are is taken from the record after them",
            counted(missing, "start of a thread is", "starts of threads are"),
            counted(there, "start is there", "starts are there"),
        );
        let missing = records_missing(analysis, STARTS_MISSING, self.starts_missing, text);
        let (ends, there) = self.ends_missing;
        let text = format!(
            "{} in no record, though their ids were used again or the rundown at the end lacks them; {}: of which process the events of a \
             thread id are is not known before its next start",
            counted(ends, "end of a thread is", "ends of threads are"),
            counted(there, "end is there", "ends are there"),
        );
        let ends = records_missing(analysis, ENDS_MISSING, self.ends_missing, text);
        process_differs(analysis, self.differing).into_iter().chain(missing).chain(ends).collect()
    }

    /// The process of an event without a stack.
    pub fn process_of(&self, owner: Owner, moment: Moment) -> Option<u32> {
        match owner {
            Owner::Process(id) => id,
            Owner::Thread(0) => Some(0),
            Owner::Thread(id) => {
                let ThreadLives { first, changes, .. } = self.threads.get(&id)?;
                let last = changes.get(..changes.partition_point(|(from, _)| *from <= moment)).and_then(<[_]>::last);
                Some(last.map_or(*first, |(_, process)| *process))
            }
        }
    }

    /// The instance that an id names: of its last start, else of its first record.
    pub fn instance(&self, id: u32, moment: Moment) -> Option<usize> {
        let lives = self.by_id.get(&id)?;
        let before = lives.started.partition_point(|(begin, _)| *begin <= moment);
        lives.started.get(..before).and_then(<[_]>::last).map(|(_, index)| *index).or(lives.first)
    }

    /// `name (pid)` of that instance.
    pub fn label(&self, process_id: Option<u32>, moment: Moment) -> String {
        let Some(id) = process_id else { return NO_PROCESS_KNOWN.to_owned() };
        let found = self.instance(id, moment).and_then(|index| self.processes.instances.get(index));
        match (found, id) {
            (Some(process), _) => process.label(),
            (None, 0) => IDLE_PROCESS.to_owned(),
            (None, _) => format!("Unknown ({id})"),
        }
    }
}

/// That the rundowns list this many threads in two processes.
pub(crate) fn process_differs(analysis: &'static str, threads: u64) -> Option<Warning> {
    let text = format!(
        "{} of another process in the rundown at the end than in that at the start, with no start or end between: of which \
         process their events are is not known, and counts as said at the start",
        counted(threads, "thread is", "threads are")
    );
    (threads > 0).then(|| Warning::grave(analysis, PROCESS_DIFFERS, text).of(threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::process::Instance;
    use crate::units::Ticks;
    use proptest::prelude::*;

    /// Instances with these ids and begins; without a begin their start was not logged.
    fn processes(lives: &[(u32, Option<i64>)]) -> Processes {
        let mut all = Processes::default();
        for &(process_id, begin) in lives {
            let mut life = Instance::default();
            (life.process_id, life.start_logged) = (process_id, begin.is_some());
            life.begin = begin.map_or(Moment::FIRST, moment);
            all.instances.push(life);
        }
        all.named = lives.len();
        all
    }

    fn moment(time: i64) -> Moment {
        Moment { time: Ticks(time), order: 0 }
    }

    proptest! {
        #[test]
        fn an_id_is_that_of_its_last_start(
            lives in prop::collection::vec((0u32..3, prop::option::of(0i64..20)), 0..12),
            id in 0u32..3,
            time in 0i64..20,
        ) {
            let processes = processes(&lives);
            let of_id = || (0..lives.len()).filter(|index| lives[*index].0 == id);
            let started = of_id().rfind(|index| lives[*index].1.is_some_and(|begin| begin <= time));
            let found = Owners::new(&processes, &[]).instance(id, moment(time));
            prop_assert_eq!(found, started.or_else(|| of_id().next()));
        }
    }

    /// Its faults counted as those of the process that had ended, so that a budget of them passed.
    #[test]
    fn one_whose_start_is_missing_has_its_id_since_the_end_of_the_one_before() {
        let mut processes = processes(&[(4, None), (4, Some(5))]);
        processes.instances[1].start_logged = false;
        let owners = Owners::new(&processes, &[]);
        assert_eq!([4, 5, 6].map(|time| owners.instance(4, moment(time))), [Some(0), Some(1), Some(1)]);
    }

    /// Faults of a thread counted as those of the next one with its id, and nothing told it.
    #[test]
    fn ends_that_are_missing_are_counted() {
        let missing = |records: &[(i64, u32, Phase)]| {
            let record = |&(time, thread_id, phase): &(i64, u32, Phase)| At {
                moment: moment(time),
                value: ThreadRecord { phase, thread_id, process_id: 4 },
            };
            Owners::new(&processes(&[]), &records.iter().map(record).collect::<Vec<_>>()).ends_missing
        };
        use Phase::{DcEnd, DcStart, End, Start};
        // One ended and was followed by another one; one began after the rundown.
        let whole = [(0, 8, DcStart), (1, 8, End), (2, 8, Start), (3, 8, DcEnd), (4, 12, Start)];
        assert_eq!(missing(&whole), (0, 1));
        assert_eq!(missing(&[whole[0], whole[2], whole[3]]), (1, 0), "its id was used again");
        assert_eq!(missing(&[(0, 8, DcStart), (0, 12, DcStart), whole[3]]), (1, 0), "the rundown lacks it");
        assert_eq!(missing(&[whole[0], (1, 12, Start)]), (0, 0), "no rundown at the end");
    }

    /// A search through all lives would take minutes.
    #[test]
    fn many_lives_of_one_id_are_found_soon() {
        let lives: Vec<_> = (0..100_000).map(|time| (4, Some(time))).collect();
        let processes = processes(&lives);
        let (owners, begin) = (Owners::new(&processes, &[]), std::time::Instant::now());
        for time in 0..100_000 {
            assert_eq!(owners.instance(4, moment(time)), Some(time as usize));
        }
        assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    }
}
