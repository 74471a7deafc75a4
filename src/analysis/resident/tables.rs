//! Columns of the resident set's tables: their values, the order in which a narrow table leaves them out, and which of them a
//! user can choose.

use crate::analysis::resident::page_counts::PageCounts;
use crate::analysis::table::{Measured, Value, spelling};
use crate::dimensions::LabelKind;
use crate::error::Error;
use crate::event::page_identity::PageList;

/// A column.
pub(crate) type Column = Measured<PageCounts>;

/// What the user chose to see.
#[derive(Debug, Clone, Default)]
pub struct ColumnChoice {
    /// True when WPA's number was asked for: then it stays in narrow tables.
    pub wpa: bool,
    /// True for a column for each list.
    pub lists_across: bool,
    /// The columns, in this order; empty: those that suit the rows.
    pub columns: Vec<usize>,
    /// True when the first screen is not cut to its lines.
    pub all: bool,
}

/// Heading of the number of pages.
pub(super) const PAGES_TITLE: &str = "Pages";
pub(super) const PAGES: Column = Column::new("pages", PAGES_TITLE, |m, _| Value::count(m.pages));
pub(super) const SIZE: Column = Column::new("bytes", "", |m, _| Value::pages(m.pages as i64));
pub(super) const SHARE: Column = Column::shown("Share", |m, all| Value::share(m.pages, all.pages));
const WPA: Column = Column::new("pages_wpa", "WPA", |m, _| Value::count(m.pages_wpa));
const DIFFERENCE: Column = Column::shown("Difference", |m, _| Value::Difference(difference(m)));
const ACTIVE: Column = Column::new("active_pages", "Active", |m, _| Value::CountIfAny(m.active()));
const STANDBY: Column = Column::new("standby_pages", "Standby", |m, _| Value::CountIfAny(m.standby()));
const MODIFIED: Column = Column::new("modified_pages", "Modified", |m, _| Value::CountIfAny(m.modified()));
const FREE: Column = Column::new("free_pages", "Free", |m, _| Value::CountIfAny(m.free()));
const OTHER: Column = Column::new("other_pages", "Other", |m, _| Value::CountIfAny(m.other()));

/// The columns that can be chosen, by name.
const BY_NAME: [(&str, Column); 10] = [
    ("pages", PAGES),
    ("size", SIZE),
    ("share", SHARE),
    ("wpa", WPA),
    ("difference", DIFFERENCE),
    ("active", ACTIVE),
    ("standby", STANDBY),
    ("modified", MODIFIED),
    ("free", FREE),
    ("other", OTHER),
];

// Columns of the first screen: sizes in one unit.
pub(super) const WPA_SIZE: Column = Column::shown("WPA", |m, _| Value::pages(m.pages_wpa as i64));
pub(super) const DIFFERENCE_SIZE: Column =
    Column::shown("Difference", |m, _| Value::SizeDifference(difference(m) * 4096));
pub(super) const ACTIVE_SIZE: Column = Column::shown("Active", |m, _| size_if_any(m.active()));
pub(super) const STANDBY_SIZE: Column = Column::shown("Standby", |m, _| size_if_any(m.standby()));
pub(super) const MODIFIED_SIZE: Column = Column::shown("Modified", |m, _| size_if_any(m.modified()));
pub(super) const FREE_SIZE: Column = Column::shown("Free", |m, _| size_if_any(m.free()));
pub(super) const OTHER_SIZE: Column = Column::shown("Other", |m, _| size_if_any(m.other()));
/// A column for each list, in the order of RAMMap.
const LISTS: [(PageList, Column); PageList::ALL.len()] = [
    (PageList::Active, Column::shown("Active", on_list::<{ PageList::Active as usize }>).leaves(7)),
    (PageList::Standby, Column::shown("Standby", on_list::<{ PageList::Standby as usize }>).leaves(6)),
    (PageList::Modified, Column::shown("Modified", on_list::<{ PageList::Modified as usize }>).leaves(5)),
    (
        PageList::ModifiedNoWrite,
        Column::shown("ModifiedNoWrite", on_list::<{ PageList::ModifiedNoWrite as usize }>).leaves(0),
    ),
    (PageList::Transition, Column::shown("Transition", on_list::<{ PageList::Transition as usize }>).leaves(1)),
    (PageList::Zero, Column::shown("Zero", on_list::<{ PageList::Zero as usize }>).leaves(4)),
    (PageList::Free, Column::shown("Free", on_list::<{ PageList::Free as usize }>).leaves(3)),
    (PageList::Bad, Column::shown("Bad", on_list::<{ PageList::Bad as usize }>).leaves(2)),
];

const fn difference(m: &PageCounts) -> i64 {
    m.pages.wrapping_sub(m.pages_wpa) as i64
}

