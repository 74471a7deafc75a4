//! One row for each page of a snapshot, in PFN order, judged but not counted.
//!
//! Rows are typed and never collected: [`PageListing::stream`] passes each to a formatter on the thread that read it
//! and gives the text to a writer in order. How a row looks is `report::pages`' business.

use crate::analysis::readiness::{not_recorded, readiness_of};
use crate::analysis::resident::ResidentModel;
use crate::analysis::resident::count::Filter;
use crate::analysis::resident::dimension::Dimension;
use crate::analysis::resident::judge::{Detail, Verdict};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::scene::Scene;
use crate::analysis::table::Condition;
use crate::analysis::trust::TrustReport;
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::page::{PageIdentity, PageUse};
use crate::model::snapshot::Snapshot;
use crate::units::Ticks;
use std::io;

/// A page and what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct PageRow {
    /// Its record.
    pub page: PageIdentity,
    /// When the record was logged, raw stamp.
    pub time: Ticks,
    /// Categories, owner.
    pub verdict: Verdict,
    /// Detail.
    pub detail: Detail,
}

/// Something that is either so or not about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // as in `PageIdentity`
pub enum Flag {
    Cold,
    Pinned,
    NonTradeable,
    Image,
    Mismatch,
    Combined,
}

impl Flag {
    /// All flags in the order of their bits in [`PageRow::flags`].
    pub const ALL: [Flag; 6] =
        [Flag::Cold, Flag::Pinned, Flag::NonTradeable, Flag::Image, Flag::Mismatch, Flag::Combined];

    /// Name in CSV and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Flag::Cold => "cold",
            Flag::Pinned => "pinned",
            Flag::NonTradeable => "non_tradeable",
            Flag::Image => "image",
            Flag::Mismatch => "mismatch",
            Flag::Combined => "combined",
        }
    }

    /// The flags of a set of bits.
    pub fn of_bits(bits: usize) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().enumerate().filter(move |(bit, _)| bits >> bit & 1 != 0).map(|(_, flag)| flag)
    }
}

impl PageRow {
    /// The address in `u2`: for PageFileMapped that of the prototype PTE, for files none. `None` where the kernel
    /// gave 0.
    #[inline]
    pub fn address(&self) -> Option<u64> {
        let address = match self.page.page_use() {
            PageUse::File | PageUse::MetaFile => 0,
            PageUse::PageFileMapped => self.page.prototype_pte(),
            _ => self.page.u2,
        };
        (address != 0).then_some(address)
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
        let page = &self.page;
        let flags =
            [page.cold(), page.pinned(), page.non_tradeable(), page.is_image(), page.mismatch(), page.combined()];
        flags.iter().enumerate().map(|(bit, &set)| usize::from(set) << bit).sum()
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub struct PageQuery {
    /// Conditions, all of which a page must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Of which snapshots.
    pub snapshot: SnapshotChoice,
}

/// The pages of a trace, ready to be streamed.
#[derive(Debug)]
pub struct PageListing<'e> {
    etl: &'e EtlFile,
    model: ResidentModel,
    query: &'e PageQuery,
    /// Doubts, most important first.
    pub warnings: Vec<String>,
    /// True when data was lost or the file is damaged.
    pub doubtful: bool,
    /// Numbers of the snapshots asked for.
    pub snapshots: Vec<usize>,
}

impl<'e> PageListing<'e> {
    /// Walks the trace once and makes everything ready but the pages.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without a page sequence, [`Error::Usage`] for a snapshot that is not there.
    pub fn new(etl: &'e EtlFile, query: &'e PageQuery) -> Result<PageListing<'e>, Error> {
        let model = ResidentModel::new(etl)?;
        let snapshots = query.snapshot.indices(model.snapshots.len())?;
        let survey = &model.history.survey;
        let doubts = TrustReport::new(etl, survey);
        let mut warnings = doubts.warnings();
        let missing = readiness_of(survey, "resident_set").map(|fitness| fitness.missing).unwrap_or_default();
        warnings.extend(not_recorded(&missing));
        Ok(PageListing { etl, query, warnings, doubtful: doubts.any(), snapshots, model })
    }

    /// Snapshots of the trace.
    pub fn snapshot_count(&self) -> usize {
        self.model.snapshots.len()
    }

    /// A snapshot of the trace with everything that its pages are joined with.
    pub fn snapshot(&self, index: usize) -> Option<(&Snapshot, Scene<'_>)> {
        let snapshot = self.model.snapshots.get(index)?;
        Some((snapshot, self.model.scene(self.etl, snapshot)))
    }

    /// Formats all pages of a snapshot that meet the conditions, in parallel, and writes them in PFN order.
    ///
    /// # Errors
    /// The first error of `write`; nothing is written after it.
    pub fn stream(
        &self,
        snapshot: &Snapshot,
        scene: &Scene<'_>,
        format: impl Fn(&mut Vec<u8>, &PageRow) + Sync,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let conditions = &self.query.conditions;
        snapshot.stream(
            self.etl,
            || Filter::new(conditions),
            |filter, text, page, time| {
                let verdict = scene.judge(&page);
                if conditions.is_empty() || filter.passes(scene, &page, &verdict) {
                    let detail = scene.detail(&page, &verdict);
                    format(text, &PageRow { page, time, verdict, detail });
                }
            },
            write,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::category::Category;
    use crate::analysis::resident::judge::OwnerCode;
    use crate::model::address_index::Cell;

    fn row(flags: u64, u2: u64) -> PageRow {
        let verdict = Verdict {
            category: Category::Unused,
            wpa: Category::Unused,
            owner: OwnerCode::process(0),
            cell: Cell::EMPTY,
        };
        PageRow { page: PageIdentity { flags, pfn: 1, u2 }, time: Ticks(0), verdict, detail: Detail::None }
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
