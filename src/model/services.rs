//! Which services a process runs, by the services that the trace lists, else by the process's command line.

use crate::load::history::SystemHistory;
use crate::model::process::{Instance, Processes};

/// Names of the services of each process instance.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// In order of the instances.
    names: Vec<Vec<Box<str>>>,
    is_listed: bool,
}

impl Services {
    /// Finds the process of each service.
    pub fn new(history: &SystemHistory, processes: &Processes) -> Services {
        let mut names: Vec<Vec<Box<str>>> = vec![Vec::new(); processes.instances.len()];
        for event in &history.services {
            let id = event.value.process_id;
            // The list can be logged after the processes of the trace's end.
            let instance = processes.alive(id, event.moment).or_else(|| processes.instances_of(id).last().copied());
            let of_process = instance.and_then(|instance| names.get_mut(instance));
            of_process.into_iter().for_each(|names| names.push(event.value.name.clone()));
        }
        for (names, process) in names.iter_mut().zip(&processes.instances) {
            if names.is_empty() {
                names.extend(by_command_line(process).map(Box::from));
            }
            names.sort();
            names.dedup();
        }
        Services { names, is_listed: !history.services.is_empty() }
    }

    /// False when the trace lists no services: who has none by its command line may run some.
    pub fn are_listed(&self) -> bool {
        self.is_listed
    }

    /// Services of a process instance, in order of their names.
    pub fn of(&self, instance: usize) -> &[Box<str>] {
        self.names.get(instance).map_or(&[], Vec::as_slice)
    }
}

/// The service that a host of one service is started for, Windows 10 and later: `svchost.exe -k netsvcs -p -s BITS`.
fn by_command_line(process: &Instance) -> Option<&str> {
    let mut words = process.command_line.split_ascii_whitespace();
    process.name.eq_ignore_ascii_case("svchost.exe").then(|| words.find(|word| word.eq_ignore_ascii_case("-s")))??;
    words.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::process::ProcessPhase;
    use crate::load::owned_events::{ProcessEvent, RunningService};
    use crate::moment::{At, Moment};
    use crate::units::Ticks;

    #[test]
    fn services_are_listed_or_named_on_the_command_line() {
        let at = |time: i64| Moment { time: Ticks(time), order: 0 };
        let process = |process_id: u32, name: &str, command_line: &str| At {
            moment: at(1),
            value: ProcessEvent {
                phase: ProcessPhase::DcStart,
                key: u64::from(process_id),
                process_id,
                session_id: None,
                directory_table_base: None,
                image_name: name.as_bytes().into(),
                parent_id: 4,
                command_line: command_line.into(),
                exit_status: 0,
                thread_id: None,
            },
        };
        let service =
            |process_id: u32, name: &str| At { moment: at(9), value: RunningService { process_id, name: name.into() } };
        let history = SystemHistory {
            processes: vec![
                process(8, "svchost.exe", r"C:\Windows\System32\svchost.exe -k netsvcs -p -s BITS"),
                process(12, "svchost.exe", "svchost.exe -k LocalService"),
                process(16, "other.exe", "other.exe -s x"),
                process(20, "svchost.exe", "svchost.exe -s"),
            ],
            services: vec![service(12, "Dnscache"), service(12, "BFE"), service(99, "Gone")],
            ..SystemHistory::default()
        };
        let processes = Processes::new(&history);
        let services = Services::new(&history, &processes);
        let of = |instance: usize| services.of(instance).join(",");
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], ["BITS", "BFE,Dnscache", "", "", ""]);
    }
}
