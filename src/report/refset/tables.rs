//! The tables of `pfnset refset`.

use crate::analysis::refset::ReferenceSet;
use crate::analysis::refset::final_state_check::Verification;
use crate::analysis::refset::graphics_events::GraphicsEvents;
use crate::analysis::refset::query::Dimension;
use crate::analysis::refset::totals::mem_info_ws::MemInfoWsCheck;
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
        if set.is_selection {
            return self.selection(out, style);
        }
        text::heading(out, &self.title("Reference set"))?;
        writeln!(out)?;
        table::text(out, &set.held_table(text::count), style, self.unit)?;
        writeln!(out)?;
        let accesses = reasons(&set.frequent_accesses());
        let releases = reasons(&set.frequent_releases());
        let (kernel, pool, ranges) = (set.kernel.at_stop, set.pool_at_stop, set.ranges_at_stop);
        let reaccesses = format!(
            "{} (WPA's rules: {})",
            text::count(set.balance.reaccessed()),
            text::count(set.balance.reaccessed_wpa())
        );
        let outside = format!(
            "{} kernel pages, {} of pool, {} of ranges at stop: in no working set, so not held",
            text::count(kernel),
            text::count(pool),
            text::count(ranges)
        );
        let verification = set.verification.as_ref().map(|verification| ("Verification", verdict(verification)));
        let lines = [("Accessed by", accesses), ("Released by", releases), ("Re-accesses", reaccesses)];
        let graphics = ("Graphics", graphics(set.graphics));
        let recorded = set.mem_info_ws.as_ref().map(|sets| ("Working sets", agreement(sets)));
        for (what, line) in
            lines.into_iter().chain(verification).chain(recorded).chain([("Kernel, pool", outside), graphics])
        {
            let mut shown = what;
            for part in text::wrap(&line, usize::from(style.width).saturating_sub(14)) {
                writeln!(out, "{shown:<12}  {part}")?;
                shown = "";
            }
        }
        self.summary_tables(out, style)
    }

    /// One screen of what `--where` selects. Start, peak, accesses and releases are those of all pages: not shown.
    fn selection(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::heading(out, &self.title("Held at stop,"))?;
        self.where_line(out, style)?;
        let selected = self.set.summary.as_ref().map_or(0, |summary| summary.categories.measure.pages);
        let (selected, all) = (text::count(selected.unsigned_abs()), text::count(self.set.held_at_stop));
        writeln!(out, "{selected} of the {all} pages held at stop")?;
        self.summary_tables(out, style)
    }

    /// Largest categories and processes.
    fn summary_tables(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        for summary in self.set.summary_tables() {
            writeln!(out)?;
            table::text(out, &summary, style, self.unit)?;
        }
        match self.set.gone_and_hidden() {
            0 => Ok(()),
            1 => paragraph(out, "1 of the others held pages before and none at stop: --sort peak", style),
            gone => {
                let gone = text::count(gone);
                paragraph(out, &format!("{gone} of the others held pages before and none at stop: --sort peak"), style)
            }
        }
    }

    /// `Where category=Image;MapFile, process=a*`.
    fn where_line(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        match self.where_words("Where ").as_str() {
            "" => Ok(()),
            line => paragraph(out, line, style),
        }
    }

    /// The conditions after an introduction; nothing where there are none.
    pub(super) fn where_words(&self, introduction: &str) -> String {
        match self.conditions {
            [] => String::new(),
            conditions => format!("{introduction}{}", conditions.join(", ")),
        }
    }

    /// Rows by the user's dimensions.
    pub(super) fn row_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        text::heading(out, &self.title(self.rows_title()))?;
        self.where_line(out, style)?;
        writeln!(out)?;
        table::text(out, &self.set.table(), style, self.unit)?;
        self.row_notes().iter().try_for_each(|note| {
            writeln!(out)?;
            paragraph(out, note, style)
        })
    }

    /// What rows count where their sums are not those of the accesses and releases.
    fn row_notes(&self) -> Vec<String> {
        let set = self.set;
        let by = |dimension| set.dimensions.contains(&dimension);
        match () {
            () if set.with_impact() => vec![
                "Pages counts a page for each holder, charged pages a physical page once: for the process that accessed \
                 it first, until the last holder releases it (WPA's impact size). So a process can be charged for a page \
                 that it has released and others still hold."
                    .to_owned(),
            ],
            () if set.is_selection || !set.with_ended => Vec::new(),
            () => [(by(Dimension::AccessReason), entered(set)), (by(Dimension::ReleaseReason), left(set))]
                .into_iter()
                .filter_map(|(is_shown, note)| is_shown.then_some(note))
                .collect(),
        }
    }

    /// Held pages over time, the largest categories as far as the width allows.
    pub(super) fn timeline_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let Some(timeline) = &self.set.timeline else { return Ok(()) };
        text::heading(out, &self.title("Held pages"))?;
        self.where_line(out, style)?;
        writeln!(out)?;
        let shown = timeline.fitting(usize::from(style.width));
        table::text(out, &timeline.table(&shown), style, self.unit)?;
        let hidden = timeline.groups.len().saturating_sub(shown.len());
        if hidden > 0 {
            let groups = if timeline.is_by_category() { "categories" } else { "groups" };
            paragraph(out, &format!("{hidden} smaller {groups} are not shown: --format csv has all"), style)?;
        }
        Ok(())
    }

    /// The comparison with the final sequence.
    pub(super) fn verification_table(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let Some(v) = &self.set.verification else { return Ok(()) };
        text::heading(out, &format!("Verification against the page sequence at {:.6} s", v.time.seconds()))?;
        writeln!(out, "{}", verdict(v))?;
        writeln!(
            out,
            "{} more are kernel, pool and range pages: in no working set, so not compared",
            text::count(v.apart)
        )?;
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

/// What Windows says of working sets.
fn agreement(sets: &MemInfoWsCheck) -> String {
    let (agree, compared, records) = (text::count(sets.agree), text::count(sets.compared), text::count(sets.records));
    let all = format!("{agree} of {compared} have as many pages as Windows logged (MemInfoWS records: {records})");
    match sets.worst.first() {
        None => all,
        Some(worst) => format!(
            "{all}; the largest difference: {} has {}, logged were {} at {} s",
            worst.process,
            text::count(worst.tracked_pages),
            text::count(worst.recorded_pages),
            text::seconds(worst.time)
        ),
    }
}

/// WPA's reasons Reclaim and Offer.
fn graphics(events: Option<GraphicsEvents>) -> String {
    const PROVIDER: &str = "Microsoft-Windows-DxgKrnl";
    match events {
        None => format!("WPA's Reclaim and Offer were not recorded (provider {PROVIDER})"),
        Some(GraphicsEvents { offers, reclaims }) => format!(
            "Reclaim: {} and Offer: {} events of {PROVIDER}; they name no pages",
            text::count(reclaims),
            text::count(offers)
        ),
    }
}

/// How the rows by access reason follow from the accesses.
fn entered(set: &ReferenceSet) -> String {
    let flows = &set.balance;
    let mut terms = vec![
        format!("{} of pages held already", text::count(flows.held_already())),
        format!("{} of pages that were never held", text::count(flows.never_held)),
        format!("{} of kernel, pool and range pages, which are in no working set", text::count(flows.accessed_outside)),
    ];
    let not_started = text::count(flows.not_started.unsigned_abs());
    match flows.not_started {
        0 => {}
        1.. => terms.push(format!("{not_started} for processes that start after the window")),
        _ => terms.push(format!("less {not_started} from before the window, for processes that start in it")),
    }
    let emptied = match flows.emptied {
        0 => String::new(),
        emptied => format!(", less {} in working sets that were emptied", text::count(emptied)),
    };
    format!(
        "By access reason the rows add up to {} pages held at start and {} that entered working sets since{emptied}. The \
         other accesses of the {} in all: {}.",
        text::count(set.held_at_start),
        text::count(flows.entered()),
        text::count(flows.accessed()),
        terms.join(", ")
    )
}

/// How the rows by release reason follow from the releases.
fn left(set: &ReferenceSet) -> String {
    let flows = &set.balance;
    format!(
        "By release reason the rows add up to {} pages that left working sets and {} held at stop. The other {} releases of \
         the {} in all: of kernel, pool and range pages, which are in no working set.",
        text::count(flows.left()),
        text::count(set.held_at_stop),
        text::count(flows.released_outside),
        text::count(flows.released())
    )
}

/// A line as wide as the terminal.
fn paragraph(out: &mut dyn Write, line: &str, style: &Style) -> io::Result<()> {
    text::wrap(line, usize::from(style.width)).iter().try_for_each(|part| writeln!(out, "{part}"))
}

fn verdict(v: &Verification) -> String {
    if v.is_hopeless() {
        return "impossible: no page of the final page sequence matches, so most of it must be missing".into();
    }
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
