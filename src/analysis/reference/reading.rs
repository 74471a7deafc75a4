//! How the trace's owner keys are read: as the event version says, unless that names almost no process and another
//! reading names most.

use crate::etl::EtlFile;
use crate::event::page::{PageIdentity, PageUse};
use crate::model::owner::{KeyReading, key_bits};
use crate::model::process::Processes;
use crate::units::PointerSize;
use foldhash::HashSet as FastSet;

/// Buffers that are looked at, spread over the trace, and keys that suffice.
const BUFFERS: usize = 256;
const KEYS: u64 = 4096;

/// The reading and the pointer size of the page accesses.
pub fn reading_of(etl: &EtlFile, processes: &Processes) -> (KeyReading, PointerSize) {
    let (mut keys, mut first): (Vec<u64>, Option<(u8, PointerSize)>) = (Vec::new(), None);
    let mut scratch = Vec::new();
    for index in (0..etl.buffers.len()).step_by(etl.buffers.len().div_ceil(BUFFERS).max(1)) {
        let area = etl.area(index, &mut scratch);
        for raw in area.records() {
            if !raw.hook().is_some_and(|hook| matches!(hook.0, 0x0275..=0x0277)) {
                continue;
            }
            let pointer = raw.header.pointer();
            let page = raw.kernel_payload().and_then(|payload| PageIdentity::read(payload, pointer));
            let Some(page) = page else { continue };
            first.get_or_insert((raw.kernel_version(), pointer));
            let Some(page) = Some(page).filter(|page| page.page_use() == PageUse::ProcessPrivate && page.key() != 0)
            else {
                continue;
            };
            keys.push(page.key());
        }
        if keys.len() as u64 >= KEYS {
            break;
        }
    }
    let (version, pointer) = first.unwrap_or((2, PointerSize::P8));
    let own = KeyReading::of_version(version);
    let hits = KeyReading::ALL.map(|reading| {
        let known: FastSet<u64> = (processes.instances.iter())
            .filter_map(|process| match reading {
                KeyReading::ProcessId => Some(u64::from(process.process_id)),
                KeyReading::ProcessKey => Some(key_bits(process.key, pointer)),
                KeyReading::DirectoryBase => process.directory_table_base.map(|base| base >> 12),
            })
            .collect();
        (keys.iter().filter(|key| known.contains(key)).count(), reading)
    });
    let of_own = hits.iter().find(|hit| hit.1 == own).map_or(0, |hit| hit.0);
    let (most, best) = hits.into_iter().max_by_key(|&(count, reading)| (count, reading == own)).unwrap_or((0, own));
    // "Fits almost none" is less than a tenth; a better reading must fit most.
    let better = of_own * 10 < keys.len() && most * 2 > keys.len();
    (if better { best } else { own }, pointer)
}
