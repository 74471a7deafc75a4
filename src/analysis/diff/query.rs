//! The query for a comparison, and by what the sides are compared.

use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::comparison::DiffOrder;
use crate::analysis::diff::process_matching::{Match, Matching};
use crate::analysis::diff::selections;
use crate::analysis::diff::side::{Source, SourceContent};
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::diff::trace_side::listed;
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::table::{Condition, Dimension as _};
use crate::error::{Error, Missing, Reason};
use crate::imported::wpa::columns::ExportedTable;
use crate::symbols::folders::SymbolFolders;
use crate::trace::analysis_needs::RESIDENT_SET;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use std::path::Path;

/// A question.
#[derive(Debug, Clone, Default)]
pub struct DiffQuery {
    /// True: the reference set of traces.
    pub reference: bool,
    /// Dimensions of the rows; `None`: the finest that both sides have.
    pub group_by: Option<Vec<Dimension>>,
    /// Conditions, all of which a page must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// How rows are ordered.
    pub order: DiffOrder,
    /// By WPA's rules or by ours; `None`: as the sides are.
    pub by_wpa: Option<bool>,
    /// Which snapshot of the left and of the right side.
    pub snapshots: [SnapshotChoice; 2],
    /// How processes are matched; `None`: as the sides are.
    pub matching: Option<Match>,
    /// How much rows may differ.
    pub tolerance: Tolerance,
    /// True to keep the rows that do not differ.
    pub keeps_same: bool,
    /// Where symbol files are looked for, for the names of functions.
    pub symbols: SymbolFolders,
}

/// What is compared, and how; this depends on the two sides.
#[derive(Debug, Clone)]
pub(crate) struct DiffPlan {
    /// Which of the two analyses.
    pub table: ExportedTable,
    /// By whose rules each side counts.
    pub by_wpa: [bool; 2],
    /// Dimensions of the rows.
    pub dimensions: Vec<Dimension>,
    /// How labels are matched.
    pub matching: Matching,
    /// What a file says of itself, what only one side leaves out, and what does not fit.
    pub warnings: Warnings,
}

/// Names of the sides in messages.
pub(crate) const SIDES: [&str; 2] = ["LEFT", "RIGHT"];

/// Which side lacks something.
pub(super) fn at_side(error: Error, side: usize, path: &Path) -> Error {
    let side = SIDES.get(side).copied().unwrap_or_default();
    let named = |what: String| format!("{side} ({}): {what}", path.display());
    match error {
        Error::MissingEvents(Missing { what, advice }) => Error::MissingEvents(Missing { what: named(what), advice }),
        Error::MissingPart(what) => Error::MissingPart(named(what)),
        Error::Usage(what) => Error::Usage(named(what)),
        other => other,
    }
}

const fn name(table: ExportedTable) -> &'static str {
    match table {
        ExportedTable::Resident => "a resident set",
        ExportedTable::Reference => "a reference set",
    }
}

impl DiffQuery {
    /// True when functions or modules are asked for.
    pub fn wants_stacks(&self) -> bool {
        let conditions = self.conditions.iter().map(|condition| condition.dimension);
        let mut all = self.group_by.iter().flatten().copied().chain(conditions);
        all.any(|dimension| matches!(dimension, Dimension::Function | Dimension::Module))
    }
}

