//! The parts of an event that can say something about people: names of files, users, programs, hosts, registry keys; and
//! bytes that no field has, which are what stood in the memory before.

use super::clr::Clr;
use super::disk_io::DiskEvent;
use super::dispatch::Event;
use super::fixed_text::FixedText;
use super::header_group::PartitionName;
use super::merged::AddedByMerge;
use super::outcome::{Fault, Oddity, Parsed};
use super::payload::Payload;
use super::registry_hive::Hive;
use super::sid::Sid;
use crate::byte_reader::{Narrow, Wide};
use crate::etl::record::Record;

/// A part of a payload, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonalPart<'a> {
    /// UTF-16 text.
    Wide(Wide<'a>),
    /// 8-bit text.
    Narrow(Narrow<'a>),
    /// Name of a process's image, perhaps cut.
    ProcessName {
        /// Process id.
        process_id: u32,
        /// Address of the kernel's process object.
        key: u64,
        /// The name.
        name: Narrow<'a>,
    },
    /// Text of a mark.
    Mark(Narrow<'a>),
    /// Name of the Windows edition.
    Product(Wide<'a>),
    /// Name of the Windows build, as UTF-16 text.
    WideBuildLab(Wide<'a>),
    /// The same as 8-bit text.
    BuildLab(Narrow<'a>),
    /// A SID.
    Sid(Sid<'a>),
    /// GUIDs of machines.
    Guids(&'a [u8]),
    /// When Windows was installed, a FILETIME.
    InstallDate(&'a [u8]),
    /// Bytes that no field has.
    Stale(&'a [u8]),
}

/// Appends the personal parts of an event. The list of events is complete, so a new one must say whether it has some.
pub fn add_personal_parts<'a>(event: &Event<'a>, parts: &mut Vec<PersonalPart<'a>>) {
    let mut wide = |texts: &[Wide<'a>]| parts.extend(texts.iter().copied().map(PersonalPart::Wide));
    match event {
        Event::LogFile(file) => wide(&[file.names.logger, file.names.log_file]),
        Event::DebugId(id) => parts.push(PersonalPart::Narrow(id.pdb_name)),
        Event::BuildLab(lab) => parts.push(PersonalPart::BuildLab(*lab)),
        Event::ProviderBinary(binary) => wide(&[binary.path]),
        Event::PartitionInfo(info) => {
            for name in [info.partition, info.parent] {
                if let PartitionName::Text(text) = name {
                    wide(&[text]);
                }
            }
            parts.push(PersonalPart::Guids(info.guid_bytes));
        }
        Event::Process { process, .. } => {
            wide(&[process.command_line]);
            [process.package_name, process.application_id].into_iter().flatten().for_each(|text| wide(&[text]));
            let (process_id, key, name) = (process.process_id, process.key, process.image_name);
            parts.push(PersonalPart::ProcessName { process_id, key, name });
            parts.extend(process.sid.map(PersonalPart::Sid));
        }
        Event::Thread { thread, .. } => thread.name.iter().for_each(|name| wide(&[*name])),
        Event::ThreadName(thread) => wide(&[thread.name]),
        Event::Image { image, .. } => wide(&[image.file_name]),
        // The kernel's own word for a name that it does not know.
        Event::FileName { file, .. } if file.is_unknown() => {}
        Event::FileName { file, .. } => wide(&[file.name]),
        Event::Mark(mark) => parts.push(PersonalPart::Mark(mark.text)),
        Event::ProfileInterval { interval, .. } => interval.source_name.iter().for_each(|name| wide(&[*name])),
        Event::Cpu(cpu) => add_fixed(&[cpu.computer_name, cpu.domain_name], parts),
        // Names of devices can have serial numbers in them.
        Event::PhysicalDisk(disk) => {
            add_fixed(&[disk.manufacturer], parts);
            parts.push(PersonalPart::Stale(disk.boot_drive.stale));
        }
        Event::LogicalDisk(disk) => {
            parts.extend([disk.drive_letter.stale, disk.file_system.stale].map(PersonalPart::Stale));
        }
        Event::Processor(processor) => {
            let texts = [processor.name, processor.identifier, processor.vendor];
            parts.extend(texts.map(|text| PersonalPart::Stale(text.stale)));
        }
        Event::Platform(machine) => {
            wide(&[machine.manufacturer, machine.product, machine.bios_version]);
        }
        Event::Service(service) => {
            wide(&[service.name, service.display_name, service.process_name]);
            [service.load_order_group, service.group].into_iter().flatten().for_each(|text| wide(&[text]));
        }
        Event::Hive(hive) => match *hive {
            Hive::Initialize { file_name, .. } => wide(&[file_name]),
            Hive::Destroy { file_name, path, .. } | Hive::Rundown { file_name, path, .. } => wide(&[file_name, path]),
            Hive::Link { path, .. } | Hive::Dirty { path, .. } => wide(&[path]),
        },
        Event::Merged(added) => add_of_merge(added, parts),
        // Numbers and addresses. Snapshots of the pool are looked at as a whole.
        Event::GroupMasks { .. }
        | Event::RundownComplete
        | Event::LastDroppedTimes(_)
        | Event::ProcessTerminate(_)
        | Event::ProcessCounters { .. }
        | Event::ProcessInSwap(_)
        | Event::ContextSwitch(_)
        | Event::CompactSwitches(_)
        | Event::ReadyThread(_)
        | Event::ThreadPriority(_)
        | Event::ThreadAffinity(_)
        | Event::KernelBase(_)
        | Event::HypercallPage(_)
        | Event::SameFile(_)
        | Event::MapView { .. }
        | Event::Page { .. }
        | Event::PageAccessEx(_)
        | Event::RemoveFromWorkingSet(_)
        | Event::PageRangeAccess(_)
        | Event::PageRangeRelease(_)
        | Event::PageCombine(_)
        | Event::PageFault { .. }
        | Event::HardFault(_)
        | Event::VirtualRange { .. }
        | Event::VirtualRotate(_)
        | Event::MemReset(_)
        | Event::ContiguousMemory(_)
        | Event::Heap(_)
        | Event::HeapBlock(_)
        | Event::PagefileSection { .. }
        | Event::SectionObjectCreate(_)
        | Event::SectionObjectDelete(_)
        | Event::Session { .. }
        | Event::ImageLoadBacked(_)
        | Event::KernelMemUsage(_)
        | Event::MmStats(_)
        | Event::MemInfo(_)
        | Event::ProcessWorkingSets(_)
        | Event::SessionWorkingSets(_)
        | Event::Pool { .. }
        | Event::PoolSnapshot { .. }
        | Event::ProfileSample(_)
        | Event::ProfileBatch(_)
        | Event::Interrupt { .. }
        | Event::Dpc { .. }
        | Event::Stack(_)
        | Event::KernelStackReference(_)
        | Event::UserStackReference(_)
        | Event::StackDefinition(_)
        | Event::NumaNodes(_)
        | Event::ProcessorGroups(_)
        | Event::ProcessorNumbers(_)
        | Event::DeviceFamily(_)
        | Event::Virtualization(_)
        | Event::Boot(_) => {}
    }
}

/// The same of records that are read where they are needed, without an [`Event`]: of disk requests and of the .NET runtime. Gives how
/// many bytes of the payload are read; `None` for other records.
pub fn add_parts_of_others<'a>(record: &Record<'a>, parts: &mut Vec<PersonalPart<'a>>) -> Option<Result<usize, Fault>> {
    if let Some(read) = Payload::of(record).and_then(|payload| DiskEvent::read(&payload)) {
        return Some(read.map(|Parsed { oddity, .. }| match oddity {
            Some(Oddity::Longer { parsed }) => parsed,
            _ => record.payload.len(),
        }));
    }
    Some(Clr::read(record)?.map(|read| {
        parts.extend(read.names().map(PersonalPart::Wide));
        read.read_bytes()
    }))
}

/// Records that merging adds.
fn add_of_merge<'a>(added: &AddedByMerge<'a>, parts: &mut Vec<PersonalPart<'a>>) {
    let mut wide = |texts: &[Wide<'a>]| parts.extend(texts.iter().copied().map(PersonalPart::Wide));
    match added {
        AddedByMerge::Build { date_bytes, lab, product, .. } => parts.extend([
            PersonalPart::InstallDate(date_bytes),
            PersonalPart::WideBuildLab(*lab),
            PersonalPart::Product(*product),
        ]),
        AddedByMerge::SystemPaths { system, windows } => wide(&[*system, *windows]),
        AddedByMerge::UnknownVolume(volume) => wide(&[*volume]),
        AddedByMerge::Volume { nt_prefix, dos_prefix } => wide(&[*nt_prefix, *dos_prefix]),
        AddedByMerge::ImageId { original_name, .. } => wide(&[*original_name]),
        AddedByMerge::Pdb { id, .. } => parts.push(PersonalPart::Narrow(id.pdb_name)),
        AddedByMerge::FileVersion(version) => version.texts().for_each(|text| wide(&[text])),
        AddedByMerge::DeviceFamily(_) | AddedByMerge::NoDebugId { .. } => {}
    }
}

/// Texts in fixed arrays, and what stands after them.
fn add_fixed<'a>(texts: &[FixedText<'a>], parts: &mut Vec<PersonalPart<'a>>) {
    parts.extend(texts.iter().flat_map(|text| [PersonalPart::Wide(text.text), PersonalPart::Stale(text.stale)]));
}
