//! A profile for the viewer <https://profiler.firefox.com>, in its processed format.
//!
//! A thread has one unit of weights and one table of allocations, so each kind of events has threads of its own; the allocations of a
//! process are on one of them, where the viewer matches what was freed with what was allocated, by the number of the piece.

use crate::analysis::stack_profile::{ProfileCounter, ProfiledImage, StackProfile};
use crate::analysis::stacks::{FrameLabel, PartKind, ProfileEvent, ProfileFrame, ProfilePart, StackId, Track};
use crate::answer::Answer;
use crate::answer::answer_type::Warnings;
use crate::escape::visible;
use crate::units::FileTime;
use foldhash::HashMap as FastMap;
use fxprof_processed_profile::debugid::DebugId;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameHandle, FrameInfo, LibraryHandle, LibraryInfo,
    MarkerFieldFlags, MarkerFieldFormat, MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval,
    StackHandle, StaticSchemaMarker, StaticSchemaMarkerField, StringHandle, Symbol, SymbolTable, ThreadHandle,
    Timestamp, WeightType,
};
use std::io::{self, Write};
use std::sync::Arc;

/// Writes the profile of an answer.
///
/// # Errors
/// What the writer says.
pub fn write(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Some(profile) = answer.profile else { return Ok(()) };
    let name = answer.files.first().and_then(|file| file.file_name()).map(|name| name.to_string_lossy().into_owned());
    let mut writing = Writing::new(name.as_deref().unwrap_or("trace"), profile);
    profile.parts.iter().for_each(|part| writing.part(part, profile.interval_ns));
    writing.marks(profile, &answer.warnings);
    profile.counters.iter().for_each(|counter| writing.counter(counter));
    serde_json::to_writer(&mut *out, &writing.profile)?;
    writeln!(out)
}

/// FILETIMEs from 1601 to 1970.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

fn milliseconds(time: FileTime) -> f64 {
    time.0.saturating_sub(UNIX_EPOCH) as f64 / 10_000.0
}

/// Each thread of the format has tables of its own, so a small hostile file could ask for any amount of memory: all threads together have
/// room for so many frames of distinct stacks, and for names of so many bytes. Traces of machines need a hundredth of it.
const ROWS: usize = 24_000_000;
const NAMES: usize = 256 << 20;

struct Writing {
    profile: Profile,
    native: CategoryHandle,
    managed: CategoryHandle,
    libraries: Vec<LibraryHandle>,
    /// By label, and by kind where that has processes of its own.
    processes: FastMap<(String, Option<&'static str>), ProcessHandle>,
    /// Frames of distinct stacks of threads that there is room for.
    rows: usize,
    /// Bytes of names of threads that there is room for.
    names: usize,
    /// What there was no room for.
    cut: u64,
}

impl Writing {
    fn new(name: &str, of: &StackProfile<'_>) -> Writing {
        let start = ReferenceTimestamp::from_millis_since_unix_epoch(milliseconds(of.start));
        let interval = SamplingInterval::from_nanos(of.interval_ns.max(1));
        let mut profile = Profile::new(&visible(name), start, interval);
        profile.set_os_name("Windows");
        let native = profile.add_category("Native", CategoryColor::Blue);
        let managed = profile.add_category(".NET", CategoryColor::Green);
        let libraries = of.images.iter().map(|image| profile.add_lib(library(image))).collect();
        Writing { profile, native, managed, libraries, processes: FastMap::default(), rows: ROWS, names: NAMES, cut: 0 }
    }

    /// Marks, and what makes numbers doubtful, on a track of their own.
    fn marks(&mut self, of: &StackProfile<'_>, warnings: &Warnings) {
        let warnings = warnings.iter().map(|warning| (0, "Warning", &warning.text));
        let cut = format!("stacks and names left out, because there is no room for more: {}", self.cut);
        let cut = (self.cut > 0).then_some((0, "Warning", &cut));
        let marks = of.marks.iter().map(|(time, text)| (*time, "Mark", text));
        let process = self.machine();
        let thread = self.profile.add_thread(process, 0, time(0), true);
        for (at, name, text) in warnings.chain(cut).chain(marks) {
            let [name, text] = [name, text].map(|text| self.profile.intern_string(&visible(text)));
            self.profile.add_marker(thread, MarkerTiming::Instant(time(at)), Mark { name, text });
        }
    }

