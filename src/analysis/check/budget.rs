//! A budget: what to measure in a trace, and the limits of the value.

use crate::analysis::allocations::Dimension as AllocationDimension;
use crate::analysis::cpu::query::Dimension as CpuDimension;
use crate::analysis::diff::tolerance::Tolerance;
use crate::analysis::faults::Dimension as FaultDimension;
use crate::analysis::refset::query::Dimension as ReferenceDimension;
use crate::analysis::resident::page_dimensions::Dimension as ResidentDimension;
use crate::analysis::table::{Condition, Dimension as _};
use crate::load::allocation_kinds::AllocationKind;
use crate::named_enum::named_enum;
use crate::symbols::folders::SymbolFolders;
use crate::units::PAGE_BYTES;

/// The analysis that measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Analysis {
    /// What RAM held at the last whole snapshot.
    #[default]
    Resident,
    /// What a scenario touched.
    Reference,
    /// What was read because it was not in RAM.
    Faults,
    /// What threads ran, and what they waited for.
    Cpu,
    /// What was allocated and not freed.
    Allocations(AllocationKind),
}

impl Analysis {
    /// All.
    pub const ALL: [Analysis; 7] = [
        Analysis::Resident,
        Analysis::Reference,
        Analysis::Faults,
        Analysis::Cpu,
        Analysis::Allocations(AllocationKind::Commit),
        Analysis::Allocations(AllocationKind::Pool),
        Analysis::Allocations(AllocationKind::Heap),
    ];

    /// Name in budgets, tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Analysis::Resident => "resident",
            Analysis::Reference => "refset",
            Analysis::Faults => "faults",
            Analysis::Cpu => "cpu",
            Analysis::Allocations(kind) => kind.name(),
        }
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
        /// Time on the processors, without interrupts.
        CpuTime = "cpu_ms",
        /// Time for which threads were ready and did not run.
        ReadyTime = "ready_ms",
        /// Time of waits.
        WaitTime = "waiting_ms",
        /// What is allocated at the end.
        Outstanding = "outstanding",
        /// What is allocated at the end less what was at the start, in a minute.
        GrowthPerMinute = "growth_per_minute",
        /// The most that was allocated at any time.
        AllocatedPeak = "peak",
    }
}

/// What the rows of a value add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSum {
    /// The value.
    Equal,
    /// The value, but for a nanosecond of each row.
    Rounded,
    /// The value or more: each row has its own peak.
    AtLeast,
    /// The value or more, but for a byte of each row: rows that shrink count as 0. A part can grow more than the whole.
    OfGrowing,
}

/// What the numbers of a measure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeasureUnit {
    /// Pages; limits are bytes.
    Pages,
    /// Bytes.
    Bytes,
    /// Hard faults.
    Faults,
    /// Nanoseconds, which are written as milliseconds.
    Time,
}

impl MeasureUnit {
    /// What numbers of a limit are.
    pub const fn name(self) -> &'static str {
        match self {
            MeasureUnit::Pages | MeasureUnit::Bytes => "bytes",
            MeasureUnit::Faults => "faults",
            MeasureUnit::Time => "ms",
        }
    }

    /// What a number of a value is in numbers of a limit.
    pub const fn scale(self) -> u64 {
        match self {
            MeasureUnit::Pages => PAGE_BYTES,
            MeasureUnit::Bytes | MeasureUnit::Faults | MeasureUnit::Time => 1,
        }
    }
}

impl Measure {
    /// True when the analysis gives it.
    pub const fn is_of(self, analysis: Analysis) -> bool {
        match self {
            Measure::Pages => matches!(analysis, Analysis::Resident),
            Measure::HardFaults | Measure::FaultWait => matches!(analysis, Analysis::Faults),
            Measure::CpuTime | Measure::ReadyTime | Measure::WaitTime => matches!(analysis, Analysis::Cpu),
            Measure::Outstanding | Measure::GrowthPerMinute | Measure::AllocatedPeak => {
                matches!(analysis, Analysis::Allocations(_))
            }
            Measure::HeldAtStop | Measure::Peak | Measure::Accessed | Measure::Reaccesses => {
                matches!(analysis, Analysis::Reference)
            }
        }
    }

    /// What its numbers are.
    pub const fn unit(self) -> MeasureUnit {
        match self {
            Measure::HardFaults => MeasureUnit::Faults,
            Measure::FaultWait | Measure::CpuTime | Measure::ReadyTime | Measure::WaitTime => MeasureUnit::Time,
            Measure::Outstanding | Measure::GrowthPerMinute | Measure::AllocatedPeak => MeasureUnit::Bytes,
            _ => MeasureUnit::Pages,
        }
    }

    /// True for lengths of time and for rates.
    pub const fn is_of_time(self) -> bool {
        matches!(self.unit(), MeasureUnit::Time) || matches!(self, Measure::GrowthPerMinute)
    }

