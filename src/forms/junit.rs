//! Verdicts as JUnit XML: a suite for each trace, a case for each budget. A failed budget is a failure, an invalid one an error,
//! one that is optional and matches nothing is skipped. With `--strict`, a trace whose numbers can be wrong has one more case,
//! an error.

use crate::analysis::check::verdict::Verdict;
use crate::analysis::check::{BudgetResult, TraceResult};
use crate::answer::answer_type::Warnings;
use crate::answer::check::explained;
use crate::answer::numbers::Unit;
use crate::escape::visible;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// Name of the case of a trace that is doubtful.
const STRICT: &str = "--strict";

fn named(name: &str, class: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}

/// The case of a budget.
fn case_of(result: &BudgetResult, class: &str, unit: Unit) -> TestCase {
    let lines: Vec<String> = explained(result, unit).iter().map(|line| visible(line).into_owned()).collect();
    let not_passed = |kind| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(lines.first().cloned().unwrap_or_default());
        status.set_type(result.verdict.name());
        status.set_description(lines.join("\n"));
        status
    };
    let status = match result.verdict {
        Verdict::Pass | Verdict::Watch => TestCaseStatus::success(),
        Verdict::NoMatch if result.is_absent() => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(lines.first().cloned().unwrap_or_default());
            status
        }
        Verdict::Fail | Verdict::NoMatch => not_passed(NonSuccessKind::Failure),
        Verdict::Invalid => not_passed(NonSuccessKind::Error),
    };
    let mut case = named(&visible(&result.budget.name), class, status);
    let mut told = Vec::new();
    if result.verdict == Verdict::Watch {
        told.push(format!("watch: {}", lines.join("\n")));
    }
    // Where nothing matches, some are the reason, which the failure tells.
    let reason = result.fault.as_deref().filter(|_| result.verdict == Verdict::NoMatch).unwrap_or_default();
    let more = result.warnings.iter().filter(|line| !reason.contains(line.as_str()));
    told.extend(more.map(|line| warning(line)));
    if !told.is_empty() {
        case.set_system_out(told.join("\n"));
    }
    case
}

fn first_grave(warnings: &Warnings) -> Option<&str> {
    warnings.iter().find(|warning| warning.is_grave).map(|warning| warning.text.as_str())
}

fn warning(line: &str) -> String {
    format!("warning: {}", visible(line))
}

/// The document. `of_baseline`: what makes values of the baseline doubtful. `is_strict`: what makes numbers
/// wrong is an error.
///
/// # Errors
/// What the writer says.
pub fn document(traces: &[TraceResult], of_baseline: &Warnings, is_strict: bool, unit: Unit) -> Result<String, String> {
    let mut report = Report::new("pfnset check");
    for trace in traces {
        let name = visible(&trace.names()).into_owned();
        let mut suite = TestSuite::new(name.clone());
        suite.add_test_cases(trace.budgets.iter().map(|result| case_of(result, &name, unit)));
        let grave = || first_grave(&trace.warnings).or_else(|| first_grave(of_baseline));
        if let Some(warning) = is_strict.then(grave).flatten() {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(format!("numbers can be wrong: {}", visible(warning)));
            status.set_type("doubtful");
            suite.add_test_case(named(STRICT, &name, status));
        }
        let told: Vec<String> = trace.warnings.iter().chain(of_baseline).map(|of| warning(&of.text)).collect();
        if !told.is_empty() {
            suite.set_system_err(told.join("\n"));
        }
        report.add_test_suite(suite);
    }
    let skipped = format!(" skipped=\"{}\"", report.skipped);
    let text = report.to_string().map_err(|error| error.to_string())?;
    // The first is that of the whole report, which the usual schema does not know; those of suites it does.
    Ok(text.replacen(&skipped, "", 1))
}
