//! A budget: what to measure in a trace, and the limits of the value.

use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::faults::Dimension as FaultDimension;
use crate::analysis::refset::query::Dimension as ReferenceDimension;
use crate::analysis::resident::dimension::Dimension as ResidentDimension;
use crate::analysis::table::{Condition, Dimension as _};
use crate::named::named_enum;
use crate::units::PAGE_BYTES;

named_enum! {
    /// The analysis that measures.
    #[derive(Default)]
    pub enum Analysis {
        /// What RAM held at the last whole snapshot.
        #[default]
        Resident = "resident",
        /// What a scenario touched.
        Reference = "refset",
        /// What was read because it was not in RAM.
        Faults = "faults",
    }
}

named_enum! {
    /// What is measured.
    pub enum Measure {
        /// Pages at the snapshot.
        Pages = "pages",
        /// Pages held when the window ends.
        HeldAtStop = "held_at_stop",
        /// Most pages held at any time of the window.
        Peak = "peak",
        /// Accesses in the window.
        Accessed = "accessed",
        /// Accesses of pages that were held already.
        Reaccesses = "reaccesses",
        /// Hard faults of the trace.
        HardFaults = "hard_faults",
        /// Sum of their waits.
        FaultWait = "fault_wait_ms",
    }
}

named_enum! {
    /// What the numbers of a measure are.
    pub enum MeasureUnit {
        /// Pages; limits are bytes.
        Bytes = "bytes",
        /// Hard faults.
        Faults = "faults",
        /// Nanoseconds, which are written as milliseconds.
        Time = "ms",
    }
}

impl MeasureUnit {
    /// What a number of a value is in numbers of a limit.
    pub const fn scale(self) -> u64 {
        match self {
            MeasureUnit::Bytes => PAGE_BYTES,
            MeasureUnit::Faults | MeasureUnit::Time => 1,
        }
    }
}

impl Measure {
    /// The analysis that gives it.
    pub const fn analysis(self) -> Analysis {
        match self {
            Measure::Pages => Analysis::Resident,
            Measure::HardFaults | Measure::FaultWait => Analysis::Faults,
            _ => Analysis::Reference,
        }
    }

    /// What its numbers are.
    pub const fn unit(self) -> MeasureUnit {
        match self {
            Measure::HardFaults => MeasureUnit::Faults,
            Measure::FaultWait => MeasureUnit::Time,
            _ => MeasureUnit::Bytes,
        }
    }

    /// True where only the reason of an access can be a condition, because nothing else is kept of single accesses.
    pub const fn is_of_accesses(self) -> bool {
        matches!(self, Measure::Accessed | Measure::Reaccesses)
    }
}

/// Which pages count: conditions, all of which must hold.
#[derive(Debug, Clone)]
pub enum Conditions {
    /// Conditions on the resident set.
    Resident(Vec<Condition<ResidentDimension>>),
    /// Conditions on the reference set.
    Reference(Vec<Condition<ReferenceDimension>>),
    /// Conditions on hard faults.
    Faults(Vec<Condition<FaultDimension>>),
}

impl Conditions {
    /// Names of the dimensions with their conditions.
    pub fn by_name(&self) -> Vec<(&'static str, &crate::pattern::Patterns)> {
        match self {
            Conditions::Resident(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Reference(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Faults(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
        }
    }

    /// Conditions on names that a trace brings stand before those on names that are known: a process that is not there is
    /// seen also where the category after it has no page.
    pub(crate) fn put_open_first(&mut self) {
        match self {
            Conditions::Resident(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Reference(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Faults(all) => all.sort_by_key(Condition::is_closed),
        }
    }

    /// Before a run: what patterns matched in another trace does not count.
    pub(crate) fn forget(&self) {
        self.by_name().into_iter().for_each(|(_, patterns)| patterns.forget());
    }

    /// After a run: true when nothing meets them, and a name may be wrong.
    pub(crate) fn has_no_match(&self) -> bool {
        match self {
            Conditions::Resident(all) => Condition::has_no_match(all),
            Conditions::Reference(all) => Condition::has_no_match(all),
            Conditions::Faults(all) => Condition::has_no_match(all),
        }
    }

    /// After a run: a line for each pattern that matched nothing.
    pub fn unmatched(&self) -> Vec<String> {
        match self {
            Conditions::Resident(all) => Condition::unmatched(all),
            Conditions::Reference(all) => Condition::unmatched(all),
            Conditions::Faults(all) => Condition::unmatched(all),
        }
    }
}

/// An amount that is a limit: a size (a number of faults, of nanoseconds), or a share in millionths.
pub type Limit = Tolerance;

/// A budget.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name; no other budget has it.
    pub name: String,
    /// What is measured.
    pub measure: Measure,
    /// The pages that count.
    pub conditions: Conditions,
    /// Dimensions and patterns as they were written.
    pub filter: Vec<(&'static str, String)>,
    /// The most; a share is of all pages.
    pub max: Option<Limit>,
    /// The least; a share is of all pages.
    pub min: Option<Limit>,
    /// The most that it may grow; a share is of the baseline.
    pub max_growth: Option<Limit>,
    /// The part of a limit from which the verdict is `watch`, millionths.
    pub watch: u64,
    /// True when its conditions may match nothing.
    pub optional: bool,
}

impl Budget {
    /// True when it measures the same as the value of this name in a baseline.
    pub fn is_same(&self, measure: &str, filter: &[(String, String)]) -> bool {
        let same = |(a, b): (&(&'static str, String), &(String, String))| a.0 == b.0 && a.1 == b.1;
        self.measure.name() == measure && self.filter.len() == filter.len() && self.filter.iter().zip(filter).all(same)
    }
}
