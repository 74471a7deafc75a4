//! An open trace: checked and indexed, so that its buffers can be read in parallel.

use crate::byte_reader::Cursor;
use crate::code_page::CodePage;
use crate::error::{Damage, DamageLog, Error};
use crate::etl::buffer::{BUFFER_HEADER_BYTES, Buffer, TYPE_HEADER};
use crate::etl::buffer_index::{Mode, index};
use crate::etl::clock::Clock;
use crate::etl::compression::{Format, decompress};
use crate::etl::event_area::EventArea;
use crate::etl::header_type::{Marker, marker};
use crate::etl::log_file_header::{LogFileHeader, LogFileNames, MODE_COMPRESSED, MODE_PREALLOCATE};
use crate::etl::record::{HeaderType, RawRecord};
use crate::etl::record_id::{HookId, Position, RecordId};
use crate::etl::stamp_limits::StampLimits;
use crate::input::{self, Input, UnpackLimits};
use crate::units::{FileOffset, Ticks};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Largest session buffer that is accepted, bytes. Windows allows 16 MiB; a damaged header with more would make every
/// decompression allocate that much.
const LARGEST_SESSION_BUFFER: u32 = 64 << 20;

/// Largest accepted ratio of decompressed to compressed bytes in one buffer. A record has at most 65,535 bytes and begins with
/// its own time, so it takes a few tokens even if it is all zeros. Where the buffers together claim more than archives may
/// hold, the ratio of archives is the limit of each buffer.
const MOST_EXPANSION_OF_A_BUFFER: u64 = 16_384;

/// Number of buffers whose first stamps are read to check whether the header's own stamp is plausible.
const BUFFERS_ASKED: usize = 16;

/// Memory for one decompressed event area, reused from buffer to buffer.
pub type Scratch = Vec<u8>;

/// An open `.etl` file.
#[derive(Debug)]
pub struct EtlFile {
    pub(super) input: Input,
    /// The log-file header.
    pub header: LogFileHeader,
    /// Session name; empty when the header is cut inside the names.
    pub logger_name: String,
    /// Name under which the file was written; empty when the header is cut inside the names.
    pub log_file_name: String,
    /// The session's clock.
    pub clock: Clock,
    /// All buffers in file order, those of further files after them.
    pub buffers: Vec<Buffer>,
    /// Damage of the buffers' headers. Damage inside buffers is found when they are read.
    pub damage: DamageLog,
    /// Warnings that are not damage (an imprecise or guessed clock).
    pub warnings: Vec<String>,
    /// Encoding of the 8-bit text in its records; the file does not name it.
    pub code_page: CodePage,
    /// Limits of plausible time stamps.
    pub stamps: StampLimits,
    /// Where a preallocated log ends and only zeros follow, if it does.
    pub end_of_log: Option<FileOffset>,
    pub(super) format: Format,
    /// Size of the session's buffers: by the header, or, where that is wrong, by the buffers.
    pub(super) session_buffer_bytes: u32,
    /// How many times its size a compressed buffer may unpack to.
    most_expansion: u64,
    /// Further files of the recording, with their names.
    pub(super) others: Vec<(String, EtlFile)>,
    bytes_read: AtomicU64,
}

impl EtlFile {
    /// Maps and checks the file, and indexes its buffers. Reads one page of each buffer. An archive with a trace in it is
    /// unpacked within the default limits.
    ///
    /// # Errors
    /// [`Error::Unreadable`] when the system refuses, [`Error::NotUnpacked`] for an archive that gives no trace,
    /// [`Error::NotEtl`] when the file does not begin with a header buffer whose first record is a log-file header.
    pub fn open(path: &Path) -> Result<EtlFile, Error> {
        Self::open_within(path, &UnpackLimits::default())
    }

    /// Like [`EtlFile::open`]; archives are unpacked within these limits.
    ///
    /// # Errors
    /// The same.
    pub fn open_within(path: &Path, limits: &UnpackLimits) -> Result<EtlFile, Error> {
        let input = Input::open(path, limits)?;
        let was_packed = input.was_packed();
        Self::from_input(input).map_err(|reason| match was_packed {
            true => Error::NotUnpacked {
                path: path.into(),
                reason: format!("what it holds is no .etl file: {reason}").into(),
            },
            false => Error::NotEtl { path: path.into(), reason },
        })
    }

