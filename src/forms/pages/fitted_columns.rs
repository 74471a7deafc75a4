//! The columns of the table of pages: those that fit are chosen before the first row, because rows are not collected.

use super::escaped_labels::pad;
use crate::analysis::pages::columns;
use crate::forms::column_widths::{self, Natural};
use unicode_width::UnicodeWidthStr;

/// A column before the detail, by its place in [`columns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageColumn {
    Pfn,
    Priority,
    List,
    Use,
    Category,
    Wpa,
    Address,
    Flags,
}

/// Widths of the columns; the detail takes the rest of the line.
const WIDTHS: [usize; 9] = [10, 3, 15, 14, 32, 32, 21, 6, usize::MAX / 2];
/// Place of the detail.
const DETAIL: usize = 8;

/// Widths of the columns that are shown; 0 for those that are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageColumns([usize; 9]);

impl PageColumns {
    /// The columns that fit into a width.
    pub(super) fn fitting(width: u16) -> PageColumns {
        let mut widths = [0; 9];
        for (index, width) in
            column_widths::fitting(&columns().columns, &WIDTHS.map(|cell| Natural { cell, word: 0 }), width.into())
        {
            widths[index] = width;
        }
        PageColumns(widths)
    }

    #[inline]
    pub(super) fn has(&self, column: PageColumn) -> bool {
        self.0[column as usize] > 0
    }

    /// The width of a column with the blanks after it; 0 for one that is left out.
    pub(super) fn width(&self, column: PageColumn) -> usize {
        if self.has(column) { self.0[column as usize] + 2 } else { 0 }
    }

    /// A text in its column; nothing for a column that is left out.
    pub(super) fn cell(&self, column: PageColumn, text: &str) -> String {
        if self.has(column) { format!("{text:<0$}", self.width(column)) } else { String::new() }
    }

    /// Appends the headings.
    pub(super) fn headings(&self, out: &mut Vec<u8>) {
        for (column, width) in columns().columns.iter().zip(self.0).filter(|(_, width)| *width > 0) {
            let start = out.len();
            out.extend_from_slice(column_widths::first(&column.title, width).as_bytes());
            pad(out, start, width + 2);
        }
        while out.last() == Some(&b' ') {
            out.pop();
        }
    }

    /// Titles of the columns that are left out.
    pub(super) fn left_out(&self) -> Vec<String> {
        let all = columns().columns.into_iter().zip(self.0).filter(|(_, width)| *width == 0);
        all.map(|(column, _)| column.title.into_owned()).collect()
    }

    /// Cuts the process, which begins at `start`, and what follows it at `middle`, each in its middle, where both together
    /// are too wide.
    #[inline]
    pub(super) fn cut_detail(&self, out: &mut Vec<u8>, start: usize, middle: usize) {
        // A text takes at most as many columns as it has bytes.
        if out.len() - start > self.0[DETAIL] {
            self.cut_wide_detail(out, start, middle);
        }
    }

    fn cut_wide_detail(&self, out: &mut Vec<u8>, start: usize, middle: usize) {
        let text = |from, to| String::from_utf8_lossy(out.get(from..to).unwrap_or_default());
        let (process, detail) = (text(start, middle), text(middle, out.len()));
        if process.width() + detail.width() > self.0[DETAIL] {
            let most = if detail.is_empty() { self.0[DETAIL] } else { self.0[DETAIL] / 2 };
            let process = column_widths::cut(&process, most);
            let detail = column_widths::cut(&detail, self.0[DETAIL].saturating_sub(process.width()));
            out.truncate(start);
            out.extend_from_slice(process.as_bytes());
            out.extend_from_slice(detail.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_leave_until_the_detail_has_room() {
        let left_out = |width| PageColumns::fitting(width).left_out();
        assert_eq!(left_out(200), [""; 0]);
        assert_eq!(left_out(120), ["Use", "WPA where different", "Flags"]);
        assert_eq!(left_out(100), ["Pri", "Use", "WPA where different", "Address / file offset", "Flags"]);
        assert_eq!(PageColumns::fitting(100).0[DETAIL], 37);
        assert_eq!(PageColumns::fitting(60).0[DETAIL], 14);
    }

    #[test]
    fn a_process_leaves_room_for_what_follows_it() {
        let columns = PageColumns([0, 0, 0, 0, 0, 0, 0, 0, 17]);
        let mut out = b"SearchIndexer.exe (1284)  \\Device\\a.dll".to_vec();
        columns.cut_detail(&mut out, 0, 26);
        assert_eq!(String::from_utf8(out).unwrap(), "Sea…4)  \\De…a.dll");
    }

    #[test]
    fn no_width_is_too_small() {
        for width in 0..40 {
            let mut out = b"SearchIndexer.exe (1284)  \\Device\\a.dll".to_vec();
            let columns = PageColumns::fitting(width);
            columns.cut_detail(&mut out, 0, 26);
            // What is left of each text is one sign.
            assert!(String::from_utf8(out).unwrap().width() <= columns.0[DETAIL].max(2), "{width}");
        }
    }

    #[test]
    fn details_are_cut_by_columns_not_by_bytes() {
        let columns = PageColumns([0, 0, 0, 0, 0, 0, 0, 0, 17]);
        for (detail, shown) in [
            ("chrome.exe (4242)", "chrome.exe (4242)"),
            ("\\Device\\HarddiskVolume3\\a.dll", "\\Devic…ume3\\a.dll"),
            ("Ünïcödé é.exe (1)", "Ünïcödé é.exe (1)"),
            ("記録記録記録記録記録", "記録記…録記録記録"),
        ] {
            let mut out = b"0x1  ".to_vec();
            out.extend_from_slice(detail.as_bytes());
            columns.cut_detail(&mut out, 5, 5);
            let text = String::from_utf8(out).unwrap();
            assert!(text.width() <= 5 + 17, "{text}");
            assert_eq!(text, format!("0x1  {shown}"));
        }
    }
}
