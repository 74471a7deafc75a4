//! CSV files that Windows Performance Analyzer exported from its tables Resident Set and Reference Set.
//!
//! No public export of these tables is known. The form is that of exports of other tables. Columns are recognized by their names
//! in Microsoft's profiles, by their cells, or by the user's options.

pub mod columns;
pub(crate) mod contradictions;
pub mod culture;
pub(super) mod delimiter;
mod error_text;
pub mod heading;
mod labels;
mod nesting;
mod noticed;
pub mod page_rows;
pub mod rows;
pub mod text;

use crate::error::{Reason, Setting};
use crate::imported::amount::{Amount, CountedRow};
use crate::imported::file_kind::{EXPECTED, HEAD, first_bytes};
use crate::input::Input;
use crate::trace::trust::warning::Warnings;
use columns::{Columns, ExportedTable, KnownLabels, Says};
use culture::{Culture, Decimals};
use foldhash::HashMap as FastMap;
use labels::Key;
use noticed::Noticed;
use page_rows::PageRows;
use rows::{Reading, Rows};
use text::Text;

/// What the user says of exported files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WpaOptions {
    /// Headings and what their columns are.
    pub columns: Vec<(String, String)>,
    /// Signs of numbers.
    pub culture: Culture,
}

/// An exported file whose heading is understood; its rows are read by [`WpaExport::read`].
#[derive(Debug)]
pub struct WpaExport {
    input: Input,
    delimiter: u8,
    /// Where the rows begin.
    start: usize,
    culture: Culture,
    /// Names of categories.
    categories: Vec<&'static str>,
    /// What the columns say.
    pub columns: Columns,
}

/// The rows of an export.
#[derive(Debug, Default)]
pub struct WpaRows {
    /// Sums by the dimensions asked for.
    pub rows: Vec<CountedRow>,
    /// Each row's page, where rows are pages and pages were asked for.
    pub pages: PageRows,
    /// Labels of snapshots.
    pub snapshots: Vec<Box<str>>,
    /// Rows of the file that were added up.
    pub count: u64,
    /// Rows that are sums of others, and are in no sum.
    pub(crate) left_out: u64,
    /// Where rows contradict themselves.
    pub(crate) warnings: Warnings,
}

/// What is asked of the rows.
pub struct WpaQuery<'q> {
    /// Dimensions to keep apart; each is a key column.
    pub dimensions: &'q [&'q str],
    /// Whether rows with a label in a dimension are wanted.
    pub is_wanted: &'q (dyn Fn(&str, &str) -> bool + Sync),
    /// True where pages are wanted.
    pub with_pages: bool,
}

impl WpaExport {
    /// Reads the heading.
    pub(super) fn new(input: Input, options: &WpaOptions, known: KnownLabels<'_>) -> Result<WpaExport, Reason> {
        let text = Text::new(input.bytes());
        let head = text.head(HEAD);
        let (declared, skipped) = delimiter::declared(&head).map_or((None, 0), |(sign, skip)| (Some(sign), skip));
        let body = head.get(skipped..).unwrap_or_default();
        let is_known = |heading: &str| {
            columns::is_known(heading)
                || options.columns.iter().any(|(name, _)| name.eq_ignore_ascii_case(heading.trim()))
        };
        let delimiter = declared.unwrap_or_else(|| delimiter::delimiter(body, is_known));
        let mut rows = delimiter::rows_of(body, delimiter);
        let headings = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let columns = Columns::new(&headings, &rows, &options.columns, known)
            .map_err(|text| Reason::with(Setting::ColumnMap, format!("column map: {text}")))?;
        let is_table = headings.len() > 1 && !rows.is_empty() && rows.iter().all(|row| row.len() == headings.len());
        let has_known = headings.iter().any(|heading| is_known(heading));
        if !is_table && !has_known && columns.keys.is_empty() {
            return Err(format!("{EXPECTED}; it begins with {}", first_bytes(input.bytes())).into());
        }
        let categories = known.iter().filter(|(dimension, _)| *dimension == columns::CATEGORY);
        let categories = categories.flat_map(|(_, names)| names.iter().copied()).collect();
        let mut export = WpaExport { start: 0, delimiter, culture: options.culture, categories, columns, input };
        export.check()?;
        export.start = export.after_heading(skipped);
        Ok(export)
    }

