//! What the answers of all comparisons have.

use crate::analysis::diff::comparison::{Amounts, ComparedRow, Comparison};
use crate::analysis::table::Table;
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers;
use crate::answer::rows::Records;
use crate::answer::text_block::Block;
use crate::units::counted;

/// What people read of a comparison.
pub(super) struct Compared {
    /// A line for each side.
    pub sides: [String; 2],
    /// Whether they agree.
    pub verdict: String,
    /// Title of the rows.
    pub title: String,
    /// Below the rows, on a screen.
    pub not_listed: Option<String>,
    /// Below the rows, or with the sides.
    pub note: Option<String>,
}

impl Compared {
    /// Puts the lines around the rows of an answer.
    pub fn around(self, answer: Answer<'_>) -> Answer<'_> {
        let Compared { sides, verdict, title, not_listed, note } = self;
        let mut screen: Vec<Block> = sides.iter().cloned().map(Block::Text).collect();
        screen.extend([Block::Heading(verdict.clone()), Block::Blank, Block::Title(title.clone()), Block::Rows(0)]);
        screen.extend(not_listed.into_iter().chain(note.clone()).map(Block::Text));
        let mut document = vec![Block::Heading(verdict.clone())];
        document.extend(sides.iter().cloned().chain(note).map(|line| Block::Item(0, line)));
        document.extend([Block::Blank, Block::Text(title), Block::Blank, Block::Rows(0)]);
        let closing = sides.into_iter().chain([verdict]).collect();
        Answer { closing, screen: Some(screen), document: Some(document), ..answer }
    }
}

/// What JSON has of compared rows: all of those that differ and, where they were asked for, of the others.
pub(super) fn compared_rows<'a, A: Amounts>(
    facts: Facts<'a>,
    compared: &'a Comparison<A>,
    is_equal: bool,
    total: Option<Facts<'a>>,
    table: impl Fn(Vec<&'a ComparedRow<A>>) -> Table,
) -> Facts<'a> {
    let records = |rows| Fact::Records(Records::of(table(rows)));
    let mut facts = facts
        .is("equal", is_equal)
        .is("no_match", compared.has_no_match())
        .is("rows_compared", compared.all.rows)
        .is("rows_within_tolerance", compared.within.rows);
    if let Some(total) = total {
        facts = facts.has("total", Fact::Object(total));
    }
    let facts = facts.has("differing", records(compared.differing().collect()));
    let facts = match compared.agreeing() {
        Some(rows) => facts.has("agreeing", records(rows.collect())),
        None => facts,
    };
    facts.is("unmatched", &compared.unmatched)
}

/// What a verdict says of rows that differ by no more than is allowed.
pub(super) fn within_tolerance(rows: u64) -> String {
    match rows {
        0 => String::new(),
        some => format!("; {} within the tolerance", counted(some, "row differs", "rows differ")),
    }
}

/// What the sides hold when nothing differs by more than is allowed.
pub(super) fn held([left, right]: [String; 2]) -> String {
    if left == right { left } else { format!("{left} on the left, {right} on the right") }
}

/// What a verdict begins with when nothing differs by more than is allowed.
pub(super) const fn equal(rows_within: u64) -> &'static str {
    if rows_within > 0 { "Equal within the tolerance" } else { "Equal" }
}

/// How many rows people see.
#[derive(Debug, Clone, Copy, Default)]
pub struct ListedRows {
    /// How many the user wants; `None` = as many as `screen` has room for, or all.
    pub top: Option<usize>,
    /// How many a screen has room for, where there is one.
    pub screen: Option<usize>,
}

impl ListedRows {
    /// So many at most.
    pub(super) fn most(self) -> usize {
        self.top.or(self.screen).unwrap_or(usize::MAX)
    }

    /// How the rows are seen that the screen had no room for.
    pub(super) fn not_listed(self, rows: usize) -> Option<String> {
        let shown = self.screen.filter(|screen| self.top.is_none() && *screen < rows)?;
        let all = numbers::count(rows as u64);
        Some(format!("The first {shown} of {all} rows: --top N shows more; a pipe and --format csv have all"))
    }
}
