//! What images and methods are called, by their records and those of modules and databases.

use super::code_lifetimes::Life;
use super::text_interner::Texts;
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::moment::At;
use crate::symbols::PdbId;
use foldhash::HashMap as FastMap;
use std::borrow::Cow;

/// Most characters of the name of a file in Windows. Each frame in a module repeats its name, and a frame has eight bytes.
const LONGEST_FILE_NAME: usize = 255;

/// The name of a module as frames have it: what is no possible name is cut.
pub fn name_of_file(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_FILE_NAME) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()).into(),
        None => name.into(),
    }
}

/// Distinct databases, and which of them each image has.
pub fn databases(records: &[At<AddressRecord>], lives: &[Life]) -> (Vec<PdbId>, FastMap<u32, u32>) {
    let (mut pdbs, mut of_life) = (Vec::new(), FastMap::default());
    let mut numbers: FastMap<&PdbId, u32> = FastMap::default();
    for (number, life) in (0u32..).zip(lives) {
        let record = life.pdb.and_then(|record| records.get(record as usize));
        if let Some(AddressRecord::Pdb { id, .. }) = record.map(|record| &record.value) {
            let pdb = *numbers.entry(id).or_insert_with(|| {
                pdbs.push(id.clone());
                pdbs.len() as u32 - 1
            });
            of_life.insert(number, pdb);
        }
    }
    (pdbs, of_life)
}

/// The module of each method, by the records of the same process until its id is used again, whenever they come.
pub fn modules(records: &[At<AddressRecord>], lives: &[Life], texts: &mut Texts) -> FastMap<u32, u32> {
    let mut starts: FastMap<u32, u32> = FastMap::default();
    let mut names: FastMap<(u32, u32, u64), u32> = FastMap::default();
    let mut methods: FastMap<u32, (u32, u32, u64)> = FastMap::default();
    for (number, record) in (0u32..).zip(records) {
        let start = |id: &u32| starts.get(id).copied().unwrap_or(0);
        match &record.value {
            AddressRecord::ProcessStart(id) => *starts.entry(*id).or_default() += 1,
            AddressRecord::Module { process_id, module_id, name } if !name.is_empty() => {
                let name = texts.id(&name_of_file(name));
                names.entry((*process_id, start(process_id), *module_id)).or_insert(name);
            }
            AddressRecord::Method { process_id, module_id, .. } => {
                methods.insert(number, (*process_id, start(process_id), *module_id));
            }
            _ => {}
        }
    }
    let of_life = |(number, life): (u32, &Life)| {
        let name = methods.get(&life.record).and_then(|key| names.get(key))?;
        Some((number, *name))
    };
    (0u32..).zip(lives).filter_map(of_life).collect()
}
