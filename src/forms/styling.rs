//! How text for a screen looks.

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns available.
    pub width: u16,
    /// Whether headings and warnings have colors.
    pub color: bool,
    /// Rows of the terminal; `None` where there is none, so that nothing scrolls away.
    pub rows: Option<u16>,
}

impl Look {
    /// True for a terminal on which so many lines scroll away. The prompt that follows takes a row too.
    pub(super) fn is_shorter_than(self, lines: usize) -> bool {
        self.rows.is_some_and(|rows| lines >= usize::from(rows))
    }
}
