//! The tables of `pfnset refset`.

use crate::analysis::reference::verify::Verification;
use crate::model::window::Origin;
use crate::report::refset::RefsetReport;
use crate::report::{Style, table, text};
use crate::units::Nanos;
use std::io::{self, Write};

impl RefsetReport<'_> {
    /// `Held at stop, from 0.002000 s "…" to 0.069326 s (67.326 ms)`.
    pub(super) fn title(&self, what: &str) -> String {
        let set = self.set;
        let (from, to) = set.window_times;
        let end = |time: Nanos, mark: &Option<String>| match mark {
            Some(mark) => format!("{:.6} s \"{mark}\"", time.seconds()),
            None => format!("{:.6} s", time.seconds()),
        };
        let whole = if set.window.origin == Origin::WholeTrace { ", the whole trace" } else { "" };
        let length = text::duration(Nanos(to.0.saturating_sub(from.0)));
        let (from, to) = (end(from, &set.window.from_mark), end(to, &set.window.to_mark));
        format!("{what} from {from} to {to} ({length}{whole})")
    }

    /// What rows count.
    pub(super) fn rows_title(&self) -> &'static str {
        match (self.set.with_impact(), self.set.with_ended) {
            (true, _) => "Impact",
            (false, true) => "Pages held",
            (false, false) => "Held at stop,",
        }
    }

    /// One screen.
    pub(super) fn summary(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let set = self.set;
        text::heading(out, &self.title("Reference set"))?;
        writeln!(out)?;
        table::text(out, &set.held_table(), style, self.unit)?;
        writeln!(out)?;
        let accesses = reasons(&set.frequent_accesses());
        let releases = reasons(&set.frequent_releases());
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
        if let (true, Some((categories, _))) = (set.is_selection, &set.short) {
            let selected = text::count(categories.measure.pages.unsigned_abs());
            writeln!(out, "\nSelected by --where: {selected} of the pages held at stop")?;
        }
        for short in set.short_tables() {
            writeln!(out)?;
            table::text(out, &short, style, self.unit)?;
        }
        Ok(())
    }

    /// Rows by the user's dimensions.
    pub(super) fn row_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::heading(out, &self.title(self.rows_title()))?;
        writeln!(out)?;
        table::text(out, &self.set.table(), style, self.unit)
    }

    /// Held pages over time, the largest categories as far as the width allows.
    pub(super) fn timeline_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let Some(timeline) = &self.set.timeline else { return Ok(()) };
        text::heading(out, &self.title("Held pages"))?;
        writeln!(out)?;
        let most = usize::from(style.width).saturating_sub(20) / 13;
        table::text(out, &timeline.table(most), style, self.unit)?;
        let hidden = timeline.categories.len().saturating_sub(most);
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
        for agreement in v.tables() {
            writeln!(out)?;
            table::text(out, &agreement, style, self.unit)?;
        }
        if v.examples.is_empty() {
            return Ok(());
        }
        let examples = v.examples_table();
        writeln!(out)?;
        text::heading(out, examples.title.as_deref().unwrap_or_default())?;
        table::text(out, &examples, style, self.unit)?;
        match v.more_examples() {
            0 => Ok(()),
            more => writeln!(out, "+ {} more", text::count(more)),
        }
    }
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

/// `SharablePageAccess 1,288, …`.
fn reasons(list: &[(&str, u64)]) -> String {
    list.iter().map(|(name, count)| format!("{name} {}", text::count(*count))).collect::<Vec<_>>().join(", ")
}
