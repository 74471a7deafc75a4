//! A comparison by code needs stacks: without them all is in one row, whatever ran, and two such rows agree in nothing but their sums.

use crate::analysis::diff::comparison::{Amounts, ComparedRow};
use crate::analysis::diff::query::SIDES;
use crate::analysis::stacks::NO_STACK_TEXT;
use crate::dimensions::single_dimensions::{FREE_FUNCTION, FREE_STACK, FUNCTION, MODULE, STACK};
use crate::dimensions::{Condition, Dimension, NO_LABEL};
use crate::error::{Error, Missing};
use crate::trace::trust::warning::Warnings;

/// Refuses rows and conditions by code where no side has a stack of what is compared. `warnings`: those of both sides.
///
/// # Errors
/// [`Error::MissingEvents`].
pub(super) fn need_stacks<A: Amounts, D: Dimension>(
    rows: &[ComparedRow<A>],
    (dimensions, conditions): (&[D], &[Condition<D>]),
    warnings: &Warnings,
) -> Result<(), Error> {
    let is_of_code =
        |of: D| [FUNCTION, MODULE, STACK, FREE_FUNCTION, FREE_STACK].iter().any(|code| code.name == of.name());
    let places = || dimensions.iter().enumerate().filter(|(_, of)| is_of_code(**of)).map(|(place, _)| place);
    let mut told = rows.iter().flat_map(|row| places().filter_map(|place| row.labels.get(place)));
    let mut lacking = false;
    let names_nothing = told.all(|label| {
        lacking |= label.as_str() == NO_STACK_TEXT;
        [NO_STACK_TEXT, NO_LABEL].contains(&label.as_str())
    });
    let asks = places().next().is_some() || conditions.iter().any(|condition| is_of_code(condition.dimension));
    let mut reasons = warnings.iter().filter(|warning| asks && warning.is_of(&["no_stacks"])).map(|of| &of.text);
    let has_none = reasons.clone().count() >= SIDES.len();
    if !(has_none || lacking && names_nothing) {
        return Ok(());
    }
    let reason = reasons.next().map(|reason| format!("{reason}. ")).unwrap_or_default();
    Err(Error::MissingEvents(Missing {
        what: "neither side has a stack of what is compared, so no function and no module of it is known".to_owned(),
        advice: Some(format!("{reason}Grouped by process it can be compared")),
    }))
}
