//! What the kernel has: files and their names, kernel images, views of sessions, pool, sections.

use super::addresses::{self, PAGE};
use super::event::{Pool, What};
use super::working_sets::SESSION_FILE;
use super::{FILE_PAGES, IMAGE_PAGES, Machine, SYSTEM, State};
use crate::payloads::file::{self, View, ViewKind};
use crate::payloads::image::{self, Image};
use crate::payloads::pages::Identity;
use crate::payloads::pool::{self, BigPool, Counted};
use crate::record::Rec;

/// Process whose id the views of sessions have.
const SESSION_PROCESS: u32 = 500;

impl Machine {
    /// Base of a kernel image.
    pub fn image_base(&self, slot: usize) -> u64 {
        addresses::IMAGES.of(self.setup.p) + slot as u64 * 2 * IMAGE_PAGES * PAGE
    }

    /// Base of a view of a session.
    pub fn session_base(&self, slot: usize) -> u64 {
        addresses::SESSION_VIEWS.of(self.setup.p) + slot as u64 * 2 * IMAGE_PAGES * PAGE
    }

    /// Address of a pool allocation.
    pub fn pool_base(&self, slot: usize) -> u64 {
        addresses::BIG_POOL.of(self.setup.p) + slot as u64 * 0x8_0000
    }

    /// Start of the PFN database.
    pub fn database(&self) -> u64 {
        addresses::PFN_DATABASE.of(self.setup.p)
    }

    /// Record of a file's name.
    pub fn file_record(&self, slot: usize, thing: usize, hook: u16) -> Rec {
        file::name(self.setup.p, hook, self.file_key(slot), &self.names[&thing])
    }

    /// A file gets a key. `path` is the end of its name after a folder of its own, or after the volume.
    pub fn create_file(&mut self, slot: usize, path: &str) {
        let thing = self.thing();
        let folder = if path.starts_with("Windows\\") { String::new() } else { format!("\\{thing}") };
        self.names.insert(thing, format!("\\Device\\HarddiskVolume3{folder}\\{path}"));
        self.files[slot].thing = Some(thing);
        self.log_any_header(self.file_record(slot, thing, file::CREATE));
    }

    /// The file of a key is deleted.
    pub fn delete_file(&mut self, slot: usize) -> Option<()> {
        let thing = self.files[slot].thing.take()?;
        self.end_thing(thing);
        self.log_any_header(self.file_record(slot, thing, file::DELETE));
        Some(())
    }

    /// Record of a kernel image.
    pub fn image_record(&self, slot: usize, thing: usize, hook: u16) -> Rec {
        let (base, name) = (self.image_base(slot), self.names[&thing].clone());
        let pid = if self.events.len().is_multiple_of(2) { 0 } else { SYSTEM.1 }; // both are seen
        Image { base, size: IMAGE_PAGES * PAGE, pid, name, ..Image::default() }.rec(self.setup.p, 3, hook)
    }

    /// A kernel image is loaded or unloaded; the first is the kernel itself and stays.
    pub fn change_image(&mut self, slot: usize) -> Option<()> {
        let (hook, thing) = match self.images[slot] {
            Some(_) if slot == 0 => return None,
            Some(thing) => {
                self.images[slot] = None;
                self.end_thing(thing);
                (image::UNLOAD, thing)
            }
            None => {
                let thing = self.thing();
                self.names.insert(thing, format!("\\SystemRoot\\driver{thing}.sys"));
                self.images[slot] = Some(thing);
                (image::LOAD, thing)
            }
        };
        self.log_any_header(self.image_record(slot, thing, hook));
        Some(())
    }

    /// The view of a session in a slot.
    pub fn session_view(&self, slot: usize, thing: usize) -> View {
        self.view_of(SESSION_PROCESS, self.session_base(slot), IMAGE_PAGES, &self.views[&thing])
    }

    /// A view of a session is mapped or unmapped; the first is win32k and stays.
    pub fn change_session(&mut self, slot: usize, kind: ViewKind, file: usize) -> Option<()> {
        match self.sessions[slot] {
            Some(_) if slot == 0 => return None,
            Some(thing) => {
                self.sessions[slot] = None;
                self.end_thing(thing);
                self.log(SYSTEM, What::Unmap(self.session_view(slot, thing)));
            }
            None => {
                let thing = self.new_view(kind, file);
                self.sessions[slot] = Some(thing);
                self.log(SYSTEM, What::Map(self.session_view(slot, thing)));
            }
        }
        Some(())
    }

