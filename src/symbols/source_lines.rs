//! Source lines of places in the code, and the functions that are inlined there: from the debug records of the modules of a database.
//!
//! The crate `pdb2` reads both too, but wrong lengths of lines, and of names of streams, make it panic, and its tables of inlined functions begin with
//! as much memory as a number in the file says. So lines and paths are read here; symbols, annotations and names of functions by `pdb2`.
//! Layouts: `cvinfo.h` of Microsoft's `microsoft-pdb`.

use super::functions::{PROCEDURES, Place, Search, text};
use foldhash::HashMap as FastMap;
use pdb2::{BinaryAnnotation, FallibleIterator as _, IdData, RawString, SymbolData, TypeData};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes that are read from their begin.
struct Words<'b>(&'b [u8]);

impl<'b> Words<'b> {
    fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLine {
    /// Path, as the compiler wrote it.
    pub file: Arc<str>,
    /// Number, from 1.
    pub line: u32,
}

/// A function whose code was copied to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inlined {
    /// Its name.
    pub function: Arc<str>,
    /// Its line.
    pub line: Option<SourceLine>,
}

/// What the code at a place was compiled from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source {
    /// The line of the function that holds the place.
    pub line: Option<SourceLine>,
    /// Functions that are inlined there, the outermost one first: each is called by the one before.
    pub inlined: Vec<Inlined>,
}

/// Most functions inlined in each other.
const MOST_INLINED: usize = 64;

/// The name of an inlined function that the database does not name.
const NAMELESS: &str = "[inlined]";

/// What is looked for beside functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceChoice {
    /// Lines.
    pub lines: bool,
    /// Inlined functions.
    pub inlined: bool,
}

impl SourceChoice {
    /// True when something is.
    pub const fn any(self) -> bool {
        self.lines || self.inlined
    }
}

/// A line by the numbers that it has in the file: of its file in the list of the module.
type RawLine = (u32, u32);

/// Sources as modules tell them.
pub(super) struct Sources<'s> {
    search: &'s Search,
    /// The table of strings, with the paths of files.
    strings: &'s [u8],
    choice: SourceChoice,
    found: BTreeMap<Place, (Source, Vec<u32>)>,
    files: FastMap<u32, Arc<str>>,
    /// How often records may still hold places: each place is held by one line, and by a few inlined functions in each other.
    left: u64,
}

/// The debug records of a module, without its symbols.
#[derive(Default)]
struct Records<'m> {
    lines: Vec<&'m [u8]>,
    inlinees: FastMap<u32, RawLine>,
    checksums: &'m [u8],
}

impl<'m> Records<'m> {
    fn read(bytes: &'m [u8]) -> Records<'m> {
        const INLINEE_LINES: u32 = 0xf6;
        const LINES: u32 = 0xf2;
        const CHECKSUMS: u32 = 0xf4;
        let mut records = Records::default();
        let mut rest = Words(bytes);
        while let (Some(kind), Some(length)) = (rest.u32(), rest.u32())
            && let Some(data) = rest.take(length as usize)
        {
            match kind {
                LINES => records.lines.push(data),
                CHECKSUMS => records.checksums = data,
                INLINEE_LINES => records.inlinees(data),
                _ => {}
            }
        }
        records
    }

    fn inlinees(&mut self, data: &[u8]) {
        let mut rest = Words(data);
        let has_more_files = rest.u32() == Some(1);
        while let (Some(id), Some(file), Some(line)) = (rest.u32(), rest.u32(), rest.u32()) {
            self.inlinees.insert(id, (file, line));
            if has_more_files && rest.u32().and_then(|files| rest.take(4usize.saturating_mul(files as usize))).is_none()
            {
                break;
            }
        }
    }

    /// Where the name of a file is in the table of strings.
    fn name_of_file(&self, file: u32) -> Option<u32> {
        Words(self.checksums.get(file as usize..)?).u32()
    }
}

impl<'s> Sources<'s> {
    pub fn new(search: &'s Search, strings: &'s [u8], choice: SourceChoice) -> Sources<'s> {
        let left = 1_000_000 + 100 * search.places().len() as u64;
        Sources { search, strings, choice, found: BTreeMap::new(), files: FastMap::default(), left }
    }

