//! What a user asks of the reference set: dimensions, conditions, window, timeline.

use crate::analysis::reference::ledger::Keep;
use crate::analysis::reference::slabs;
use crate::error::Error;
use crate::model::window::Bound;
use crate::pattern::Patterns;
use crate::units::Nanos;

/// What rows are grouped and filtered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // named as on the command line; docs/json.md explains them
pub enum Dimension {
    Process,
    Category,
    Class,
    File,
    Detail,
    AccessReason,
    ReleaseReason,
    Impact,
}

impl Dimension {
    /// All dimensions.
    pub const ALL: [Dimension; 8] = [
        Dimension::Process,
        Dimension::Category,
        Dimension::Class,
        Dimension::File,
        Dimension::Detail,
        Dimension::AccessReason,
        Dimension::ReleaseReason,
        Dimension::Impact,
    ];

    /// Name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::Process => "process",
            Dimension::Category => "category",
            Dimension::Class => "class",
            Dimension::File => "file",
            Dimension::Detail => "detail",
            Dimension::AccessReason => "access_reason",
            Dimension::ReleaseReason => "release_reason",
            Dimension::Impact => "impact",
        }
    }

    /// Heading in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Dimension::Process => "Process",
            Dimension::Category => "Category",
            Dimension::Class => "Class",
            Dimension::File => "File",
            Dimension::Detail => "Detail",
            Dimension::AccessReason => "Access reason",
            Dimension::ReleaseReason => "Release reason",
            Dimension::Impact => "Impact",
        }
    }

    /// The dimension of a name; `-` and `_` are the same.
    ///
    /// # Errors
    /// A usage error that lists the names.
    pub fn parse(name: &str) -> Result<Dimension, Error> {
        let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
        Dimension::ALL.into_iter().find(|dimension| dimension.name() == wanted).ok_or_else(|| {
            let names: Vec<_> = Dimension::ALL.iter().map(|dimension| dimension.name()).collect();
            Error::Usage(format!("unknown dimension \"{name}\"; known are {}", names.join(", ")))
        })
    }
}

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
}

/// A condition on rows.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Of what.
    pub dimension: Dimension,
    /// What its label must match.
    pub patterns: Patterns,
}

/// A query.
#[derive(Debug, Clone)]
pub struct Query {
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a row must meet.
    pub conditions: Vec<Condition>,
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
    /// How many categories and processes the short form lists.
    pub short: usize,
    /// How many pages that disagree are kept as examples.
    pub examples: usize,
    /// Records that are followed at a time, about: memory grows with it. No result depends on it.
    pub slab_records: u64,
}

impl Default for Query {
    fn default() -> Self {
        Query {
            group_by: vec![Dimension::Process, Dimension::Category],
            conditions: Vec::new(),
            top: None,
            order: RowOrder::default(),
            from: None,
            to: None,
            timeline: None,
            short: 8,
            examples: 10,
            slab_records: slabs::RECORDS,
        }
    }
}

impl Query {
    /// Takes over `a,b,c`.
    ///
    /// # Errors
    /// A usage error for an unknown name and a name that occurs twice.
    pub fn group_by(&mut self, names: &str) -> Result<(), Error> {
        let dimensions: Vec<Dimension> = names.split(',').map(Dimension::parse).collect::<Result<_, _>>()?;
        let twice = dimensions.iter().enumerate().find(|(i, d)| dimensions.iter().take(*i).any(|other| other == *d));
        if let Some((_, dimension)) = twice {
            return Err(Error::Usage(format!("--group-by names {} twice", dimension.name())));
        }
        self.group_by = dimensions;
        Ok(())
    }

    /// Adds `DIM=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form.
    pub fn condition(&mut self, text: &str) -> Result<(), Error> {
        let Some((name, patterns)) = text.split_once('=') else {
            return Err(Error::Usage(format!(
                "\"{text}\" is no condition; write DIMENSION=PATTERNS, as in --where 'process=chrome*'"
            )));
        };
        self.conditions.push(Condition { dimension: Dimension::parse(name)?, patterns: Patterns::new(patterns) });
        Ok(())
    }

    /// What rows must be kept apart by.
    pub fn keep(&self) -> Keep {
        let mut keep = Keep::default();
        for dimension in self.group_by.iter().copied().chain(self.conditions.iter().map(|c| c.dimension)) {
            match dimension {
                Dimension::Process => keep.owner = true,
                Dimension::Category | Dimension::Class => keep.category = true,
                Dimension::File => keep.file = true,
                Dimension::Detail => keep.detail = true,
                Dimension::AccessReason => keep.access_reason = true,
                Dimension::ReleaseReason => keep.release_reason = true,
                Dimension::Impact => keep.impact = true,
            }
        }
        keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_and_conditions_are_read() {
        let mut query = Query::default();
        query.group_by("access-reason, Impact").unwrap();
        assert_eq!(query.group_by, [Dimension::AccessReason, Dimension::Impact]);
        query.condition("file=*.dll;!x*").unwrap();
        assert_eq!(query.keep(), Keep { access_reason: true, impact: true, file: true, ..Keep::default() });
        assert!(query.condition("process").unwrap_err().to_string().contains("DIMENSION=PATTERNS"));
        assert!(query.group_by("impact,impact").unwrap_err().to_string().contains("twice"));
        assert!(query.group_by("list").unwrap_err().to_string().contains("release_reason"));
    }
}
