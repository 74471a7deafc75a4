//! Process records (hooks 0x03xx) and their SID field.

use super::super::bytes::{Ptr, Put};
use super::super::record::{HeaderKind, Rec};

/// Hook: process start.
pub const START: u16 = 0x0301;
/// Hook: process end.
pub const END: u16 = 0x0302;
/// Hook: start rundown.
pub const DC_START: u16 = 0x0303;
/// Hook: end rundown.
pub const DC_END: u16 = 0x0304;
/// Hook: ended but still referenced (end rundown; version 5 has an exit time).
pub const DEFUNCT: u16 = 0x0327;

/// The user SID field.
#[derive(Clone, Debug)]
pub enum Sid {
    /// Short form: a zero u32, no SID.
    Short,
    /// `TOKEN_USER` with left-over pointers, then the SID.
    User {
        /// Identifier authority (5 = NT).
        authority: u64,
        /// Sub-authorities.
        sub: Vec<u32>,
    },
    /// As `User` with a zeroed `TOKEN_USER` (a published test file has it).
    ZeroedUser {
        /// Identifier authority.
        authority: u64,
        /// Sub-authorities.
        sub: Vec<u32>,
    },
}

impl Sid {
    /// S-1-5-18, Local System.
    pub fn system() -> Sid {
        Sid::User { authority: 5, sub: vec![18] }
    }

    fn put(&self, put: &mut Put) {
        let (token, authority, sub) = match self {
            Sid::Short => {
                put.u32(0);
                return;
            }
            Sid::User { authority, sub } => ([0xffff_c001_2345_6780, 0xbadd_cafe_0000_0007], authority, sub),
            Sid::ZeroedUser { authority, sub } => ([0, 0], authority, sub),
        };
        put.ptr(token[0]).ptr(token[1]);
        put.u8(1).u8(sub.len() as u8).raw(&authority.to_be_bytes()[2..]);
        sub.iter().for_each(|part| {
            put.u32(*part);
        });
    }
}

/// A process record, versions 1–5.
#[derive(Clone, Debug)]
pub struct Process {
    /// Unique process key: kernel object address (version 1: page directory base).
    pub key: u64,
    /// Process id.
    pub pid: u32,
    /// Parent process id.
    pub parent: u32,
    /// Session id, 0xffffffff none.
    pub session: u32,
    /// Exit status, 0x103 while running.
    pub exit_status: i32,
    /// Directory table base, version 3 and later.
    pub directory_table: u64,
    /// Flags, version 4 and later: 1 application id, 2 WOW64, 4 protected, 8 packaged.
    pub flags: u32,
    /// User SID.
    pub sid: Sid,
    /// Image file name.
    pub name: String,
    /// Instead of the name, when not empty: its bytes in a code page, or cut.
    pub name_bytes: Vec<u8>,
    /// Command line, version 2 and later.
    pub command: String,
    /// Package full name, version 4 and later.
    pub package: String,
    /// Application id, version 4 and later.
    pub app_id: String,
    /// Exit time, FILETIME, version 5.
    pub exit_time: u64,
}

impl Default for Process {
    fn default() -> Process {
        Process {
            key: 0,
            pid: 0,
            parent: 0,
            session: 1,
            exit_status: 0x103,
            directory_table: 0,
            flags: 0,
            sid: Sid::system(),
            name: String::new(),
            name_bytes: Vec::new(),
            command: String::new(),
            package: String::new(),
            app_id: String::new(),
            exit_time: 0,
        }
    }
}

impl Process {
    /// A process with this id and image name and keys derived from the id.
    pub fn new(pid: u32, name: &str) -> Process {
        Process {
            key: 0xffff_9c08_0000_0080 + u64::from(pid) * 0x1000,
            pid,
            parent: 4,
            directory_table: 0x1_2340_0000 + u64::from(pid) * 0x1000,
            name: name.into(),
            command: format!("\"C:\\Program Files\\{name}\" -run"),
            ..Process::default()
        }
    }

    /// The record: SYSTEM header for start and end and up to version 3, PERFINFO for rundowns of version 4 and later.
    /// The header's ids are the process's own; a start's should be set to the creator's with [`Rec::by`].
    pub fn rec(&self, p: Ptr, version: u16, hook: u16) -> Rec {
        let mut put = Put::new(p);
        put.ptr(self.key).u32(self.pid).u32(self.parent).u32(self.session).i32(self.exit_status);
        if version >= 3 {
            put.ptr(self.directory_table);
        }
        if version >= 4 {
            put.u32(self.flags);
        }
        self.sid.put(&mut put);
        match self.name_bytes.is_empty() {
            true => put.narrow(&self.name),
            false => put.raw(&self.name_bytes).u8(0),
        };
        if version >= 2 {
            put.wide(&self.command);
        }
        if version >= 4 {
            put.wide(&self.package).wide(&self.app_id);
        }
        if version >= 5 {
            put.u64(self.exit_time);
        }
        let rec = Rec::system(p, hook, version, put.done()).by(self.pid.wrapping_add(4), self.pid);
        if version >= 4 && hook != START && hook != END { rec.with_header(HeaderKind::PerfInfo(p)) } else { rec }
    }
}

/// Terminate (0x030b): the process id and 4 bytes.
pub fn terminate(p: Ptr, pid: u32) -> Rec {
    Rec::system(p, 0x030b, 2, Put::new(p).u32(pid).u32(0).done())
}

/// Process counters (0x0320 at end, 0x0321 rundown): 11 sizes, all in bytes, in the order peak virtual, peak working
/// set, peak pagefile, peak paged pool, peak non-paged pool, virtual, working set, pagefile, paged pool, non-paged pool,
/// private.
pub fn counters(p: Ptr, hook: u16, pid: u32, faults: u32, handles: u32, sizes: [u64; 11]) -> Rec {
    let mut put = Put::new(p);
    put.u32(pid).u32(faults).u32(handles).u32(0xdead_beef);
    sizes.iter().for_each(|size| {
        put.ptr(*size);
    });
    Rec::perf(p, hook, 2, put.done())
}

/// In-swap (0x0323).
pub fn in_swap(p: Ptr, directory_table: u64, pid: u32) -> Rec {
    Rec::perf(p, 0x0323, 2, Put::new(p).ptr(directory_table).u32(pid).done())
}
