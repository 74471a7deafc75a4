//! A database: whether it is the one that an image was linked with, and the functions at addresses of the image.

use super::PdbId;
use super::bounded_bytes::{Bytes, Shared, is_used_up};
use super::functions::{PROCEDURES, Place, Search};
use super::source_lines::{Source, SourceChoice, Sources, names_of, stream_of_strings};
use super::undecorated;
use foldhash::HashMap as FastMap;
use pdb2::{DebugInformation, FallibleIterator as _, MachineType, PDB, Rva, SymbolData};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;
use uuid::Uuid;

/// Why a file is not the database that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Other bytes.
    #[error("it is no PDB")]
    NoPdb,
    /// The compressed form of newer symbol servers.
    #[error("it is compressed (MSFZ), which is not read")]
    Compressed,
    /// What the reader says.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// It is the database of another image.
    #[error("its GUID is {0}")]
    Guid(Uuid),
    /// Of the same link, but before or after a later change.
    #[error("its age is {0:X}")]
    Age(u32),
}

impl Unfit {
    fn of(error: pdb2::Error) -> Unfit {
        match error {
            pdb2::Error::UnrecognizedFileFormat => Unfit::NoPdb,
            other => Unfit::Damaged(other.to_string()),
        }
    }
}

/// The first bytes of a compressed database.
const MSFZ: &[u8] = b"Microsoft MSFZ Container";

/// Sum of the numbers of the streams that are opened. The reader walks through the sizes of all streams before the one that it opens,
/// so a file with many modules takes time by the square of their number. 30,000 modules, a large program, come to 500 million.
const MOST_STREAM_STEPS: u64 = 2_000_000_000;

/// A database.
pub struct Database {
    pdb: PDB<'static, Bytes>,
    information: DebugInformation<'static>,
    guid: Uuid,
}

/// Functions of a database.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// By address relative to the image.
    pub names: FastMap<u32, Arc<str>>,
    /// Lines and inlined functions, by the same addresses, where they were wanted.
    pub sources: FastMap<u32, Source>,
    /// What could not be read.
    pub damage: Option<String>,
}

impl Database {
    /// The database in these bytes.
    ///
    /// # Errors
    /// Why it is none that can be read.
    pub fn open(bytes: Shared) -> Result<Database, Unfit> {
        if (*bytes).as_ref().starts_with(MSFZ) {
            return Err(Unfit::Compressed);
        }
        let mut pdb = PDB::open(Bytes::new(bytes)).map_err(Unfit::of)?;
        let guid = pdb.pdb_information().map_err(Unfit::of)?.guid;
        let information = pdb.debug_information().map_err(Unfit::of)?;
        Ok(Database { pdb, information, guid })
    }

    /// # Errors
    /// That it is not the one that was asked for.
    pub fn fits(&self, wanted: &PdbId) -> Result<(), Unfit> {
        if self.guid != wanted.guid {
            return Err(Unfit::Guid(self.guid));
        }
        match self.information.age() {
            // None: an old one that has no age there.
            Some(age) if age != wanted.age => Err(Unfit::Age(age)),
            _ => Ok(()),
        }
    }

    /// The functions that hold these addresses, which are relative to the image.
    pub fn functions(&mut self, addresses: &[u32], choice: SourceChoice) -> Functions {
        let places = match self.places(addresses) {
            Ok(places) => places,
            Err(error) => return Functions { damage: Some(error.to_string()), ..Functions::default() },
        };
        let mut search = Search::new(places.iter().map(|(_, place)| *place).collect());
        let mut steps = MOST_STREAM_STEPS;
        let damage = [self.procedures(&mut search, &mut steps), self.publics(&mut search)];
        let (sources, of_sources) = match choice.any() {
            true => self.sources(&search, choice, &mut steps),
            false => (FastMap::default(), Ok(())),
        };
        let is_x86 = matches!(self.information.machine_type(), Ok(MachineType::X86));
        let found: Vec<_> = search.finish().into_iter().filter_map(|(place, found)| Some((place, found?))).collect();
        let names: FastMap<Place, Arc<str>> = undecorated::names(found, is_x86).into_iter().collect();
        let named = |(address, place): &(u32, Place)| Some((*address, Arc::clone(names.get(place)?)));
        let with_source = |(address, place): &(u32, Place)| Some((*address, sources.get(place)?.clone()));
        Functions {
            names: places.iter().filter_map(named).collect(),
            sources: places.iter().filter_map(with_source).collect(),
            damage: damage.into_iter().chain([of_sources]).find_map(Result::err),
        }
    }

