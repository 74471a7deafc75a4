//! Dimensions: what pages can be grouped and filtered by. Each gives a page a code; labels are made from codes at the
//! end, once for each row.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::classify::{ClassifiedPage, Detail, PageOwner};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::table::{Values, dimensions};
use crate::event::page::{PageIdentity, PageList, PageUse};
use crate::event::pool::PoolTag;
use crate::model::category::{Category, Class};
use crate::model::drive_paths::{extension, folder};

dimensions! {
    /// What pages are grouped and filtered by.
    pub enum Dimension {
        List: "list", "List", Values::OneOf(|| PageList::ALL.map(PageList::name).to_vec());
        Use: "use", "Use", Values::OneOf(|| PageUse::ALL.map(PageUse::name).to_vec());
        Category: "category", "Category", Values::OneOf(|| Category::ALL.map(Category::name).to_vec());
        CategoryWpa: "category_wpa", "WPA category", Values::OneOf(|| Category::ALL.map(Category::name).to_vec());
        Class: "class", "Class", Values::OneOf(|| Class::ALL.map(Class::name).to_vec());
        Rule: "rule", "Rule", Values::OneOf(Rule::ids_corrected);
        Process: "process", "Process", Values::Text;
        ProcessName: "process_name", "Process name", Values::Text;
        Service: "service", "Service", Values::Text;
        CommandLine: "command_line", "Command line", Values::Text;
        Pid: "pid", "PID", Values::Number;
        Session: "session", "Session", Values::Number;
        File: "file", "File", Values::Text;
        Folder: "folder", "Folder", Values::Text;
        Extension: "extension", "Extension", Values::Text;
        Detail: "detail", "Detail", Values::Text;
        Priority: "priority", "Priority", Values::UpTo(7);
        Cold: "cold", "Cold", Values::YesNo;
        Pinned: "pinned", "Pinned", Values::YesNo;
        NonTradeable: "non_tradeable", "Non-tradeable", Values::YesNo;
    }
}

impl Dimension {
    /// Number of codes, where it is small enough for a table: [`Dimension::index`] is below it.
    pub fn size(self, context: &SnapshotContext<'_>) -> Option<usize> {
        match self {
            Dimension::List | Dimension::Priority => Some(8),
            Dimension::Use => Some(16),
            Dimension::Category | Dimension::CategoryWpa => Some(Category::ALL.len()),
            Dimension::Class => Some(Class::ALL.len()),
            Dimension::Rule => Some(Rule::ALL.len()),
            Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable => Some(2),
            _ if self.is_of_process() => Some(context.processes.instances.len() + 2),
            _ => None,
        }
    }

    /// The page's place in a table of [`Dimension::size`]; `None` for a key that names no process.
    #[inline(always)]
    pub fn index(
        self,
        context: &SnapshotContext<'_>,
        page: &PageIdentity,
        classified: &ClassifiedPage,
    ) -> Option<usize> {
        Some(match self {
            Dimension::List => page.list() as usize,
            Dimension::Use => page.page_use() as usize,
            Dimension::Category => classified.category() as usize,
            Dimension::CategoryWpa => classified.category_wpa() as usize,
            Dimension::Class => classified.category().class() as usize,
            Dimension::Rule => classified.rule as usize,
            Dimension::Priority => usize::from(page.priority()),
            Dimension::Cold => usize::from(page.cold()),
            Dimension::Pinned => usize::from(page.pinned()),
            Dimension::NonTradeable => usize::from(page.non_tradeable()),
            Dimension::Process | Dimension::ProcessName | Dimension::Service | Dimension::CommandLine => {
                match classified.owner() {
                    PageOwner::Process(index) => index as usize,
                    PageOwner::None => context.processes.instances.len(),
                    PageOwner::Shared => context.processes.instances.len() + 1,
                    PageOwner::Unknown => return None,
                }
            }
            Dimension::Pid | Dimension::Session | Dimension::Detail => return None,
            Dimension::File | Dimension::Folder | Dimension::Extension => return None,
        })
    }

    /// The code of a place in the table.
    pub fn code_at(self, context: &SnapshotContext<'_>, index: usize) -> DimensionCode {
        let count = context.processes.instances.len();
        match self {
            _ if self.is_of_process() && index == count => DimensionCode::None,
            _ if self.is_of_process() && index == count + 1 => DimensionCode::Shared,
            _ => DimensionCode::Number(index as u64),
        }
    }

    /// The page's code.
    pub fn code(
        self,
        context: &SnapshotContext<'_>,
        page: &PageIdentity,
        classified: &ClassifiedPage,
    ) -> DimensionCode {
        let process = |index: u32| context.processes.instances.get(index as usize);
        match (self, classified.owner()) {
            (_, PageOwner::Unknown) if self.names_owner() => DimensionCode::Unknown(page.key()),
            (Dimension::Pid, PageOwner::Shared) => DimensionCode::Shared,
            (Dimension::Pid, PageOwner::Process(index)) => {
                process(index).map_or(DimensionCode::None, |p| DimensionCode::Number(p.process_id.into()))
            }
            (Dimension::Session, PageOwner::Process(index)) => process(index)
                .and_then(|p| p.session_id)
                .map_or(DimensionCode::None, |session| DimensionCode::Number(session.into())),
            (Dimension::Session, _) if page.page_use() == PageUse::SessionPrivate && page.key() != 0 => context
                .session(page.key())
                .map_or(DimensionCode::Unknown(page.key()), |session| DimensionCode::Number(session.into())),
            (Dimension::Pid | Dimension::Session, _) => DimensionCode::None,
            (Dimension::File | Dimension::Folder | Dimension::Extension, _) => match page.page_use() {
                PageUse::File | PageUse::MetaFile => file_code(context, page.file_key()),
                _ => DimensionCode::None,
            },
            (Dimension::Detail, _) => detail_code(context, context.detail(page, classified)),
            _ => {
                self.index(context, page, classified).map_or(DimensionCode::None, |index| self.code_at(context, index))
            }
        }
    }

