//! What happens in address spaces: regions, views, heaps, stacks.

use super::addresses::{self, PAGE};
use super::event::What;
use super::lives::Stack;
use super::{Machine, PAGES};
use crate::payloads::file::{View as ViewRecord, ViewKind};
use crate::payloads::memory;
use crate::payloads::pages::Identity;
use crate::record::Rec;
use std::ops::Range;

/// What one page of an address space is; numbers are things.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub region: Option<usize>,
    pub heap: Option<usize>,
    pub view: Option<usize>,
    /// Allocated by an event of the trace.
    pub traced: bool,
    /// Made heap by an event of the trace.
    pub traced_heap: bool,
}

/// What one page of an address space holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// In the working set.
    pub held: Option<Identity>,
    /// Copied on write: private from then on.
    pub copied: bool,
    /// Combined: prototype PTE and frame.
    pub combined: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct View {
    pub kind: ViewKind,
    /// File, by the number of its key.
    pub file: usize,
    /// Generation of the file, see [`super::File`].
    pub generation: u32,
}

#[derive(Clone, Debug)]
pub struct Heap {
    /// Its handle: its first address.
    pub handle: u64,
    /// First page, pages, thing.
    pub ranges: Vec<(usize, usize, usize)>,
}

impl Machine {
    /// Address of a page of any address space.
    pub fn address(&self, page: usize) -> u64 {
        addresses::USER_PAGES.of(self.setup.p) + page as u64 * PAGE
    }

    /// Key of a file.
    pub fn file_key(&self, file: usize) -> u64 {
        addresses::file_key(self.setup.p, file as u64)
    }

    /// Whether pages are in no range.
    pub fn is_free(&self, life: usize, at: usize, pages: usize) -> bool {
        let free = |cell: &Cell| cell.region.is_none() && cell.view.is_none();
        at + pages <= PAGES && self.lives[life].cells[at..at + pages].iter().all(free)
    }

    /// Pages around one that are of the same thing.
    fn around(&self, life: usize, at: usize, thing: impl Fn(&Cell) -> Option<usize>) -> Option<(usize, usize, usize)> {
        let cells = &self.lives[life].cells;
        let found = thing(&cells[at])?;
        let same = |page: &usize| thing(&cells[*page]) == Some(found);
        Some(((0..=at).rev().take_while(same).last()?, (at..PAGES).take_while(same).last()? + 1, found))
    }

    /// First page of the region that holds a page, the page after it, its thing.
    pub fn region_at(&self, life: usize, at: usize) -> Option<(usize, usize, usize)> {
        self.around(life, at, |cell| cell.region)
    }

    /// First page of the view that holds a page, the page after it, its thing.
    pub fn view_at(&self, life: usize, at: usize) -> Option<(usize, usize, usize)> {
        self.around(life, at, |cell| cell.view)
    }

    /// The thread whose stack ends in pages.
    pub fn stack_in(&self, life: usize, from: usize, to: usize) -> Option<usize> {
        let ends_there = |(_, stack): &(usize, Stack)| stack.base > from && stack.base <= to;
        self.stacks_of(life).into_iter().find(ends_there).map(|(thread, _)| thread)
    }

    /// Allocates a region of pages that are free.
    pub fn reserve(&mut self, life: usize, at: usize, pages: usize, flags: u32) -> Option<()> {
        self.is_free(life, at, pages).then_some(())?;
        let (thing, traced) = (self.thing(), self.tracing);
        self.lives[life].cells[at..at + pages].fill(Cell { region: Some(thing), traced, ..Cell::default() });
        let (pid, size) = (self.lives[life].pid, pages as u64 * PAGE);
        self.log_by(life, What::Alloc(pid, self.address(at), size, flags));
        Some(())
    }

    /// Commits pages inside a region.
    pub fn commit(&mut self, life: usize, from: usize, to: usize) {
        let (pid, size) = (self.lives[life].pid, (to - from) as u64 * PAGE);
        self.log_by(life, What::Alloc(pid, self.address(from), size, memory::COMMIT));
        let tracing = self.tracing;
        self.lives[life].cells[from..to].iter_mut().for_each(|cell| cell.traced |= tracing);
    }

    /// Decommits pages of a region.
    pub fn decommit(&mut self, life: usize, from: usize, to: usize) {
        self.clear_pages(life, from..to);
        let (pid, size) = (self.lives[life].pid, (to - from) as u64 * PAGE);
        self.log_by(life, What::Free(pid, self.address(from), size, size, false));
    }

    /// Releases pages that are one region. Without a size the record tells nothing of a region that no one knew.
    pub fn release(&mut self, life: usize, from: usize, to: usize, with_size: bool) -> Option<()> {
        let thing = self.lives[life].cells[from].region?;
        if with_size {
            self.end_thing(thing);
        }
        self.clear_pages(life, from..to);
        let (pid, size) = (self.lives[life].pid, (to - from) as u64 * PAGE);
        self.log_by(life, What::Free(pid, self.address(from), if with_size { size } else { 0 }, size, true));
        self.lives[life].cells[from..to].fill(Cell::default());
        Some(())
    }

    /// Releases one page inside a region; what is left after it is another region then.
    pub fn release_inside(&mut self, life: usize, (from, to): (usize, usize), page: usize) -> Option<()> {
        let thing = self.lives[life].cells[from].region?;
        self.things.push(self.things[thing].clone());
        let rest = self.things.len() - 1;
        self.release(life, page, page + 1, true)?;
        self.end_thing(rest);
        self.lives[life].cells[page + 1..to].iter_mut().for_each(|cell| cell.region = Some(rest));
        Some(())
    }

