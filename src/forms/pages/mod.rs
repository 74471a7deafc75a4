//! `pfnset pages` in all forms. CSV and JSON lines: docs/json.md, schema `pfnset.pages`; the xperf form: [`xperf`].
//!
//! A row is bytes appended to a buffer: every label is escaped once, before the first row, by the crates that know how
//! (csv, serde_json), and no row allocates.

mod escaped_labels;
mod fitted_columns;
mod xperf;

use crate::analysis::pages::{Flag, PageNames, PageRow};
use crate::analysis::resident::page_dimensions::DimensionCode;
use crate::escape::visible;
use crate::etl::EtlFile;
use crate::forms::csv::Cells;
use crate::forms::{csv, json, line_wrapping};
use crate::model::drive_paths::DrivePaths;
use crate::model::page_owner_key::KeyReading;
use escaped_labels::{EscapedLabels, Escapes, Texts, decimal, hex, pad};
use fitted_columns::{PageColumn, PageColumns};
use std::path::Path;

/// Forms of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageForm {
    /// Aligned text.
    Table,
    /// Comma-separated values with a heading line (RFC 4180).
    Csv(Cells),
    /// One JSON object on each line.
    Jsonl,
    /// As text that `xperf -a dumper` prints.
    Xperf,
}

/// Writes the rows of one snapshot.
#[derive(Debug)]
pub struct PageText<'s> {
    layout: Layout,
    etl: &'s EtlFile,
    labels: EscapedLabels,
    /// True when keys of unknown processes are their ids.
    keys_are_ids: bool,
    /// Text with which each row of CSV or JSON lines begins.
    start: Texts,
}

/// A form with the columns of its table.
#[derive(Debug, Clone, Copy)]
struct Layout {
    form: PageForm,
    columns: PageColumns,
}

