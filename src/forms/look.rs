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
