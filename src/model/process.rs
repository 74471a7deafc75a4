//! Process instances. Process ids are reused, so an instance is an id and a lifetime.

use crate::event::process::ProcessPhase;
use crate::load::creator_threads::CreatorThreads;
use crate::load::history::SystemHistory;
use crate::load::owned_events::{ProcessEvent, ProcessImage};
use crate::model::process_name;
use crate::moment::{At, Moment};
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// One process, from its start to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instance {
    /// Process id.
    pub process_id: u32,
    /// UniqueProcessKey; 0 when no event gave it.
    pub key: u64,
    /// Physical address of the page directory.
    pub directory_table_base: Option<u64>,
    /// Session; `None` for processes of no session.
    pub session_id: Option<u32>,
    /// File name of the image; empty when no event gave it.
    pub name: Box<str>,
    /// The file name as logged: 8-bit text, perhaps cut.
    logged_name: Box<[u8]>,
    /// Id of the process that created it, or its parent by attribute; `None` when no event gave it.
    pub parent_id: Option<u32>,
    /// Command line; empty when no event gave it.
    pub command_line: Box<str>,
    /// Exit status, from its end event.
    pub exit_status: Option<i32>,
    /// When it started; [`Moment::FIRST`]: before the trace. Where its start was not logged: when the process before it with its id ended.
    pub begin: Moment,
    /// When it ended; [`Moment::LAST`]: it outlived the trace.
    pub end: Moment,
    /// False when the end was not logged and is only known from later events.
    pub end_logged: bool,
    /// True when its start was logged, so that all of its memory was allocated during the trace.
    pub start_logged: bool,
    /// The first moment at which events of this process id belong to this instance.
    pub from: Moment,
    /// The first moment after that at which they no longer do.
    pub until: Moment,
    /// When a start rundown listed it.
    listed_at_start: Option<Moment>,
    /// When an end rundown listed it.
    listed_at_end: Option<Moment>,
}

impl Instance {
    /// True where a list of running processes shows that it was created later than another process from before the trace.
    fn is_listed_after(&self, other: &Instance) -> bool {
        let is_later = |own: Option<Moment>, other: Option<Moment>| {
            own.zip(other).is_some_and(|(own, other)| own.time > other.time)
        };
        self.begin == Moment::FIRST
            && other.begin == Moment::FIRST
            && (is_later(self.listed_at_start, other.listed_at_start)
                || is_later(self.listed_at_end, other.listed_at_end))
    }

    /// True when the process was alive at `moment`.
    pub fn is_alive(&self, moment: Moment) -> bool {
        self.begin <= moment && moment < self.end
    }

    /// The file name of its image as logged: 8-bit text, perhaps cut.
    pub fn logged_name(&self) -> &[u8] {
        &self.logged_name
    }

    /// Stamp of its start; `None`: before the trace, or no record tells it.
    pub fn start_time(&self) -> Option<Ticks> {
        self.start_logged.then_some(self.begin.time)
    }

    /// Stamp from which on its id is its own; `None`: since before the trace. Without a record of its start it began at some time after that.
    pub(crate) fn begin_time(&self) -> Option<Ticks> {
        (self.begin != Moment::FIRST).then_some(self.begin.time)
    }

    /// Words for a start that no record tells: `before` where it began before the trace.
    pub(crate) fn unknown_start(&self, before: &str) -> String {
        if self.begin == Moment::FIRST { before } else { "a time that no record tells" }.to_owned()
    }

    /// Stamp of its end; `None`: it outlived the trace.
    pub fn end_time(&self) -> Option<Ticks> {
        (self.end != Moment::LAST).then_some(self.end.time)
    }

    /// `name.exe (pid)`, or `Unknown (pid)` when no event gave a name.
    pub fn label(&self) -> String {
        label(&self.name, self.process_id)
    }
}

/// `name.exe (pid)`, or `Unknown (pid)` without a name.
pub(crate) fn label(name: &str, process_id: u32) -> String {
    let name = if name.is_empty() { "Unknown" } else { name };
    format!("{name} ({process_id})")
}

/// No Windows runs with fewer processes: a list of fewer is not whole.
pub(crate) const WHOLE_LIST: u64 = 8;

