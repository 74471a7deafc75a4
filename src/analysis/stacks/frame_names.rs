//! From addresses to names, at the time of each event.
//!
//! Events are asked for in time order; what lies at addresses is kept for the current time only. Names of a list of frames are
//! found once until something changes in its process.

use super::code_lifetimes::Life;
use super::image_and_method_names::{databases, modules, name_of_file};
use super::loaded_code::AddressSpaces;
use super::recent_names::RecentNames;
use super::text_interner::Texts;
use crate::load::stacks::frame_trie::{FrameTrie, Node, PathId};
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::load::stacks::interner::Numbered;
use crate::load::stacks::kernel_or_user::is_kernel_frame;
use crate::moment::At;
use crate::pattern::Patterns;
use crate::symbols::PdbId;
use crate::symbols::database::Functions;
use crate::symbols::source_lines::{Source, SourceLine};
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;

/// What a frame is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// In a method of .NET.
    Method,
    /// In a function of an image.
    Symbol,
    /// In an image.
    Module,
    /// Nowhere.
    Unknown,
}

/// A frame with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// Module and method, both texts.
    Method(u32, u32),
    /// Image, offset in it, and its place in the database, an index into [`Names::places`], or [`NO_PLACE`].
    Image(u32, u64, u32),
    /// A function that is inlined at a place: its module, the place, and how many others are inlined around it.
    Inlined(u32, u32, u32),
    /// An address.
    Address(u64),
    /// Frames in a module that the user wants to see as one.
    Folded(u32),
    /// The one frame of an event without a stack.
    NoStack,
}

/// The number of [`Label::NoStack`] among the frames.
pub const NO_STACK: u32 = 0;

/// What stands for the function of events without a stack.
pub(crate) const NO_STACK_TEXT: &str = "[no stack]";
/// What stands for all addresses outside of modules where they cannot be compared.
pub(crate) const UNKNOWN_ADDRESS: &str = "[unknown]";

/// Of an image whose database nobody names: frames are packed, and each distinct one is kept.
const NO_PLACE: u32 = u32::MAX;

/// Room for the names of a stack, bytes. Of the deepest stacks that Windows walks, 192 frames, it leaves each some 600; a hostile
/// file can give many events one stack of 8,000 frames with names of 4 KB.
const LONGEST_STACK: usize = 128 << 10;

/// What a name takes beside its bytes, about.
const OF_NAME: usize = 32;

/// A line: the text of its file, and its number.
type Line = (u32, u32);

/// What the code at a place was compiled from.
#[derive(Debug)]
struct PlaceSource {
    line: Option<Line>,
    /// Names of inlined functions and their lines, the outermost one first.
    inlined: Vec<(u32, Option<Line>)>,
}

/// Frames of inlined functions that are added, for each frame of the trace that has a name. Hostile databases have more.
const MOST_INLINED: usize = 8;

/// Names at the current time.
#[derive(Debug)]
pub struct Names {
    spaces: AddressSpaces,
    /// Name of the image or method of each life.
    name_of_life: Vec<u32>,
    /// Module of each method by the records of modules.
    module_of_life: FastMap<u32, u32>,
    /// By life, the database of the image, an index into [`Names::pdbs`].
    pdb_of_life: FastMap<u32, u32>,
    managed: u32,
    session: PointerSize,
    recent: RecentNames,
    /// Frames whose names are looked for, innermost first.
    unknown: Vec<(PathId, bool)>,
    /// Modules and methods.
    pub texts: Texts,
    /// Names of distinct lists of frames.
    labels: FrameTrie<Label>,
    /// By the place of a list, its number now, once inlined functions are in it.
    inlined_lists: Vec<PathId>,
    /// By number of a frame, that of the frame which stands for its module, where some were folded.
    folded: Vec<u32>,
    /// Databases of images.
    pub pdbs: Vec<PdbId>,
    /// Distinct places in databases that frames have: index of the database, address relative to the image.
    places: Numbered<(u32, u32)>,
    /// By place, the text of its function, once databases were read.
    functions: FastMap<u32, u32>,
    /// By place, lines and inlined functions, where they were wanted.
    sources: FastMap<u32, PlaceSource>,
    /// True where addresses outside of all modules have one name: they are those of one boot.
    pub hides_addresses: bool,
}

