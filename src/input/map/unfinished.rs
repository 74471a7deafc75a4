//! Files that are being written: when a lost page ends the process, no destructor runs, so the handlers of
//! [`lost_pages`](super::lost_pages) remove them.

use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Files at the same time; more are not removed.
const MOST_FILES: usize = 16;

/// Their names in the form that the system takes. A handler may run at any time, so it reads nothing but atomics, and whoever
/// takes a name out owns it.
static FILES: [AtomicPtr<system::Name>; MOST_FILES] = [const { AtomicPtr::new(null_mut()) }; MOST_FILES];

/// A file that is being written. It is finished, or somebody else removes it, when this is dropped.
#[derive(Debug)]
pub struct Unfinished(Option<usize>);

impl Unfinished {
    /// The file at this path, which must be absolute where the process may change its folder.
    pub fn new(path: &Path) -> Unfinished {
        let Some(name) = system::name(path) else { return Unfinished(None) };
        let name = Box::into_raw(Box::new(name));
        let is_free = |slot: &AtomicPtr<system::Name>| {
            slot.compare_exchange(null_mut(), name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let place = FILES.iter().position(is_free);
        if place.is_none() {
            drop_name(name);
        }
        Unfinished(place)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(slot) = self.0.and_then(|place| FILES.get(place)) {
            drop_name(slot.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

/// Frees a name of [`Unfinished::new`], unless a handler has taken it.
fn drop_name(name: *mut system::Name) {
    if !name.is_null() {
        // SAFETY: it came from `Box::into_raw`, and who swaps it out of its place is its only owner.
        #[allow(unsafe_code)]
        drop(unsafe { Box::from_raw(name) });
    }
}

/// Removes the files that are not finished. Called by handlers: it takes no lock and allocates nothing. The names are never
/// freed, because the process ends.
pub fn remove_all() {
    for slot in &FILES {
        let name = slot.swap(null_mut(), Ordering::AcqRel);
        // SAFETY: as in `drop_name`; it is valid or null.
        #[allow(unsafe_code)]
        if let Some(name) = unsafe { name.as_ref() } {
            system::remove(name);
        }
    }
}

#[cfg(unix)]
mod system {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    pub type Name = CString;

    pub fn name(path: &Path) -> Option<Name> {
        CString::new(path.as_os_str().as_bytes()).ok()
    }

    pub fn remove(name: &Name) {
        // SAFETY: the text ends with a NUL; handlers may call unlink.
        #[allow(unsafe_code)]
        let _ = unsafe { libc::unlink(name.as_ptr()) };
    }
}

#[cfg(windows)]
mod system {
    use std::os::windows::ffi::OsStrExt;
    use std::path::Path;
    use windows_sys::Win32::Storage::FileSystem::DeleteFileW;

    pub type Name = Vec<u16>;

    pub fn name(path: &Path) -> Option<Name> {
        Some(path.as_os_str().encode_wide().chain([0]).collect())
    }

    pub fn remove(name: &Name) {
        // SAFETY: the text ends with a NUL.
        #[allow(unsafe_code)]
        let _ = unsafe { DeleteFileW(name.as_ptr()) };
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    use std::path::Path;

    pub type Name = ();

    pub fn name(_: &Path) -> Option<Name> {
        None
    }

    pub fn remove(_: &Name) {}
}
