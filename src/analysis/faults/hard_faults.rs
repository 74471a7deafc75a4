//! Hard faults: whose they were, what they read, and what of it had been read before.

use super::file_key_names::KeyNames;
use super::labels::Named;
use super::query::HardKind;
use super::read_before::Coverage;
use crate::analysis::stacks::AddressSpaces;
use crate::load::fault_records::FaultRecords;
use crate::load::stacks::image_and_method_records::AddressRecord;
use crate::load::stacks::kernel_or_user::is_kernel_frame;
use crate::load::stacks::stack_events::Owner;
use crate::moment::{At, Moment};
use crate::units::{PointerSize, Ticks};
use foldhash::HashMap as FastMap;

/// A hard fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hard {
    /// When it began; `None` where that cannot be true.
    pub begin: Option<Ticks>,
    /// When it ended: its record.
    pub end: Moment,
    /// Where they begin in the file.
    pub offset: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Those of them that earlier faults of the file had read.
    pub bytes_again: u64,
    /// Thread that waited.
    pub thread_id: u32,
    /// Its process, a text.
    pub process: u32,
    /// The file, a text.
    pub file: u32,
    /// What it read.
    pub kind: HardKind,
    /// Image that holds the address, a text.
    pub module: Option<u32>,
}

impl Hard {
    /// How long the thread waited, in ticks; `None` where the begin is not known.
    pub fn waited(&self) -> Option<u64> {
        self.begin.map(|begin| self.end.time.0.abs_diff(begin.0))
    }
}

/// Waits of threads that lie in other waits of the same thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overlaps {
    /// How many faults begin before the one before them has ended.
    pub faults: u64,
    /// All whose begin is known.
    pub of: u64,
    /// Ticks that count more than once.
    pub twice: u128,
    /// Ticks in which threads waited.
    pub waited: u128,
}

impl Overlaps {
    /// Of all faults, in the order of their ends.
    pub fn new(all: &[Hard]) -> Overlaps {
        let known = all.iter().filter_map(|hard| Some((hard.thread_id, hard.begin?, hard.end.time)));
        let mut spans: Vec<(u32, Ticks, Ticks)> = known.collect();
        spans.sort_unstable();
        let mut overlaps = Overlaps { of: spans.len() as u64, ..Overlaps::default() };
        let mut last: Option<(u32, Ticks)> = None;
        for (thread, begin, end) in spans {
            let until = last.filter(|(of, _)| *of == thread).map_or(begin, |(_, until)| until);
            let twice = end.min(until).0.saturating_sub(begin.0).max(0).unsigned_abs();
            overlaps.faults += u64::from(twice > 0);
            overlaps.twice += u128::from(twice);
            overlaps.waited += u128::from(end.0.abs_diff(begin.0) - twice);
            last = Some((thread, end.max(until)));
        }
        overlaps
    }
}

/// All hard faults, in the order of their ends.
pub fn hard_faults(
    records: &FaultRecords,
    named: &mut Named<'_>,
    files: &KeyNames,
    session: PointerSize,
    first: Ticks,
) -> Vec<Hard> {
    let (mut images, mut views) = (AddressSpaces::new(&records.images), AddressSpaces::new(&records.views));
    let mut all: Vec<Hard> = Vec::with_capacity(records.hard.len());
    for At { moment, value } in &records.hard {
        images.go_to(moment.time);
        views.go_to(moment.time);
        let begin = Some(value.initial_time).filter(|begin| (first..=moment.time).contains(begin));
        let issued = begin.map_or(*moment, Moment::end_of);
        let process_id = named.owners.process_of(Owner::Thread(value.thread_id), issued);
        let is_kernel = is_kernel_frame(value.virtual_address, session);
        let space = if is_kernel { Some(0) } else { process_id };
        let image = space.and_then(|space| record_at(&images, space, value.virtual_address));
        let view = process_id.filter(|_| !is_kernel).and_then(|id| record_at(&views, id, value.virtual_address));
        let module = image.and_then(|record| match &records.images.get(record)?.value {
            AddressRecord::Image { name, .. } => Some(named.texts.id(name)),
            _ => None,
        });
        let of_view = view.and_then(|record| HardKind::of_view((*records.view_kinds.get(record)?)?));
        let file = named.file(files, value.file_key, *moment);
        let kind = match () {
            () if is_page_file(named.texts.get(file)) => HardKind::PageFile,
            () if image.is_some() => HardKind::Image,
            () => of_view.unwrap_or(if is_kernel { HardKind::Cache } else { HardKind::Unknown }),
        };
        all.push(Hard {
            begin,
            end: *moment,
            offset: value.read_offset,
            bytes: value.byte_count.into(),
            bytes_again: 0,
            thread_id: value.thread_id,
            process: named.process(process_id, issued),
            file,
            kind,
            module,
        });
    }
    read_again(&mut all);
    all
}

/// The number of the record of the image or view that holds an address now.
fn record_at(spaces: &AddressSpaces, process_id: u32, address: u64) -> Option<usize> {
    spaces.image(process_id, address).map(|(_, life)| life.record as usize)
}

pub fn is_page_file(file: &str) -> bool {
    let file = file.to_ascii_lowercase();
    file.ends_with(r"\pagefile.sys") || file.ends_with(r"\swapfile.sys")
}

/// Counts what faults of the same file, which had ended when a fault began, had read before. Waits of several threads for one
/// page in flight are faults too, and read nothing again.
fn read_again(all: &mut [Hard]) {
    let ranges: Vec<(u64, u64)> = all.iter().map(|hard| (hard.offset, hard.bytes)).collect();
    let range = |index: usize| ranges.get(index).copied().unwrap_or_default();
    let mut by_file: FastMap<u32, Vec<usize>> = FastMap::default();
    for (index, hard) in all.iter().enumerate() {
        by_file.entry(hard.file).or_default().push(index);
    }
    for by_end in by_file.into_values().filter(|list| list.len() > 1) {
        // Those that ended up to this moment count: of faults that end where one begins, only records before its own.
        let limit = |hard: &Hard| hard.begin.map_or(hard.end, |begin| Moment::end_of(begin).min(hard.end));
        let mut by_begin: Vec<(Moment, usize)> =
            by_end.iter().filter_map(|&index| Some((limit(all.get(index)?), index))).collect();
        by_begin.sort_unstable();
        let mut read = Coverage::new(by_end.iter().map(|&index| range(index)));
        let mut ended = by_end.iter().copied().peekable();
        for (limit, index) in by_begin {
            while let Some(before) = ended.next_if(|&before| all.get(before).is_some_and(|hard| hard.end < limit)) {
                read.add(range(before));
            }
            let again = read.covered(range(index));
            all.get_mut(index).into_iter().for_each(|hard| hard.bytes_again = again);
        }
    }
}
