//! What the page's script draws, as JSON: the numbers of the overview in few characters.

use crate::analysis::report::allocations::{AllocationOverview, KindOverview};
use crate::analysis::report::cpu::CpuOverview;
use crate::analysis::report::differences::{Change, Differences};
use crate::analysis::report::faults::FaultOverview;
use crate::analysis::report::memory::MemoryOverview;
use crate::analysis::report::pfn_map::PfnMap;
use crate::analysis::report::reclassifications::Reclassification;
use crate::analysis::report::refset::RefsetOverview;
use crate::analysis::report::resident::ResidentOverview;
use crate::analysis::report::stack_differences::{Lacking, StackDifferences};
use crate::analysis::report::treemap::{Level, Tile};
use crate::event::page_identity::PageList;
use crate::forms::html::label::label;
use crate::forms::html::trace_page::TracePage;
use crate::forms::html::{stack_differences, stacks};
use crate::model::category::{Category, Class};
use crate::units::Nanos;
use serde_json::{Map, Value, json};

/// Everything that is drawn.
pub fn data(
    traces: &[TracePage<'_>],
    differences: &[&Differences],
    stacks: &[Result<StackDifferences, Lacking>],
) -> Value {
    json!({
        "categories": Category::ALL.map(|category| json!([category.name(), category.class() as usize])),
        "classes": Class::ALL.map(Class::name),
        "lists": PageList::ALL.map(PageList::name),
        "traces": traces.iter().map(trace).collect::<Vec<_>>(),
        "differences": differences.iter().map(|found| difference(found)).collect::<Vec<_>>(),
        "stackDifferences": stacks.iter().map(|found| found.as_ref().ok().map(stack_differences::data)).collect::<Vec<_>>(),
    })
}

/// JSON that can stand in an HTML element: no character of it begins a tag or ends a line of a script.
pub fn in_html(value: &Value) -> String {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}

fn trace(page: &TracePage<'_>) -> Value {
    let overview = page.overview;
    let marks = overview.marks.iter();
    json!({
        "name": page.name,
        "marks": marks.map(|(time, text)| json!([seconds(*time), label(text)])).collect::<Vec<_>>(),
        "resident": overview.resident.as_ref().ok().map(resident),
        "reference": overview.reference.as_ref().ok().map(reference),
        "memory": overview.memory.as_ref().ok().map(memory),
        "cpu": overview.cpu.as_ref().ok().map(cpu),
        "faults": overview.faults.as_ref().ok().map(faults),
        "allocations": overview.allocations.as_ref().ok().map(allocations),
        "stacks": overview.stacks.as_ref().ok().map(stacks::data),
    })
}

fn resident(part: &ResidentOverview) -> Value {
    let flow = |flow: &Reclassification| {
        let reasons: Vec<Value> = flow.reasons.iter().map(|reason| json!([reason.pages, reason.text()])).collect();
        json!({ "from": flow.from as usize, "to": flow.to as usize, "pages": flow.pages, "reasons": reasons })
    };
    json!({
        "pages": part.treemap.pages,
        "classes": part.by_class().iter().map(|(_, pages, wpa)| json!([pages, wpa])).collect::<Vec<_>>(),
        "byCategory": part.by_category().iter().map(|(_, pages, wpa)| json!([pages, wpa])).collect::<Vec<_>>(),
        "tiles": tile(&part.treemap),
        "flows": part.reclassifications.iter().map(flow).collect::<Vec<_>>(),
        "standby": part.standby,
        "strip": pfn_map(&part.pfn_map),
    })
}

/// Name, pages, number of WPA's category, tiles inside; more for a tile of many.
fn tile(tile: &Tile) -> Value {
    let mut object = Map::new();
    object.insert("n".into(), label(&tile.label).into());
    object.insert("v".into(), tile.pages.into());
    if let Some(category) = tile.wpa {
        object.insert("w".into(), (category as usize).into());
    }
    match tile.level {
        Level::More(count) => drop(object.insert("more".into(), count.into())),
        Level::Rules => drop(object.insert("rules".into(), true.into())),
        _ => {}
    }
    if !tile.parts.is_empty() {
        object.insert("c".into(), tile.parts.iter().map(self::tile).collect());
    }
    Value::Object(object)
}

/// Cells as letters: `A` is the first category or list, `!` is a hole.
fn pfn_map(map: &PfnMap) -> Value {
    let letter = |at: Option<usize>| at.and_then(|at| char::from_u32('A' as u32 + at as u32)).unwrap_or('!');
    json!({
        "first": map.cells.first,
        "length": map.cells.length(),
        "categories": map.categories.iter().map(|c| letter(c.map(|c| c as usize))).collect::<String>(),
        "lists": map.lists.iter().map(|list| letter(list.map(|list| list as usize))).collect::<String>(),
    })
}

fn seconds(time: Nanos) -> f64 {
    time.seconds()
}

fn reference(part: &RefsetOverview) -> Value {
    let set = &part.set;
    let held = part.held.iter().map(|(category, pages)| json!({ "category": *category as usize, "pages": pages }));
    let impact = set.tree.parts.iter().map(|node| json!([label(&node.label), node.measure.pages]));
    json!({
        "times": part.times.iter().map(|time| seconds(*time)).collect::<Vec<_>>(),
        "held": held.collect::<Vec<_>>(),
        "peak": [json!(seconds(set.peak.1)), json!(set.peak.0)],
        "window": [
            json!([seconds(set.window_times.0), set.window.from_mark.as_deref().map(label)]),
            json!([seconds(set.window_times.1), set.window.to_mark.as_deref().map(label)]),
        ],
        "reasons": part.reasons(),
        "impact": impact.collect::<Vec<_>>(),
    })
}

fn memory(part: &MemoryOverview) -> Value {
    let series = |all: &[(&'static str, Vec<Option<u64>>)]| -> Vec<Value> {
        all.iter().map(|(name, pages)| json!({ "name": name, "pages": pages })).collect()
    };
    json!({
        "times": part.times.iter().map(|time| seconds(*time)).collect::<Vec<_>>(),
        "stacked": series(&part.stacked),
        "lines": series(&part.lines),
    })
}

fn cpu(part: &CpuOverview) -> Value {
    let shares = part.shares.iter().map(|(name, values)| json!({ "name": label(name), "values": values }));
    let delays = part.delays.iter();
    json!({
        "times": part.times.iter().map(|time| seconds(*time)).collect::<Vec<_>>(),
        "shares": shares.collect::<Vec<_>>(),
        "delays": delays.map(|d| json!([label(&d.process), d.count, d.p50_ns, d.p95_ns, d.max_ns])).collect::<Vec<_>>(),
    })
}

fn faults(part: &FaultOverview) -> Value {
    let steps = part.set.timeline.as_deref().unwrap_or_default();
    let bars = |all: Vec<(&str, u64, u64)>| -> Vec<Value> {
        all.into_iter().map(|(name, waited_ns, faults)| json!([label(name), waited_ns, faults])).collect()
    };
    json!({
        "times": steps.iter().map(|step| seconds(step.from)).collect::<Vec<_>>(),
        "end": seconds(part.end),
        "waited": steps.iter().map(|step| step.waited()).collect::<Vec<_>>(),
        "faults": steps.iter().map(|step| step.hard_faults).collect::<Vec<_>>(),
        "disk": steps.iter().map(|step| step.disk_bytes).collect::<Vec<_>>(),
        "available": part.available(),
        "processes": bars(part.by_process()),
        "files": bars(part.by_file()),
    })
}

/// By the names of the kinds.
fn allocations(part: &AllocationOverview) -> Value {
    let kind = |kind: &KindOverview| {
        let owners = kind.owners().into_iter().map(|(name, kept, new)| json!([label(name), kept, new]));
        let data = json!({ "times": kind.times(), "pages": kind.pages(), "owners": owners.collect::<Vec<_>>() });
        (kind.set.of.name().to_owned(), data)
    };
    Value::Object(part.kinds.iter().map(kind).collect())
}

fn change(change: &Change) -> Value {
    json!([label(&change.label), change.class.map(|class| class as usize), change.left, change.right])
}

fn difference(found: &Differences) -> Value {
    let list = |changes: &[Change]| Differences::largest(changes).iter().map(change).collect::<Vec<_>>();
    let tiles = found.tiles.iter();
    let tile = |tile: &crate::analysis::report::differences::CategoryChange| {
        json!([change(&tile.all), tile.parts.iter().map(change).collect::<Vec<_>>()])
    };
    json!({
        "byCategory": list(&found.by_category),
        "byProcess": list(&found.by_process),
        "tiles": tiles.map(tile).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_the_element() {
        let name = "</script><!--&\u{2028}\u{2029}\"'";
        let text = in_html(&json!({ name: name }));
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back[name], name);
    }
}
