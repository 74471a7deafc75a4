//! What is asked for: the kind of events, with the unit of their weights, groups and conditions.

use super::tree::TreeQuery;
use crate::dimensions::single_dimensions::{FUNCTION, MODULE, PROCESSOR, STACK, THREAD};
use crate::dimensions::{Condition, ProcessFacet, dimensions, spelling};
use crate::error::Error;
use crate::etl::record_id::{HookId, RecordId};
use crate::event::event_names;
use crate::load::event_kind_counts::KindCount;
use crate::load::stacks::second_walk::{EventChoice, kind_of};
use crate::model::window::Bound;
use crate::pattern::Patterns;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::ram_size::most_pool_bytes;
use crate::units::MOST_BYTES;
use std::collections::BTreeSet;
use uuid::Uuid;

dimensions! {
    /// What events with stacks are grouped and filtered by. Module and function group by the innermost frame and filter by any.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Thread: THREAD;
        Processor: PROCESSOR;
        Module: MODULE;
        Function: FUNCTION;
        Stack: STACK;
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct StackQuery {
    /// Events of this kind; `None`: the first of the named kinds of which the trace has records.
    pub of: Option<Kind>,
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Condition<Dimension>>,
    /// Begin of the window; `None`: from the first event.
    pub from: Option<Bound>,
    /// End of the window; `None`: until the last event.
    pub to: Option<Bound>,
    /// Only stacks whose innermost function has such a label.
    pub leaf: Option<Patterns>,
    /// Frames next to each other in these modules become one.
    pub fold: Option<Patterns>,
    /// Stacks are cut to so many outermost frames; what lies deeper counts for the last of them.
    pub max_depth: Option<usize>,
    /// The tree that is wanted.
    pub tree: Option<TreeQuery>,
    /// Where databases of images are looked for.
    pub symbols: SymbolFolders,
    /// True when the distinct stacks are wanted.
    pub whole_stacks: bool,
    /// True when the hottest path is wanted.
    pub hottest: bool,
    /// True when rows, or distinct stacks, that can be compared with those of another trace are wanted.
    pub compared: bool,
}

impl StackQuery {
    /// True where frames make the rows or choose their events.
    #[cfg(feature = "cli")]
    pub(crate) fn looks_at_frames(&self) -> bool {
        let conditions = self.conditions.iter().map(|condition| condition.dimension);
        let is_of_frames = |of| matches!(of, Dimension::Module | Dimension::Function | Dimension::Stack);
        self.leaf.is_some() || self.group_by.iter().copied().chain(conditions).any(is_of_frames)
    }
}

/// A kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind(pub(crate) EventChoice);

/// Names of kinds, with their unit.
pub(super) const KINDS: [(&str, EventChoice, Weight); 9] = [
    ("samples", EventChoice::Samples, Weight::Time),
    ("cswitch", EventChoice::ContextSwitches, Weight::Time),
    ("ready", EventChoice::Ready, Weight::Count),
    ("virtual-alloc", EventChoice::VirtualAlloc, Weight::Bytes),
    ("page-access", EventChoice::PageAccess, Weight::Pages),
    ("hard-fault", EventChoice::HardFault, Weight::Bytes),
    ("disk", EventChoice::Disk, Weight::Count),
    ("heap", EventChoice::Heap, Weight::Bytes),
    ("pool", EventChoice::Pool, Weight::Bytes),
];

/// What a weight is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Pages.
    Pages,
    /// Events.
    Count,
}

impl Weight {
    /// Its unit in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Weight::Time => "time_ns",
            Weight::Bytes => "bytes",
            Weight::Pages => "pages",
            Weight::Count => "count",
        }
    }
}

impl Kind {
    /// No allocation of pool is larger, where the kind is pool.
    pub(super) fn most_pool_bytes(&self, trace: &Trace) -> u64 {
        if self.0 == EventChoice::Pool { most_pool_bytes(trace) } else { MOST_BYTES }
    }