    /// True for what is known of a process instance: its codes are indices of instances.
    #[inline(always)]
    const fn is_of_process(self) -> bool {
        matches!(self, Dimension::Process | Dimension::ProcessName | Dimension::Service | Dimension::CommandLine)
    }

    /// True for dimensions whose labels say whose a page is.
    pub(super) const fn names_owner(self) -> bool {
        self.is_of_process() || matches!(self, Dimension::Pid)
    }

    /// True when several codes can have one label.
    pub(super) const fn joins_codes(self) -> bool {
        use Dimension::{CommandLine, Extension, Folder, ProcessName, Service};
        matches!(self, ProcessName | Service | CommandLine | Folder | Extension)
    }

    /// The text of a code in tables: other words for labels of WPA that look like failures, paths as users know them.
    pub fn shown(self, context: &SnapshotContext<'_>, code: DimensionCode) -> String {
        match (self, code) {
            (_, DimensionCode::Shared) if self.names_owner() => "shared (files, images, sections)".to_owned(),
            (_, DimensionCode::None) if self.names_owner() => "kernel and free".to_owned(),
            (Dimension::File | Dimension::Folder | Dimension::Extension, DimensionCode::None) => "no file".to_owned(),
            (Dimension::Detail, DimensionCode::None) => "no detail".to_owned(),
            (Dimension::Session, DimensionCode::None) => "no session".to_owned(),
            (
                Dimension::File | Dimension::Folder | Dimension::Detail,
                DimensionCode::Number(_) | DimensionCode::Driver(_),
            ) => context.drive_paths.shown(&self.label(context, code)).into_owned(),
            _ => self.label(context, code),
        }
    }

    /// The text of a code: as WPA labels it, paths as the trace has them.
    pub fn label(self, context: &SnapshotContext<'_>, code: DimensionCode) -> String {
        let named = |name: Option<&str>| name.unwrap_or("n/a").to_owned();
        let number = match code {
            DimensionCode::None => return named(None),
            DimensionCode::Combined => return "CombinedPage".to_owned(),
            DimensionCode::PoolTag(tag) => return tag.to_string(),
            DimensionCode::Driver(index) => return named(context.image_names.get(index as usize).copied()),
            DimensionCode::Shared if self == Dimension::Pid => return "-1".to_owned(),
            DimensionCode::Shared => return "Unknown (-1)".to_owned(),
            DimensionCode::Unknown(_) if matches!(self, Dimension::Folder | Dimension::Extension) => {
                return "Unknown".to_owned();
            }
            DimensionCode::Unknown(key) if matches!(self, Dimension::File | Dimension::Detail | Dimension::Session) => {
                return format!("Unknown (0x{key:x})");
            }
            DimensionCode::Unknown(key) => return context.owners.reading.unknown_label(key),
            DimensionCode::Number(number) => number,
        };
        let at = number as usize;
        match self {
            Dimension::List => named(PageList::ALL.get(at).map(|list| list.name())),
            Dimension::Use => named(PageUse::ALL.get(at).map(|page_use| page_use.name())),
            Dimension::Category | Dimension::CategoryWpa => named(Category::ALL.get(at).map(|c| c.name())),
            Dimension::Class => named(Class::ALL.get(at).map(|class| class.name())),
            Dimension::Rule => named(Rule::ALL.get(at).map(|rule| rule.id())),
            Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable => (number != 0).to_string(),
            _ if self.is_of_process() => context.processes.instances.get(at).map_or_else(
                || named(None),
                |process| {
                    let known = |text: &str| if text.is_empty() { "Unknown".to_owned() } else { text.to_owned() };
                    match self {
                        Dimension::ProcessName => known(&process.name),
                        Dimension::CommandLine => known(&process.command_line),
                        Dimension::Service if context.services.of(at).is_empty() => "no service".to_owned(),
                        Dimension::Service => context.services.of(at).join(", "),
                        _ => process.label(),
                    }
                },
            ),
            Dimension::Folder => named(context.files.names.get(at).map(|path| folder(path))),
            Dimension::Extension => {
                let end = context.files.names.get(at).map(|path| extension(path)).unwrap_or_default();
                if end.is_empty() { "none".to_owned() } else { end }
            }
            Dimension::File | Dimension::Detail => named(context.files.names.get(at).copied()),
            _ => number.to_string(),
        }
    }
}

/// A page's value in one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DimensionCode {
    /// A number or an index, by dimension.
    Number(u64),
    /// "n/a".
    None,
    /// Shareable pages: process -1.
    Shared,
    /// A key without a name.
    Unknown(u64),
    /// A kernel image by index.
    Driver(u32),
    /// A combined page.
    Combined,
    /// A tag of the kernel's pool.
    PoolTag(PoolTag),
}

fn file_code(context: &SnapshotContext<'_>, key: u64) -> DimensionCode {
    context.files.index(key).map_or(DimensionCode::Unknown(key), |name| DimensionCode::Number(name.into()))
}

/// The code of a detail.
pub(crate) fn detail_code(context: &SnapshotContext<'_>, detail: Detail) -> DimensionCode {
    match detail {
        Detail::None => DimensionCode::None,
        Detail::File(key) => file_code(context, key),
        Detail::Driver(index) => DimensionCode::Driver(index),
        Detail::Combined => DimensionCode::Combined,
        Detail::PoolTag(tag) => DimensionCode::PoolTag(tag),
    }
}
