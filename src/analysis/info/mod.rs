//! Facts about a trace: session, clock, providers, losses, damage, and which analyses can run on it (`pfnset info`).

mod buffer_content;
pub(crate) mod recording_files;
mod session_limits;
pub(crate) mod strict_warnings;
mod windows_release;

use crate::analysis::refset::warnings::no_trims;
use crate::analysis::resident::warnings::of_last_before_counting;
use crate::analysis::table::{Field, Table, Value};
use crate::error::DamageLog;
use crate::etl::clock::ClockKind;
use crate::etl::log_file_header::{MODE_NO_PER_PROCESSOR, MODE_RELOG, mode_names};
use crate::etl::record_id::RecordId;
use crate::event::hooks::{IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX, REMOVE_FROM_WS};
use crate::event::{event_names, group_mask_bits};
use crate::load::allocation_kinds::AllocationKind;
use crate::load::stacks::match_probe::any_beside_its_event;
use crate::load::survey::Survey;
use crate::trace::analysis_needs::{CPU, FAULTS, MEMORY_UTILIZATION, STACK_EVENTS};
use crate::trace::trust::level::{TrustLevel, good_for};
use crate::trace::trust::readiness::{Readiness, ReadinessLevel};
use crate::trace::trust::trust_report::TrustReport;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};
use crate::trace::{Parts, Trace};
use crate::units::{FileOffset, FileTime, Nanos, counted};
use buffer_content::BufferContent;
use std::collections::BTreeMap;
use windows_release::release;

/// A user-mode provider with records in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provider {
    /// GUID in lower case.
    pub guid: String,
    /// Name, where it is known or the records carry it.
    pub name: Option<String>,
    /// Records.
    pub events: u64,
}

/// What `pfnset info` shows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceInfo {
    /// Size of the file, bytes.
    pub size_bytes: u64,
    /// Buffers in the file, header buffer included.
    pub buffers: u64,
    /// Compressed buffers among these.
    pub compressed_buffers: u64,
    /// Records in the file.
    pub events: u64,
    /// Of them without a time of their own: the time of the record before them is used.
    pub events_without_time: u64,
    /// Where zeros end a preallocated log.
    pub end_of_log: Option<FileOffset>,
    /// Session name.
    pub logger_name: String,
    /// Name under which the file was written.
    pub log_file_name: String,
    /// Session buffer size, bytes.
    pub buffer_size_bytes: u32,
    /// Buffers that the session says it wrote (0: never stopped).
    pub buffers_written: u32,
    /// Log-file modes by name.
    pub mode: Vec<String>,
    /// Clock type.
    pub clock: ClockKind,
    /// Its frequency.
    pub clock_frequency_hz: u64,
    /// Pointer size of the logging system.
    pub pointer_bits: u32,
    /// Processors of the session; 1 where it had no buffers for each processor.
    pub processors: u32,
    has_own_buffers: bool,
    /// Processors of the machine, if the trace has them: from its configuration, or from a session with per-processor buffers.
    pub machine_processors: Option<u32>,
    /// Windows version, e.g. (10, 0).
    pub os_version: (u8, u8),
    /// Windows build.
    pub os_build: u32,
    /// The release that people know by that build, where it has a name.
    pub os_release: Option<&'static str>,
    /// Windows by name and exact build, where the trace says it.
    pub os_text: Option<String>,
    /// First instant.
    pub start: FileTime,
    /// When the session was stopped.
    pub end: Option<FileTime>,
    /// When Windows booted.
    pub boot: FileTime,
    /// From the first instant to the latest record.
    pub duration: Nanos,
    /// When the records begin, where older ones were overwritten: of a circular log, or of buffers in memory.
    pub kept_from: Option<Nanos>,
    /// True for merged files.
    pub merged: bool,
    /// Recorder keywords of the kernel session.
    pub keywords: Vec<String>,
    /// What fills the buffers, most bytes first.
    content: Vec<BufferContent>,
    /// Bytes of all stacks.
    pub stack_bytes: u64,
    /// Limits of the session.
    pub advice: Vec<String>,
    /// User-mode providers, most records first.
    pub providers: Vec<Provider>,
    /// Losses and other trust.
    pub trust: TrustReport,
    /// What a reader has to know, most important first.
    pub warnings: Warnings,
    /// The commands that check their numbers, where they can run.
    checks: Vec<&'static str>,
    /// True when these checks were made.
    is_checked: bool,
    /// Damaged places.
    pub damage: DamageLog,
    /// Readiness for each analysis.
    pub analyses: Vec<Readiness>,
}