    /// A kind by its name, `0xHHHH` or `GUID/ID`.
    ///
    /// # Errors
    /// A usage error that lists the names.
    pub fn parse(text: &str) -> Result<Kind, Error> {
        let wanted = text.trim().to_ascii_lowercase();
        if let Some((_, choice, _)) = KINDS.iter().find(|(name, ..)| *name == wanted.replace('_', "-")) {
            return Ok(Kind(choice.clone()));
        }
        let hook = wanted.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
        if let Some(hook) = hook {
            return Ok(Kind(EventChoice::Other(RecordId::Kernel(HookId(hook)))));
        }
        let other = wanted.split_once('/').and_then(|(guid, id)| Some((Uuid::parse_str(guid).ok()?, id.parse().ok()?)));
        if let Some((provider, id)) = other {
            return Ok(Kind(EventChoice::Other(RecordId::Manifest { provider, id })));
        }
        let advice = spelling::advice(&wanted, KINDS.iter().map(|(name, ..)| *name));
        Err(Error::Usage(format!(
            "unknown kind of event \"{text}\"{advice}, a name or a hook id as pfnset events lists it, and GUID/ID"
        )))
    }

    /// True when the trace has records of it.
    #[cfg(feature = "export")]
    pub(crate) fn is_recorded(&self, trace: &Trace) -> bool {
        self.0.hooks().iter().any(|hook| trace.survey().kernel_count(*hook) > 0)
    }

    /// The name of a choice that has one.
    #[cfg(feature = "cli")]
    pub(crate) fn name_of(choice: &EventChoice) -> &'static str {
        KINDS.iter().find(|(_, of, _)| of == choice).map_or("events", |(name, ..)| name)
    }

    /// The same, or the one event of a trace that has this name, as `pfnset events` lists it.
    ///
    /// # Errors
    /// A usage error that lists the names, or the events that have this one.
    pub fn of_trace(text: &str, trace: &Trace) -> Result<Kind, Error> {
        let unknown = match Kind::parse(text) {
            Ok(kind) => return Ok(kind),
            Err(error) => error,
        };
        let is_wanted = |name: &str| name.eq_ignore_ascii_case(text.trim());
        let kinds = &trace.survey().kinds;
        let has_name = |kind: &&KindCount| {
            event_names::all_names(kind.id).into_iter().any(is_wanted)
                || kind.own_name.as_deref().is_some_and(is_wanted)
        };
        let found: BTreeSet<RecordId> = kinds.iter().filter(has_name).map(|kind| kind_of(kind.id)).collect();
        let shares_id = |id: RecordId| kinds.iter().any(|kind| kind_of(kind.id) == id && !has_name(&kind));
        match found.iter().copied().collect::<Vec<_>>()[..] {
            [] => Err(unknown),
            [id] if shares_id(id) => Err(Error::Usage(format!(
                "\"{text}\" has the id of other events of its provider: {} means all of them",
                event_name(id)
            ))),
            [id] => Ok(Kind(EventChoice::Other(id))),
            ref several => {
                let ids: Vec<String> = several.iter().map(|id| event_name(*id)).collect();
                Err(Error::Usage(format!("\"{text}\" is the name of several events: {}", ids.join(", "))))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> String {
        let named = KINDS.iter().find(|(_, choice, _)| *choice == self.0).map(|(name, ..)| (*name).to_owned());
        named.unwrap_or_else(|| match self.0 {
            EventChoice::Other(id) => event_name(id),
            _ => String::new(),
        })
    }

    /// True when weights are amounts of memory.
    pub fn is_of_memory(&self) -> bool {
        self.weight() == Weight::Bytes
    }

    /// Its unit.
    pub fn weight(&self) -> Weight {
        KINDS.iter().find(|(_, choice, _)| *choice == self.0).map_or(Weight::Count, |(.., weight)| *weight)
    }
}

/// `0x0f2e`, or GUID and number.
pub(super) fn event_name(id: RecordId) -> String {
    match id {
        RecordId::Kernel(hook) => hook.to_string(),
        RecordId::Classic { class, opcode } => format!("{class}/{opcode}"),
        RecordId::Manifest { provider, id } => format!("{provider}/{id}"),
        RecordId::Message { guid, number } => format!("{guid}/{number}"),
        RecordId::Opaque(header) => header.name().to_string(),
    }
}
