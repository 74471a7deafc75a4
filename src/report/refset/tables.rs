//! The tables of `pfnset refset`.

use crate::analysis::grouping::Node;
use crate::analysis::reference::ledger::RowCount;
use crate::analysis::reference::reason::{AccessReason, ReleaseReason};
use crate::analysis::reference::verify::{Agreement, Verification};
use crate::model::window::Origin;
use crate::report::refset::RefsetReport;
use crate::report::table::{Align, TextTable};
use crate::report::{Style, text};
use crate::units::Nanos;
use std::io::{self, Write};

impl RefsetReport<'_> {
    /// `Scenario 0.002 s to 0.069 s (67.326 ms), mark "…" to mark "…"`.
    fn heading(&self, out: &mut dyn Write, what: &str) -> io::Result<()> {
        let set = self.set;
        let (from, to) = set.window_times;
        let end = |time: Nanos, mark: &Option<String>| match mark {
            Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
            None => format!("{:.6} s", time.seconds()),
        };
        let whole = if set.window.origin == Origin::WholeTrace { ", the whole trace" } else { "" };
        let length = text::duration(Nanos(to.0.saturating_sub(from.0)));
        text::heading(
            out,
            &format!(
                "{what} from {} to {} ({length}{whole})",
                end(from, &set.window.from_mark),
                end(to, &set.window.to_mark)
            ),
        )
    }

    /// One screen.
    pub(super) fn summary(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let set = self.set;
        self.heading(out, "Reference set")?;
        writeln!(out)?;
        let accessed: u64 = set.accesses.iter().sum();
        let mut table = TextTable::new(
            style,
            &[("Held", Align::Left), ("Pages", Align::Right), (self.unit.title(), Align::Right), ("", Align::Left)],
        );
        let mut line = |what: &str, pages: u64, note: String| {
            table.row([what.to_owned(), text::count(pages), self.unit.show(pages), note]);
        };
        let emptied = set.window.resets.contains(&set.window.from);
        let at_start = if emptied { "still active when working sets were emptied" } else { "" };
        line("at start", set.held_at_start, at_start.to_owned());
        line("at the peak", set.peak.0, format!("at {:.6} s", set.peak.1.seconds()));
        line("at stop", set.held_at_stop, String::new());
        line("accessed in all", accessed, String::new());
        line("released in all", set.releases.iter().sum(), String::new());
        table.print(out)?;
        writeln!(out)?;
        let accesses = reasons(&set.accesses, |n| AccessReason::ALL.get(n).map(|r| r.name()));
        let releases = reasons(&set.releases, |n| ReleaseReason::ALL.get(n).map(|r| r.name()));
        let (kernel, pool, ranges) = (set.kernel.at_stop, set.pool_at_stop, set.ranges_at_stop);
        let reaccesses =
            format!("{} (WPA's rules: {})", text::count(set.reaccessed()), text::count(set.reaccessed_wpa()));
        let apart = format!(
            "{} kernel pages, {} of pool, {} of ranges at stop: in no working set, so not held",
            text::count(kernel),
            text::count(pool),
            text::count(ranges)
        );
        let verification = set.verification.as_ref().map(|verification| ("Verification", verdict(verification)));
        let lines = [("Accessed by", accesses), ("Released by", releases), ("Re-accesses", reaccesses)];
        for (what, line) in lines.into_iter().chain(verification).chain([("Apart", apart)]) {
            let mut shown = what;
            for part in text::wrap(&line, usize::from(style.width).saturating_sub(14)) {
                writeln!(out, "{shown:<12}  {part}")?;
                shown = "";
            }
        }
        let Some((categories, processes)) = &set.short else { return Ok(()) };
        if set.is_selection {
            writeln!(out, "\nSelected by --where: {} of the pages held at stop", text::count(pages_of(categories)))?;
        }
        for (title, tree) in [("Category at stop", categories), ("Process at stop", processes)] {
            writeln!(out)?;
            self.tree_table(out, style, title, tree, false)?;
        }
        Ok(())
    }

    /// Rows by the user's dimensions.
    pub(super) fn row_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let what = match (self.with_impact(), self.set.with_ended) {
            (true, _) => "Impact",
            (false, true) => "Pages held",
            (false, false) => "Held at stop,",
        };
        self.heading(out, what)?;
        writeln!(out)?;
        let titles: Vec<_> = self.set.dimensions.iter().map(|dimension| dimension.title()).collect();
        self.tree_table(out, style, &titles.join(" / "), &self.set.tree, true)
    }

    fn tree_table(
        &self,
        out: &mut dyn Write,
        style: &Style,
        title: &str,
        tree: &Node<RowCount>,
        total: bool,
    ) -> io::Result<()> {
        let mut columns = vec![(title, Align::Left), ("Pages", Align::Right), (self.unit.title(), Align::Right)];
        let impact = self.with_impact();
        if impact {
            columns.extend([("Impact pages", Align::Right), ("Impact size", Align::Right)]);
        } else {
            columns.push(("Share", Align::Right));
        }
        let mut table = TextTable::new(style, &columns);
        self.add_parts(&mut table, tree, 0, tree.measure);
        if total {
            table.rule();
            table.row(self.cells("Total".into(), tree.measure, tree.measure));
        }
        table.print(out)
    }

    fn add_parts(&self, table: &mut TextTable, node: &Node<RowCount>, depth: usize, all: RowCount) {
        let indent = "  ".repeat(depth);
        for part in &node.parts {
            table.row(self.cells(format!("{indent}{}", part.label), part.measure, all));
            self.add_parts(table, part, depth + 1, all);
        }
        if let Some((count, rest)) = &node.more {
            table.row(self.cells(format!("{indent}+ {} more", text::count(*count)), *rest, all));
        }
    }

    fn cells(&self, label: String, count: RowCount, all: RowCount) -> Vec<String> {
        let mut cells = vec![label, signed(count.pages, text::count), signed(count.pages, |n| self.unit.show(n))];
        if self.with_impact() {
            cells.push(signed(count.impact_pages, text::count));
            cells.push(signed(count.impact_pages, |n| self.unit.show(n)));
        } else {
            cells.push(text::share(count.pages.unsigned_abs(), all.pages.unsigned_abs()));
        }
        cells
    }

    /// Held pages over time, the largest categories as far as the width allows.
    pub(super) fn timeline_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let Some(timeline) = &self.set.timeline else { return Ok(()) };
        self.heading(out, "Held pages")?;
        writeln!(out)?;
        let shown = timeline.largest(usize::from(style.width).saturating_sub(20) / 13);
        let mut columns = vec![("Time s", Align::Right), ("Pages", Align::Right)];
        columns.extend(shown.iter().filter_map(|&i| timeline.categories.get(i)).map(|c| (c.name(), Align::Right)));
        let mut table = TextTable::new(style, &columns);
        for point in &timeline.points {
            let mut cells = vec![text::seconds(point.time), text::count(point.pages)];
            let pages = |i: &usize| point.by_category.get(*i).copied().unwrap_or(0);
            cells.extend(shown.iter().map(|i| text::count_or_blank(pages(i))));
            table.row(cells);
        }
        table.print(out)?;
        let hidden = timeline.categories.len().saturating_sub(shown.len());
        if hidden > 0 {
            writeln!(out, "{hidden} smaller categories are not shown: --format csv has all")?;
        }
        Ok(())
    }

    /// The comparison with the final sequence.
    pub(super) fn verification_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let Some(v) = &self.set.verification else { return Ok(()) };
        text::heading(out, &format!("Verification against the page sequence at {:.6} s", v.time.seconds()))?;
        writeln!(out, "{}", verdict(v))?;
        writeln!(out, "{} kernel, pool and range pages are accounted for apart", text::count(v.apart))?;
        let by_use = v.by_use.iter().map(|(page_use, agreement)| (page_use.name(), *agreement)).collect();
        let by_process = v.by_process.iter().map(|(process, agreement)| (process.as_str(), *agreement)).collect();
        let lists: [(&str, Vec<(&str, Agreement)>); 2] = [("Use", by_use), ("Process", by_process)];
        for (title, list) in lists {
            let disagree = |(_, a): &&(&str, Agreement)| title == "Use" || a.only_tracked + a.only_final > 0;
            if list.iter().any(|entry| disagree(&entry)) {
                writeln!(out)?;
                agreement_table(style, title, list.iter().filter(disagree)).print(out)?;
            }
        }
        if v.examples.is_empty() {
            return Ok(());
        }
        writeln!(out)?;
        text::heading(out, "Examples of what disagrees")?;
        let columns = [("Only", Align::Left), ("Use", Align::Left), ("PFN", Align::Right), ("Address", Align::Right)];
        let mut table = TextTable::new(style, &[columns.as_slice(), &[("Process", Align::Left)]].concat());
        for example in &v.examples {
            table.row([
                if example.only_tracked { "tracked" } else { "final" }.to_owned(),
                example.page_use.name().to_owned(),
                format!("0x{:x}", example.pfn),
                format!("0x{:x}", example.address),
                example.process.clone(),
            ]);
        }
        table.print(out)?;
        let more = (v.all.only_tracked + v.all.only_final).saturating_sub(v.examples.len() as u64);
        if more > 0 {
            writeln!(out, "+ {} more", text::count(more))?;
        }
        Ok(())
    }
}