    /// The process that stands for the whole trace.
    fn machine(&mut self) -> ProcessHandle {
        let profile = &mut self.profile;
        *self.processes.entry((String::new(), None)).or_insert_with(|| profile.add_process("Trace", 0, time(0)))
    }

    /// Bytes over time: the format has the steps from each value to the next.
    fn counter(&mut self, counter: &ProfileCounter) {
        let process = match &counter.process {
            None => self.machine(),
            Some((label, id)) => {
                let profile = &mut self.profile;
                let process = self.processes.entry((label.clone(), None));
                *process.or_insert_with(|| profile.add_process(&visible(label), *id, time(0)))
            }
        };
        let handle = self.profile.add_counter(process, counter.name, "Memory", counter.name);
        let mut last = 0;
        for (at, bytes) in &counter.values {
            self.profile.add_counter_sample(handle, time(*at), (i128::from(*bytes) - i128::from(last)) as f64, 0);
            last = *bytes;
        }
    }

    fn part(&mut self, part: &ProfilePart<'_>, interval_ns: u64) {
        for track in part.tracks() {
            let thread = self.thread(part.of, track);
            let mut stacks: FastMap<StackId, Option<StackHandle>> = FastMap::default();
            let mut frames: FastMap<FrameLabel, FrameHandle> = FastMap::default();
            for event in part.events(track) {
                let stack = match stacks.get(&event.stack) {
                    Some(stack) => *stack,
                    None => {
                        let stack = self.stack(part, thread, &mut frames, event.stack);
                        stacks.insert(event.stack, stack);
                        stack
                    }
                };
                self.event(part.of, thread, stack, event, if track.process_id == 0 { 0 } else { interval_ns });
            }
        }
    }

    fn thread(&mut self, of: PartKind, track: &Track) -> ThreadHandle {
        // Beside samples, allocations of several kinds would be added to each other.
        let own = match of {
            PartKind::Allocations(kind) => Some(kind),
            _ => None,
        };
        let label = own.map_or_else(|| track.process.clone(), |kind| format!("{}: {kind}", track.process));
        let profile = &mut self.profile;
        let process = self.processes.entry((track.process.clone(), own));
        let process = *process.or_insert_with(|| profile.add_process(&visible(&label), track.process_id, time(0)));
        let thread = profile.add_thread(process, track.thread.unwrap_or(track.process_id), time(0), false);
        let name = match (of, track.thread) {
            (PartKind::Samples, Some(id)) => format!("Thread {id}"),
            (PartKind::Samples, None) => "Threads".to_owned(),
            (PartKind::Waits, Some(id)) => format!("Thread {id}, waiting"),
            (PartKind::Waits, None) => "Threads, waiting".to_owned(),
            (PartKind::Counts(kind) | PartKind::Bytes(kind) | PartKind::Allocations(kind), _) => kind.to_owned(),
        };
        profile.set_thread_name(thread, &name);
        let weights = match of {
            PartKind::Samples | PartKind::Counts(_) => WeightType::Samples,
            PartKind::Waits => WeightType::TracingMs,
            PartKind::Bytes(_) | PartKind::Allocations(_) => WeightType::Bytes,
        };
        profile.set_thread_samples_weight_type(thread, weights);
        thread
    }

    fn event(
        &mut self,
        of: PartKind,
        thread: ThreadHandle,
        stack: Option<StackHandle>,
        event: &ProfileEvent,
        interval_ns: u64,
    ) {
        let at = time(event.time_ns);
        if matches!(of, PartKind::Allocations(_)) {
            return self.profile.add_allocation_sample(thread, at, stack, event.piece, event.weight);
        }
        let busy = match of {
            PartKind::Samples => CpuDelta::from_nanos(event.weight.unsigned_abs().saturating_mul(interval_ns)),
            _ => CpuDelta::ZERO,
        };
        // A weight of the format is a number of 32 bits; a few samples hold what is more, and what no machine has is cut.
        let mut left = event.weight.clamp(0, 8 * i64::from(i32::MAX));
        loop {
            let weight = i32::try_from(left).unwrap_or(i32::MAX);
            self.profile.add_sample(thread, at, stack, busy, weight);
            left -= i64::from(weight);
            if left == 0 {
                return;
            }
        }
    }

