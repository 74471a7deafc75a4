//! What makes numbers doubtful: losses, damage, records that do not fit, a clock that was guessed. The same list for
//! every command, shown before any table.

use crate::error::{Error, Missing};
use crate::etl::EtlFile;
use crate::etl::buffer::{TYPE_GENERIC, TYPE_HEADER, type_name};
use crate::etl::buffer_order::{circular_start, is_circular_order};
use crate::etl::joined_files::is_same_boot;
use crate::etl::log_file_header::MODE_CIRCULAR;
use crate::event::group_mask_bits;
use crate::event::hooks::LOG_FILE;
use crate::load::survey::{RecordingKey, Survey};
use crate::trace::analysis_needs::HEAPS;
use crate::trace::trust::files_together;
use crate::trace::trust::header_contradictions::{self, Contradiction, WRONG_SUMS, WRONG_TIMES};
use crate::trace::trust::kept_buffers::kept_unevenly;
use crate::trace::trust::loss::{DescribedHole, Loss, OF_ANY_TIME};
use crate::trace::trust::readiness::Need;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::units::{FileTime, count, counted};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that makes the numbers of a trace doubtful.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TrustReport {
    /// What this file lost; [`TrustReport::loss_of_all`] tells of the whole recording.
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
    /// The same for a file that lacks them between others: it was cut where buffers are not in the order of their numbers, or copied in
    /// part. Their holes are no loss of the recording, because the header counts what was written.
    lacks: Option<(u64, u64)>,
    /// True when the file ends inside of its last buffer.
    cut_inside: bool,
    /// Every bit of the group masks that was on at some time.
    masks: [u32; 8],
    /// How the file's records are of more than one recording.
    several_recordings: Option<String>,
    /// Where header and records contradict each other.
    contradictions: Vec<Contradiction>,
    /// How times end before the header's end, where that can be.
    short_of_end: Option<String>,
    /// Events before the header's record that a merge can bring about.
    early_events: Option<String>,
    /// How records of some processors begin later than those of others.
    kept_unevenly: Option<String>,
    other: Vec<String>,
    /// The same about the further files of the recording, by their names.
    pub further: Vec<(String, TrustReport)>,
}

impl TrustReport {
    /// Collects them.
    pub(crate) fn new(etl: &EtlFile, survey: &Survey) -> TrustReport {
        let mut all = TrustReport::of_file(etl, survey, 0);
        let further = etl.further();
        all.further =
            further.map(|(name, file, at)| (name.to_owned(), TrustReport::of_file(file, survey, at.start))).collect();
        let mut other = Vec::new();
        let unsorted = survey.spans.iter().flatten().filter(|span| !span.sorted).count();
        if unsorted > 0 {
            let buffers = counted(unsorted as u64, "buffer holds", "buffers hold");
            other.push(format!("{buffers} records out of time order; they were sorted"));
        }
        let headers = survey.kernel_count(LOG_FILE).saturating_sub(all.further.len() as u64);
        all.several_recordings = several_recordings(etl, survey);
        if headers > 1 && all.several_recordings.is_none() {
            let headers = count(headers);
            other.push(format!("the file holds {headers} log-file headers; the first one defines time and session"));
        }
        if survey.unlisted.0 > 0 {
            let (most, records) = (count(Survey::MOST_KINDS as u64), count(survey.unlisted.0));
            other.push(format!("more than {most} kinds of events: {records} records are not listed"));
        }
        all.other.extend(other);
        all.contradictions = header_contradictions::contradictions(etl, survey);
        all.contradictions.extend(files_together::contradictions(etl, survey));
        all.short_of_end = header_contradictions::short_of_end(etl, survey);
        let is_told = all.contradictions.iter().any(|(code, _)| *code == header_contradictions::BEFORE_START);
        all.early_events = header_contradictions::early_events(etl, survey).filter(|_| !is_told);
        all.kept_unevenly = kept_unevenly(etl, survey);
        let damage = &survey.damage;
        TrustReport {
            masks: survey.masks_ever_on(),
            damaged: damage.total,
            first_damage: (damage.places.first())
                .map(|d| format!("{} at offset {}: expected {}, found {}", d.what, d.offset, d.expected, d.found)),
            misfits: survey.misfits.iter().map(|(misfit, count)| (misfit.to_string(), *count)).collect(),
            misfit_records: survey.misfits.total(),
            ..all
        }
    }

