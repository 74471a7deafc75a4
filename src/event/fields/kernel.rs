//! Fields of kernel events by the names of their MOF classes, in payload order.
//!
//! Sources: `docs/events.md` ("Kernel events"). Events whose payload is a list of records of its own are shown as bytes.

use super::builder::Builder;
use super::fields_that_fit::{Whole, fields_that_fit};
use super::reader;
use super::value::FieldValue;
use crate::code_page::CodePage;
use crate::etl::record::Record;
use crate::event::disk_io::{DiskEvent, DiskOperation};
use crate::event::header_group::{DebugId, LogFile, PartitionInfo, PartitionName};
use crate::event::merged::{AddedByMerge, FileVersion};
use crate::event::perfinfo::ProfileSample;
use crate::event::process::{Process, ProcessCounters};
use crate::event::stack::StackOwner;
use crate::event::system_config::DeviceFamily;
use crate::event::thread::Thread;
use crate::event::{Decoded, Event, Fault, Oddity, Payload, decode};

/// Fields of a kernel event, those that do not fit, and where the bytes begin that no field has; `None` where it is shown as bytes.
pub fn fields(record: &Record<'_>, code_page: CodePage) -> Option<reader::Decoded<'static>> {
    match whole(record, code_page)? {
        Ok((fields, rest)) => Some(reader::Decoded { fields, missing: Vec::new(), rest }),
        Err(fault) => fields_that_fit(record, fault, &|record| whole(record, code_page)),
    }
}

/// Reads an event; an error where it has not its whole layout, `None` where it is shown as bytes.
fn whole(record: &Record<'_>, code_page: CodePage) -> Option<Result<Whole, Fault>> {
    let mut fields = Builder::new(code_page);
    let payload = Payload::of(record);
    let oddity = match payload.as_ref().and_then(DiskEvent::read) {
        Some(Ok(parsed)) => {
            fields.disk(&parsed.value);
            parsed.oddity
        }
        Some(Err(fault)) => return Some(Err(fault)),
        None => match decode(record) {
            Decoded::Event { event, surplus } => {
                fields.event(&event)?;
                surplus.map(|surplus| surplus.what)
            }
            Decoded::Malformed(malformed) => return Some(Err(malformed.what)),
            Decoded::NotDecoded => return None,
        },
    };
    Some(Ok((fields.list, end(record, oddity))))
}

fn end(record: &Record<'_>, oddity: Option<Oddity>) -> usize {
    match oddity {
        Some(Oddity::Longer { parsed } | Oddity::UnknownVersion { parsed }) => parsed,
        _ => record.payload.len(),
    }
}

impl Builder<'static> {
    fn disk(&mut self, event: &DiskEvent) {
        match event {
            DiskEvent::Start(_, start) => {
                self.hex("Irp", start.irp);
                start.thread.into_iter().for_each(|thread| _ = self.number("IssuingThreadId", thread.field()));
            }
            DiskEvent::End(operation, end) => {
                self.number("DiskNumber", end.disk).hex("IrpFlags", end.irp_flags);
                if *operation == DiskOperation::Flush {
                    self.number("HighResResponseTime", end.response).hex("Irp", end.irp);
                } else {
                    self.number("TransferSize", end.byte_count).number("Reserved", end.reserved);
                    self.number("ByteOffset", end.byte_offset).hex("FileObject", end.file_key.unwrap_or(0));
                    self.hex("Irp", end.irp).number("HighResResponseTime", end.response);
                }
                end.thread.into_iter().for_each(|thread| _ = self.number("IssuingThreadId", thread.field()));
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::Process { process, .. } => self.process(process),
            Event::ProcessTerminate(found) => _ = self.number("ProcessId", found.process_id),
            Event::ProcessCounters { counters, .. } => self.counters(counters),
            Event::ProcessInSwap(found) => {
                self.hex("DirectoryTableBase", found.directory_table_base).number("ProcessId", found.process_id);
            }
            Event::Thread { thread, .. } => self.thread(thread),
            Event::ThreadName(found) => {
                self.number("ProcessId", found.process_id).number("ThreadId", found.thread_id).text("Name", found.name);
            }
            Event::ContextSwitch(found) => {
                self.number("NewThreadId", found.new_thread_id).number("OldThreadId", found.old_thread_id);
                self.signed("NewThreadPriority", found.new_priority).signed("OldThreadPriority", found.old_priority);
                self.number("PreviousCState", found.previous_c_state).signed("SpareByte", found.new_priority_decrement);
                self.number("OldThreadWaitReason", found.old_wait_reason);
                self.number("OldThreadWaitMode", found.old_wait_mode).number("OldThreadState", found.old_state);
                self.number("OldThreadWaitIdealProcessor", found.old_ideal_processor);
                found.new_wait_clock_ticks.into_iter().for_each(|ticks| _ = self.number("NewThreadWaitTime", ticks));
                found
                    .old_remaining_quantum
                    .into_iter()
                    .for_each(|left| _ = self.signed("OldThreadRemainingQuantum", left));
            }
            Event::ReadyThread(found) => {
                self.number("TThreadId", found.thread_id).signed("AdjustReason", found.adjust_reason);
                self.signed("AdjustIncrement", found.adjust_increment).number("Flag", found.flags);
            }
            Event::ThreadPriority(found) => {
                self.number("ThreadId", found.thread_id)
                    .number("OldPriority", found.old)
                    .number("NewPriority", found.new);
            }
            Event::ThreadAffinity(found) => {
                self.hex("Affinity", found.mask).number("ThreadId", found.thread_id).number("Group", found.group);
            }
            Event::Image { image, .. } => {
                self.hex("ImageBase", image.base).number("ImageSize", image.size_bytes);
                image.process_id.into_iter().for_each(|id| _ = self.number("ProcessId", id));
                if let Some(details) = &image.details {
                    self.number("ImageCheckSum", details.checksum).number("TimeDateStamp", details.time_date_stamp);
                    if let Some((level, kind)) = details.signature {
                        self.number("SignatureLevel", level).number("SignatureType", kind);
                    }
                    self.hex("DefaultBase", details.default_base_raw);
                }
                self.text("FileName", image.file_name);
            }
            Event::KernelBase(base) => _ = self.hex("ImageBase", *base),
            Event::HypercallPage(address) => _ = self.hex("HypercallPageVa", *address),
            Event::FileName { file, .. } => {
                self.hex("FileObject", file.key).text("FileName", file.name);
            }
            Event::SameFile(found) => {
                self.hex("OldFile", found.old_key).hex("NewFile", found.new_key);
            }
            Event::MapView { view, .. } => {
                self.hex("ViewBase", view.base).hex("FileObject", view.file_key).hex("MiscInfo", view.misc);
                self.number("ViewSize", view.size_bytes).number("ProcessId", view.process_id);
            }
            other if self.memory_event(other).is_some() => {}
            other => return self.other_event(other),
        }
        Some(())
    }

    fn other_event(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::Mark(mark) => _ = self.narrow("Name", mark.text),
            Event::ProfileSample(sample) => self.sample(sample),
            Event::ProfileInterval { interval, .. } => {
                self.number("Source", interval.source).number("NewInterval", interval.interval);
                self.number("OldInterval", interval.old_interval);
                interval.source_name.into_iter().for_each(|name| _ = self.text("SourceName", name));
            }
            Event::Interrupt { interrupt, .. } => {
                self.signed("InitialTime", interrupt.initial_time.0).hex("Routine", interrupt.routine);
                self.number("ReturnValue", interrupt.return_value);
                interrupt.vector.into_iter().for_each(|vector| _ = self.number("Vector", vector));
                interrupt.message_number.into_iter().for_each(|number| _ = self.number("MessageNumber", number));
            }
            Event::Dpc { dpc, .. } => {
                self.signed("InitialTime", dpc.initial_time.0).hex("Routine", dpc.routine);
            }
            Event::Stack(walk) => {
                self.owner(&walk.owner);
                self.addresses("Stack", &walk.frames);
            }
            Event::KernelStackReference(found) | Event::UserStackReference(found) => {
                self.owner(&found.owner);
                self.hex("StackKey", found.key);
            }
            Event::StackDefinition(found) => {
                self.hex("StackKey", found.key).addresses("Stack", &found.frames);
            }
            Event::RundownComplete => {}
            Event::LogFile(found) => self.log_file(found),
            Event::ProfileBatch(found) => {
                let list = found.samples().map(|sample| {
                    let mut one = Builder::new(self.code_page);
                    one.sample(&sample);
                    FieldValue::Object(one.list)
                });
                let list = FieldValue::List(list.collect());
                self.add("Samples", list);
            }
            Event::Processor(found) => {
                self.number("ProcessorIndex", found.index).hex("FeatureSet", found.features);
                self.number("ProcessorSpeed", found.mhz).fixed("ProcessorName", &found.name);
                self.fixed("ProcessorIdentifier", &found.identifier).fixed("VendorIdentifier", &found.vendor);
            }
            Event::Virtualization(found) => {
                self.flag("VbsEnabled", found.vbs).flag("HvciEnabled", found.hvci);
                self.flag("HypervisorEnabled", found.hypervisor);
            }
            Event::Boot(found) => {
                self.hex("BootFlags", found.flags).number("FirmwareType", found.firmware);
                self.flag("SecureBootEnabled", found.secure_boot).flag("SecureBootCapable", found.secure_boot_capable);
            }
            Event::BuildLab(text) => _ = self.narrow("BuildString", *text),
            Event::DebugId(id) => self.debug_id(id),
            Event::ProviderBinary(found) => _ = self.text("Path", found.path),
            Event::GroupMasks { masks, .. } => {
                let list = masks.masks.map(|mask| FieldValue::Hex(mask.into())).to_vec();
                self.add("GroupMasks", FieldValue::List(list));
            }
            Event::Cpu(found) => {
                self.number("MHz", found.mhz).number("NumberOfProcessors", found.processors);
                self.number("MemSize", found.memory_megabytes).number("PageSize", found.page_bytes);
                self.number("AllocationGranularity", found.allocation_granularity_bytes);
                self.fixed("ComputerName", &found.computer_name).fixed("DomainName", &found.domain_name);
                self.hex("HyperThreadingFlag", found.hyper_threading);
            }
            Event::PhysicalDisk(found) => {
                self.number("DiskNumber", found.disk).number("BytesPerSector", found.sector_bytes);
                self.number("SectorsPerTrack", found.sectors_per_track);
                self.number("TracksPerCylinder", found.tracks_per_cylinder).number("Cylinders", found.cylinders);
                self.fixed("Manufacturer", &found.manufacturer).number("PartitionCount", found.partitions);
                self.flag("WriteCacheEnabled", found.write_cache).fixed("BootDriveLetter", &found.boot_drive);
            }
            Event::LogicalDisk(found) => {
                self.number("StartOffset", found.start_offset).number("PartitionSize", found.partition_bytes);
                self.number("DiskNumber", found.disk).number("DriveType", found.drive_type);
                self.fixed("DriveLetterString", &found.drive_letter).number("PartitionNumber", found.partition);
                self.number("SectorsPerCluster", found.sectors_per_cluster)
                    .number("BytesPerSector", found.sector_bytes);
                self.signed("NumberOfFreeClusters", found.free_clusters)
                    .signed("TotalNumberOfClusters", found.clusters);
                self.fixed("FileSystem", &found.file_system);
            }
            Event::Service(found) => {
                self.number("ProcessId", found.process_id).hex("ServiceState", found.state);
                self.number("SubProcessTag", found.tag).text("ServiceName", found.name);
                self.text("DisplayName", found.display_name).text("ProcessName", found.process_name);
                found.load_order_group.into_iter().for_each(|group| _ = self.text("LoadOrderGroup", group));
                found.group.into_iter().for_each(|group| _ = self.text("SvchostGroup", group));
            }
            Event::Platform(found) => {
                self.text("SystemManufacturer", found.manufacturer).text("SystemProductName", found.product);
                self.text("BiosDate", found.bios_date).text("BiosVersion", found.bios_version);
            }
            Event::PartitionInfo(found) => self.partition(found),
            Event::DeviceFamily(found) => self.device_family(found),
            Event::Merged(found) => self.merged(found),
            // Lists of records of their own, and what the program reads in part only.
            _ => return None,
        }
        Some(())
    }

    fn log_file(&mut self, found: &LogFile<'_>) {
        let LogFile { header, names } = found;
        self.number("BufferSize", header.buffer_size_bytes);
        self.number("MajorVersion", header.os_version.0).number("MinorVersion", header.os_version.1);
        self.number("ProviderVersion", header.os_build).number("NumberOfProcessors", header.processors);
        let end = header.end_time.map_or(FieldValue::Null, |time| FieldValue::FileTime(time.0));
        self.add("EndTime", end).number("TimerResolution", header.timer_resolution_100ns);
        self.number("MaxFileSize", header.maximum_file_size).hex("LogFileMode", header.mode);
        self.number("BuffersWritten", header.buffers_written).number("StartBuffers", header.start_buffers);
        self.number("PointerSize", header.pointer_bytes).number("EventsLost", header.events_lost);
        self.number("CPUSpeed", header.cpu_mhz).signed("TimeZoneBias", header.time_zone_bias_minutes);
        self.add("BootTime", FieldValue::FileTime(header.boot_time.0)).number("PerfFreq", header.perf_frequency_hz);
        self.add("StartTime", FieldValue::FileTime(header.start_time.0)).number("ReservedFlags", header.clock_type);
        self.number("BuffersLost", header.buffers_lost).text("SessionNameString", names.logger);
        self.text("LogFileNameString", names.log_file);
    }

    fn process(&mut self, process: &Process<'_>) {
        self.hex("UniqueProcessKey", process.key).number("ProcessId", process.process_id);
        self.number("ParentId", process.parent_id).number("SessionId", process.session_id.unwrap_or(u32::MAX));
        self.signed("ExitStatus", process.exit_status);
        process.directory_table_base.into_iter().for_each(|base| _ = self.hex("DirectoryTableBase", base));
        process.flags.into_iter().for_each(|flags| _ = self.hex("Flags", flags));
        let sid = process.sid.map_or(FieldValue::Null, |sid| FieldValue::Text(sid.to_string().into()));
        self.add("UserSID", sid).narrow("ImageFileName", process.image_name).text("CommandLine", process.command_line);
        process.package_name.into_iter().for_each(|name| _ = self.text("PackageFullName", name));
        process.application_id.into_iter().for_each(|id| _ = self.text("ApplicationId", id));
        process.exit_time.into_iter().for_each(|time| _ = self.add("ExitTime", FieldValue::FileTime(time.0)));
    }

    fn counters(&mut self, counters: &ProcessCounters) {
        self.number("ProcessId", counters.process_id).number("PageFaultCount", counters.page_faults);
        self.number("HandleCount", counters.handles).number("Reserved", counters.reserved);
        self.number("PeakVirtualSize", counters.peak_virtual_bytes);
        self.number("PeakWorkingSetSize", counters.peak_working_set_bytes);
        self.number("PeakPagefileUsage", counters.peak_pagefile_bytes);
        self.number("QuotaPeakPagedPoolUsage", counters.peak_paged_pool_bytes);
        self.number("QuotaPeakNonPagedPoolUsage", counters.peak_non_paged_pool_bytes);
        self.number("VirtualSize", counters.virtual_bytes).number("WorkingSetSize", counters.working_set_bytes);
        self.number("PagefileUsage", counters.pagefile_bytes);
        self.number("QuotaPagedPoolUsage", counters.paged_pool_bytes);
        self.number("QuotaNonPagedPoolUsage", counters.non_paged_pool_bytes);
        self.number("PrivatePageCount", counters.private_bytes);
    }

    fn thread(&mut self, thread: &Thread<'_>) {
        self.number("ProcessId", thread.process_id).number("TThreadId", thread.thread_id);
        self.hex("StackBase", thread.stack_base).hex("StackLimit", thread.stack_limit);
        self.hex("UserStackBase", thread.user_stack_base).hex("UserStackLimit", thread.user_stack_limit);
        thread.start_address.into_iter().for_each(|start| _ = self.hex("StartAddr", start));
        thread.affinity.into_iter().for_each(|mask| _ = self.hex("Affinity", mask));
        self.hex("Win32StartAddr", thread.win32_start_address).hex("TebBase", thread.teb);
        self.number("SubProcessTag", thread.sub_process_tag);
        if let Some(priorities) = &thread.priorities {
            self.number("BasePriority", priorities.base).number("PagePriority", priorities.page);
            self.number("IoPriority", priorities.io).number("ThreadFlags", priorities.flags);
        }
        thread.name.into_iter().for_each(|name| _ = self.text("ThreadName", name));
    }

    fn sample(&mut self, sample: &ProfileSample) {
        self.hex("InstructionPointer", sample.instruction).number("ThreadId", sample.thread_id);
        self.number("Count", sample.count);
    }

    fn owner(&mut self, owner: &StackOwner) {
        self.signed("EventTimeStamp", owner.event_time.0).number("StackProcess", owner.process_id);
        self.number("StackThread", owner.thread_id);
    }

    fn debug_id(&mut self, id: &DebugId<'_>) {
        self.add("GuidSig", FieldValue::Guid(id.guid)).number("Age", id.age).narrow("PdbFileName", id.pdb_name);
    }

    fn partition(&mut self, found: &PartitionInfo<'_>) {
        let name = |name| match name {
            PartitionName::Guid(guid) => FieldValue::Guid(guid),
            PartitionName::Text(text) => FieldValue::Text(text.text().into()),
        };
        self.number("EventVersion", found.form).number("Reserved", found.reserved);
        self.number("PartitionType", found.partition_type).signed("QpcOffsetFromRoot", found.clock_offset);
        self.add("PartitionId", name(found.partition)).add("ParentId", name(found.parent));
    }

    fn device_family(&mut self, found: &DeviceFamily) {
        let [major, minor, build, revision] = found.version;
        self.text("UAPInfo", format!("{major}.{minor}.{build}.{revision}"));
        self.number("DeviceFamily", found.family).number("DeviceForm", found.form);
    }

    fn file_version(&mut self, found: &FileVersion<'_>) {
        const TEXTS: [&str; 10] = [
            "OrigFileName",
            "FileDescription",
            "FileVersion",
            "BinFileVersion",
            "VerLanguage",
            "ProductName",
            "CompanyName",
            "ProductVersion",
            "FileId",
            "ProgramId",
        ];
        self.number("ImageSize", found.image_bytes).number("TimeDateStamp", found.time_date_stamp);
        TEXTS.iter().zip(found.texts()).for_each(|(name, text)| _ = self.text(name, text));
    }

    fn merged(&mut self, found: &AddedByMerge<'_>) {
        match found {
            AddedByMerge::Build { install_date, lab, product, .. } => {
                self.add("InstallDate", FieldValue::FileTime(install_date.0))
                    .text("BuildLab", lab)
                    .text("ProductName", product);
            }
            AddedByMerge::SystemPaths { system, windows } => {
                self.text("SystemDirectory", system).text("WindowsDirectory", windows);
            }
            AddedByMerge::UnknownVolume(device) => _ = self.text("NtDeviceName", device),
            AddedByMerge::Volume { nt_prefix, dos_prefix } => {
                self.text("NtPath", nt_prefix).text("DosPath", dos_prefix);
            }
            AddedByMerge::ImageId { base, size_bytes, process_id, time_date_stamp, original_name } => {
                self.hex("ImageBase", *base).number("ImageSize", *size_bytes).number("ProcessId", *process_id);
                self.number("TimeDateStamp", *time_date_stamp).text("OriginalFileName", original_name);
            }
            AddedByMerge::Pdb { base, process_id, id, .. } => {
                self.hex("ImageBase", *base).number("ProcessId", *process_id);
                self.debug_id(id);
            }
            AddedByMerge::NoDebugId { base, process_id } => {
                self.hex("ImageBase", *base).number("ProcessId", *process_id);
            }
            AddedByMerge::FileVersion(found) => self.file_version(found),
            AddedByMerge::DeviceFamily(found) => self.device_family(found),
        }
    }
}
