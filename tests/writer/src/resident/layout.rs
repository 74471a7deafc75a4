//! Where everything lies on the simulated machine: processes, their address ranges, files, kernel addresses.
//!
//! Nothing is stored: each range of each process is computed from its number, so that thousands of ranges in hundreds
//! of processes cost no memory and two passes see the same machine.

use super::super::bytes::Ptr;
use super::super::machine::addresses::{self, PAGE};
use super::super::machine::recording::Phase;
use super::super::payloads::file::ViewKind;
use super::ResidentSpec;

/// What an address range of a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeKind {
    /// VirtualAlloc region.
    Private,
    /// Range of a heap, inside a VirtualAlloc region of the same extent.
    Heap,
    /// Stack reservation of a thread, a VirtualAlloc region.
    Stack,
    /// Mapped view.
    View(ViewKind),
}

/// When a range existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// From before the trace to its end: in both rundowns.
    Whole,
    /// Made during the trace: an event and the end rundown.
    Made,
    /// Gone before the end: the start rundown and an event.
    Gone,
}

impl Life {
    /// Whether the range is in a rundown.
    pub fn is_in(self, phase: Phase) -> bool {
        match self {
            Life::Whole => true,
            Life::Made => phase == Phase::End,
            Life::Gone => phase == Phase::Start,
        }
    }
}

/// One address range.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// Number in its process.
    pub index: u64,
    /// First address.
    pub base: u64,
    /// Pages.
    pub pages: u64,
    /// What it is.
    pub kind: RangeKind,
    /// When it was.
    pub life: Life,
}

impl Range {
    /// Size, bytes.
    pub fn size(&self) -> u64 {
        self.pages * PAGE
    }
}

/// What a file is, by which its pages get their category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Mapped as an image.
    Image,
    /// Plain data.
    Data,
    /// A driver read as data (`.sys`).
    DriverData,
    /// `.pf`.
    Prefetch,
    /// A registry hive.
    Hive,
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What was asked for.
    pub spec: ResidentSpec,
    stride: u64,
}

/// A well-mixed number from two.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x = (x ^ (x >> 31)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ (x >> 29)
}

impl Layout {
    /// The machine for this specification.
    pub fn new(spec: &ResidentSpec) -> Layout {
        let stride = match spec.pointer {
            Ptr::P8 => 0x20_0000,
            Ptr::P4 => (0x7000_0000 / spec.ranges_per_process.max(1)).min(0x20_0000) & !0xffff,
        };
        assert!(stride >= 0x2_0000, "too many ranges for a 32-bit process");
        assert!(spec.pointer == Ptr::P8 || spec.pages <= 0x10_0000, "a 32-bit machine has at most 4 GiB");
        assert!(spec.processes >= 4 && spec.files >= 64 && spec.ranges_per_process >= 64, "too small a machine");
        Layout { spec: spec.clone(), stride }
    }

    /// Kernel address of this machine's width.
    fn kernel(&self, p8: u64, p4: u64) -> u64 {
        self.spec.pointer.pick(p8, p4)
    }

    /// Process id of process `i`; the first is System.
    pub fn pid(&self, i: u64) -> u32 {
        4 + (i as u32) * 8
    }

    /// Unique process key. `older` is the process that had the id before.
    pub fn process_key(&self, i: u64, older: bool) -> u64 {
        let key = addresses::process_key(self.spec.pointer, i);
        if older { key + self.kernel(0x8000_0000, 0x0280_0000) } else { key }
    }

    /// The owner key that page identities of process `i` carry: process id in version 4, low 48 bits of the unique
    /// process key (32-bit traces: all of it) before.
    pub fn owner_key(&self, i: u64) -> u64 {
        if self.spec.event_version >= 4 {
            u64::from(self.pid(i))
        } else {
            self.process_key(i, false) & 0xffff_ffff_ffff
        }
    }

    /// Image name of process `i`.
    pub fn process_name(&self, i: u64) -> String {
        const NAMES: [&str; 8] = [
            "svchost.exe",
            "chrome.exe",
            "explorer.exe",
            "devenv.exe",
            "msedge.exe",
            "SearchHost.exe",
            "Teams.exe",
            "app.exe",
        ];
        if i == 0 { "System".into() } else { NAMES[(i % 8) as usize].into() }
    }

    /// Whether the id of process `i` belonged to another process when the trace began.
    pub fn reuses_id(&self, i: u64) -> bool {
        i % 50 == 17
    }

    /// Number of threads of process `i`: one per stack range.
    pub fn threads(&self) -> u64 {
        self.spec.ranges_per_process.div_ceil(64)
    }

