//! The data that a budget needs, and whether the trace holds it. A loss of other data does not matter.

use crate::analysis::category_rules::{Rule, RuleSet};
use crate::analysis::check::budget::Conditions;
use crate::analysis::check::driver_names::could_be_of_drivers;
use crate::dimensions::label::NO_LABEL;
use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA, CLASS, CLASS_WPA, DETAIL, KIND, MODULE, RULE};
use crate::error::{Damage, DamageLog};
use crate::etl::EtlFile;
use crate::etl::buffer::{FLAG_BUFFER_LOST, FLAG_EVENTS_LOST, TYPE_HEADER};
use crate::etl::buffer_order::Span;
use crate::etl::log_file_header::MODE_NO_PER_PROCESSOR;
use crate::etl::record_id::HookId;
use crate::load::survey::Survey;
use crate::model::category::Category;
use crate::model::page_owner_key::KeyReading;
use crate::model::process::Processes;
use crate::pattern::Patterns;
use crate::trace::Trace;
use crate::trace::analysis_needs::{
    AnalysisNeeds, Exchange, FILES, HEAPS, IMAGES, PFN_DATABASE, PROCESS_THINGS, PROCESSES, REFERENCE_SET, REGIONS,
    RESIDENT_SET, Recorded, THREADS, VIEWS,
};
use crate::trace::trust::damage_time::damaged_times;
use crate::trace::trust::loss::OF_ANY_TIME;
use crate::trace::trust::readiness::{
    is_by_thread, is_pfn_database_unknown, not_described, not_seen, too_many_unread, unknown_lives,
};
use crate::trace::trust::trust_report::{AbsenceReason, TrustReport};
use crate::units::{Nanos, Ticks, counted};
use std::collections::{BTreeMap, BTreeSet};

/// What a budget can need, in the order in which it is named when several are missing.
pub(super) static NEEDED: [&Recorded; 6] = [&PROCESSES, &REGIONS, &VIEWS, &HEAPS, &IMAGES, &FILES];

/// A time in which something was lost.
#[derive(Debug)]
struct LossAt {
    from: Nanos,
    to: Nanos,
    what: String,
}

/// Things of which only pages of drivers are.
pub(super) const DRIVERS: &str = "images of drivers";

/// What is known of the losses of a trace.
#[derive(Debug)]
pub struct Evidence<'t> {
    trust: &'t TrustReport,
    /// Keywords whose events are not in the trace.
    missing: Vec<&'static str>,
    /// Those without a rundown of things whose changes are in the trace, and the name of the things.
    undescribed: Vec<Undescribed>,
    /// True where only its thread tells of which process a record is.
    is_by_thread: bool,
    /// True when nothing tells which pages are of the PFN database.
    is_pfn_database_unknown: bool,
    /// True where owner keys of pages name processes by what only process events tell: without these all private pages are of nobody.
    needs_processes: bool,
    /// Times of the rundowns.
    rundowns: BTreeMap<HookId, (Nanos, Nanos)>,
    losses: Vec<LossAt>,
    /// Events of which too many records could not be read. Of a few a note says so, as in all commands.
    unread: BTreeSet<HookId>,
    /// Losses whose time is not known.
    anywhere: Option<String>,
}

/// Things of which nothing tells what there was before the trace.
#[derive(Debug)]
struct Undescribed {
    keyword: &'static str,
    things: &'static str,
    /// Why it is not known what there was before the trace.
    reason: String,
    /// False where no record of them is there at all, beside those of the other things of their keyword: as of threads in a session with
    /// processes alone.
    has_changes: bool,
}

/// Of pages: whether a key is another thing than the process id, which events of ranges have too.
fn needs_processes(trace: &Trace, analysis: &AnalysisNeeds) -> bool {
    let keys = trace.owner_keys();
    let kind = match analysis.name {
        name if name == RESIDENT_SET.name => trace.snapshots().last().map(|last| (last.version, last.pointer)),
        name if name == REFERENCE_SET.name => keys.accesses,
        _ => None,
    };
    kind.is_some_and(|(version, pointer)| keys.reading(version, pointer) != KeyReading::ProcessId)
}

