//! The parts of an event that can say something about people: names of files, users, programs, hosts, registry keys.

use super::dispatch::Event;
use super::header::PartitionName;
use super::merged::AddedByMerge;
use super::registry::Hive;
use crate::bytes::{Narrow, Wide};

/// A part of a payload, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonalPart<'a> {
    /// UTF-16 text.
    Wide(Wide<'a>),
    /// 8-bit text.
    Narrow(Narrow<'a>),
    /// The sub-authorities of a user's SID, 4 bytes each.
    SubAuthorities(&'a [u8]),
}

/// Appends the personal parts of an event. The list of events is complete, so a new one must say whether it has some.
pub fn add_personal_parts<'a>(event: &Event<'a>, parts: &mut Vec<PersonalPart<'a>>) {
    let mut wide = |texts: &[Wide<'a>]| parts.extend(texts.iter().copied().map(PersonalPart::Wide));
    match event {
        Event::LogFile(file) => wide(&[file.names.logger, file.names.log_file]),
        Event::DebugId(id) => parts.push(PersonalPart::Narrow(id.pdb_name)),
        Event::ProviderBinary(binary) => wide(&[binary.path]),
        Event::PartitionInfo(info) => {
            for name in [info.partition, info.parent] {
                if let PartitionName::Text(text) = name {
                    wide(&[text]);
                }
            }
        }
        Event::Process { process, .. } => {
            wide(&[process.command_line]);
            [process.package_name, process.application_id].into_iter().flatten().for_each(|text| wide(&[text]));
            parts.push(PersonalPart::Narrow(process.image_name));
            parts.extend(process.sid.map(|sid| PersonalPart::SubAuthorities(sid.sub_authority_bytes())));
        }
        Event::Thread { thread, .. } => thread.name.iter().for_each(|name| wide(&[*name])),
        Event::ThreadName(thread) => wide(&[thread.name]),
        Event::Image { image, .. } => wide(&[image.file_name]),
        Event::FileName { file, .. } => wide(&[file.name]),
        Event::Mark(mark) => parts.push(PersonalPart::Narrow(mark.text)),
        Event::Cpu(cpu) => wide(&[cpu.computer_name, cpu.domain_name]),
        Event::Service(service) => wide(&[service.name, service.display_name, service.process_name]),
        Event::Hive(hive) => match *hive {
            Hive::Initialize { file_name, .. } => wide(&[file_name]),
            Hive::Destroy { file_name, path, .. } | Hive::Rundown { file_name, path, .. } => wide(&[file_name, path]),
            Hive::Link { path, .. } | Hive::Dirty { path, .. } => wide(&[path]),
        },
        Event::Merged(added) => match added {
            AddedByMerge::SystemPaths { system, windows } => wide(&[*system, *windows]),
            AddedByMerge::UnknownVolume(volume) => wide(&[*volume]),
            AddedByMerge::Volume { nt_prefix, dos_prefix } => wide(&[*nt_prefix, *dos_prefix]),
            AddedByMerge::ImageId { original_name, .. } => wide(&[*original_name]),
            AddedByMerge::Pdb { id, .. } => parts.push(PersonalPart::Narrow(id.pdb_name)),
            AddedByMerge::FileVersion(version) => version.texts().for_each(|text| wide(&[text])),
            AddedByMerge::Build { .. } | AddedByMerge::DeviceFamily(_) | AddedByMerge::NoDebugId { .. } => {}
        },
        // Numbers, addresses, and names of hardware.
        Event::GroupMasks { .. }
        | Event::RundownComplete
        | Event::BuildLab(_)
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
        | Event::ProfileInterval { .. }
        | Event::Interrupt { .. }
        | Event::Dpc { .. }
        | Event::Stack(_)
        | Event::KernelStackReference(_)
        | Event::UserStackReference(_)
        | Event::StackDefinition(_)
        | Event::PhysicalDisk(_)
        | Event::LogicalDisk(_)
        | Event::NumaNodes(_)
        | Event::Platform(_)
        | Event::ProcessorGroups(_)
        | Event::ProcessorNumbers(_)
        | Event::DeviceFamily(_)
        | Event::Processor(_)
        | Event::Virtualization(_)
        | Event::Boot(_) => {}
    }
}
