//! The rows of a table: read in parallel, added up by their labels, and kept as pages where each row is one.
//!
//! No row allocates. Memory grows with the number of distinct keys, and takes a [`PageCell`] for each page.

use super::columns::{Columns, ExportedTable, Says};
use super::culture::{Culture, Decimals, NotANumber, Place, Roles, last_sign, number};
use super::labels::{Key, LabelCache, Labels};
use super::noticed::Noticed;
use super::page_rows::{CombinationCache, Combinations, PageCell, PageRows};
use super::text::Text;
use crate::imported::amount::Amount;
use foldhash::HashMap as FastMap;
use rayon::prelude::*;
use std::ops::{AddAssign, Range};

/// What rows of one key add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// By the rules that the labels are of.
    pub amount: Amount,
    /// By WPA's rules, where the table has a column for it.
    pub by_wpa: Amount,
    /// How many rows there are of the key.
    pub(super) count: u64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.amount += other.amount;
        self.by_wpa += other.by_wpa;
        self.count += other.count;
    }
}

/// Why a row cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowError {
    /// The row; the number is that of the column.
    pub place: Place,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The row has this number of cells.
    Length(usize),
    /// The text of a cell is no number.
    NoNumber(String),
    /// Less than no memory, in a resident set.
    Negative(String),
    /// The text of a cell can be two numbers.
    Ambiguous(String),
    /// The text of a cell is no page frame number or address.
    NoHexadecimal(String),
    /// The text of a cell is no page frame number in decimal digits.
    NoFrameNumber(String),
    /// The bytes of a row are not those of its pages.
    OtherBytes(String),
    /// A page frame number of too many bits, or more combinations of labels than there can be.
    TooMany,
}

/// What is to be read.
pub struct Reading<'r> {
    /// The file.
    pub text: Text<'r>,
    /// Where the rows begin: after the heading.
    pub start: usize,
    /// Sign between cells.
    pub delimiter: u8,
    /// What the columns say.
    pub columns: &'r Columns,
    /// For each key column whether rows are kept apart by it.
    pub grouped: Vec<bool>,
    /// The culture of numbers, as far as the user gave it.
    pub culture: Culture,
    /// Whether rows with a label of a key column are wanted.
    pub is_wanted: &'r (dyn Fn(usize, &str) -> bool + Sync),
    /// True where pages are to be kept.
    pub with_pages: bool,
    /// Names of categories, where it is to be noticed what in the rows contradicts itself.
    pub categories: Option<&'r [&'static str]>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Rows {
    /// Sums by key; the place of a column that is not grouped is 0.
    pub sums: FastMap<Key, Sums>,
    /// Labels of each key column by code.
    pub labels: Vec<Vec<Box<str>>>,
    /// Pages by PFN; rows of one page in the order of the table.
    pub(super) pages: Vec<PageCell>,
    /// Codes of the labels of each combination in `pages`.
    pub(super) combinations: Vec<Key>,
    /// Rows.
    pub count: u64,
    /// Rows that are sums of others: where rows are pages, those without the number of one.
    pub(crate) left_out: u64,
    /// What in them contradicts itself.
    pub(crate) noticed: Noticed,
    /// Signs of the numbers.
    pub roles: Roles,
    /// The first cell that can be two numbers.
    pub ambiguous: Option<RowError>,
}

impl Rows {
    /// Takes the rows that are pages, and all labels, out of the rows of a table with these columns.
    pub(crate) fn take_pages(&mut self, columns: &Columns) -> PageRows {
        PageRows {
            cells: std::mem::take(&mut self.pages),
            keys: columns.keys.clone(),
            labels: std::mem::take(&mut self.labels),
            combinations: std::mem::take(&mut self.combinations),
        }
    }
}