    /// What concerns one file, whose first buffer is `first_buffer` of the recording.
    fn of_file(etl: &EtlFile, survey: &Survey, first_buffer: usize) -> TrustReport {
        let mut loss = Loss::new(etl, survey, first_buffer);
        let cut = cut(etl, &loss);
        let lacks = lacks(etl).filter(|_| cut.is_none());
        loss.excuse(cut.or(lacks).map_or(0, |(held, named)| named.saturating_sub(held)));
        let warnings = [unusual_buffers(etl), circular_doubt(etl), impossible_start(etl)].into_iter().flatten();
        TrustReport {
            cut,
            lacks,
            cut_inside: etl.own_buffers().iter().any(|buffer| buffer.cut),
            loss,
            buffer_size_bytes: etl.header.buffer_size_bytes,
            other: etl.warnings.iter().cloned().chain(warnings).collect(),
            ..TrustReport::default()
        }
    }

    /// What all files of the recording lost together; the fastest moment is that of the fastest file.
    pub fn loss_of_all(&self) -> Loss {
        let mut all = self.loss.clone();
        self.further.iter().for_each(|(_, report)| all.add(&report.loss));
        all
    }

    /// What the file with this number lost, 0 being the first.
    pub(crate) fn loss_of_file(&self, number: u16) -> &Loss {
        self.files().nth(number.into()).map_or(&self.loss, |file| &file.loss)
    }

    /// With what buffers to record next time, by the first file that lost something.
    pub(crate) fn advice(&self) -> Option<String> {
        self.files().find_map(|file| file.loss.advice(file.buffer_size_bytes))
    }

    /// The reports of all files.
    fn files(&self) -> impl Iterator<Item = &TrustReport> {
        std::iter::once(self).chain(self.further.iter().map(|(_, report)| report))
    }

    /// True when data was lost or the file is damaged.
    pub fn any(&self) -> bool {
        self.damaged > 0 || self.files().any(|file| file.loss.any() || file.cut.is_some() || file.lacks.is_some())
    }

    /// True when numbers can be wrong.
    pub fn is_doubtful(&self) -> bool {
        self.warnings().is_doubtful()
    }

    /// True when all sessions wrote how much they lost.
    pub fn counters_known(&self) -> bool {
        self.files().all(|file| file.loss.counters_known)
    }

    /// True when the end of a file is missing, or buffers that its header counts as written.
    pub fn is_cut(&self) -> bool {
        self.files().any(|file| file.cut.is_some() || file.lacks.is_some() || file.cut_inside)
    }

    /// True where the last buffers of the file with this number are missing: it was cut, or its session never stopped.
    pub(crate) fn ends_early(&self, number: u16) -> bool {
        let file = self.files().nth(number.into());
        file.is_some_and(|file| file.cut.is_some() || file.cut_inside || !file.loss.counters_known)
    }

    /// Where the end of this file is missing: what of it is there.
    pub(crate) fn cut_text(&self) -> Option<String> {
        match self.cut {
            Some((held, named)) => {
                let held = counted(held, "buffer", "buffers");
                Some(format!("it holds {held} of the {} that its header names", count(named)))
            }
            None => self.cut_inside.then(|| "it ends inside of its last buffer".to_owned()),
        }
    }

    /// True when the header and the records contradict each other.
    pub(super) const fn is_contradicted(&self) -> bool {
        !self.contradictions.is_empty()
    }

    /// How the file's records are of more than one recording, whose numbers cannot be told apart.
    pub(crate) fn several_recordings(&self) -> Option<&str> {
        self.several_recordings.as_deref()
    }

    /// How events count twice, or as those of another time: then no sum is right.
    pub(crate) fn wrong_sums(&self) -> Option<&str> {
        let is_it = |(code, _): &&Contradiction| WRONG_SUMS.contains(code);
        self.contradictions.iter().find(is_it).map(|(_, text)| text.as_str())
    }

    /// Why the trace holds no events of a recorder keyword.
    pub fn absence_reason(&self, keyword: &str) -> AbsenceReason {
        let is_cut = self.is_cut();
        match () {
            // The keywords stand in the record after the log-file header; after a merge they can be anywhere in the file.
            () if is_cut && self.masks == [0; 8] => AbsenceReason::PerhapsCutOff,
            () if !group_mask_bits::has(&self.masks, keyword) => AbsenceReason::NotRecorded,
            () if is_cut => AbsenceReason::CutOff,
            () if self.any() => AbsenceReason::Lost,
            () => AbsenceReason::NotLogged,
        }
    }

