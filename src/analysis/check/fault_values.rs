//! The values of budgets of hard faults.

use super::budget::{Budget, Measure};
use super::required_data::Evidence;
use super::value::{Row, Value};
use crate::analysis::faults::{Dimension, FaultQuery, FaultSet, HardFigures};
use crate::event::hooks::HARD_FAULT;
use crate::facets::{Condition, Dimension as _, Label};
use crate::trace::Trace;
use crate::trace::analysis_needs::{FAULTS, HARD_FAULTS};
use crate::trace::doubt::Doubt;
use crate::trace::readiness::Need;
use crate::units::counted;

/// The hard faults of a trace, or why they are not known.
pub struct FaultValues(Result<FaultSet, String>);

impl FaultValues {
    /// Of all hard faults.
    pub fn new(trace: &Trace) -> FaultValues {
        // None at all proves nothing unless they were asked for; disk requests alone are enough for the analysis.
        let lacks = |need: &&Need| need.keyword == HARD_FAULTS.keyword && !need.was_on;
        FaultValues(match trace.missing(&FAULTS).iter().find(lacks) {
            Some(need) => Err(format!("the keyword {} was not recorded", need.keyword)),
            None => fault_set(trace, &[]),
        })
    }

    /// What casts doubt on them.
    pub fn doubts(&self) -> &[Doubt] {
        self.0.as_ref().map_or(&[], |set| &set.doubts)
    }

    /// The value of a budget.
    pub fn value(&self, trace: &Trace, budget: &Budget, conditions: &[Condition<Dimension>]) -> Result<Value, String> {
        let all = self.0.as_ref().map_err(String::clone)?;
        let evidence = Evidence::new(trace, &FAULTS);
        if let Some(fault) = evidence.fault("the trace", &[HARD_FAULT], all.window_times, &budget.conditions) {
            return Err(fault);
        }
        // A process without any fault is there, and has none.
        let of_processes = conditions.iter().filter(|condition| condition.dimension == Dimension::Process);
        for condition in of_processes {
            trace.processes().instances.iter().for_each(|process| _ = condition.patterns.matches(&process.label()));
        }
        let own = (!conditions.is_empty()).then(|| fault_set(trace, conditions)).transpose()?;
        let selected = own.as_ref().unwrap_or(all);
        let unknown = selected.hard.malformed;
        if unknown > 0 && budget.measure == Measure::FaultWait {
            let faults = counted(unknown, "hard fault has a begin", "hard faults have a begin");
            return Err(format!("{faults} that cannot be true: the wait is not known"));
        }
        let amount = |figures: &HardFigures| match budget.measure {
            Measure::FaultWait => figures.waited_ns,
            _ => figures.events,
        };
        let row = |(labels, figures): &(Vec<Label>, HardFigures)| Row {
            labels: labels.iter().map(|label| label.to_string()).collect(),
            pages: i64::try_from(amount(figures)).unwrap_or(i64::MAX),
        };
        Ok(Value {
            pages: amount(&selected.hard),
            total: amount(&all.hard),
            dimensions: selected.dimensions.iter().map(|dimension| dimension.name().to_owned()).collect(),
            rows: selected.hard_rows.iter().map(row).collect(),
            ..Value::default()
        })
    }
}

fn fault_set(trace: &Trace, conditions: &[Condition<Dimension>]) -> Result<FaultSet, String> {
    let query = FaultQuery {
        group_by: vec![Dimension::Process, Dimension::File],
        conditions: conditions.to_vec(),
        ..FaultQuery::default()
    };
    FaultSet::answer(trace, &query).map_err(|error| error.brief())
}
