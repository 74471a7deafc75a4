//! Budgets by services, of a trace that lists none.

use super::budget::Conditions;
use super::unknown_owners::is_of_none;
use crate::dimensions::{Dimension as _, ProcessFacet};
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::trust::untold_labels::services_unknown;
use crate::trace::trust::warning::OF_TRACE;

/// Why conditions on services choose nobody knows what: where the trace lists none, a service is known by command lines alone.
pub(super) fn unknown_services(trace: &Trace, conditions: &Conditions) -> Option<String> {
    let unknown = services_unknown(trace.system(), OF_TRACE, is_by_service(conditions))?;
    Some(format!("the value cannot be known: {}", unknown.text))
}

/// True for conditions on services, but for those on what belongs to none.
pub(super) fn is_by_service(conditions: &Conditions) -> bool {
    let is_asked =
        |(name, patterns): (&str, &Patterns)| name == ProcessFacet::Service.name() && !patterns.all().all(is_of_none);
    conditions.by_name().into_iter().any(is_asked)
}