/// All process instances of a trace.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    /// By process id, then time; instances without process events come last.
    pub instances: Vec<Instance>,
    /// Number of instances with process events. Of the others only the address space is known.
    pub named: usize,
    by_id: FastMap<u32, Vec<usize>>,
    /// Starts, by the thread that logged them; the number is the instance's.
    pub starts: CreatorThreads,
    /// Processes that ended without a record of it: another one with their id began, or ended.
    ends_missing: u64,
    /// The first record of the list of running processes at the end.
    end_list: Option<Moment>,
    /// Processes of which only the end is there, while another one with their id had not ended: they are no instances.
    only_ended: u64,
    /// The last record of a list of running processes at the start.
    listed_until: Option<Moment>,
    /// True where another code page could give a process another name.
    pub(crate) has_names_by_code_page: bool,
}

impl Processes {
    /// Builds the instances from the process events.
    pub fn new(history: &SystemHistory) -> Processes {
        let mut by_id: FastMap<u32, Vec<&At<ProcessEvent>>> = FastMap::default();
        history.processes.iter().for_each(|event| by_id.entry(event.value.process_id).or_default().push(event));
        let mut ids: Vec<u32> = by_id.keys().copied().collect();
        ids.sort_unstable();
        let at_start = history.processes.iter().filter(|event| event.value.phase == ProcessPhase::DcStart);
        let listed_until = at_start.map(|event| event.moment).max();
        let mut all = Processes { listed_until, ..Processes::default() };
        for id in ids {
            let mut lives: Vec<Instance> = Vec::new();
            let first = all.instances.len();
            by_id.get(&id).into_iter().flatten().for_each(|event| all.follow(&mut lives, event));
            all.instances.extend(lives);
            all.by_id.insert(id, (first..all.instances.len()).collect());
        }
        all.starts.sort();
        all.name(history);
        all.named = all.instances.len();
        all.add_nameless(history);
        all
    }

    /// Determines the names, from everything that was logged about each process.
    fn name(&mut self, history: &SystemHistory) {
        let mut images: FastMap<u32, Vec<&At<ProcessImage>>> = FastMap::default();
        history.process_images.iter().for_each(|image| images.entry(image.value.process_id).or_default().push(image));
        for life in &mut self.instances {
            let images = images.get(&life.process_id).map_or(&[][..], Vec::as_slice);
            let (_, own) = images.split_at(images.partition_point(|image| image.moment < life.from));
            let own = own.iter().take_while(|image| image.moment < life.until);
            let paths = own.map(|image| &*image.value.file_name);
            let name = process_name::name_of(&life.logged_name, paths, &life.command_line, history.code_page);
            life.name = name.text;
            self.has_names_by_code_page |= name.is_by_code_page;
        }
    }

    /// Adds processes of which only the address space is known, because their own events were not recorded or were lost.
    fn add_nameless(&mut self, history: &SystemHistory) {
        let mut ids: Vec<u32> = history.space_ids.iter().copied().filter(|id| !self.by_id.contains_key(id)).collect();
        ids.sort_unstable();
        for process_id in ids {
            self.by_id.insert(process_id, vec![self.instances.len()]);
            self.instances.push(Instance::nameless(process_id, Moment::LAST));
        }
    }

    fn follow(&mut self, lives: &mut Vec<Instance>, event: &At<ProcessEvent>) {
        let (moment, e) = (event.moment, &event.value);
        if e.phase == ProcessPhase::DcEnd {
            self.end_list = Some(self.end_list.map_or(moment, |first| first.min(moment)));
        }
        let alive = lives.last().is_some_and(|life| life.end == Moment::LAST);
        // The address of a process object is used again.
        let same = |life: &Instance| (life.key == e.key || life.key == 0 || e.key == 0) && !life.has_other_name(e);
        match e.phase {
            // The start rundown already listed it, because it was being created while the rundown was logged.
            ProcessPhase::Start if alive && lives.last().is_some_and(|life| life.is_being_created(e)) => {
                lives.last_mut().into_iter().for_each(|life| life.add_details(event));
            }
            ProcessPhase::Start => {
                if alive && let Some(life) = lives.last_mut() {
                    self.ends_missing += 1;
                    life.close(moment, moment);
                }
                lives.push(new_instance(lives.last(), event, Some(moment)));
                let instance = (self.instances.len() + lives.len() - 1) as u32;
                e.thread_id.into_iter().for_each(|thread| self.starts.add(thread, moment, instance));
            }
            ProcessPhase::DcStart | ProcessPhase::DcEnd => match lives.last_mut() {
                Some(life) if alive && same(life) => life.add_details(event),
                Some(life) if alive => {
                    self.ends_missing += 1; // and the start of this one
                    life.close(moment, moment);
                    lives.push(new_instance(lives.last(), event, Some(moment)));
                }
                // It has ended, but its object is still referenced, and older Windows lists it as running.
                Some(life) if life.key == e.key && e.key != 0 && same(life) => {}
                // Running without a start event: since before the trace, or since the end of the instance before.
                _ => lives.push(new_instance(lives.last(), event, None)),
            },
            ProcessPhase::End | ProcessPhase::Defunct => {
                if !alive {
                    if e.phase == ProcessPhase::Defunct || lives.last().is_some_and(same) {
                        return; // known to have ended
                    }
                    lives.push(new_instance(lives.last(), event, None));
                }
                if e.phase == ProcessPhase::Defunct && !lives.last().is_some_and(same) {
                    return;
                }
                if let Some(life) = lives.last_mut() {
                    if !same(life) {
                        self.ends_missing += 1;
                        self.only_ended += 1;
                    }
                    // An event with exactly the moment of the end still belongs to it.
                    life.close(moment, Moment { order: moment.order.saturating_add(1), ..moment });
                    (life.end_logged, life.exit_status) = (true, Some(e.exit_status));
                }
            }
        }
    }