impl TraceInfo {
    /// Collects the facts.
    pub fn answer(trace: &Trace) -> TraceInfo {
        trace.gather(Parts::PAGES);
        let (etl, survey) = (trace.etl(), trace.survey());
        let header = &etl.header;
        let product = survey.os_text.as_ref().map(|(_, text)| text.as_str());
        let own_processors = (header.mode & MODE_NO_PER_PROCESSOR == 0).then_some(header.processors);
        TraceInfo {
            size_bytes: etl.size_bytes(),
            buffers: etl.buffers.len() as u64,
            compressed_buffers: etl.buffers.iter().filter(|b| b.is_compressed()).count() as u64,
            events: survey.total,
            events_without_time: survey.untimed,
            end_of_log: etl.end_of_log,
            logger_name: etl.logger_name.clone(),
            log_file_name: etl.log_file_name.clone(),
            buffer_size_bytes: header.buffer_size_bytes,
            buffers_written: header.buffers_written,
            mode: mode_names(header.mode),
            clock: etl.clock.kind,
            clock_frequency_hz: etl.clock.frequency_hz,
            pointer_bits: header.pointer_bytes.saturating_mul(8),
            processors: header.processors,
            has_own_buffers: header.mode & MODE_NO_PER_PROCESSOR == 0,
            machine_processors: survey.machine_processors.or(own_processors),
            os_version: header.os_version,
            os_build: header.os_build,
            os_release: release(header.os_build, product),
            os_text: survey.os_text.as_ref().map(|(_, text)| text.clone()),
            start: header.start_time,
            end: header.end_time,
            boot: header.boot_time,
            duration: survey.last().map_or(Nanos(0), |last| etl.clock.nanos(last)),
            kept_from: survey.kept_from(etl).map(|from| etl.clock.nanos(from)),
            merged: header.mode & MODE_RELOG != 0,
            keywords: group_mask_bits::names(&survey.masks_ever_on()).into_iter().map(String::from).collect(),
            content: buffer_content::content(survey),
            stack_bytes: stack_records(survey) + survey.carried_stack_bytes,
            advice: session_limits::limits(etl, survey),
            providers: providers(survey),
            trust: trace.trust().clone(),
            warnings: warnings(trace),
            checks: checks(trace),
            is_checked: false,
            damage: survey.damage.clone(),
            analyses: analyses(trace),
        }
    }

    /// The same, with what the analyses say of their own numbers: each that can run is run.
    pub fn checked(trace: &Trace) -> TraceInfo {
        let mut info = TraceInfo::answer(trace);
        info.warnings.add(strict_warnings::warnings(trace));
        TraceInfo { is_checked: true, ..info }
    }

    /// The commands whose checks of their numbers were not made.
    pub(crate) fn unchecked(&self) -> &[&'static str] {
        if self.is_checked { &[] } else { &self.checks }
    }

    /// What fills the buffers: groups of kernel events and providers, most bytes first, and stacks in all.
    pub fn content_table(&self) -> Table {
        buffer_content::content_table(&self.content, self.stack_bytes)
    }

    /// The providers as records; people see them among what fills the buffers.
    pub fn provider_table(&self) -> Table {
        let record = |p: &Provider| {
            vec![Value::text(&p.guid), Value::maybe(p.name.as_deref(), Value::text), Value::count(p.events)]
        };
        Table {
            fields: ["provider", "name", "events"].map(Field::new).to_vec(),
            records: self.providers.iter().map(record).collect(),
            ..Table::default()
        }
    }

    /// True for a session without buffers for each processor.
    pub fn is_unbound(&self) -> bool {
        !self.has_own_buffers
    }

    /// Whether the trace is to be trusted.
    pub fn trust(&self) -> TrustLevel {
        match TrustLevel::of(&self.trust) {
            TrustLevel::Yes | TrustLevel::WithCare(_) if !self.warnings.is_empty() => {
                TrustLevel::WithCare(self.warnings.len())
            }
            level => level,
        }
    }

    /// The analyses that the trace is good for, in words.
    pub fn good_for(&self) -> String {
        good_for(&self.analyses)
    }

    /// True when data was lost, the file is damaged, or an analysis would give wrong numbers.
    pub fn is_doubtful(&self) -> bool {
        self.warnings.is_doubtful()
    }

    fn is_at_size_limit(&self) -> bool {
        self.warnings.iter().any(|warning| warning.code == SIZE_LIMIT)
    }

    /// Whether the trace is to be trusted, in a sentence. It does not call numbers good that nobody has checked.
    pub(crate) fn verdict(&self) -> String {
        let level = self.trust();
        let whole = "no loss, damage or cut was found";
        let checks = in_words(&self.checks);
        match () {
            () if self.warnings.len() == 1 && self.trust.counters_known() && self.is_at_size_limit() => {
                "trust it with care; no loss was found, but events are as large as can be, and larger ones are not recorded"
                    .into()
            }
            () if self.checks.is_empty() || self.trust.any() => level.text(),
            () if level == TrustLevel::Yes && self.is_checked => {
                format!("trust it; {whole}, and the checks of {checks} passed")
            }
            () if self.is_checked => self.with_grave(level),
            () if level == TrustLevel::Yes => {
                format!("{whole}; whether the numbers agree is checked by {checks}, or by pfnset info --strict")
            }
            () => format!("{}; more is checked by {checks}, or by pfnset info --strict", self.with_grave(level)),
        }
    }

