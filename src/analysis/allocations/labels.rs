//! Names of the numbers that pieces are grouped by.

use super::figures::SOURCES;
use super::piece::{OUTSTANDING, Reason};
use super::process_lifetimes::{LifeId, Lives};
use super::query::{CommonNames, Dimension};
use super::tag_drivers::TagDrivers;
use crate::analysis::stacks::{EventStacks, StackTexts};
use crate::dimensions::Label;
use crate::etl::clock::Clock;
use crate::event::pool::PoolTag;
use crate::model::process::Processes;
use crate::moment::Moment;
use crate::trace::Trace;
use crate::units::{Ticks, count};
use foldhash::HashMap as FastMap;
use std::cell::OnceCell;
use std::collections::HashSet;

/// What is not known, or is not there. Numbers of all dimensions stand in one list, which is looked up for each allocation.
pub const ABSENT: u32 = u32::MAX;

/// Distinct values with their numbers.
#[derive(Debug)]
struct Numbered<T> {
    values: Vec<T>,
    numbers: FastMap<T, u32>,
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn new() -> Numbered<T> {
        Numbered { values: Vec::new(), numbers: FastMap::default() }
    }

    fn number(&mut self, value: T) -> u32 {
        let next = self.values.len() as u32;
        *self.numbers.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            next
        })
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize)
    }
}

/// Names of numbers.
#[derive(Debug)]
pub struct Labels<'t> {
    processes: &'t Processes,
    clock: Clock,
    /// Names under which processes are put together.
    put_together: Option<&'t CommonNames>,
    stacks: Option<EventStacks>,
    /// Drivers of pool tags, where they are looked for.
    drivers: Option<TagDrivers>,
    heaps: Numbered<u64>,
    /// Names of functions.
    functions: Numbered<String>,
    /// Different stacks can have one text.
    stack_texts: StackTexts,
    /// Names with ids that several processes had; looked for when a process is named first.
    repeated: OnceCell<HashSet<Label>>,
    /// What rows of processes are told apart by.
    process_names: Numbered<ProcessName>,
}

/// The process of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ProcessName {
    label: Label,
    /// When it began; `None`: before the trace.
    start: Option<Ticks>,
    /// Its place among the instances.
    instance: Option<usize>,
    /// Its id and its end, where it is none of the instances: no record tells of it but those of what it allocated.
    nameless: Option<(u32, Ticks)>,
}

