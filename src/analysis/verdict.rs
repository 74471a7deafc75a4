//! Whether a trace is to be trusted, and for what, in one line each.

use crate::analysis::readiness::{Fitness, Readiness};
use crate::analysis::trust::TrustReport;
use crate::units::counted;

/// Whether a trace is to be trusted: the gravest doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Nothing speaks against it.
    Yes,
    /// It is whole, and there are so many warnings.
    WithCare(usize),
    /// The session was never stopped, so the counters of lost events were never written.
    LossUnknown,
    /// Data was lost while it was recorded.
    Lost,
    /// Bytes of the file are damaged.
    Damaged,
    /// The file is cut.
    Cut,
}

impl Trust {
    /// Of what is known of a trace.
    pub fn of(report: &TrustReport) -> Trust {
        match () {
            () if report.is_cut() => Trust::Cut,
            () if report.damaged > 0 => Trust::Damaged,
            () if report.any() => Trust::Lost,
            () if !report.counters_known() => Trust::LossUnknown,
            () => match report.warnings().len() {
                0 => Trust::Yes,
                warnings => Trust::WithCare(warnings),
            },
        }
    }

    /// Name for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Yes => "yes",
            Trust::WithCare(_) => "with_care",
            Trust::LossUnknown => "loss_unknown",
            Trust::Lost => "lost",
            Trust::Damaged => "damaged",
            Trust::Cut => "cut",
        }
    }

    /// A sentence for people.
    pub fn text(self) -> String {
        match self {
            Trust::Yes => "trust it; nothing is lost, damaged or cut; tables have their own checks".into(),
            Trust::WithCare(warnings) => {
                format!("trust it with care; nothing is lost, but there {}", there_are(warnings))
            }
            Trust::LossUnknown => {
                "trust it with care; the session was never stopped, so what it lost is not known".into()
            }
            Trust::Lost => "trust it in part; data was lost, and the warnings say what that concerns".into(),
            Trust::Damaged => "trust it in part; the file is damaged, and what is damaged is not counted".into(),
            Trust::Cut => "do not trust its totals; the file is cut, copy it again".into(),
        }
    }
}

fn there_are(warnings: usize) -> String {
    let verb = if warnings == 1 { "is" } else { "are" };
    format!("{verb} {}", counted(warnings as u64, "warning", "warnings"))
}

/// `resident set; in part: memory utilization over time; not: CPU use`. Where none can run, events can still be listed.
pub fn good_for(analyses: &[Readiness]) -> String {
    let of = |verdict: Fitness| -> Vec<&str> {
        let some = analyses.iter().filter(|analysis| analysis.verdict == verdict);
        some.map(|analysis| analysis.title.split(" (").next().unwrap_or_default()).collect()
    };
    let is_any = analyses.iter().any(|analysis| analysis.verdict != Fitness::Missing);
    let ready = if is_any { of(Fitness::Ready) } else { vec!["lists of events"] };
    let parts = [("", ready), ("in part: ", of(Fitness::Partial)), ("not: ", of(Fitness::Missing))];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    parts.map(|(what, names)| format!("{what}{}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_doubt_is_told() {
        let mut report = TrustReport::default();
        assert_eq!(Trust::of(&report), Trust::LossUnknown);
        report.loss.counters_known = true;
        assert_eq!(Trust::of(&report), Trust::Yes);
        report.misfit_records = 1;
        assert_eq!(Trust::of(&report).text(), "trust it with care; nothing is lost, but there is 1 warning");
        report.loss.missing_buffers = 1;
        assert_eq!(Trust::of(&report), Trust::Lost);
        report.damaged = 1;
        assert_eq!(Trust::of(&report), Trust::Damaged);
        report.cut = Some((1, 2));
        assert_eq!(Trust::of(&report).name(), "cut");
    }

    #[test]
    fn analyses_are_named_by_their_fitness() {
        let of = |title, verdict| Readiness { name: "", title, verdict, events: 1, missing: Vec::new() };
        let all =
            [of("a b (pfnset a)", Fitness::Ready), of("c", Fitness::Missing), of("d (pfnset d)", Fitness::Missing)];
        assert_eq!(good_for(&all), "a b; not: c, d");
        assert_eq!(good_for(&all[1..2]), "lists of events; not: c");
    }
}
