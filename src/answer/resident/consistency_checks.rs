//! The checks of a snapshot: in one line, in words with all numbers, as JSON.

use crate::analysis::resident::check_outcomes::Outcome;
use crate::analysis::resident::consistency_checks::Checks;
use crate::answer::numbers;
use crate::units::counted;
use serde_json::{Value, json};

/// What the checks found, in a line from the longest to the shortest form; those that fail are among the warnings too.
pub(super) fn in_short(checks: &Checks) -> Vec<String> {
    let outcomes = checks.outcomes();
    let names = |wanted: &dyn Fn(&Outcome) -> bool| -> Vec<&str> {
        outcomes.iter().filter(|outcome| wanted(outcome)).map(|outcome| outcome.check).collect()
    };
    let (failed, open) = (names(&|o| o.was_made && !o.warnings.is_empty()), names(&|o| !o.was_made));
    let made = (outcomes.len() - open.len()) as u64;
    let told = match failed.len() {
        0 => format!("{} passed", counted(made, "check", "checks")),
        some => format!("{some} of {} failed: {}", counted(made, "check", "checks"), failed.join(", ")),
    };
    const ROUNDED: &str = "each number is rounded by itself";
    let of_open = match open.len() {
        0 => [String::new(), String::new()],
        some => {
            let others = counted(some as u64, "other", "others");
            [format!("; no data for: {}", open.join(", ")), format!("; no data for {others}")]
        }
    };
    let [named, unnamed] = of_open.map(|open| told.clone() + &open);
    let with_note = format!("{named}; {ROUNDED}");
    vec![with_note, named, unnamed]
}

/// All checks with their numbers.
pub(super) fn in_full(c: &Checks) -> String {
    let beside = |count: Option<u64>, source: &str| match count {
        Some(count) => format!("{source} {}", numbers::count(count)),
        None => format!("no {source}"),
    };
    let temporary = c.slist_or_temp().filter(|&pages| pages > 0);
    let temporary = temporary.map_or_else(String::new, |pages| format!(", SLIST/Temp {}", numbers::count(pages)));
    let lists = match c.lists.len() {
        0 => "lists: no MemInfo".to_owned(),
        all => format!("lists: {} of {all} as MemInfo has them", c.lists_that_agree()),
    };
    format!(
        "Checks: PFNs 0x{:x} to 0x{:x}, {} missing in {}, {} twice; {lists}; bad pages {} ({}{temporary}); combined {} ({}); \
         PFN database {} ({})",
        c.pfns.0,
        c.pfns.1,
        numbers::count(c.missing_pfns),
        counted(c.gaps, "gap", "gaps"),
        numbers::count(c.duplicates),
        numbers::count(c.bad_list),
        beside(c.bad_meminfo, "MemInfo"),
        numbers::count(c.combined),
        beside(c.combined_mmstats, "MMStats"),
        numbers::count(c.pfn_database_counted),
        beside(c.pfn_database.map(|(_, pages)| pages), "KernelMemUsage"),
    )
}

/// As JSON.
pub(super) fn json(c: &Checks) -> Value {
    json!({
        "coverage": {
            "pages": c.pages,
            "first_pfn": c.pfns.0,
            "last_pfn": c.pfns.1,
            "missing_pfns": c.missing_pfns,
            "gaps": c.gaps,
            "duplicates": c.duplicates,
            "ram_pages": c.ram_pages,
            "lost_buffers": c.lost_buffers,
        },
        "bad_pages": { "list": c.bad_list, "meminfo": c.bad_meminfo, "slist_or_temp": c.slist_or_temp() },
        "combined_pages": { "counted": c.combined, "mmstats": c.combined_mmstats },
        "pfn_database": {
            "address": c.pfn_database.map(|(address, _)| format!("0x{address:x}")),
            "pages": c.pfn_database.map(|(_, pages)| pages),
            "counted": c.pfn_database_counted,
        },
        "lists": c.lists.iter().map(|list| json!({
            "list": list.what, "counted": list.counted, "meminfo": list.expected, "ok": list.is_fine(),
        })).collect::<Vec<_>>(),
        "contradictions": c.contradictions.count,
        "contradiction_examples": c.contradictions.examples,
        "owner_keys": { "reading": c.reading.name(), "active_private_pages": c.keyed.0, "unnamed": c.keyed.1 },
        "failures": c.failures().texts(),
    })
}
