//! Names of events, for reports: kernel events, records of merged traces, well-known providers.
//!
//! Names are those of WPA ("Memory: PageInMemory"), with the alias that xperf uses where it is known. Sources:
//! `docs/formats.md` and `hooks`; provider names are those of their public manifests.

use super::hooks;
use super::hooks_macro::KernelName;
use super::merged::{IMAGE_ID, SYS_CONFIG};
use super::payload::hook_of_class;
use crate::etl::record_id::{HookId, RecordId};
use uuid::{Uuid, uuid};

/// Name of a kernel event, by hook id or by class GUID and type; `None` for a kind without a known name and for the
/// events of other providers.
pub fn name(id: RecordId) -> Option<&'static KernelName> {
    match id {
        RecordId::Kernel(hook) => hook_name(hook),
        RecordId::Classic { class, opcode } => match hook_of_class(class, opcode) {
            Some(hook) => hook_name(hook),
            None => merged_name(class, opcode),
        },
        _ => None,
    }
}

/// All names under which people look for a kernel event: WPA's with and without the class, xperf's, and those of the
/// version that it replaced (`Memory: PageInMemory (24H2)` is also `PageInMemory` and `InMemory`).
pub fn all_names(id: RecordId) -> Vec<&'static str> {
    let Some(known) = name(id) else { return Vec::new() };
    let replaced = known.name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")).map(|(name, _)| name);
    let replaced = hooks::ALL.iter().map(|(_, other)| other).filter(|other| Some(other.name) == replaced);
    std::iter::once(known)
        .chain(replaced)
        .flat_map(|name| [Some(name.name), Some(name.event()), name.alias])
        .flatten()
        .collect()
}

fn hook_name(hook: HookId) -> Option<&'static KernelName> {
    let all = &*hooks::ALL;
    let index = all.binary_search_by_key(&hook, |(id, _)| *id).ok()?;
    all.get(index).map(|(_, name)| name)
}

/// Class of the descriptions of other providers' events, which merging adds.
pub(crate) const EVENT_METADATA: Uuid = uuid!("bbccf6c1-6cd1-48c4-80ff-839482e37671");

/// Class of the results of the Windows system assessment, which merging adds.
pub(crate) const WIN_SAT: Uuid = uuid!("ed54dff8-c409-4cf6-bf83-05e1e61a09c4");

/// Records that merging adds, by class and type; a type of `None` stands for all that are not listed.
static MERGED: [(Uuid, Option<u8>, KernelName); 20] = {
    const fn k(class: Uuid, opcode: u8, name: &'static str) -> (Uuid, Option<u8>, KernelName) {
        (class, Some(opcode), KernelName { name, alias: None })
    }
    const fn any(class: Uuid, name: &'static str) -> (Uuid, Option<u8>, KernelName) {
        (class, None, KernelName { name, alias: None })
    }
    [
        k(SYS_CONFIG, 32, "SysConfig: BuildInfo"),
        k(SYS_CONFIG, 33, "SysConfig: SystemPaths"),
        k(SYS_CONFIG, 34, "SysConfig: UnknownVolume"),
        k(SYS_CONFIG, 35, "SysConfig: VolumeMapping"),
        k(SYS_CONFIG, 36, "SysConfig: NetworkInterface"),
        k(SYS_CONFIG, 37, "SysConfig: DeviceFamily"),
        k(IMAGE_ID, 0, "ImageId: Info"),
        k(IMAGE_ID, 32, "ImageId: None"),
        k(IMAGE_ID, 34, "ImageId: DbgName"),
        k(IMAGE_ID, 36, "ImageId: RSDS"),
        k(IMAGE_ID, 37, "ImageId: ILRSDS"),
        k(IMAGE_ID, 38, "ImageId: PortablePdb"),
        k(IMAGE_ID, 40, "ImageId: Deterministic"),
        k(IMAGE_ID, 41, "ImageId: PathNote"),
        k(IMAGE_ID, 64, "ImageId: FileVersion"),
        k(EVENT_METADATA, 32, "EventMetadata: EventInfo"),
        k(EVENT_METADATA, 33, "EventMetadata: EventMapInfo"),
        any(EVENT_METADATA, "EventMetadata: Other"),
        any(WIN_SAT, "WinSAT: Assessment"),
        any(IMAGE_ID, "ImageId: Other"),
    ]
};

fn merged_name(class: Uuid, opcode: u8) -> Option<&'static KernelName> {
    let fits = |kind: Option<u8>| kind.is_none_or(|kind| kind == opcode);
    MERGED.iter().find(|(of, kind, _)| *of == class && fits(*kind)).map(|(_, _, name)| name)
}

