//! The fields of a page record, with what each means for the page's use.

use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::model::page_owner_key::KeyReading;

/// A field of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordField {
    /// Name as in JSON.
    pub name: &'static str,
    /// Where: `0-3`, `7`, `u2`.
    pub bits: &'static str,
    /// Raw value.
    pub value: u64,
    /// What it says.
    pub meaning: String,
}

/// All fields in order of their bits, `u2` last.
pub(super) fn fields(page: &PageIdentity, context: &SnapshotContext<'_>) -> Vec<RecordField> {
    let field = |name, bits, value, meaning: String| RecordField { name, bits, value, meaning };
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    vec![
        field("use", "0-3", page.page_use() as u64, page.page_use().name().into()),
        field("list", "4-6", page.list() as u64, page.list().name().into()),
        field("cold", "7", page.cold().into(), yes(page.cold())),
        field("pinned", "8", page.pinned().into(), yes(page.pinned())),
        field("key", "9-56", page.key(), key(page, context)),
        field("priority", "57-59", page.priority().into(), "memory priority".into()),
        field("non_tradeable", "60", page.non_tradeable().into(), yes(page.non_tradeable())),
        field("reserved", "61-63", page.flags >> 61, "not interpreted".into()),
        field("u2", "u2", page.u2, u2(page)),
    ]
}

fn key(page: &PageIdentity, context: &SnapshotContext<'_>) -> String {
    let reading = reading(context.owners.reading);
    match page.page_use() {
        PageUse::File | PageUse::MetaFile => {
            format!("offset in the file ÷ 512: byte offset 0x{:x}", page.file_offset())
        }
        PageUse::PageFileMapped if page.combined() => "reference count of the combined page".into(),
        PageUse::ProcessPrivate | PageUse::PageTable | PageUse::WsMetaData if page.key() == 0 => {
            "owner key: none, the kernel had no owner".into()
        }
        PageUse::ProcessPrivate | PageUse::PageTable | PageUse::WsMetaData => format!("owner key, {reading}"),
        PageUse::Awe | PageUse::LargePage if context.owned_large_pages && page.key() != 0 => {
            format!("owner key, {reading}")
        }
        PageUse::Awe if page.key() != 0 => "address of an object, no owner".into(),
        PageUse::SessionPrivate if page.key() != 0 => "key of a session".into(),
        _ => "not used by this use".into(),
    }
}

/// How owner keys are read, for people.
pub(super) const fn reading(reading: KeyReading) -> &'static str {
    match reading {
        KeyReading::ProcessId => "read as a process id",
        KeyReading::ProcessKey => "read as the low bits of a UniqueProcessKey",
        KeyReading::DirectoryBase => "read as a page directory's frame",
    }
}

fn u2(page: &PageIdentity) -> String {
    let marked = |what: String, marks: &[(bool, &str)]| {
        let set: Vec<&str> = marks.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        if set.is_empty() { what } else { format!("{what}, marked {}", set.join(" and ")) }
    };
    match page.page_use() {
        PageUse::File | PageUse::MetaFile => marked(
            format!("file key 0x{:x}", page.file_key()),
            &[(page.is_image(), "image"), (page.mismatch(), "mismatch")],
        ),
        PageUse::PageFileMapped => {
            marked(format!("prototype PTE at 0x{:x}", page.prototype_pte()), &[(page.combined(), "combined page")])
        }
        _ if page.u2 == 0 => "no address known".into(),
        PageUse::PageTable => "address of the page-table page".into(),
        PageUse::Use14 | PageUse::Use15 => "meaning unknown".into(),
        _ => "virtual address".into(),
    }
}
