//! Which analyses can run on a trace: are the events there that they need ([`recorded`](crate::trace::analysis_needs))?

use crate::etl::record_id::HookId;
use crate::event::group_mask_bits;
use crate::event::hooks::{PROCESS_DC_END, PROCESS_DC_START};
use crate::event::payload::hook_of;
use crate::load::misfitting_payloads::Misfit;
use crate::load::survey::Survey;
use crate::model::file_names::NameRecords;
use crate::model::process::{Instance, Processes, WHOLE_LIST};
use crate::moment::Moment;
use crate::named_enum::named_enum;
use crate::trace::analysis_needs::{
    ANALYSES, AnalysisNeeds, CPU, DESCRIBING, FAULTS, PFN_DATABASE, PROCESSES, REFERENCE_SET, REGIONS, RESIDENT_SET,
    Recorded, STACKS, Things, VIEW_THINGS, VIEWS,
};
use crate::trace::trust::warning::{Warning, Warnings, are_most, records_missing};
use crate::units::{count, counted};
use std::collections::{BTreeMap, BTreeSet};

named_enum! {
    /// Can the analysis run?
    pub enum ReadinessLevel {
        /// All events that it uses are there.
        Ready = "ready",
        /// It runs, but parts of its answer are missing or less exact.
        Partial = "partial",
        /// It cannot run.
        Missing = "missing",
    }
}

/// Events of one recorder keyword that an analysis uses.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Need {
    /// Keyword in a WPR profile.
    pub keyword: &'static str,
    /// Flag of xperf; `None` where xperf has none.
    pub xperf: Option<&'static str>,
    /// What the events are, for people.
    pub events: &'static str,
    /// What the analysis lacks without them.
    pub without: &'static str,
    /// True when the analysis cannot run without them.
    pub required: bool,
    /// True when the keyword was on while recording, but none of its events are in the trace.
    pub was_on: bool,
}

/// An analysis and what it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Readiness {
    /// Name as in JSON: `resident_set`, ….
    pub name: &'static str,
    /// Name for people, with the command.
    pub title: &'static str,
    /// Can it run?
    pub level: ReadinessLevel,
    /// Records of what it needs most.
    pub events: u64,
    /// What is not in the trace.
    pub missing: Vec<Need>,
    /// What a look at the events says of them, where they are of less use than their number tells.
    pub note: Option<String>,
}

/// Judges all analyses.
pub(crate) fn readiness(survey: &Survey) -> Vec<Readiness> {
    ANALYSES.iter().map(|analysis| judge(survey, analysis)).collect()
}

/// Judges one analysis.
pub(crate) fn judge(survey: &Survey, analysis: &AnalysisNeeds) -> Readiness {
    let masks = survey.masks_ever_on();
    let need = |recorded: &Recorded, without, required| need(&masks, recorded, without, required);
    let is_missing = |recorded: &Recorded| records(survey, recorded) == 0;
    let instead = analysis.instead.filter(|(recorded, _)| !is_missing(recorded));
    let required = is_missing(analysis.required).then(|| match instead {
        Some((_, without)) => need(analysis.required, without, false),
        None => need(analysis.required, "everything", true),
    });
    let is_required = |recorded: &Recorded| required.is_some_and(|need: Need| need.keyword == recorded.keyword);
    let missing = analysis.optional.iter().filter(|(recorded, _)| is_missing(recorded));
    let optional = missing.filter(|(recorded, _)| !is_required(recorded));
    let unknown = of_parts(survey, analysis);
    let level = match required {
        Some(need) if need.required => ReadinessLevel::Missing,
        None if optional.clone().next().is_none() && unknown.is_empty() => ReadinessLevel::Ready,
        _ => ReadinessLevel::Partial,
    };
    let counted = match (required, instead) {
        (Some(_), Some((recorded, _))) => recorded,
        _ => analysis.required,
    };
    Readiness {
        name: analysis.name,
        title: analysis.title,
        level,
        events: records(survey, counted),
        missing: required
            .into_iter()
            .chain(optional.map(|(recorded, without)| need(recorded, without, false)))
            .collect(),
        note: (level == ReadinessLevel::Partial && !unknown.is_empty()).then(|| unknown.texts().join("; ")),
    }
}