    /// Reads a module that has some of the procedures: its symbols, and its records of lines. False when the records overlap so much that
    /// no compiler wrote them.
    pub fn module(&mut self, number: u32, info: &pdb2::ModuleInfo<'_>, lines: &[u8]) -> pdb2::Result<bool> {
        let records = Records::read(lines);
        let mut held = true;
        if self.choice.lines {
            held = records.lines.iter().all(|data| self.lines(number, data, &records).is_some());
        }
        Ok(held && (!self.choice.inlined || self.inlined(number, info, &records)?))
    }

    fn held(&mut self, times: usize) -> Option<()> {
        self.left = self.left.checked_sub(times as u64)?;
        Some(())
    }

    /// Places in a part of a section whose procedure (its start, its module) is one of these.
    fn places(&self, from: Place, end: u32, is_wanted: impl Fn((u32, u32)) -> bool) -> Vec<Place> {
        let inside = self.search.places_in(from, end);
        let is_wanted = |at: &usize| self.search.procedure_of(*at).is_some_and(&is_wanted);
        inside.filter(is_wanted).filter_map(|at| self.search.places().get(at).copied()).collect()
    }

    fn file(&mut self, records: &Records<'_>, (file, line): RawLine) -> Option<SourceLine> {
        let name = records.name_of_file(file)?;
        let file = match self.files.get(&name) {
            Some(known) => Arc::clone(known),
            None => {
                let file: Arc<str> = text(string(self.strings, name)?).into();
                self.files.insert(name, Arc::clone(&file));
                file
            }
        };
        Some(SourceLine { file, line })
    }

    /// Lines of one contribution to a section.
    fn lines(&mut self, module: u32, data: &[u8], records: &Records<'_>) -> Option<()> {
        const HAS_COLUMNS: u16 = 1;
        let mut rest = Words(data);
        let (Some(start), Some(section), Some(flags), Some(length)) = (rest.u32(), rest.u16(), rest.u16(), rest.u32())
        else {
            return Some(());
        };
        let end = start.saturating_add(length);
        let is_own = |procedure: (u32, u32)| procedure.1 == module;
        let wanted = self.places((section, start), end, is_own);
        self.held(wanted.len())?;
        if wanted.is_empty() {
            return Some(());
        }
        let mut entries: Vec<(u32, RawLine)> = Vec::new();
        while let (Some(file), Some(count), Some(_)) = (rest.u32(), rest.u32(), rest.u32())
            && let Some(of_lines) = rest.take(8usize.saturating_mul(count as usize))
        {
            let mut of_lines = Words(of_lines);
            while let (Some(offset), Some(line)) = (of_lines.u32(), of_lines.u32()) {
                entries.push((offset, (file, line & 0xff_ffff)));
            }
            let columns = if flags & HAS_COLUMNS == 0 { 0 } else { 4usize.saturating_mul(count as usize) };
            if rest.take(columns).is_none() {
                break;
            }
        }
        entries.sort_by_key(|(offset, _)| *offset);
        for place in wanted {
            let after = entries.partition_point(|(offset, _)| *offset <= place.1.saturating_sub(start));
            let entry = after.checked_sub(1).and_then(|last| entries.get(last)).map(|(_, line)| *line);
            let line = entry.filter(|(_, line)| !is_hidden(*line)).and_then(|line| self.file(records, line));
            let source = &mut self.found.entry(place).or_default().0;
            source.line = source.line.take().or(line);
        }
        Some(())
    }

    /// Inlined functions of the procedures of a module.
    fn inlined(&mut self, module: u32, info: &pdb2::ModuleInfo<'_>, records: &Records<'_>) -> pdb2::Result<bool> {
        const END_OF_INLINED: u16 = 0x114e;
        const INLINED: [u16; 2] = [0x114d, 0x115d];
        let mut symbols = info.symbols()?;
        // Places in the current procedure, and its start.
        let (mut places, mut start, mut depth): (Vec<Place>, Place, usize) = (Vec::new(), (0, 0), 0);
        while let Some(symbol) = symbols.next()? {
            let kind = symbol.raw_kind();
            if PROCEDURES.contains(&kind) {
                (places, depth) = (Vec::new(), 0);
                if let Ok(SymbolData::Procedure(found)) = symbol.parse() {
                    start = (found.offset.section, found.offset.offset);
                    places = self
                        .places(start, start.1.saturating_add(found.len), |procedure| procedure == (start.1, module));
                    if self.held(places.len()).is_none() {
                        return Ok(false);
                    }
                }
            } else if INLINED.contains(&kind) {
                if !places.is_empty()
                    && depth < MOST_INLINED
                    && let Ok(SymbolData::InlineSite(site)) = symbol.parse()
                    && self.site(&site, (start, &places, depth), records).is_none()
                {
                    return Ok(false);
                }
                depth += 1;
            } else if kind == END_OF_INLINED {
                depth = depth.saturating_sub(1);
            }
        }
        Ok(true)
    }

