//! What a user asks of the reference set: dimensions, conditions, window, timeline.

use crate::analysis::refset::reason::{self, Impact};
use crate::dimensions::single_dimensions::*;
use crate::dimensions::stack_dimensions::StackFacet;
use crate::dimensions::{Condition, Dimension as _, FileFacet, Label, ProcessFacet, Values, dimensions};
use crate::error::Error;
use crate::etl::time_slice;
use crate::model::window::Bound;
use crate::symbols::folders::SymbolFolders;
use crate::units::Nanos;

dimensions! {
    /// What rows are grouped and filtered by.
    pub enum Dimension {
        Process(ProcessFacet);
        Category: CATEGORY;
        Class: CLASS;
        File(FileFacet);
        Detail: DETAIL;
        AccessReason:
            ACCESS_REASON.of(Values::OneOf(|| reason::AccessReason::ALL.map(reason::AccessReason::name).to_vec()));
        ReleaseReason: RELEASE_REASON.of(Values::OneOf(releases));
        Impact: IMPACT.of(Values::OneOf(|| Impact::ALL.map(Impact::name).to_vec()));
        Stack(StackFacet);
    }
}

impl Dimension {
    /// The process that holds a page.
    pub const PROCESS: Dimension = Dimension::Process(ProcessFacet::Process);
    /// The file of a page.
    pub const FILE: Dimension = Dimension::File(FileFacet::File);

    /// What it is of the stack of the access; `None` for other facts.
    pub(crate) const fn of_stack(self) -> Option<StackFacet> {
        if let Dimension::Stack(of) = self { Some(of) } else { None }
    }

    /// True for those of the stack of the access.
    pub const fn is_of_stacks(self) -> bool {
        self.of_stack().is_some()
    }
}

/// Reasons of releases, and that of a page that was not released.
fn releases() -> Vec<&'static str> {
    reason::ReleaseReason::ALL.into_iter().map(reason::ReleaseReason::name).chain([HELD]).collect()
}

/// The release reason of a page that is held at the window's end.
pub(crate) const HELD: &str = "held";

/// Order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowOrder {
    /// Most pages first.
    #[default]
    Pages,
    /// By label.
    Name,
    /// Most physical pages first.
    ImpactPages,
    /// Processes with the highest peak first; other rows as by pages.
    Peak,
}

/// A query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a row must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Rows on each level; `None` = all.
    pub top: Option<usize>,
    /// Order of the rows.
    pub order: RowOrder,
    /// Beginning of the window; `None` = the start mark.
    pub from: Option<Bound>,
    /// End of the window; `None` = the stop mark.
    pub to: Option<Bound>,
    /// Step of the timeline.
    pub timeline: Option<Nanos>,
    /// Dimensions of the timeline.
    pub timeline_by: Vec<Dimension>,
    /// How many categories and processes the summary lists.
    pub summary_rows: usize,
    /// Share of pages that may disagree with what Windows logged before the account is doubted.
    pub max_residue: f64,
    /// How many pages that disagree are kept as examples.
    pub examples: usize,
    /// Records that are followed at a time, about: memory grows with it. No result depends on it.
    pub slice_records: u64,
    /// Where symbol files are looked for, for rows by stack and function.
    pub symbols: SymbolFolders,
}

impl Default for Query {
    fn default() -> Self {
        Query {
            group_by: vec![Dimension::PROCESS, Dimension::Category],
            conditions: Vec::new(),
            top: None,
            order: RowOrder::default(),
            from: None,
            to: None,
            timeline: None,
            timeline_by: vec![Dimension::Category],
            summary_rows: 8,
            max_residue: 0.01,
            examples: 10,
            slice_records: time_slice::RECORDS,
            symbols: SymbolFolders::default(),
        }
    }
}

impl Query {
    /// Dimensions of the timeline.
    ///
    /// # Errors
    /// A usage error for dimensions that nothing has while it is held, also in conditions.
    pub fn timeline_dimensions(&self) -> Result<Vec<Dimension>, Error> {
        let all =
            || self.timeline_by.iter().copied().chain(self.conditions.iter().map(|condition| condition.dimension));
        match all().find(|dimension| matches!(dimension, Dimension::ReleaseReason | Dimension::Impact)) {
            Some(later) => Err(Error::Usage(format!(
                "a timeline shows what is held; {} is only known when it is held no longer",
                later.name()
            ))),
            None => Ok(self.timeline_by.clone()),
        }
    }

    /// True where pages of both signs are added up: rows are of the impact of pages, and impacting ones are not left out.
    pub(crate) fn counts_impacting(&self) -> bool {
        // Read anew: what they match here is no answer to the user's patterns.
        let mut of_impact = (self.conditions.iter())
            .filter(|condition| condition.dimension == Dimension::Impact)
            .filter_map(|condition| Condition::parse(&condition.text()).ok());
        let is_asked = self.kept().any(|dimension| dimension == Dimension::Impact);
        is_asked
            && of_impact
                .all(|condition: Condition<Dimension>| condition.matches([&Label::name(Impact::Impacting.name())]))
    }

    /// True when stacks of accesses are asked for.
    pub fn wants_stacks(&self) -> bool {
        self.kept().any(Dimension::is_of_stacks)
    }

    /// What rows must be kept apart by.
    pub fn kept(&self) -> impl Iterator<Item = Dimension> {
        let of_timeline = self.timeline.iter().flat_map(|_| &self.timeline_by);
        let conditions = self.conditions.iter().map(|condition| &condition.dimension);
        self.group_by.iter().chain(of_timeline).chain(conditions).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_and_conditions_are_read() {
        let group_by = Dimension::parse_list("access-reason, Impact").unwrap();
        let mut query = Query { group_by, ..Query::default() };
        assert_eq!(query.group_by, [Dimension::AccessReason, Dimension::Impact]);
        query.conditions.push(Condition::parse("file=*.dll;!x*").unwrap());
        assert!(query.kept().eq([Dimension::AccessReason, Dimension::Impact, Dimension::FILE]));
    }
}
