//! A query about a resident set.

use crate::analysis::resident::commit_stacks::CommitStacks;
use crate::analysis::resident::page_counts::ResidentOrder;
use crate::analysis::resident::page_dimensions::Dimension;
use crate::analysis::resident::tables::ColumnChoice;
use crate::analysis::table::{Condition, Dimension as _, spelling};
use crate::dimensions::stack_dimensions::StackFacet;
use crate::error::Error;
use crate::model::pool_tags::PoolTags;
use crate::model::snapshot::{Snapshot, whole};
use crate::named_enum::named_enum;
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;

named_enum! {
    /// By whose rules pages are counted.
    #[derive(Default)]
    pub enum Classification {
        /// Ours.
        Corrected = "corrected",
        /// WPA's.
        Wpa = "wpa",
        /// Ours, with WPA's number beside it.
        #[default]
        Both = "both",
    }
}

/// Which snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SnapshotChoice {
    /// The last one that is whole.
    #[default]
    Last,
    /// All.
    All,
    /// By number, from 0.
    Index(usize),
}

impl SnapshotChoice {
    /// Numbers of the chosen ones.
    ///
    /// # Errors
    /// A usage error for a number that is not there.
    pub fn indices(self, snapshots: &[Snapshot]) -> Result<Vec<usize>, Error> {
        let count = snapshots.len();
        match self {
            SnapshotChoice::Last => Ok(whole(snapshots).next_back().into_iter().collect()),
            SnapshotChoice::All => Ok((0..count).collect()),
            SnapshotChoice::Index(index) if index < count => Ok(vec![index]),
            SnapshotChoice::Index(index) => Err(Error::Usage(match count {
                0 | 1 => format!("there is no snapshot {index}; the trace holds one, number 0"),
                _ => format!("there is no snapshot {index}; the trace holds {count} (0 to {})", count - 1),
            })),
        }
    }
}

impl std::str::FromStr for SnapshotChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "last" => Ok(SnapshotChoice::Last),
            "all" => Ok(SnapshotChoice::All),
            number => number
                .parse()
                .map(SnapshotChoice::Index)
                .map_err(|_| "expected \"last\", \"all\" or the number of a snapshot, from 0".into()),
        }
    }
}

/// What people see of a result.
#[derive(Debug, Clone, Default)]
pub struct ResidentView {
    /// Columns, and whether the first screen is whole.
    pub columns: ColumnChoice,
    /// Order of the rows.
    pub sort: ResidentOrder,
    /// Rows on each level; `None` = all.
    pub top: Option<usize>,
}

/// A query.
#[derive(Debug, Clone)]
pub struct ResidentQuery {
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a page must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Order of the rows.
    pub sort: ResidentOrder,
    /// By whose rules.
    pub classification: Classification,
    /// The snapshots that are counted.
    pub snapshot: SnapshotChoice,
    /// True when processes are listed; else they are not counted.
    pub processes: bool,
    /// Where symbol files are looked for, for rows by stack and function.
    pub symbols: SymbolFolders,
    /// What pool tags stand for.
    pub pool_tags: PoolTags,
}

impl Default for ResidentQuery {
    fn default() -> Self {
        ResidentQuery {
            group_by: vec![Dimension::Category],
            conditions: Vec::new(),
            sort: ResidentOrder::default(),
            classification: Classification::default(),
            snapshot: SnapshotChoice::default(),
            processes: true,
            symbols: SymbolFolders::default(),
            pool_tags: PoolTags::default(),
        }
    }
}

/// The stacks of commits, where rows by these dimensions, or these conditions, ask for them.
pub(crate) fn stacks_for(
    trace: &Trace,
    dimensions: &[Dimension],
    conditions: &[Condition<Dimension>],
    symbols: &SymbolFolders,
) -> Option<CommitStacks> {
    let rows: Vec<StackFacet> = dimensions.iter().filter_map(|dimension| dimension.of_stack()).collect();
    let of_conditions: Vec<StackFacet> = conditions.iter().filter_map(|one| one.dimension.of_stack()).collect();
    (!rows.is_empty() || !of_conditions.is_empty()).then(|| CommitStacks::new(trace, &rows, &of_conditions, symbols))
}

/// Name, dimensions, conditions, and its description.
type Preset = (&'static str, &'static str, &'static [(Dimension, &'static str)], &'static str);

/// Common questions, as WPA users know them, in dimensions and conditions.
const PRESETS: [Preset; 5] = [
    ("by-process", "process,category", &[], "each process with its categories"),
    ("by-list-priority", "list,priority,category", &[], "WPA: Snapshot Sublist Breakdown by Category"),
    (
        "private-working-set",
        "process,category",
        &[(Dimension::List, "Active"), (Dimension::Use, "ProcessPrivate"), (Dimension::PROCESS, "!n/a")],
        "private pages of working sets: list=Active, use=ProcessPrivate, process=!n/a",
    ),
    ("files", "file", &[(Dimension::FILE, "!n/a")], "file pages by file: file=!n/a"),
    ("drivers", "detail", &[(Dimension::Category, "Driver")], "driver pages by image: category=Driver"),
];

impl ResidentQuery {
    /// True when rows are by what the rule sets decide: category or class.
    pub fn is_by_rules(&self) -> bool {
        self.group_by.iter().any(|dimension| dimension.by_wpa().is_some())
    }

    /// True when rows have a count by WPA's rules beside ours that can differ.
    pub fn compares(&self) -> bool {
        self.classification == Classification::Both && self.is_by_rules()
    }

    /// True when stacks of commits are asked for.
    pub fn wants_stacks(&self) -> bool {
        let conditions = self.conditions.iter().map(|condition| condition.dimension);
        self.group_by.iter().copied().chain(conditions).any(|dimension| dimension.of_stack().is_some())
    }

    /// Names of the presets with what they show.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        PRESETS.iter().map(|preset| (preset.0, preset.3))
    }

    /// Sets the dimensions and conditions of a preset.
    ///
    /// # Errors
    /// A usage error that lists the presets.
    pub fn preset(&mut self, name: &str) -> Result<(), Error> {
        let Some(preset) = PRESETS.iter().find(|preset| preset.0 == name) else {
            let advice = spelling::advice(name, ResidentQuery::presets().map(|(name, _)| name));
            return Err(Error::Usage(format!("unknown preset \"{name}\"{advice}")));
        };
        self.group_by = Dimension::parse_list(preset.1)?;
        let conditions = preset.2.iter();
        self.conditions.extend(conditions.map(|&(dimension, patterns)| Condition::fixed(dimension, patterns)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_read() {
        for (name, _) in ResidentQuery::presets() {
            ResidentQuery::default().preset(name).unwrap();
        }
        let mut query = ResidentQuery::default();
        assert!(Dimension::parse_list("list,list").is_err());
        assert!(query.preset("x").unwrap_err().to_string().contains("by-process"));
    }
}