    /// One inlined function: which of the places it holds, and at which of its lines.
    fn site(
        &mut self,
        site: &pdb2::InlineSiteSymbol<'_>,
        (start, places, depth): (Place, &[Place], usize),
        records: &Records<'_>,
    ) -> Option<()> {
        let begin = records.inlinees.get(&site.inlinee.0).copied().unwrap_or_default();
        for range in ranges(site, start.1, begin) {
            let from = places.partition_point(|place| place.1 < range.begin);
            let to = places.partition_point(|place| place.1 < range.end);
            let inside = places.get(from..to).unwrap_or_default();
            self.held(inside.len())?;
            for place in inside {
                let line = (self.choice.lines && range.line.1 != 0).then(|| self.file(records, range.line)).flatten();
                let (source, ids) = self.found.entry(*place).or_default();
                if source.inlined.len() == depth {
                    source.inlined.push(Inlined { function: NAMELESS.into(), line });
                    ids.push(site.inlinee.0);
                }
            }
        }
        Some(())
    }

    /// Ids of all inlined functions.
    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.found.values().flat_map(|(_, ids)| ids).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What was found, with these names of inlined functions.
    pub fn finish(self, names: &FastMap<u32, Arc<str>>) -> FastMap<Place, Source> {
        let named = |(place, (mut source, ids)): (Place, (Source, Vec<u32>))| {
            for (inlined, id) in source.inlined.iter_mut().zip(ids) {
                names.get(&id).into_iter().for_each(|name| inlined.function = Arc::clone(name));
            }
            (place, source)
        };
        self.found.into_iter().map(named).collect()
    }
}

/// The number of the stream with the table of strings, by the names of streams in the first one.
pub(super) fn stream_of_strings(information: &[u8]) -> Option<u16> {
    const HEAD: usize = 28;
    let mut rest = Words(information.get(HEAD..)?);
    let length = rest.u32()?;
    let names = rest.take(length as usize)?;
    let (count, _) = (rest.u32()?, rest.u32()?);
    for _ in 0..2 {
        let words = rest.u32()?;
        rest.take(4usize.saturating_mul(words as usize))?;
    }
    for _ in 0..count {
        let (offset, stream) = (rest.u32()?, rest.u32()?);
        if names.get(offset as usize..).is_some_and(|name| name.starts_with(b"/names\0")) {
            return u16::try_from(stream).ok();
        }
    }
    None
}

/// A text of the table of strings.
fn string(table: &[u8], at: u32) -> Option<&[u8]> {
    const HEAD: usize = 8;
    let mut rest = Words(table.get(HEAD..)?);
    let length = rest.u32()?;
    rest.take(length as usize)?.get(at as usize..)?.split(|byte| *byte == 0).next()
}

/// Numbers that stand for code that no line wrote.
fn is_hidden(line: u32) -> bool {
    matches!(line, 0 | 0xfe_efee | 0xf0_0f00)
}

/// Code of an inlined function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    begin: u32,
    end: u32,
    line: RawLine,
}

