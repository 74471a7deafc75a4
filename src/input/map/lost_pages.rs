//! What happens when a part of a mapped file cannot be read any more, because the file was cut meanwhile, or its disk or its
//! network failed. Linux and macOS then raise SIGBUS, Windows an in-page error. Without a handler both end the process.
//!
//! A handler cannot let the reading code return an error. It can only print the reason and end the process. A library does
//! neither unless it is asked to: [`exit_with`].

use super::output_cleanup;
use crate::escape::visible;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Maps that are watched at the same time; more are not watched.
const MOST_MAPS: usize = 1024;

/// The exit code; 0 where no program asked for an end.
static EXIT_CODE: AtomicI32 = AtomicI32::new(0);
/// Whether a thread has met a lost page.
static IS_SAID: AtomicBool = AtomicBool::new(false);
/// All watched maps.
static MAPS: [Watched; MOST_MAPS] =
    [const { Watched { start: AtomicUsize::new(0), end: AtomicUsize::new(0), text: AtomicPtr::new(null_mut()) } };
        MOST_MAPS];
/// Files that were found shorter than their maps.
static SHRUNK: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Files that are mapped now.
static MAPPED: Mutex<Vec<Weak<MappedFile>>> = Mutex::new(Vec::new());

/// A map: its addresses, and what to say when one of them cannot be read. A handler may run at any time, so it reads
/// nothing but atomics.
struct Watched {
    start: AtomicUsize,
    end: AtomicUsize,
    text: AtomicPtr<String>,
}

/// From now on, the process writes a line to standard error and ends with this code when a part of a trace that it opens
/// cannot be read any more. For programs: other threads and destructors do not get to know.
pub fn exit_with(code: u8) {
    if EXIT_CODE.swap(code.into(), Ordering::Relaxed) == 0 {
        system::install();
    }
}

/// The files that became shorter while they were mapped, and of which no lost part was read. Each is returned once.
pub fn shrunk() -> Vec<PathBuf> {
    std::mem::take(&mut locked(&SHRUNK))
}

/// A file that became shorter since it was mapped, if there is one: what was read of it cannot be trusted. It is not among those of
/// [`shrunk`] any more, because the caller says it.
pub fn first_shrunk() -> Option<PathBuf> {
    let mapped: Vec<_> = locked(&MAPPED).iter().filter_map(Weak::upgrade).collect();
    if let Some(file) = mapped.iter().find(|file| file.tell_shorter()) {
        return Some(file.path.clone());
    }
    let mut before = locked(&SHRUNK);
    if before.is_empty() { None } else { Some(before.remove(0)) }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that is mapped, for looks at its size. A lost part that nothing has read raised no signal, and the rest of the last page
/// reads as zeros.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    path: PathBuf,
    length: u64,
    is_told: AtomicBool,
}

impl MappedFile {
    /// The open file at `path`, of which so many bytes are mapped.
    pub fn new(file: File, path: &Path, length: u64) -> Arc<MappedFile> {
        let mapped = Arc::new(MappedFile { file, path: path.to_owned(), length, is_told: AtomicBool::new(false) });
        let mut all = locked(&MAPPED);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&mapped));
        mapped
    }

    fn is_shorter(&self) -> bool {
        self.file.metadata().is_ok_and(|now| now.len() < self.length)
    }

    /// True when it has lost a part, which the caller says.
    pub fn tell_shorter(&self) -> bool {
        let is_shorter = self.is_shorter();
        self.is_told.fetch_or(is_shorter, Ordering::Relaxed);
        is_shorter
    }

    /// See [`Mapping::next_data`](super::Mapping::next_data).
    pub fn next_data(&self, offset: u64) -> u64 {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            use std::os::fd::AsRawFd;
            let Ok(from) = libc::off_t::try_from(offset) else { return offset };
            // SAFETY: the file is open. Its position changes, which nothing uses: its bytes are read by the map.
            #[allow(unsafe_code)]
            let found = unsafe { libc::lseek(self.file.as_raw_fd(), from, libc::SEEK_DATA) };
            match u64::try_from(found) {
                Ok(data) => data.max(offset),
                // No data follows; any other error says nothing.
                Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO) => u64::MAX,
                Err(_) => offset,
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        offset
    }

    /// Remembers whether it has lost a part; called when the map is not read any more.
    pub fn note(&self) {
        if !self.is_told.load(Ordering::Relaxed) && self.is_shorter() {
            locked(&SHRUNK).push(self.path.clone());
        }
    }
}

/// What is said of such a file.
pub const REASON: &str = "it became shorter while it was read; copy it again, or wait until it is complete";

/// A watched map; watching ends when it is dropped, which must be before the memory is unmapped.
#[derive(Debug)]
pub struct Watch(Option<usize>);