    /// A stack in the tables of its thread, whose frames are known by their labels.
    fn stack(
        &mut self,
        part: &ProfilePart<'_>,
        thread: ThreadHandle,
        known: &mut FastMap<FrameLabel, FrameHandle>,
        stack: StackId,
    ) -> Option<StackHandle> {
        let (frames, left_out) = part.frames(stack);
        let Some(rows) = self.rows.checked_sub(frames.len()) else {
            self.cut += 1;
            let frame = self.text(thread, "[stack left out]");
            return Some(self.profile.intern_stack(thread, None, frame));
        };
        self.rows = rows;
        let mut handle = None;
        if left_out > 0 {
            let frame = self.text(thread, &format!("[{left_out} outer frames]"));
            handle = Some(self.profile.intern_stack(thread, None, frame));
        }
        for label in frames {
            let frame = match known.get(&label) {
                Some(frame) => *frame,
                None => {
                    let frame = self.frame(part, thread, label);
                    known.insert(label, frame);
                    frame
                }
            };
            handle = Some(self.profile.intern_stack(thread, handle, frame));
        }
        handle
    }

    /// A frame that this thread did not have.
    fn frame(&mut self, part: &ProfilePart<'_>, thread: ThreadHandle, label: FrameLabel) -> FrameHandle {
        let Some(names) = self.names.checked_sub(part.name_length(label)) else {
            self.cut += 1;
            return self.text(thread, "[name left out]");
        };
        self.names = names;
        let (frame, category) = match part.frame(label) {
            ProfileFrame::Image(image, rva) => match self.libraries.get(image as usize) {
                Some(library) => (Frame::RelativeAddressFromInstructionPointer(*library, rva), self.native),
                None => return self.text(thread, "[unknown image]"),
            },
            ProfileFrame::Native(name) => (self.label(&name), self.native),
            ProfileFrame::Method(name) => (self.label(&name), self.managed),
            ProfileFrame::Other(name) => (self.label(&name), CategoryHandle::OTHER),
        };
        let info = FrameInfo { frame, category_pair: category.into(), flags: FrameFlags::empty() };
        self.profile.intern_frame(thread, info)
    }

    fn text(&mut self, thread: ThreadHandle, text: &str) -> FrameHandle {
        let frame = self.label(text);
        let info = FrameInfo { frame, category_pair: CategoryHandle::OTHER.into(), flags: FrameFlags::empty() };
        self.profile.intern_frame(thread, info)
    }

    fn label(&mut self, name: &str) -> Frame {
        Frame::Label(self.profile.intern_string(&visible(name)))
    }
}

fn time(nanos: u64) -> Timestamp {
    Timestamp::from_nanos_since_reference(nanos)
}

fn library(image: &ProfiledImage) -> LibraryInfo {
    let name = visible(&image.module).into_owned();
    let (debug_name, debug_id) = match &image.pdb {
        Some(pdb) => (visible(&pdb.name).into_owned(), DebugId::from_parts(pdb.guid, pdb.age)),
        None => (name.clone(), DebugId::nil()),
    };
    let symbol = |(address, name): (&u32, &Arc<str>)| Symbol {
        address: *address,
        size: Some(1),
        name: visible(name).into_owned(),
    };
    let symbols: Vec<Symbol> = image.functions.iter().map(symbol).collect();
    LibraryInfo {
        path: name.clone(),
        debug_path: debug_name.clone(),
        name,
        debug_name,
        debug_id,
        code_id: None,
        arch: None,
        symbol_table: (!symbols.is_empty()).then(|| Arc::new(SymbolTable::new(symbols))),
    }
}

/// A mark of the trace, or a warning.
#[derive(Debug, Clone)]
struct Mark {
    name: StringHandle,
    text: StringHandle,
}

impl StaticSchemaMarker for Mark {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Text";
    const CHART_LABEL: Option<&'static str> = Some("{marker.data.text}");
    const TABLE_LABEL: Option<&'static str> = Some("{marker.name}: {marker.data.text}");
    const FIELDS: &'static [StaticSchemaMarkerField] = &[StaticSchemaMarkerField {
        key: "text",
        label: "Text",
        format: MarkerFieldFormat::String,
        flags: MarkerFieldFlags::SEARCHABLE,
    }];

    fn name(&self, _: &mut Profile) -> StringHandle {
        self.name
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.text
    }

    /// It has no field with a number.
    fn number_field_value(&self, _: u32) -> f64 {
        0.0
    }
}
