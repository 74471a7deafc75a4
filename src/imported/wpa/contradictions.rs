//! Where a Resident Set table contradicts itself: somebody changed it, or its columns are not what their headings say.
//!
//! What decides is compared all the same, and a warning says so: numbers of pages beside other sizes, amounts that are missing,
//! categories that are none, a total that is not the sum of the rows.

use super::columns::{CATEGORY, Says, is_measure};
use super::culture::{Decimals, Place};
use super::heading::{Heading, Unit};
use super::noticed::{Cases, Noticed};
use super::rows::{Cells, Reading};
use crate::model::category::Category;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::{count, counted};

/// Labels of a row of totals that somebody added.
const TOTALS: [&str; 4] = ["total", "totals", "grand total", "sum"];
/// What WPA writes where it knows no category.
const NO_CATEGORY: [&str; 3] = ["", "Unknown", "n/a"];

/// True for the label of a category, and for what stands where none is known.
pub(crate) fn is_category(label: &str) -> bool {
    Category::ALL.into_iter().map(Category::name).chain(NO_CATEGORY).any(|name| name.eq_ignore_ascii_case(label))
}

/// True for the label of a row of totals.
pub(crate) fn is_total(label: &str) -> bool {
    TOTALS.iter().any(|name| name.eq_ignore_ascii_case(label))
}