    /// How the sum of its rows follows from it.
    pub const fn sum_of_rows(self) -> RowSum {
        match self {
            Measure::Pages | Measure::HeldAtStop | Measure::Accessed | Measure::Reaccesses => RowSum::Equal,
            Measure::HardFaults | Measure::Outstanding => RowSum::Equal,
            Measure::FaultWait | Measure::CpuTime | Measure::ReadyTime | Measure::WaitTime => RowSum::Rounded,
            Measure::Peak | Measure::AllocatedPeak => RowSum::AtLeast,
            Measure::GrowthPerMinute => RowSum::OfGrowing,
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
    /// Conditions on threads.
    Cpu(Vec<Condition<CpuDimension>>),
    /// Conditions on allocations of one kind.
    Allocations(Vec<Condition<AllocationDimension>>),
}

impl Conditions {
    /// Names of the dimensions with their conditions.
    pub fn by_name(&self) -> Vec<(&'static str, &crate::pattern::Patterns)> {
        match self {
            Conditions::Resident(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Reference(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Faults(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Cpu(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
            Conditions::Allocations(all) => all.iter().map(|c| (c.dimension.name(), &c.patterns)).collect(),
        }
    }

    /// Conditions on names that a trace brings stand before those on names that are known: a process that is not there is
    /// seen also where the category after it has no page.
    pub(crate) fn put_open_first(&mut self) {
        match self {
            Conditions::Resident(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Reference(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Faults(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Cpu(all) => all.sort_by_key(Condition::is_closed),
            Conditions::Allocations(all) => all.sort_by_key(Condition::is_closed),
        }
    }

    /// True when some ask for names of code.
    fn names_functions(&self) -> bool {
        match self {
            Conditions::Faults(_) => false,
            Conditions::Cpu(all) => all.iter().any(|condition| condition.dimension.is_of_stacks()),
            Conditions::Resident(all) => all.iter().any(|condition| condition.dimension.of_stack().is_some()),
            Conditions::Reference(all) => all.iter().any(|condition| condition.dimension.is_of_stacks()),
            Conditions::Allocations(all) => all.iter().any(|condition| condition.dimension.is_of_stacks()),
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
            Conditions::Cpu(all) => Condition::has_no_match(all),
            Conditions::Allocations(all) => Condition::has_no_match(all),
        }
    }

    /// After a run: a line for each pattern that matched nothing.
    pub fn unmatched(&self) -> Vec<String> {
        match self {
            Conditions::Resident(all) => Condition::maybe_misspelled(all),
            Conditions::Reference(all) => Condition::maybe_misspelled(all),
            Conditions::Faults(all) => Condition::maybe_misspelled(all),
            Conditions::Cpu(all) => Condition::maybe_misspelled(all),
            Conditions::Allocations(all) => Condition::maybe_misspelled(all),
        }
    }

    /// The same of several conditions that nothing meets together, though each label can be: some can never come together.
    pub(crate) fn unmet_together(&self) -> Vec<String> {
        match self {
            Conditions::Resident(all) => Condition::unmet_together(all),
            Conditions::Reference(all) => Condition::unmet_together(all),
            Conditions::Faults(all) => Condition::unmet_together(all),
            Conditions::Cpu(all) => Condition::unmet_together(all),
            Conditions::Allocations(all) => Condition::unmet_together(all),
        }
    }
}

/// An amount that is a limit: a size (a number of faults, of nanoseconds), or a share in millionths.
pub type Limit = Tolerance;

/// All of a trace, in the unit of [`Limit::Share`].
pub(super) const WHOLE: u64 = 1_000_000;

/// A budget.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Its name; no other budget has it.
    pub name: String,
    /// The analysis that measures.
    pub analysis: Analysis,
    /// What is measured.
    pub measure: Measure,
    /// What counts.
    pub conditions: Conditions,
    /// Where the names of functions in conditions are looked for.
    pub symbols: SymbolFolders,
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
    /// True when its conditions ask for names of code.
    pub(crate) fn names_functions(&self) -> bool {
        self.conditions.names_functions()
    }

    /// The same without limits that are a part of all.
    pub(super) fn without_shares(&self) -> Budget {
        let amount = |limit: Option<Limit>| limit.filter(|limit| matches!(limit, Limit::Bytes(_)));
        Budget { max: amount(self.max), min: amount(self.min), ..self.clone() }
    }

    /// True when a limit is a part of all.
    pub(super) fn has_shares(&self) -> bool {
        [self.max, self.min].iter().any(|limit| matches!(limit, Some(Limit::Share(_))))
    }

    /// True when it measures the same as the value of this name in a baseline.
    pub fn is_same(&self, (analysis, measure): (&str, &str), filter: &[(String, String)]) -> bool {
        let same = |(a, b): (&(&'static str, String), &(String, String))| a.0 == b.0 && a.1 == b.1;
        let is_named = self.analysis.name() == analysis && self.measure.name() == measure;
        is_named && self.filter.len() == filter.len() && self.filter.iter().zip(filter).all(same)
    }
}
