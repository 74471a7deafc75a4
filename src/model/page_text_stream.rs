//! The pages of a snapshot as text in PFN order: read and formatted by all threads, written by one, in constant memory.
//!
//! A snapshot is cut into slices. Each thread takes the next slice, fills a buffer with its text and queues the buffer. The
//! caller's thread writes the buffers in the order of the slices, so the output is the same for any number of threads. A
//! thread that is too far ahead waits. A slice whose text exceeds a limit is queued in pieces, once all slices before it
//! are written. So memory use does not depend on the size of the trace or of its names.
//!
//! The caller formats each page.

use crate::etl::EtlFile;
use crate::etl::file::Scratch;
use crate::etl::record::RawRecord;
use crate::event::page_identity::PageIdentity;
use crate::load::page_run::PageRun;
use crate::model::snapshot::{BATCH, Snapshot};
use crate::units::Ticks;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pages of one slice. A slice of a compressed file ends where its last buffer does, so that none is decompressed twice.
const SLICE_PAGES: u32 = 4096;
/// Bytes of text that may wait to be written before threads wait too.
const WAITING_BYTES: usize = 8 << 20;
/// Bytes of text at which a slice is queued in pieces.
const PIECE_BYTES: usize = 4 << 20;

/// Where a slice begins, and its number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Slice {
    number: u64,
    run: usize,
    /// Pages of the first run that belong to earlier slices.
    skip: u32,
    pages: u32,
}

/// State that the threads share.
struct State {
    /// Where the next slice begins.
    next: Slice,
    /// The slice that is being written.
    writing: u64,
    /// Queued text by slice, with true if it is the end of the slice.
    waiting: BTreeMap<u64, (Vec<u8>, bool)>,
    waiting_bytes: usize,
    /// Emptied buffers.
    spare: Vec<Vec<u8>>,
    /// True when the output failed: all threads stop.
    stopped: bool,
    /// Number of running threads.
    at_work: usize,
}

/// Orders the text of slices: threads queue it, one thread writes it.
struct OrderedWriter {
    state: Mutex<State>,
    changed: Condvar,
}

impl OrderedWriter {
    /// The state is consistent even if a thread panicked, because each change is a single step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The next slice with an empty buffer; `None` when all are taken or the output failed.
    fn take(&self, snapshot: &Snapshot, etl: &EtlFile) -> Option<(Slice, Vec<u8>)> {
        let mut state = self.lock();
        while !state.stopped && state.waiting_bytes > WAITING_BYTES && state.next.number > state.writing {
            state = self.wait(state);
        }
        if state.stopped {
            return None;
        }
        let slice = state.next.cut(&snapshot.runs, |buffer| is_compressed(etl, buffer))?;
        Some((slice, state.spare.pop().unwrap_or_default()))
    }

    /// Queues text of a slice; returns an empty buffer for the rest of the slice unless `last`. `None` when the output
    /// failed.
    fn hand_over(&self, number: u64, text: Vec<u8>, last: bool) -> Option<Vec<u8>> {
        let mut state = self.lock();
        while !state.stopped && (state.waiting.contains_key(&number) || (!last && state.writing != number)) {
            state = self.wait(state);
        }
        if state.stopped {
            return None;
        }
        state.waiting_bytes += text.len();
        state.waiting.insert(number, (text, last));
        self.changed.notify_all();
        Some(if last { Vec::new() } else { state.spare.pop().unwrap_or_default() })
    }

    /// Writes slices in order until all threads are done.
    fn write(&self, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.lock();
        loop {
            let writing = state.writing;
            let Some((mut text, last)) = state.waiting.remove(&writing) else {
                if state.at_work == 0 {
                    return Ok(());
                }
                state = self.wait(state);
                continue;
            };
            drop(state);
            let written = write(&text);
            state = self.lock();
            state.waiting_bytes -= text.len();
            state.writing += u64::from(last);
            state.stopped = written.is_err();
            text.clear();
            if text.capacity() <= 2 * PIECE_BYTES {
                state.spare.push(text);
            }
            self.changed.notify_all();
            written?;
        }
    }
}

fn is_compressed(etl: &EtlFile, buffer: u32) -> bool {
    etl.buffers.get(buffer as usize).is_some_and(|buffer| buffer.is_compressed())
}

/// Counts a thread as finished, also when it panics, so that the writer does not wait for it.
struct AtWork<'d>(&'d OrderedWriter);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.lock().at_work -= 1;
        self.0.changed.notify_all();
    }
}

impl Slice {
    /// Returns the slice that begins here and moves on to the next one; `None` after the last page.
    fn cut(&mut self, runs: &[PageRun], compressed: impl Fn(u32) -> bool) -> Option<Slice> {
        let mut slice = Slice { pages: 0, ..*self };
        let mut in_buffer = None;
        while let Some(run) = runs.get(self.run) {
            let left = run.pages.saturating_sub(self.skip);
            let room = SLICE_PAGES.saturating_sub(slice.pages);
            let whole = (room > 0 || in_buffer == Some(run.buffer)) && compressed(run.buffer);
            let pages = if whole { left } else { left.min(room) };
            if pages == 0 && left > 0 {
                break;
            }
            slice.pages = slice.pages.saturating_add(pages);
            in_buffer = Some(run.buffer);
            self.skip += pages;
            if self.skip >= run.pages {
                (self.run, self.skip) = (self.run + 1, 0);
            }
        }
        self.number += 1;
        (slice.pages > 0).then_some(slice)
    }
}

