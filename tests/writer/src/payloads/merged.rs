//! Records that trace merging adds: SysConfig and ImageId, FULL headers with class GUIDs.

use super::super::bytes::{Ptr, Put, guid};
use super::super::record::Rec;

/// Class SysConfig (system paths, volumes, build).
pub fn sys_config() -> [u8; 16] {
    guid("9b79ee91-b5fd-41c0-a243-4248e266e9d0")
}

/// Class ImageId.
pub fn image_id() -> [u8; 16] {
    guid("b3e675d7-2554-4f18-830b-2762732560de")
}

/// Build info (type 32): install date, build lab, product name.
pub fn build_info(p: Ptr, install: u64, lab: &str, product: &str) -> Rec {
    Rec::full(p, sys_config(), 32, 0, Put::new(p).u64(install).wide(lab).wide(product).done())
}

/// System paths (type 33).
pub fn system_paths(p: Ptr, system: &str, windows: &str) -> Rec {
    Rec::full(p, sys_config(), 33, 0, Put::new(p).wide(system).wide(windows).done())
}

/// A volume without drive letter (type 34).
pub fn unknown_volume(p: Ptr, device: &str) -> Rec {
    Rec::full(p, sys_config(), 34, 0, Put::new(p).wide(device).done())
}

/// Volume mapping (type 35): `\Device\HarddiskVolume3\` → `C:\`.
pub fn volume(p: Ptr, device: &str, drive: &str) -> Rec {
    Rec::full(p, sys_config(), 35, 0, Put::new(p).wide(device).wide(drive).done())
}

/// Device family (type 37): four 16-bit numbers of the version from high to low, family, form.
pub fn device_family(p: Ptr, version: [u16; 4], family: u32, form: u32) -> Rec {
    Rec::full(p, sys_config(), 37, 0, super::system::family_payload(version, family, form))
}

/// Image id (type 0): base, size, process, PE time stamp, original file name.
pub fn image(p: Ptr, base: u64, size: u64, pid: u32, time_stamp: u32, name: &str) -> Rec {
    Rec::full(p, image_id(), 0, 2, Put::new(p).ptr(base).ptr(size).u32(pid).u32(time_stamp).wide(name).done())
        .by(super::super::record::NO_ID, pid)
}

/// Debug id of an image (type 36, or 37 for managed code).
pub fn debug_id(p: Ptr, kind: u8, base: u64, pid: u32, id: [u8; 16], age: u32, pdb: &str) -> Rec {
    Rec::full(p, image_id(), kind, 2, Put::new(p).ptr(base).u32(pid).raw(&id).u32(age).narrow(pdb).done())
        .by(super::super::record::NO_ID, pid)
}

/// An image without debug id (type 32).
pub fn no_debug_id(p: Ptr, base: u64, pid: u32) -> Rec {
    Rec::full(p, image_id(), 32, 2, Put::new(p).ptr(base).u32(pid).done()).by(super::super::record::NO_ID, pid)
}

/// File version (type 64): size, PE time stamp, 10 strings.
pub fn file_version(p: Ptr, size: u32, time_stamp: u32, texts: [&str; 10]) -> Rec {
    let mut put = Put::new(p);
    put.u32(size).u32(time_stamp);
    texts.iter().for_each(|text| {
        put.wide(text);
    });
    Rec::full(p, image_id(), 64, 0, put.done())
}