fn need(masks: &[u32; 8], recorded: &Recorded, without: &'static str, required: bool) -> Need {
    let Recorded { keyword, xperf, events, .. } = *recorded;
    Need { keyword, xperf, events, without, required, was_on: group_mask_bits::has(masks, keyword) }
}

/// What is not known without these records; `None` where the trace has some.
pub(crate) fn lacking(survey: &Survey, recorded: &Recorded, without: &'static str) -> Option<Need> {
    (records(survey, recorded) == 0).then(|| need(&survey.masks_ever_on(), recorded, without, false))
}

/// Stacks can be records of their own or parts of their events, which are not counted apart.
fn records(survey: &Survey, recorded: &Recorded) -> u64 {
    let records = recorded.hooks().map(|hook| survey.kernel_count(hook)).sum();
    let has_parts = recorded.keyword == STACKS.keyword && survey.carried_stack_bytes > 0;
    if has_parts { std::cmp::max(records, 1) } else { records }
}

fn holds_any(survey: &Survey, mut hooks: impl Iterator<Item = HookId>) -> bool {
    hooks.any(|hook| survey.kernel_count(hook) > 0)
}

/// Things of which it is not known what there was before the trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotDescribed {
    /// What records them.
    pub recorded: &'static Recorded,
    /// Their name, in the plural.
    pub things: &'static str,
    /// Records of their rundown, which are too few to be all of it, and of that of processes.
    few: Option<(u64, u64)>,
}

impl NotDescribed {
    /// Why it is not known what there was before the trace.
    pub fn reason(&self) -> String {
        let things = self.things;
        let of_few = |(records, processes)| {
            let [records, processes] = [counted(records, "record", "records"), count(processes)];
            format!("the rundown of {things} is not whole: {records}, beside {processes} processes")
        };
        self.few.map_or_else(|| format!("no rundown of {things} tells what there was before the trace"), of_few)
    }
}

/// Things whose changes were recorded, but not their state before, or next to nothing of it. Each process has at least a thread, an image and
/// a region, and its image has a name: a rundown that has half as many records as there are processes has lost most of them.
pub(crate) fn not_described(survey: &Survey) -> impl Iterator<Item = NotDescribed> {
    let all = DESCRIBING.into_iter().flat_map(|recorded| recorded.things.iter().map(move |things| (recorded, things)));
    let most = |rundowns: [&[HookId]; 2]| {
        let records = |hooks: &[HookId]| hooks.iter().map(|hook| survey.kernel_count(*hook)).sum::<u64>();
        rundowns.into_iter().map(records).max().unwrap_or(0)
    };
    let processes = most([&[PROCESS_DC_START], &[PROCESS_DC_END]]);
    all.filter_map(move |(recorded, things)| {
        let others = things.at_any_time.iter().chain(things.told_by).map(|hook| survey.kernel_count(*hook));
        let records = most([things.at_start, things.at_stop]).saturating_add(others.sum());
        let few = match records {
            0 if holds_any(survey, things.changes()) => None,
            0 => return None,
            _ if processes >= WHOLE_LIST && records.saturating_mul(2) < processes => Some((records, processes)),
            _ => return None,
        };
        Some(NotDescribed { recorded, things: things.name, few })
    })
}

/// Things of which no record is there, though others of their keyword are: threads, in a session with processes alone.
pub(crate) fn not_seen(survey: &Survey) -> impl Iterator<Item = (&'static Recorded, &'static Things)> {
    let is_there = |recorded: &&'static Recorded| records(survey, recorded) > 0;
    let others = DESCRIBING.into_iter().filter(is_there).flat_map(|recorded| {
        let others = recorded.things.iter().skip(1);
        others.map(move |things| (recorded, things))
    });
    others.filter(|(_, things)| !holds_any(survey, things.described().chain(things.changes())))
}