    /// A level, and how many of the warnings make numbers wrong: `--strict` fails on these.
    fn with_grave(&self, level: TrustLevel) -> String {
        match (level, self.warnings.grave().len() as u64) {
            (TrustLevel::WithCare(1), 1) => format!("{}; it makes numbers wrong", level.text()),
            (TrustLevel::WithCare(_), some @ 1..) => {
                format!("{}, {} numbers wrong", level.text(), counted(some, "of which makes", "of which make"))
            }
            _ => level.text(),
        }
    }
}

/// Code of the doubt about events that are as large as can be.
const SIZE_LIMIT: &str = "events_at_size_limit";

/// What casts doubt on the trace; on its analyses what the kinds of records and the order of page records tell.
fn warnings(trace: &Trace) -> Warnings {
    let trust = trace.trust();
    let mut warnings = trust.warnings();
    let at_limit = session_limits::at_size_limit(trace.etl(), trace.survey());
    warnings.extend(at_limit.map(|text| Warning::note(OF_TRACE, SIZE_LIMIT, text)));
    warnings.extend(of_last_before_counting(trace));
    let has = |hook| trace.survey().kernel_count(hook) > 0;
    if has_accesses(trace) && !has(REMOVE_FROM_WS) {
        warnings.push(no_trims(trust));
    }
    warnings
}

/// What the trace is good for: stacks only where a look at them finds their events.
fn analyses(trace: &Trace) -> Vec<Readiness> {
    let mut all = trace.readiness();
    let are_stacks = |analysis: &&mut Readiness| {
        analysis.name == STACK_EVENTS.name && analysis.events > 0 && trace.survey().carried_stack_bytes == 0
    };
    if let Some(stacks) = all.iter_mut().find(are_stacks).filter(|_| !any_beside_its_event(trace.etl())) {
        stacks.level = ReadinessLevel::Partial;
        stacks.note = Some("no event of these stacks is in their buffers: they probably belong to none".to_owned());
    }
    all
}

fn has_accesses(trace: &Trace) -> bool {
    [IN_MEMORY_ACTIVE, PAGE_ACCESS, PAGE_ACCESS_EX].iter().any(|&hook| trace.survey().kernel_count(hook) > 0)
}

/// The commands that check their numbers, where they can run.
fn checks(trace: &Trace) -> Vec<&'static str> {
    let analyses = trace.readiness();
    let runs =
        |name: &str| analyses.iter().any(|analysis| analysis.name == name && analysis.level != ReadinessLevel::Missing);
    let commands = [
        (!trace.snapshots().is_empty(), "resident"),
        (has_accesses(trace), "refset"),
        (runs(CPU.name), "cpu"),
        (runs(FAULTS.name), "faults"),
        (runs(MEMORY_UTILIZATION.name), "memory"),
        (AllocationKind::ALL.iter().any(|kind| runs(kind.needs().name)), "allocations"),
    ];
    commands.into_iter().filter(|(can_run, _)| *can_run).map(|(_, command)| command).collect()
}

/// `pfnset resident, refset and cpu`.
fn in_words(commands: &[&str]) -> String {
    match commands {
        [] => String::new(),
        [one] => format!("pfnset {one}"),
        [first @ .., last] => format!("pfnset {} and {last}", first.join(", ")),
    }
}

/// Bytes of the kernel's records of stacks.
fn stack_records(survey: &Survey) -> u64 {
    let stacks =
        survey.kinds.iter().filter(|kind| event_names::name(kind.id).is_some_and(|known| known.group() == "StackWalk"));
    stacks.map(|kind| kind.bytes).sum()
}

fn providers(survey: &Survey) -> Vec<Provider> {
    let mut all: BTreeMap<String, Provider> = BTreeMap::new();
    for kind in &survey.kinds {
        let guid = match kind.id {
            RecordId::Manifest { provider, .. } => provider,
            RecordId::Classic { class, .. } => class,
            RecordId::Message { guid, .. } => guid,
            RecordId::Kernel(_) | RecordId::Opaque(_) => continue,
        };
        let known = || event_names::provider_name(guid).or_else(|| event_names::name(kind.id).map(|k| k.group()));
        let name = || kind.own_provider.clone().or_else(|| known().map(str::to_owned));
        let entry =
            all.entry(guid.to_string()).or_insert_with(|| Provider { guid: guid.to_string(), name: None, events: 0 });
        entry.events += kind.count;
        entry.name = entry.name.take().or_else(name);
    }
    let mut list: Vec<Provider> = all.into_values().collect();
    list.sort_by(|a, b| b.events.cmp(&a.events).then_with(|| a.guid.cmp(&b.guid)));
    list
}
