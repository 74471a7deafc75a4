//! Process instances: who was alive when. Ids are reused, so an instance is an id and a lifetime.

use crate::event::process::ProcessPhase;
use crate::load::history::{At, History, ProcessEvent};
use crate::units::Ticks;
use foldhash::HashMap as FastMap;

/// One life of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Process id.
    pub process_id: u32,
    /// UniqueProcessKey; 0 when no event told it.
    pub key: u64,
    /// Physical address of the page directory.
    pub directory_table_base: Option<u64>,
    /// Session; `None` for processes of no session.
    pub session_id: Option<u32>,
    /// File name of the image.
    pub name: Box<str>,
    /// When it started; `None`: before the trace.
    pub start: Option<Ticks>,
    /// When it ended; `None`: it outlived the trace.
    pub end: Option<Ticks>,
    /// From when on events of this id are this instance's: the end of the instance before it.
    pub since: Ticks,
}

impl Instance {
    /// True when the process was alive at `time`.
    pub fn is_alive(&self, time: Ticks) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time < end)
    }

    /// `name.exe (pid)`.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.process_id)
    }
}

/// All process instances of a trace.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    /// In order of process id, then time.
    pub instances: Vec<Instance>,
    by_id: FastMap<u32, Vec<usize>>,
    /// Starts without an end of the process before, rundowns of another process than the one known to be alive.
    pub contradictions: u64,
}

impl Processes {
    /// Follows the process events.
    pub fn new(history: &History) -> Processes {
        let mut by_id: FastMap<u32, Vec<&At<ProcessEvent>>> = FastMap::default();
        history.processes.iter().for_each(|event| by_id.entry(event.value.process_id).or_default().push(event));
        let mut ids: Vec<u32> = by_id.keys().copied().collect();
        ids.sort_unstable();
        let mut all = Processes::default();
        for id in ids {
            let mut lives: Vec<Instance> = Vec::new();
            by_id.get(&id).into_iter().flatten().for_each(|event| all.follow(&mut lives, event));
            let first = all.instances.len();
            all.instances.extend(lives);
            all.by_id.insert(id, (first..all.instances.len()).collect());
        }
        all
    }

    fn follow(&mut self, lives: &mut Vec<Instance>, event: &At<ProcessEvent>) {
        let (time, e) = (event.moment.time, &event.value);
        let alive = lives.last().is_some_and(|life| life.end.is_none());
        let same = |life: &Instance| life.key == e.key || life.key == 0 || e.key == 0;
        match e.phase {
            ProcessPhase::Start => {
                if alive && let Some(life) = lives.last_mut() {
                    self.contradictions += 1; // its end was lost
                    life.end = Some(time);
                }
                lives.push(new_life(lives.last(), e, Some(time)));
            }
            ProcessPhase::DcStart | ProcessPhase::DcEnd => match lives.last_mut() {
                Some(life) if alive && same(life) => {
                    if life.name.is_empty() {
                        life.name = e.image_name.clone();
                    }
                    life.session_id = life.session_id.or(e.session_id);
                }
                Some(life) if alive => {
                    self.contradictions += 1; // end and start were lost
                    life.end = Some(time);
                    lives.push(new_life(lives.last(), e, Some(time)));
                }
                // Alive without a start: since before the trace, or since the id was free again.
                _ => lives.push(new_life(lives.last(), e, None)),
            },
            ProcessPhase::End | ProcessPhase::Defunct => {
                if !alive {
                    if e.phase == ProcessPhase::Defunct || lives.last().is_some_and(same) {
                        return; // known to have ended
                    }
                    lives.push(new_life(lives.last(), e, None));
                }
                if let Some(life) = lives.last_mut().filter(|life| same(life)) {
                    life.end = Some(time);
                }
            }
        }
    }

    /// Index of the instance with this id that was alive at `time`.
    pub fn alive(&self, process_id: u32, time: Ticks) -> Option<usize> {
        self.lives(process_id).iter().rev().copied().find(|&i| self.instances.get(i).is_some_and(|p| p.is_alive(time)))
    }

    /// Indices of all instances with this id, by time.
    pub fn lives(&self, process_id: u32) -> &[usize] {
        self.by_id.get(&process_id).map_or(&[], Vec::as_slice)
    }

    /// Indices of the instances that were alive at `time`.
    pub fn all_alive(&self, time: Ticks) -> Vec<usize> {
        (0..self.instances.len()).filter(|&i| self.instances.get(i).is_some_and(|p| p.is_alive(time))).collect()
    }
}

fn new_life(before: Option<&Instance>, event: &ProcessEvent, start: Option<Ticks>) -> Instance {
    let since = before.and_then(|life| life.end).unwrap_or(Ticks(i64::MIN));
    Instance {
        process_id: event.process_id,
        key: event.key,
        directory_table_base: event.directory_table_base,
        session_id: event.session_id,
        name: event.image_name.clone(),
        // An instance without a start of its own cannot have lived before the one before it ended.
        start: start.or(before.and_then(|life| life.end)),
        end: None,
        since,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::history::Moment;

    fn event(time: i64, phase: ProcessPhase, process_id: u32, key: u64) -> At<ProcessEvent> {
        let value = ProcessEvent {
            phase,
            key,
            process_id,
            session_id: None,
            directory_table_base: None,
            image_name: format!("p{key}").into(),
            thread_id: None,
        };
        At { moment: Moment { time: Ticks(time), order: 0 }, value }
    }

    fn names(events: Vec<At<ProcessEvent>>, time: i64) -> Vec<String> {
        let processes = Processes::new(&History { processes: events, ..History::default() });
        processes.all_alive(Ticks(time)).iter().map(|&i| processes.instances[i].label()).collect()
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
    fn a_lost_end_does_not_join_two_lives() {
        use ProcessPhase::*;
        let history = || vec![event(0, DcStart, 4, 1), event(20, DcEnd, 4, 2)];
        assert_eq!(names(history(), 19), ["p1 (4)"]);
        assert_eq!(names(history(), 20), ["p2 (4)"]);
    }
}