impl<'t> Labels<'t> {
    /// With the names of a trace.
    pub fn new(trace: &'t Trace, put_together: Option<&'t CommonNames>, stacks: Option<EventStacks>) -> Labels<'t> {
        let (heaps, functions, process_names) = (Numbered::new(), Numbered::new(), Numbered::new());
        let (drivers, stack_texts, repeated) = (None, StackTexts::default(), OnceCell::new());
        let (processes, clock) = (trace.processes(), trace.etl().clock);
        // Names that two traces have in common are asked for.
        let stacks = match put_together {
            Some(_) => stacks.map(EventStacks::without_addresses),
            None => stacks,
        };
        Labels {
            processes,
            clock,
            put_together,
            stacks,
            drivers,
            heaps,
            functions,
            stack_texts,
            repeated,
            process_names,
        }
    }

    /// The same, and looks for the drivers of pool tags in the stacks.
    pub fn with_drivers(self) -> Labels<'t> {
        let drivers = self.stacks.is_some().then(TagDrivers::default);
        Labels { drivers, ..self }
    }

    /// True where drivers of pool tags are looked for.
    pub fn wants_drivers(&self) -> bool {
        self.drivers.is_some()
    }

    /// A stack allocated with this tag.
    pub fn note_driver(&mut self, tag: u32, stack: u32) {
        if let (Some(drivers), Some(stacks)) = (&mut self.drivers, &self.stacks) {
            drivers.note(tag, stack, || stacks.driver(stack));
        }
    }

    /// The drivers that allocated with a tag.
    pub fn drivers_of(&self, tag: u32) -> Option<String> {
        self.drivers.as_ref()?.of(tag)
    }

    /// The number of a heap.
    #[inline]
    pub fn heap(&mut self, handle: u64) -> u32 {
        self.heaps.number(handle)
    }

    /// The handle of a heap.
    pub fn heap_handle(&self, number: u32) -> Option<u64> {
        self.heaps.get(number).copied()
    }

    /// The stack of the record that was logged at this moment; [`ABSENT`] where nobody asks for stacks.
    #[inline]
    pub fn stack_at(&self, moment: Moment) -> u32 {
        self.stacks.as_ref().map_or(ABSENT, |stacks| stacks.find(moment))
    }

    /// What a condition looks at: of functions all frames of the stack.
    pub fn to_filter(&self, dimension: Dimension, number: u32, lives: &Lives) -> Vec<Label> {
        let of_stacks = |labels: fn(&EventStacks, u32) -> Vec<Label>| {
            self.stacks.as_ref().map_or_else(Vec::new, |stacks| labels(stacks, number))
        };
        match dimension {
            _ if number == ABSENT && dimension != Dimension::Reason => vec![Label::nothing()],
            Dimension::Process => vec![self.told_apart(number, lives)],
            Dimension::Function | Dimension::FreeFunction => of_stacks(EventStacks::functions_to_filter),
            Dimension::Stack | Dimension::FreeStack => of_stacks(EventStacks::stacks_to_filter),
            Dimension::Tag => vec![self.of_row(dimension, number).without_filling()],
            _ => vec![self.of_row(dimension, number)],
        }
    }

    /// The label of a process: people read from when on it ran where another one has the same name and id.
    fn told_apart(&self, life: LifeId, lives: &Lives) -> Label {
        let label = lives.label(life, self.processes);
        let repeated = self.repeated.get_or_init(|| lives.repeated_labels(self.processes));
        match lives.start(life).filter(|_| repeated.contains(&label)) {
            Some(start) => {
                let shown = format!("{label} from {:.3} s", self.clock.nanos(start).seconds());
                label.shown_as(&shown)
            }
            None => label,
        }
    }

    /// The number by which rows are told apart: of names, not of what they are the names of.
    pub fn row_number(&mut self, dimension: Dimension, number: u32, lives: &Lives) -> u32 {
        match dimension {
            _ if number == ABSENT => ABSENT,
            Dimension::Process => {
                let name = match self.put_together {
                    Some(names) => {
                        let label = lives.label(number, self.processes);
                        // One of the list can have had the same id.
                        let is_unlisted = lives.instance(number, self.processes).is_none();
                        let name = names.of_unlisted.filter(|_| is_unlisted);
                        let name = name.or_else(|| names.by_label.get(label.as_str()).map(String::as_str));
                        let label = name.map_or(label, Label::name);
                        ProcessName { label, start: None, instance: None, nameless: None }
                    }
                    None => {
                        let instance = lives.instance(number, self.processes);
                        ProcessName {
                            label: self.told_apart(number, lives),
                            start: lives.start(number),
                            instance,
                            nameless: lives.ended(number).filter(|_| instance.is_none()),
                        }
                    }
                };
                self.process_names.number(name)
            }
            Dimension::Function | Dimension::FreeFunction => {
                let innermost = self.stacks.as_ref().map(|stacks| stacks.function_label(number).to_string());
                self.functions.number(innermost.unwrap_or_default())
            }
            Dimension::Stack | Dimension::FreeStack => {
                let texts = &mut self.stack_texts;
                self.stacks.as_ref().map_or(ABSENT, |stacks| stacks.text_number(number, texts))
            }
            _ => number,
        }
    }

    /// The process instance of a life, by its place in the list.
    pub fn instance_of(&self, life: LifeId, lives: &Lives) -> Option<usize> {
        lives.instance(life, self.processes)
    }

    /// When the process of a row began.
    pub fn start(&self, number: u32) -> Option<Ticks> {
        self.process_names.get(number)?.start
    }

    /// The process instance of a row, by its place in the list.
    pub fn instance(&self, number: u32) -> Option<usize> {
        self.process_names.get(number)?.instance
    }

    /// Id and end of the process of a row that is no instance.
    pub fn nameless(&self, number: u32) -> Option<(u32, Ticks)> {
        self.process_names.get(number)?.nameless
    }

    /// The label of a row's number.
    pub fn of_row(&self, dimension: Dimension, number: u32) -> Label {
        let text = |known: Option<&String>| Label::maybe(known.map(String::as_str));
        match dimension {
            Dimension::Reason if number == ABSENT => Label::name(OUTSTANDING),
            _ if number == ABSENT => Label::nothing(),
            Dimension::Reason => Label::maybe(Reason::ALL.get(number as usize).map(|reason| reason.name())),
            Dimension::Process => self.process_names.get(number).map_or_else(Label::nothing, |name| name.label.clone()),
            Dimension::Thread | Dimension::Session => Label::number(number),
            Dimension::Size => size_label(number),
            Dimension::Pages => Label::name(if number == 1 { "large" } else { "normal" }),
            Dimension::Tag => Label::name(PoolTag(number).exact_text()),
            Dimension::Pool => Label::name(if number == 1 { "paged" } else { "nonpaged" }),
            Dimension::Heap => {
                self.heaps.get(number).map_or_else(Label::nothing, |handle| Label::name(format!("0x{handle:x}")))
            }
            Dimension::Source => source_label(number),
            Dimension::Function | Dimension::FreeFunction => text(self.functions.get(number)),
            Dimension::Stack | Dimension::FreeStack => self.stack_texts.label(number),
        }
    }

    /// Puts the stacks of rows in the order of their texts, once there are no more rows.
    pub fn rank_stacks(&mut self) {
        self.stack_texts.rank();
    }

    /// The texts of the stacks of rows.
    pub fn into_stack_texts(self) -> StackTexts {
        self.stack_texts
    }

    /// The stacks themselves, where they were asked for.
    pub fn into_stacks(self) -> Option<EventStacks> {
        self.stacks
    }

    /// True when stacks were asked for and no record has one.
    pub fn lacks_stacks(&self) -> bool {
        self.stacks.as_ref().is_some_and(EventStacks::is_empty)
    }
}

