//! CSV that pfnset wrote: rows of `resident`, `refset` and `pages`.

use crate::dimensions::single_dimensions;
use crate::error::Reason;
use crate::imported::file_kind::HEAD;
use crate::imported::pfnset_table::{BY_LIST, CountedBy, Listing, PfnsetForm, PfnsetRow, PfnsetSnapshot, PfnsetTable};
use crate::imported::selection::Selection;
use crate::imported::wpa::columns::{Columns, ExportedTable, SNAPSHOT, Says};
use crate::imported::wpa::culture::Culture;
use crate::imported::wpa::delimiter;
use crate::imported::wpa::heading::Heading;
use crate::imported::wpa::rows::{Reading, Rows};
use crate::imported::wpa::text::Text;
use crate::model::category::Category;
use crate::units::counted;
use std::collections::BTreeMap;

/// Names of columns that tell rows apart. `pages` is a number here: the dimension of that name is one of allocations.
fn dimensions() -> impl Iterator<Item = &'static str> {
    let names =
        single_dimensions::all().map(|facet| facet.name).filter(|name| *name != single_dimensions::PAGE_SIZE.name);
    [SNAPSHOT, CLASSIFICATION, TRACE, FAILURE].into_iter().chain(names)
}

/// The column that says by whose rules the pages are counted: [`BY_WPA`], or ours.
const CLASSIFICATION: &str = "classification";
const BY_WPA: &str = "wpa";

/// What `refset` calls the reason of release of pages that are held at the end.
const HELD: &str = "held";

/// Columns of answers on several traces: of which one a row is, and why there are none of it.
const TRACE: &str = "trace";
const FAILURE: &str = "error";

/// False for the columns that say of which trace and snapshot, and by whose rules, a row is.
fn is_dimension(name: &str) -> bool {
    ![SNAPSHOT, CLASSIFICATION, TRACE, FAILURE].contains(&name)
}

/// A text as it was before `--csv-safe` put a sign before it, which keeps spreadsheets from calculating it.
fn without_quote(label: &str) -> &str {
    let rest = label.strip_prefix('\'').filter(|rest| rest.trim_start().starts_with(['=', '+', '-', '@']));
    rest.unwrap_or(label)
}

/// Tables of a dataset have no reason of release where a page is held at the end; tables of `refset` have a word for it.
fn name_held_pages(columns: &Columns, labels: &mut [Vec<Box<str>>]) {
    let place = columns.keys.iter().position(|(known, _)| *known == single_dimensions::RELEASE_REASON.name);
    let reasons = place.and_then(|at| labels.get_mut(at)).into_iter().flatten();
    reasons.filter(|label| label.is_empty()).for_each(|label| *label = HELD.into());
}

/// Rows of several traces are not added up.
fn check_one_trace(columns: &Columns, labels: &[Vec<Box<str>>]) -> Result<(), Reason> {
    let of = |name: &str| {
        let place = columns.keys.iter().position(|(known, _)| *known == name);
        place.and_then(|at| labels.get(at)).into_iter().flatten().filter(|label| !label.is_empty())
    };
    let (traces, failure) = (of(TRACE).count(), of(FAILURE).next());
    match failure {
        _ if traces > 1 => {
            Err(format!("it has rows of {traces} traces, and one trace is compared: write one of them").into())
        }
        Some(failure) => Err(format!("it holds no rows of its trace, but an error: {failure}").into()),
        None => Ok(()),
    }
}

/// The first line: what separates cells, and the names of the columns. Spreadsheets write a table again with other signs between its
/// cells, and some write `sep=;` above it.
struct HeadLine {
    delimiter: u8,
    names: Vec<String>,
    /// Where the rows begin, in the text.
    end: usize,
}