fn undescribed(survey: &Survey, processes: &Processes) -> Vec<Undescribed> {
    let keyword = PROCESSES.keyword;
    let unknown = unknown_lives(processes);
    let of_processes = unknown.map(|reason| Undescribed { keyword, things: PROCESS_THINGS, reason, has_changes: true });
    let absent = not_seen(survey).map(|(recorded, things)| Undescribed {
        keyword: recorded.keyword,
        things: things.name,
        reason: format!("no rundown of {} tells what there was before the trace", things.name),
        has_changes: false,
    });
    let of_changes = not_described(survey).map(|things| Undescribed {
        keyword: things.recorded.keyword,
        things: things.things,
        reason: things.reason(),
        has_changes: true,
    });
    of_changes.chain(absent).chain(of_processes).collect()
}

/// One file of the recording.
struct FileEvidence<'e> {
    /// Its name, of a further file.
    name: Option<&'e str>,
    etl: &'e EtlFile,
    trust: &'e TrustReport,
    /// Times of its buffers.
    spans: &'e [Option<Span>],
}

impl FileEvidence<'_> {
    /// A reason with the file's name, where it is not the first file's.
    fn named(&self, reason: String) -> String {
        self.name.map_or(reason.clone(), |name| format!("{name}: {reason}"))
    }

    /// The time whose records may have been in buffers that were never written, of a session that was never stopped: from the
    /// first processor's last record to the `end` of the trace; from the beginning where a processor has none.
    fn unwritten(&self, end: Ticks) -> Option<(Nanos, Nanos)> {
        let mut last: BTreeMap<u16, Ticks> = BTreeMap::new();
        let data = self.etl.own_buffers().iter().zip(self.spans).filter(|(buffer, _)| buffer.kind != TYPE_HEADER);
        for (buffer, span) in data.filter_map(|(buffer, span)| Some((buffer, (*span)?))) {
            let is_one = self.etl.header.mode & MODE_NO_PER_PROCESSOR != 0;
            let of = last.entry(if is_one { 0 } else { buffer.processor }).or_insert(span.last);
            *of = span.last.max(*of);
        }
        let first = self.trust.loss.lacks_a_processor.then_some(self.etl.clock.origin);
        let from = first.or(last.into_values().min()).filter(|_| !self.trust.loss.counters_known)?;
        Some((self.etl.clock.nanos(from), self.etl.clock.nanos(end)))
    }
}

/// The files of a recording.
fn files<'e>(etl: &'e EtlFile, survey: &'e Survey, trust: &'e TrustReport) -> Vec<FileEvidence<'e>> {
    let first =
        FileEvidence { name: None, etl, trust, spans: survey.spans.get(..etl.own_buffers().len()).unwrap_or(&[]) };
    let further = etl.further().zip(&trust.further).map(|((name, etl, at), (_, trust))| FileEvidence {
        name: Some(name),
        etl,
        trust,
        spans: survey.spans.get(at).unwrap_or(&[]),
    });
    std::iter::once(first).chain(further).collect()
}