impl DiffPlan {
    /// Decides.
    ///
    /// # Errors
    /// [`Error::Usage`] for what one of the sides does not have, [`Error::NotUnderstood`] for sides with nothing in common.
    pub fn new(sides: [&Source; 2], query: &DiffQuery) -> Result<DiffPlan, Error> {
        let table = table(sides, query.reference)?;
        let mut plan = DiffPlan {
            table,
            by_wpa: [false; 2],
            dimensions: Vec::new(),
            matching: matching(sides, query.matching)?,
            warnings: Warnings::default(),
        };
        if table == ExportedTable::Reference {
            refuse_of_pages(query)?;
        } else {
            plan.by_wpa = rules(sides, query.by_wpa)?;
        }
        plan.dimensions = match &query.group_by {
            Some(dimensions) => {
                let both = sides.map(Some);
                dimensions.iter().try_for_each(|dimension| need(both, table, *dimension, "group by"))?;
                dimensions.clone()
            }
            None => finest(sides, table)?,
        };
        for condition in &query.conditions {
            // The rows of a file that the same condition chose need not be grouped by its dimension.
            let (name, patterns) = (condition.dimension.name(), condition.patterns.to_string());
            let open = sides.map(|side| (!side.is_chosen_by(name, &patterns)).then_some(side));
            need(open, table, condition.dimension, "condition")?;
            let is_of_stacks = matches!(condition.dimension, Dimension::Function | Dimension::Module);
            if let Some(file) = open.into_iter().flatten().find(|side| is_of_stacks && side.trace().is_none()) {
                let path = file.path.display();
                return Err(Error::Usage(format!(
                    "condition {name}: rows of {path} have the innermost {name} of each stack, and the condition finds any; write the file \
                     with this condition"
                )));
            }
        }
        plan.warnings.extend(selections::differing(sides, &query.conditions)?);
        for (side, source) in SIDES.iter().zip(sides) {
            plan.warnings.extend(of_content(side, source));
        }
        if query.by_wpa.is_none() {
            plan.warnings.extend(rules_that_differ(plan.by_wpa));
        }
        Ok(plan)
    }
}

/// A reference set is of a window, and counted by one set of rules.
fn refuse_of_pages(query: &DiffQuery) -> Result<(), Error> {
    let what = match () {
        () if query.by_wpa.is_some() => "classification",
        () if query.snapshots != <[SnapshotChoice; 2]>::default() => "snapshot",
        () => return Ok(()),
    };
    Err(Error::Usage(format!("{what}: only resident sets have one, and reference sets are compared")))
}

fn table(sides: [&Source; 2], reference: bool) -> Result<ExportedTable, Error> {
    let given = reference.then_some(ExportedTable::Reference);
    let [left, right] = sides.map(Source::table);
    if let (Some(left), Some(right)) = (left, right)
        && left != right
    {
        return Err(Error::Usage(format!(
            "LEFT is {} and RIGHT is {}: they count other things",
            name(left),
            name(right)
        )));
    }
    match (given, left.or(right)) {
        (Some(ExportedTable::Reference), Some(ExportedTable::Resident)) => {
            Err(Error::Usage("the file is a resident set, no reference set".into()))
        }
        (given, found) => Ok(given.or(found).unwrap_or(ExportedTable::Resident)),
    }
}

fn matching(sides: [&Source; 2], asked: Option<Match>) -> Result<Matching, Error> {
    let has_names_only = sides.iter().any(|side| side.has_names_only());
    let has_export = sides.iter().any(|side| side.is_export());
    let processes = match asked {
        Some(Match::NameAndStart) if sides.iter().any(|side| side.trace().is_none()) => {
            let text = "processes of one name can be kept apart only by the order in which they started, which only traces have: both sides \
                 must be traces";
            return Err(Error::Usage(text.into()));
        }
        Some(Match::Pid) if has_names_only => {
            return Err(Error::Usage(
                "processes cannot be matched by id: the export has names of processes without ids (Process Name)"
                    .into(),
            ));
        }
        Some(asked) => asked,
        None if has_export && !has_names_only => Match::Pid,
        None => Match::Name,
    };
    // A table of WPA is of the trace beside it.
    Ok(Matching { processes, of_one_boot: has_export || processes == Match::Pid })
}

