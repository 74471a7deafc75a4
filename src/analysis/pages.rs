//! One row for each page of a snapshot, in PFN order. Pages are counted first, for what is wrong with them.
//!
//! Rows are typed and never collected: [`SnapshotPages::stream`] passes each to a formatter on the thread that read it
//! and gives the text to a writer in order. `forms::pages` decides how a row looks.

use crate::analysis::resident::batch_classify::BatchClassifier;
use crate::analysis::resident::classify::{ClassifiedPage, Detail};
use crate::analysis::resident::commit_stacks::CommitStacks;
use crate::analysis::resident::group_counts::Filter;
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode, detail_code};
use crate::analysis::resident::query::{SnapshotChoice, stacks_for};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings;
use crate::analysis::table::{Column, Condition, Field, Fit, Table};
use crate::error::Error;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::model::category::Category;
use crate::model::drive_paths::DrivePaths;
use crate::model::page_owner_key::KeyReading;
use crate::model::snapshot::Snapshot;
use crate::named_enum::named_enum;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use crate::units::Ticks;
use std::io;
use std::sync::Arc;

/// A page and what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct PageRow {
    /// Its record.
    pub page: PageIdentity,
    /// When the record was logged, raw stamp.
    pub time: Ticks,
    /// Category by our rules.
    pub category: Category,
    /// Category by WPA's rules.
    pub wpa: Category,
    /// Code of the process that it belongs to; a number is the place in [`PageNames::processes`].
    pub process: DimensionCode,
    /// Code of its file; a number is the place in [`PageNames::files`].
    pub file: DimensionCode,
    /// Code of the file, image (place in [`PageNames::drivers`]) or pool tag that says more of it.
    pub detail: DimensionCode,
}

/// The texts that rows of a snapshot refer to.
#[derive(Debug, Clone)]
pub struct PageNames<'s> {
    /// Names and ids of processes.
    pub processes: Vec<(&'s str, u32)>,
    /// Names of files.
    pub files: &'s [&'s str],
    /// Paths of kernel images.
    pub drivers: &'s [&'s str],
    /// Paths as users know them.
    pub drive_paths: &'s DrivePaths,
    /// What owner keys are that name no process.
    pub reading: KeyReading,
}

/// A snapshot with everything that its pages are joined with.
#[derive(Debug)]
pub struct SnapshotPages<'l> {
    listing: &'l PageListing<'l>,
    snapshot: &'l Snapshot,
    context: Arc<SnapshotContext<'l>>,
}

named_enum! {
    /// A yes-or-no property of a page, in the order of the bits in [`PageRow::flags`].
    #[allow(missing_docs)] // as in `PageIdentity`
    pub enum Flag {
        Cold = "cold",
        Pinned = "pinned",
        NonTradeable = "non_tradeable",
        Image = "image",
        Mismatch = "mismatch",
        Combined = "combined",
    }
}

impl Flag {
    /// The flags of a set of bits.
    pub fn of_bits(bits: usize) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 != 0).map(|(_, flag)| flag)
    }

    /// One bit for each of [`Flag::ALL`].
    #[inline]
    pub fn bits_of(page: &PageIdentity) -> usize {
        let flags =
            [page.cold(), page.pinned(), page.non_tradeable(), page.is_image(), page.mismatch(), page.combined()];
        flags.iter().enumerate().map(|(bit, &set)| usize::from(set) << bit).sum()
    }
}

impl PageRow {
    /// The address in `u2`: for PageFileMapped that of the prototype PTE, for files none. `None` where the kernel
    /// gave 0.
    #[inline]
    pub fn address(&self) -> Option<u64> {
        address_of(&self.page)
    }

    /// Byte offset in the file; `None` for pages of no file.
    #[inline]
    pub fn file_offset(&self) -> Option<u64> {
        self.page.is_file_backed().then(|| self.page.file_offset())
    }

    /// File key; `None` for pages of no file.
    #[inline]
    pub fn file_key(&self) -> Option<u64> {
        self.page.is_file_backed().then(|| self.page.file_key())
    }

    /// One bit for each of [`Flag::ALL`].
    #[inline]
    pub fn flags(&self) -> usize {
        Flag::bits_of(&self.page)
    }
}

/// As [`PageRow::address`].
#[inline]
pub(crate) fn address_of(page: &PageIdentity) -> Option<u64> {
    let address = match page.page_use() {
        PageUse::File | PageUse::MetaFile => 0,
        PageUse::PageFileMapped => page.prototype_pte(),
        _ => page.u2,
    };
    (address != 0).then_some(address)
}

