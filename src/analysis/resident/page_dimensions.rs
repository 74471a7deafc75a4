//! Dimensions: what pages can be grouped and filtered by. Each gives a page a code; labels are made from codes at the
//! end, once for each row.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::classify::{ClassifiedPage, Detail, PageOwner};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::dimensions::file_dimensions::Content;
use crate::dimensions::process_dimensions::{ProcessCode, ProcessFacts};
use crate::dimensions::single_dimensions::*;
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, FileFacet, Label, ProcessFacet, Values, dimensions};
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::event::pool::PoolTag;
use crate::model::category::{Category, Class};

dimensions! {
    /// What pages are grouped and filtered by.
    pub enum Dimension [7] {
        List: LIST;
        Use: USE;
        Category: CATEGORY;
        CategoryWpa: CATEGORY_WPA;
        Class: CLASS;
        ClassWpa: CLASS_WPA;
        Rule: RULE.of(Values::OneOf(Rule::ids_corrected));
        Process(ProcessFacet);
        File(FileFacet);
        Detail: DETAIL;
        PoolTag: POOL_TAG;
        Priority: PRIORITY;
        Cold: COLD;
        Pinned: PINNED;
        NonTradeable: NON_TRADEABLE;
        Stack(StackFacet);
    }
}

impl Dimension {
    /// The process of a page.
    pub const PROCESS: Dimension = Dimension::Process(ProcessFacet::Process);
    /// Its session.
    pub const SESSION: Dimension = Dimension::Process(ProcessFacet::Session);
    /// Its file.
    pub const FILE: Dimension = Dimension::File(FileFacet::File);

    /// The same by WPA's rules; `None` where the rule sets do not differ.
    pub const fn by_wpa(self) -> Option<Dimension> {
        match self {
            Dimension::Category => Some(Dimension::CategoryWpa),
            Dimension::Class => Some(Dimension::ClassWpa),
            _ => None,
        }
    }

