//! Marks by which the user named the ends of a window, and which occur several times: a loop sets one in each round.

use crate::model::window::{Bound, TextMark};
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::trust::warning::Warning;
use crate::units::Ticks;

/// Times that are named at most.
const MOST_TIMES: usize = 5;

/// Which of several marks an end of the window is, where its text is that of more than one. `begin`: of the window.
pub fn marks_repeated(
    analysis: &'static str,
    trace: &Trace,
    (from, to): (Option<&Bound>, Option<&Bound>),
    begin: Ticks,
) -> Option<Warning> {
    let marks = &trace.system().marks;
    let matching = |bound: Option<&Bound>, may_be: &dyn Fn(&TextMark) -> bool| -> Option<(String, Vec<Ticks>)> {
        let Some(Bound::Mark(name)) = bound else { return None };
        let patterns = Patterns::new(name);
        let found = marks.iter().filter(|mark| may_be(mark) && patterns.matches(&mark.value));
        Some((name.clone(), found.map(|mark| mark.moment.time).collect()))
    };
    let begins = matching(from, &|_| true).map(|found| ("begins", found));
    // The mark of the begin is not that of the end, also where both have one text.
    let ends = matching(to, &|mark| mark.moment.time > begin).map(|found| ("ends", found));
    let repeated: Vec<String> = begins
        .into_iter()
        .chain(ends)
        .filter(|(_, (_, times))| times.len() > 1)
        .map(|(does, (name, times))| {
            let listed: Vec<String> =
                times.iter().take(MOST_TIMES).map(|time| format!("{:.6} s", trace.time(*time).seconds())).collect();
            let more = times.len().saturating_sub(MOST_TIMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let count = times.len();
            format!(
                "{count} marks match \"{name}\" (at {}{more}): the window {does} with the first of them",
                listed.join(", ")
            )
        })
        .collect();
    let text = format!("{}; name another one by its time", repeated.join("; "));
    (!repeated.is_empty()).then(|| Warning::note(analysis, "marks_repeated", text))
}
