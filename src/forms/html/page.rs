//! The text of the page. Names from a trace are escaped by the template and shown with
//! [`visible`].

use crate::analysis::check::TraceResult;
use crate::analysis::report::differences::{Change, Differences};
use crate::analysis::report::resident::ResidentOverview;
use crate::analysis::report::stack_differences::{Lacking, StackDifferences};
use crate::analysis::report::{Part, reclassifications};
use crate::analysis::resident::SnapshotSet;
use crate::analysis::table::Table;
use crate::answer::allocations;
use crate::answer::answer_type::Warnings;
use crate::answer::faults::sentences;
use crate::answer::numbers::{self, Unit};
use crate::answer::{Units, check};
use crate::escape::visible;
use crate::forms::html::page_section::{numbers_of, part};
use crate::forms::html::trace_page::TracePage;
use crate::forms::html::{data, headline, script, stack_differences, stacks, tables};
use crate::trace::trust::readiness::{Readiness, ReadinessLevel};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The whole page; `verdicts`: of each trace the results of its budgets, if there are budgets.
pub fn page(
    traces: &[TracePage<'_>],
    (differences, stack_differences): (&[Part<Differences>], &[Result<StackDifferences, Lacking>]),
    verdicts: &[TraceResult],
    charts: &str,
) -> Markup {
    let name = match traces {
        [first] => first.name.clone(),
        [first, second] => format!("{} and {}", first.name, second.name),
        all => {
            format!("{} and {} more traces", all.first().map_or("", |first| &first.name), all.len().saturating_sub(1))
        }
    };
    let found: Vec<&Differences> = differences.iter().flatten().collect();
    // Without page records one line says so, not three.
    let has_pages = traces.iter().any(|trace| trace.overview.resident.is_ok());
    let json = data::in_html(&data::data(traces, &found, stack_differences));
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(script::policy(&[charts, script::PAGE]));
                meta name="referrer" content="no-referrer";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Memory: " (name) }
                style { (PreEscaped(script::STYLE)) }
            }
            body data-traces=(traces.len()) {
                header {
                    h1 { "Memory " span.names { (name) } }
                    (parts(traces, !differences.is_empty(), !verdicts.is_empty(), has_pages))
                }
                noscript { p.doubt { "The pictures need scripts, which are inside of this file. All numbers are in the tables." } }
                main {
                    (headline::headlines(traces, verdicts))
                    // What somebody with two traces came for.
                    @if !differences.is_empty() { (all_differences(traces, differences, stack_differences)) }
                    @if !verdicts.is_empty() { (budgets(traces, verdicts)) }
                    section #traces .panels { @for (number, trace) in traces.iter().enumerate() { (head(number, trace)) } }
                    (resident(traces))
                    @if has_pages { (moves(traces)) (strips(traces)) }
                    (reference(traces))
                    (memory(traces))
                    (cpu(traces))
                    @if stacks::are_there(traces) { (stacks::stacks(traces)) }
                    @if has_faults(traces) { (faults(traces)) }
                    @if has_allocations(traces) { (allocated(traces)) }
                }
                footer {
                    p { "Made by pfnset " (env!("CARGO_PKG_VERSION")) ". Sizes are of pages of 4 KiB; KiB, MiB and GiB are powers of 1024. "
                        "Pictures: Apache ECharts 5.4.2, Apache License 2.0. This file loads nothing from any network." }
                }
                script #data type="application/json" { (PreEscaped(json)) }
                script { (PreEscaped(charts)) }
                script { (PreEscaped(script::PAGE)) }
            }
        }
    }
}

