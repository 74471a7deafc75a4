//! The page sequence: one identity per physical page, PFN rising, in runs with holes, and the truth about each page.
//!
//! Pages come in short runs of one kind and owner, as they do on a machine that hands out pages to whoever faults
//! next. No private page's address and no file page's offset is given twice.

use super::super::machine::addresses::PAGE;
use super::super::payloads::file::ViewKind;
use super::super::payloads::pages::{Identity, list};
use super::super::rng::Rng;
use super::layout::{FileKind, Layout, Life, RangeKind};

/// What the simulation knows of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// The identity to be logged.
    pub identity: Identity,
    /// Corrected category of the page.
    pub category: &'static str,
    /// Process number, for pages with an owner key.
    pub owner: Option<u64>,
}

/// Kinds of page runs with their share, in 1/1000 of the runs, and their longest run.
const MIX: [(Kind, u64, u64); 18] = [
    (Kind::Private, 450, 8),
    (Kind::File, 345, 8),
    (Kind::Section, 35, 8),
    (Kind::PageTable, 20, 4),
    (Kind::PagedPool, 18, 8),
    (Kind::NonPagedPool, 20, 8),
    (Kind::PfnDatabase, 12, 8),
    (Kind::Driver, 3, 8),
    (Kind::SystemPte, 5, 8),
    (Kind::Session, 5, 8),
    (Kind::MetaFile, 30, 8),
    (Kind::Awe, 1, 8),
    (Kind::DriverLocked, 2, 8),
    (Kind::KernelStack, 6, 6),
    (Kind::WsMetaData, 2, 4),
    (Kind::Given, 1, 4),
    (Kind::Bad, 1, 1),
    (Kind::Unused, 44, 16),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Private,
    File,
    Section,
    PageTable,
    PagedPool,
    NonPagedPool,
    PfnDatabase,
    Driver,
    SystemPte,
    Session,
    MetaFile,
    Awe,
    DriverLocked,
    KernelStack,
    WsMetaData,
    Given,
    Bad,
    Unused,
    Large,
}

/// The sequence; the same again from each [`Pages::new`].
pub struct Pages<'a> {
    layout: &'a Layout,
    rng: Rng,
    left: u64,
    pfn: u64,
    run: (Kind, u64, u64),
    /// Next private page of each process, and how many lie outside its ranges.
    private: Vec<(u64, u64)>,
    /// Next page of the often and the seldom used files.
    file: [u64; 2],
    /// Pages handed out so far, by use; 16 drivers, 17 PFN database, 18 page tables.
    given: [u64; 19],
}