/// By whose rules each side counts. An export always counts by WPA's.
fn rules(sides: [&Source; 2], asked: Option<bool>) -> Result<[bool; 2], Error> {
    let can = |source: &Source, by_wpa: bool| match &source.content {
        SourceContent::Trace(_) => true,
        SourceContent::Pfnset(table) => table.counts(by_wpa),
        SourceContent::Wpa(_) => by_wpa,
    };
    let has_export = sides.iter().any(|side| side.is_export());
    let wish = asked.unwrap_or(has_export);
    let both = |by_wpa: bool| sides.iter().all(|side| can(side, by_wpa));
    let wish = if asked.is_none() && !both(wish) && both(!wish) { !wish } else { wish };
    let each = sides.map(|side| if can(side, wish) { wish } else { !wish });
    let cannot = SIDES.iter().zip(sides).find(|(_, source)| !source.is_export() && !can(source, wish));
    if let (Some((side, source)), Some(asked)) = (cannot, asked) {
        return Err(Error::Usage(format!(
            "cannot count by {}: {side} ({}) counts by {} rules only",
            name_of_rules(asked),
            source.path.display(),
            name_of_rules(!asked)
        )));
    }
    Ok(each)
}

fn name_of_rules(by_wpa: bool) -> &'static str {
    if by_wpa { "WPA's" } else { "the corrected" }
}

/// A line where the sides count by different rules, which the user did not ask for.
fn rules_that_differ([left, right]: [bool; 2]) -> Option<Warning> {
    let [of_left, of_right] = [left, right].map(name_of_rules);
    let text =
        format!("LEFT counts by {of_left} categories and RIGHT by {of_right}: differences are those of the rules too");
    (left != right).then(|| Warning::note(RESIDENT_SET.name, "rules_differ", text))
}

fn need(sides: [Option<&Source>; 2], table: ExportedTable, dimension: Dimension, asked: &str) -> Result<(), Error> {
    for (side, source) in SIDES.iter().zip(sides) {
        let Some(source) = source else { continue };
        let known = source.all_dimensions(table);
        if !known.contains(&dimension) {
            return Err(Error::Usage(format!(
                "{asked}: {side} ({}) has no {}; it has {}",
                source.path.display(),
                dimension.name(),
                listed(&known)
            )));
        }
    }
    Ok(())
}

/// The finest dimensions that both sides have, in the order of a file. A trace has all: beside another it is compared by
/// process and category.
fn finest(sides: [&Source; 2], table: ExportedTable) -> Result<Vec<Dimension>, Error> {
    let [left, right] = sides;
    let order = match (left.trace(), right.trace()) {
        (Some(_), Some(_)) => return Ok(vec![Dimension::PROCESS, Dimension::Category]),
        (Some(_), None) => right,
        (None, _) => left,
    };
    let known = sides.map(|side| side.all_dimensions(table));
    let is_common = |dimension: &Dimension| known.iter().all(|known| known.contains(dimension));
    let mut common: Vec<Dimension> = order.dimensions(table).into_iter().filter(is_common).collect();
    if common.is_empty() {
        // What follows from a finer dimension of one side only.
        common = order.all_dimensions(table).into_iter().filter(is_common).collect();
    }
    common.truncate(Dimension::MOST);
    // Page by page the numbers of pages can be compared alone.
    let is_paged = sides.iter().any(|side| side.trace().is_some()) && sides.iter().any(|side| side.has_pages());
    if is_paged && table == ExportedTable::Resident {
        return Ok(common);
    }
    if common.is_empty() {
        let [left_has, right_has] = [left, right].map(|side| listed(&side.dimensions(table)));
        return Err(Error::NotUnderstood {
            path: right.path.clone(),
            reason: Reason::from(format!(
                "it has nothing in common with {} to compare by: that has {left_has}; this has {right_has}",
                left.path.display()
            )),
        });
    }
    Ok(common)
}

fn of_content(side: &str, source: &Source) -> Warnings {
    match &source.content {
        SourceContent::Trace(_) => Warnings::default(),
        SourceContent::Pfnset(table) => table.warnings_of_file().named(side),
        SourceContent::Wpa(export) => {
            let found = export.columns.by_content.iter();
            let text = |(heading, dimension): &(String, &str)| {
                format!(
                    "{side}: column \"{heading}\" is taken for {dimension}, by what stands in it (the column map can say otherwise)"
                )
            };
            found.map(|found| Warning::note(OF_TRACE, "column_by_content", text(found))).collect()
        }
    }
}