fn has_faults(traces: &[TracePage<'_>]) -> bool {
    traces.iter().any(|trace| trace.overview.faults.is_ok())
}

fn has_allocations(traces: &[TracePage<'_>]) -> bool {
    traces.iter().any(|trace| trace.overview.allocations.is_ok())
}

fn parts(traces: &[TracePage<'_>], has_differences: bool, has_verdicts: bool, has_pages: bool) -> Markup {
    html! {
        nav aria-label="Parts of this page" {
            @if has_differences { a href="#differences" { "Differences" } }
            @if has_verdicts { a href="#budgets" { "Budgets" } }
            a href="#traces" { "Traces" }
            a href="#resident" { "Resident set" }
            @if has_pages {
                a href="#flows" { "WPA’s categories" }
                a href="#strip" { "Physical memory" }
            }
            a href="#reference" { "Reference set" }
            a href="#memory" { "Over time" }
            a href="#cpu" { "CPU" }
            @if stacks::are_there(traces) { a href="#stacks" { "Stacks" } }
            @if has_faults(traces) { a href="#faults" { "Faults and disk" } }
            @if has_allocations(traces) { a href="#allocations" { "Allocations" } }
        }
    }
}

/// The budgets of each trace, and why they are not met.
fn budgets(traces: &[TracePage<'_>], verdicts: &[TraceResult]) -> Markup {
    let unit = Unit::default();
    html! {
        section #budgets {
            h2 { "Budgets" }
            @for (number, (trace, result)) in traces.iter().zip(verdicts).enumerate() {
                article {
                    (tables::table(&format!("Budgets of {}", trace.name), &check::table(result, &Warnings::default(), unit), Units::default()))
                    @for lines in check::reasons(result, unit) { (lines_of(&lines)) }
                    (lines_of(&result.warnings_of_machines()))
                    (lines_of(&result.warnings_of_budgets()))
                    @if number > 0 && result.limits_growth() { (doubts_of_first(traces, verdicts)) }
                    @if result.has_growth_unjudged() {
                        p { "Growth is not judged here: max_growth of the other traces counts from this one." }
                    }
                }
            }
        }
    }
}

/// That the trace is doubtful that growth counts from.
fn doubts_of_first(traces: &[TracePage<'_>], verdicts: &[TraceResult]) -> Markup {
    let doubts = verdicts.first().map(TraceResult::doubts).unwrap_or_default();
    let more = match doubts.len() {
        0 | 1 => String::new(),
        all => format!(" (and {} more above)", all - 1),
    };
    html! {
        @if let Some((trace, doubt)) = traces.first().zip(doubts.first()) {
            p { "Growth counts from " (trace.name) ", whose numbers are doubtful: " (visible(doubt)) (more) }
        }
    }
}

fn lines_of(all: &[String]) -> Markup {
    html! { @for line in all { p { (visible(line.trim_start())) } } }
}

/// What the trace is, and everything that makes it doubtful.
fn head(number: usize, trace: &TracePage<'_>) -> Markup {
    let overview = trace.overview;
    html! {
        article.trace id=(headline::data_place(number)) {
            h2 { (trace.name) }
            @if overview.warnings.is_doubtful() {
                div.doubt role="note" {
                    strong { "What makes the numbers doubtful" }
                    (lines(&overview.warnings_of_numbers()))
                }
            } @else if !overview.checks_passed() {
                p.sound { "Nothing was lost and the file is whole. Trust it with care: see \"Good to know\"." }
            } @else if !overview.has_checks() {
                p.sound { "No loss, damage or cut was found. Whether its numbers agree is not known: nothing in it can be checked." }
            } @else {
                p.sound { "Nothing was lost, the file is whole, and the checks of its numbers passed." }
            }
            @let notes = overview.notes();
            @if !notes.is_empty() {
                details.notes { summary { "Good to know" } (lines(&notes)) }
            }
            dl { @for (what, value) in facts(trace) { dt { (what) } dd { (visible(&value)) } } }
            h3 { "Good for" }
            ul.good { @for analysis in &overview.info.analyses { (fitness(analysis)) } }
        }
    }
}

fn lines(all: &[&str]) -> Markup {
    html! { ul { @for line in all { li { (visible(line)) } } } }
}

fn facts(trace: &TracePage<'_>) -> Vec<(&'static str, String)> {
    let info = &trace.overview.info;
    let release =
        info.os_release.map_or_else(|| format!("Windows {}.{}", info.os_version.0, info.os_version.1), str::to_owned);
    let processors =
        info.machine_processors.map_or_else(|| "an unknown number".to_owned(), |n| numbers::count(n.into()));
    let start = numbers::utc(info.start).unwrap_or_else(|| format!("FILETIME {}", info.start.0));
    vec![
        ("System", format!("{release}, build {}", info.os_build)),
        ("Processors", format!("{processors}, {}-bit", info.pointer_bits)),
        ("Recorded", start),
        ("Length", numbers::duration(info.duration)),
        ("Events", numbers::count(info.events)),
        ("File", format!("{}, {}", trace.files.join(" + "), numbers::bytes(info.size_bytes))),
    ]
}

fn fitness(analysis: &Readiness) -> Markup {
    // What an analysis that cannot run would lack besides is no help.
    let cannot_run = analysis.level == ReadinessLevel::Missing;
    let without: Vec<String> = (analysis.missing.iter())
        .filter(|need| need.required || !cannot_run)
        .map(
            |need| if need.required { need.keyword.to_owned() } else { format!("{} ({})", need.keyword, need.without) },
        )
        .collect();
    let (class, verdict) = match analysis.level {
        ReadinessLevel::Ready => ("ready", "yes"),
        ReadinessLevel::Partial => ("partial", "in part"),
        ReadinessLevel::Missing => ("missing", "no"),
    };
    html! {
        li class=(class) {
            (analysis.title) ": " strong { (verdict) }
            @if !without.is_empty() { " — not in the trace: " (without.join("; ")) }
        }
    }
}

/// A picture: its caption, the place of the chart, its numbers below it.
fn figure(kind: &str, trace: usize, caption: &str, numbers: &[(&str, Table)]) -> Markup {
    html! {
        figure {
            figcaption { (caption) }
            div.chart data-kind=(kind) data-trace=(trace) role="img" aria-label=(caption) {}
            @for (title, table) in numbers { (numbers_of(title, table)) }
        }
    }
}

fn resident(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("resident", "Resident set: what RAM held"),
        |overview| &overview.resident,
        |number, found| {
            let when =
                found.snapshot().map_or_else(String::new, |snapshot| format!(" at {:.3} s", snapshot.time.seconds()));
            let size = Unit::Auto.amount(found.treemap.pages.saturating_mul(4096));
            html! {
                p { strong { (size) } " of physical memory" (when) ", " (numbers::count(found.treemap.pages)) " pages" (lists(found)) "." }
                div.controls data-controls=(number) {}
                div.beside {
                    figure {
                        figcaption { "The area of a tile is its number of pages: class, category, then process or file. Click a tile to see the next level; click the path above to go back. Under WPA’s rules every tile stays in its place; tiles that WPA counts in another category are striped." }
                        nav.path data-path=(number) aria-label={ "Where in the picture of trace " (number + 1) } {}
                        details { summary { "The tiles of this level as a list" } ul.level data-level=(number) {} }
                        div.chart.treemap data-kind="treemap" data-trace=(number) role="img" aria-label="Resident set as nested tiles" {}
                    }
                    div.filtered { (tables::table("Categories by class, with the number that WPA shows", &found.category_table(), Units::default())) }
                }
                details.processes { summary { "Numbers: processes by the pages of their own" }
                    (tables::table("Private memory, page tables, working-set metadata, AWE and large pages of each process", &found.process_table(), Units::default())) }
                @if found.standby.iter().flatten().any(|pages| *pages > 0) {
                (figure("standby", number, "The standby list by priority, with the size of each class: cached pages. When memory is needed, the lowest priority is taken first.", &[("standby by priority", found.standby_table())]))
            } @else {
                p { "The standby list is empty: nothing was cached for later." }
            }
            }
        },
    )
}

/// `: 60.90 MiB in use, 8.70 MiB modified, …`.
fn lists(found: &ResidentOverview) -> String {
    let Some(memory) = found.snapshot().map(SnapshotSet::memory) else { return String::new() };
    let unit = Unit::Auto.for_largest(memory.all.saturating_mul(4096));
    let part = |(what, pages): (&str, u64)| format!("{} {what}", unit.amount(pages.saturating_mul(4096)));
    let parts =
        [("in use", memory.in_use), ("modified", memory.modified), ("standby", memory.standby), ("free", memory.free)];
    format!(": {}", parts.map(part).join(", "))
}

fn moves(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("flows", "What WPA has elsewhere"),
        |overview| &overview.resident,
        |number, found| {
            let (same, all) = found.pages_in_place();
            html! {
                p { (numbers::count(same)) " of " (numbers::count(all)) " pages have the same category by both rule sets." }
                @if found.reclassifications.is_empty() {
                    p { "No page has another category in WPA." }
                } @else {
                    (figure("flows", number, "Pages that WPA counts under another category: left where WPA has them, right where they belong. The width of a band is its number of pages; point at it to see the rules.",
                        &[("pages that move, with the reason", reclassifications::table(&found.reclassifications))]))
                }
            }
        },
    )
}

fn strips(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("strip", "Physical memory by page frame number"),
        |overview| &overview.resident,
        |number, found| {
            let cell = Unit::Auto.amount(found.pfn_map.cells.length().saturating_mul(4096));
            let caption = format!(
                "From left to right and from top to bottom by PFN. A cell is {cell} and has the colour of most of its pages: even areas are memory in one piece, speckles are fragmentation. Blank cells have no page."
            );
            html! {
                div.controls data-strip-controls=(number) {}
                (figure("strip", number, &caption, &[("lists and categories in the strip", found.pfn_map.table())]))
            }
        },
    )
}

fn reference(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("reference", "Reference set: what a scenario touched"),
        |overview| &overview.reference,
        |number, found| {
            html! {
                (figure("held", number, "Pages held over time by category, stacked; lines are the marks of the trace, the window and the peak.",
                    &[("held pages by process", found.holder_table())]))
                (figure("reasons", number, "Pages accessed and released in the window, by reason.", &[("accesses and releases", found.reason_table())]))
                (figure("impact", number, "Pages by impact: impacting pages stayed after the window (minus those that were freed in it), transient pages came and went inside of it, persistent pages were held before, in and after it.",
                    &[("impact by process", found.impact_table())]))
            }
        },
    )
}

