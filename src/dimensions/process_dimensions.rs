//! What is known of a process: its label, name, services, command line, id and session. An analysis says whose something is
//! with a [`ProcessCode`], and has all these dimensions.

use crate::dimensions::dimension_trait::{Dimension as _, Facet, Values, dimensions};
use crate::dimensions::label::{IDLE_PROCESS, Label, NO_LABEL};
use crate::model::page_owner_key::KeyReading;
use crate::model::process::{Instance, Processes};
use crate::model::services::Services;
use crate::pattern::SEVERAL;

dimensions! {
    /// What is known of a process.
    pub enum ProcessFacet {
        Process: Facet { name: "process", title: "Process", values: Values::Process };
        ProcessName: Facet { name: "process_name", title: "Process name", values: Values::Text };
        Service: Facet { name: "service", title: "Service", values: Values::Text };
        CommandLine: Facet { name: "command_line", title: "Command line", values: Values::Text };
        Pid: Facet { name: "pid", title: "PID", values: Values::Number };
        Session: Facet { name: "session", title: "Session", values: Values::Number };
    }
}

/// Whose something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcessCode {
    /// A process instance, by its index.
    Instance(u32),
    /// No process.
    None,
    /// Of several: pages of files, images and sections.
    Shared,
    /// An owner key that names no process.
    UnknownKey(u64),
    /// A process id that no event describes.
    UnknownId(u32),
    /// A process that no record names.
    Unknown,
    /// The idle threads.
    Idle,
    /// The system's working sets.
    System,
    /// A session's working set; `None` where the session is not known.
    Session(Option<u32>),
}

/// The facts of processes that labels are made of.
#[derive(Debug, Clone, Copy)]
pub struct ProcessFacts<'f> {
    /// All instances.
    pub processes: &'f Processes,
    /// Their services, where they were asked for.
    pub services: Option<&'f Services>,
    /// What owner keys are.
    pub reading: KeyReading,
    /// What people read for [`ProcessCode::None`].
    pub nobody: &'static str,
}

impl ProcessFacet {
    /// The label of a code.
    pub fn label(self, code: ProcessCode, facts: &ProcessFacts<'_>) -> Label {
        let instance = |index: u32| facts.processes.instances.get(index as usize);
        match (self, code) {
            (_, ProcessCode::Instance(index)) => {
                instance(index).map_or_else(Label::nothing, |process| self.of_instance(process, index as usize, facts))
            }
            (ProcessFacet::Session, ProcessCode::Session(Some(id))) => Label::number(id),
            (ProcessFacet::Session, _) => Label::nothing().shown_as(NO_SESSION),
            (_, ProcessCode::None) => Label::nothing().shown_as(facts.nobody),
            (_, ProcessCode::Shared) => {
                Label::shared(if self == ProcessFacet::Pid { PID_OF_SEVERAL } else { SEVERAL }).shown_as(SHARED)
            }
            (_, ProcessCode::UnknownKey(key)) => Label::unknown(facts.reading.unknown_label(key)),
            (_, ProcessCode::UnknownId(id)) => Label::unknown(format!("Unknown ({id})")),
            (_, ProcessCode::Unknown) => Label::unknown("Unknown"),
            (ProcessFacet::Process, ProcessCode::Idle) => Label::name(IDLE_PROCESS),
            (ProcessFacet::ProcessName, ProcessCode::Idle) => Label::name("Idle"),
            (ProcessFacet::Pid, ProcessCode::Idle) => Label::number(0u32),
            (ProcessFacet::Process | ProcessFacet::ProcessName, ProcessCode::System) => Label::name("System"),
            (ProcessFacet::Process | ProcessFacet::ProcessName, ProcessCode::Session(_)) => Label::name("Session"),
            (ProcessFacet::Service, ProcessCode::Idle) => Label::name(NO_SERVICE),
            (ProcessFacet::CommandLine, ProcessCode::Idle) => Label::name(UNKNOWN),
            // They are of no process, so no fact of a process is theirs.
            (_, ProcessCode::System | ProcessCode::Session(_)) => Label::nothing().shown_as("no process"),
        }
    }

    /// The label that a text stands for, where it is read from a file: that of shareable pages is WPA's.
    pub fn of_text(self, text: &str) -> Label {
        match text {
            NO_LABEL if self == ProcessFacet::Session => Label::nothing().shown_as(NO_SESSION),
            _ if self == ProcessFacet::Session => Label::of_text(text, self.facet().values),
            NO_LABEL => Label::nothing().shown_as("kernel, free, owner not recorded"),
            PID_OF_SEVERAL | SEVERAL => Label::shared(text).shown_as(SHARED),
            _ => Label::of_text(text, self.facet().values),
        }
    }

    fn of_instance(self, process: &Instance, index: usize, facts: &ProcessFacts<'_>) -> Label {
        match self {
            ProcessFacet::Process => Label::process(&process.name, process.process_id),
            ProcessFacet::ProcessName if process.name.is_empty() => Label::unknown(UNKNOWN),
            ProcessFacet::ProcessName => Label::name(&*process.name),
            ProcessFacet::CommandLine if process.command_line.is_empty() => Label::name(UNKNOWN),
            ProcessFacet::CommandLine => Label::name(&*process.command_line),
            ProcessFacet::Service => match facts.services.map_or(&[][..], |services| services.of(index)) {
                [] if facts.services.is_some_and(Services::are_listed) => Label::name(NO_SERVICE),
                [] => Label::name(UNKNOWN),
                services => Label::name(services.join(", ")),
            },
            ProcessFacet::Pid => Label::number(process.process_id),
            ProcessFacet::Session => match process.session_id {
                Some(id) => Label::number(id),
                None => Label::nothing().shown_as(NO_SESSION),
            },
        }
    }
}

/// The same in the dimension of ids.
const PID_OF_SEVERAL: &str = "-1";
/// What people read for both.
const SHARED: &str = "shared (files, images, sections)";
/// What people read for pages and processes of no session.
const NO_SESSION: &str = "no session";
/// The service of a process that runs none.
const NO_SERVICE: &str = "no service";
/// A name or a command line that no event has.
const UNKNOWN: &str = "Unknown";

/// The id by which a pattern or a label means one process: `12`, `a.exe (12)`.
pub(crate) fn named_process_id(text: &str) -> Option<&str> {
    let in_brackets = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).map(|(_, id)| id);
    let id = in_brackets.unwrap_or(text);
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}