    /// The error of a command that cannot work without a keyword's events. `absent` says what is missing, `advice` what to
    /// record.
    pub fn cannot_run(&self, keyword: &str, absent: &str, advice: &str) -> Error {
        let cut = self.files().find_map(TrustReport::cut_line).unwrap_or_default();
        let lost = || self.files().find_map(TrustReport::lost_line).or_else(|| self.damage_line()).unwrap_or_default();
        match self.absence_reason(keyword) {
            AbsenceReason::CutOff => Error::MissingPart(format!(
                "{absent}. They were recorded (the keyword {keyword} was on), but lie in the part that is missing: {cut}"
            )),
            AbsenceReason::PerhapsCutOff => Error::MissingPart(format!(
                "{absent}. If they were recorded, they lie in the part that is missing: {cut}"
            )),
            AbsenceReason::Lost => Error::MissingPart(format!(
                "{absent}. They were recorded (the keyword {keyword} was on), but none of them is left: {}",
                lost()
            )),
            AbsenceReason::NotLogged => {
                let what = format!(
                    "{absent}, although the keyword {keyword} was on: it is logged while the session runs or when it is \
                     stopped with its rundown"
                );
                Error::MissingEvents(Missing { what, advice: Some(advice.to_owned()) })
            }
            AbsenceReason::NotRecorded if self.any() => {
                let what = format!("{absent}, and the keyword {keyword} was not on");
                let warning = self.warnings().first().map(|warning| warning.text.clone()).unwrap_or_default();
                let advice = format!("{advice}\n(This file is not whole either: {warning})");
                Error::MissingEvents(Missing { what, advice: Some(advice) })
            }
            AbsenceReason::NotRecorded => {
                Error::MissingEvents(Missing { what: absent.to_owned(), advice: Some(advice.to_owned()) })
            }
        }
    }

    /// What this analysis does not know because keywords are missing.
    pub(crate) fn not_there_for(&self, analysis: &'static str, missing: &[Need]) -> Warnings {
        let is_heaps = |need: &Need| need.keyword == HEAPS.keyword;
        let of = |wanted: &dyn Fn(AbsenceReason) -> bool| {
            let costs = missing.iter().filter(|need| !is_heaps(need) && wanted(self.absence_reason(need.keyword)));
            costs.map(|need| format!("{} ({})", need.keyword, need.without)).collect::<Vec<_>>().join("; ")
        };
        let lines = [
            (
                "not_left",
                "recorded, but not in the part of the trace that is left, therefore unknown",
                of(&|absence_reason| absence_reason.is_incomplete()),
            ),
            (
                "not_recorded",
                "not in the trace, therefore unknown",
                of(&|absence_reason| !absence_reason.is_incomplete()),
            ),
        ];
        let missing_lines = lines.into_iter().filter(|(_, _, costs)| !costs.is_empty());
        let heaps = missing.iter().find(|need| is_heaps(need)).map(|need| {
            let text = format!("no heap ranges ({}): pages of heaps are counted as VirtualAlloc", need.keyword);
            Warning::note(analysis, "heaps_not_recorded", text)
        });
        missing_lines
            .map(|(code, text, costs)| Warning::note(analysis, code, format!("{text}: {costs}")))
            .chain(heaps)
            .collect()
    }

    /// What a file lacks between others.
    fn lacks_line(&self) -> Option<String> {
        let (held, named) = self.lacks?;
        let buffers = counted(named.saturating_sub(held), "buffer", "buffers");
        Some(format!(
            "THE FILE LACKS {buffers} of the {} that its header counts as written: it was cut, or copied in part. Copy it again",
            count(named)
        ))
    }

    /// What of this file is not there.
    fn cut_line(&self) -> Option<String> {
        let at_end = self.cut_text().map(|cut| format!("THE FILE IS CUT: {cut}. Copy it again"));
        at_end.or_else(|| self.lacks_line())
    }

    /// What was lost for certain, or is not in the file.
    pub(crate) fn lost_line(&self) -> Option<String> {
        self.loss.summary().or_else(|| self.lacks_line())
    }

    fn damage_line(&self) -> Option<String> {
        let places = counted(self.damaged, "place", "places");
        self.first_damage.as_ref().map(|first| format!("THE FILE IS DAMAGED in {places}, first: {first}"))
    }

    /// Missing buffers with the first hole of each silence: several holes can lie in one.
    fn holes_by_silence(&self) -> Vec<(u64, &DescribedHole)> {
        let mut silences: Vec<(u64, &DescribedHole)> = Vec::new();
        for hole in &self.loss.holes {
            let same = |other: &DescribedHole| {
                (other.silent, &other.processors, &other.hits) == (hole.silent, &hole.processors, &hole.hits)
            };
            match silences.iter_mut().find(|(_, other)| same(other)) {
                Some((missing, _)) => *missing += hole.missing,
                None => silences.push((hole.missing, hole)),
            }
        }
        silences
    }

