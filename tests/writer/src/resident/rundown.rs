//! The rundowns and the events between them: processes, threads, images, views, VirtualAlloc regions, heaps.

use std::io::{self, Seek, Write};

use super::super::logger::Logger;
use super::super::machine::addresses::PAGE;
use super::super::machine::recording::Phase;
use super::super::payloads::file::{self, View, ViewKind};
use super::super::payloads::image::Image;
use super::super::payloads::memory::{self, HeapRundown};
use super::super::payloads::process::{self, Process};
use super::super::payloads::thread::{self, Thread};
use super::super::record::{HeaderKind, Rec};
use super::layout::{Layout, Life, Range, RangeKind};

/// User images that each process lists in its rundowns at most.
const IMAGES: usize = 64;
/// Ranges that one heap has at most, and so one heap rundown record.
const HEAP_RANGES: usize = 32;

impl Layout {
    fn process(&self, i: u64, older: bool) -> Process {
        let name = if older { "gone.exe".into() } else { self.process_name(i) };
        Process {
            key: self.process_key(i, older),
            session: if i == 0 { u32::MAX } else { (i % 2) as u32 },
            directory_table: 0x100_0000 + i * PAGE,
            ..Process::new(self.pid(i), &name)
        }
    }

    fn thread(&self, i: u64, stack: &Range) -> Thread {
        let high = stack.base + stack.size();
        let tid = 0x4000 + (i * self.threads() + stack.index / 64) as u32 * 4;
        let user_stack = if i == 0 { (0, 0) } else { (high, high - 0x4000) };
        let teb = if i == 0 { 0 } else { high + PAGE };
        Thread { pid: self.pid(i), tid, user_stack, teb, ..Thread::default() }
    }

    fn view(&self, i: u64, range: &Range, kind: ViewKind) -> View {
        View::new(self.pid(i), range.base, range.size(), self.view_key(i, range), kind)
    }

    fn ranges(&self, i: u64) -> impl Iterator<Item = Range> + '_ {
        // System (process 0) has no user ranges here.
        let count = if i == 0 { 0 } else { self.spec.ranges_per_process };
        (0..count).map(move |j| self.range(i, j))
    }
}

/// Writes a rundown: processes, threads and images, then views, then regions and heaps.
pub fn rundown<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout, phase: Phase) -> io::Result<()> {
    let p = layout.spec.pointer;
    for i in 0..layout.spec.processes {
        let older = layout.reuses_id(i) && phase == Phase::Start;
        log.put(layout.process(i, older).rec(p, 4, phase.process()))?;
        if older {
            continue;
        }
        for stack in layout.ranges(i).filter(|range| range.kind == RangeKind::Stack) {
            log.put(layout.thread(i, &stack).rec(p, 3, phase.thread()))?;
        }
        images(log, layout, i, phase)?;
    }
    for i in 0..layout.spec.processes {
        for range in layout.ranges(i).filter(|range| range.life.is_in(phase)) {
            if let RangeKind::View(kind) = range.kind {
                log.put(layout.view(i, &range, kind).rec(p, 3, phase.view()))?;
            }
        }
    }
    let hook = phase.region();
    for i in 0..layout.spec.processes {
        for range in layout.ranges(i).filter(|range| range.life.is_in(phase)) {
            if !matches!(range.kind, RangeKind::View(_)) {
                let commit = range.size() / 2;
                log.put(memory::virtual_rundown(p, hook, range.base, range.size(), layout.pid(i), 0, commit))?;
            }
        }
    }
    if phase == Phase::End {
        for i in 0..layout.spec.processes {
            heaps(log, layout, i)?;
        }
    }
    Ok(())
}

