//! Files that are being written: when a lost page or a signal ends the process, no destructor runs, so handlers remove them: those
//! of [`lost_pages`](super::lost_pages), and those of [`remove_when_stopped`].

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

/// From now on, Ctrl-C and other requests to stop remove the files that are not finished; then they end the process as they would
/// have done. For programs.
pub fn remove_when_stopped() {
    system::install();
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
    use super::remove_all;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    pub type Name = CString;

    /// Requests to stop: Ctrl-C, `kill`, a terminal that is closed.
    const REQUESTS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

    pub fn install() {
        for signal in REQUESTS.into_iter().filter(|&signal| is_by_default(signal)) {
            // SAFETY: the action calls unlink, signal and raise only, which handlers may call. It takes no lock and allocates
            // nothing. The signal is blocked while the action runs, so that it ends the process when the action returns.
            #[allow(unsafe_code)]
            let installed = unsafe {
                signal_hook_registry::register(signal, move || {
                    remove_all();
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                })
            };
            drop(installed); // without the handler all is as it was: the signal ends the process
        }
    }

    /// Whether the signal ends the process. Who started it may have said that it is ignored (`nohup`).
    fn is_by_default(signal: libc::c_int) -> bool {
        // SAFETY: a structure of integers and pointers, for which zeros are valid; sigaction fills it and changes nothing.
        #[allow(unsafe_code)]
        unsafe {
            let mut known: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut known) == 0 && known.sa_sigaction == libc::SIG_DFL
        }
    }

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
    use super::remove_all;
    use std::os::windows::ffi::OsStrExt;
    use std::path::Path;
    use windows_sys::Win32::Storage::FileSystem::DeleteFileW;
    use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
    use windows_sys::core::BOOL;

    pub type Name = Vec<u16>;

    pub fn install() {
        // SAFETY: the handler is a function that lives as long as the process.
        #[allow(unsafe_code)]
        let _ = unsafe { SetConsoleCtrlHandler(Some(handler), 1) }; // without it all is as it was
    }

    // SAFETY: Windows calls it on a thread of its own; it needs nothing of the argument.
    #[allow(unsafe_code)]
    unsafe extern "system" fn handler(_request: u32) -> BOOL {
        remove_all();
        0 // the next handler, that of the system, ends the process
    }

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

    pub fn install() {}

    pub fn name(_: &Path) -> Option<Name> {
        None
    }

    pub fn remove(_: &Name) {}
}