    /// Where in sections of the image the addresses are, before the code was moved by later optimizing.
    fn places(&mut self, addresses: &[u32]) -> pdb2::Result<Vec<(u32, Place)>> {
        if !self.has_plain_section_map() {
            return Err(pdb2::Error::UnimplementedFeature("a section map with moved sections"));
        }
        let map = self.pdb.address_map()?;
        let place = |address: &u32| {
            let offset = Rva(*address).to_internal_offset(&map)?;
            Some((*address, (offset.section, offset.offset)))
        };
        Ok(addresses.iter().filter_map(place).collect())
    }

    /// False for a section map that the reader would complain about on standard error, or add up beyond 32 bits. It uses the map
    /// where the headers of sections are missing.
    fn has_plain_section_map(&self) -> bool {
        let Ok(mut map) = self.information.section_map() else { return true };
        let mut end = 0x1000u32;
        while let Ok(Some(item)) = map.next() {
            let is_section =
                item.section_type == pdb2::DBISectionMapItemSectionType::Sel as u8 && item.section_length != u32::MAX;
            match end.checked_add(item.section_length).filter(|_| item.rva_offset == 0) {
                Some(next) if is_section => end = next,
                None if is_section => return false,
                _ => {}
            }
        }
        true
    }

    /// The procedures of all modules. What cannot be read of one does not end the others.
    fn procedures(&mut self, search: &mut Search, steps: &mut u64) -> Result<(), String> {
        let mut damage = Ok(());
        let mut modules = self.information.modules().map_err(|error| error.to_string())?;
        while let Some(module) = modules.next().map_err(|error| error.to_string())? {
            walk_to(&module, steps)?;
            search.module += 1;
            match self.pdb.module_info(&module).and_then(|info| match info {
                Some(info) => of_module(&info, search),
                None => Ok(true),
            }) {
                Ok(true) => {}
                Ok(false) => return Err("its procedures overlap".to_owned()),
                Err(error) if is_used_up(&error) => return Err(error.to_string()),
                Err(error) => damage = damage.and(Err(error.to_string())),
            }
        }
        damage
    }

    /// Lines and inlined functions of the places, from the modules that have their procedures.
    fn sources(
        &mut self,
        search: &Search,
        choice: SourceChoice,
        steps: &mut u64,
    ) -> (FastMap<Place, Source>, Result<(), String>) {
        let strings = self.strings();
        let mut sources = Sources::new(search, strings.as_deref().unwrap_or_default(), choice);
        let mut damage = self.of_modules(&mut sources, search, steps);
        let ids = sources.ids();
        let names = match ids.is_empty() {
            true => FastMap::default(),
            false => names_of(&mut self.pdb, &ids).unwrap_or_else(|error| {
                damage = damage.clone().and(Err(error.to_string()));
                FastMap::default()
            }),
        };
        (sources.finish(&names), damage)
    }

    /// The table of strings; `None` where it is not found.
    fn strings(&mut self) -> Option<impl Deref<Target = [u8]> + use<>> {
        const INFORMATION: pdb2::StreamIndex = pdb2::StreamIndex(1);
        let information = self.pdb.raw_stream(INFORMATION).ok()??;
        self.pdb.raw_stream(pdb2::StreamIndex(stream_of_strings(&information)?)).ok()?
    }