impl Snapshot {
    /// Calls `batch` for all pages in batches of up to [`BATCH`], in parallel, each thread with its own state, and then `page`
    /// for each page of the batch with its place there and its time. The text that `page` appends is passed to `write` in PFN
    /// order, in pieces that contain whole pages.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream<S>(
        &self,
        etl: &EtlFile,
        state: impl Fn() -> S + Sync,
        batch: impl Fn(&mut S, &[PageIdentity]) + Sync,
        page: impl Fn(&mut S, &mut Vec<u8>, usize, PageIdentity, Ticks) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if rayon::current_thread_index().is_some() {
            // A thread of the pool would wait for work that it has to do itself.
            return self.stream_alone(etl, state(), batch, page, write);
        }
        let writer = OrderedWriter {
            state: Mutex::new(State {
                next: Slice::default(),
                writing: 0,
                waiting: BTreeMap::new(),
                waiting_bytes: 0,
                spare: Vec::new(),
                stopped: false,
                at_work: rayon::current_num_threads(),
            }),
            changed: Condvar::new(),
        };
        rayon::in_place_scope(|scope| {
            scope.spawn_broadcast(|_, _| {
                let _at_work = AtWork(&writer);
                let mut state = state();
                let mut reader = Reader::new(etl);
                while let Some((slice, text)) = writer.take(self, etl) {
                    let mut text = Some(text);
                    reader.read(self, slice, |pages, times| {
                        batch(&mut state, pages);
                        for (place, (identity, time)) in pages.iter().zip(times).enumerate() {
                            let Some(buffer) = &mut text else { return false };
                            page(&mut state, buffer, place, *identity, *time);
                            if buffer.len() >= PIECE_BYTES {
                                text = writer.hand_over(slice.number, std::mem::take(buffer), false);
                            }
                        }
                        true
                    });
                    let Some(text) = text else { return };
                    if writer.hand_over(slice.number, text, true).is_none() {
                        return;
                    }
                }
            });
            writer.write(write)
        })
    }

    fn stream_alone<S>(
        &self,
        etl: &EtlFile,
        mut state: S,
        batch: impl Fn(&mut S, &[PageIdentity]),
        page: impl Fn(&mut S, &mut Vec<u8>, usize, PageIdentity, Ticks),
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut next, mut reader, mut text) = (Slice::default(), Reader::new(etl), Vec::new());
        while let Some(slice) = next.cut(&self.runs, |buffer| is_compressed(etl, buffer)) {
            let mut written = Ok(());
            reader.read(self, slice, |pages, times| {
                batch(&mut state, pages);
                for (place, (identity, time)) in pages.iter().zip(times).enumerate() {
                    page(&mut state, &mut text, place, *identity, *time);
                    if text.len() >= PIECE_BYTES {
                        written = write(&text);
                        text.clear();
                    }
                    if written.is_err() {
                        return false;
                    }
                }
                true
            });
            written.and_then(|()| write(&text))?;
            text.clear();
        }
        Ok(())
    }
}

/// Reads slices; keeps the last decompressed buffer.
struct Reader<'e> {
    etl: &'e EtlFile,
    scratch: Scratch,
    /// Buffer in `scratch`, and its bytes.
    decompressed: Option<(u32, usize)>,
    batch: Batch,
}

/// Pages that wait until there are [`BATCH`] of them, and their times.
#[derive(Default)]
struct Batch {
    pages: Vec<PageIdentity>,
    times: Vec<Ticks>,
}

impl Batch {
    /// Adds a page; false when `visit` was called and returned that.
    #[inline(always)]
    fn push(
        &mut self,
        page: PageIdentity,
        time: Ticks,
        visit: &mut impl FnMut(&[PageIdentity], &[Ticks]) -> bool,
    ) -> bool {
        self.pages.push(page);
        self.times.push(time);
        self.pages.len() < BATCH || self.end(visit)
    }

    /// Visits the pages that wait.
    fn end(&mut self, visit: &mut impl FnMut(&[PageIdentity], &[Ticks]) -> bool) -> bool {
        let goes_on = self.pages.is_empty() || visit(&self.pages, &self.times);
        self.pages.clear();
        self.times.clear();
        goes_on
    }
}