/// The columns of rows, for people and for programs. Rows are streamed, so the table has none.
pub(crate) fn columns() -> Table {
    const FIELDS: [&str; 13] = [
        "snapshot",
        "pfn",
        "list",
        "priority",
        "use",
        "category",
        "category_wpa",
        "process",
        "address",
        "file",
        "file_offset",
        "detail",
        "flags",
    ];
    let leaves = |title, order| Column::text(title).fit(Fit::Leaves(order));
    let titles = vec![
        Column::text("PFN").fit(Fit::Stays),
        leaves("Pri", 3),
        leaves("List", 5),
        leaves("Use", 1),
        Column::text("Category").fit(Fit::Stays),
        leaves("WPA where different", 0),
        leaves("Address / file offset", 4),
        leaves("Flags", 2),
        Column::text("Process, file or other detail"),
    ];
    Table { fields: FIELDS.map(Field::new).to_vec(), columns: titles, ..Table::default() }
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct PageQuery {
    /// Conditions, all of which a page must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// The snapshots whose pages are listed.
    pub snapshot: SnapshotChoice,
    /// Where symbol files are looked for, for conditions on functions and stacks.
    pub symbols: SymbolFolders,
}

impl PageQuery {
    /// True when conditions look at stacks.
    pub fn wants_stacks(&self) -> bool {
        self.conditions.iter().any(|condition| condition.dimension.of_stack().is_some())
    }
}

/// The pages of a trace, ready to be streamed.
#[derive(Debug)]
pub struct PageListing<'e> {
    trace: &'e Trace,
    query: &'e PageQuery,
    stacks: Option<CommitStacks>,
    /// What the pages of a snapshot were joined with when they were counted.
    counted: Option<(usize, Arc<SnapshotContext<'e>>)>,
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// Numbers of the snapshots asked for.
    pub snapshots: Vec<usize>,
}

impl<'e> PageListing<'e> {
    /// Prepares everything that the pages are joined with.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without a page sequence, [`Error::Usage`] for a snapshot that is not there.
    pub fn answer(trace: &'e Trace, query: &'e PageQuery) -> Result<PageListing<'e>, Error> {
        trace.gather(SnapshotContext::PARTS);
        let snapshots = query.snapshot.indices(trace.need_snapshots()?)?;
        let stacks = stacks_for(trace, &[], &query.conditions, &query.symbols);
        // Pages are counted before the first is shown: what `resident` says of its totals holds for the rows too.
        let (mut warnings, counted) = warnings::with_last_context(trace, &snapshots);
        warnings.extend(stacks.iter().flat_map(warnings::of_stacks));
        warnings.extend(warnings::of_untold(trace, &snapshots, &[], &query.conditions));
        warnings.extend(warnings::of_services(trace, &[], &query.conditions));
        let counted = counted.map(|(index, context)| (index, Arc::new(context)));
        Ok(PageListing { trace, query, stacks, counted, warnings, snapshots })
    }

    /// A snapshot of the trace with everything that its pages are joined with.
    pub fn snapshot(&self, index: usize) -> Option<SnapshotPages<'_>> {
        let snapshot = self.trace.snapshots().get(index)?;
        let context = match (&self.counted, &self.stacks) {
            (Some((of, context)), None) if *of == index => Arc::clone(context),
            (_, stacks) => Arc::new(SnapshotContext::with_stacks(self.trace, snapshot, stacks.as_ref())),
        };
        Some(SnapshotPages { listing: self, snapshot, context })
    }
}

impl SnapshotPages<'_> {
    /// The texts that rows refer to.
    pub fn names(&self) -> PageNames<'_> {
        let processes = self.context.processes.instances.iter();
        PageNames {
            processes: processes.map(|process| (&*process.name, process.process_id)).collect(),
            files: &self.context.files.names,
            drivers: &self.context.image_names,
            drive_paths: &self.context.drive_paths,
            reading: self.context.owners.reading,
        }
    }

    /// Formats all pages that meet the conditions, in parallel, and writes them in PFN order.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream(
        &self,
        format: impl Fn(&mut Vec<u8>, &PageRow) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let conditions = &self.listing.query.conditions;
        self.snapshot.stream(
            self.listing.trace.etl(),
            || (BatchClassifier::new(&self.context), Filter::new(conditions)),
            |(classifier, _), pages| classifier.classify(pages),
            |(classifier, filter), text, place, page, time| {
                let Some(classified) = classifier.classified_pages(place + 1).last() else { return };
                if conditions.is_empty() || filter.passes(&self.context, &page, classified) {
                    format(text, &self.row(page, time, classified));
                }
            },
            write,
        )
    }

    #[inline]
    fn row(&self, page: PageIdentity, time: Ticks, classified: &ClassifiedPage) -> PageRow {
        let context = &self.context;
        let file = Dimension::FILE.code_inline(context, &page, classified);
        PageRow {
            page,
            time,
            category: classified.category(),
            wpa: classified.category_wpa(),
            process: Dimension::PROCESS.code_inline(context, &page, classified),
            file,
            detail: match context.detail(&page, classified) {
                Detail::File(_) if page.is_file_backed() => file,
                detail => detail_code(context, detail),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(flags: u64, u2: u64) -> PageRow {
        PageRow {
            page: PageIdentity { flags, pfn: 1, u2 },
            time: Ticks(0),
            category: Category::Unused,
            wpa: Category::Unused,
            process: DimensionCode::None,
            file: DimensionCode::None,
            detail: DimensionCode::None,
        }
    }

    #[test]
    fn a_file_page_has_an_offset_and_no_address() {
        let page = row(1 | 7 << 9, 0xffff_8000_1000_0003);
        assert_eq!((page.address(), page.file_offset()), (None, Some(7 * 512)));
        assert_eq!(page.file_key(), Some(0xffff_8000_1000_0000));
        assert_eq!(Flag::of_bits(page.flags()).map(Flag::name).collect::<Vec<_>>(), ["image", "mismatch"]);
    }

    #[test]
    fn an_address_of_zero_is_unknown_and_a_prototype_has_no_flag_bit() {
        assert_eq!((row(0, 0).address(), row(0, 0).file_offset(), row(0, 0).file_key()), (None, None, None));
        assert_eq!(row(0, 0x1000).address(), Some(0x1000));
        let combined = row(2 | 1 << 7 | 1 << 8 | 1 << 60, 0xffff_8a00_0000_0009);
        assert_eq!(combined.address(), Some(0xffff_8a00_0000_0008));
        let names: Vec<_> = Flag::of_bits(combined.flags()).map(Flag::name).collect();
        assert_eq!(names, ["cold", "pinned", "non_tradeable", "combined"]);
    }
}
