//! What each column of an exported table means: by its heading, by the user's options, or by its cells.

use super::culture::Decimals;
use super::heading::{Heading, Unit};
use std::collections::BTreeSet;

/// The two tables of WPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportedTable {
    /// Resident Set.
    Resident,
    /// Reference Set.
    Reference,
}

/// What a column says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// A label in a dimension: its number among the key columns.
    Key(usize),
    /// A number of pages.
    Pages,
    /// A number of pages by WPA's rules, beside one by ours.
    PagesByWpa,
    /// Of the pages of a row those on some of the lists.
    PagesOfLists,
    /// The bytes of the pages, in a table of pfnset: the same amount.
    BytesOfPages,
    /// An amount of memory in a unit of this number of bytes.
    Size(u64, Decimals),
    /// A page frame number, its digits of this radix: each row is a page.
    Pfn(u32),
    /// The virtual address of the page.
    Address,
    /// Nothing that is compared.
    Ignored,
}

/// Dimension of rows in which a process has its name without its id.
pub const PROCESS_NAME: &str = "process_name";
/// Dimension of WPA's categories.
pub(super) const CATEGORY: &str = "category";
/// Dimension that chooses the snapshot.
pub const SNAPSHOT: &str = "snapshot";

/// What headings mean: names in lower case, best first, and the dimension.
const KEYS: [(&[&str], &str); 12] = [
    (&["page category", "category", "residentsetpagecategory"], CATEGORY),
    (&["mmlist", "page list", "list"], "list"),
    (&["process"], "process"),
    (&["process name"], PROCESS_NAME),
    (&["page priority", "priority"], "priority"),
    (&["pinned"], "pinned"),
    (&["description", "page category detailed", "path"], "detail"),
    (&["snapshot time"], SNAPSHOT),
    (&["category class"], "class"),
    (&["impact type"], "impact"),
    (&["access reason"], "access_reason"),
    (&["release reason"], "release_reason"),
];

const PFN: &str = "pfn";
const ADDRESS: &str = "address";
const PAGES: &str = "pages";
const IGNORE: &str = "ignore";

const PFNS: [&str; 2] = ["page frame number", "pfn"];
const ADDRESSES: [&str; 1] = ["virtual address"];
/// Counts of pages, best first. The view of a process is what we count; the raw count has no offers taken off.
const COUNTS: [&str; 5] =
    ["page count", "pages", "page count w/o offer (process view)", "page count w/o offer (raw)", "count"];
/// Sizes, best first.
const SIZES: [&str; 3] = ["size", "size (process view)", "size w/o offer (process view)"];
/// Counts and sizes in which a page that several processes hold counts once.
const SYSTEM_VIEW: [&str; 6] = [
    "page count w/o offer (system view)",
    "size (system view)",
    "size w/o offer (system view)",
    "impact size (system view)",
    "impact size w/o offer (system view)",
    "impact size",
];
/// Headings that only the Reference Set table has.
const REFERENCE_ONLY: [&str; 9] = [
    "category class",
    "impact type",
    "access time",
    "release time",
    "release time (adjusted)",
    "reaccess",
    "access reason",
    "release reason",
    "access priority",
];

/// True for a heading that says something here.
pub fn is_known(heading: &str) -> bool {
    let name = Heading::new(heading).name;
    let mut keys = KEYS.iter().flat_map(|(names, _)| names.iter());
    let others = PFNS.iter().chain(&ADDRESSES).chain(&COUNTS).chain(&SIZES).chain(&SYSTEM_VIEW).chain(&REFERENCE_ONLY);
    keys.any(|known| *known == name) || others.into_iter().any(|known| *known == name)
}

/// True for the name of an amount, in lower case.
pub(super) fn is_measure(name: &str) -> bool {
    COUNTS.iter().chain(&SIZES).chain(&SYSTEM_VIEW).any(|known| *known == name)
}