    /// Ends of processes that are missing, and all that are there: those of processes whose id another one has after them, and those of
    /// processes that the list of running ones at the end of the trace lacks.
    pub(crate) fn ends_missing(&self) -> (u64, u64) {
        let named = || self.instances.iter().take(self.named);
        let listed = named().filter(|process| process.listed_at_end.is_some()).count() as u64;
        // One that starts while the list is being written is in none.
        let is_before_list = |process: &Instance| self.end_list.is_some_and(|list| process.begin < list);
        let is_open = |process: &Instance| process.end == Moment::LAST && process.listed_at_end.is_none();
        let unlisted = named().filter(|process| is_open(process) && is_before_list(process)).count() as u64;
        let there = named().filter(|process| process.end_logged).count() as u64;
        let unlisted = if listed < WHOLE_LIST { 0 } else { unlisted };
        (self.ends_missing.saturating_add(unlisted), there)
    }

    /// The same of starts: those of processes whose id another one had before them, and those of processes that ended, or ran at the end,
    /// and that the list of running ones at the start of the trace lacks.
    pub(crate) fn starts_missing(&self) -> (u64, u64) {
        let named = || self.instances.iter().take(self.named);
        let listed = named().filter(|process| process.listed_at_start.is_some()).count() as u64;
        // One that ended while the list was logged can be too late for it.
        let is_unlisted = |process: &Instance| {
            let is_told =
                process.listed_at_end.is_some() || process.end_logged && Some(process.end) > self.listed_until;
            listed >= WHOLE_LIST && process.listed_at_start.is_none() && is_told
        };
        let is_missing =
            |process: &&Instance| !process.start_logged && (process.begin != Moment::FIRST || is_unlisted(process));
        let missing = named().filter(is_missing).count() as u64;
        let there = named().filter(|process| process.start_logged).count() as u64;
        (missing.saturating_add(self.only_ended), there)
    }

    /// Index of the instance with this id that was running at `moment`.
    pub fn alive(&self, process_id: u32, moment: Moment) -> Option<usize> {
        let is_alive = |&i: &usize| self.instances.get(i).is_some_and(|process| process.is_alive(moment));
        self.instances_of(process_id).iter().rev().copied().find(is_alive)
    }

    /// The process that had the parent's id when a process began; `None` where none is known, and for a process that names itself. For
    /// a process from before the trace it is the first one with that id, if that one did not start in the trace, and no list of running
    /// processes has it later: they stand there in the order of their creation.
    pub(crate) fn parent(&self, process: &Instance) -> Option<&Instance> {
        let id = process.parent_id.filter(|id| *id != process.process_id)?;
        let parent = self.alive(id, process.begin).and_then(|index| self.instances.get(index));
        parent.filter(|parent| parent.begin <= process.begin && !parent.is_listed_after(process))
    }

    /// Indices of all instances with this id, by time.
    pub fn instances_of(&self, process_id: u32) -> &[usize] {
        self.by_id.get(&process_id).map_or(&[], Vec::as_slice)
    }
}

