//! What casts doubt on a reference set.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::Verification;
use crate::model::window::Origin;
use crate::trace::Trace;
use crate::trace::analysis_needs::REFERENCE_SET;
use crate::trace::readiness::Need;
use crate::trace::trust::TrustReport;
use crate::units::count;

impl ReferenceSet {
    /// What casts doubt on the trace, on the account, and what was not recorded.
    pub(super) fn add_warnings(&mut self, trace: &Trace, max_residue: f64) {
        let trust = trace.trust();
        self.doubtful = trust.any();
        self.missing = trace.missing(&REFERENCE_SET);
        self.warnings = trust.warnings();
        self.warnings.extend(self.doubts(trust, max_residue));
        let is_told = |need: &&Need| ["WorkingSet", "Memory"].contains(&need.keyword);
        let costs: Vec<Need> = self.missing.iter().filter(|need| !is_told(need)).copied().collect();
        self.warnings.extend(trust.not_there(&costs));
    }

    /// What casts doubt on the account itself.
    fn doubts(&self, trust: &TrustReport, max_residue: f64) -> Vec<String> {
        let mut lines = Vec::new();
        if self.window.origin == Origin::WholeTrace {
            lines.push("the trace has no marks of a scenario: the window is the whole trace".to_owned());
        }
        if !self.has_removals {
            let fate = match trust.absence_reason("WorkingSet").is_incomplete() {
                true => "are not in the part of the trace that is left",
                false => "were not recorded",
            };
            lines.push(format!(
                "trims {fate} (keyword WorkingSet, RemoveFromWS events): trimmed pages look as if still held"
            ));
        }
        if self.verification.is_none() {
            let fate = match trust.absence_reason("Memory").is_incomplete() {
                true => "the page sequence after the scenario is in the part of the trace that is missing",
                false => "there is no page sequence after the scenario",
            };
            lines.push(format!("{fate}: nothing proves the result"));
        }
        if self.balance.unattributed > 0 {
            lines.push(format!(
                "{} accesses could not be attributed: they name no process, or one that never started",
                count(self.balance.unattributed)
            ));
        }
        let residue = self.verification.as_ref().map_or(0.0, Verification::residue);
        let nothing_matches = self.verification.as_ref().is_some_and(Verification::is_hopeless);
        if nothing_matches {
            lines.push("no page of the final page sequence matches what is tracked: nothing proves the result".into());
        } else if residue > max_residue {
            lines.push(format!(
                "the account differs from the final page sequence by {:.2} % of the pages that match: something was not \
                 recorded (pfnset refset --verify shows what differs)",
                residue * 100.0
            ));
        }
        lines.extend(self.mem_info_ws.as_ref().filter(|sets| sets.residue > max_residue).map(|sets| {
            format!(
                "what is tracked differs from the working sets that Windows logged by {:.2} % of their pages: {}. The \
                 largest differences: pfnset refset --format json, working_sets",
                sets.residue * 100.0,
                self.reason_of_difference(trust)
            )
        }));
        lines
    }

    /// Why working sets can differ from those that Windows logged.
    fn reason_of_difference(&self, trust: &TrustReport) -> &'static str {
        match () {
            () if trust.any() => "data was lost or is damaged",
            () if !self.window.resets.iter().any(|&reset| reset <= self.window.from) => {
                "the working sets were not emptied before the window, so what was held before is unknown"
            }
            () if !self.has_removals => "trims were not recorded, so trimmed pages look as if still held",
            () => "something was not recorded",
        }
    }
}
