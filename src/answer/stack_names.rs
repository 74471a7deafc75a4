//! Which frames of a result of stacks have names, and what is not known of its stacks.

use crate::analysis::stacks::{StackSet, SymbolUse};
use crate::answer::numbers::{self, percent_or_few};
use crate::answer::stack_scope;
use crate::symbols::{PdbId, PdbSearch};
use crate::units::counted;

/// `Frames: 128,232; 23.3 % in methods, 76.4 % in modules only, 0.3 % unknown`.
pub(super) fn named(set: &StackSet) -> String {
    let frames = &set.totals.frames;
    let kinds = [
        (frames.method, "in methods"),
        (frames.symbol, "in functions"),
        (frames.module, "in modules only"),
        (frames.unknown, "unknown"),
    ];
    let kinds: Vec<String> = (kinds.iter().filter(|(number, _)| *number > 0))
        .map(|(number, what)| format!("{} {what}", percent_or_few(*number, frames.total())))
        .collect();
    let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
    let of = if stack_scope::is_shortened(set) { " of whole stacks" } else { "" };
    format!("Frames{of}: {}; {kinds}", numbers::count(frames.total()))
}

/// `Without a name: ntdll.dll 12.1 % (no PDB, looked for ntdll.pdb 1B7C…2 in 3 folders), 4 more`: images, the largest first. Their
/// whole keys are in `pfnset symbols`. From the longest to the shortest form.
pub(super) fn without_names(set: &StackSet) -> Vec<String> {
    let all = set.totals.frames.total();
    let nameless: Vec<&SymbolUse> = set.symbols.iter().filter(|one| one.frames > one.named).collect();
    let Some(first) = nameless.first() else { return Vec::new() };
    let key = |pdb: &PdbId| {
        let key = pdb.key();
        let (guid, age) = key.split_at_checked(32).unwrap_or((&key, ""));
        format!("{} {}…{age}", pdb.name, guid.get(..4).unwrap_or(guid))
    };
    let reason = match (&first.pdb, &first.search) {
        (Some(_), Some(PdbSearch::Found(_))) => "its PDB has none there".to_owned(),
        (Some(pdb), Some(PdbSearch::NotFound { folders: 0 })) => format!("needs {}", key(pdb)),
        (Some(pdb), Some(PdbSearch::NotFound { folders })) => {
            let folders = counted(*folders as u64, "folder", "folders");
            format!("no PDB, looked for {} in {folders}", key(pdb))
        }
        _ => "the trace does not name its PDB".to_owned(),
    };
    let line =
        format!("Without a name: {} {} ({reason})", first.module, percent_or_few(first.frames - first.named, all));
    let more = match nameless.len() - 1 {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    vec![format!("{line}{more}: pfnset symbols"), format!("{line}{more}"), line]
}

/// What of this kind and of the whole trace is not known.
fn not_known(set: &StackSet) -> Vec<String> {
    let (totals, joined) = (&set.totals, &set.joined);
    let told = [
        (totals.weight_unknown, "length of # waits"),
        (totals.incomplete, "user frames of # stacks"),
        (joined.lost_user_parts, "# user parts of the trace"),
        (joined.unmatched, "events of # stacks"),
        (joined.unresolved_keys, "# keys"),
        (joined.duplicates, "# second stacks of events"),
        (set.counts.cut_frames, "# outer frames"),
    ];
    (told.iter().filter(|(number, _)| *number > 0))
        .map(|(number, what)| what.replace('#', &numbers::count(*number)))
        .collect()
}

/// `Not known: length of 58 waits, user frames of 7 stacks`.
pub(super) fn all_not_known(set: &StackSet) -> Option<String> {
    let told = not_known(set);
    (!told.is_empty()).then(|| format!("Not known: {}", told.join(", ")))
}

/// The same in one line: the first of these that has room, which names fewer the shorter it is.
pub(super) fn not_known_in_a_line(set: &StackSet) -> Vec<String> {
    let told = not_known(set);
    let line = |shown: usize| {
        let more = (told.len() > shown).then(|| format!("{} more (JSON)", told.len() - shown));
        let parts: Vec<&str> = told.iter().take(shown).map(String::as_str).chain(more.as_deref()).collect();
        format!("Not known: {}", parts.join(", "))
    };
    (1..=told.len()).rev().map(line).collect()
}
