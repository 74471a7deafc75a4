//! Process records: start, end and rundown, termination, counters, in-swap.
//!
//! Sources: `docs/formats.md` ("Process"): `Process_V2…V4_TypeGroup1`, `Process_Defunct_TypeGroup1` (version 5) and
//! `Process_V2_TypeGroup2` of the Windows MOF, checked on recorded traces (versions 3 and 4, 8-byte pointers).

use crate::byte_reader::{Cursor, Narrow, Wide, layout};
use crate::etl::record_id::HookId;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use crate::event::sid::{Sid, SidForm};
use crate::units::FileTime;
use hook::*;
use zerocopy::little_endian::{I32, U32};

crate::event::hooks_macro::hooks! {
    PROCESS_START = 0x0301, "Process: Start", "P-Start";
    PROCESS_END = 0x0302, "Process: End", "P-End";
    PROCESS_DC_START = 0x0303, "Process: DCStart", "P-DCStart";
    PROCESS_DC_END = 0x0304, "Process: DCEnd", "P-DCEnd";
    PROCESS_TERMINATE = 0x030b, "Process: Terminate";
    PERF_CTR = 0x0320, "Process: PerfCtr";
    PERF_CTR_RUNDOWN = 0x0321, "Process: PerfCtrRundown";
    IN_SWAP = 0x0323, "Process: InSwap";
    PROCESS_DEFUNCT = 0x0327, "Process: Defunct";
}

/// Which process record: start, end or rundown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProcessPhase {
    /// `0x0301`: the process starts; the header's ids are the creator's.
    Start,
    /// `0x0302`: the process ends; the header's ids are its own.
    End,
    /// `0x0303`: it runs when the session starts.
    DcStart,
    /// `0x0304`: it runs when the session ends.
    DcEnd,
    /// `0x0327`: it has ended, its address space is gone, but its object is still referenced (end rundown).
    Defunct,
}

impl ProcessPhase {
    /// The event of this phase.
    pub const fn hook(self) -> HookId {
        match self {
            ProcessPhase::Start => PROCESS_START,
            ProcessPhase::End => PROCESS_END,
            ProcessPhase::DcStart => PROCESS_DC_START,
            ProcessPhase::DcEnd => PROCESS_DC_END,
            ProcessPhase::Defunct => PROCESS_DEFUNCT,
        }
    }
}

/// Versions before 2 (before Windows Vista) have another layout and are only counted.
pub(crate) const FIRST_VERSION: u8 = 2;

/// A process, packed; 8-byte/4-byte pointers: fixed part of 24/20 (v2), 32/24 (v3), 36/28 bytes (v4), then SID, strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process<'a> {
    /// Address of the kernel's process object; distinguishes two processes that used the same id.
    pub key: u64,
    /// Process id.
    pub process_id: u32,
    /// Id of the process that created it (or is its parent by attribute).
    pub parent_id: u32,
    /// Session; `None` for Idle and System, which belong to none.
    pub session_id: Option<u32>,
    /// Exit status; 0x103 (still active) while running.
    pub exit_status: i32,
    /// Physical address of the top-level page table; `None` before version 3.
    pub directory_table_base: Option<u64>,
    /// Flags, see the constants; `None` before version 4.
    pub flags: Option<u32>,
    /// The user.
    pub sid: Option<Sid<'a>>,
    /// File name of the executable, without a path.
    pub image_name: Narrow<'a>,
    /// Command line; empty in rundowns of Idle, System and ended processes.
    pub command_line: Wide<'a>,
    /// Full name of the package; `None` before version 4.
    pub package_name: Option<Wide<'a>>,
    /// Application id inside the package; `None` before version 4.
    pub application_id: Option<Wide<'a>>,
    /// When it ended; only in `0x0327` of version 5.
    pub exit_time: Option<FileTime>,
}

impl<'a> Process<'a> {
    /// Flag: has an application id.
    pub const FLAG_APPLICATION_ID: u32 = 1;
    /// Flag: a 32-bit process on a 64-bit system.
    pub const FLAG_WOW64: u32 = 2;
    /// Flag: protected.
    pub const FLAG_PROTECTED: u32 = 4;
    /// Flag: packaged.
    pub const FLAG_PACKAGED: u32 = 8;