    /// Range `j` of process `i`.
    pub fn range(&self, i: u64, j: u64) -> Range {
        let dice = mix(i << 32 | j, self.spec.seed);
        let kind = match j % 16 {
            0 if j.is_multiple_of(64) => RangeKind::Stack,
            1 | 2 => RangeKind::View(if dice.is_multiple_of(32) { ViewKind::ImageOther } else { ViewKind::Image }),
            3 => RangeKind::View(ViewKind::Data),
            4 => RangeKind::View(ViewKind::PageFile),
            5..=8 => RangeKind::Heap,
            _ => RangeKind::Private,
        };
        let room = self.stride / PAGE - 1;
        let pages = if kind == RangeKind::Stack { Layout::MOST_PAGES_OF_A_RANGE } else { 16 + (dice >> 8) % 49 };
        let shift = if self.stride == 0x20_0000 { ((dice >> 16) % 8) * 0x1_0000 } else { 0 };
        let start = self.spec.pointer.pick(0x0200_0000_0000 + (i % 64) * 0x1_0000_0000, 0x0040_0000);
        let life = match (kind, (dice >> 24) % 32) {
            _ if self.reuses_id(i) => Life::Made,
            // Stacks and heaps live with their threads and processes here.
            (RangeKind::Stack | RangeKind::Heap, _) => Life::Whole,
            (_, 0) => Life::Made,
            (_, 1) => Life::Gone,
            _ => Life::Whole,
        };
        Range { index: j, base: start + j * self.stride + shift, pages: pages.min(room), kind, life }
    }

    /// An address of process `i` in no range, the `n`-th page of it.
    pub fn outside(&self, i: u64, n: u64) -> u64 {
        self.spec.pointer.pick(0x7ff0_0000_0000 + ((i % 64) << 32), 0x7100_0000) + n * PAGE
    }

    /// What file `f` is. Every third file is an image.
    pub fn file_kind(&self, f: u64) -> FileKind {
        match (f % 3, f % 128) {
            (0, _) => FileKind::Image,
            (_, 11) => FileKind::DriverData,
            (_, 29) => FileKind::Prefetch,
            (_, 1) if f == 1 => FileKind::Hive,
            _ => FileKind::Data,
        }
    }

    /// File key of file `f` (low two bits free for the page identity's own).
    pub fn file_key(&self, f: u64) -> u64 {
        addresses::file_key(self.spec.pointer, f)
    }

    /// Name of file `f`; `None` for the few the kernel cannot name.
    pub fn file_name(&self, f: u64) -> Option<String> {
        let volume = "\\Device\\HarddiskVolume3";
        let kind = self.file_kind(f);
        if kind == FileKind::Data && f % 97 == 5 {
            return None;
        }
        Some(match kind {
            FileKind::Image if f.is_multiple_of(2) => format!("{volume}\\Windows\\System32\\lib{f:05}.dll"),
            FileKind::Image => format!("{volume}\\Program Files\\Vendor {}\\bin\\app{f:05}.dll", f % 41),
            FileKind::Data => format!("{volume}\\Users\\user\\AppData\\Local\\Cache {}\\data_{f:05}.bin", f % 131),
            FileKind::DriverData => format!("{volume}\\Windows\\System32\\drivers\\drv{f:05}.sys"),
            FileKind::Prefetch => format!("{volume}\\Windows\\Prefetch\\APP{f:05}.EXE-{:08X}.pf", mix(f, 1) as u32),
            FileKind::Hive => format!("{volume}\\Windows\\System32\\config\\SOFTWARE"),
        })
    }

    /// The file that a view maps.
    pub fn view_key(&self, i: u64, range: &Range) -> u64 {
        let dice = mix(i << 32 | range.index, 77);
        match range.kind {
            RangeKind::View(ViewKind::Image | ViewKind::ImageOther) => self.file_key(dice % (self.spec.files / 3) * 3),
            RangeKind::View(ViewKind::Data) => self.file_key(dice % (self.spec.files / 3) * 3 + 1),
            _ => self.kernel(0xffff_d700_0000_0000, 0x9e00_0000) + (dice % 0x1000) * 0x100,
        }
    }

    /// Pages of a stack, the largest range.
    pub const MOST_PAGES_OF_A_RANGE: u64 = 256;

    /// Number of kernel images.
    pub const DRIVERS: u64 = 200;
    /// Pages of each kernel image.
    pub const DRIVER_PAGES: u64 = 64;

    /// Base of kernel image `d`.
    pub fn driver_base(&self, d: u64) -> u64 {
        addresses::IMAGES.of(self.spec.pointer) + d * Self::DRIVER_PAGES * PAGE
    }

    /// Start of the PFN database.
    pub fn pfn_database(&self) -> u64 {
        addresses::PFN_DATABASE.of(self.spec.pointer)
    }

    /// A kernel address for use `page_use`, the `n`-th page.
    pub fn kernel_page(&self, page_use: u8, n: u64) -> u64 {
        let p8 = match page_use {
            4 => 0xffff_8a00_0000_0000,
            5 => 0xffff_e000_0000_0000,
            7 => 0xffff_f900_c000_0000,
            11 => 0xffff_d000_2000_0000,
            12 => 0xffff_f580_1081_0000,
            _ => 0xffff_f880_0000_0000,
        };
        // The 32-bit kernel's areas are small: let them wrap around.
        self.kernel(p8 + n * PAGE, 0xb400_0000 + u64::from(page_use) * 0x0400_0000 + (n % 0x4000) * PAGE)
    }
}