/// What the cells of a row say.
#[derive(Debug, Default)]
pub(super) struct Cells<'c> {
    key: Key,
    codes: Key,
    /// Its amount: the number of pages, else the size.
    pub(super) sums: Sums,
    /// True where a column has the number of pages.
    pub(super) measured: bool,
    /// What the column of sizes has.
    pub(super) size: Option<Amount>,
    /// What the columns by list have together.
    pub(super) of_lists: Option<Amount>,
    pub(super) pfn: Option<u64>,
    address: u64,
    bytes: Option<(usize, &'c [u8])>,
    is_wanted: bool,
    /// True for a row without any label.
    pub(super) is_total: bool,
}

/// What all threads number in the same way.
struct Shared {
    labels: Vec<Labels>,
    combinations: Combinations,
}

/// What one thread has read.
#[derive(Default)]
struct Part {
    rows: Rows,
    caches: Vec<LabelCache>,
    combinations: CombinationCache,
    error: Option<RowError>,
}

impl Part {
    fn merge(&mut self, other: Part) {
        other.rows.sums.into_iter().for_each(|(key, sums)| *self.rows.sums.entry(key).or_default() += sums);
        self.rows.pages.extend(other.rows.pages);
        self.rows.count += other.rows.count;
        self.rows.left_out += other.rows.left_out;
        self.rows.noticed.merge(other.rows.noticed);
        self.rows.roles.merge(&other.rows.roles);
        self.rows.ambiguous = first(self.rows.ambiguous.take(), other.rows.ambiguous);
        self.error = first(self.error.take(), other.error);
    }
}

fn first(one: Option<RowError>, other: Option<RowError>) -> Option<RowError> {
    one.into_iter().chain(other).min()
}

/// True for whole bytes that are not those of the pages. A spreadsheet may have written them in another way: then they say nothing.
fn other_bytes(cell: &[u8], pages: Amount) -> bool {
    let bytes = std::str::from_utf8(cell).ok().and_then(|text| text.trim().parse().ok());
    bytes.is_some_and(|bytes| Amount::of_size(bytes, 0, 1) != pages)
}

/// How many line ends stand at the beginning.
fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n').count() as u64
}

/// Reads `0x1a2b`, and `1a2b` or `6699` by the radix.
fn integer(cell: &[u8], radix: u32) -> Option<u64> {
    let cell = cell.trim_ascii();
    let prefixed = cell.strip_prefix(b"0x").or_else(|| cell.strip_prefix(b"0X"));
    let (digits, radix) = prefixed.map_or((cell, radix), |digits| (digits, 16));
    let (mut value, mut any) = (0u64, false);
    for &byte in digits.iter().filter(|byte| **byte != b'`') {
        let digit = char::from(byte).to_digit(radix)?;
        value = value.checked_mul(radix.into())?.checked_add(digit.into())?;
        any = true;
    }
    any.then_some(value)
}

/// A page frame number or an address; `None` for an empty cell.
#[inline]
fn place_in_memory(cell: &[u8], radix: u32, place: Place) -> Result<Option<u64>, RowError> {
    let value = integer(cell, radix);
    if value.is_none() && !cell.is_empty() {
        let text = String::from_utf8_lossy(cell).into_owned();
        let fault = if radix == 10 { Fault::NoFrameNumber(text) } else { Fault::NoHexadecimal(text) };
        return Err(RowError { place, fault });
    }
    Ok(value)
}