    /// Tag of a pool allocation.
    pub fn tag(&self, thing: usize) -> [u8; 4] {
        self.names[&thing].as_bytes().try_into().expect("four letters")
    }

    /// Pool of a slot is freed, or allocated with this size and tag.
    pub fn change_pool(&mut self, by: (u32, u32), slot: usize, bytes: u64, tag: &str, kind: u32) {
        let address = self.pool_base(slot);
        match self.pool[slot].take() {
            Some((thing, bytes)) => {
                self.end_thing(thing);
                self.log(by, What::PoolFree(address, Pool { bytes, kind, tag: self.tag(thing) }));
            }
            None => {
                let thing = self.thing();
                self.names.insert(thing, tag.to_owned());
                self.pool[slot] = Some((thing, bytes));
                self.log(by, What::PoolAlloc(address, Pool { bytes, kind, tag: self.tag(thing) }));
            }
        }
    }

    /// Pool allocations that are there: slot, thing, bytes.
    pub fn pool_there(&self) -> Vec<(usize, usize, u64)> {
        self.pool.iter().enumerate().filter_map(|(slot, of)| of.map(|(thing, bytes)| (slot, thing, bytes))).collect()
    }

    /// The rundown of big pool allocations, one to a record.
    pub fn pool_records(&self, hook: u16, counted: Counted) -> Vec<(usize, Rec)> {
        let record = |(slot, thing, bytes): (usize, usize, u64)| {
            let (address, tag) = (self.pool_base(slot), self.tag(thing));
            let entry = BigPool { address, bytes, tag, non_paged: slot % 2 == 1 };
            (thing, pool::big_pool(self.setup.p, hook, None, counted, &[entry]))
        };
        self.pool_there().into_iter().map(record).collect()
    }

    /// First prototype PTE of a section.
    pub fn prototype(&self, file: usize) -> u64 {
        addresses::PROTOTYPES.of(self.setup.p) + file as u64 * 0x100
    }

    fn is_mapped(&self, life: usize, file: usize) -> bool {
        let shows = |thing: &usize| self.views[thing].file == file;
        self.lives[life].cells.iter().filter_map(|cell| cell.view).any(|thing| shows(&thing))
    }

    /// A section is deleted and its prototype PTEs are another one's at once.
    pub fn delete_section(&mut self, number: usize) -> Option<()> {
        (self.files[number].kind == ViewKind::PageFile).then_some(())?;
        // A view that nobody owns yet keeps its section.
        let unborn = |life: &usize| self.lives[*life].state == State::Unborn;
        if (0..self.lives.len()).filter(unborn).any(|life| self.is_mapped(life, number)) {
            return None;
        }
        let low = self.prototype(number);
        let its = |page: &mut Option<Identity>| {
            if page.is_some_and(|page| page.page_use == 2 && (low..low + 0x100).contains(&page.u2)) {
                *page = None;
            }
        };
        self.lives.iter_mut().flat_map(|life| &mut life.pages).for_each(|page| its(&mut page.held));
        self.cache.iter_mut().flat_map(|view| &mut view.held).for_each(its);
        self.session_pages.iter_mut().for_each(its);
        self.files[number].generation += 1;
        let frames = std::mem::take(&mut self.files[number].frames);
        self.free_frames.extend(frames.into_iter().flatten());
        self.log(SYSTEM, What::SectionDelete(low, low + 0x100));
        Some(())
    }

    /// A file that nobody maps is deleted; its key becomes another file's.
    pub fn replace_file(&mut self, number: usize, path: &str) -> Option<()> {
        let in_cache = self.cache.iter().any(|view| view.file.is_some_and(|(file, _)| file == number));
        let lives = (0..self.lives.len()).filter(|&life| self.lives[life].state != State::Dead);
        if number == SESSION_FILE || in_cache || { lives }.any(|life| self.is_mapped(life, number)) {
            return None;
        }
        self.delete_file(number);
        (0..FILE_PAGES).for_each(|page| {
            self.repurpose(number, page);
        });
        self.files[number].kind = match self.files[number].kind {
            ViewKind::PageFile => return None,
            ViewKind::Data => ViewKind::Image,
            _ => ViewKind::Data,
        };
        self.create_file(number, path);
        Some(())
    }
}
