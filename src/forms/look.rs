//! How text for a screen looks.

/// How text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns available.
    pub width: u16,
    /// Whether headings and warnings have colors.
    pub color: bool,
}
