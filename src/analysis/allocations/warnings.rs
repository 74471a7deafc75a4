//! What makes the numbers doubtful.

use super::replay::Replayed;
use crate::trace::readiness::Need;
use crate::trace::trust::TrustReport;
use crate::units::{count, counted};

/// One line each, most important first.
pub fn warnings(trust: &TrustReport, missing: &[Need], replayed: &Replayed, lacks_stacks: bool) -> Vec<String> {
    let mut lines = trust.warnings();
    let number =
        |name: &str| replayed.records.iter().find(|(found, _)| *found == name).map_or(0, |(_, number)| *number);
    if lacks_stacks {
        lines.push("no record has a stack: rows by function and stack have one label".into());
    }
    let told: [(&str, &str, &str); 4] = [
        ("malformed", "impossible record", "impossible records"),
        ("no_process", "record of no known process", "records of no known process"),
        (
            "unknown_size",
            "free of a whole reservation that is not known",
            "frees of whole reservations that are not known",
        ),
        ("unknown_frees", "free of a block from before the trace", "frees of blocks from before the trace"),
    ];
    let told = told.iter().filter(|(name, ..)| number(name) > 0);
    let told: Vec<String> = told.map(|(name, one, many)| counted(number(name), one, many)).collect();
    if !told.is_empty() {
        lines.push(format!("left out: {}", told.join(", ")));
    }
    let estimated = number("estimated_bytes");
    if estimated > 0 {
        lines.push(format!(
            "estimated: {} bytes were freed in regions of which only the sum was known",
            count(estimated)
        ));
    }
    lines.extend(trust.not_there(missing));
    lines
}