impl HeadLine {
    fn new(head: &str, line_end: char) -> HeadLine {
        let (declared, start) = delimiter::declared(head).map_or((None, 0), |(sign, start)| (Some(sign), start));
        let rest = head.get(start..).unwrap_or_default();
        let length = rest.find(line_end).map_or(rest.len(), |at| at + 1);
        let line = rest.get(..length).unwrap_or_default();
        let is_ours = |heading: &str| is_own(&named(heading));
        let delimiter = declared.unwrap_or_else(|| delimiter::delimiter(line, is_ours));
        let names = delimiter::rows_of(line, delimiter).into_iter().next().unwrap_or_default();
        HeadLine { delimiter, names: names.iter().map(|heading| named(heading)).collect(), end: start + length }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

/// A heading as pfnset writes it: in small letters.
fn named(heading: &str) -> String {
    heading.trim().to_ascii_lowercase()
}

/// True for names of columns that pfnset writes.
fn is_own(name: &str) -> bool {
    ["pages", "bytes", "pages_wpa", PFN, TIME].contains(&name) || dimensions().any(|dimension| dimension == name)
}

/// The column of rows that are pages.
const PFN: &str = "pfn";

/// The time of rows of a timeline: the first column, or that after the trace.
const TIME: &str = "time_s";

/// True when the headings are those that pfnset writes. WPA has neither `bytes` nor `snapshot`.
pub(super) fn is_one(text: Text<'_>, head: &str) -> bool {
    let head = HeadLine::new(head, text.line_end());
    let is_listing =
        head.has(PFN) && [SNAPSHOT, single_dimensions::CATEGORY_WPA.name].iter().any(|name| head.has(name));
    let is_counted = head.has("pages") && ["bytes", SNAPSHOT, TIME].iter().any(|name| head.has(name));
    (is_counted || is_listing)
        && head.names.iter().any(|name| name == TIME || dimensions().any(|dimension| dimension == name))
}

/// Where rows are pages, each has its number.
fn check_each_page(rows: &Rows) -> Result<(), Reason> {
    let lacking = counted(rows.left_out, "row has", "rows have");
    let text =
        || format!("{lacking} no page frame number ({PFN}): it was changed after pfnset wrote it; write it again");
    if rows.left_out > 0 { Err(text().into()) } else { Ok(()) }
}

/// Rows of several times are not added up.
fn check_one_time(head: &HeadLine) -> Result<(), Reason> {
    let first = head.names.iter().find(|name| *name != TRACE);
    match first.is_some_and(|name| name == TIME) {
        true => {
            let text = "its rows are of many times (time_s), as a timeline has them, and one moment is compared";
            Err(format!("{text}: write it without the timeline").into())
        }
        false => Ok(()),
    }
}

/// Reads the file.
///
/// # Errors
/// A text with line and column.
pub(super) fn read(text: Text<'_>) -> Result<PfnsetTable, Reason> {
    let head = text.head(HEAD);
    let head_line = HeadLine::new(&head, text.line_end());
    check_one_time(&head_line)?;
    let names: Vec<&str> = head_line.names.iter().map(String::as_str).collect();
    let says = |name: &&str| match *name {
        "pages" => Says::Pages,
        "pages_wpa" => Says::PagesByWpa,
        of if BY_LIST.contains(&of) && BY_LIST.iter().all(|name| names.contains(name)) => Says::PagesOfLists,
        "bytes" if names.contains(&"pages") => Says::BytesOfPages,
        PFN => Says::Pfn(10),
        "address" if names.contains(&PFN) => Says::Address,
        _ => Says::Ignored,
    };
    let keys = names
        .iter()
        .enumerate()
        .filter_map(|(at, name)| dimensions().find(|dimension| dimension == name).map(|dimension| (dimension, at)));
    let keys: Vec<(&'static str, usize)> = keys.collect();
    let mut columns = Columns {
        headings: names.iter().map(|name| Heading::new(name)).collect(),
        says: names.iter().map(says).collect(),
        table: if names.contains(&SNAPSHOT) { ExportedTable::Resident } else { ExportedTable::Reference },
        is_system_view: false,
        by_content: Vec::new(),
        keys,
    };
    for (number, (_, at)) in columns.keys.iter().enumerate() {
        columns.says.get_mut(*at).into_iter().for_each(|says| *says = Says::Key(number));
    }
    let reading = Reading {
        text,
        start: text.offset_of(&head, head_line.end),
        delimiter: head_line.delimiter,
        grouped: vec![true; columns.keys.len()],
        columns: &columns,
        culture: Culture::default(),
        is_wanted: &|_, _| true,
        with_pages: columns.has_pfn(),
        categories: Some(&Category::ALL.map(Category::name)),
    };
    let mut rows = reading.rows().map_err(|error| reading.error_text(&error))?;
    let contradictions = reading.contradictions(&rows.noticed);
    check_each_page(&rows)?;
    rows.labels.iter_mut().flatten().for_each(|label| *label = without_quote(label).into());
    check_one_trace(&columns, &rows.labels)?;
    name_held_pages(&columns, &mut rows.labels);
    let mut snapshots: BTreeMap<u64, PfnsetSnapshot> = BTreeMap::new();
    let mut by_wpa = false;
    for (key, sums) in &rows.sums {
        let label = |at: usize| rows.labels.get(at)?.get(*key.get(at)? as usize).cloned();
        let of = |name: &str| columns.keys.iter().position(|(known, _)| *known == name).and_then(label);
        by_wpa |= of(CLASSIFICATION).is_some_and(|rules| &*rules == BY_WPA);
        let index = of(SNAPSHOT).map_or(Ok(0), |index| index.parse());
        let index = index.map_err(|_| Reason::from("its column snapshot is no number".to_owned()))?;
        let (pages, pages_wpa) = (sums.amount.pages(), sums.by_wpa.pages());
        let snapshot = snapshots.entry(index).or_insert_with(|| PfnsetSnapshot { index, ..PfnsetSnapshot::default() });
        let names = columns.keys.iter().enumerate().filter(|(_, (name, _))| is_dimension(name));
        let labels = names.map(|(at, _)| label(at).unwrap_or_default()).collect();
        snapshot.rows.push(PfnsetRow { labels, pages, pages_wpa });
    }
    if snapshots.is_empty() {
        snapshots.insert(0, PfnsetSnapshot::default());
    }
    let has_both = columns.says.contains(&Says::PagesByWpa);
    let dimensions = columns.keys.iter().map(|(name, _)| *name).filter(|name| is_dimension(name));
    Ok(PfnsetTable {
        form: PfnsetForm::Csv,
        table: columns.table,
        counted_by: match has_both {
            true => CountedBy::Both,
            false if by_wpa => CountedBy::Wpa,
            false => CountedBy::Corrected,
        },
        dimensions: dimensions.map(str::to_owned).collect(),
        snapshots: snapshots.into_values().collect(),
        warnings: Vec::new(),
        contradictions,
        selection: Selection::default(),
        listing: columns.has_pfn().then(|| Listing { pages: rows.take_pages(&columns), columns }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own_table(text: &str) -> bool {
        is_one(Text::new(text.as_bytes()), text)
    }

    fn table(text: &str) -> PfnsetTable {
        assert!(is_own_table(text), "{text}");
        read(Text::new(text.as_bytes())).unwrap()
    }

    #[test]
    fn rows_of_each_command_are_read() {
        let resident = table("snapshot,category,pages,bytes,pages_wpa\n0,Image,3,12288,4\n1,Image,5,20480,5\n");
        assert_eq!((resident.snapshots.len(), resident.counted_by), (2, CountedBy::Both));
        assert_eq!(resident.rows(&resident.snapshots[0], true)[0].amount.pages(), 4);
        let refset = table("process,category,pages,bytes\n\"a, b\",Image,3,12288\n");
        assert_eq!((refset.table, refset.dimensions.len()), (ExportedTable::Reference, 2));
        assert_eq!(&*refset.snapshots[0].rows[0].labels[0], "a, b");
        let pages = table("snapshot,pfn,list,category,category_wpa\n0,1,Active,Image,Image\n0,2,Active,Image,Image\n");
        assert_eq!((pages.snapshots[0].rows[0].pages, pages.counts(true)), (2, true));
        let wpa = table("snapshot,category,pages,bytes,classification\n0,Image,3,12288,wpa\n");
        assert_eq!((wpa.counted_by, wpa.dimensions), (CountedBy::Wpa, vec!["category".to_owned()]));
        assert!(!is_own_table("Page Category,Page Count\n") && !is_own_table("provider,count\n"));
        let safe = table("process,pages,bytes\n'=app.exe (4),3,12288\n'app.exe (8),3,12288\n");
        let mut names: Vec<&str> = safe.snapshots[0].rows.iter().map(|row| &*row.labels[0]).collect();
        names.sort_unstable();
        assert_eq!(names, ["'app.exe (8)", "=app.exe (4)"]);
        let each = "trace,snapshot,category,pages,bytes,error\na.etl,0,Image,3,12288,\n";
        assert_eq!(table(each).dimensions, ["category"]);
        for (more, says) in
            [("b.etl,0,Image,5,20480,\n", "rows of 2 traces"), ("a.etl,,,,,no pages\n", "an error: no pages")]
        {
            let told = read(Text::new(format!("{each}{more}").as_bytes())).unwrap_err().text;
            assert!(told.contains(says), "{told}");
        }
        let changed = read(Text::new(b"snapshot,category,pages,bytes\n0,Image,3,4096\n")).unwrap_err().text;
        assert!(changed.contains("line 2, column \"bytes\": \"4096\" is another amount than the pages"), "{changed}");
        let broken = read(Text::new(b"snapshot,category,pages,bytes\n0,Image,x,1\n")).unwrap_err().text;
        assert!(broken.contains("line 2, column \"pages\": \"x\" is no number"), "{broken}");
    }
}