    /// Offset of the first row: after the first line end that is not between quotes.
    fn after_heading(&self, skipped: usize) -> usize {
        let text = Text::new(self.input.bytes());
        let head = text.head(HEAD);
        let mut inside = false;
        let is_end = |c: char| {
            inside ^= c == '"';
            c == text.line_end() && !inside
        };
        let rest = head.get(skipped..).unwrap_or_default();
        let end = rest.find(is_end).map_or(head.len(), |at| skipped + at + 1);
        text.offset_of(&head, end)
    }

    fn check(&self) -> Result<(), Reason> {
        let columns = &self.columns;
        let map = "the column map can name one: \"HEADING=DIMENSION\"";
        let unnamed = |text| Err(Reason::with(Setting::ColumnMap, text));
        if columns.keys.is_empty() && !columns.has_pfn() {
            return unnamed(format!(
                "no column of the table is known, so there is nothing to compare by; its headings are {}; {map}",
                columns.listed()
            ));
        }
        if !columns.has_measure() && !columns.has_pfn() {
            return unnamed(format!(
                "no column tells how much memory a row has (Page Count, Size (MB)); its headings are {}; {map}, as in \
                 \"Pages=pages\"",
                columns.listed()
            ));
        }
        Ok(())
    }

    /// Reads and adds up the rows.
    ///
    /// # Errors
    /// A text with the line and the column of what cannot be read.
    pub fn read(&self, query: &WpaQuery<'_>) -> Result<WpaRows, Reason> {
        let keys = &self.columns.keys;
        let is_wanted =
            |key: usize, label: &str| keys.get(key).is_none_or(|(dimension, _)| (query.is_wanted)(dimension, label));
        let mut reading = Reading {
            text: Text::new(self.input.bytes()),
            start: self.start,
            delimiter: self.delimiter,
            columns: &self.columns,
            grouped: keys.iter().map(|(dimension, _)| query.dimensions.contains(dimension)).collect(),
            culture: self.culture,
            is_wanted: &is_wanted,
            with_pages: query.with_pages && self.columns.has_pfn(),
            // Sizes of a reference set are of several views, which need not agree.
            categories: (self.columns.table == ExportedTable::Resident).then_some(&self.categories[..]),
        };
        let mut rows = reading.rows().map_err(|error| reading.error_text(&error))?;
        let culture = rows.roles.culture(self.culture).map_err(|found| reading.contradiction(&found))?;
        if let Some(error) = &rows.ambiguous {
            let culture = if culture == self.culture { reading.culture_of_zeros(error) } else { Some(culture) };
            reading.culture = culture.ok_or_else(|| reading.error_text(error))?;
            rows = reading.rows().map_err(|error| reading.error_text(&error))?;
            if let Some(error) = &rows.ambiguous {
                return Err(reading.error_text(error));
            }
            rows.roles.culture(self.culture).map_err(|found| reading.contradiction(&found))?;
        }
        self.check_unit(&rows)?;
        if rows.count == 0 && rows.left_out > 0 {
            let text = "no row has a page frame number: leave its column out in the column map, \"HEADING=ignore\"";
            return Err(Reason::with(Setting::ColumnMap, text.to_owned()));
        }
        let mut noticed = std::mem::take(&mut rows.noticed);
        let rows = self.without_sums(rows, &reading, &mut noticed)?;
        let warnings = reading.contradictions(&noticed);
        Ok(WpaRows { warnings, ..self.counted(rows, query.dimensions) })
    }

