//! What happens on the made-up machine outside of address spaces: processes, files, drivers, session images.

use crate::resident::world::{Cell, FIXED, Life, PAGE, PAGES, SLOT_PAGES, World};
use etl_writer::Rec;
use etl_writer::payloads::file::{self, View};
use etl_writer::payloads::image::{self, Image};
use etl_writer::payloads::pool::{self, BigPool, Counted};
use etl_writer::payloads::process::{self, Process};
use etl_writer::payloads::thread;

impl World {
    pub fn process_record(&self, life: &Life, hook: u16) -> Rec {
        let process = Process {
            key: self.process_key(life),
            directory_table: Self::directory(life),
            session: (life.number % 3) as u32,
            ..Process::new(life.pid, &Self::name(life))
        };
        process.rec(self.setup.p, 4, hook)
    }

    pub fn start_process(&mut self, a: u8, b: u8, c: u8) {
        let pid = 8 + 4 * u32::from(a % 4);
        if self.lives.iter().any(|life| life.alive && life.pid == pid) {
            return;
        }
        let (thing, number) = (self.thing(), self.lives.len() as u64);
        let cells = vec![Cell::default(); PAGES];
        self.lives.push(Life { pid, number, alive: true, thing, cells, stacks: Vec::new(), heaps: Vec::new() });
        let (i, creator) = (self.lives.len() - 1, 5000 + u32::from(b % 2) * 4);
        // Views that are mapped before the process has an id; each in the place of the one before.
        for n in 0..b % 4 {
            let thing = self.new_view(c.wrapping_add(n));
            let at = usize::from(c) % (PAGES - FIXED - 4);
            self.log(self.view_record(0, at, 2, thing, file::MAP).by(creator, 4));
            if n + 1 < b % 4 {
                self.log(self.view_record(0, at, 2, thing, file::UNMAP).by(creator, 4));
            } else {
                self.put_view(i, at, 2, thing);
            }
        }
        self.log(self.process_record(&self.lives[i], process::START).by(creator, 4));
        // What every process has.
        self.map(i, PAGES - FIXED, 1, 1);
        self.start_thread(i, PAGES - FIXED + 2, 0);
        self.heap(i, PAGES - 1, 2);
    }

    pub fn end_process(&mut self, a: u8, b: u8) {
        let Some(i) = self.alive(a) else { return };
        if b.is_multiple_of(2) {
            for stack in self.lives[i].stacks.clone() {
                self.end(stack.thing);
                let rec = self.thread_record(&self.lives[i], &stack, thread::END);
                self.log_any_header(rec);
            }
        }
        self.end(self.lives[i].thing);
        let rec = self.process_record(&self.lives[i], process::END);
        self.log_any_header(rec);
        self.lives[i].alive = false;
    }

    pub fn change_file(&mut self, a: u8, b: u8) {
        const NAMES: [&str; 8] = [
            "drv.SYS",
            "A.EXE-1.pf",
            "Windows\\System32\\config\\SOFTWARE",
            "data.bin",
            "SYSTEM",
            "lib.dll",
            "x.PF",
            "b.txt",
        ];
        let slot = usize::from(a) % self.files.len();
        let (hook, thing) = match self.files[slot].take() {
            Some(thing) => {
                self.end(thing);
                (file::DELETE, thing)
            }
            None => {
                let thing = self.thing();
                let place =
                    if NAMES[usize::from(b % 8)].starts_with("Win") { String::new() } else { format!("\\{thing}") };
                self.names.insert(thing, format!("\\Device\\HarddiskVolume3{place}\\{}", NAMES[usize::from(b % 8)]));
                self.files[slot] = Some(thing);
                (file::CREATE, thing)
            }
        };
        let rec = file::name(self.setup.p, hook, self.file_key(slot), &self.names[&thing]);
        self.log_any_header(rec);
    }

    pub fn image_record(&self, slot: usize, thing: usize, hook: u16) -> Rec {
        let (base, name) = (self.image_base(slot), self.names[&thing].clone());
        let pid = if thing.is_multiple_of(2) { 0 } else { 4 };
        Image { base, size: SLOT_PAGES * PAGE, pid, name, ..Image::default() }.rec(self.setup.p, 3, hook)
    }

    pub fn change_image(&mut self, a: u8) {
        let slot = usize::from(a) % self.images.len();
        if slot == 0 && self.images[0].is_some() {
            return; // the kernel itself
        }
        let (hook, thing) = match self.images[slot].take() {
            Some(thing) => {
                self.end(thing);
                (image::UNLOAD, thing)
            }
            None => {
                let thing = self.thing();
                self.names.insert(thing, format!("\\SystemRoot\\driver{thing}.sys"));
                self.images[slot] = Some(thing);
                (image::LOAD, thing)
            }
        };
        let rec = self.image_record(slot, thing, hook);
        self.log_any_header(rec);
    }

    pub fn session_record(&self, slot: usize, thing: usize, hook: u16) -> Rec {
        let (kind, file) = self.views[&thing];
        let view = View::new(500, self.session_base(slot), SLOT_PAGES * PAGE, self.file_key(file), kind);
        view.rec(self.setup.p, 3, hook)
    }

    pub fn change_session(&mut self, a: u8) {
        let slot = usize::from(a) % self.sessions.len();
        if slot == 0 && self.sessions[0].is_some() {
            return; // win32k
        }
        let (hook, thing) = match self.sessions[slot].take() {
            Some(thing) => {
                self.end(thing);
                (file::UNMAP, thing)
            }
            None => {
                let thing = self.new_view(a);
                self.sessions[slot] = Some(thing);
                (file::MAP, thing)
            }
        };
        let rec = self.session_record(slot, thing, hook);
        self.log_any_header(rec);
    }

    pub fn change_pool(&mut self, a: u8, b: u8) {
        let slot = usize::from(a) % self.pool.len();
        if slot == 0 && self.pool[0].is_some() {
            return; // some is always there
        }
        let (hook, thing) = match self.pool[slot].take() {
            Some(thing) => {
                self.end(thing);
                (pool::FREE, thing)
            }
            None => {
                let thing = self.thing();
                self.names.insert(thing, ["Ntfs", "MmSt", "Cc  ", "Fil5"][usize::from(b % 4)].into());
                self.pool[slot] = Some(thing);
                (pool::ALLOC, thing)
            }
        };
        let (kind, base) = (0x1000_0200 | u32::from(b % 2), self.pool_base(slot));
        let rec = pool::pool(self.setup.p, hook, kind, self.tag(thing), SLOT_PAGES * PAGE - 0x800, base);
        self.log_any_header(rec);
        // Small allocations within a page say nothing of it.
        let small = pool::pool(self.setup.p, pool::ALLOC, kind, *b"Smal", 0x80, base + 0x40);
        self.log(small);
    }

    fn tag(&self, thing: usize) -> [u8; 4] {
        self.names[&thing].as_bytes().try_into().unwrap()
    }

    /// The rundown of big pool allocations, one to a record.
    pub fn pool_records(&self, hook: u16, counted: Counted) -> Vec<(usize, Rec)> {
        let there = self.pool.iter().enumerate().filter_map(|(slot, thing)| Some((slot, (*thing)?)));
        let record = |(slot, thing): (usize, usize)| {
            let (address, bytes, tag) = (self.pool_base(slot), SLOT_PAGES * PAGE - 0x800, self.tag(thing));
            let entry = BigPool { address, bytes, tag, non_paged: slot == 1 };
            (thing, pool::big_pool(self.setup.p, hook, None, counted, &[entry]))
        };
        there.map(record).collect()
    }
}