    /// Decodes a record of version 2 or later.
    ///
    /// # Errors
    /// A fault when a field passes the end, a string has no NUL, or the SID is not valid.
    pub fn read(payload: &Payload<'a>) -> Read<Process<'a>> {
        let defunct = payload.hook == PROCESS_DEFUNCT;
        let known = FIRST_VERSION..=if defunct { 5 } else { 4 };
        let has_exit_time = defunct && payload.version >= 5;
        let mut cursor = payload.cursor();
        let head = match payload.version {
            ..=2 => cursor.read::<HeadV2>()?,
            3 => cursor.read::<HeadV3>()?,
            _ => cursor.read::<HeadV4>()?,
        };
        if cursor.clone().u32("user SID")? != 0 {
            let (process, end) = head.rest(payload, cursor, SidForm::BehindTokenUser, has_exit_time)?;
            return Ok(Parsed::new(process, payload.ends(&end, known)));
        }
        // Four zero bytes are a missing SID or the start of a zeroed token: only an exact end can show which.
        let mut fault = Fault::Value { field: "user SID" };
        for form in [SidForm::Absent, SidForm::BehindTokenUser] {
            let next = match head.rest(payload, cursor.clone(), form, has_exit_time) {
                Ok((process, end)) if end.remaining() == 0 => {
                    return Ok(Parsed::new(process, payload.ends(&end, known)));
                }
                Ok((_, end)) => Fault::Trailing { parsed: end.position() },
                Err(error) => error,
            };
            // What is told is the fault of the form that fits farther.
            let ends_twice = matches!((fault, next), (Fault::Trailing { .. }, Fault::Trailing { .. }));
            if !ends_twice && reached(next) >= reached(fault) {
                fault = next;
            }
        }
        Err(fault)
    }
}

/// How far a payload fits.
fn reached(fault: Fault) -> usize {
    match fault {
        Fault::Short { at, .. } | Fault::Unterminated { at, .. } | Fault::Trailing { parsed: at } => at,
        _ => 0,
    }
}

/// The fixed part.
pub(in crate::event) struct ProcessFields {
    key: u64,
    process_id: u32,
    parent_id: u32,
    session_id: u32,
    exit_status: i32,
    directory_table_base: Option<u64>,
    flags: Option<u32>,
}

layout! {
    HeadV2<P> = 24 / 20 bytes => ProcessFields {
        key: P, process_id: U32, parent_id: U32, session_id: U32, exit_status: I32
    } with |_| { directory_table_base: None, flags: None }
}

layout! {
    HeadV3<P> = 32 / 24 bytes => ProcessFields {
        key: P, process_id: U32, parent_id: U32, session_id: U32, exit_status: I32, directory_table_base: P
    } with |_| { flags: None }
}

layout! {
    HeadV4<P> = 36 / 28 bytes => ProcessFields {
        key: P, process_id: U32, parent_id: U32, session_id: U32, exit_status: I32, directory_table_base: P, flags: U32
    }
}

impl ProcessFields {
    fn rest<'a>(
        &self,
        payload: &Payload<'a>,
        mut c: Cursor<'a>,
        form: SidForm,
        has_exit_time: bool,
    ) -> Result<(Process<'a>, Cursor<'a>), Fault> {
        let has_package = payload.version >= 4;
        let process = Process {
            key: self.key,
            process_id: self.process_id,
            parent_id: self.parent_id,
            session_id: (self.session_id != u32::MAX).then_some(self.session_id),
            exit_status: self.exit_status,
            directory_table_base: self.directory_table_base,
            flags: self.flags,
            sid: Sid::read(&mut c, payload.pointer, form)?,
            image_name: c.narrow("image file name")?,
            command_line: c.wide("command line")?,
            package_name: if has_package { Some(c.wide("package full name")?) } else { None },
            application_id: if has_package { Some(c.wide("application id")?) } else { None },
            exit_time: if has_exit_time { Some(FileTime(c.u64("exit time")?)) } else { None },
        };
        Ok((process, c))
    }
}

/// `0x030b` Terminate: 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTerminate {
    /// The process.
    pub process_id: u32,
}

layout! {
    TerminateLayout = 4 bytes => ProcessTerminate, fn read(ANY) { process_id: U32 }
}

/// `0x0320` (at process end) and `0x0321` (end rundown): memory counters of a process, 104/60 bytes, all sizes in bytes.
///
/// In `0x0320` only the peaks are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessCounters {
    /// The process.
    pub process_id: u32,
    /// Page faults since its start.
    pub page_faults: u32,
    /// Open handles.
    pub handles: u32,
    /// A field without a documented meaning, as it is in the record.
    pub reserved: u32,
    /// Peak of the virtual size.
    pub peak_virtual_bytes: u64,
    /// Peak of the working set.
    pub peak_working_set_bytes: u64,
    /// Peak of the pagefile usage.
    pub peak_pagefile_bytes: u64,
    /// Peak of the paged pool charged.
    pub peak_paged_pool_bytes: u64,
    /// Peak of the non-paged pool charged.
    pub peak_non_paged_pool_bytes: u64,
    /// Virtual size.
    pub virtual_bytes: u64,
    /// Working set.
    pub working_set_bytes: u64,
    /// Pagefile usage.
    pub pagefile_bytes: u64,
    /// Paged pool charged.
    pub paged_pool_bytes: u64,
    /// Non-paged pool charged.
    pub non_paged_pool_bytes: u64,
    /// Private commit (`PrivatePageCount` in the MOF, but bytes).
    pub private_bytes: u64,
}

