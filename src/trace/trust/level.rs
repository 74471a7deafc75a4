//! Whether to trust a trace, and for which analyses, in one line each.

use crate::trace::trust::readiness::{Readiness, ReadinessLevel};
use crate::trace::trust::trust_report::TrustReport;
use crate::units::counted;

/// Whether to trust a trace: its worst problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustLevel {
    /// No problem was found.
    Yes,
    /// It is whole, but there is this number of warnings.
    WithCare(usize),
    /// The session was never stopped, so the counters of lost events were never written.
    LossUnknown,
    /// Data was lost while it was recorded.
    Lost,
    /// Bytes of the file are damaged.
    Damaged,
    /// The log-file header and the records contradict each other.
    HeaderContradicts,
    /// Files of several recordings were put together.
    SeveralRecordings,
    /// The file is cut.
    Cut,
}

impl TrustLevel {
    /// Judges by what is known about a trace.
    pub fn of(report: &TrustReport) -> TrustLevel {
        match () {
            () if report.is_cut() => TrustLevel::Cut,
            () if report.several_recordings().is_some() => TrustLevel::SeveralRecordings,
            () if report.is_contradicted() => TrustLevel::HeaderContradicts,
            () if report.damaged > 0 => TrustLevel::Damaged,
            () if report.any() => TrustLevel::Lost,
            () if !report.counters_known() => TrustLevel::LossUnknown,
            () => match report.warnings().len() {
                0 => TrustLevel::Yes,
                warnings => TrustLevel::WithCare(warnings),
            },
        }
    }

    /// Name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            TrustLevel::Yes => "yes",
            TrustLevel::WithCare(_) => "with_care",
            TrustLevel::LossUnknown => "loss_unknown",
            TrustLevel::Lost => "lost",
            TrustLevel::Damaged => "damaged",
            TrustLevel::HeaderContradicts => "header_contradicts",
            TrustLevel::SeveralRecordings => "several_recordings",
            TrustLevel::Cut => "cut",
        }
    }

    /// A sentence for people.
    pub fn text(self) -> String {
        match self {
            TrustLevel::Yes => "trust it; no loss, damage or cut was found".into(),
            TrustLevel::WithCare(warnings) => {
                format!("trust it with care; no loss was found, but there {}", there_are(warnings))
            }
            TrustLevel::LossUnknown => {
                "trust it with care; the session was never stopped, so what it lost is not known".into()
            }
            TrustLevel::Lost => "trust it in part; data was lost, and the warnings say what that concerns".into(),
            TrustLevel::Damaged => "trust it in part; the file is damaged, and what is damaged is not counted".into(),
            TrustLevel::HeaderContradicts => {
                "do not trust it; its header and its records contradict each other, and the warnings say where".into()
            }
            TrustLevel::SeveralRecordings => {
                "do not trust its totals; the file holds several recordings, take them apart".into()
            }
            TrustLevel::Cut => "do not trust its totals; the file is cut, copy it again".into(),
        }
    }
}

fn there_are(warnings: usize) -> String {
    let verb = if warnings == 1 { "is" } else { "are" };
    format!("{verb} {}", counted(warnings as u64, "warning", "warnings"))
}

/// `resident set; in part: memory utilization over time; not: CPU use`. Where none can run, events can still be listed.
pub(crate) fn good_for(analyses: &[Readiness]) -> String {
    let of = |level: ReadinessLevel| -> Vec<&str> {
        let some = analyses.iter().filter(|analysis| analysis.level == level);
        some.map(|analysis| analysis.title.split(" (").next().unwrap_or_default()).collect()
    };
    let is_any = analyses.iter().any(|analysis| analysis.level != ReadinessLevel::Missing);
    let ready = if is_any { of(ReadinessLevel::Ready) } else { vec!["lists of events"] };
    let parts = [("", ready), ("in part: ", of(ReadinessLevel::Partial)), ("not: ", of(ReadinessLevel::Missing))];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    parts.map(|(what, names)| format!("{what}{}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_doubt_is_told() {
        let mut report = TrustReport::default();
        assert_eq!(TrustLevel::of(&report), TrustLevel::LossUnknown);
        report.loss.counters_known = true;
        assert_eq!(TrustLevel::of(&report), TrustLevel::Yes);
        report.misfit_records = 1;
        assert_eq!(TrustLevel::of(&report).text(), "trust it with care; no loss was found, but there is 1 warning");
        report.loss.missing_buffers = 1;
        assert_eq!(TrustLevel::of(&report), TrustLevel::Lost);
        report.damaged = 1;
        assert_eq!(TrustLevel::of(&report), TrustLevel::Damaged);
        report.cut = Some((1, 2));
        assert_eq!(TrustLevel::of(&report).name(), "cut");
    }

    #[test]
    fn analyses_are_named_by_their_fitness() {
        let of = |title, level| Readiness { name: "", title, level, events: 1, missing: Vec::new(), note: None };
        let all = [
            of("a b (pfnset a)", ReadinessLevel::Ready),
            of("c", ReadinessLevel::Missing),
            of("d (pfnset d)", ReadinessLevel::Missing),
        ];
        assert_eq!(good_for(&all), "a b; not: c, d");
        assert_eq!(good_for(&all[1..2]), "lists of events; not: c");
    }
}
