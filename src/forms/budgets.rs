//! A first budgets file as text.

use crate::analysis::check::budget::{Analysis, MeasureUnit};
use crate::analysis::check::suggested_budgets::{Suggested, Suggestion};
use crate::answer::numbers::Unit;
use crate::escape::{is_hidden, visible};
use crate::units::{PAGE_BYTES, counted};
use std::io::{self, Write};
use std::path::Path;

/// What stands above the budgets, `#` before each line.
const HEAD: &str = "\
Each budget: what is measured, and within which limits it must be.
  analysis = \"resident\" (default): pages of RAM at the last whole snapshot
  analysis = \"refset\": measure held_at_stop (default), peak, accessed or reaccesses
  analysis = \"faults\": measure hard_faults (default; max = \"200\") or fault_wait_ms
  analysis = \"cpu\": measure cpu_ms (default), waiting_ms or ready_ms
  analysis = \"commit\", \"pool\" or \"heap\": measure outstanding (default), peak or growth_per_minute
  where: dimension = \"patterns\", as in --where of the analysis
  max, min: \"300 MiB\", \"1000 pages\" or \"5 %\" of all pages
  max_growth: \"10 MiB\" or \"2 %\", against --baseline FILE
  watch = \"90 %\" (default): the part of a limit from which the verdict is watch
  optional = true: where may match nothing; else that is no match, as a failure
Limits here are the values of the trace plus a tenth, rounded up. Keep the budgets that matter to you.
Then: pfnset check TRACE --budgets FILE ends with code 0 when all are met, 1 when one is not.";

/// A text in quotation marks. Hidden characters are written as numbers, so that a reader gets them back.
fn quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            c if !is_hidden(c) => shown.push(c),
            c if c.len_utf16() > 1 => shown.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    shown + "\""
}

/// What the trace has, for a comment.
fn now(suggestion: &Suggestion) -> String {
    let amount = suggestion.value;
    match suggestion.measure.unit() {
        MeasureUnit::Faults => counted(amount, "fault", "faults"),
        MeasureUnit::Time => format!("{:.3} ms", amount as f64 / 1e6),
        MeasureUnit::Bytes => Unit::Auto.amount(amount),
        MeasureUnit::Pages => {
            let size = Unit::Auto.amount(amount.saturating_mul(PAGE_BYTES));
            format!("{size}, {}", counted(amount, "page", "pages"))
        }
    }
}

/// What no budgets were made of, and why.
pub fn missing(suggested: &Suggested) -> Vec<String> {
    let line = |(analysis, reason): &(Analysis, String)| {
        let what = match analysis {
            Analysis::Resident => "what RAM held".to_owned(),
            Analysis::Reference => "what was touched (analysis = \"refset\")".to_owned(),
            Analysis::Faults if suggested.budgets.iter().any(|budget| budget.analysis == Analysis::Faults) => {
                "the waits of hard faults (measure = \"fault_wait_ms\")".to_owned()
            }
            Analysis::Faults => "hard faults or their waits (analysis = \"faults\")".to_owned(),
            Analysis::Cpu => "processor time (analysis = \"cpu\")".to_owned(),
            // Where it is not known how much there is, budgets of growth are made.
            Analysis::Allocations(kind) if suggested.budgets.iter().any(|budget| budget.analysis == *analysis) => {
                format!("how much {0} there is (analysis = \"{0}\", measure = \"outstanding\")", kind.name())
            }
            Analysis::Allocations(kind) => format!("{0} (analysis = \"{0}\")", kind.name()),
        };
        format!("No budgets of {what}: {reason}")
    };
    let unwritten = suggested.unwritten.iter().map(|name| {
        format!("No budget of \"{name}\": in a pattern * ? ; ! = and \\ mean something else; write ? in place of each of them")
    });
    suggested.without.iter().map(line).chain(unwritten).chain(suggested.unknown.iter().cloned()).collect()
}

/// Writes the file.
///
/// # Errors
/// What the writer says.
pub fn write(out: &mut dyn Write, trace: &Path, suggested: &Suggested) -> io::Result<()> {
    writeln!(out, "# Budgets made of {}.", visible(&trace.display().to_string()))?;
    HEAD.lines().try_for_each(|line| writeln!(out, "# {line}"))?;
    let warnings = suggested.grave.iter().map(|warning| format!("The limits may be wrong: {}", warning.text));
    let moved = suggested.moved.iter().map(|text| format!("Limits fit recordings with the same keywords only: {text}"));
    warnings.chain(moved).chain(missing(suggested)).try_for_each(|line| writeln!(out, "# {}", visible(&line)))?;
    for suggestion in &suggested.budgets {
        let now = now(suggestion);
        writeln!(out, "\n[[budget]]\nname = {}", quoted(&suggestion.name))?;
        if suggestion.analysis != Analysis::Resident {
            let (analysis, measure) = (suggestion.analysis.name(), suggestion.measure.name());
            writeln!(out, "analysis = {}\nmeasure = {}", quoted(analysis), quoted(measure))?;
        }
        if let Some((dimension, patterns)) = &suggestion.condition {
            writeln!(out, "where = {{ {dimension} = {} }}", quoted(patterns))?;
        }
        writeln!(out, "max = {}  # now {now}\nwatch = \"95 %\"", quoted(&suggestion.max))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let name = "a\u{7f}\u{1b}\u{202e}\u{e0041}\n\t\"\\é.exe";
        let text = quoted(name);
        assert!(!text.contains(is_hidden), "{text}");
        let read: toml::Table = toml::from_str(&format!("x = {text}")).unwrap();
        assert_eq!(read["x"].as_str(), Some(name));
    }
}
