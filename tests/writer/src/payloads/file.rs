//! File names and mapped views (hooks 0x04xx), registry hives (0x09xx).

use super::super::bytes::{Ptr, Put};
use super::super::record::{HeaderKind, Rec};

/// Hook: file name (old).
pub const NAME: u16 = 0x0400;
/// Hook: file object created.
pub const CREATE: u16 = 0x0420;
/// Hook: file object deleted.
pub const DELETE: u16 = 0x0423;
/// Hook: file name rundown at the end.
pub const RUNDOWN: u16 = 0x0424;
/// Hook: view mapped.
pub const MAP: u16 = 0x0425;
/// Hook: view unmapped.
pub const UNMAP: u16 = 0x0426;
/// Hook: views, start rundown.
pub const MAP_DC_START: u16 = 0x0427;
/// Hook: views, end rundown.
pub const MAP_DC_END: u16 = 0x0428;

/// A file key with its name (0x0400, 0x0420, 0x0423, 0x0424).
pub fn name(p: Ptr, hook: u16, key: u64, name: &str) -> Rec {
    Rec::perf(p, hook, 2, Put::new(p).ptr(key).wide(name).done())
}

/// What a view maps: bits 54–55 of *misc*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewKind {
    /// Data file.
    Data = 0,
    /// Image.
    Image = 1,
    /// Image mapped with another protection.
    ImageOther = 2,
    /// Pagefile-backed section.
    PageFile = 3,
}

/// A mapped view.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// View base.
    pub base: u64,
    /// Size, bytes.
    pub size: u64,
    /// File key, 0 or section address for pagefile-backed views.
    pub key: u64,
    /// Kind.
    pub kind: ViewKind,
    /// Protection code, bits 48–52 of *misc*.
    pub protection: u8,
    /// Byte offset in the file, low 48 bits of *misc*.
    pub file_offset: u64,
    /// Version 3: the u64 before the process id (taken for the view's commit charge, bytes).
    pub commit: u64,
    /// Process id; 0 = a process that is being created.
    pub pid: u32,
}

impl View {
    /// A view of the whole file `key`.
    pub fn new(pid: u32, base: u64, size: u64, key: u64, kind: ViewKind) -> View {
        View { base, size, key, kind, protection: 1, file_offset: 0, commit: 0, pid }
    }

    /// The record, version 2 or 3: PERFINFO for rundowns, else SYSTEM with the process's ids.
    pub fn rec(&self, p: Ptr, version: u16, hook: u16) -> Rec {
        let misc = (self.kind as u64) << 54
            | (u64::from(self.protection) & 0x1f) << 48
            | (self.file_offset & 0xffff_ffff_ffff);
        let mut put = Put::new(p);
        put.ptr(self.base).ptr(self.key).u64(misc).ptr(self.size);
        if version >= 3 {
            put.u64(self.commit);
        }
        let rec = Rec::system(p, hook, version, put.u32(self.pid).done()).by(self.pid.wrapping_add(4), self.pid);
        if matches!(hook, MAP_DC_START | MAP_DC_END) { rec.with_header(HeaderKind::PerfInfo(p)) } else { rec }
    }
}

/// Registry hive rundown (0x0927).
pub fn hive_rundown(p: Ptr, hive: u64, size: u64, keys: u32, file: &str, link: &str) -> Rec {
    Rec::perf(p, 0x0927, 2, Put::new(p).u64(size).ptr(hive).u32(keys).wide(file).wide(link).done())
}

/// Registry hive initialize (0x0924).
pub fn hive_initialize(p: Ptr, hive: u64, operation: u32, tag: u32, size: u32, file: &str) -> Rec {
    Rec::perf(p, 0x0924, 2, Put::new(p).ptr(hive).u32(operation).u32(tag).u32(size).wide(file).done())
}

/// Registry hive destroy (0x0925).
pub fn hive_destroy(p: Ptr, hive: u64, file: &str, path: &str) -> Rec {
    Rec::perf(p, 0x0925, 2, Put::new(p).ptr(hive).wide(file).wide(path).done())
}

/// Registry hive link (0x0926).
pub fn hive_link(p: Ptr, hive: u64, path: &str) -> Rec {
    Rec::perf(p, 0x0926, 2, Put::new(p).ptr(hive).wide(path).done())
}