impl<'s> PageText<'s> {
    /// For the pages of the snapshot with this number. `width` is that of a table.
    pub fn new(form: PageForm, etl: &'s EtlFile, names: &PageNames<'_>, snapshot: usize, width: u16) -> PageText<'s> {
        let start = match form {
            PageForm::Table | PageForm::Xperf => String::new(),
            PageForm::Csv(_) => format!("{snapshot},"),
            PageForm::Jsonl => format!("{{\"snapshot\":{snapshot},\"pfn\":"),
        };
        let keys_are_ids = names.reading == KeyReading::ProcessId;
        let layout = Layout { form, columns: PageColumns::fitting(width) };
        let start = Texts::new([start], |out, text| out.extend_from_slice(text.as_bytes()));
        PageText { layout, etl, labels: EscapedLabels::new(names, &layout), start, keys_are_ids }
    }

    /// The lines above the first row, of a recording that lost so many events and buffers. `width` is that of a table.
    pub fn heading(form: PageForm, of: (&EtlFile, [u32; 2]), trace: &Path, width: u16) -> Vec<u8> {
        let mut out = Vec::new();
        match form {
            // Writing into memory cannot fail.
            PageForm::Csv(_) => {
                csv::rows(&mut out, &[crate::analysis::pages::columns().into()], Cells::Plain).unwrap_or_default()
            }
            PageForm::Jsonl => {}
            PageForm::Xperf => return xperf::heading(of, trace),
            PageForm::Table => {
                let columns = PageColumns::fitting(width);
                let flags = "Flags: c cold, p pinned, n non-tradeable, i image, m mismatch (data page of a file also mapped \
                             as image), k combined";
                let flags =
                    if columns.has(PageColumn::Flags) { line_wrapping::wrap(flags, width.into()) } else { Vec::new() };
                flags.iter().for_each(|line| out.extend(format!("{line}\n").into_bytes()));
                line_wrapping::not_shown(&mut out, &columns.left_out(), width).unwrap_or_default();
                if !out.is_empty() {
                    out.push(b'\n');
                }
                columns.headings(&mut out);
                out.push(b'\n');
            }
        }
        out
    }

    /// Appends a page.
    #[inline]
    pub fn row(&self, out: &mut Vec<u8>, row: &PageRow) {
        match self.layout.form {
            PageForm::Table => self.table(out, row),
            PageForm::Csv(_) => self.csv(out, row),
            PageForm::Jsonl => self.jsonl(out, row),
            PageForm::Xperf => self.xperf(out, row),
        }
    }

    fn csv(&self, out: &mut Vec<u8>, row: &PageRow) {
        self.start.put(out, 0);
        decimal(out, row.page.pfn);
        self.place(out, row);
        self.categories(out, row);
        self.process(out, row);
        if let Some(address) = row.address() {
            hex(out, address, 0);
        }
        out.push(b',');
        self.detail(out, row.file);
        if let Some(offset) = row.file_offset() {
            decimal(out, offset);
        }
        out.push(b',');
        self.detail(out, row.detail);
        self.labels.flags.put(out, row.flags());
    }

    fn jsonl(&self, out: &mut Vec<u8>, row: &PageRow) {
        self.start.put(out, 0);
        decimal(out, row.page.pfn);
        self.place(out, row);
        self.categories(out, row);
        out.extend_from_slice(b",\"process\":");
        self.process(out, row);
        out.extend_from_slice(b",\"address\":");
        match row.address() {
            Some(address) => {
                out.push(b'"');
                hex(out, address, 0);
                out.push(b'"');
            }
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"file\":");
        self.detail(out, row.file);
        out.extend_from_slice(b",\"file_offset\":");
        match row.file_offset() {
            Some(offset) => decimal(out, offset),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"detail\":");
        self.detail(out, row.detail);
        out.extend_from_slice(b",\"flags\":");
        self.labels.flags.put(out, row.flags());
        out.extend_from_slice(b"}\n");
    }

    fn table(&self, out: &mut Vec<u8>, row: &PageRow) {
        let columns = &self.layout.columns;
        let line = out.len();
        hex(out, row.page.pfn, 0);
        pad(out, line, columns.width(PageColumn::Pfn));
        self.place(out, row);
        self.categories(out, row);
        if columns.has(PageColumn::Address) {
            let start = out.len();
            match (row.file_offset(), row.address()) {
                (Some(offset), _) => {
                    out.push(b'+');
                    hex(out, offset, 0);
                }
                (None, Some(address)) => hex(out, address, 0),
                (None, None) => {}
            }
            pad(out, start, columns.width(PageColumn::Address));
        }
        if columns.has(PageColumn::Flags) {
            self.labels.flags.put(out, row.flags());
            out.extend_from_slice(b"  ");
        }
        let start = out.len();
        let owned = !matches!(row.process, DimensionCode::None | DimensionCode::Shared);
        if owned {
            self.process(out, row);
        }
        let middle = if row.detail != DimensionCode::None {
            if owned {
                out.extend_from_slice(b"  ");
            }
            let middle = out.len();
            self.detail(out, row.detail);
            middle
        } else {
            out.len()
        };
        columns.cut_detail(out, start, middle);
        while out.last() == Some(&b' ') {
            out.pop();
        }
        out.push(b'\n');
    }

    fn xperf(&self, out: &mut Vec<u8>, row: &PageRow) {
        out.extend_from_slice(b"               InMemory, ");
        xperf::right(out, xperf::micros(&self.etl.clock, row.time), 10);
        out.extend_from_slice(b", ");
        match row.process {
            DimensionCode::Unknown(id) if self.keys_are_ids => {
                xperf::process(out, "Unknown", itoa::Buffer::new().format(id))
            }
            DimensionCode::Unknown(_) => xperf::process(out, "Unknown", "-1"),
            _ => self.process(out, row),
        }
        out.extend_from_slice(b", ");
        hex(out, row.page.pfn, 16);
        out.extend_from_slice(b", ");
        self.place(out, row);
        out.extend_from_slice(b", ");
        hex(out, row.address().unwrap_or(0), 16);
        out.extend_from_slice(b", ");
        let start = out.len();
        hex(out, row.file_offset().unwrap_or(0), 10);
        xperf::align_right(out, start, 14);
        out.extend_from_slice(b", ");
        hex(out, row.file_key().unwrap_or(0), 16);
        out.extend_from_slice(b", ");
        match row.file {
            DimensionCode::None => out.extend_from_slice(b"N/A"),
            DimensionCode::Unknown(_) => out.extend_from_slice(b"\"Unknown\""),
            _ => self.detail(out, row.file),
        }
        out.extend_from_slice(b", ");
        self.labels.flags.put(out, row.flags());
        out.extend_from_slice(b", ");
        self.categories(out, row);
        out.push(b'\n');
    }

    #[inline]
    fn place(&self, out: &mut Vec<u8>, row: &PageRow) {
        let page = &row.page;
        self.labels.places.put(out, escaped_labels::place(page.list(), page.priority(), page.page_use()));
    }

    #[inline]
    fn categories(&self, out: &mut Vec<u8>, row: &PageRow) {
        let number = escaped_labels::categories(row.category, row.wpa);
        self.labels.categories.put(out, number);
    }

    #[inline]
    fn process(&self, out: &mut Vec<u8>, row: &PageRow) {
        let processes: &Texts = &self.labels.processes;
        let number = match row.process {
            DimensionCode::Number(index) => index as usize,
            DimensionCode::Shared => processes.len().saturating_sub(1),
            DimensionCode::Unknown(key) => return self.unknown(out, key, self.keys_are_ids),
            _ => processes.len().saturating_sub(2),
        };
        processes.put(out, number);
    }

    #[inline]
    fn detail(&self, out: &mut Vec<u8>, detail: DimensionCode) {
        let quote = self.layout.form == PageForm::Jsonl;
        match detail {
            DimensionCode::None | DimensionCode::Shared => {
                out.extend_from_slice(if quote { b"\"n/a\"" } else { b"n/a" })
            }
            DimensionCode::Number(index) => return self.labels.files.put(out, index as usize),
            DimensionCode::Unknown(key) => return self.unknown(out, key, false),
            DimensionCode::Driver(index) => return self.labels.drivers.put(out, index as usize),
            DimensionCode::Combined => out.extend_from_slice(if quote { b"\"CombinedPage\"" } else { b"CombinedPage" }),
            DimensionCode::PoolTag(tag) => self.layout.text(out, &tag.to_string()),
        }
        out.extend_from_slice(self.layout.label_end());
    }

    fn unknown(&self, out: &mut Vec<u8>, key: u64, as_number: bool) {
        let quote = self.layout.form == PageForm::Jsonl;
        out.extend_from_slice(if quote { b"\"Unknown (" } else { b"Unknown (" });
        if as_number {
            decimal(out, key)
        } else {
            hex(out, key, 0)
        }
        out.extend_from_slice(if quote { b")\"" } else { b")" });
        out.extend_from_slice(self.layout.label_end());
    }
}

