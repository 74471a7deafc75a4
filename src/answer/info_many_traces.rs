//! `pfnset info --each`: a line for each trace, with what distinguishes it, whether to trust it, and for which analyses.

use crate::analysis::info::TraceInfo;
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::answer::numbers;
use crate::trace::trust::level::{TrustLevel, good_for};
use crate::trace::trust::readiness::{Readiness, ReadinessLevel};

/// Whether to trust a trace, for people. Numbers that nobody has checked are not called good.
fn in_words(info: &TraceInfo) -> String {
    match info.trust() {
        TrustLevel::Yes if !info.unchecked().is_empty() => "no loss seen".to_owned(),
        level => level.name().replace('_', " "),
    }
}

/// One record, and one line: that of the trace.
pub(super) fn table(info: &TraceInfo) -> Table {
    let loss = info.trust.loss_of_all();
    let lost = |count: u32| Value::maybe(loss.known(count), |count| Value::count(count.into()));
    let facts = [
        ("trust", Value::text(info.trust().name())),
        ("logger_name", Value::text(&info.logger_name)),
        ("start_utc", Value::maybe(numbers::utc(info.start), Value::text)),
        ("duration_s", Value::Seconds(info.duration)),
        ("os_build", Value::Number(info.os_build.into())),
        ("size_bytes", Value::Bytes(info.size_bytes)),
        ("buffers", Value::count(info.buffers)),
        ("events", Value::count(info.events)),
        ("events_lost", lost(loss.events_lost)),
        ("buffers_lost", lost(loss.buffers_lost)),
        ("missing_buffers", Value::count(loss.missing_buffers)),
        ("damage_total", Value::count(info.trust.damaged)),
    ];
    let verdicts = info.analyses.iter().map(|analysis| (analysis.name, Value::text(analysis.level.name())));
    // Last, so that the columns before it keep their places. `trust` is "yes" also where nothing was checked.
    let unchecked = ("unchecked", Value::text(info.unchecked().join(";")));
    let (names, record): (Vec<_>, Vec<_>) = facts.into_iter().chain(verdicts).chain([unchecked]).unzip();
    let can_run: Vec<Readiness> =
        info.analyses.iter().filter(|analysis| analysis.level != ReadinessLevel::Missing).cloned().collect();
    let line = Line::new([
        Value::text("Total"),
        Value::text(in_words(info)),
        Value::Bytes(info.size_bytes),
        Value::text(numbers::duration(info.duration)),
        Value::count(info.events),
        lost(loss.events_lost),
        lost(loss.buffers_lost),
        Value::count(loss.missing_buffers),
        Value::count(info.trust.damaged),
        Value::text(good_for(&can_run)),
    ]);
    Table {
        title: None,
        fields: names.into_iter().map(Field::new).collect(),
        records: vec![record],
        columns: vec![
            Column::text(""),
            Column::text("Trust").fit(Fit::Stays),
            Column::number("Size").fit(Fit::Leaves(4)),
            Column::number("Span").fit(Fit::Leaves(2)),
            Column::number("Events").fit(Fit::Leaves(5)),
            Column::number("Events lost").fit(Fit::Leaves(3)),
            Column::number("Buffers lost").fit(Fit::Leaves(1)),
            Column::number("Buffers missing").fit(Fit::Leaves(0)),
            Column::number("Damaged").fit(Fit::Leaves(6)),
            Column::text("Good for").fit(Fit::Wraps),
        ],
        lines: vec![Line { ruled: true, ..line }],
    }
}