    /// Number of codes, where it is small enough for a table: [`Dimension::index`] is below it.
    pub fn size(self, context: &SnapshotContext<'_>) -> Option<usize> {
        match self {
            Dimension::List | Dimension::Priority => Some(8),
            Dimension::Use => Some(16),
            Dimension::Category | Dimension::CategoryWpa => Some(Category::ALL.len()),
            Dimension::Class | Dimension::ClassWpa => Some(Class::ALL.len()),
            Dimension::Rule => Some(Rule::ALL.len()),
            Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable => Some(2),
            Dimension::SESSION | Dimension::File(_) | Dimension::Detail | Dimension::PoolTag | Dimension::Stack(_) => {
                None
            }
            Dimension::Process(_) => Some(context.processes.instances.len() + 2),
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
            Dimension::ClassWpa => classified.category_wpa().class() as usize,
            Dimension::Rule => classified.rule as usize,
            Dimension::Priority => usize::from(page.priority()),
            Dimension::Cold => usize::from(page.cold()),
            Dimension::Pinned => usize::from(page.pinned()),
            Dimension::NonTradeable => usize::from(page.non_tradeable()),
            Dimension::SESSION | Dimension::File(_) | Dimension::Detail | Dimension::PoolTag | Dimension::Stack(_) => {
                return None;
            }
            Dimension::Process(_) => match classified.owner() {
                PageOwner::Process(index) => index as usize,
                PageOwner::None => context.processes.instances.len(),
                PageOwner::Shared => context.processes.instances.len() + 1,
                PageOwner::Unknown => return None,
            },
        })
    }

    /// The code of a place in the table.
    pub fn code_at(self, context: &SnapshotContext<'_>, index: usize) -> DimensionCode {
        let count = context.processes.instances.len();
        match self {
            Dimension::Process(_) if index == count => DimensionCode::None,
            Dimension::Process(_) if index == count + 1 => DimensionCode::Shared,
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
        self.code_inline(context, page, classified)
    }

    /// The same, for a dimension that the caller names: the compiler leaves out all others.
    #[inline(always)]
    pub(crate) fn code_inline(
        self,
        context: &SnapshotContext<'_>,
        page: &PageIdentity,
        classified: &ClassifiedPage,
    ) -> DimensionCode {
        let owner = classified.owner();
        match self {
            // Pages of sessions belong to no process and have a session. So the code is the session's number.
            Dimension::SESSION => match owner {
                PageOwner::Process(index) => context
                    .processes
                    .instances
                    .get(index as usize)
                    .and_then(|process| process.session_id)
                    .map_or(DimensionCode::None, |session| DimensionCode::Number(session.into())),
                _ if page.page_use() == PageUse::SessionPrivate && page.key() != 0 => context
                    .session(page.key())
                    .map_or(DimensionCode::Unknown(page.key()), |session| DimensionCode::Number(session.into())),
                _ => DimensionCode::None,
            },
            Dimension::Process(_) if owner == PageOwner::Unknown => DimensionCode::Unknown(page.key()),
            Dimension::File(_) => match page.page_use() {
                PageUse::File | PageUse::MetaFile => file_code(context, page.file_key()),
                _ => DimensionCode::None,
            },
            Dimension::Detail => detail_code(context, context.detail(page, classified)),
            Dimension::PoolTag => match context.detail(page, classified) {
                Detail::PoolTag(tag) => DimensionCode::PoolTag(tag.without_mark()),
                // It has one, that nobody recorded.
                _ if !context.knows_pool_tags() && is_of_pool(page) => DimensionCode::Unknown(0),
                _ => DimensionCode::None,
            },
            Dimension::Stack(_) => context
                .stack_of(page, classified)
                .map_or(DimensionCode::None, |stack| DimensionCode::Number(stack.into())),
            _ => {
                self.index(context, page, classified).map_or(DimensionCode::None, |index| self.code_at(context, index))
            }
        }
    }

    /// What it is of the stack of a page's commit; `None` for other facts.
    pub(crate) const fn of_stack(self) -> Option<StackFacet> {
        if let Dimension::Stack(of) = self { Some(of) } else { None }
    }

    /// True when pages with a code meet a condition on this dimension: one on stacks may look at more than at the label.
    pub(crate) fn meets(
        self,
        context: &SnapshotContext<'_>,
        code: DimensionCode,
        condition: &Condition<Dimension>,
    ) -> bool {
        match (self, &context.committed) {
            (Dimension::Stack(of), Some(committed)) => committed.stacks.meets(stack_number(code), of, condition),
            (Dimension::PoolTag, _) => {
                let label = self.label(context, code);
                condition.matches([&label, &label.clone().without_filling()])
            }
            _ => condition.matches([&self.label(context, code)]),
        }
    }

    /// True for dimensions whose labels say whose a page is.
    pub(super) const fn names_owner(self) -> bool {
        matches!(self, Dimension::Process(of) if !matches!(of, ProcessFacet::Session))
    }

    /// True when several codes can have one label.
    pub(super) const fn joins_codes(self) -> bool {
        match self {
            Dimension::Process(of) => !matches!(of, ProcessFacet::Process | ProcessFacet::Session),
            Dimension::File(of) => !matches!(of, FileFacet::File),
            Dimension::Stack(_) => true,
            _ => false,
        }
    }

    /// The label of a code: for programs as WPA has it, paths as the trace has them.
    pub fn label(self, context: &SnapshotContext<'_>, code: DimensionCode) -> Label {
        let listed = |number: u64, names: &[&'static str]| {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            names.get(number).map_or_else(Label::nothing, |name| Label::listed(number, name))
        };
        match (self, code) {
            (Dimension::SESSION, DimensionCode::Number(session)) => Label::number(session),
            (Dimension::SESSION, DimensionCode::Unknown(key)) => Label::unknown(format!("Unknown (0x{key:x})")),
            (Dimension::Process(of), _) => of.label(process_code(code), &context.process_facts()),
            (Dimension::File(of), _) => of.label(content(context, code), &context.drive_paths),
            (Dimension::PoolTag, DimensionCode::PoolTag(tag)) => {
                let text = tag.exact_text();
                let shown = context.pool_tags.of(tag).map(|of_it| of_it.beside(&text));
                Label::name(&*text).shown_as(shown.as_deref().unwrap_or(&text))
            }
            (Dimension::PoolTag, DimensionCode::Unknown(_)) => Label::name("Unknown"),
            (Dimension::Detail, _) => content(context, code).detail(&context.drive_paths),
            (Dimension::Stack(of), _) => {
                let committed = context.committed.as_ref();
                committed.map_or_else(Label::nothing, |committed| committed.stacks.label(stack_number(code), of))
            }
            (Dimension::List, DimensionCode::Number(n)) => listed(n, &PageList::ALL.map(PageList::name)),
            (Dimension::Use, DimensionCode::Number(n)) => listed(n, &PageUse::ALL.map(PageUse::name)),
            (Dimension::Category | Dimension::CategoryWpa, DimensionCode::Number(n)) => {
                listed(n, &Category::ALL.map(Category::name))
            }
            (Dimension::Class | Dimension::ClassWpa, DimensionCode::Number(n)) => {
                listed(n, &Class::ALL.map(Class::name))
            }
            (Dimension::Rule, DimensionCode::Number(n)) => listed(n, &Rule::ALL.map(Rule::id)),
            (Dimension::Priority, DimensionCode::Number(n)) => Label::number(n),
            (Dimension::Cold | Dimension::Pinned | Dimension::NonTradeable, DimensionCode::Number(n)) => {
                Label::flag(n != 0)
            }
            _ => Label::nothing(),
        }
    }
}