impl Reading<'_> {
    /// Looks at a label when it is met for the first time.
    pub(super) fn notice_label(&self, noticed: &mut Noticed, key: usize, label: &str, place: Place) {
        let Some(categories) = self.categories else { return };
        let is_one = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(label));
        let is_of_category = self.columns.keys.get(key).is_some_and(|(dimension, _)| *dimension == CATEGORY);
        let is_none = is_of_category && !is_one(categories) && !is_one(&NO_CATEGORY);
        if is_none || is_total(label) {
            let first = noticed.labels.entry(label.into()).or_insert(place);
            *first = place.min(*first);
        }
    }

    /// Looks at the amounts of a row.
    #[inline]
    pub(super) fn notice(&self, noticed: &mut Noticed, record: &csv::ByteRecord, row: u64, cells: &Cells<'_>) {
        let amount = cells.sums.amount;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let text = |at: usize| String::from_utf8_lossy(cell(at).trim_ascii()).into_owned();
        let is_empty = |at: &usize| cell(*at).trim_ascii().is_empty();
        let place = |at: usize| (row, at as u32);
        let [pages, size] = self.amount_columns();
        if let (Some(pages), Some(at), Some(of_size)) = (pages, size, cells.size)
            && !is_empty(&pages)
            && !is_empty(&at)
            && !amount.is_rounded(of_size)
        {
            noticed.other_sizes.add(place(pages), || {
                let (pages, size) = (self.quoted(pages, &text(pages)), self.quoted(at, &text(at)));
                format!("{pages}, and {size} is the size of {} pages", count(of_size.pages().unsigned_abs()))
            });
        }
        if let (Some(pages), Some(of_lists)) = (pages, cells.of_lists.filter(|of_lists| *of_lists != amount)) {
            noticed.other_sizes.add(place(pages), || {
                let of_lists = count(of_lists.pages().unsigned_abs());
                format!("{}, and by its lists {of_lists}", self.quoted(pages, &text(pages)))
            });
        }
        let has_pfn = self.columns.has_pfn();
        let deciding = pages.or(size.filter(|_| !has_pfn));
        match deciding.filter(is_empty) {
            _ if cells.is_total => {
                // A row of pages counts as one page; a total has its own amount.
                let total = if pages.is_some() { Some(amount) } else { cells.size };
                let measure = pages.or(size).filter(|at| !is_empty(at) && self.is_grand_total(record));
                measure.zip(total).into_iter().for_each(|(at, total)| noticed.add_total((total, place(at))));
                return;
            }
            // A row of sums.
            _ if has_pfn && cells.pfn.is_none() => return,
            Some(at) => noticed.empty.add(place(at), || {
                let beside = size.filter(|size| *size != at && !is_empty(size));
                let beside =
                    beside.map_or(String::new(), |size| format!(", beside {}", self.quoted(size, &text(size))));
                format!("{}{beside}", self.quoted(at, "empty"))
            }),
            None => {}
        }
        noticed.whole += amount;
    }

    /// The columns of the number of pages and of sizes whose unit is known.
    fn amount_columns(&self) -> [Option<usize>; 2] {
        let says = &self.columns.says;
        let is_size = |says: &Says| matches!(says, Says::Size(_, decimals) if *decimals != Decimals::Unknown);
        [says.iter().position(|says| *says == Says::Pages), says.iter().position(is_size)]
    }

    /// True for a row of amounts alone: one with a time or an address, say, is of a group that was opened.
    fn is_grand_total(&self, record: &csv::ByteRecord) -> bool {
        let is_amount = |heading: &Heading| {
            is_measure(&heading.name) || matches!(heading.unit, Some(Unit::Size(_) | Unit::Percent))
        };
        let says = self.columns.headings.iter().zip(&self.columns.says).zip(record);
        says.filter(|((heading, says), _)| **says == Says::Ignored && !is_amount(heading))
            .all(|(_, cell)| cell.trim_ascii().is_empty())
    }

    fn quoted(&self, at: usize, cell: &str) -> String {
        format!("{} {cell}", self.columns.headings.get(at).map_or("", |heading| heading.text.as_str()))
    }

    /// A warning of each kind.
    pub(crate) fn contradictions(&self, noticed: &Noticed) -> Warnings {
        let mut warnings = Warnings::default();
        let mut cases = |cases: &Cases, code, one: &str, many: &str, then: &str| {
            if let Some((place, text)) = &cases.first {
                let rows = counted(cases.count, one, many);
                let text = format!("{rows}: line {} has {text}; {then}", self.line(*place));
                warnings.push(Warning::grave(OF_TRACE, code, text).of(cases.count));
            }
        };
        let (one, many) = (
            "row of the table has another size than its pages",
            "rows of the table have another size than their pages",
        );
        cases(&noticed.other_sizes, "sizes_differ", one, many, "the pages are compared");
        let (one, many) = ("row of the table has no amount", "rows of the table have no amount");
        cases(&noticed.empty, "amounts_missing", one, many, "it counts as 0");
        warnings.extend(self.unknown_labels(noticed));
        warnings.extend(self.other_total(noticed));
        warnings
    }

    fn unknown_labels(&self, noticed: &Noticed) -> Option<Warning> {
        let mut found: Vec<(Place, &str)> = noticed.labels.iter().map(|(label, place)| (*place, &**label)).collect();
        found.sort_unstable();
        let shown = |(place, label): &(Place, &str)| format!("\"{label}\" (line {})", self.line(*place));
        categories_unknown(&found.iter().map(shown).collect::<Vec<_>>())
    }

    fn other_total(&self, noticed: &Noticed) -> Option<Warning> {
        let whole = noticed.whole;
        let (total, place) = noticed.totals?.into_iter().find(|(total, _)| !total.is_rounded(whole))?;
        let [total, whole] = [total, whole].map(|amount| count(amount.pages().unsigned_abs()));
        let text = format!(
            "line {} of the table, a total without labels, has {total} pages, and its rows have {whole}: rows are missing, or were \
             changed",
            self.line(place)
        );
        Some(Warning::grave(OF_TRACE, "total_differs", text))
    }
}

/// Labels that are no categories, or that name totals, with their places.
pub(crate) fn categories_unknown(found: &[String]) -> Option<Warning> {
    let shown = found.get(..found.len().min(MOST_SHOWN)).unwrap_or_default();
    let more = found.len().saturating_sub(MOST_SHOWN) as u64;
    let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    let labels = counted(
        found.len() as u64,
        "label is no known category, or names a total",
        "labels are no known categories, or name totals",
    );
    let text = format!("{labels}: {}{more}; pages of such rows are counted beside all others", shown.join(", "));
    (!found.is_empty()).then(|| Warning::grave(OF_TRACE, "categories_unknown", text).of(found.len() as u64))
}

/// Labels that a warning lists.
const MOST_SHOWN: usize = 3;
