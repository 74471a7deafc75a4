//! The top of the page: each trace in three sentences (what holds the memory, what is out of the ordinary, where to look next), and a
//! table of all where there are many.

use crate::analysis::check::TraceResult;
use crate::analysis::check::verdict::Verdict;
use crate::analysis::report::headline::{Finding, Headline, Held};
use crate::analysis::table::{Column, Label, Line, Table, Value};
use crate::answer::Units;
use crate::answer::numbers::{self, Unit};
use crate::escape::visible;
use crate::forms::html::tables;
use crate::forms::html::trace_page::TracePage;
use crate::units::PAGE_BYTES;
use maud::{Markup, html};

/// From so many traces on a table of all stands above them.
const MANY: usize = 3;

fn size(pages: u64) -> String {
    Unit::Auto.amount(pages.saturating_mul(PAGE_BYTES))
}

/// The top of the page; `verdicts`: of each trace the results of its budgets, if there are budgets.
pub fn headlines(traces: &[TracePage<'_>], verdicts: &[TraceResult]) -> Markup {
    html! {
        section #headline {
            @if traces.len() >= MANY { (overview(traces, verdicts)) }
            @for (number, trace) in traces.iter().enumerate() {
                @let found = Headline::of(trace.overview);
                @let verdict = verdicts.get(number);
                div.headline id=(place(number)) {
                    @if traces.len() > 1 { h2 { a href={ "#" (data_place(number)) } { (trace.name) } } }
                    p { (visible(&held(trace, &found))) }
                    p { (visible(&findings(&found, verdict))) }
                    p { "Next: " code { (visible(&next(trace, &found))) } }
                }
            }
        }
    }
}

/// Where the sentences of a trace are.
fn place(number: usize) -> String {
    format!("trace-{}", number + 1)
}

/// Where it stands what a trace is.
pub fn data_place(number: usize) -> String {
    format!("data-{}", number + 1)
}

/// What holds the memory.
fn held(trace: &TracePage<'_>, headline: &Headline<'_>) -> String {
    let Some(Held { memory, classes, largest }) = &headline.held else {
        let touched = trace.overview.reference.as_ref().ok();
        let peak = touched.map(|found| found.set.peak.0);
        return match peak {
            Some(pages) => format!("What RAM held was not recorded; the scenario held {} at its peak.", size(pages)),
            None => "What RAM held was not recorded.".to_owned(),
        };
    };
    let parts: Vec<String> =
        classes.iter().map(|(class, pages)| format!("{} {}", class.name(), size(*pages))).collect();
    let largest = match largest {
        Some((process, pages)) => {
            format!(" The process with most of its own is {}: {}.", process.shown(), size(*pages))
        }
        None => String::new(),
    };
    format!(
        "Of {} of memory {} are in use. By class, on all lists (also standby and modified): {}.{largest}",
        size(memory.all),
        size(memory.in_use),
        parts.join(", ")
    )
}

/// What is out of the ordinary, and which budgets are broken.
fn findings(headline: &Headline<'_>, verdict: Option<&TraceResult>) -> String {
    let text = |finding: &Finding<'_>| match finding {
        Finding::Doubtful => "numbers may be wrong (the reasons stand below)".to_owned(),
        Finding::LittleAvailable(pages) => format!("only {} are available (standby, free, zero)", size(*pages)),
        Finding::MuchModified(pages) => format!(
            "{} are on the modified lists: they must be written before they can be used for something else",
            size(*pages)
        ),
        Finding::LargeProcess(process, pages) => {
            format!("{} owns {}, more than a third of what is in use", process.shown(), size(*pages))
        }
        Finding::LargeKernel(pages) => format!("the kernel has {}, more than a third of memory", size(*pages)),
    };
    let found: Vec<String> = headline.findings.iter().map(text).collect();
    let of_memory = match (found.as_slice(), &headline.held) {
        ([], Some(_)) => {
            "Nothing is out of the ordinary: memory is available, and neither a process nor the kernel has an unusual part."
        }
        ([], None) => "Nothing is known to be out of the ordinary.",
        (found, _) => &format!("Out of the ordinary: {}.", found.join("; ")),
    };
    match verdict {
        Some(verdict) => format!("{of_memory} {}", budgets(verdict)),
        None => of_memory.to_owned(),
    }
}

/// `2 of 5 budgets are not met: Files (fail), Kernel (no match).`
fn budgets(result: &TraceResult) -> String {
    let is_broken = |verdict: Verdict| !matches!(verdict, Verdict::Pass | Verdict::Watch);
    let broken: Vec<String> = (result.budgets.iter())
        .filter(|budget| is_broken(budget.verdict) && !budget.is_absent())
        .map(|budget| format!("{} ({})", budget.budget.name, budget.verdict.name()))
        .collect();
    let unjudged = result.budgets.iter().filter(|budget| budget.is_unjudged()).count();
    let judged = result.budgets.len().saturating_sub(unjudged);
    let all = numbers::count(judged as u64);
    let told = match broken.len() {
        0 if judged == 0 => "No budget is judged.".to_owned(),
        0 if unjudged > 0 => format!("All {all} budgets that are judged are met."),
        0 => format!("All {all} budgets are met."),
        some => format!("{} of {all} budgets are not met: {}.", numbers::count(some as u64), broken.join(", ")),
    };
    match result.has_growth_unjudged() {
        true => format!("{told} Growth is not judged here, because the other traces are compared with this one."),
        false => told,
    }
}

/// True for a text that means nothing but itself to a shell and in a pattern, in double quotes.
fn is_plain(text: &str, more: &[char]) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || c == ' ' || "._-()".contains(c) || more.contains(&c))
}