impl Layout {
    /// What follows a label in a row. Labels are stored with it, so that a row is made of fewer pieces.
    const fn label_end(&self) -> &'static [u8] {
        match self.form {
            PageForm::Csv(_) => b",",
            PageForm::Table | PageForm::Jsonl | PageForm::Xperf => b"",
        }
    }
}

impl Escapes for Layout {
    fn text(&self, out: &mut Vec<u8>, text: &str) {
        match self.form {
            PageForm::Table => out.extend_from_slice(visible(text).as_bytes()),
            PageForm::Csv(cells) => csv::field(out, text, cells),
            // Writing a text into memory cannot fail.
            PageForm::Jsonl => json::compact(&text, out).unwrap_or_default(),
            PageForm::Xperf => xperf::quoted(out, text),
        }
    }

    fn path(&self, out: &mut Vec<u8>, path: &str, drive_paths: &DrivePaths) {
        match self.form {
            PageForm::Table => self.text(out, &drive_paths.shown(path)),
            _ => self.text(out, path),
        }
        out.extend_from_slice(self.label_end());
    }

    fn place(&self, out: &mut Vec<u8>, list: &str, priority: u8, page_use: &str) {
        out.extend(match self.form {
            PageForm::Table => [
                self.columns.cell(PageColumn::Priority, &priority.to_string()),
                self.columns.cell(PageColumn::List, list),
                self.columns.cell(PageColumn::Use, page_use),
            ]
            .concat()
            .into_bytes(),
            PageForm::Csv(_) => format!(",{list},{priority},{page_use},").into_bytes(),
            PageForm::Jsonl => {
                format!(",\"list\":\"{list}\",\"priority\":{priority},\"use\":\"{page_use}\"").into_bytes()
            }
            PageForm::Xperf => format!("{priority:>7}, {list:>15}, {page_use:>14}").into_bytes(),
        });
    }

    fn categories(&self, out: &mut Vec<u8>, ours: &str, wpa: &str) {
        out.extend(match self.form {
            PageForm::Table => {
                let wpa = if ours == wpa { "" } else { wpa };
                let cells = [(PageColumn::Category, ours), (PageColumn::Wpa, wpa)];
                cells.map(|(column, text)| self.columns.cell(column, text)).concat().into_bytes()
            }
            PageForm::Csv(_) => format!("{ours},{wpa},").into_bytes(),
            PageForm::Jsonl => format!(",\"category\":\"{ours}\",\"category_wpa\":\"{wpa}\"").into_bytes(),
            PageForm::Xperf => format!("{ours}, {wpa}").into_bytes(),
        });
    }

    fn flags(&self, out: &mut Vec<u8>, flags: &mut dyn Iterator<Item = Flag>) {
        let set: Vec<Flag> = flags.collect();
        let names: Vec<&str> = set.iter().map(|flag| flag.name()).collect();
        match self.form {
            PageForm::Csv(_) => out.extend(format!("{}\n", names.join("+")).into_bytes()),
            PageForm::Jsonl => serde_json::to_writer(out, &names).unwrap_or_default(),
            PageForm::Xperf if set.is_empty() => out.push(b'-'),
            PageForm::Xperf => out.extend(names.join("+").into_bytes()),
            PageForm::Table => {
                let letters = Flag::ALL.iter().zip("cpnimk".chars());
                out.extend(
                    letters
                        .map(|(flag, letter)| if set.contains(flag) { letter } else { '-' })
                        .collect::<String>()
                        .into_bytes(),
                );
            }
        }
    }

    fn process(&self, out: &mut Vec<u8>, name: &str, process_id: u32) {
        match self.form {
            PageForm::Xperf => xperf::process(out, name, &process_id.to_string()),
            _ => self.text(out, &format!("{name} ({process_id})")),
        }
        out.extend_from_slice(self.label_end());
    }

    fn no_process(&self, out: &mut Vec<u8>, label: &'static str) {
        match self.form {
            // Readers of the dumper look for a number in the brackets.
            PageForm::Xperf => xperf::process(out, "Unknown", "-1"),
            _ => self.text(out, label),
        }
        out.extend_from_slice(self.label_end());
    }
}