    /// Checks and indexes bytes that are there already.
    ///
    /// # Errors
    /// Why they are no log.
    pub fn from_input(input: Input) -> Result<EtlFile, String> {
        let bytes = input.bytes();
        if bytes.is_empty() {
            return Err("it is empty".into());
        }
        let first = Buffer::read(bytes, FileOffset(0), u32::MAX)
            .map_err(|e| format!("expected {} at offset 0, found {}", e.expected, e.found))?;
        if first.kind != TYPE_HEADER {
            return Err(format!("its first buffer has type {}, not that of a header buffer (4)", first.kind));
        }
        if first.is_compressed() {
            return Err("its first buffer is compressed, which a header buffer never is".into());
        }
        let stamps = StampLimits::NONE;
        let area = EventArea { buffer: first, index: 0, bytes: plain_area(bytes, &first), fault: None, stamps };
        let no_header = || match area.bytes.len() < area.buffer.area_bytes() as usize {
            true => format!("it ends after {} bytes, inside its first record", bytes.len()),
            false => "its first record is no log-file header".to_owned(),
        };
        let (raw, record) =
            area.records().next().and_then(|raw| raw.read().ok().map(|record| (raw, record))).ok_or_else(no_header)?;
        if !matches!(record.header, HeaderType::System32 | HeaderType::System64)
            || record.id != RecordId::Kernel(HookId(0))
        {
            return Err(no_header());
        }
        let mut cursor = Cursor::new(record.payload, record.pointer);
        let header = LogFileHeader::read(&mut cursor).map_err(|e| format!("its log-file header is incomplete: {e}"))?;
        // The numbers are complete, so cut names are no reason to reject the file.
        let names = LogFileNames::read(&mut cursor).ok();
        let (clock, warnings) = header.clock(record.time.unwrap_or_default());

        let mut damage = DamageLog::default();
        let mode = Mode {
            compressed: header.mode & MODE_COMPRESSED != 0,
            zeros_expected: header.mode & MODE_PREALLOCATE != 0 || header.end_time.is_none(),
        };
        // The first buffer holds the whole log-file header.
        let least = BUFFER_HEADER_BYTES.saturating_add(u32::try_from(raw.bytes.len()).unwrap_or(u32::MAX));
        let (first, session_buffer_bytes, doubt) = settle_sizes(bytes, first, header.buffer_size_bytes, least, mode);
        doubt.into_iter().for_each(|d| damage.push(d));
        let indexed = index(bytes, first, session_buffer_bytes, mode, &|at| input.next_data(at));
        damage.append(indexed.damage);
        damage.extend(input.cut.as_ref().map(|why| Damage {
            offset: FileOffset(bytes.len() as u64),
            what: "archive, where unpacking ended".into(),
            expected: "the rest of the trace".into(),
            found: why.clone(),
        }));
        let stamps = StampLimits::new(&header, &clock, &indexed.buffers);
        let most_expansion = most_expansion(bytes.len() as u64, &indexed.buffers);
        let mut etl = EtlFile {
            header,
            logger_name: names.map(|names| names.logger.to_string()).unwrap_or_default(),
            log_file_name: names.map(|names| names.log_file.to_string()).unwrap_or_default(),
            clock,
            buffers: indexed.buffers,
            damage,
            warnings,
            code_page: CodePage::default(),
            stamps,
            end_of_log: indexed.end_of_log,
            format: Format::from_header_state(first.state),
            session_buffer_bytes,
            most_expansion,
            others: Vec::new(),
            bytes_read: AtomicU64::new(0),
            input,
        };
        etl.doubt_origin();
        Ok(etl)
    }

    /// When the first stamps of most buffers are not plausible, the header's own stamp must be the wrong one.
    fn doubt_origin(&mut self) {
        let step = self.buffers.len().div_ceil(BUFFERS_ASKED).max(1);
        let mut scratch = Scratch::new();
        let stamps: Vec<Ticks> =
            (1..self.buffers.len()).step_by(step).filter_map(|index| self.first_stamp(index, &mut scratch)).collect();
        let believed = stamps.iter().filter(|stamp| self.stamps.contains(**stamp)).count();
        if stamps.len() > 2 && believed * 2 < stamps.len() {
            self.stamps = StampLimits::NONE;
            self.damage.push(Damage {
                offset: FileOffset(BUFFER_HEADER_BYTES.into()),
                what: "time stamp of the log-file header, to which all times are related".into(),
                expected: "one near those of the other records".into(),
                found: self.clock.origin.0.to_string(),
            });
        }
    }