/// Kernel images for System, the first image views of every other process.
fn images<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout, i: u64, phase: Phase) -> io::Result<()> {
    let hook = phase.image();
    let p = layout.spec.pointer;
    if i == 0 {
        for d in 0..Layout::DRIVERS {
            let name = format!("\\SystemRoot\\system32\\drivers\\driver{d:03}.sys");
            let size = Layout::DRIVER_PAGES * PAGE;
            log.put(
                Image { base: layout.driver_base(d), size, time_stamp: 1, name, ..Image::default() }.rec(p, 3, hook),
            )?;
        }
    }
    let is_image = |range: &Range| range.kind == RangeKind::View(ViewKind::Image);
    for range in layout.ranges(i).filter(is_image).take(IMAGES).filter(|range| range.life.is_in(phase)) {
        let name = format!("\\Device\\HarddiskVolume3\\Windows\\System32\\lib{:05}.dll", range.index);
        let base = range.base;
        log.put(Image { base, size: range.size(), pid: layout.pid(i), name, ..Image::default() }.rec(p, 3, hook))?;
    }
    Ok(())
}

/// The heap ranges of one process, in records of its heaps.
fn heaps<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout, i: u64) -> io::Result<()> {
    let ranges: Vec<(u64, u64)> = (layout.ranges(i))
        .filter(|range| range.kind == RangeKind::Heap)
        .map(|range| (range.base, range.size()))
        .collect();
    for heap in ranges.chunks(HEAP_RANGES) {
        let rundown = HeapRundown::new(layout.pid(i), heap[0].0, heap).rec(layout.spec.pointer, 3);
        log.put(if layout.spec.heap_provider { rundown.into_class(memory::win32_heap_ranges()) } else { rundown })?;
    }
    Ok(())
}

/// What happens during the trace: some ranges go, some come, some process ids get a new process.
pub fn events<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout) -> io::Result<()> {
    let p = layout.spec.pointer;
    for i in 0..layout.spec.processes {
        if layout.reuses_id(i) {
            let ended = Process { exit_status: 0, ..layout.process(i, true) };
            log.put(ended.rec(p, 4, process::END))?;
            log.wait(1000);
            log.put(layout.process(i, false).rec(p, 4, process::START).by(0x1234, layout.pid(1)))?;
        }
        for range in layout.ranges(i) {
            match range.life {
                Life::Whole => {}
                Life::Made => made(log, layout, i, &range)?,
                Life::Gone => gone(log, layout, i, &range)?,
            }
        }
    }
    Ok(())
}

fn made<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout, i: u64, range: &Range) -> io::Result<()> {
    let (p, pid) = (layout.spec.pointer, layout.pid(i));
    if let RangeKind::View(kind) = range.kind {
        return log.put(layout.view(i, range, kind).rec(p, 3, file::MAP));
    }
    log.put(memory::virtual_alloc(p, range.base, range.size(), pid, memory::RESERVE | memory::COMMIT))?;
    match range.kind {
        RangeKind::Heap => log.put(memory::heap_reserve(p, pid, range.base, range.base, range.size())),
        RangeKind::Stack => log.put(layout.thread(i, range).rec(p, 3, thread::START)),
        _ => Ok(()),
    }
}

fn gone<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout, i: u64, range: &Range) -> io::Result<()> {
    let p = layout.spec.pointer;
    match range.kind {
        RangeKind::View(kind) => log.put(layout.view(i, range, kind).rec(p, 3, file::UNMAP)),
        _ => log.put(memory::virtual_free(p, range.base, 0, layout.pid(i), memory::RELEASE)),
    }
}

/// File names, after the sequence: all that have one, and the file system's own files.
pub fn file_names<W: Write + Seek>(log: &mut Logger<W>, layout: &Layout) -> io::Result<()> {
    let p = layout.spec.pointer;
    for f in 0..layout.spec.files {
        if let Some(name) = layout.file_name(f) {
            log.put(file::name(p, file::RUNDOWN, layout.file_key(f), &name))?;
        }
    }
    for n in 0..64 {
        let name = if n == 0 {
            "\\Device\\HarddiskVolume3\\$Mft".into()
        } else {
            format!("\\Device\\HarddiskVolume{n}\\$Directory")
        };
        log.put(file::name(p, file::RUNDOWN, layout.file_key(layout.spec.files + n), &name))?;
    }
    Ok(())
}

/// A sample that some other processor logs meanwhile.
pub fn sample(layout: &Layout) -> Rec {
    let p = layout.spec.pointer;
    super::super::payloads::perf::sample(p, p.pick(0x7ffb_1234_5678, 0x7712_3456), 0x4004, 0)
        .with_header(HeaderKind::PerfInfo(p))
}