/// Processes that were there before the trace and ended in it after `from`, where only the rundown at the stop lists regions, or views: it does
/// not list theirs, and of the others events are undone from it back. With the keyword of what is not told.
pub(crate) fn untold_ranges(
    survey: &Survey,
    processes: &Processes,
    from: Moment,
) -> impl Iterator<Item = (&'static Recorded, u64, String)> {
    let untold = move |recorded: &'static Recorded| {
        let things = recorded.things.first()?;
        let has = |hooks: &[HookId]| holds_any(survey, hooks.iter().copied());
        let listed = things.at_stop.iter().filter_map(|hook| survey.kernel_span(*hook)).map(|span| span.0).min()?;
        let is_untold = |process: &&Instance| {
            let ended = process.end_time().is_some_and(|end| end < listed);
            !process.start_logged && process.end > from && ended
        };
        let ended = processes.instances.iter().filter(is_untold).count() as u64;
        (ended > 0 && !has(things.at_start)).then(|| {
            let who = counted(ended, "process from before the trace", "processes from before the trace");
            let name = things.name;
            let text = format!("only the rundown at the stop lists {name}: it lacks those of {who} that ended in it");
            (recorded, ended, text)
        })
    };
    [&REGIONS, &VIEWS].into_iter().filter_map(untold)
}

/// True when no record tells where the PFN database lies.
pub(crate) fn is_pfn_database_unknown(survey: &Survey) -> bool {
    records(survey, &PFN_DATABASE) == 0
}

/// What an analysis of pages does not know although the keywords were recorded.
fn of_parts(survey: &Survey, analysis: &AnalysisNeeds) -> Warnings {
    let uses = |recorded: &Recorded| {
        let is_it = |(other, _): &(&Recorded, &str)| other.keyword == recorded.keyword;
        !recorded.exchanges.is_empty() && analysis.optional.iter().any(is_it)
    };
    let is_of_pages = [RESIDENT_SET.name, REFERENCE_SET.name].contains(&analysis.name);
    let things = not_seen(survey).filter(|(recorded, _)| is_of_pages && uses(recorded));
    let things = things.map(|(_, things)| {
        Warning::note(analysis.name, "things_unknown", format!("no record of {}: {}", things.name, things.without))
    });
    let database = (analysis.name == RESIDENT_SET.name && is_pfn_database_unknown(survey)).then(|| {
        let text = "no KernelMemUsage record: pages of the PFN database count as SystemPage".to_owned();
        Warning::note(analysis.name, "pfn_database_unknown", text)
    });
    things.chain(database).collect()
}

/// Code of records of names of files that are missing.
pub(crate) const NAMES_MISSING: &str = "file_name_records_missing";