    /// Stamp of the first record of a buffer. Of a compressed buffer only the first bytes are decompressed.
    pub(super) fn first_stamp(&self, index: usize, scratch: &mut Scratch) -> Option<Ticks> {
        let buffer = self.buffers.get(index)?;
        let bytes = match buffer.is_compressed() {
            true => {
                let written = decompress(self.format, stored_area(self.input.bytes(), buffer), scratch, 0x100).written;
                scratch.get(..written)?
            }
            false => plain_area(self.input.bytes(), buffer),
        };
        match marker(*bytes.first_chunk()?) {
            Marker::Record(header, _) => RawRecord { header, position: Position::default(), bytes }.time(),
            _ => None,
        }
    }

    /// # Errors
    /// That a file of the recording has become shorter since it was opened, so that what was read of it may be wrong. Who asks
    /// says it.
    pub fn check_whole(&self) -> std::io::Result<()> {
        self.input.check_whole()?;
        self.others.iter().try_for_each(|(_, file)| file.check_whole())
    }

    /// True when the archive that the file comes from is cut, or damaged.
    pub(super) fn is_unpacking_cut(&self) -> bool {
        self.input.cut.is_some()
    }

    /// Size of the file, or of all files of the recording, bytes.
    pub fn size_bytes(&self) -> u64 {
        self.others.iter().map(|(_, file)| file.size_bytes()).sum::<u64>() + self.input.bytes().len() as u64
    }

    /// The file in which a buffer is.
    fn file(&self, buffer: &Buffer) -> &EtlFile {
        let further = usize::from(buffer.file).checked_sub(1);
        further.and_then(|further| self.others.get(further)).map_or(self, |(_, file)| file)
    }

    /// Bytes of the file that the current scan has read: for progress bars.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// True when at least one buffer is compressed.
    pub fn is_compressed(&self) -> bool {
        self.buffers.iter().any(Buffer::is_compressed)
    }

    /// The stamp given to records that have no time of their own and none before them in their buffer.
    pub fn before_first(&self) -> Ticks {
        self.clock.origin
    }

    /// The event area of buffer `index`, decompressed into `scratch` if necessary.
    ///
    /// An index after the last buffer gives an empty area.
    pub fn area<'s>(&'s self, index: usize, scratch: &'s mut Scratch) -> EventArea<'s> {
        let buffer = self.buffers.get(index).copied().unwrap_or(EMPTY);
        let index = index as u32;
        if !buffer.is_compressed() {
            return self.area_over(index, &[]);
        }
        let file = self.file(&buffer);
        let stored = stored_area(file.input.bytes(), &buffer);
        let most = usize::try_from(file.most_expansion.saturating_mul(stored.len() as u64)).unwrap_or(usize::MAX);
        let outcome = decompress(file.format, stored, scratch, most.min(buffer.area_bytes() as usize));
        let bytes = scratch.get(..outcome.written).unwrap_or_default();
        let fault = match outcome.fault {
            Some(fault) => Some(format!("{fault} (read as {:?})", file.format)),
            None if outcome.written < buffer.area_bytes() as usize => Some("the end of the compressed bytes".into()),
            None => None,
        };
        EventArea { buffer, index, bytes, fault, stamps: self.stamps }
    }

    /// The record right behind the Offset of a buffer, where only filler belongs: where it lies, and its time. Compressed buffers have no
    /// room behind it.
    pub(crate) fn record_behind(&self, index: usize) -> Option<(FileOffset, Ticks)> {
        let buffer = *self.buffers.get(index).filter(|buffer| !buffer.is_compressed() && !buffer.cut)?;
        let at = (buffer.area_bytes() as usize).next_multiple_of(8);
        let bytes = stored_area(self.file(&buffer).input.bytes(), &buffer).get(at..)?;
        // What is no record would be searched for the next one.
        bytes.first_chunk::<8>().filter(|head| **head != [0xff; 8] && **head != [0; 8])?;
        let area = EventArea { buffer, index: index as u32, bytes, fault: None, stamps: self.stamps };
        let record = area.records().next().filter(|record| record.position.offset == 0)?;
        Some((area.file_offset(at), area.time_of(&record)?))
    }