impl Watch {
    /// Watches the map of the file at `path`.
    pub fn new(path: &Path, map: &[u8]) -> Watch {
        if EXIT_CODE.load(Ordering::Relaxed) == 0 {
            return Watch(None);
        }
        let name = path.display().to_string();
        let text = format!("pfnset: cannot read {} any more: it became shorter, or its disk failed\n", visible(&name));
        let text = Box::into_raw(Box::new(text));
        let free =
            |slot: &Watched| slot.text.compare_exchange(null_mut(), text, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let place = MAPS.iter().position(free);
        match place.and_then(|place| MAPS.get(place)) {
            Some(slot) => {
                let range = map.as_ptr_range();
                slot.start.store(range.start.addr(), Ordering::Release);
                slot.end.store(range.end.addr(), Ordering::Release);
            }
            None => drop_text(text),
        }
        Watch(place)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(slot) = self.0.and_then(|place| MAPS.get(place)) {
            slot.end.store(0, Ordering::Release);
            slot.start.store(0, Ordering::Release);
            drop_text(slot.text.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

/// Frees a text of [`Watch::new`].
fn drop_text(text: *mut String) {
    // SAFETY: `text` came from `Box::into_raw` and its owner gives it away here. No handler holds it: handlers take texts of
    // maps in which a read failed, and a map is not read any more when its watch is dropped.
    #[allow(unsafe_code)]
    drop(unsafe { Box::from_raw(text) });
}

/// The exit code and what to say when this address cannot be read; `None` for an address in none of the maps. Called by
/// handlers: it takes no lock and allocates nothing.
fn lost(address: usize) -> Option<(i32, &'static [u8])> {
    let holds =
        |slot: &&Watched| (slot.start.load(Ordering::Acquire)..slot.end.load(Ordering::Acquire)).contains(&address);
    let text = MAPS.iter().find(holds)?.text.load(Ordering::Acquire);
    // SAFETY: the map with this address is being read, so its watch lives, and so does the text. The process ends before
    // the borrow does.
    #[allow(unsafe_code)]
    let text: &'static String = unsafe { text.as_ref()? };
    // One thread says it; the others wait for the end that it makes.
    while IS_SAID.swap(true, Ordering::AcqRel) {
        std::hint::spin_loop();
    }
    output_cleanup::remove_all();
    Some((EXIT_CODE.load(Ordering::Relaxed), text.as_bytes()))
}

#[cfg(unix)]
mod system {
    use super::lost;

    /// Handles SIGBUS instead of the standard library, whose handler looks for stack overflows: it restores the default
    /// action, which would end the process when a second thread reads a lost page before the first one has said why.
    pub fn install() {
        // SAFETY: the action calls `lost`, unlink, write, _exit and signal only, which may be called in a handler of signals. The
        // address is there: the signal is SIGBUS. Where it is in no map, the action returns and the instruction fails
        // again, now with the default action.
        #[allow(unsafe_code)]
        let installed = unsafe {
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            signal_hook_registry::register_sigaction(libc::SIGBUS, |signal| {
                if let Some((code, text)) = lost(signal.si_addr().addr()) {
                    libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
                    libc::_exit(code);
                }
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
            })
        };
        drop(installed); // without the handler all is as it was: the signal ends the process
    }
}

#[cfg(windows)]
mod system {
    use super::lost;
    use windows_sys::Win32::Foundation::{EXCEPTION_ACCESS_VIOLATION, EXCEPTION_IN_PAGE_ERROR};
    use windows_sys::Win32::Storage::FileSystem::WriteFile;
    use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE};
    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
    };
    use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};

    /// Handles in-page errors. Windows refuses to cut a file that is mapped, but files on other machines can be cut there,
    /// and disks and networks fail.
    pub fn install() {
        // SAFETY: the handler is a function that lives as long as the process.
        #[allow(unsafe_code)]
        let handle = unsafe { AddVectoredExceptionHandler(1, Some(handler)) };
        let _ = handle; // without the handler all is as it was: the exception ends the process
    }

    // SAFETY: Windows calls it with pointers to an exception that live until it returns.
    #[allow(unsafe_code)]
    unsafe extern "system" fn handler(exception: *mut EXCEPTION_POINTERS) -> i32 {
        // SAFETY: see above. Parameters: how it was accessed, the address, the status of the system.
        let record = unsafe { &*(*exception).ExceptionRecord };
        // Wine says of a cut file that the access is a violation, which one inside of a map never is.
        if [EXCEPTION_IN_PAGE_ERROR, EXCEPTION_ACCESS_VIOLATION].contains(&record.ExceptionCode) {
            if let Some((code, text)) = lost(record.ExceptionInformation[1]) {
                // SAFETY: the text is valid for its length; no other pointer is needed.
                unsafe {
                    let (out, mut written) = (GetStdHandle(STD_ERROR_HANDLE), 0);
                    WriteFile(out, text.as_ptr(), text.len() as u32, &mut written, std::ptr::null_mut());
                    TerminateProcess(GetCurrentProcess(), code as u32);
                }
            }
        }
        EXCEPTION_CONTINUE_SEARCH
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    pub fn install() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_shrank_is_told_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let open = || super::super::Mapping::open(file.path()).unwrap();
        let told = || shrunk().iter().filter(|path| *path == file.path()).count();
        drop(open());
        assert_eq!(told(), 0);
        let map = open();
        if file.as_file().set_len(9000).is_ok() {
            assert_eq!(first_shrunk().as_deref(), Some(file.path()));
            drop(map);
            assert_eq!(told(), 0, "it was told before");
        }
        let map = open();
        // Windows refuses it.
        if file.as_file().set_len(5000).is_ok() {
            drop(map);
            assert_eq!((told(), told()), (1, 0));
        }
        let map = open();
        file.as_file().set_len(1 << 21).unwrap();
        drop(map);
        assert_eq!(told(), 0, "a log that grows is fine");
    }
}