    /// Pages leave the working set, and what they held is forgotten.
    pub fn clear_pages(&mut self, life: usize, pages: Range<usize>) {
        for page in pages {
            self.drop_page(life, page);
            self.lives[life].pages[page] = Page::default();
        }
    }

    /// A page leaves the working set; a private one's frame is free.
    pub fn drop_page(&mut self, life: usize, page: usize) {
        let was = self.lives[life].pages[page].held.take();
        self.free_frames.extend(was.filter(|was| was.page_use == 0).map(|was| was.pfn));
    }

    /// The view of a record.
    pub fn view_of(&self, pid: u32, base: u64, pages: u64, view: &View) -> ViewRecord {
        let key = if view.kind == ViewKind::PageFile { 0 } else { self.file_key(view.file) };
        ViewRecord::new(pid, base, pages * PAGE, key, view.kind)
    }

    /// A view of a file that is not mapped yet.
    pub fn new_view(&mut self, kind: ViewKind, file: usize) -> usize {
        let thing = self.thing();
        self.views.insert(thing, View { kind, file, generation: self.files[file].generation });
        thing
    }

    /// Maps a view of a file into pages that are free.
    pub fn map(&mut self, life: usize, at: usize, pages: usize, kind: ViewKind, file: usize) -> Option<()> {
        self.is_free(life, at, pages).then_some(())?;
        let thing = self.new_view(kind, file);
        let pid = self.lives[life].current_pid();
        self.log_by(life, What::Map(self.view_of(pid, self.address(at), pages as u64, &self.views[&thing])));
        self.lives[life].cells[at..at + pages].fill(Cell { view: Some(thing), ..Cell::default() });
        Some(())
    }

    /// Unmaps the view that holds a page.
    pub fn unmap(&mut self, life: usize, at: usize) -> Option<()> {
        let (from, to, thing) = self.view_at(life, at)?;
        self.end_thing(thing);
        self.clear_pages(life, from..to);
        let (pid, pages) = (self.lives[life].current_pid(), (to - from) as u64);
        self.log_by(life, What::Unmap(self.view_of(pid, self.address(from), pages, &self.views[&thing])));
        self.lives[life].cells[from..to].fill(Cell::default());
        Some(())
    }

    /// Logs a record of the heap provider.
    pub fn log_heap(&mut self, rec: Rec) {
        self.log_record(if self.setup.provider { rec.into_class(memory::win32_heap_ranges()) } else { rec });
    }

    /// Makes a heap, or gives one another range. The first range can be smaller than its creation says; then it comes as a
    /// reserve.
    pub fn heap(&mut self, life: usize, at: usize, pages: usize, grows: Option<usize>, how: u8) -> Option<()> {
        self.reserve(life, at, pages, memory::RESERVE | memory::COMMIT)?;
        let (p, pid, base, size) = (self.setup.p, self.lives[life].pid, self.address(at), pages as u64 * PAGE);
        let smaller = how == 1;
        let heap = grows.unwrap_or(self.lives[life].heaps.len());
        if grows.is_none() {
            if self.lives[life].heaps.iter().any(|heap| heap.handle == base) {
                return None;
            }
            self.lives[life].heaps.push(Heap { handle: base, ranges: Vec::new() });
            let claimed = if smaller { size + 2 * PAGE } else { size };
            self.log_heap(memory::heap_create(p, pid, base, claimed, 2));
        }
        let handle = self.lives[life].heaps[heap].handle;
        if grows.is_some() || smaller || how == 2 {
            self.log_heap(memory::heap_reserve(p, pid, handle, base, size));
        }
        let (thing, tracing) = (self.thing(), self.tracing);
        self.lives[life].heaps[heap].ranges.push((at, pages, thing));
        for cell in &mut self.lives[life].cells[at..at + pages] {
            (cell.heap, cell.traced_heap) = (Some(thing), tracing);
        }
        Some(())
    }

    /// A heap gives its first range back, or goes with all of them; then its ranges' ends may not be logged. The regions
    /// can go, too, with or without their sizes.
    pub fn end_heap(&mut self, life: usize, heap: usize, all: bool, ranges_end: bool, regions_go: Option<bool>) {
        let (p, pid, handle) = (self.setup.p, self.lives[life].pid, self.lives[life].heaps[heap].handle);
        let ranges = self.lives[life].heaps[heap].ranges.clone();
        let gone = if all { &ranges[..] } else { &ranges[..ranges.len().min(1)] };
        for &(at, pages, thing) in gone.iter().filter(|_| !all || ranges_end) {
            self.end_thing(thing);
            self.log_heap(memory::heap_release(p, pid, handle, self.address(at), pages as u64 * PAGE));
        }
        if all {
            self.log_heap(memory::heap_destroy(p, pid, handle));
            self.lives[life].heaps.remove(heap);
        } else {
            self.lives[life].heaps[heap].ranges.drain(..gone.len());
        }
        for &(at, pages, _) in gone {
            for cell in &mut self.lives[life].cells[at..at + pages] {
                (cell.heap, cell.traced_heap) = (None, false);
            }
            if let Some(with_size) = regions_go {
                self.release(life, at, at + pages, with_size);
            }
        }
    }

    /// Starts a thread whose stack is in a region of its own; it ends some pages below the region's end.
    pub fn start_thread(&mut self, life: usize, at: usize, pages: usize, below: usize, flags: u32) -> Option<()> {
        self.reserve(life, at, pages, flags)?;
        let base = at + pages - below;
        let limit = if flags & memory::COMMIT == 0 { base - 1 } else { base - 2 };
        let (tid, by) = (self.new_tid(), self.actor(life));
        self.new_thread(life, tid, Some(Stack { base, limit }), by);
        Some(())
    }
}