impl Names {
    /// Names before the first event.
    pub fn new(records: &[At<AddressRecord>], session: PointerSize) -> Names {
        let spaces = AddressSpaces::new(records);
        let lives = spaces.lives();
        let mut texts = Texts::default();
        let name = |life: &Life| match records.get(life.record as usize).map(|record| &record.value) {
            Some(AddressRecord::Image { name, .. }) => texts.id(&name_of_file(name)),
            Some(AddressRecord::Method { name, .. }) => texts.id(name),
            _ => texts.id(""),
        };
        let name_of_life: Vec<u32> = lives.iter().map(name).collect();
        let module_of_life = modules(records, lives, &mut texts);
        let managed = texts.id("[managed]");
        let (pdbs, pdb_of_life) = databases(records, lives);
        Names {
            spaces,
            name_of_life,
            module_of_life,
            pdb_of_life,
            managed,
            session,
            recent: RecentNames::default(),
            unknown: Vec::new(),
            texts,
            labels: no_lists(),
            inlined_lists: Vec::new(),
            folded: Vec::new(),
            pdbs,
            places: Numbered::default(),
            functions: FastMap::default(),
            sources: FastMap::default(),
            hides_addresses: false,
        }
    }

    /// Goes on to this time.
    pub fn go_to(&mut self, time: Ticks) {
        self.spaces.go_to(time);
    }

    /// The names of a list of frames in a process, now. `begins` is true for the list with the innermost frame.
    pub fn of(&mut self, process_id: u32, list: PathId, addresses: &FrameTrie<u64>, begins: bool) -> Option<PathId> {
        if self.labels.nodes().is_empty() {
            // Lists of names are about as many as lists of addresses.
            self.labels.make_room(addresses.nodes().len());
            self.recent.make_room(addresses.nodes().len());
        }
        let mark = self.recent.mark(process_id, &self.spaces);
        let (whole, mut named, mut next) = (list, None, Some((list, begins)));
        // Lists share their outer frames: from the first one on whose names are known, all are.
        while let Some(asked) = next {
            named = self.recent.list(mark, asked, asked.0 == whole);
            if named.is_some() {
                break;
            }
            self.unknown.push(asked);
            next = addresses.node(asked.0).and_then(|node| node.outer).map(|outer| (outer, false));
        }
        while let Some(asked @ (list, is_exact)) = self.unknown.pop() {
            let frame = addresses.node(list)?.frame;
            let label = match self.recent.frame(mark, (frame, is_exact)) {
                Some(label) => label,
                None => {
                    let label = self.label(process_id, addresses.frame(frame)?, is_exact);
                    let label = self.labels.frame_number(label);
                    self.recent.put_frame(mark, (frame, is_exact), label);
                    label
                }
            };
            // In most processes a list has the names that it had in another one.
            let is_it = |last: &PathId| self.labels.node(*last) == Some(&Node { outer: named, frame: label });
            let inside = self.recent.last(list).filter(is_it).unwrap_or_else(|| {
                let inside = self.labels.inside_by_number(named, label);
                self.recent.put_last(list, inside);
                inside
            });
            self.recent.put_list(mark, asked, list == whole, inside);
            named = Some(inside);
        }
        named
    }

    /// True when nothing changes from the current time up to this one.
    #[inline]
    pub fn is_at(&self, time: Ticks) -> bool {
        self.spaces.is_at(time)
    }

    /// What [`Names::of`] gave before and would give again; `None` where it has to look.
    #[inline]
    pub fn known(&self, process_id: u32, list: PathId, begins: bool) -> Option<PathId> {
        self.recent.list(self.recent.known_mark(process_id, &self.spaces)?, (list, begins), true)
    }