/// A path in a command line. One with characters that a shell may understand otherwise is not written: the name of a file is
/// text from outside, and the reader is told to run the command.
fn argument(path: &str) -> String {
    match is_plain(path, &['/', '\\', ':']) && !path.starts_with('-') && !path.ends_with('\\') {
        true if path.contains([' ', '(', ')', '\\']) => format!("\"{path}\""),
        true => path.to_owned(),
        false => "TRACE".to_owned(),
    }
}

/// The condition for a process: by its number where its name could be understood otherwise.
fn process_condition(process: &Label) -> String {
    match process.process_id() {
        _ if is_plain(process.shown(), &[]) => format!("process={}", process.shown()),
        Some(id) => format!("process={id}"),
        None => "process=NAME".to_owned(),
    }
}

/// The files of a recording in a command line.
fn arguments(files: &[String]) -> String {
    files.iter().map(|path| argument(path)).collect::<Vec<_>>().join(" ")
}

/// Where to look next: a command line.
fn next(trace: &TracePage<'_>, headline: &Headline<'_>) -> String {
    let path = arguments(&trace.files);
    match (headline.findings.first(), &headline.held) {
        (None, None) if trace.overview.allocations.is_ok() => format!("pfnset allocations {path}"),
        (None, None) if trace.overview.faults.is_ok() => format!("pfnset faults {path}"),
        (Some(Finding::Doubtful), _) | (None, None) => format!("pfnset info {path}"),
        (Some(Finding::LittleAvailable(_)), _) if trace.overview.memory.is_ok() => {
            format!("pfnset memory {path} --group-by process")
        }
        (Some(Finding::MuchModified(_)), _) => {
            format!("pfnset resident {path} --where \"list=Modified*\" --group-by process,category --top 5")
        }
        (Some(Finding::LargeProcess(process, _)), _) => {
            format!(
                "pfnset resident {path} --where \"{}\" --group-by category,detail --top 5",
                process_condition(process)
            )
        }
        (Some(Finding::LargeKernel(_)), _) => {
            format!("pfnset resident {path} --where class=Kernel --group-by category,detail --top 5")
        }
        (Some(Finding::LittleAvailable(_)) | None, _) => {
            format!("pfnset resident {path} --group-by process,category --top 5")
        }
    }
}

/// All traces, a row for each.
fn overview(traces: &[TracePage<'_>], verdicts: &[TraceResult]) -> Markup {
    let line = |(number, trace): (usize, &TracePage<'_>)| {
        let found = Headline::of(trace.overview);
        let held = found.held.as_ref();
        let amount = |of: &dyn Fn(&Held<'_>) -> u64| {
            Value::maybe(held, |held| Value::pages(i64::try_from(of(held)).unwrap_or(i64::MAX)))
        };
        let largest = held.and_then(|held| held.largest);
        let trust = match () {
            () if trace.overview.warnings.is_doubtful() => "doubtful",
            () if !trace.overview.checks_passed() => "with care",
            () if !trace.overview.has_checks() => "not checked",
            () => "sound",
        };
        let head = [Value::text(&trace.name), Value::text(trust)];
        let verdict = verdicts.get(number).map(|result| Value::text(result.verdict.name()));
        let memory = [
            amount(&|held| held.memory.all),
            amount(&|held| held.memory.in_use),
            amount(&|held| held.memory.modified),
            amount(&|held| held.available()),
            Value::maybe(largest, |(process, _)| Value::text(process.shown())),
            Value::maybe(largest, |(_, pages)| Value::pages(i64::try_from(pages).unwrap_or(i64::MAX))),
        ];
        Line::new(head.into_iter().chain(verdict).chain(memory))
    };
    let numbers = ["Memory", "In use", "Modified", "Available"].map(Column::number);
    let columns = [Column::text("Trace"), Column::text("Data")]
        .into_iter()
        .chain((!verdicts.is_empty()).then(|| Column::text("Budgets")))
        .chain(numbers)
        .chain([Column::text("Largest process"), Column::number("Its own pages")]);
    let table =
        Table { columns: columns.collect(), lines: traces.iter().enumerate().map(line).collect(), ..Table::default() };
    let links: Vec<String> = (0..traces.len()).map(place).collect();
    html! { div.all { (tables::linked("All traces", &table, Units::default(), &links)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_trace_cannot_be_a_command() {
        for (path, shown) in [
            ("traces/a-1.etl", "traces/a-1.etl"),
            ("my traces/a (2).etl", "\"my traces/a (2).etl\""),
            (r"C:\runs\a.etl", r#""C:\runs\a.etl""#),
            ("größe.etl", "größe.etl"),
            ("a\" & calc & \".etl", "TRACE"),
            ("$(calc).etl", "TRACE"),
            ("`calc`.etl", "TRACE"),
            ("a;b.etl", "TRACE"),
            ("%TEMP%.etl", "TRACE"),
            ("-o.etl", "TRACE"),
            ("a…b.etl", "TRACE"),
            ("runs\\", "TRACE"),
        ] {
            assert_eq!(argument(path), shown, "{path}");
        }
        for (name, id, shown) in [
            ("a.exe", 4, "process=a.exe (4)"),
            ("x\" & calc & \".exe", 12, "process=12"),
            ("a;b.exe", 7, "process=7"),
            ("!x.exe", 8, "process=8"),
        ] {
            assert_eq!(process_condition(&Label::process(name, id)), shown, "{name}");
        }
        assert_eq!(process_condition(&Label::name("*.exe (8; y)")), "process=NAME");
    }
}
