//! The answer itself.

use crate::analysis::stack_profile::StackProfile;
use crate::answer::json_facts::Facts;
use crate::answer::numbers::{TimeUnit, Unit};
use crate::answer::rows::Rows;
use crate::answer::text_block::Block;
use crate::error::Error;
pub(crate) use crate::trace::trust::Warnings;
use crate::units::counted;

use std::path::PathBuf;

/// What a command found.
#[derive(Debug, Default)]
pub struct Answer<'a> {
    /// Schema of its JSON object, and its version; docs/json.md describes each.
    pub schema: (&'static str, u32),
    /// The files of the recording, as the user named them; none where the facts name them.
    pub files: Vec<PathBuf>,
    /// What every form shows above the numbers, or says beside them.
    pub warnings: Warnings,
    /// What chose the rows, as people see it: a line in the head of every text.
    pub(crate) chosen_by: Option<String>,
    /// What stands above the warnings of a screen.
    pub headline: Vec<String>,
    /// What the JSON object holds besides.
    pub facts: Facts<'a>,
    /// The tables with the rows: all with the same fields.
    pub tables: Vec<Rows<'a>>,
    /// The same with fields that do not depend on the trace, for answers beside those of other traces; `None`: the tables.
    pub beside_others: Option<Vec<Rows<'a>>>,
    /// What the numbers of the rows are of and what they lack, a sentence each. A screen has them in its own places; where there is
    /// none, as with chosen columns and beside other traces, they stand below the tables.
    pub(crate) notes: Vec<String>,
    /// What a terminal repeats at the end, where the beginning has scrolled away.
    pub(crate) closing: Vec<String>,
    /// What text shows; `None`: the tables below their titles.
    pub screen: Option<Vec<Block>>,
    /// What Markdown shows; `None`: the tables below their titles.
    pub document: Option<Vec<Block>>,
    /// Events one by one with their stacks, for viewers of profiles.
    pub(crate) profile: Option<&'a StackProfile<'a>>,
    /// The units in which amounts are shown to people.
    pub units: Units,
}

/// The units in which amounts are shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Units {
    /// Amounts of memory.
    pub size: Unit,
    /// Lengths of time.
    pub time: TimeUnit,
}

/// Where an answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By itself.
    Alone,
    /// Beside those of other traces.
    BesideOthers,
}

impl<'a> Answer<'a> {
    /// An answer without content, of a schema.
    pub fn new(schema: &'static str) -> Answer<'a> {
        Answer { schema: (schema, 1), ..Answer::default() }
    }

    /// The same answer, from these files of a recording.
    pub fn of_files(self, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Answer<'a> {
        Answer { files: files.into_iter().map(Into::into).collect(), ..self }
    }

    /// The same of rows that these conditions chose: names of dimensions and patterns.
    pub(crate) fn chosen_by(self, conditions: &[(&'static str, String)]) -> Answer<'a> {
        let texts: Vec<String> = conditions.iter().map(|(name, patterns)| format!("{name}={patterns}")).collect();
        let chosen_by = (!texts.is_empty()).then(|| format!("Where {}", texts.join(" and ")));
        Answer { chosen_by, ..self }
    }

    /// Only the columns `a,b,c` of the rows, in this order, for people. Other tables of a screen are left out; the notes stay.
    ///
    /// # Errors
    /// A usage error for a name that is no heading.
    pub fn with_columns(mut self, names: &str, place: Place) -> Result<Answer<'a>, Error> {
        let chosen = |tables: Vec<Rows<'a>>| -> Result<Vec<Rows<'a>>, Error> {
            tables.into_iter().map(|table| table.with_columns(names)).collect()
        };
        match (&mut self.beside_others, place) {
            (Some(tables), Place::BesideOthers) => *tables = chosen(std::mem::take(tables))?,
            _ => self.tables = chosen(std::mem::take(&mut self.tables))?,
        }
        (self.screen, self.document) = (None, None);
        Ok(self)
    }

    /// The tables as a part of those of many traces.
    pub fn into_tables_beside_others(self) -> Vec<Rows<'a>> {
        self.beside_others.unwrap_or(self.tables)
    }
}

/// `kernel.etl and 1 more file`.
pub(crate) fn name_of_files(files: &[PathBuf]) -> String {
    let Some((first, more)) = files.split_first() else { return String::new() };
    let first = first.display();
    match more.len() {
        0 => first.to_string(),
        more => format!("{first} and {}", counted(more as u64, "more file", "more files")),
    }
}