    /// The rows without those that are sums of others, where groups were opened. These are told by all labels of all rows.
    fn without_sums(&self, rows: Rows, reading: &Reading<'_>, noticed: &mut Noticed) -> Result<Rows, Reason> {
        let columns = nesting::with_all_groups(&self.columns);
        let own = self.columns.keys.len();
        let lacks_some =
            rows.labels.iter().any(|labels| labels.len() > 1 && labels.iter().any(|label| label.is_empty()));
        if self.columns.has_pfn() || !(lacks_some || columns.keys.len() > own) {
            return Ok(rows);
        }
        let grouped = vec![true; columns.keys.len()];
        let all = Reading {
            columns: &columns,
            grouped,
            is_wanted: &|_, _| true,
            with_pages: false,
            categories: None,
            ..*reading
        };
        let mut all = all.rows().map_err(|error| reading.error_text(&error))?;
        let sums = nesting::sums_of_groups(&columns, &all)?;
        if sums.is_empty() {
            return Ok(rows);
        }
        noticed.count_once(all.sums.iter().filter(|(key, _)| !sums.contains(*key)).map(|(_, sums)| sums.amount));
        let label = |key: &Key, at: usize| Some(&**all.labels.get(at)?.get(*key.get(at)? as usize)?);
        let is_wanted =
            |key: &Key| (0..own).all(|at| label(key, at).is_none_or(|label| (reading.is_wanted)(at, label)));
        all.sums.retain(|key, _| !sums.contains(key) && is_wanted(key));
        all.count = all.sums.values().map(|sums| sums.count).sum();
        all.left_out = sums.len() as u64;
        Ok(all)
    }

    /// A size without a unit is taken for bytes, which have no digits after the decimal sign.
    fn check_unit(&self, rows: &Rows) -> Result<(), Reason> {
        let place = self.columns.says.iter().position(|says| matches!(says, Says::Size(_, Decimals::Unknown)));
        let is_used = !self.columns.says.contains(&Says::Pages);
        let Some(heading) = place.filter(|_| is_used).and_then(|at| self.columns.headings.get(at)) else {
            return Ok(());
        };
        match rows.roles.has_decimals() {
            true => Err(Reason::with(
                Setting::ColumnMap,
                format!(
                    "column \"{0}\" has no unit, and its numbers are no whole bytes; name the unit in the column map: \"{0}=size_mb\"",
                    heading.text
                ),
            )),
            false => Ok(()),
        }
    }

    fn counted(&self, mut rows: Rows, dimensions: &[&str]) -> WpaRows {
        let place = |dimension: &str| self.columns.keys.iter().position(|(known, _)| *known == dimension);
        let places: Vec<usize> = dimensions.iter().filter_map(|dimension| place(dimension)).collect();
        let mut merged: FastMap<Vec<Box<str>>, Amount> = FastMap::default();
        for (key, sums) in &rows.sums {
            let label = |at: &usize| rows.labels.get(*at)?.get(*key.get(*at)? as usize).cloned();
            let labels = places.iter().map(|at| label(at).unwrap_or_default()).collect();
            *merged.entry(labels).or_default() += sums.amount;
        }
        WpaRows {
            rows: merged.into_iter().map(|(labels, amount)| CountedRow { labels, amount }).collect(),
            snapshots: place(columns::SNAPSHOT).and_then(|at| rows.labels.get(at)).cloned().unwrap_or_default(),
            pages: rows.take_pages(&self.columns),
            count: rows.count,
            left_out: rows.left_out,
            warnings: Warnings::default(),
        }
    }
}

/// The seconds that a label of a snapshot's time means. Its heading has the unit; seconds have nine digits.
pub fn seconds(export: &WpaExport, label: &str) -> Option<f64> {
    let column = export.columns.keys.iter().find(|(dimension, _)| *dimension == columns::SNAPSHOT)?.1;
    let unit = export.columns.headings.get(column)?.unit;
    let number = culture::number(label.as_bytes(), Decimals::Known(9), Culture::default()).ok()?;
    let nanoseconds = match unit {
        Some(heading::Unit::Time(nanoseconds)) => nanoseconds as f64,
        _ => 1e9,
    };
    Some(number.digits as f64 / 10f64.powi(number.decimals as i32) * nanoseconds / 1e9)
}