/// The part of a heap that served a request.
fn source_label(number: u32) -> Label {
    let name = (number as usize).checked_sub(1).and_then(|at| SOURCES.get(at));
    name.map_or_else(|| Label::name(number.to_string()), |name| Label::name(*name))
}

/// A class of sizes by its upper bound.
fn size_label(class: u32) -> Label {
    let Some(exponent) = class.checked_sub(1) else { return Label::number(0u64).shown_as("0 bytes") };
    let bytes = 1u128 << exponent.min(64);
    let (unit, shift) = match exponent {
        0..10 => ("bytes", 0),
        10..20 => ("KiB", 10),
        20..30 => ("MiB", 20),
        30..40 => ("GiB", 30),
        _ => ("TiB", 40),
    };
    let shown = format!("up to {} {unit}", count((bytes >> shift) as u64));
    Label::number(u64::try_from(bytes).unwrap_or(u64::MAX)).shown_as(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::LabelKind;

    #[test]
    fn tags_are_exact() {
        let text = |bytes: [u8; 4]| PoolTag(u32::from_le_bytes(bytes)).exact_text();
        assert_eq!(
            [text(*b"Ntf "), text(*b"a\\b\xf4"), text([0, 0x7f, b'x', 0x80])],
            ["Ntf ", "a\\\\bt", "\\x00\\x7fx\\x00"]
        );
    }

    #[test]
    fn sizes_and_sources_have_names() {
        let shown = |class| size_label(class).shown().to_owned();
        assert_eq!(
            [0, 1, 10, 11, 43, 65].map(shown),
            ["0 bytes", "up to 1 bytes", "up to 512 bytes", "up to 1 KiB", "up to 4 TiB", "up to 16,777,216 TiB"]
        );
        assert_eq!(size_label(65).kind(), LabelKind::Number(u64::MAX));
        assert_eq!([1, 6, 7, 0].map(|n| source_label(n).to_string()), ["lookaside", "segment_heap", "7", "0"]);
    }
}
