//! Dimensions that rows or conditions ask for, and whose labels the trace does not tell.

use crate::load::history::SystemHistory;
use crate::trace::trust::warning::Warning;

/// Code of what is said where rows or conditions ask for a dimension whose labels the trace does not tell.
pub(crate) const LABELS_UNKNOWN: &str = "labels_unknown";

/// That nothing lists which services processes run, where rows or conditions ask for them.
pub(crate) fn services_unknown(system: &SystemHistory, analysis: &'static str, is_asked: bool) -> Option<Warning> {
    (is_asked && system.services.is_empty()).then(|| {
        let text = "the trace lists no services (SystemConfig: Services): those of a process are known by its command line alone \
                    (svchost.exe … -s NAME), and Unknown without";
        Warning::note(analysis, LABELS_UNKNOWN, text.to_owned())
    })
}