    /// The event area of a buffer; `decompressed` are its bytes if it is compressed.
    pub(crate) fn area_over<'s>(&'s self, index: u32, decompressed: &'s [u8]) -> EventArea<'s> {
        let buffer = self.buffers.get(index as usize).copied().unwrap_or(EMPTY);
        let bytes = match buffer.is_compressed() {
            true => decompressed,
            false => plain_area(self.file(&buffer).input.bytes(), &buffer),
        };
        EventArea { buffer, index, bytes, fault: None, stamps: self.stamps }
    }

    /// Visits the given buffers in parallel and returns the results in their order. May be called inside of parallel work.
    pub fn map_some<R: Send>(&self, buffers: &[u32], visit: impl Fn(&EventArea<'_>) -> R + Sync) -> Vec<R> {
        buffers
            .par_iter()
            .map_init(Scratch::new, |scratch, &index| self.visit(index as usize, scratch, &visit))
            .collect()
    }

    /// Visits all buffers in parallel with one accumulator for each thread. Which thread visits which buffer is not
    /// determined, so the caller must merge the accumulators by a commutative operation (sums, minima, sets).
    pub fn fold_buffers<A: Send>(
        &self,
        empty: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, &EventArea<'_>) + Sync,
    ) -> Vec<A> {
        self.bytes_read.store(0, Ordering::Relaxed);
        let all: Vec<u32> = (0..self.buffers.len() as u32).collect();
        self.fold_some(&all, empty, |accumulator, _, area| visit(accumulator, area))
    }

    /// The same, where a thread visits some buffers that follow each other, and `end` is called after them with the first one's index.
    pub fn fold_groups<A: Send>(
        &self,
        empty: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, &EventArea<'_>) + Sync,
        end: impl Fn(&mut A, usize) + Sync,
    ) -> Vec<A> {
        /// Bytes of a group: what its records become stays in the caches.
        const GROUP_BYTES: usize = 4 << 20;
        /// Buffers of each processor in a group, about: those of several processors overlap in time, and groups shall not much.
        const OF_EACH: usize = 4;
        /// Groups for each thread at least, so that all end at about the same time.
        const GROUPS: usize = 8;
        self.bytes_read.store(0, Ordering::Relaxed);
        let buffers = self.buffers.len();
        let bytes = self.buffers.iter().map(|buffer| buffer.used_bytes as usize).sum::<usize>();
        let by_bytes = buffers.checked_mul(GROUP_BYTES).and_then(|all| all.checked_div(bytes)).unwrap_or(1);
        let by_processors =
            OF_EACH * self.buffers.iter().map(|buffer| usize::from(buffer.processor) + 1).max().unwrap_or(1);
        let group = by_bytes.max(by_processors).min(buffers / (GROUPS * rayon::current_num_threads())).max(1);
        let next = AtomicUsize::new(0);
        rayon::broadcast(|_| {
            let (mut accumulator, mut scratch) = (empty(), Scratch::new());
            loop {
                let first = next.fetch_add(1, Ordering::Relaxed).saturating_mul(group);
                if first >= buffers {
                    return accumulator;
                }
                for buffer in first..buffers.min(first + group) {
                    self.visit(buffer, &mut scratch, |area| visit(&mut accumulator, area));
                }
                end(&mut accumulator, first);
            }
        })
    }

    /// Visits the given buffers in parallel, like [`EtlFile::fold_buffers`]; `visit` also gets the index into `buffers`.
    pub fn fold_some<A: Send>(
        &self,
        buffers: &[u32],
        empty: impl Fn() -> A + Sync,
        visit: impl Fn(&mut A, usize, &EventArea<'_>) + Sync,
    ) -> Vec<A> {
        let next = AtomicUsize::new(0);
        rayon::broadcast(|_| {
            let (mut accumulator, mut scratch) = (empty(), Scratch::new());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&buffer) = buffers.get(at) else { return accumulator };
                self.visit(buffer as usize, &mut scratch, |area| visit(&mut accumulator, at, area));
            }
        })
    }