impl Instance {
    /// A process from before the trace of which nothing is known but its id, and its end.
    pub(crate) fn nameless(process_id: u32, end: Moment) -> Instance {
        Instance { process_id, begin: Moment::FIRST, end, from: Moment::FIRST, until: end, ..Instance::default() }
    }

    fn close(&mut self, moment: Moment, until: Moment) {
        (self.end, self.until) = (moment, until);
    }

    /// True where the event is of another process by its name. Names can be cut.
    fn has_other_name(&self, event: &ProcessEvent) -> bool {
        let (own, other) = (&*self.logged_name, &*event.image_name);
        !own.starts_with(other) && !other.starts_with(own)
    }

    /// True where this start is that of the process, which a rundown has listed already.
    fn is_being_created(&self, start: &ProcessEvent) -> bool {
        self.key == start.key && start.key != 0 && !self.start_logged && !self.has_other_name(start)
    }

    /// Adds the facts of an event that no earlier event had.
    fn add_details(&mut self, event: &At<ProcessEvent>) {
        self.listed_at_start = self.listed_at_start.or(event.listed(ProcessPhase::DcStart));
        self.listed_at_end = self.listed_at_end.or(event.listed(ProcessPhase::DcEnd));
        let event = &event.value;
        if self.logged_name.is_empty() {
            self.logged_name = event.image_name.clone();
        }
        if self.key == 0 {
            self.key = event.key;
        }
        if self.command_line.is_empty() {
            self.command_line = event.command_line.clone();
        }
        self.session_id = self.session_id.or(event.session_id);
        self.directory_table_base = self.directory_table_base.or(event.directory_table_base);
    }
}

impl At<ProcessEvent> {
    /// When it is of a list: of the start or the end.
    fn listed(&self, list: ProcessPhase) -> Option<Moment> {
        (self.value.phase == list).then_some(self.moment)
    }
}