fn memory(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("memory", "Memory over time"),
        |overview| &overview.memory,
        |number, found| {
            html! {
                    @if found.times.is_empty() {
                p.unrecorded { "The page lists over time were not recorded: add the keyword MemoryInfo (xperf MEMINFO)." }
            } @else {
                (figure("memory", number, "The page lists over time, stacked; system commit is a line.", &[("counters", found.counter_table())]))
            }
                    @if let Some(processes) = found.process_table() { (numbers_of("working sets by process", &processes)) }
                }
        },
    )
}

fn cpu(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("cpu", "CPU: who ran, and who had to wait"),
        |overview| &overview.cpu,
        |number, found| {
            html! {
                (figure("cpu", number, "Share of all processors over time by process, stacked, in percent; the rest is idle or unknown.",
                    &[("processes", found.process_table())]))
                (figure("delays", number, "How long threads were ready and had to wait for a processor, by process: the delay that 95 of 100 did not exceed, and the longest. The scale is logarithmic.",
                    &[("ready delays", found.delay_table())]))
            }
        },
    )
}

fn faults(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("faults", "Hard faults and disk: what was read because it was not in memory"),
        |overview| &overview.faults,
        |number, found| {
            html! {
                @for line in sentences(&found.set) { p { (visible(&line)) "." } }
                @for line in TracePage::not_said_yet(traces, number, &found.set.warnings) { p.unrecorded { (visible(line)) } }
                (figure("faultsOverTime", number, "Above: how long threads waited for hard faults, by the time at which they ended, and bytes that the disk read and wrote. Below: memory that was available (standby, free, zero), where the trace has counters.",
                    &[("steps", found.step_table())]))
                @if found.set.hard.events > 0 {
                    (figure("faultsByProcess", number, "Processes whose threads waited longest: the sum over threads.", &[("hard faults by process", found.process_table())]))
                    (figure("faultsByFile", number, "Files that were waited for longest.", &[("hard faults by file", found.file_table())]))
                }
                (numbers_of("disk requests by file", found.disk_table()))
            }
        },
    )
}