/// The code of an inlined function, from its annotations: steps from one line to the next.
fn ranges(site: &pdb2::InlineSiteSymbol<'_>, start: u32, (mut file, first): RawLine) -> Vec<Range> {
    let (mut base, mut offset, mut line) = (0u32, 0u32, first);
    let mut all: Vec<Range> = Vec::new();
    // True where the last range has no length yet: it reaches to the next.
    let mut is_open = false;
    let mut annotations = site.annotations.iter();
    while let Ok(Some(annotation)) = annotations.next() {
        let mut length = None;
        match annotation {
            BinaryAnnotation::CodeOffset(to) => offset = to,
            BinaryAnnotation::ChangeCodeOffsetBase(to) => base = to,
            BinaryAnnotation::ChangeCodeOffset(by) => offset = offset.wrapping_add(by),
            BinaryAnnotation::ChangeCodeLength(by) => {
                if let Some(last) = all.last_mut().filter(|_| is_open) {
                    last.end = last.begin.saturating_add(by);
                }
                is_open = false;
                offset = offset.wrapping_add(by);
            }
            BinaryAnnotation::ChangeFile(to) => file = to.0,
            BinaryAnnotation::ChangeLineOffset(by) => line = line.wrapping_add_signed(by),
            BinaryAnnotation::ChangeCodeOffsetAndLineOffset(by, lines) => {
                (offset, line) = (offset.wrapping_add(by), line.wrapping_add_signed(lines));
            }
            BinaryAnnotation::ChangeCodeLengthAndCodeOffset(of, by) => {
                (length, offset) = (Some(of), offset.wrapping_add(by));
            }
            _ => {}
        }
        if annotation.emits_line_info() {
            let begin = start.wrapping_add(base).wrapping_add(offset);
            if let Some(last) = all.last_mut().filter(|_| is_open) {
                last.end = begin.max(last.begin);
            }
            all.push(Range { begin, end: begin.saturating_add(length.unwrap_or(0)), line: (file, line) });
            is_open = length.is_none();
        }
    }
    all
}

/// The id of an inlined function, its name, and the id of its namespace or the type of its class.
type InlinedName = (u32, Box<str>, Option<u32>, Option<u32>);

/// The names of inlined functions, with their classes and namespaces: each stream is walked through, and nothing else is kept of it.
pub(super) fn names_of<S: pdb2::Source<'static> + 'static>(
    pdb: &mut pdb2::PDB<'static, S>,
    wanted: &[u32],
) -> pdb2::Result<FastMap<u32, Arc<str>>> {
    let ids = pdb.id_information()?;
    let mut functions: Vec<InlinedName> = Vec::new();
    let mut all = ids.iter();
    while let Some(id) = all.next()? {
        if wanted.binary_search(&id.index().0).is_err() {
            continue;
        }
        let number = id.index().0;
        match id.parse() {
            Ok(IdData::Function(found)) => {
                functions.push((number, text(found.name.as_bytes()), found.scope.map(|scope| scope.0), None));
            }
            Ok(IdData::MemberFunction(found)) => {
                functions.push((number, text(found.name.as_bytes()), None, Some(found.parent.0)));
            }
            _ => {}
        }
    }
    let scopes: BTreeSet<u32> = functions.iter().filter_map(|function| function.2).collect();
    let classes: BTreeSet<u32> = functions.iter().filter_map(|function| function.3).collect();
    let (mut scope_names, mut class_names): (FastMap<u32, Box<str>>, FastMap<u32, Box<str>>) = Default::default();
    let mut all = ids.iter();
    while let Some(id) = if scopes.is_empty() { None } else { all.next()? } {
        if scopes.contains(&id.index().0)
            && let Ok(IdData::String(found)) = id.parse()
        {
            scope_names.insert(id.index().0, text(found.name.as_bytes()));
        }
    }
    let types = pdb.type_information()?;
    let mut all = types.iter();
    while let Some(of_type) = if classes.is_empty() { None } else { all.next()? } {
        if classes.contains(&of_type.index().0)
            && let Some(name) = of_type.parse().ok().as_ref().and_then(name_of_class)
        {
            class_names.insert(of_type.index().0, text(name.as_bytes()));
        }
    }
    let name = |(id, name, scope, class): InlinedName| {
        let outer = scope.and_then(|id| scope_names.get(&id)).or_else(|| class.and_then(|id| class_names.get(&id)));
        let whole = outer.map_or_else(|| name.to_string(), |outer| format!("{outer}::{name}"));
        (id, text(whole.as_bytes()).into())
    };
    Ok(functions.into_iter().map(name).collect())
}

fn name_of_class<'t>(data: &TypeData<'t>) -> Option<RawString<'t>> {
    match data {
        TypeData::Class(class) => Some(class.name),
        TypeData::Union(union) => Some(union.name),
        TypeData::Enumeration(enumeration) => Some(enumeration.name),
        _ => None,
    }
}