fn new_instance(before: Option<&Instance>, event: &At<ProcessEvent>, start: Option<Moment>) -> Instance {
    let listed = [ProcessPhase::DcStart, ProcessPhase::DcEnd].map(|list| event.listed(list));
    let event = &event.value;
    Instance {
        process_id: event.process_id,
        key: event.key,
        directory_table_base: event.directory_table_base,
        session_id: event.session_id,
        name: "".into(),
        logged_name: event.image_name.clone(),
        parent_id: Some(event.parent_id),
        command_line: event.command_line.clone(),
        exit_status: None,
        // Without a start event, it cannot have started before the end of the instance before it.
        begin: start.or(before.map(|life| life.end)).unwrap_or(Moment::FIRST),
        end: Moment::LAST,
        end_logged: false,
        start_logged: event.phase == ProcessPhase::Start,
        from: before.map_or(Moment::FIRST, |life| life.until),
        until: Moment::LAST,
        listed_at_start: listed[0],
        listed_at_end: listed[1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;

    fn event(time: i64, phase: ProcessPhase, process_id: u32, key: u64) -> At<ProcessEvent> {
        let value = ProcessEvent {
            phase,
            key,
            process_id,
            session_id: None,
            directory_table_base: None,
            image_name: format!("p{key}").into_bytes().into(),
            parent_id: 4,
            command_line: "".into(),
            exit_status: 0,
            thread_id: None,
        };
        At { moment: Moment { time: Ticks(time), order: 0 }, value }
    }

    fn names(events: Vec<At<ProcessEvent>>, time: i64) -> Vec<String> {
        let processes = Processes::new(&SystemHistory { processes: events, ..SystemHistory::default() });
        let moment = Moment { time: Ticks(time), order: 0 };
        processes.instances.iter().filter(|life| life.is_alive(moment)).map(Instance::label).collect()
    }

    #[test]
    fn a_reused_id_is_another_process() {
        use ProcessPhase::*;
        let history =
            || vec![event(0, DcStart, 4, 1), event(5, End, 4, 1), event(8, Start, 4, 2), event(20, DcEnd, 4, 2)];
        assert_eq!(names(history(), 4), ["p1 (4)"]);
        assert_eq!(names(history(), 6), Vec::<String>::new());
        assert_eq!(names(history(), 30), ["p2 (4)"]);
    }

    #[test]
    fn a_process_seen_only_in_the_end_rundown_ran_all_along() {
        use ProcessPhase::*;
        assert_eq!(names(vec![event(20, DcEnd, 8, 3)], 1), ["p3 (8)"]);
        assert_eq!(names(vec![event(9, End, 8, 3)], 1), ["p3 (8)"]);
        assert_eq!(names(vec![event(20, Defunct, 8, 3)], 21), Vec::<String>::new());
    }

    #[test]
    fn an_ended_process_that_is_still_listed_stays_dead() {
        use ProcessPhase::*;
        let history = || vec![event(0, DcStart, 4, 1), event(5, End, 4, 1), event(20, DcEnd, 4, 1)];
        assert_eq!(names(history(), 4), ["p1 (4)"]);
        assert_eq!(names(history(), 21), Vec::<String>::new());
    }

    #[test]
    fn a_lost_end_does_not_join_two_lives() {
        use ProcessPhase::*;
        let history = || vec![event(0, DcStart, 4, 1), event(20, DcEnd, 4, 2)];
        assert_eq!(names(history(), 19), ["p1 (4)"]);
        assert_eq!(names(history(), 20), ["p2 (4)"]);
        // Of the second instance only the end was recorded: both have ended.
        assert_eq!(names(vec![event(0, DcStart, 4, 1), event(20, End, 4, 2)], 21), Vec::<String>::new());
    }

    /// A list has processes in the order of their creation, so an id that a later one has was another's when the child began.
    #[test]
    fn a_parent_stands_before_its_children_in_a_list() {
        use ProcessPhase::*;
        let parent_of_8 = |list: ProcessPhase, times: [i64; 2]| {
            let mut child = event(times[1], list, 8, 2);
            child.value.parent_id = 12;
            let history = vec![event(times[0], list, 12, 1), child];
            let processes = Processes::new(&SystemHistory { processes: history, ..SystemHistory::default() });
            let child = processes.instances.iter().find(|process| process.process_id == 8).unwrap();
            processes.parent(child).map(Instance::label)
        };
        for list in [DcStart, DcEnd] {
            assert_eq!(parent_of_8(list, [1, 2]).as_deref(), Some("p1 (12)"));
            assert_eq!(parent_of_8(list, [2, 1]), None);
        }
    }

    #[test]
    fn a_process_that_the_start_rundown_met_before_its_start_is_one() {
        use ProcessPhase::*;
        let history = vec![event(0, DcStart, 4, 1), event(1, Start, 4, 1), event(20, DcEnd, 4, 1)];
        let processes = Processes::new(&SystemHistory { processes: history, ..SystemHistory::default() });
        assert_eq!((processes.instances.len(), processes.ends_missing), (1, 0));
    }

    #[test]
    fn starts_that_no_record_tells_are_counted() {
        use ProcessPhase::*;
        let missing = |events: Vec<At<ProcessEvent>>| {
            Processes::new(&SystemHistory { processes: events, ..SystemHistory::default() }).starts_missing()
        };
        let used_again = vec![event(0, DcStart, 4, 1), event(5, End, 4, 1), event(20, DcEnd, 4, 2)];
        assert_eq!(missing(used_again.clone()), (1, 0));
        let processes = Processes::new(&SystemHistory { processes: used_again, ..SystemHistory::default() });
        let begins = processes.instances.iter().map(|life| (life.start_time(), life.begin_time()));
        assert_eq!(begins.collect::<Vec<_>>(), [(None, None), (None, Some(Ticks(5)))]);
        assert_eq!(missing(vec![event(0, DcStart, 4, 1), event(20, End, 4, 2)]), (1, 0));
        let listed = || (1..9).map(|n| event(n.into(), DcStart, 4 * n, n.into()));
        let with = |event: At<ProcessEvent>| missing(listed().chain([event]).collect());
        assert_eq!(with(event(20, DcEnd, 100, 100)), (1, 0));
        assert_eq!(with(event(20, End, 100, 100)), (1, 0));
        assert_eq!(with(event(20, Start, 100, 100)), (0, 1));
        assert_eq!(with(event(7, End, 100, 100)), (0, 0), "it ended while the list was logged");
        assert_eq!(missing(vec![event(0, DcStart, 4, 1), event(20, DcEnd, 100, 100)]), (0, 0), "no whole list");
    }

    #[test]
    fn an_address_space_without_process_events_has_no_name() {
        let mut history = SystemHistory::default();
        history.space_ids.insert(8);
        let processes = Processes::new(&history);
        assert_eq!((processes.instances[0].label().as_str(), processes.named), ("Unknown (8)", 0));
    }
}