impl<'e> Reader<'e> {
    fn new(etl: &'e EtlFile) -> Reader<'e> {
        Reader { etl, scratch: Scratch::new(), decompressed: None, batch: Batch::default() }
    }

    /// Visits the slice's pages with their times, in batches of up to [`BATCH`], until `visit` returns false.
    fn read(&mut self, snapshot: &Snapshot, slice: Slice, mut visit: impl FnMut(&[PageIdentity], &[Ticks]) -> bool) {
        let (mut left, mut skip) = (slice.pages, slice.skip);
        for run in snapshot.runs.get(slice.run..).unwrap_or_default() {
            let pages = run.pages.saturating_sub(skip).min(left);
            if left == 0 {
                break;
            }
            if !self.read_run(run, skip, pages, &mut visit) {
                return;
            }
            (left, skip) = (left - pages, 0);
        }
        self.batch.end(&mut visit);
    }

    #[inline]
    fn read_run(
        &mut self,
        run: &PageRun,
        skip: u32,
        pages: u32,
        visit: &mut impl FnMut(&[PageIdentity], &[Ticks]) -> bool,
    ) -> bool {
        let Reader { etl, scratch, decompressed, batch } = self;
        let area = match decompressed.filter(|&(index, _)| index == run.buffer) {
            Some((index, len)) => etl.area_over(index, scratch.get(..len).unwrap_or_default()),
            None => {
                let area = etl.area(run.buffer as usize, scratch);
                *decompressed = area.buffer.is_compressed().then_some((run.buffer, area.bytes.len()));
                area
            }
        };
        // Nearly always no other records are between those of a run, so the offset of a page in its middle can be computed.
        // If the expected page is not there, the records are read from the start of the run.
        let mut records = area.records().at_offset(run.start);
        let record_bytes = match (records.next(), records.next()) {
            (Some(first), Some(second)) => second.position.offset.saturating_sub(first.position.offset),
            _ => 0,
        };
        let jump = run.start.saturating_add(skip.saturating_mul(record_bytes));
        let wanted = run.first_pfn.checked_add(u64::from(skip));
        let landed = area.records().at_offset(jump).next().and_then(|record| run.page_of(&record)).map(|page| page.pfn);
        let (start, mut skip) = if landed == wanted { (jump, 0) } else { (run.start, skip) };
        let (mut left, mut time) = (pages, run.first.time);
        let mut records = area.records().at_offset(start);
        while left > 0 {
            let Some(first) = records.next() else { return true };
            let Some(page) = run.page_of(&first) else { continue };
            time = area.time_of(&first).unwrap_or(time);
            if skip > 0 {
                skip -= 1;
            } else {
                left -= 1;
                if !batch.push(page, time, visit) {
                    return false;
                }
            }
            // Nearly all records that follow are of the same kind and size, so their fields have the same offsets.
            let Some(payload) = first.hook().and_then(|_| first.kernel_payload()) else { continue };
            let (payload_at, time_at) = (first.bytes.len() - payload.len(), first.kernel_time_at());
            let alike = records.alike(&first, left.saturating_add(skip) as usize);
            for record in alike.parts(0) {
                let own = RawRecord::time_in(record, time_at);
                time = if area.stamps.contains(own) { own } else { time };
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let payload = record.get(payload_at..).unwrap_or_default();
                // It has the length of the first one.
                let page = PageIdentity::read(payload, first.header.pointer()).unwrap_or_default();
                left -= 1;
                if !batch.push(page, time, visit) {
                    return false;
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;
    use crate::units::PointerSize;

    fn run(buffer: u32, first_pfn: u64, pages: u32) -> PageRun {
        PageRun {
            first: Moment::default(),
            last_time: Ticks(0),
            buffer,
            start: 0,
            hook: crate::event::hooks::PAGE_IN_MEMORY,
            version: 2,
            pointer: PointerSize::P8,
            pages,
            first_pfn,
        }
    }

    fn cuts(runs: &[PageRun], compressed: bool) -> Vec<(usize, u32, u32)> {
        let mut next = Slice { number: 0, run: 0, skip: 0, pages: 0 };
        let slices: Vec<Slice> = std::iter::from_fn(|| next.cut(runs, |_| compressed)).collect();
        assert!(slices.iter().zip(0..).all(|(slice, number)| slice.number == number));
        slices.iter().map(|slice| (slice.run, slice.skip, slice.pages)).collect()
    }

    #[test]
    fn slices_are_of_one_size_and_cover_all_pages() {
        let runs = [run(0, 1, 10_000), run(1, 20_000, 1), run(1, 30_000, 3000), run(2, 40_000, 0)];
        assert_eq!(cuts(&runs, false), [(0, 0, 4096), (0, 4096, 4096), (0, 8192, 4096), (2, 2287, 713)]);
        assert_eq!(cuts(&[], false), []);
        assert_eq!(cuts(&[run(0, 1, 4096)], false), [(0, 0, 4096)]);
    }

    #[test]
    fn a_compressed_buffer_is_never_cut() {
        let runs = [run(0, 1, 3000), run(0, 5000, 3000), run(1, 9000, 9000), run(1, 20_000, 1), run(2, 30_000, 5)];
        assert_eq!(cuts(&runs, true), [(0, 0, 6000), (2, 0, 9001), (4, 0, 5)]);
    }
}