/// The columns of a file and what each says.
#[derive(Debug, Clone)]
pub struct Columns {
    /// Headings in their order.
    pub headings: Vec<Heading>,
    /// One for each heading.
    pub says: Vec<Says>,
    /// Dimensions of the key columns, and the number of each column.
    pub keys: Vec<(&'static str, usize)>,
    /// Which table it is.
    pub table: ExportedTable,
    /// True when a page that several processes hold counts once.
    pub is_system_view: bool,
    /// Columns that were found by what stands in them: heading and dimension.
    pub by_content: Vec<(String, &'static str)>,
}

/// What the caller knows of labels: a dimension and all of its labels.
pub type KnownLabels<'k> = &'k [(&'static str, Vec<&'static str>)];

impl Columns {
    /// Gives each column its meaning. `given`: headings with the meanings that the user gave; `rows`: the first rows.
    ///
    /// # Errors
    /// A text on what the user said.
    pub fn new(
        headings: &[String],
        rows: &[Vec<String>],
        given: &[(String, String)],
        known: KnownLabels<'_>,
    ) -> Result<Columns, String> {
        let headings: Vec<Heading> = headings.iter().map(|text| Heading::new(text)).collect();
        let is_reference = headings.iter().any(|heading| REFERENCE_ONLY.contains(&heading.name.as_str()));
        let mut columns = Columns {
            says: vec![Says::Ignored; headings.len()],
            headings,
            keys: Vec::new(),
            table: if is_reference { ExportedTable::Reference } else { ExportedTable::Resident },
            is_system_view: false,
            by_content: Vec::new(),
        };
        let mut settled: BTreeSet<usize> = BTreeSet::new();
        for (heading, meaning) in given {
            settled.insert(columns.give(heading, meaning)?);
        }
        columns.find_by_name(&settled);
        columns.find_by_content(rows, known, &settled);
        Ok(columns)
    }

    fn position(&self, names: &[&str], settled: &BTreeSet<usize>) -> Option<usize> {
        let find = |name: &&str| {
            let is_it = |(at, heading): (usize, &Heading)| heading.name == *name && !settled.contains(&at);
            self.headings.iter().enumerate().position(is_it)
        };
        names.iter().find_map(find)
    }

    fn has_key(&self, dimension: &str) -> bool {
        self.keys.iter().any(|(known, _)| *known == dimension)
    }

    fn has_pages(&self) -> bool {
        self.says.contains(&Says::Pages)
    }

    /// True when a column says how much memory a row stands for.
    pub fn has_measure(&self) -> bool {
        self.has_pages() || self.says.iter().any(|says| matches!(says, Says::Size(..)))
    }

    /// True when each row is a page with its frame number.
    pub fn has_pfn(&self) -> bool {
        self.says.iter().any(|says| matches!(says, Says::Pfn(_)))
    }

    fn set(&mut self, at: usize, says: Says) {
        self.says.get_mut(at).into_iter().for_each(|slot| *slot = says);
    }

    fn add_key(&mut self, dimension: &'static str, at: usize) {
        self.set(at, Says::Key(self.keys.len()));
        self.keys.push((dimension, at));
    }

    fn size_of(&self, at: usize, unit: Option<Unit>) -> Says {
        match unit.or_else(|| self.headings.get(at).and_then(|heading| heading.unit)) {
            Some(unit @ Unit::Size(bytes)) => Says::Size(bytes, unit.decimals()),
            _ => Says::Size(1, Decimals::Unknown),
        }
    }

    /// What the user says of a heading; gives the column.
    fn give(&mut self, heading: &str, meaning: &str) -> Result<usize, String> {
        let wanted = Heading::new(heading);
        let exact = self.headings.iter().position(|known| known.text.eq_ignore_ascii_case(heading.trim()));
        let Some(at) = exact.or_else(|| self.headings.iter().position(|known| known.name == wanted.name)) else {
            return Err(format!("no heading is \"{heading}\"; headings are {}", self.listed()));
        };
        let meaning = meaning.trim().to_lowercase().replace('-', "_");
        let dimension = KEYS.iter().map(|(_, dimension)| *dimension).find(|known| *known == meaning);
        let size = meaning.strip_prefix("size").map(|unit| unit.trim_start_matches(['_', ':', ' ']));
        match (dimension, meaning.as_str(), size) {
            (Some(dimension), ..) if self.has_key(dimension) => return Err(format!("{dimension} is named twice")),
            (Some(dimension), ..) => self.add_key(dimension, at),
            (_, PAGES, _) => self.set(at, Says::Pages),
            (_, PFN, _) => self.set(at, Says::Pfn(16)),
            (_, ADDRESS, _) => self.set(at, Says::Address),
            (_, IGNORE, _) => self.set(at, Says::Ignored),
            (_, _, Some("")) => self.set(at, self.size_of(at, None)),
            (_, _, Some(unit)) if matches!(Unit::parse(unit), Some(Unit::Size(_))) => {
                self.set(at, self.size_of(at, Unit::parse(unit)));
            }
            _ => {
                let names: Vec<&str> = KEYS.iter().map(|(_, dimension)| *dimension).collect();
                return Err(format!(
                    "\"{meaning}\" is no meaning of a column; known are {}, pages, size_b, size_kb, size_mb, size_gb, pfn, \
                     address, ignore",
                    names.join(", ")
                ));
            }
        }
        Ok(at)
    }

    fn find_by_name(&mut self, settled: &BTreeSet<usize>) {
        for (names, dimension) in KEYS {
            if !self.has_key(dimension)
                && let Some(at) = self.position(names, settled)
            {
                self.add_key(dimension, at);
            }
        }
        // An id says more than a name; the name's column is then one of those that say nothing new.
        if self.has_key("process")
            && let Some(place) = self.keys.iter().position(|(dimension, _)| *dimension == PROCESS_NAME)
        {
            self.drop_key(place);
        }
        for (names, says) in [(&PFNS[..], Says::Pfn(16)), (&ADDRESSES[..], Says::Address)] {
            if !self.says.contains(&says)
                && let Some(at) = self.position(names, settled)
            {
                self.set(at, says);
            }
        }
        if self.has_measure() {
            return;
        }
        let count = self.position(&COUNTS, settled);
        count.into_iter().for_each(|at| self.set(at, Says::Pages));
        let size = self.position(&SIZES, settled);
        size.into_iter().for_each(|at| self.set(at, self.size_of(at, None)));
        if count.is_none() && size.is_none() {
            let other = self.position(&SYSTEM_VIEW, settled);
            self.is_system_view = other.is_some();
            if let Some(at) = other {
                let is_count = self.headings.get(at).is_some_and(|heading| heading.name.contains("count"));
                self.set(at, if is_count { Says::Pages } else { self.size_of(at, None) });
            }
        }
    }

    fn drop_key(&mut self, place: usize) {
        let (_, at) = self.keys.remove(place);
        self.set(at, Says::Ignored);
        for (number, (_, at)) in self.keys.clone().into_iter().enumerate() {
            self.set(at, Says::Key(number));
        }
    }

    /// Columns without a known heading in which only labels of one dimension stand.
    fn find_by_content(&mut self, rows: &[Vec<String>], known: KnownLabels<'_>, settled: &BTreeSet<usize>) {
        for at in 0..self.headings.len() {
            let heading = self.headings.get(at).map_or("", |heading| heading.text.as_str());
            if self.says.get(at) != Some(&Says::Ignored) || settled.contains(&at) || is_known(heading) {
                continue;
            }
            let labels: BTreeSet<&str> = rows
                .iter()
                .filter_map(|row| row.get(at))
                .map(|cell| cell.trim())
                .filter(|cell| !cell.is_empty())
                .collect();
            let all = |is_one: &dyn Fn(&str) -> bool| labels.len() > 1 && labels.iter().all(|label| is_one(label));
            let listed = known.iter().find(|(dimension, names)| {
                !self.has_key(dimension) && all(&|label| names.iter().any(|name| name.eq_ignore_ascii_case(label)))
            });
            let found = match listed {
                Some((dimension, _)) => Some(*dimension),
                None if !self.has_key("process") && all(&is_process) => Some("process"),
                None => None,
            };
            if let Some(dimension) = found {
                self.by_content.push((heading.to_owned(), dimension));
                self.add_key(dimension, at);
            }
        }
    }

    /// Headings that are not compared; `by_page`: each page is compared with the same page of the other side.
    pub fn ignored(&self, by_page: bool) -> Vec<String> {
        let is_ignored = |says: &Says| match says {
            Says::Pfn(_) | Says::Address => !by_page,
            says => *says == Says::Ignored,
        };
        let nothing = self.headings.iter().zip(&self.says).filter(|(_, says)| is_ignored(says));
        nothing.map(|(heading, _)| heading.text.clone()).collect()
    }

    /// All headings, for messages.
    pub fn listed(&self) -> String {
        self.headings.iter().map(|heading| format!("\"{}\"", heading.text)).collect::<Vec<_>>().join(", ")
    }
}

/// `name.exe (123)`, `Unknown (-1)`, `n/a`.
fn is_process(label: &str) -> bool {
    let id = label.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    id.is_some_and(|(_, id)| id.parse::<i64>().is_ok()) || label == "n/a"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(headings: &[&str], rows: &[&[&str]], given: &[(&str, &str)]) -> Result<Columns, String> {
        let owned = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let given: Vec<_> = given.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let rows: Vec<_> = rows.iter().map(|row| owned(row)).collect();
        Columns::new(&owned(headings), &rows, &given, &[("category", vec!["Image", "MapFile"])])
    }

    fn dimensions(columns: &Columns) -> Vec<&'static str> {
        columns.keys.iter().map(|(dimension, _)| *dimension).collect()
    }

    #[test]
    fn headings_of_both_tables_are_found() {
        let found = columns(
            &["Process", "Process Name", "MMList", "Page Category", "Count", "Size (MB)", "Page Count", "Thread Id"],
            &[],
            &[],
        )
        .unwrap();
        assert_eq!(dimensions(&found), ["category", "list", "process"]);
        assert_eq!(found.says[0], Says::Key(2));
        assert_eq!(found.ignored(true), ["Process Name", "Count", "Thread Id"]);
        assert_eq!((found.says[6], found.says[5]), (Says::Pages, Says::Size(1 << 20, Decimals::Known(3))));
        assert_eq!(found.table, ExportedTable::Resident);
        let found = columns(
            &["Process Name", "Category Class", "Impact Size (System View) (MB)", "Size (Process View) (MB)"],
            &[],
            &[],
        )
        .unwrap();
        assert_eq!((dimensions(&found), found.table), (vec![PROCESS_NAME, "class"], ExportedTable::Reference));
        assert!(!found.is_system_view && found.ignored(true) == ["Impact Size (System View) (MB)"]);
        let found = columns(&["Category Class", "Size (System View) (KB)"], &[], &[]).unwrap();
        assert!(found.is_system_view && found.says[1] == Says::Size(1024, Decimals::Zeros));
    }

    #[test]
    fn what_is_not_recognized_is_found_by_its_content_or_given() {
        let rows: &[&[&str]] = &[&["Image", "a.exe (4)", "7"], &["mapfile", "n/a", "8"]];
        let found = columns(&["Kategorie", "Prozess", "Seiten"], rows, &[("Seiten", "pages")]).unwrap();
        assert_eq!(dimensions(&found), ["category", "process"]);
        assert_eq!(found.by_content, [("Kategorie".to_owned(), "category"), ("Prozess".to_owned(), "process")]);
        assert_eq!(found.says[2], Says::Pages);
        let found = columns(&["Kategorie", "Grösse"], rows, &[("grösse", "size-mb"), ("kategorie", "ignore")]).unwrap();
        assert_eq!((dimensions(&found).len(), found.says[1]), (0, Says::Size(1 << 20, Decimals::Known(3))));
        assert!(columns(&["A"], &[], &[("B", "list")]).unwrap_err().contains("no heading is \"B\""));
        assert!(columns(&["A"], &[], &[("A", "colour")]).unwrap_err().contains("known are category, list"));
    }
}