impl<'a> Pages<'a> {
    /// Starts at PFN 1.
    pub fn new(layout: &'a Layout) -> Pages<'a> {
        Pages {
            layout,
            rng: Rng::new(layout.spec.seed),
            left: layout.spec.pages,
            pfn: 1,
            run: (Kind::Unused, 0, 0),
            private: vec![(0, 0); layout.spec.processes as usize],
            file: [0; 2],
            given: [0; 19],
        }
    }

    fn count(&mut self, what: usize) -> u64 {
        self.given[what] += 1;
        self.given[what] - 1
    }

    /// Pages of the PFN database handed out so far.
    pub fn pfn_database_pages(&self) -> u64 {
        self.given[17]
    }

    /// PFNs have holes below 1 MiB and 4 GiB and a small one each 2 GiB.
    fn next_pfn(&mut self) -> u64 {
        let pfn = self.pfn;
        self.pfn = match pfn + 1 {
            0xa0 => 0x100,
            0xc_0000 => 0x10_0000,
            next if next % 0x8_0000 == 0x7_fe00 => next + 0x200,
            next => next,
        };
        pfn
    }

    fn new_run(&mut self) {
        if self.left >= 4096 && self.rng.below(60_000) == 0 {
            self.run = (Kind::Large, 512, 1 + self.rng.below(self.layout.spec.processes - 1));
            return;
        }
        let mut dice = self.rng.below(MIX.iter().map(|kind| kind.1).sum());
        let mut picked = MIX[0];
        for kind in MIX {
            picked = kind;
            if dice < kind.1 {
                break;
            }
            dice -= kind.1;
        }
        // Few processes have most of the memory.
        let n = self.layout.spec.processes - 1;
        let limit = 1 + self.rng.below(n);
        let owner = 1 + self.rng.below(limit);
        self.run = (picked.0, self.rng.between(1, picked.2), owner);
    }

    /// Address and category of the next private page of process `i`.
    fn private_page(&mut self, i: u64) -> (u64, &'static str) {
        let slot = &mut self.private[i as usize];
        let ranges = self.layout.spec.ranges_per_process;
        // In a sequence far larger than all ranges there is soon no page of them left.
        let is_full = slot.0 / 4 / ranges * 4 >= Layout::MOST_PAGES_OF_A_RANGE;
        if !self.rng.percent(3) && !is_full {
            for _ in 0..64 {
                let (cluster, within) = (slot.0 / 4, slot.0 % 4);
                slot.0 += 1;
                // A prime step: each pass over the clusters visits every range once, neighbours far apart.
                let range = self.layout.range(i, (cluster * 1_000_003 + i) % ranges);
                let at = cluster / ranges * 4 + within;
                let view = matches!(range.kind, RangeKind::View(_));
                if at >= range.pages || range.life == Life::Gone || (view && within > 0) {
                    continue;
                }
                let address = match range.kind {
                    RangeKind::Stack => range.base + range.size() - (at + 1) * PAGE,
                    _ => range.base + at * PAGE,
                };
                return (address, private_category(range.kind));
            }
        }
        slot.1 += 1;
        (self.layout.outside(i, slot.1), "VirtualAlloc_PreTrace")
    }

    /// The next file page.
    fn file_page(&mut self, pfn: u64) -> (Identity, &'static str) {
        let files = self.layout.spec.files;
        let seldom = usize::from(self.rng.percent(60));
        let span = if seldom == 1 { files } else { files / 16 };
        let n = self.file[seldom];
        self.file[seldom] += 1;
        let (cluster, within) = (n / 8, n % 8);
        let f = (cluster * 1_000_003) % span;
        // The two cursors can meet in one file: they own odd and even pages.
        let page = (cluster / span * 8 + within) * 2 + seldom as u64;
        let kind = self.layout.file_kind(f);
        let image = kind == FileKind::Image;
        (Identity::file(pfn, self.layout.file_key(f), page * PAGE, image), file_category(kind))
    }

    fn page(&mut self, pfn: u64) -> Page {
        let (kind, _, i) = self.run;
        let key = self.layout.owner_key(i);
        let owned =
            |page_use: u8, address: u64, category| (Identity::new(page_use, pfn, key, address), category, Some(i));
        let version_4 = self.layout.spec.event_version >= 4;
        let (identity, category, owner) = match kind {
            Kind::Private => {
                let (address, category) = self.private_page(i);
                owned(0, address, category)
            }
            Kind::File => {
                let (identity, category) = self.file_page(pfn);
                (identity, category, None)
            }
            Kind::Section => {
                let n = self.count(2);
                let at = self.layout.spec.pointer.pick(0xffff_8a01_0000_0000 + n * 8, 0x9800_0000 + n * 8);
                let combined = n.is_multiple_of(500);
                let references = if combined { 3 } else { 0 };
                (Identity::new(2, pfn, references, at | u64::from(combined)), "PageFileMappedSection", None)
            }
            Kind::PageTable => {
                let n = self.count(18);
                let at =
                    self.layout.spec.pointer.pick(0xffff_f680_0000_0000 + n * PAGE, 0xc000_0000 + (n % 0x800) * PAGE);
                owned(3, at, "PageTable")
            }
            Kind::WsMetaData => owned(12, 0, "WsMetaData"),
            // Each page of its own, high above the ranges.
            Kind::Large => {
                let n = self.count(13);
                let at =
                    self.layout.spec.pointer.pick(0x5000_0000_0000 + n * PAGE, 0x6000_0000 + (n % 0x1_0000) * PAGE);
                if version_4 { owned(13, at, "LargePage") } else { (Identity::new(13, pfn, 0, at), "LargePage", None) }
            }
            Kind::Awe if version_4 => owned(9, 0, "AddressingWindowExtensionsPage"),
            _ => self.kernel_page(kind, pfn),
        };
        let mut page = Page { identity, category, owner };
        self.put_on_list(&mut page, kind);
        page
    }

    /// Pages without an owner key.
    fn kernel_page(&mut self, kind: Kind, pfn: u64) -> (Identity, &'static str, Option<u64>) {
        let layout = self.layout;
        let mut at = |page_use: u8, category| {
            let n = self.count(usize::from(page_use));
            (Identity::new(page_use, pfn, 0, layout.kernel_page(page_use, n)), category, None)
        };
        match kind {
            Kind::PagedPool => at(4, "PagedPool"),
            Kind::NonPagedPool => at(5, "NonPagedPool"),
            Kind::SystemPte => at(6, "SystemPage"),
            Kind::Session => at(7, "SessionPrivate"),
            Kind::KernelStack => at(11, "KernelStack"),
            Kind::DriverLocked => (Identity::new(10, pfn, 0, 0), "DriverLockedSystemPage", None),
            Kind::Awe => (Identity::new(9, pfn, 0, 0), "AddressingWindowExtensionsPage", None),
            Kind::Given if pfn.is_multiple_of(2) => (Identity::new(14, pfn, 0, 0), "Use14", None),
            Kind::Given => (Identity::new(15, pfn, 0, 0), "Use15", None),
            Kind::PfnDatabase => {
                let n = self.count(17);
                (Identity::new(6, pfn, 0, layout.pfn_database() + n * PAGE), "PfnDatabase", None)
            }
            Kind::Driver => {
                let n = self.count(16) % (Layout::DRIVERS * Layout::DRIVER_PAGES);
                (Identity::new(6, pfn, 0, layout.driver_base(0) + n * PAGE), "Driver", None)
            }
            Kind::MetaFile => {
                let n = self.count(8);
                let key = layout.file_key(layout.spec.files + n % 64);
                (Identity { page_use: 8, ..Identity::file(pfn, key, n / 64 * PAGE, false) }, "MetaFile", None)
            }
            _ => (Identity::new(0, pfn, 0, 0), "Unused", None),
        }
    }

    /// List, priority and flags; pages off the active list with a category of their own get it.
    fn put_on_list(&mut self, page: &mut Page, kind: Kind) {
        let dice = self.rng.below(1000);
        let id = &mut page.identity;
        id.list = match (kind, dice) {
            (Kind::Unused, 0..=799) => list::ZERO,
            (Kind::Unused, _) => list::FREE,
            (Kind::Bad, _) => list::BAD,
            (Kind::Private | Kind::File | Kind::Section, 0..=1) => list::TRANSITION,
            (Kind::Private, 2..=80) => list::STANDBY,
            (Kind::Private, 81..=180) => list::MODIFIED,
            (Kind::File | Kind::MetaFile, 2..=600) => list::STANDBY,
            (Kind::File | Kind::MetaFile, 601..=620) => list::MODIFIED,
            (Kind::MetaFile, 621..=625) => list::MODIFIED_NO_WRITE,
            (Kind::Section, 2..=100) => list::MODIFIED,
            _ => list::ACTIVE,
        };
        if kind == Kind::Private && id.list == list::STANDBY && dice.is_multiple_of(8) {
            // Off the working set, and the kernel found no owner.
            (id.key, id.u2, page.owner, page.category) = (0, 0, None, "VirtualAlloc_PreTrace");
        }
        if id.list == list::STANDBY {
            id.priority = (dice % 8) as u8;
        }
        if id.list == list::ACTIVE {
            id.cold = dice.is_multiple_of(16);
            id.pinned = dice % 64 == 1;
            id.non_tradeable =
                self.layout.spec.build >= 26100 && matches!(kind, Kind::NonPagedPool | Kind::KernelStack);
        }
        match id.list {
            list::ZERO | list::FREE => page.category = "Unused",
            list::BAD => page.category = "BadPage",
            list::TRANSITION => page.category = "StraggleIOPage",
            _ => {}
        }
    }
}

impl Iterator for Pages<'_> {
    type Item = Page;

    fn next(&mut self) -> Option<Page> {
        self.left = self.left.checked_sub(1)?;
        if self.run.1 == 0 {
            self.new_run();
        }
        self.run.1 -= 1;
        let pfn = self.next_pfn();
        Some(self.page(pfn))
    }
}

fn private_category(kind: RangeKind) -> &'static str {
    match kind {
        RangeKind::Private => "VirtualAlloc",
        RangeKind::Heap => "Win32Heap",
        RangeKind::Stack => "UserStack",
        RangeKind::View(ViewKind::Image | ViewKind::ImageOther) => "CopyOnWriteImage",
        RangeKind::View(ViewKind::Data) => "CopyOnWriteMapFile",
        RangeKind::View(ViewKind::PageFile) => "CopyOnWritePageFileMappedSection",
    }
}

fn file_category(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Image => "Image",
        FileKind::Data => "MapFile",
        FileKind::DriverData => "DriverFile",
        FileKind::Prefetch => "Prefetcher",
        FileKind::Hive => "RegistryFile",
    }
}