    /// The numbers of the frames of a list of names, innermost first.
    #[inline]
    pub fn numbers(&self, list: Option<PathId>) -> impl Iterator<Item = u32> {
        self.labels.numbers(list.map(|list| self.list_now(list)))
    }

    /// The frames of a list of names, innermost first.
    pub fn frames(&self, list: Option<PathId>) -> impl Iterator<Item = Label> {
        self.labels.frames(list.map(|list| self.list_now(list)))
    }

    /// A list as it is now that inlined functions may be in it.
    #[inline]
    pub fn list_now(&self, list: PathId) -> PathId {
        self.inlined_lists.get(list.place()).copied().unwrap_or(list)
    }

    /// Forgets what only new lists need.
    pub fn close(&mut self) {
        self.labels.close_lists();
        self.recent = RecentNames::default();
    }

    /// The lists as they are now.
    pub fn lists(&self) -> &FrameTrie<Label> {
        &self.labels
    }

    /// A frame by its number.
    #[inline]
    pub fn frame(&self, number: u32) -> Label {
        self.labels.frame(number).unwrap_or(Label::NoStack)
    }

    /// Makes one frame of all frames in each of these modules, for [`Names::folded`].
    pub fn fold(&mut self, modules: &Patterns) {
        let all = self.labels.distinct().to_vec();
        let folded = all.into_iter().map(|label| self.labels.frame_number(self.folded_label(label, modules)));
        self.folded = folded.collect();
    }

    /// The number of the frame that stands for a frame.
    #[inline]
    pub fn folded(&self, number: u32) -> u32 {
        self.folded.get(number as usize).copied().unwrap_or(number)
    }

    fn label(&mut self, process_id: u32, address: u64, is_exact: bool) -> Label {
        if address == 0 {
            return Label::Address(0);
        }
        let looked_up = if is_exact { address } else { address - 1 };
        let is_kernel = is_kernel_frame(address, self.session);
        let space = if is_kernel { 0 } else { process_id };
        let held = |(life, of): (u32, &Life)| (life, of.base);
        let name = |life: u32| self.name_of_life.get(life as usize).copied().unwrap_or(0);
        let image = self.spaces.image(space, looked_up).map(held);
        if let Some((method, _)) = self.spaces.method(space, looked_up).filter(|_| !is_kernel) {
            let module = image.map(|(image, _)| name(image)).or_else(|| self.module_of_life.get(&method).copied());
            return Label::Method(module.unwrap_or(self.managed), name(method));
        }
        match image {
            Some((image, base)) => {
                let (module, pdb) = (name(image), self.pdb_of_life.get(&image).copied());
                let rva = u32::try_from(looked_up - base).ok();
                let place = pdb.zip(rva).map_or(NO_PLACE, |at| self.places.number(at));
                Label::Image(module, address.wrapping_sub(base), place)
            }
            None => Label::Address(address),
        }
    }

    /// The module that holds the address of an instruction that ran in a process now.
    #[cfg(feature = "cli")]
    pub fn module_at(&mut self, process_id: Option<u32>, address: u64) -> Option<&str> {
        // Without a process only the kernel is known, which all of them have.
        let space = process_id.or_else(|| is_kernel_frame(address, self.session).then_some(0))?;
        let label = self.label(space, address, true);
        self.module(label)
    }

    /// Distinct places in databases that frames have: index of the database, address relative to the image.
    pub fn places(&self) -> &[(u32, u32)] {
        self.places.things()
    }

    /// The database of a frame in an image, an index into [`Names::pdbs`].
    pub fn pdb(&self, label: Label) -> Option<u32> {
        let Label::Image(_, _, place) = label else { return None };
        self.places.get(place).map(|(pdb, _)| *pdb)
    }

