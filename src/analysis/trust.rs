//! What makes numbers doubtful: losses, damage, records that do not fit, a clock that was guessed. The same list for
//! every command, shown before any table.

use crate::analysis::loss::Loss;
use crate::etl::EtlFile;
use crate::etl::buffer::{TYPE_GENERIC, type_name};
use crate::etl::logfile::MODE_CIRCULAR;
use crate::etl::order::{circular_start, is_circular_order};
use crate::event::hooks::LOG_FILE;
use crate::load::survey::Survey;
use std::collections::BTreeMap;

/// Everything that casts doubt on a trace.
#[derive(Debug, Clone, Default)]
pub struct TrustReport {
    /// Lost data.
    pub loss: Loss,
    /// Damaged places.
    pub damaged: u64,
    /// Text of the first damaged place.
    first_damage: Option<String>,
    /// Kinds of records that do not fit their layout: what was expected and found, and how many.
    pub misfits: Vec<(String, u64)>,
    /// Records that do not fit their layout.
    pub misfit_records: u64,
    buffer_size_bytes: u32,
    /// How many buffers the file holds and its header names, where those are more: it was cut.
    pub cut: Option<(u64, u64)>,
    other: Vec<String>,
}

impl TrustReport {
    /// Collects them.
    pub fn new(etl: &EtlFile, survey: &Survey) -> TrustReport {
        let mut other = etl.warnings.clone();
        let unsorted = survey.spans.iter().flatten().filter(|span| !span.sorted).count();
        if unsorted > 0 {
            let buffers = counted(unsorted as u64, "buffer holds", "buffers hold");
            other.push(format!("{buffers} records out of time order; they were sorted"));
        }
        other.extend(unusual_buffers(etl));
        other.extend(circular_doubt(etl));
        let headers = survey.kernel_count(LOG_FILE);
        if headers > 1 {
            other.push(format!("the file holds {headers} log-file headers; the first one defines time and session"));
        }
        if survey.unlisted.0 > 0 {
            let most = Survey::MOST_KINDS;
            other.push(format!("more than {most} kinds of events: {} records are in no list", survey.unlisted.0));
        }
        let loss = Loss::new(etl, survey);
        TrustReport {
            cut: cut(etl, &loss),
            loss,
            damaged: survey.damage.total,
            first_damage: survey
                .damage
                .places
                .first()
                .map(|d| format!("{} at offset {}: expected {}, found {}", d.what, d.offset, d.expected, d.found)),
            misfits: survey.misfits.iter().map(|(misfit, count)| (misfit.to_string(), *count)).collect(),
            misfit_records: survey.misfits.total(),
            buffer_size_bytes: etl.header.buffer_size_bytes,
            other,
        }
    }

    /// True when data was lost or the file is damaged.
    pub fn any(&self) -> bool {
        self.loss.any() || self.damaged > 0 || self.cut.is_some()
    }

    /// One line each, most important first.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.loss.summary());
        for hole in self.loss.holes.iter().take(3) {
            let processor = hole.processor.map_or_else(String::new, |p| format!(", most likely on processor {p}"));
            let hits =
                if hole.hits.is_empty() { String::new() } else { format!("; it hits: {}", hole.hits.join(", ")) };
            lines.push(format!(
                "{} missing between {:.3} s and {:.3} s{processor}{hits}",
                counted(hole.missing, "buffer", "buffers"),
                hole.silent.0.seconds(),
                hole.silent.1.seconds(),
            ));
        }
        lines.extend(self.loss.advice(self.buffer_size_bytes).map(|advice| format!("Advice: {advice}")));
        if let Some((held, named)) = self.cut {
            lines.push(format!(
                "THE FILE IS CUT: it holds {} of the {named} that its header names. What came after is unknown, so all \
                 numbers are lower bounds, and rundowns may be missing",
                counted(held, "buffer", "buffers"),
            ));
        }
        if let Some(first) = &self.first_damage {
            let places = counted(self.damaged, "place", "places");
            lines.push(format!("THE FILE IS DAMAGED in {places}, first: {first}"));
        }
        if self.misfit_records > 0 {
            let shown: Vec<_> = self.misfits.iter().take(3).map(|(text, count)| format!("{count} of {text}")).collect();
            let more = if self.misfits.len() > shown.len() { "; …" } else { "" };
            let records = counted(self.misfit_records, "record does not fit its", "records do not fit their");
            lines.push(format!("{records} layout: {}{more}", shown.join("; ")));
        }
        lines.extend(self.other.iter().cloned());
        lines
    }
}

/// A file that was written to its end holds all buffers that its header names, or lacks them in its midst; a circular one
/// keeps the last of them.
fn cut(etl: &EtlFile, loss: &Loss) -> Option<(u64, u64)> {
    let (held, named) = (etl.buffers.len() as u64, u64::from(etl.header.buffers_written));
    let missing: u64 = loss.holes.iter().map(|hole| hole.missing).sum();
    (held.saturating_add(missing) < named && etl.header.mode & MODE_CIRCULAR == 0).then_some((held, named))
}

/// `1 buffer`, `2 buffers`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A circular file is ordered by sequence numbers; where its header says that it begins must agree with them.
fn circular_doubt(etl: &EtlFile) -> Option<String> {
    let header = &etl.header;
    let start = circular_start(header, etl.buffers.len())?;
    let agrees = is_circular_order(&etl.buffers, header.start_buffers as usize, start);
    (!agrees).then(|| {
        format!(
            "by its header (BuffersWritten {}, {} buffers) this circular file begins with buffer {start}, but the sequence numbers say otherwise; they were followed",
            header.buffers_written,
            etl.buffers.len()
        )
    })
}

/// Buffers of types that no known file has are read like data buffers; they are named.
fn unusual_buffers(etl: &EtlFile) -> Option<String> {
    let mut types = BTreeMap::new();
    for buffer in etl.buffers.iter().skip(1).filter(|buffer| buffer.kind != TYPE_GENERIC) {
        *types.entry(buffer.kind).or_insert(0u64) += 1;
    }
    let each: Vec<_> = types.iter().map(|(&kind, n)| format!("{n} of type {kind} ({})", type_name(kind))).collect();
    (!each.is_empty()).then(|| format!("buffers of unusual types are read like data buffers: {}", each.join(", ")))
}