impl Reading<'_> {
    /// Reads all rows.
    ///
    /// # Errors
    /// The first row that cannot be read.
    pub fn rows(&self) -> Result<Rows, RowError> {
        let labels: Vec<Labels> = self.columns.keys.iter().map(|_| Labels::default()).collect();
        let shared = Shared { labels, combinations: Combinations::default() };
        let pieces = self.text.pieces(self.start);
        let empty =
            || Part { caches: self.columns.keys.iter().map(|_| LabelCache::default()).collect(), ..Part::default() };
        let parts: Vec<Part> = (pieces.par_iter().enumerate().with_min_len(4))
            .fold(empty, |mut part, (number, piece)| {
                self.piece(&mut part, number as u64, piece.clone(), &shared);
                part
            })
            .collect();
        let mut all = Part::default();
        all.rows.pages.reserve_exact(parts.iter().map(|part| part.rows.pages.len()).sum());
        parts.into_iter().for_each(|part| all.merge(part));
        if let Some(error) = all.error {
            return Err(error);
        }
        all.rows.labels = shared.labels.into_iter().map(Labels::into_list).collect();
        all.rows.combinations = shared.combinations.into_list();
        all.rows.pages.par_sort_by_key(PageCell::pfn);
        Ok(all.rows)
    }

    /// The culture where nothing but kilobytes shows it, and all of them end in three zeros: those stand after the decimal sign, as
    /// the cell format of the unit has them.
    pub fn culture_of_zeros(&self, ambiguous: &RowError) -> Option<Culture> {
        let Fault::Ambiguous(cell) = &ambiguous.fault else { return None };
        let says = self.columns.says.get(ambiguous.place.1 as usize)?;
        let is_zeros = matches!(says, Says::Size(_, Decimals::Zeros));
        let decimal = last_sign(cell.as_bytes()).filter(|_| is_zeros);
        decimal.map(|_| Culture { decimal, group: None })
    }

    /// The line of a place, from 1.
    pub fn line(&self, place: Place) -> u64 {
        let piece = self.text.pieces(self.start).into_iter().nth((place.0 >> 32) as usize);
        piece.map_or(0, |piece| self.text.line_of(piece.start)) + (place.0 & u64::from(u32::MAX)).saturating_sub(1)
    }

    fn piece(&self, part: &mut Part, number: u64, piece: Range<usize>, shared: &Shared) {
        let bytes = self.text.utf8(piece);
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .buffer_capacity(1 << 16)
            .from_reader(&*bytes);
        let mut record = csv::ByteRecord::new();
        let has_line_feeds = self.text.line_end() == '\n';
        // Reading bytes from memory cannot fail.
        while part.error.is_none() && reader.read_byte_record(&mut record).unwrap_or(false) {
            let line = record.position().map_or(0, |at| match has_line_feeds {
                // A record begins for the reader before what is left of the line end above it, and before empty lines.
                true => at.line() + line_ends(bytes.get(at.byte() as usize..).unwrap_or_default()),
                // It counts `\n` alone.
                false => at.record() + 1,
            });
            let line = line.min(u64::from(u32::MAX));
            if let Err(error) = self.row(part, &record, number << 32 | line, shared) {
                part.error = Some(error);
            }
        }
    }

    fn row(&self, part: &mut Part, record: &csv::ByteRecord, row: u64, shared: &Shared) -> Result<(), RowError> {
        let error = |column: usize, fault: Fault| RowError { place: (row, column as u32), fault };
        let columns = self.columns;
        if record.len() != columns.says.len() {
            let is_blank = record.iter().all(|cell| cell.trim_ascii().is_empty()) && record.len() == 1;
            return if is_blank { Ok(()) } else { Err(error(record.len(), Fault::Length(record.len()))) };
        }
        let mut cells = self.cells(part, record, row, &shared.labels)?;
        // Each page has a number: a row without one is the sum of those below it.
        let is_sum = columns.has_pfn() && cells.pfn.is_none();
        if columns.has_pfn() && !cells.measured {
            cells.sums.amount = Amount::of_pages(1);
        }
        if self.categories.is_some() {
            self.notice(&mut part.rows.noticed, record, row, &cells);
        }
        if cells.is_total || !cells.is_wanted {
            return Ok(());
        }
        if let Some((at, cell)) = cells.bytes.filter(|(_, cell)| other_bytes(cell, cells.sums.amount)) {
            return Err(error(at, Fault::OtherBytes(String::from_utf8_lossy(cell).into_owned())));
        }
        if is_sum {
            part.rows.left_out += 1;
            return Ok(());
        }
        cells.sums.count = 1;
        part.rows.count += 1;
        *part.rows.sums.entry(cells.key).or_default() += cells.sums;
        if let Some(pfn) = cells.pfn.filter(|_| self.with_pages) {
            let combination = part.combinations.number(&cells.codes, &shared.combinations);
            let page = PageCell::new(pfn, combination, cells.address);
            part.rows.pages.push(page.ok_or_else(|| error(0, Fault::TooMany))?);
        }
        Ok(())
    }

    /// What the cells of a row say.
    #[inline]
    fn cells<'c>(
        &self,
        part: &mut Part,
        record: &'c csv::ByteRecord,
        row: u64,
        labels: &[Labels],
    ) -> Result<Cells<'c>, RowError> {
        let mut cells = Cells { is_wanted: true, is_total: !self.columns.keys.is_empty(), ..Cells::default() };
        for (at, (says, cell)) in self.columns.says.iter().zip(record).enumerate() {
            let place = (row, at as u32);
            match *says {
                Says::Ignored => {}
                Says::BytesOfPages => cells.bytes = Some((at, cell)),
                Says::Key(key) => {
                    cells.is_total &= cell.trim_ascii().is_empty();
                    let (Some(cache), Some(labels)) = (part.caches.get_mut(key), labels.get(key)) else { continue };
                    let noticed = &mut part.rows.noticed;
                    let (code, wanted) = cache.get(cell, labels, |label| {
                        self.notice_label(noticed, key, label, place);
                        (self.is_wanted)(key, label)
                    });
                    cells.is_wanted &= wanted;
                    cells.codes.get_mut(key).into_iter().for_each(|slot| *slot = code);
                    if self.grouped.get(key) == Some(&true) {
                        cells.key.get_mut(key).into_iter().for_each(|slot| *slot = code);
                    }
                }
                Says::PagesOfLists => {
                    *cells.of_lists.get_or_insert_default() += self.amount(part, *says, cell, place)?
                }
                Says::Pages | Says::PagesByWpa | Says::Size(..) => {
                    let amount = self.amount(part, *says, cell, place)?;
                    match *says {
                        Says::Pages => (cells.sums.amount, cells.measured) = (amount, true),
                        Says::PagesByWpa => cells.sums.by_wpa = amount,
                        _ => {
                            cells.size = Some(amount);
                            if !cells.measured {
                                cells.sums.amount = amount;
                            }
                        }
                    }
                }
                Says::Pfn(radix) => cells.pfn = place_in_memory(cell, radix, place)?,
                Says::Address => cells.address = place_in_memory(cell, 16, place)?.unwrap_or(0),
            }
        }
        Ok(cells)
    }

    #[inline]
    fn amount(&self, part: &mut Part, says: Says, cell: &[u8], place: Place) -> Result<Amount, RowError> {
        let text = || String::from_utf8_lossy(cell).into_owned();
        let (unit, decimals) = match says {
            Says::Size(unit, decimals) => (unit, decimals),
            _ => (0, Decimals::None),
        };
        match number(cell, decimals, self.culture) {
            Ok(number) => {
                // Impact sizes of a reference set can be negative: what was released counts down.
                if number.digits < 0 && self.columns.table == ExportedTable::Resident {
                    return Err(RowError { place, fault: Fault::Negative(text()) });
                }
                if number.signs != (None, None) {
                    part.rows.roles.note(&number, place);
                }
                Ok(match unit {
                    0 => Amount::of_pages(number.digits),
                    unit => Amount::of_size(number.digits, number.decimals, unit),
                })
            }
            Err(NotANumber::Ambiguous) => {
                let error = RowError { place, fault: Fault::Ambiguous(text()) };
                part.rows.ambiguous = first(part.rows.ambiguous.take(), Some(error));
                Ok(Amount::default())
            }
            // A row that stands for nothing.
            Err(NotANumber::Malformed) if cell.trim_ascii().is_empty() => Ok(Amount::default()),
            Err(NotANumber::Malformed) => Err(RowError { place, fault: Fault::NoNumber(text()) }),
        }
    }
}