    /// Where a frame lies in an image: its module's text, the database, the address relative to the image, and the function there.
    #[cfg(feature = "cli")]
    pub fn in_image(&self, label: Label) -> Option<(u32, Option<u32>, u32, Option<&str>)> {
        let Label::Image(module, offset, place) = label else { return None };
        match self.places.get(place) {
            Some((pdb, rva)) => Some((module, Some(*pdb), *rva, self.function(place))),
            None => Some((module, None, u32::try_from(offset).ok()?, None)),
        }
    }

    /// Takes the functions of a database, with lines and inlined functions where they were wanted; paths of files as `path` gives them.
    pub fn take_functions(&mut self, pdb: u32, functions: &Functions, path: impl Fn(&str) -> String) {
        let texts = &mut self.texts;
        for (number, (_, rva)) in (0u32..).zip(self.places.things()).filter(|(_, (of, _))| *of == pdb) {
            if let Some(name) = functions.names.get(rva) {
                self.functions.insert(number, texts.id(name));
            }
            if let Some(Source { line, inlined }) = functions.sources.get(rva) {
                let mut line_of = |line: &Option<SourceLine>| {
                    line.as_ref().map(|SourceLine { file, line }| (texts.id(&path(file)), *line))
                };
                let line = line_of(line);
                let lines: Vec<Option<Line>> = inlined.iter().map(|inlined| line_of(&inlined.line)).collect();
                let names = inlined.iter().map(|inlined| texts.id(&inlined.function));
                let inlined = names.zip(lines).collect();
                self.sources.insert(number, PlaceSource { line, inlined });
            }
        }
    }

    /// Puts the frames of inlined functions into all lists, inside of the frames that they were inlined into. Lists keep their numbers.
    pub fn inline(&mut self) {
        if self.sources.values().all(|source| source.inlined.is_empty()) {
            return;
        }
        let before = std::mem::replace(&mut self.labels, no_lists());
        let mut now: Vec<PathId> = Vec::with_capacity(before.nodes().len());
        let mut room = 1usize << 20;
        for node in before.nodes() {
            let outer = node.outer.and_then(|outer| now.get(outer.place()).copied());
            let label = before.frame(node.frame).unwrap_or(Label::NoStack);
            let mut list = self.labels.inside(outer, label);
            room = room.saturating_add(MOST_INLINED);
            if let Label::Image(module, _, place) = label
                && let Some(source) = self.sources.get(&place)
                && let Some(left) = room.checked_sub(source.inlined.len())
            {
                room = left;
                for depth in 0..source.inlined.len() as u32 {
                    list = self.labels.inside(Some(list), Label::Inlined(module, place, depth));
                }
            }
            now.push(list);
        }
        self.inlined_lists = now;
    }

    /// Name and line of an inlined function.
    fn inlined(&self, place: u32, depth: u32) -> Option<&(u32, Option<Line>)> {
        self.sources.get(&place)?.inlined.get(depth as usize)
    }

    /// The line of a frame: its file, and its number.
    fn line(&self, label: Label) -> Option<(&str, u32)> {
        let (file, line) = match label {
            Label::Image(_, _, place) => self.sources.get(&place)?.line?,
            Label::Inlined(_, place, depth) => self.inlined(place, depth)?.1?,
            _ => return None,
        };
        Some((self.texts.get(file), line))
    }

    /// True for a frame whose label says more than a viewer can find out by the address: an inlined function, or one with its line.
    #[cfg(feature = "cli")]
    pub fn has_source(&self, label: Label) -> bool {
        matches!(label, Label::Inlined(..)) || self.line(label).is_some()
    }

    fn function(&self, place: u32) -> Option<&str> {
        self.functions.get(&place).map(|text| self.texts.get(*text))
    }

    /// What a frame is counted as; `None` for [`Label::NoStack`].
    pub fn kind(&self, label: Label) -> Option<FrameKind> {
        match label {
            Label::Method(..) => Some(FrameKind::Method),
            Label::Image(_, _, place) if self.functions.contains_key(&place) => Some(FrameKind::Symbol),
            Label::Image(..) | Label::Folded(_) => Some(FrameKind::Module),
            Label::Address(_) => Some(FrameKind::Unknown),
            // No frame of the trace.
            Label::Inlined(..) | Label::NoStack => None,
        }
    }