impl<'t> Evidence<'t> {
    /// Collects it.
    pub fn new(trace: &'t Trace, analysis: &AnalysisNeeds) -> Evidence<'t> {
        let (etl, survey, trust) = (trace.etl(), trace.survey(), trace.trust());
        let missing = trace.missing(analysis);
        let nanos = |(from, to)| (etl.clock.nanos(from), etl.clock.nanos(to));
        let all = NEEDED.iter().flat_map(|recorded| recorded.rundowns());
        let mut evidence = Evidence {
            trust,
            missing: missing.iter().map(|need| need.keyword).collect(),
            undescribed: undescribed(survey, trace.processes()),
            is_by_thread: is_by_thread(analysis),
            is_pfn_database_unknown: analysis.name == RESIDENT_SET.name && is_pfn_database_unknown(survey),
            needs_processes: needs_processes(trace, analysis),
            rundowns: all.filter_map(|hook| Some((hook, nanos(survey.kernel_span(hook)?)))).collect(),
            losses: Vec::new(),
            unread: too_many_unread(survey),
            anywhere: None,
        };
        let files = files(etl, survey, trust);
        let end = survey.last().unwrap_or(Ticks(i64::MAX));
        files.iter().for_each(|file| evidence.add_losses(file, end));
        evidence.add_damage(&files, &survey.damage, end);
        evidence
    }

    /// Takes things of a keyword for unknown, for this reason.
    pub fn add_unknown(&mut self, recorded: &Recorded, things: &'static str, reason: String) {
        self.undescribed.push(Undescribed { keyword: recorded.keyword, things, reason, has_changes: true });
    }

    fn add_losses(&mut self, file: &FileEvidence<'_>, end: Ticks) {
        let FileEvidence { etl, trust, spans, .. } = file;
        let loss = &trust.loss;
        let known = self.losses.len();
        self.anywhere = self.anywhere.take().or_else(|| not_one(trust).map(|reason| file.named(reason)));
        for hole in &loss.holes {
            let what = format!("{} missing", counted(hole.missing, "buffer is", "buffers are"));
            self.losses.push(LossAt { from: hole.silent.0, to: hole.silent.1, what });
        }
        let mut last = BTreeMap::new();
        for (buffer, span) in etl.own_buffers().iter().zip(*spans) {
            let Some(span) = span else { continue };
            let before = last.insert(buffer.processor, span.last).unwrap_or(span.first);
            if buffer.flags & (FLAG_EVENTS_LOST | FLAG_BUFFER_LOST) != 0 {
                let (from, to) = (etl.clock.nanos(before.min(span.first)), etl.clock.nanos(span.last));
                self.losses.push(LossAt { from, to, what: "events were lost before a buffer was written".into() });
            }
        }
        for (_, at) in &loss.dropped {
            self.losses.push(LossAt { from: *at, to: *at, what: "events were dropped".into() });
        }
        if self.anywhere.is_none() && loss.missing_buffers > 0 && loss.lacks_a_processor {
            let buffers = counted(loss.missing_buffers, "buffer is", "buffers are");
            self.anywhere = Some(file.named(format!("{buffers} missing, {OF_ANY_TIME}")));
        }
        let listed: u64 = loss.holes.iter().map(|hole| hole.missing).sum();
        let is_unknown = self.losses.len() == known && trust.lost_line().is_some() || listed < loss.missing_buffers;
        if is_unknown && self.anywhere.is_none() {
            let what = trust.lost_line().unwrap_or_default();
            self.anywhere = Some(file.named(format!("{what}; the trace does not tell when")));
        }
        if let Some((from, to)) = file.unwritten(end) {
            let what = "the session was never stopped, and its last buffers may be missing".into();
            self.losses.push(LossAt { from, to, what });
        }
        for loss in self.losses.iter_mut().skip(known) {
            loss.what = file.named(std::mem::take(&mut loss.what));
        }
    }

    fn add_damage(&mut self, files: &[FileEvidence<'_>], damage: &DamageLog, end: Ticks) {
        let file_of = |place: &Damage| {
            let is_own = |name: &str| place.what.starts_with(&format!("{name}: "));
            files.iter().position(|file| file.name.is_some_and(is_own)).unwrap_or(0)
        };
        let of: Vec<usize> = damage.places.iter().map(file_of).collect();
        for (at, file) in files.iter().enumerate() {
            let places = damage.places.iter().zip(&of).filter(|(_, of)| **of == at);
            for time in damaged_times(file.etl, file.spans, end, places.map(|(place, _)| place.offset)) {
                let (from, to) = (file.etl.clock.nanos(time.from), file.etl.clock.nanos(time.to));
                let what = file.named(format!("the file is damaged at offset {}", time.offset));
                self.losses.push(LossAt { from, to, what });
            }
        }
        if damage.total > damage.places.len() as u64 {
            self.anywhere.get_or_insert_with(|| format!("the file is damaged in {} places", damage.total));
        }
    }

    /// Why a time of the trace is not whole.
    fn lost_in(&self, what: &str, from: Nanos, to: Nanos) -> Option<String> {
        let loss = self.losses.iter().find(|loss| loss.from <= to && from <= loss.to)?;
        let (start, end) = (loss.from.seconds(), loss.to.seconds());
        Some(format!("{} between {start:.3} s and {end:.3} s, in which {what} lies", loss.what))
    }

    /// Why too many of these events were left out.
    fn not_read(&self, what: &str, hooks: &[HookId]) -> Option<String> {
        left_out(what, hooks, &self.unread)
    }

    /// Why the value is not known: that of the pages that meet the conditions, from these events in this time.
    pub fn fault(&self, what: &str, hooks: &[HookId], time: (Nanos, Nanos), conditions: &Conditions) -> Option<String> {
        let in_time = || self.lost_in(what, time.0, time.1).or_else(|| self.not_read(what, hooks));
        self.anywhere.clone().or_else(in_time).or_else(|| self.lacks(conditions))
    }

    /// Why it is not known which pages meet the conditions, whatever the pages are.
    pub fn lacks(&self, conditions: &Conditions) -> Option<String> {
        let needed =
            NEEDED.iter().flat_map(|recorded| recorded.exchanges.iter().map(move |exchange| (recorded, exchange)));
        let mut needed = needed.into_iter();
        let fault = needed.find_map(|(recorded, exchange)| self.fault_of(recorded, exchange, conditions));
        fault.or_else(|| self.database_fault(conditions))
    }

    fn fault_of(&self, recorded: &Recorded, exchange: &Exchange, conditions: &Conditions) -> Option<String> {
        let Use { named, splits, needs, takes } = use_of(recorded, exchange, conditions);
        let keyword = recorded.keyword;
        let hides_all = self.needs_processes && keyword == PROCESSES.keyword;
        let details = || VIEWS.exchanges.iter().find_map(|exchange| use_of(recorded, exchange, conditions).named);
        let named = named.or_else(|| hides_all.then(details).flatten());
        if named.is_none() && !splits {
            return None;
        }
        let needed_for = named.unwrap_or("its categories");
        if self.missing.contains(&keyword) {
            return match self.trust.absence_reason(keyword) {
                absence_reason if absence_reason.is_incomplete() => Some(format!(
                    "the events of {keyword}, which tell {needed_for}, are in the part of the trace that is lost"
                )),
                AbsenceReason::NotRecorded if named.is_some() || needs || splits && hides_all => {
                    Some(not_recorded(named, keyword))
                }
                AbsenceReason::NotLogged => Some(format!(
                    "{needed_for} cannot be known: the keyword {keyword} was on, but none of its events are in the trace"
                )),
                _ => None,
            };
        }
        let mut unknown = self.undescribed.iter().filter(|things| things.keyword == keyword);
        // Names of what was there before are not known; threads matter to names of processes where they alone tell these.
        let hides_names = |unknown: &Undescribed| match unknown.things {
            THREADS => self.is_by_thread,
            DRIVERS => takes && could_be_of_drivers(conditions),
            _ => unknown.has_changes,
        };
        let counts =
            |unknown: &&Undescribed| needs || splits && unknown.has_changes || named.is_some() && hides_names(unknown);
        if let Some(Undescribed { reason, .. }) = unknown.find(counts) {
            return Some(format!("{needed_for} cannot be known: {reason}"));
        }
        let what = format!("a rundown of {keyword}, which tells {needed_for},");
        let own = recorded.rundowns().filter_map(|hook| self.rundowns.get(&hook).copied());
        // One processor writes all rundowns of a start or a stop, one after the other: a lost buffer at their edge may have
        // held any of them.
        let things = || NEEDED.iter().flat_map(|recorded| recorded.things);
        let at_start: Vec<HookId> = things().flat_map(|things| things.at_start).copied().collect();
        let at_stop: Vec<HookId> = things().flat_map(|things| things.at_stop).copied().collect();
        let together = [at_start, at_stop].into_iter().filter_map(|hooks| self.all_of(&hooks));
        let lost = own.chain(together).find_map(|(from, to)| self.lost_in(&what, from, to));
        let unread = |what: &str, hooks: Vec<HookId>| self.not_read(&format!("{what} of {keyword}"), &hooks);
        lost.or_else(|| unread("a rundown", recorded.rundowns().collect()))
            .or_else(|| unread("the record", recorded.all_hooks().collect()))
    }

    fn database_fault(&self, conditions: &Conditions) -> Option<String> {
        let takes_a_part = |exchange: &Exchange| use_of(&PFN_DATABASE, exchange, conditions).splits;
        let is_unknown = self.is_pfn_database_unknown && PFN_DATABASE.exchanges.iter().any(takes_a_part);
        is_unknown.then(|| {
            "its categories cannot be known: no KernelMemUsage record tells which pages are of the PFN database"
                .to_owned()
        })
    }

    /// From the first to the last record of several rundowns.
    fn all_of(&self, hooks: &[HookId]) -> Option<(Nanos, Nanos)> {
        let times = || hooks.iter().filter_map(|hook| self.rundowns.get(hook));
        Some((times().map(|(from, _)| *from).min()?, times().map(|(_, to)| *to).max()?))
    }
}

/// What conditions use of a keyword.
pub(super) struct Use {
    /// A dimension whose labels come from it.
    pub named: Option<&'static str>,
    /// They take some of the categories that pages are exchanged between.
    pub splits: bool,
    /// They take some, and of these some that cannot occur without it.
    pub needs: bool,
    /// They take some or all.
    pub takes: bool,
}

pub(super) fn use_of(recorded: &Recorded, exchange: &Exchange, conditions: &Conditions) -> Use {
    let by_name = conditions.by_name();
    // What lies in a module of its process is an image, whatever the views are.
    let is_of_modules =
        by_name.iter().any(|(name, patterns)| *name == MODULE.name && !patterns.could_pass(&[NO_LABEL]));
    let is_told_by_modules = |recorded: &Recorded| is_of_modules && recorded.keyword == VIEWS.keyword;
    let tells = |(name, patterns): &&(&'static str, &Patterns)| {
        let of = (recorded.dimensions)().contains(name);
        // The module of a fault is known by its process; of stacks by the stack itself.
        let of_fault = *name == MODULE.name
            && recorded.keyword == PROCESSES.keyword
            && matches!(conditions, Conditions::Faults(_));
        of || of_fault || *name == KIND.name && splits_kinds(recorded, patterns) && !is_told_by_modules(recorded)
    };
    let by_detail = || by_name.iter().any(|(name, _)| *name == DETAIL.name);
    // What could be met is no match: whether anything in the trace meets a pattern, its rows say. Of a category several rules are: where
    // conditions take some of them, what the others give without the keyword is not among their pages.
    let passes = |category: &Category, by_all_rules: bool| {
        by_name.iter().all(|(name, patterns)| match *name {
            of if exchange.is_of_wpa && ![CATEGORY_WPA.name, CLASS_WPA.name].contains(&of) => true,
            of if of == RULE.name => {
                let mut rules = exchanged_rules(recorded, *category);
                let is_taken = |rule: Rule| patterns.could_pass(&[rule.id()]);
                if by_all_rules { rules.all(is_taken) } else { rules.any(is_taken) }
            }
            of if of == CATEGORY.name || of == CATEGORY_WPA.name => patterns.could_pass(&[category.name()]),
            of if of == CLASS.name || of == CLASS_WPA.name => patterns.could_pass(&[category.class().name()]),
            _ => true,
        })
    };
    let any = |categories: &[Category]| categories.iter().any(|category| passes(category, false));
    let is_of_detail = exchange.has_detail && by_detail() && any(exchange.needs);
    let named = by_name.iter().find(tells).map(|(name, _)| *name).or(is_of_detail.then_some(DETAIL.name));
    let all = exchange.family.iter().all(|category| passes(category, true));
    let takes = any(exchange.family);
    let splits = !all && takes;
    let needs = !all && any(exchange.needs);
    Use { named, splits, needs, takes }
}

/// The rules that give a category by what the keyword tells: whether a page has an owner key it says itself, and whether that names a process is
/// told by processes alone.
fn exchanged_rules(recorded: &Recorded, category: Category) -> impl Iterator<Item = Rule> {
    let is_told_by_processes = recorded.keyword == PROCESSES.keyword;
    let is_other = move |rule: &Rule| match rule {
        Rule::NoOwner => true,
        Rule::UnknownOwner => !is_told_by_processes,
        _ => false,
    };
    let rules = Rule::ALL.into_iter().filter(move |rule| rule.category() == category);
    rules.filter(move |rule| rule.set() != RuleSet::Wpa && !is_other(rule))
}

/// Why a value is not known without a keyword.
pub(super) fn not_recorded(named: Option<&str>, keyword: &str) -> String {
    format!("{} cannot be known: the keyword {keyword} was not recorded", named.unwrap_or("its categories"))
}

/// True when a condition takes some of the kinds of hard faults that the keyword tells apart, and not others.
fn splits_kinds(recorded: &Recorded, patterns: &Patterns) -> bool {
    let taken = recorded.fault_kinds.iter().filter(|kind| patterns.could_pass(&[**kind])).count();
    taken > 0 && taken < recorded.fault_kinds.len()
}

fn left_out(what: &str, hooks: &[HookId], unread: &BTreeSet<HookId>) -> Option<String> {
    let hook = hooks.iter().find(|hook| unread.contains(hook))?;
    Some(format!("records of {hook}, which {what} consists of, do not fit their layout and are left out"))
}

/// What concerns all numbers of a file.
fn not_one(trust: &TrustReport) -> Option<String> {
    let several = || trust.several_recordings().map(|how| format!("the file holds several recordings: {how}"));
    let cut = trust.cut_text().map(|cut| format!("the file is cut: {cut}; copy it again"));
    cut.or_else(several).or_else(|| trust.wrong_sums().map(str::to_owned))
}