layout! {
    CountersLayout<P> = 104 / 60 bytes => ProcessCounters, fn read(2..=2) {
        process_id: U32, page_faults: U32, handles: U32, reserved: U32, peak_virtual_bytes: P,
        peak_working_set_bytes: P, peak_pagefile_bytes: P, peak_paged_pool_bytes: P, peak_non_paged_pool_bytes: P,
        virtual_bytes: P, working_set_bytes: P, pagefile_bytes: P, paged_pool_bytes: P, non_paged_pool_bytes: P,
        private_bytes: P
    }
}

/// `0x0323`: the pages of a swapped-out process come back, 12/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInSwap {
    /// Physical address of the top-level page table.
    pub directory_table_base: u64,
    /// The process.
    pub process_id: u32,
}

layout! {
    InSwapLayout<P> = 12 / 8 bytes => ProcessInSwap, fn read(ANY) { directory_table_base: P, process_id: U32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Event, Oddity, Phase};
    use crate::units::PointerSize;

    /// What stands before the SID, by the table of the specification.
    fn head(version: u8, p: PointerSize) -> Bytes {
        let size = match (version, p) {
            (2, P8) => 24,
            (2, P4) => 20,
            (3, P8) => 32,
            (3, P4) => 24,
            (_, P8) => 36,
            (_, P4) => 28,
        };
        let at = p.pick([8, 12, 16, 20], [4, 8, 12, 16]);
        let bytes = Bytes::new(size).ptr(p, 0, 0xffff_a000_1234_5080).u32(at[0], 4312).u32(at[1], 808);
        let bytes = bytes.u32(at[2], 1).u32(at[3], 0x103);
        match version {
            2 => bytes,
            3 => bytes.ptr(p, p.pick(24, 20), 0x1_2345_6000),
            _ => bytes.ptr(p, p.pick(24, 20), 0x1_2345_6000).u32(p.pick(32, 24), 9),
        }
    }

    fn token_user(p: PointerSize, first: u32) -> Vec<u8> {
        let mut bytes = vec![0xcc; p.pick(16, 8)];
        bytes[..4].copy_from_slice(&first.to_le_bytes());
        bytes
    }

    const SYSTEM: [u8; 12] = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];

    fn strings(bytes: Bytes, version: u8) -> Bytes {
        let bytes = bytes.narrow("notepad.exe").wide("notepad a.txt");
        if version >= 4 { bytes.wide("Pkg_1").wide("App") } else { bytes }
    }

    fn sample(version: u8, p: PointerSize) -> Bytes {
        strings(head(version, p).more(&token_user(p, 0xdead)).more(&SYSTEM), version)
    }

    fn process<'a>(event: Event<'a>, phase: ProcessPhase) -> Process<'a> {
        match event {
            Event::Process { phase: found, process } if found == phase => process,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_version_and_pointer_size() {
        for (version, p) in [(2, P8), (2, P4), (3, P8), (3, P4), (4, P8), (4, P4)] {
            let bytes = sample(version, p);
            let found = process(event(0x0301, version, p, &bytes), ProcessPhase::Start);
            assert_eq!(found.key, p.pick(0xffff_a000_1234_5080, 0x1234_5080));
            assert_eq!((found.process_id, found.parent_id, found.session_id), (4312, 808, Some(1)));
            assert_eq!(found.exit_status, 0x103);
            let directory = (version >= 3).then_some(p.pick(0x1_2345_6000, 0x2345_6000));
            assert_eq!(found.directory_table_base, directory);
            assert_eq!(found.flags, (version >= 4).then_some(9));
            assert_eq!(found.sid.unwrap().to_string(), "S-1-5-18");
            assert_eq!(found.image_name.text(), "notepad.exe");
            assert_eq!(found.command_line.to_string(), "notepad a.txt");
            assert_eq!(found.package_name.map(|n| n.to_string()), (version >= 4).then(|| "Pkg_1".into()));
            assert_eq!(found.application_id.map(|n| n.to_string()), (version >= 4).then(|| "App".into()));
            assert_eq!(found.exit_time, None);
            check_strings(0x0301, version, p, &bytes);
        }
    }

    #[test]
    fn every_phase() {
        let bytes = sample(4, P8);
        for (hook, phase) in [
            (0x0301, ProcessPhase::Start),
            (0x0302, ProcessPhase::End),
            (0x0303, ProcessPhase::DcStart),
            (0x0304, ProcessPhase::DcEnd),
            (0x0327, ProcessPhase::Defunct),
        ] {
            process(event(hook, 4, P8, &bytes), phase);
        }
    }

    #[test]
    fn only_defunct_version_5_has_an_exit_time() {
        let bytes = sample(4, P8).more(&77u64.to_le_bytes());
        let found = process(event(0x0327, 5, P8, &bytes), ProcessPhase::Defunct);
        assert_eq!(found.exit_time, Some(FileTime(77)));
        check_strings(0x0327, 5, P8, &bytes);
        assert_eq!(odd(0x0327, 4, P8, &bytes).1, Oddity::Longer { parsed: bytes.0.len() - 8 });
        assert_eq!(odd(0x0301, 5, P8, &bytes).1, Oddity::UnknownVersion { parsed: bytes.0.len() - 8 });
    }

    #[test]
    fn idle_has_no_session() {
        let bytes = sample(4, P8).u32(16, u32::MAX);
        assert_eq!(process(event(0x0303, 4, P8, &bytes), ProcessPhase::DcStart).session_id, None);
    }

    #[test]
    fn four_zero_bytes_are_no_sid_or_a_zeroed_token_whichever_ends_exactly() {
        for p in [P8, P4] {
            let none = strings(head(4, p).more(&[0; 4]), 4);
            assert_eq!(process(event(0x0301, 4, p, &none), ProcessPhase::Start).sid, None);
            check_no_prefix(p, &none);

            let mut zeroed = token_user(p, 0);
            zeroed.fill(0);
            let zeroed = strings(head(4, p).more(&zeroed).more(&SYSTEM), 4);
            let found = process(event(0x0301, 4, p, &zeroed), ProcessPhase::Start);
            assert_eq!(
                (found.sid.unwrap().to_string().as_str(), &*found.image_name.text()),
                ("S-1-5-18", "notepad.exe")
            );

            // Neither form ends exactly.
            let neither = none.more(&[1, 2, 3]);
            fault(0x0301, 4, p, &neither);
        }
    }

    fn check_no_prefix(p: PointerSize, bytes: &Bytes) {
        for cut in 1..=bytes.0.len() {
            fault(0x0301, 4, p, &bytes.clone().cut(cut));
        }
    }

    #[test]
    fn a_broken_sid_or_string_spoils_the_record() {
        let bytes = sample(4, P8);
        assert_eq!(fault(0x0301, 4, P8, &bytes.clone().u8(36 + 16, 3)), Fault::Value { field: "SID revision" });
        let unterminated = head(4, P8).more(&token_user(P8, 1)).more(&SYSTEM).more(b"abc");
        let at = 36 + 16 + 12;
        assert_eq!(fault(0x0301, 4, P8, &unterminated), Fault::Unterminated { field: "image file name", at });
    }

    #[test]
    fn versions_before_vista_are_only_counted() {
        for version in [0, 1] {
            for hook in [0x0301, 0x0302, 0x0303, 0x0304, 0x0327] {
                let bytes = sample(2, P8);
                let decoded = crate::event::decode(&record(hook, version, P8, &bytes.0));
                assert_eq!(decoded, crate::event::Decoded::NotDecoded);
            }
        }
    }

    #[test]
    fn terminate_is_an_id() {
        let bytes = Bytes::new(4).u32(0, 4312);
        assert_eq!(event(0x030b, 2, P8, &bytes), Event::ProcessTerminate(ProcessTerminate { process_id: 4312 }));
        check_fixed(0x030b, 2, P8, &bytes);
    }

    #[test]
    fn counters_lie_behind_16_bytes() {
        for (p, size) in [(P8, 104), (P4, 60)] {
            let mut bytes = Bytes::new(size).u32(0, 12).u32(4, 34).u32(8, 56).u32(12, 0xdead);
            for index in 0..11 {
                bytes = bytes.ptr(p, 16 + index * p.bytes(), 4096 * (index as u64 + 1));
            }
            let Event::ProcessCounters { phase, counters } = event(0x0321, 2, p, &bytes) else { panic!() };
            assert_eq!(phase, Phase::DcEnd);
            assert_eq!(
                (counters.process_id, counters.page_faults, counters.handles, counters.reserved),
                (12, 34, 56, 0xdead)
            );
            assert_eq!((counters.peak_virtual_bytes, counters.peak_working_set_bytes), (4096, 8192));
            assert_eq!((counters.working_set_bytes, counters.private_bytes), (4096 * 7, 4096 * 11));
            check_fixed(0x0320, 2, p, &bytes);
            check_unknown_version(0x0320, p, &bytes);
        }
    }

    #[test]
    fn in_swap() {
        for (p, size) in [(P8, 12), (P4, 8)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0x7000).u32(p.bytes(), 99);
            let expected = ProcessInSwap { directory_table_base: 0x7000, process_id: 99 };
            assert_eq!(event(0x0323, 2, p, &bytes), Event::ProcessInSwap(expected));
            check_fixed(0x0323, 2, p, &bytes);
        }
    }
}