fn size_if_any(pages: u64) -> Value {
    Value::maybe((pages > 0).then_some(pages), |pages| Value::pages(pages as i64))
}

fn on_list<const LIST: usize>(m: &PageCounts, _: &PageCounts) -> Value {
    size_if_any(m.by_list.get(LIST).copied().unwrap_or(0))
}

impl ColumnChoice {
    /// Names of the columns that can be chosen.
    pub fn column_names() -> impl Iterator<Item = &'static str> {
        BY_NAME.iter().map(|(name, _)| *name)
    }

    /// Chooses the columns of `a,b,c`.
    ///
    /// # Errors
    /// A usage error for an unknown name, and for one that occurs twice.
    pub fn choose(&mut self, names: &str) -> Result<(), Error> {
        self.columns.clear();
        for name in names.split(',').map(|name| name.trim().to_ascii_lowercase()) {
            let Some(column) = BY_NAME.iter().position(|(known, _)| *known == name) else {
                let advice = spelling::advice(&name, ColumnChoice::column_names());
                return Err(Error::Usage(format!("unknown column \"{name}\"{advice}")));
            };
            if self.columns.contains(&column) {
                return Err(Error::Usage(format!("column {name} is named twice")));
            }
            self.columns.push(column);
        }
        Ok(())
    }

    /// True when a chosen column is WPA's number or follows from it.
    pub fn has_wpa_column(&self) -> bool {
        self.columns
            .iter()
            .filter_map(|&column| BY_NAME.get(column))
            .any(|(name, _)| matches!(*name, "wpa" | "difference"))
    }
}

/// What programs get of a row.
pub(super) fn written(compares: bool) -> Vec<Column> {
    let wpa: &[Column] = if compares { &[WPA] } else { &[] };
    [&[PAGES, SIZE], wpa, &[ACTIVE, STANDBY, MODIFIED, FREE, OTHER]].concat()
}

/// What people see of a row.
pub(super) fn shown(view: &ColumnChoice, compares: bool, all: &PageCounts) -> Vec<Column> {
    if view.lists_across {
        let has_pages = |list: PageList| all.by_list.get(list as usize).is_some_and(|&pages| pages > 0);
        let lists = LISTS.iter().filter(|(list, _)| has_pages(*list)).map(|(_, column)| *column);
        return std::iter::once(SIZE).chain(lists).collect();
    }
    if !view.columns.is_empty() {
        return view.columns.iter().filter_map(|&column| Some(BY_NAME.get(column)?.1)).collect();
    }
    // A user who asks for WPA's number needs it more than the lists. Without that, it must not replace the lists.
    let order = if view.wpa { [5, 7, 6, 4, 3, 2, 1, 0] } else { [4, 1, 0, 7, 6, 5, 3, 2] };
    let [share, wpa, difference, active, standby, modified, free, other] = order;
    let mut columns = vec![PAGES, SIZE, SHARE.leaves(share)];
    if compares {
        columns.extend([WPA.leaves(wpa), DIFFERENCE.leaves(difference)]);
    }
    columns.extend([ACTIVE.leaves(active), STANDBY.leaves(standby), MODIFIED.leaves(modified)]);
    columns.extend((all.free() > 0).then_some(FREE.leaves(free)));
    columns.extend((all.other() > 0).then_some(OTHER.leaves(other)));
    columns
}

/// The field that says whose pages the rows of a process dimension are.
pub(super) const PROCESS_OWNER: &str = "owner";

/// Whose pages have a label of this kind in a process dimension.
pub(super) const fn owner(kind: LabelKind) -> &'static str {
    match kind {
        LabelKind::Nothing => "kernel_or_free",
        LabelKind::Shared => "shared",
        LabelKind::Unknown => "unknown",
        LabelKind::Name
        | LabelKind::Process { .. }
        | LabelKind::Listed(_)
        | LabelKind::Number(_)
        | LabelKind::Flag(_)
        | LabelKind::Cut(_) => "process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_chosen_by_name() {
        let mut view = ColumnChoice::default();
        view.choose("Size, wpa").unwrap();
        assert!(view.columns == [1, 3] && view.has_wpa_column());
        assert!(view.choose("sise").unwrap_err().to_string().contains("did you mean \"size\""));
        assert!(view.choose("size,size").unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn the_columns_of_a_row_add_up() {
        let counts = PageCounts::of_lists([1, 2, 4, 8, 16, 32, 64, 128]);
        let parts = [counts.active(), counts.standby(), counts.modified(), counts.free(), counts.other()];
        assert_eq!(parts.iter().sum::<u64>(), counts.pages);
        assert_eq!(shown(&ColumnChoice { lists_across: true, ..ColumnChoice::default() }, true, &counts).len(), 9);
    }
}