/// Well-known providers of manifest and TraceLogging events.
static PROVIDERS: [(Uuid, &str); 18] = [
    (uuid!("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"), "Microsoft-Windows-DotNETRuntime"),
    (uuid!("a669021c-c450-4609-a035-5af59af4df18"), "Microsoft-Windows-DotNETRuntimeRundown"),
    (uuid!("763fd754-7086-4dfe-95eb-c01a46faf4ca"), "Microsoft-Windows-DotNETRuntimePrivate"),
    (uuid!("2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5"), "System.Threading.Tasks.TplEventSource"),
    (uuid!("8e9f5090-2d75-4d03-8a81-e5afbf85daf1"), "System.Diagnostics.Eventing.FrameworkEventSource"),
    (uuid!("b675ec37-bdb6-4648-bc92-f3fdc74d3ca2"), "Microsoft-Windows-Kernel-EventTracing"),
    (uuid!("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"), "Microsoft-Windows-Kernel-Process"),
    (uuid!("edd08927-9cc4-4e65-b970-c2560fb5c289"), "Microsoft-Windows-Kernel-File"),
    (uuid!("d1d93ef7-e1f2-4f45-9943-03d245fe6c00"), "Microsoft-Windows-Kernel-Memory"),
    (uuid!("70eb4f03-c1de-4f73-a051-33d13d5413bd"), "Microsoft-Windows-Kernel-Registry"),
    (uuid!("7dd42a49-5329-4832-8dfd-43d979153a88"), "Microsoft-Windows-Kernel-Network"),
    (uuid!("331c3b3a-2005-44c2-ac5e-77220c37d6b4"), "Microsoft-Windows-Kernel-Power"),
    (uuid!("0f67e49f-fe51-4e9f-b490-6f2948cc6027"), "Microsoft-Windows-Kernel-Processor-Power"),
    (uuid!("802ec45a-1e99-4b83-9920-87c98277ba9d"), "Microsoft-Windows-DxgKrnl"),
    (uuid!("1c95126e-7eea-49a9-a3fe-a378b03ddb4d"), "Microsoft-Windows-DNS-Client"),
    (uuid!("315a8872-923e-4ea2-9889-33cd4754bf64"), "Microsoft-Windows-Immersive-Shell"),
    (uuid!("9e814aad-3204-11d2-9a82-006008a86939"), "Windows Kernel Trace"),
    (super::payload::WIN32_HEAP_RANGES, "Win32HeapRanges"),
];

/// Name of a well-known provider; `None` for all others.
pub fn provider_name(provider: Uuid) -> Option<&'static str> {
    PROVIDERS.iter().find(|(guid, _)| *guid == provider).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::payload::{IMAGE, WIN32_HEAP_RANGES};
    use super::super::testing::{P8, with_id};
    use super::super::{Decoded, decode};
    use super::*;

    #[test]
    fn names_find_every_version_of_an_event() {
        let names = all_names(RecordId::Kernel(hooks::PAGE_IN_MEMORY_24H2));
        assert!(
            ["Memory: PageInMemory", "PageInMemory", "InMemory"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
        assert_eq!(all_names(RecordId::Kernel(HookId(0xffff))), [""; 0]);
    }

    #[test]
    fn the_table_is_sorted_and_every_name_has_a_class() {
        let all = &*hooks::ALL;
        assert_eq!(all.len(), 289);
        assert!(all.is_sorted_by(|(a, _), (b, _)| a < b), "each id once");
        let names = all.iter().map(|(_, name)| name).chain(MERGED.iter().map(|(_, _, name)| name));
        for name in names {
            assert_eq!(format!("{}: {}", name.group(), name.event()), name.name);
        }
    }

    #[test]
    fn every_hook_id_with_a_decoder_has_a_name() {
        for hook in 0..=u16::MAX {
            let id = RecordId::Kernel(HookId(hook));
            if !matches!(decode(&with_id(id, 2, P8, &[])), Decoded::NotDecoded) {
                assert!(name(id).is_some(), "0x{hook:04x}");
            }
        }
    }

    #[test]
    fn names_are_found_by_hook_and_by_class() {
        let of = |hook| name(RecordId::Kernel(HookId(hook))).map(|name| (name.name, name.alias));
        assert_eq!(of(0x0223), Some(("Memory: PageInMemory", Some("InMemory"))));
        assert_eq!(of(0x0304), Some(("Process: DCEnd", Some("P-DCEnd"))));
        assert_eq!(of(0x010a), Some(("DiskIo: Read", Some("DiskRead"))));
        assert_eq!(of(0x02ff), None);
        let classic = |class, opcode| name(RecordId::Classic { class, opcode }).map(|name| name.name);
        assert_eq!(classic(IMAGE, 10), Some("Image: Load"));
        assert_eq!(classic(IMAGE, 3), Some("Image: DCStart"));
        assert_eq!(classic(WIN32_HEAP_RANGES, 0x64), Some("Memory: HeapRangeRundown"));
        assert_eq!(classic(SYS_CONFIG, 35), Some("SysConfig: VolumeMapping"));
        assert_eq!(classic(IMAGE_ID, 39), Some("ImageId: Other"));
        assert_eq!(classic(Uuid::nil(), 1), None);
    }

    #[test]
    fn providers_are_listed_once() {
        for (index, (guid, label)) in PROVIDERS.iter().enumerate() {
            assert_eq!(PROVIDERS.iter().position(|(other, _)| other == guid), Some(index), "{label}");
            assert_eq!(provider_name(*guid), Some(*label));
        }
        assert_eq!(provider_name(Uuid::nil()), None);
    }
}