fn agreement_table<'e>(style: &Style, title: &str, list: impl Iterator<Item = &'e (&'e str, Agreement)>) -> TextTable {
    let numbers = ["Match", "Only tracked", "Only in final state"].map(|title| (title, Align::Right));
    let mut table = TextTable::new(style, &[&[(title, Align::Left)], numbers.as_slice()].concat());
    for (name, a) in list {
        let counts = [a.matched, a.only_tracked, a.only_final].map(text::count_or_blank);
        table.row([(*name).to_owned()].into_iter().chain(counts));
    }
    table
}

fn verdict(v: &Verification) -> String {
    format!(
        "{} pages match, {} only tracked, {} only in the final state: residue {:.2} %",
        text::count(v.all.matched),
        text::count(v.all.only_tracked),
        text::count(v.all.only_final),
        v.residue() * 100.0
    )
}

/// `SharablePageAccess 1,288, …`, the most frequent first.
fn reasons(counts: &[u64], name: impl Fn(usize) -> Option<&'static str>) -> String {
    let mut list: Vec<(u64, &str)> =
        counts.iter().enumerate().filter_map(|(n, &count)| Some((count, name(n)?))).filter(|part| part.0 > 0).collect();
    list.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    list.iter().map(|(count, name)| format!("{name} {}", text::count(*count))).collect::<Vec<_>>().join(", ")
}

fn signed(value: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", show(value.unsigned_abs()))
}

/// Pages of a tree whose rows are pages.
fn pages_of(tree: &Node<RowCount>) -> u64 {
    tree.measure.pages.unsigned_abs()
}