/// Records of processes that can be missing.
struct ProcessRecords {
    codes: [&'static str; 2],
    /// What one is, and several are.
    missing: [&'static str; 2],
    there: [&'static str; 2],
    /// How it is known, and what it does to numbers.
    why: &'static str,
    so: &'static str,
}

const ENDS: ProcessRecords = ProcessRecords {
    codes: ["process_ends_missing", "some_process_ends_missing"],
    missing: ["end of a process is", "ends of processes are"],
    there: ["end is there", "ends are there"],
    why: "another process has the id later, or the list of processes at the end lacks it",
    so: "what ended with them counts as going on",
};

const STARTS: ProcessRecords = ProcessRecords {
    codes: ["process_starts_missing", "some_process_starts_missing"],
    missing: ["start of a process is", "starts of processes are"],
    there: ["start is there", "starts are there"],
    why: "another process had the id before, or the list of processes at the start lacks it",
    so: "what began with them can count as of the process before or as from before the trace",
};

impl ProcessRecords {
    fn text(&self, (missing, there): (u64, u64)) -> String {
        let ([one, many], [one_there, many_there]) = (self.missing, self.there);
        let [missing, there] = [counted(missing, one, many), counted(there, one_there, many_there)];
        format!("{missing} in no record: {}; {there}: {}", self.why, self.so)
    }

    /// Why they leave numbers unknown: where more are missing than are there.
    fn reason(&self, counts: (u64, u64)) -> Option<String> {
        are_most(counts.0, counts.1).then(|| self.text(counts))
    }

    fn warning(&self, counts: (u64, u64), analysis: &AnalysisNeeds) -> Option<Warning> {
        records_missing(analysis.name, self.codes, counts, self.text(counts))
    }
}

/// Why it is not known when processes ended or started.
pub(crate) fn unknown_lives(processes: &Processes) -> impl Iterator<Item = String> {
    [STARTS.reason(processes.starts_missing()), ENDS.reason(processes.ends_missing())].into_iter().flatten()
}

/// That ends or starts of processes are missing.
pub(crate) fn of_lives(processes: &Processes, analysis: &AnalysisNeeds) -> impl Iterator<Item = Warning> {
    let [ends, starts] = [processes.ends_missing(), processes.starts_missing()];
    [STARTS.warning(starts, analysis), ENDS.warning(ends, analysis)].into_iter().flatten()
}

/// That more records of names of files are missing than are there.
pub(crate) fn of_names(records: &NameRecords, analysis: &AnalysisNeeds) -> Option<Warning> {
    let of = |(missing, there): (u64, u64), name: &str| {
        let [missing_text, there_text] = [count(missing), count(there)];
        (missing > there).then(|| format!("{missing_text} {name} are missing ({there_text} are there)"))
    };
    let missing: Vec<String> =
        of(records.deletes, "deletes").into_iter().chain(of(records.creates, "creates")).collect();
    let text = || {
        let missing = missing.join(", ");
        format!(
            "records of names of files: {missing}; what is of one file counts as of another with the same file object"
        )
    };
    (!missing.is_empty()).then(|| Warning::grave(analysis.name, NAMES_MISSING, text()))
}

/// What keywords that the analysis uses would describe, and nothing does: rundowns that are missing, and what was not recorded at all.
pub(crate) fn undescribed(survey: &Survey, processes: &Processes, analysis: &AnalysisNeeds) -> Warnings {
    let is_of_pages = [RESIDENT_SET.name, REFERENCE_SET.name].contains(&analysis.name);
    let uses = |recorded: &Recorded| {
        is_of_pages || analysis.optional.iter().any(|(other, _)| other.keyword == recorded.keyword)
    };
    let (few, none): (Vec<NotDescribed>, Vec<NotDescribed>) =
        not_described(survey).filter(|things| uses(things.recorded)).partition(|things| things.few.is_some());
    let names: Vec<&str> = none.iter().map(|things| things.things).collect();
    let text = || format!("no rundown of {}: of these only what changed during the trace is known", names.join(", "));
    let missing = (!names.is_empty()).then(|| Warning::grave(analysis.name, "rundown_missing", text()));
    let incomplete = few.into_iter().map(|things| {
        let text = format!("{}; most of what there was before the trace is not known", things.reason());
        Warning::grave(analysis.name, "rundown_incomplete", text)
    });
    let threads = is_by_thread(analysis).then(|| no_threads(survey, analysis)).flatten();
    missing
        .into_iter()
        .chain(incomplete)
        .chain(threads)
        .chain(is_of_pages.then(|| without_end_rundown(survey, analysis)).flatten())
        .chain(unread(survey, analysis))
        .chain(of_parts(survey, analysis))
        .chain(of_lives(processes, analysis))
        .collect()
}

/// That the rundown at the stop lacks things that others of it are there beside, or that the one at the start lists: it was lost, or it was left out
/// on purpose.
fn without_end_rundown(survey: &Survey, analysis: &AnalysisNeeds) -> Option<Warning> {
    let has = |hooks: &[HookId]| holds_any(survey, hooks.iter().copied());
    let all = || DESCRIBING.iter().flat_map(|recorded| recorded.things);
    let other = all().find(|things| has(things.at_stop));
    // A list of a few processes is no rundown of a machine.
    let listed: u64 =
        PROCESSES.things.iter().flat_map(|things| things.at_start).map(|hook| survey.kernel_count(*hook)).sum();
    if other.is_none() && listed < WHOLE_LIST {
        return None;
    }
    // Without one at the start nothing is known anyway, which is said.
    let is_without = |things: &Things| !things.at_stop.is_empty() && !has(things.at_stop) && has(things.at_start);
    let names: Vec<&str> = all().filter(|things| is_without(things)).map(|things| things.name).collect();
    let is_of_views = names.contains(&VIEW_THINGS);
    let session = if is_of_views { "; copies of session images can count as SessionPrivate" } else { "" };
    (!names.is_empty()).then(|| {
        let though = other.map_or_else(String::new, |other| format!(", though there is one of {}", other.name));
        let names = names.join(", ");
        let text = format!("no end rundown of {names}{though}: nothing proves what there was at the end{session}");
        Warning::note(analysis.name, "end_rundown_missing", text)
    })
}

/// That processes have records in the trace, and none tells of their threads.
pub(crate) fn no_threads(survey: &Survey, analysis: &AnalysisNeeds) -> Option<Warning> {
    let (_, things) = not_seen(survey).next()?;
    let text = format!("no record of {}: of which process they are is unknown", things.name);
    Some(Warning::grave(analysis.name, "rundown_missing", text))
}

/// Events of which too many records do not fit their layout and were left out: at least half, or any of a rundown, where each record
/// alone tells of a process, a file or a range. Fewer are a note for all analyses.
pub(crate) fn too_many_unread(survey: &Survey) -> BTreeSet<HookId> {
    let mut counts: BTreeMap<HookId, u64> = BTreeMap::new();
    for (misfit, count) in survey.misfits.iter() {
        let hook = if let Misfit::Malformed(malformed) = misfit { hook_of(malformed.id) } else { None };
        hook.into_iter().for_each(|hook| *counts.entry(hook).or_default() += count);
    }
    let of_rundowns: BTreeSet<HookId> = DESCRIBING.into_iter().flat_map(Recorded::rundowns).collect();
    let is_too_many = |(hook, count): &(HookId, u64)| {
        of_rundowns.contains(hook) || count.saturating_mul(2) >= survey.kernel_count(*hook)
    };
    counts.into_iter().filter(is_too_many).map(|(hook, _)| hook).collect()
}

fn unread(survey: &Survey, analysis: &AnalysisNeeds) -> Option<Warning> {
    let unread = too_many_unread(survey);
    let needed = [Some(analysis.required), analysis.instead.map(|(recorded, _)| recorded)];
    let needed = needed.into_iter().flatten().chain(analysis.optional.iter().map(|(recorded, _)| *recorded));
    let hooks: BTreeSet<HookId> = needed.flat_map(Recorded::all_hooks).filter(|hook| unread.contains(hook)).collect();
    let names: Vec<String> = hooks.iter().map(HookId::to_string).collect();
    let text = || {
        format!("records of {} do not fit their layout and are left out: what they tell is not known", names.join(", "))
    };
    (!names.is_empty()).then(|| Warning::grave(analysis.name, "records_unread", text()))
}

/// True where only its thread tells of which process a record is.
pub(crate) fn is_by_thread(analysis: &AnalysisNeeds) -> bool {
    [CPU.name, FAULTS.name].contains(&analysis.name)
}