    /// Why lengths of time and rates are wrong, where they are.
    pub(crate) fn wrong_times(&self) -> Option<String> {
        self.warnings().iter().find(|warning| warning.is_of(&WRONG_TIMES)).map(|warning| warning.text.clone())
    }

    /// What a reader of numbers of this trace has to know, most important first.
    pub fn warnings(&self) -> Warnings {
        let grave = |code, text| Warning::grave(OF_TRACE, code, text);
        let note = |code, text| Warning::note(OF_TRACE, code, text);
        let mut lines = Warnings::default();
        // What follows may be its consequence.
        if let Some(cut) = self.cut_text() {
            let text = format!(
                "THE FILE IS CUT: {cut}. What came after is unknown, so numbers count only what is left, and pages \
                 whose rundown is missing have the wrong category. Copy it again"
            );
            let amount = self.cut.map(|(held, named)| named.saturating_sub(held));
            lines.push(Warning { amount, ..grave("file_cut", text) });
        }
        if let (Some(text), Some((held, named))) = (self.lacks_line(), self.lacks) {
            lines.push(grave("file_cut", text).of(named.saturating_sub(held)));
        }
        lines.extend(self.several_recordings.iter().map(|how| {
            let text = format!(
                "THE FILE HOLDS SEVERAL RECORDINGS: {how}. All records count as those of the first one, so totals are of several. \
                 Take the files apart"
            );
            grave("several_recordings", text)
        }));
        lines.extend(self.contradictions.iter().map(|(code, text)| grave(code, text.clone())));
        lines.extend(self.loss.summary().map(|text| grave("data_lost", text)));
        for (missing, hole) in self.holes_by_silence().into_iter().take(3) {
            let processor = hole.likely_processors();
            let hits =
                if hole.hits.is_empty() { String::new() } else { format!("; it hits: {}", hole.hits.join(", ")) };
            let anytime = if self.loss.lacks_a_processor { format!("; {OF_ANY_TIME}") } else { String::new() };
            let later = match (self.cut, self.loss.is_cut_off()) {
                (Some(_), true) => "; the part that was cut off can hold them",
                (None, true) => "; the header counts them among those that were written",
                (_, false) => "",
            };
            let text = format!(
                "{} missing between {:.3} s and {:.3} s{processor}{hits}{anytime}{later}",
                counted(missing, "buffer", "buffers"),
                hole.silent.0.seconds(),
                hole.silent.1.seconds(),
            );
            lines.push(note("buffers_missing", text).of(missing));
        }
        let advice = self.loss.advice(self.buffer_size_bytes);
        lines.extend(advice.map(|advice| note("buffers_advice", format!("Advice: {advice}"))));
        lines.extend(self.damage_line().map(|text| grave("file_damaged", text).of(self.damaged)));
        if !self.loss.counters_known {
            let text = "THE SESSION WAS NEVER STOPPED: what it lost was never counted, and its last buffers may not be in the \
                        file. Stop the session, and copy the file then";
            lines.push(grave("loss_unknown", text.to_owned()));
        }
        if self.misfit_records > 0 {
            let shown: Vec<_> =
                self.misfits.iter().take(3).map(|(text, records)| format!("{} of {text}", count(*records))).collect();
            let more = if self.misfits.len() > shown.len() { "; …" } else { "" };
            let records = counted(self.misfit_records, "record does not fit its", "records do not fit their");
            let text = format!("{records} layout: {}{more}", shown.join("; "));
            lines.push(note("records_misfit", text).of(self.misfit_records));
        }
        lines.extend(self.short_of_end.iter().map(|text| note("times_short_of_end", text.clone())));
        lines.extend(self.early_events.iter().map(|text| note("some_records_before_start", text.clone())));
        lines.extend(self.kept_unevenly.iter().map(|text| note("kept_unevenly", text.clone())));
        lines.extend(self.other.iter().map(|text| note("unusual_file", text.clone())));
        for (name, report) in &self.further {
            lines.extend(report.warnings().named(name));
        }
        lines
    }
}

/// Why a trace does not hold the events of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbsenceReason {
    /// Their keyword was off.
    NotRecorded,
    /// Their keyword was on, and nothing is missing from the file: there were none.
    NotLogged,
    /// Their keyword was on, and data was lost or damaged.
    Lost,
    /// Their keyword was on, and the file is cut.
    CutOff,
    /// The file is cut, so that not even the keywords are known.
    PerhapsCutOff,
}