    fn visit<R>(&self, index: usize, scratch: &mut Scratch, visit: impl FnOnce(&EventArea<'_>) -> R) -> R {
        self.input.unless_stopped();
        let area = self.area(index, scratch);
        let result = visit(&area);
        self.bytes_read.fetch_add(u64::from(area.buffer.size_bytes), Ordering::Relaxed);
        result
    }
}

/// How many times its size a compressed buffer may unpack to, by what all of them claim.
fn most_expansion(file_bytes: u64, buffers: &[Buffer]) -> u64 {
    let claims = buffers.iter().filter(|buffer| buffer.is_compressed()).map(|buffer| {
        let most = u64::from(buffer.size_bytes).saturating_mul(MOST_EXPANSION_OF_A_BUFFER);
        u64::from(buffer.area_bytes()).min(most)
    });
    match input::expands_too_much(file_bytes, claims.sum()) {
        true => input::MOST_EXPANSION,
        false => MOST_EXPANSION_OF_A_BUFFER,
    }
}

/// Decides the size of the first buffer and of the session's buffers, where the headers disagree.
///
/// In an uncompressed file BufferSize of every buffer equals the session's buffer size in the log-file header, so a
/// second buffer where the first one ends, of the same size, proves the header wrong. Without that proof the first
/// buffer is taken to end where the session says. `least` is the size of what the first buffer must hold.
fn settle_sizes(file: &[u8], mut first: Buffer, stated: u32, least: u32, mode: Mode) -> (Buffer, u32, Option<Damage>) {
    let sound = least.min(LARGEST_SESSION_BUFFER)..=LARGEST_SESSION_BUFFER;
    let size_at = |at: u32| file.get(at as usize..).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b));
    let own = size_at(0).unwrap_or(first.size_bytes);
    let second = file.get(own as usize..).map(|rest| Buffer::read(rest, FileOffset(u64::from(own)), own));
    let proven = !mode.compressed && own != stated && size_at(own) == Some(own) && matches!(second, Some(Ok(_)));
    let damage =
        |what, expected, found: u32| Some(Damage { offset: FileOffset(0), what, expected, found: found.to_string() });
    if proven || !sound.contains(&stated) {
        let instead = own.clamp(*sound.start(), *sound.end());
        let what = format!("session buffer size in the log-file header (using {instead})");
        let expected = match proven {
            true => format!("{own}, as the buffers have it"),
            false => format!("between {} and {}", sound.start(), sound.end()),
        };
        return (first, instead, damage(what, expected, stated));
    }
    if own <= stated {
        return (first, stated, None);
    }
    let available = u32::try_from(file.len()).unwrap_or(u32::MAX);
    (first.size_bytes, first.cut) = (stated.min(available), stated > available);
    let what = format!("header of the first buffer (taken to end at {stated})");
    (first, stated, damage(what, format!("BufferSize between {BUFFER_HEADER_BYTES} and {stated}"), own))
}

const EMPTY: Buffer = Buffer {
    offset: FileOffset(0),
    size_bytes: 0,
    stated_bytes: 0,
    used_bytes: 0,
    flushed: 0,
    sequence: 0,
    processor: 0,
    flags: 0,
    kind: 0,
    state: 0,
    cut: false,
    file: 0,
};

/// The bytes after a buffer's header, as they are in the file.
fn stored_area<'a>(file: &'a [u8], buffer: &Buffer) -> &'a [u8] {
    let start = buffer.offset.0 as usize;
    file.get(start..)
        .and_then(|rest| rest.get(..buffer.size_bytes as usize))
        .and_then(|whole| whole.get(BUFFER_HEADER_BYTES as usize..))
        .unwrap_or_default()
}

/// The event area of an uncompressed buffer: up to Offset, or to the end of the file when that comes first.
fn plain_area<'a>(file: &'a [u8], buffer: &Buffer) -> &'a [u8] {
    let stored = stored_area(file, buffer);
    stored.get(..buffer.area_bytes() as usize).unwrap_or(stored)
}
