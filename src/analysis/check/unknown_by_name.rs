//! What can be of a value though no record says so, in rows that were read from a file.

use super::budget::Conditions;
use super::measured_value::UnknownAmount;
use super::unknown_owners::{Unknown, of_unknown};
use crate::dimensions::{Condition, Dimension};
use crate::pattern::Patterns;

/// Conditions on what is not known, by the names of their dimensions.
pub(super) struct UnknownByName {
    /// All must hold.
    pub conditions: Vec<(&'static str, Patterns)>,
    /// What it is an amount of; the amount is 0.
    pub amount: UnknownAmount,
}

/// As [`of_unknown`], of conditions of any analysis.
pub(super) fn of_unknown_by_name(conditions: &Conditions) -> Vec<UnknownByName> {
    match conditions {
        Conditions::Resident(all) => by_name(all),
        Conditions::Reference(all) => by_name(all),
        Conditions::Faults(all) => by_name(all),
        Conditions::Cpu(all) => by_name(all),
        Conditions::Allocations(all) => by_name(all),
    }
}

fn by_name<D: Dimension>(conditions: &[Condition<D>]) -> Vec<UnknownByName> {
    let named = |of: Condition<D>| (of.dimension.name(), of.patterns);
    let of_each = |of: Unknown<D>| UnknownByName {
        amount: of.amount(0),
        conditions: of.conditions.into_iter().map(named).collect(),
    };
    of_unknown(conditions).into_iter().map(of_each).collect()
}