const fn is_of_pool(page: &PageIdentity) -> bool {
    matches!(page.page_use(), PageUse::PagedPool | PageUse::NonPagedPool)
}

/// The number of a stack; `None` for pages that no record committed.
fn stack_number(code: DimensionCode) -> Option<u32> {
    if let DimensionCode::Number(number) = code { u32::try_from(number).ok() } else { None }
}

/// The process instance of a page that a VirtualAlloc can have committed. Page tables and lists of working sets lie in the kernel, and
/// pages of files and sections are committed by nobody's VirtualAlloc.
#[inline]
pub(super) fn committable(page: &PageIdentity, classified: &ClassifiedPage) -> Option<u32> {
    let has_address = matches!(page.page_use(), PageUse::ProcessPrivate | PageUse::Awe | PageUse::LargePage);
    match classified.owner() {
        PageOwner::Process(instance) if has_address => Some(instance),
        _ => None,
    }
}

impl SnapshotContext<'_> {
    /// The number of the stack of a page's commit, where stacks are asked for; `None` for a page that no record committed.
    #[inline]
    pub(super) fn stack_of(&self, page: &PageIdentity, classified: &ClassifiedPage) -> Option<u32> {
        let committed = self.committed.as_ref()?;
        committable(page, classified).and_then(|instance| committed.find(instance, page.u2))
    }

    /// What labels of processes are made of.
    fn process_facts(&self) -> ProcessFacts<'_> {
        ProcessFacts {
            processes: self.processes,
            services: Some(&self.services),
            reading: self.owners.reading,
            nobody: "kernel, free, owner not recorded",
        }
    }
}

/// Whose a page is.
fn process_code(code: DimensionCode) -> ProcessCode {
    match code {
        DimensionCode::Number(index) => u32::try_from(index).map_or(ProcessCode::None, ProcessCode::Instance),
        DimensionCode::Shared => ProcessCode::Shared,
        DimensionCode::Unknown(key) => ProcessCode::UnknownKey(key),
        DimensionCode::None | DimensionCode::Driver(_) | DimensionCode::Combined | DimensionCode::PoolTag(_) => {
            ProcessCode::None
        }
    }
}

/// What a page holds.
fn content<'c>(context: &'c SnapshotContext<'_>, code: DimensionCode) -> Content<'c> {
    let path = |path: Option<&&'c str>| path.map_or(Content::None, |path| Content::Path(path));
    match code {
        DimensionCode::Number(index) => path(context.files.names.get(index as usize)),
        DimensionCode::Driver(index) => path(context.image_names.get(index as usize)),
        DimensionCode::Unknown(key) => Content::Unknown(key),
        DimensionCode::Combined => Content::Combined,
        DimensionCode::PoolTag(tag) => Content::PoolTag(tag),
        DimensionCode::None | DimensionCode::Shared => Content::None,
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