    fn of_modules(&mut self, sources: &mut Sources<'_>, search: &Search, steps: &mut u64) -> Result<(), String> {
        let wanted: BTreeSet<u32> =
            (0..search.places().len()).filter_map(|at| Some(search.procedure_of(at)?.1)).collect();
        let mut damage = Ok(());
        let mut number = 0;
        let mut modules = self.information.modules().map_err(|error| error.to_string())?;
        while let Some(module) = modules.next().map_err(|error| error.to_string())? {
            number += 1;
            if !wanted.contains(&number) {
                continue;
            }
            walk_to(&module, steps)?;
            walk_to(&module, steps)?;
            let info = module.info();
            let begin = (info.symbols_size as usize).saturating_add(info.lines_size as usize);
            let end = begin.saturating_add(info.c13_lines_size as usize);
            let read = self.pdb.module_info(&module).and_then(|symbols| {
                let (Some(symbols), Some(stream)) = (symbols, self.pdb.raw_stream(info.stream)?) else {
                    return Ok(true);
                };
                sources.module(number, &symbols, stream.get(begin..end).unwrap_or_default())
            });
            match read {
                Ok(true) => {}
                Ok(false) => return Err("its lines overlap".to_owned()),
                Err(error) if is_used_up(&error) => return Err(error.to_string()),
                Err(error) => damage = damage.and(Err(error.to_string())),
            }
        }
        damage
    }

    fn publics(&mut self, search: &mut Search) -> Result<(), String> {
        let symbols = match self.pdb.global_symbols() {
            Ok(symbols) => symbols,
            Err(pdb2::Error::GlobalSymbolsNotFound) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let mut all = symbols.iter();
        while let Some(symbol) = all.next().map_err(|error| error.to_string())? {
            const S_PUB32: u16 = 0x110e;
            if symbol.raw_kind() == S_PUB32
                && let Ok(SymbolData::Public(public)) = symbol.parse()
            {
                let place = (public.offset.section, public.offset.offset);
                search.public(place, public.function, public.name.as_bytes());
            }
        }
        Ok(())
    }
}

/// Counts the way to the stream of a module.
fn walk_to(module: &pdb2::Module<'_>, steps: &mut u64) -> Result<(), String> {
    *steps = steps.checked_sub(module.info().stream.0.into()).ok_or("too many modules")?;
    Ok(())
}

/// Functions of the database in these bytes, by address relative to its image, whatever image that is; and what could not be read.
///
/// # Errors
/// Why it cannot be read.
pub fn functions_of(bytes: Vec<u8>, addresses: &[u32]) -> Result<(BTreeMap<u32, String>, Option<String>), String> {
    let mut database = Database::open(Arc::new(bytes)).map_err(|unfit| unfit.to_string())?;
    let found = database.functions(addresses, SourceChoice { lines: true, inlined: true });
    Ok((found.names.into_iter().map(|(address, name)| (address, name.as_ref().to_owned())).collect(), found.damage))
}

/// Lines and inlined functions of the database in these bytes, by address relative to its image.
///
/// # Errors
/// Why it cannot be read.
pub fn sources_of(bytes: Vec<u8>, addresses: &[u32]) -> Result<BTreeMap<u32, Source>, String> {
    let mut database = Database::open(Arc::new(bytes)).map_err(|unfit| unfit.to_string())?;
    Ok(database.functions(addresses, SourceChoice { lines: true, inlined: true }).sources.into_iter().collect())
}

fn of_module(module: &pdb2::ModuleInfo<'_>, search: &mut Search) -> pdb2::Result<bool> {
    let mut symbols = module.symbols()?;
    while let Some(symbol) = symbols.next()? {
        if PROCEDURES.contains(&symbol.raw_kind())
            && let Ok(SymbolData::Procedure(procedure)) = symbol.parse()
            && !search.procedure(
                (procedure.offset.section, procedure.offset.offset),
                procedure.len,
                procedure.name.as_bytes(),
            )
        {
            return Ok(false);
        }
    }
    Ok(true)
}