fn allocated(traces: &[TracePage<'_>]) -> Markup {
    part(
        traces,
        ("allocations", "Allocations: what was asked for and not given back"),
        |overview| &overview.allocations,
        |number, found| {
            html! {
                @for kind in &found.kinds {
                    @let (name, of) = (kind.set.of.name(), allocations::what(kind.set.of));
                    @if traces.len() > 1 { h4 { (of) } } @else { h3 { (of) } }
                    @for line in allocations::sentences(&kind.set, Unit::Auto) { p { (visible(&line)) "." } }
                    @for line in TracePage::not_said_yet(traces, number, &kind.set.warnings) { p.unrecorded { (visible(line)) } }
                    (figure(&format!("{name}OverTime"), number, &format!("{of}: the most that was allocated at a time, in each step."), &[]))
                    @if !kind.owners().is_empty() {
                        (figure(&format!("{name}Owners"), number, &format!("{of} at the end: what was there when the trace began, and what was allocated in it and not freed."),
                            &[("who allocated", kind.table())]))
                    }
                    @if let Some(leaks) = kind.leak_table() {
                        (numbers_of("allocated in the first half and still there, oldest first", &leaks))
                    }
                }
            }
        },
    )
}

fn all_differences(
    traces: &[TracePage<'_>],
    differences: &[Part<Differences>],
    stacks: &[Result<StackDifferences, Lacking>],
) -> Markup {
    let first = traces.first().map_or("", |trace| trace.name.as_str());
    let mut place = 0..;
    html! {
        section #differences {
            h2 { "Differences" }
            @for (number, (trace, found)) in traces.iter().skip(1).zip(differences).enumerate() {
                article {
                    h3.which { (first) " → " (trace.name) }
                    @match found {
                        Err(line) => { p.unrecorded { "Not shown: " (visible(line)) } }
                        Ok(found) => {
                            @for line in &found.of_machines { p.unrecorded { (visible(line)) } }
                            (difference(place.next().unwrap_or(0), found))
                        }
                    }
                    @match stacks.get(number) {
                        Some(Ok(found)) => { (stack_differences::picture(number, found, [first, &trace.name])) }
                        Some(Err(lacking)) => { (stack_differences::no_picture(*lacking, [first, &trace.name])) }
                        None => {}
                    }
                }
            }
        }
    }
}

fn difference(number: usize, found: &Differences) -> Markup {
    let table = |title, changes: &[Change]| Differences::table(title, changes);
    if found.by_category.is_empty() && found.by_process.is_empty() {
        return html! { p { "Nothing differs: each category and each process has as many pages in both." } };
    }
    html! {
        div.panels {
            (figure("changedCategories", number, "What grew (to the right) and what shrank (to the left) from the first trace to the other, by category.",
                &[("categories", table("Category", &found.by_category))]))
            (figure("changedProcesses", number, "The same by process, for each process’s own pages. Processes with the same name count as one.",
                &[("processes", table("Process", &found.by_process))]))
        }
        (figure("growth", number, "What changed, as tiles: the area is the larger of both sizes, the colour shows how much of it came or went.", &[]))
    }
}