    /// A label as people see it.
    pub fn text(&self, label: Label) -> String {
        let function = self.function_text(label);
        match self.line(label) {
            Some((file, line)) => format!("{function} ({file}:{line})"),
            None => function,
        }
    }

    /// True when patterns match its text, or that without its line.
    pub fn matches(&self, label: Label, wanted: &Patterns) -> bool {
        wanted.matches(&self.text(label)) || self.line(label).is_some() && wanted.matches(&self.function_text(label))
    }

    /// A label without its line.
    pub fn function_text(&self, label: Label) -> String {
        match label {
            Label::Inlined(module, place, depth) => {
                let name = self.inlined(place, depth).map_or("", |(name, _)| self.texts.get(*name));
                format!("{}!{name}", self.texts.get(module))
            }
            Label::Method(module, method) => format!("{}!{}", self.texts.get(module), self.texts.get(method)),
            Label::Image(module, offset, place) => match self.function(place) {
                Some(function) => format!("{}!{function}", self.texts.get(module)),
                None => format!("{}+0x{offset:x}", self.texts.get(module)),
            },
            Label::Folded(module) => self.texts.get(module).to_owned(),
            Label::Address(_) if self.hides_addresses => UNKNOWN_ADDRESS.to_owned(),
            Label::Address(address) => format!("0x{address:x}"),
            Label::NoStack => NO_STACK_TEXT.to_owned(),
        }
    }

    /// The names of a stack, innermost first, of its frames in this order. Where they are too long, the last is the number of outer
    /// frames that are left out.
    pub fn stack(&self, frames: impl IntoIterator<Item = Label>, text: impl Fn(Label) -> String) -> Vec<String> {
        let mut frames = frames.into_iter();
        let mut names: Vec<String> = Vec::new();
        let mut room = LONGEST_STACK;
        for frame in frames.by_ref() {
            let name = text(frame);
            let Some(rest) = room.checked_sub(name.len() + OF_NAME) else {
                names.extend(outer_frames(1 + frames.count() as u64));
                break;
            };
            room = rest;
            names.push(name);
        }
        names
    }

    /// The frame that stands for all frames of its module, where the module is one of these.
    fn folded_label(&self, label: Label, modules: &Patterns) -> Label {
        match label {
            Label::Method(module, _) | Label::Image(module, ..) | Label::Inlined(module, ..)
                if modules.matches(self.texts.get(module)) =>
            {
                Label::Folded(module)
            }
            other => other,
        }
    }

    /// Its module.
    pub fn module(&self, label: Label) -> Option<&str> {
        match label {
            Label::Method(module, _)
            | Label::Image(module, ..)
            | Label::Inlined(module, ..)
            | Label::Folded(module) => Some(self.texts.get(module)),
            Label::Address(_) | Label::NoStack => None,
        }
    }
}

/// No lists yet: only the frame of events without a stack, with the number [`NO_STACK`].
fn no_lists() -> FrameTrie<Label> {
    let mut lists = FrameTrie::default();
    lists.frame_number(Label::NoStack);
    lists
}

/// Of names with these lengths, innermost first: how many of a stack are written, and their bytes.
pub(super) fn kept(lengths: impl Iterator<Item = usize>) -> (usize, usize) {
    let (mut names, mut bytes, mut room) = (0, 0, LONGEST_STACK);
    for length in lengths {
        let Some(rest) = room.checked_sub(length + OF_NAME) else { break };
        (names, bytes, room) = (names + 1, bytes + length, rest);
    }
    (names, bytes)
}

/// What stands for outer frames of a stack that are left out.
pub(super) fn outer_frames(number: u64) -> Option<String> {
    (number > 0).then(|| format!("[{number} outer frames]"))
}