impl AbsenceReason {
    /// True when the reason may be the file, not the recording.
    pub const fn is_incomplete(self) -> bool {
        matches!(self, AbsenceReason::Lost | AbsenceReason::CutOff | AbsenceReason::PerhapsCutOff)
    }
}

/// A file that was written to its end holds all buffers that its header names, or lacks some between others. A circular file
/// keeps the last of them.
fn cut(etl: &EtlFile, loss: &Loss) -> Option<(u64, u64)> {
    let missing: u64 = loss.holes.iter().map(|hole| hole.missing).sum();
    lacks(etl).filter(|(held, named)| held.saturating_add(missing) < *named)
}

/// How many buffers a file holds and its header names, where those are more.
fn lacks(etl: &EtlFile) -> Option<(u64, u64)> {
    let (held, named) = (etl.own_buffers().len() as u64, u64::from(etl.header.buffers_written));
    (held < named && etl.header.mode & MODE_CIRCULAR == 0).then_some((held, named))
}

/// Files that were put together, one behind the other: a further log-file header is of another session than those of the recording. A
/// merge leaves one header.
fn several_recordings(etl: &EtlFile, survey: &Survey) -> Option<String> {
    let own: BTreeSet<RecordingKey> = std::iter::once(&etl.header)
        .chain(etl.further().map(|(_, file, _)| &file.header))
        .map(RecordingKey::of)
        .collect();
    let others: Vec<&RecordingKey> = survey.recordings.difference(&own).collect();
    let boot = etl.header.boot_time;
    let Some(first) = others.first() else {
        // Whoever writes a file writes one header buffer, its first.
        let more = etl.own_buffers().iter().skip(1).filter(|buffer| buffer.kind == TYPE_HEADER).count() as u64;
        let buffers = counted(more, "more buffer of it is a header buffer", "more buffers of it are header buffers");
        let computers = survey.has_two_computers.then(|| "its configuration records name two computers".to_owned());
        return (more > 0).then_some(buffers).or(computers);
    };
    let headers = counted(others.len() as u64, "log-file header in it is", "log-file headers in it are");
    let of = match others.iter().find(|other| !is_same_boot(other.boot, boot)) {
        Some(_) => "another boot of Windows or another machine".to_owned(),
        None => {
            let seconds = (i128::from(first.start.0) - i128::from(etl.header.start_time.0)) / 10_000_000;
            let when = if seconds < 0 { "before" } else { "after" };
            format!("another session, which began {} s {when} the first", count(seconds.unsigned_abs() as u64))
        }
    };
    Some(format!("{headers} of {of}"))
}

/// A circular file is ordered by sequence numbers. They must agree with the first buffer by its header.
fn circular_doubt(etl: &EtlFile) -> Option<String> {
    let header = &etl.header;
    let buffers = etl.own_buffers();
    let start = circular_start(header, buffers.len())?;
    let agrees = is_circular_order(buffers, header.start_buffers as usize, start);
    (!agrees).then(|| {
        format!(
            "by its header (BuffersWritten {}, {} buffers) this circular file begins with buffer {start}, but the sequence numbers say otherwise; they were followed",
            header.buffers_written,
            buffers.len()
        )
    })
}

/// 2000-01-01: before it, no Windows wrote such files.
const FIRST_START: FileTime = FileTime(125_911_584_000_000_000);

/// A start that was never written, or cannot be. Times since the start do not depend on it.
fn impossible_start(etl: &EtlFile) -> Option<String> {
    let start = etl.header.start_time;
    const YEAR: u64 = 315_569_520_000_000;
    (start < FIRST_START).then(|| {
        let year = 1601 + start.0 / YEAR;
        format!(
            "the log-file header has no true start time (year {year}): the dates of the trace are not known, times since its start are"
        )
    })
}

/// Buffers of types that no known file has are read like data buffers; they are named.
fn unusual_buffers(etl: &EtlFile) -> Option<String> {
    let mut types = BTreeMap::new();
    for buffer in etl.own_buffers().iter().skip(1).filter(|buffer| buffer.kind != TYPE_GENERIC) {
        *types.entry(buffer.kind).or_insert(0u64) += 1;
    }
    let each: Vec<_> =
        types.iter().map(|(&kind, &n)| format!("{} of type {kind} ({})", count(n), type_name(kind))).collect();
    (!each.is_empty()).then(|| format!("buffers of unusual types are read like data buffers: {}", each.join(", ")))
}
