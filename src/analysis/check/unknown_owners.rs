//! What can be of a value though no record says so: of processes that nobody names, of files without names, time of unknown threads. Where it
//! could take the value beyond a limit, the limit is not judged.

use super::budget::{Conditions, Limit, Measure, MeasureUnit, WHOLE};
use super::measured_value::{Row, UnknownAmount, Value};
use super::verdict::{LimitKind, LimitResult, Verdict};
use crate::dimensions::process_dimensions::named_process_id;
use crate::dimensions::single_dimensions::{DETAIL, KIND, MODULE};
use crate::dimensions::{Condition, Dimension, FileFacet, NO_LABEL, ProcessFacet};
use crate::pattern::{Pattern, Patterns};
use crate::units::{count, counted, milliseconds, needs_nanoseconds};

/// What labels of processes and files that no record names begin with.
const UNKNOWN: &str = "Unknown*";

/// Those of them that tell no process id.
const WITHOUT_ID: &str = "Unknown;Unknown (0x*";

/// Labels of what is not known: of a process id or a file object, of other facts.
const LABELS: [&str; 2] = ["Unknown (1)", "Unknown"];

/// Conditions on what is not known.
pub(super) struct Unknown<D> {
    /// All must hold.
    pub conditions: Vec<Condition<D>>,
    /// True where a file is not known. Many files have no name in a sound trace, and next to none of them is what the conditions choose: a process
    /// without one is rare.
    pub is_of_files: bool,
    /// True for what the conditions choose, and would exclude if it had the name that they exclude.
    pub is_excluded: bool,
}

impl<D> Unknown<D> {
    /// What it is an amount of.
    pub fn amount(&self, amount: u64) -> UnknownAmount {
        UnknownAmount { is_of_files: self.is_of_files, is_excluded: self.is_excluded, amount }
    }
}

/// The label of what has no session.
const NO_SESSION: &str = "no session";

/// Labels of what belongs to no process, or to several, in lower case and without what stands in brackets: what no record names is none of
/// them. Nor is it another thing without a name, whose label has its key.
const OF_NONE: [&str; 6] =
    ["unknown", "shared", NO_LABEL, "no process", NO_SESSION, "kernel, free, owner not recorded"];

/// The conditions again, with what is not known in place of the process or the file that they choose: one by one, and all of them together.
/// What they choose already is not chosen again.
pub(super) fn of_unknown<D: Dimension>(conditions: &[Condition<D>]) -> Vec<Unknown<D>> {
    let (of_processes, of_files) = (of_processes(), of_files());
    let is_unknown = |condition: &Condition<D>, names: &[&str]| {
        names.contains(&condition.dimension.name()) && !is_decided(condition)
    };
    let is_of_names =
        |condition: &Condition<D>| [&of_processes, &of_files].iter().any(|names| is_unknown(condition, names));
    let places: Vec<usize> = (0..).zip(conditions).filter(|(_, of)| is_of_names(of)).map(|(place, _)| place).collect();
    let process = process::<D>();
    let with = |replaced: &[usize]| {
        let condition = |(place, condition): (usize, &Condition<D>)| match replaced.contains(&place) {
            true if is_session(condition) => Condition::fixed(condition.dimension, "*"),
            true => unknown_but(condition),
            false => condition.anew(),
        };
        let is_of_files =
            replaced.iter().filter_map(|place| conditions.get(*place)).any(|of| is_unknown(of, &of_files));
        // The session of a process that no record names is not known, and is no label of its own.
        let has_session = replaced.iter().filter_map(|place| conditions.get(*place)).any(is_session);
        let of_session = process.filter(|_| has_session).map(unknown);
        let conditions = conditions.iter().enumerate().map(condition).chain(of_session).collect();
        Unknown { conditions, is_of_files, is_excluded: false }
    };
    let is_of_process = |place: &usize| conditions.get(*place).is_some_and(|of| is_unknown(of, &of_processes));
    let together: Vec<usize> = places.iter().copied().filter(is_of_process).collect();
    let together = Some(together).filter(|some| some.len() > 1 && some.len() < places.len());
    let all = Some(places.clone()).filter(|all| all.len() > 1);
    let each = places.iter().map(|place| vec![*place]);
    each.chain(together).chain(all).map(|replaced| with(&replaced)).chain(of_excluded(conditions)).collect()
}

/// The conditions, and that a process or a file whose name they exclude is not known: `!svchost.exe` takes what may be of it.
fn of_excluded<D: Dimension>(conditions: &[Condition<D>]) -> impl Iterator<Item = Unknown<D>> {
    let of_files = of_files();
    let names = [of_processes(), of_files.clone()].concat();
    let excludes = move |condition: &&Condition<D>| {
        let name = condition.dimension.name();
        names.contains(&name) && excludes_named(name, &condition.patterns)
    };
    let perhaps = |excluding: &Condition<D>| {
        if let Some(process) = process().filter(|_| is_session(excluding)) {
            return unknown(process);
        }
        let labels = perhaps_of(excluding.dimension.name(), unwanted(&excluding.patterns));
        Condition { patterns: Patterns::of_labels(&labels), ..Condition::fixed(excluding.dimension, "") }
    };
    conditions.iter().filter(excludes).map(move |excluding| Unknown {
        conditions: conditions.iter().map(Condition::anew).chain([perhaps(excluding)]).collect(),
        is_of_files: of_files.contains(&excluding.dimension.name()),
        is_excluded: true,
    })
}

/// True for patterns of this dimension that exclude names and take what has none.
pub(super) fn excludes_named(dimension: &str, patterns: &Patterns) -> bool {
    unwanted(patterns).any(|pattern| !is_of_none(pattern)) && patterns.could_pass(labels_of_unknown(dimension))
}

/// What it has there that no record names.
fn labels_of_unknown(dimension: &str) -> &'static [&'static str] {
    if dimension == ProcessFacet::Session.name() { &[NO_LABEL, NO_SESSION] } else { &LABELS }
}

fn unwanted(patterns: &Patterns) -> impl Iterator<Item = &Pattern> {
    patterns.all().skip(patterns.wanted().len())
}

/// Dimensions of what a process is.
fn of_processes() -> Vec<&'static str> {
    ProcessFacet::ALL.iter().map(|facet| facet.facet().name).collect()
}

/// Dimensions of what a file is.
fn of_files() -> Vec<&'static str> {
    FileFacet::ALL.iter().map(|facet| facet.facet().name).chain([DETAIL.name]).collect()
}

/// True for the session of a process: that of pool is in its own records.
fn is_session<D: Dimension>(condition: &Condition<D>) -> bool {
    condition.dimension.name() == ProcessFacet::Session.name() && D::parse(ProcessFacet::Pid.name()).is_ok()
}

fn process<D: Dimension>() -> Option<D> {
    D::parse(ProcessFacet::Process.name()).ok()
}

/// True where what is not known meets the condition already, cannot meet it, or is left out by it.
fn is_decided<D: Dimension>(condition: &Condition<D>) -> bool {
    condition.patterns.could_pass(labels_of_unknown(condition.dimension.name()))
        || condition.patterns.all().all(is_of_none)
}

/// True for a pattern that no process without a name can meet.
pub(super) fn is_of_none(pattern: &Pattern) -> bool {
    let text = pattern.text.to_ascii_lowercase();
    let begin = text.split(" (").next().unwrap_or_default();
    OF_NONE.contains(&begin.trim_end_matches('*'))
}

/// What is not known, without that which the condition names.
fn unknown_but<D: Dimension>(condition: &Condition<D>) -> Condition<D> {
    let is_named = |pattern: &&Pattern| pattern.text.to_ascii_lowercase().starts_with(OF_NONE[0]);
    let named = condition.patterns.all().filter(is_named).map(|pattern| format!(";!{}", pattern.text));
    // An id alone chooses a process without a name, too.
    let is_process = condition.dimension.name() == ProcessFacet::Process.name();
    let ids = condition
        .patterns
        .wanted()
        .iter()
        .filter(|pattern| is_process && named_process_id(&pattern.text) == Some(&pattern.text));
    let chosen = ids.map(|pattern| format!(";!Unknown ({})", pattern.text));
    let unknown = perhaps_of(condition.dimension.name(), condition.patterns.wanted().iter());
    let patterns = Patterns::of_labels(&[unknown].into_iter().chain(named).chain(chosen).collect::<String>());
    Condition { patterns, ..Condition::fixed(condition.dimension, "") }
}

/// Labels of what is not known and can be what these patterns name. A process with an id but no name is none of another id; of a key that is no
/// id nobody knows.
fn perhaps_of<'p>(dimension: &str, patterns: impl Iterator<Item = &'p Pattern>) -> String {
    let has_ids = [ProcessFacet::Process.name(), ProcessFacet::Pid.name()].contains(&dimension);
    let named = patterns.filter(|pattern| !is_of_none(pattern));
    let ids: Option<Vec<&str>> = named.map(|pattern| named_process_id(&pattern.text)).collect();
    match ids.filter(|ids| has_ids && !ids.is_empty()) {
        Some(ids) => ids.into_iter().fold(WITHOUT_ID.to_owned(), |all, id| format!("{all};Unknown ({id})")),
        None => UNKNOWN.to_owned(),
    }
}

/// What is not known of a dimension, as `--where` takes it: what belongs to nobody or to several is none of it.
pub(super) fn unknown<D: Dimension>(dimension: D) -> Condition<D> {
    Condition { patterns: Patterns::of_labels(UNKNOWN), ..Condition::fixed(dimension, "") }
}

/// What of the rows of a value is of processes that no record names, which conditions take only because they exclude others: `!svchost.exe`.
pub(super) fn rows_perhaps_excluded(value: &Value, conditions: &Conditions) -> u64 {
    let (of_processes, conditions) = (of_processes(), conditions.by_name());
    let excluding =
        conditions.iter().filter(|(name, patterns)| of_processes.contains(name) && excludes_named(name, patterns));
    let perhaps: Vec<String> = excluding.map(|(name, patterns)| perhaps_of(name, unwanted(patterns))).collect();
    if perhaps.is_empty() {
        return 0;
    }
    let Some(at) = value.dimensions.iter().position(|name| name == ProcessFacet::Process.name()) else { return 0 };
    let unknown = Patterns::of_labels(&perhaps.join(";"));
    let is_unknown = |row: &&Row| row.labels.get(at).is_some_and(|label| unknown.matches(label.as_str()));
    let sum = value.rows.iter().filter(is_unknown).map(|row| u64::try_from(row.pages).unwrap_or(0));
    sum.fold(0, u64::saturating_add).min(value.pages)
}

/// A value that is not known exactly, in the unit of limits.
pub(super) struct Bounds {
    value: u64,
    most: u64,
    total: u64,
    measure: Measure,
    /// Time in which it is not known which threads ran: in no total.
    of_threads: u64,
    /// What is of unknown processes and files: in the total.
    unowned: u64,
    /// What of it no record names.
    unnamed: &'static str,
    /// True where that is of files, whatever the conditions are on.
    is_of_files: bool,
}

impl Bounds {
    /// Of a value of this measure.
    pub fn new(value: &Value, measure: Measure) -> Bounds {
        let scaled = |amount: u64| amount.saturating_mul(measure.unit().scale());
        let [own, of_threads, unowned] = [value.pages, value.unknown_ns, value.unowned].map(scaled);
        let most = own.saturating_add(of_threads).saturating_add(unowned);
        let unnamed = "the process or the file";
        let total = scaled(value.total);
        Bounds { value: own, most, total, measure, of_threads, unowned, unnamed, is_of_files: false }
    }

    /// The same where these conditions chose the value: a session is that of a process.
    pub fn of(self, conditions: &Conditions) -> Bounds {
        let names: Vec<&str> = conditions.by_name().into_iter().map(|(name, _)| name).collect();
        let has = |facets: &[&str]| facets.iter().any(|facet| names.contains(facet));
        let is_of_kinds = matches!(conditions, Conditions::Faults(_)) && has(&[KIND.name, MODULE.name]);
        let is_of_kinds = is_of_kinds && !has(&of_processes()) && !has(&of_files());
        let unnamed = match (has(&of_processes()), self.is_of_files || has(&of_files())) {
            _ if is_of_kinds => "the kind",
            (true, false) => "the process",
            (false, true) => "the file",
            _ => self.unnamed,
        };
        Bounds { unnamed, ..self }
    }

    /// With what can be of files without a name too.
    pub fn perhaps(value: &Value, measure: Measure) -> Bounds {
        let perhaps = value.perhaps.saturating_mul(measure.unit().scale());
        let known = Bounds::new(value, measure);
        let unowned = known.unowned.saturating_add(perhaps);
        Bounds { most: known.most.saturating_add(perhaps), unowned, is_of_files: perhaps > 0, ..known }
    }

    /// Why it is not known whether it is within `max`.
    pub fn may_exceed(&self, max: Option<Limit>) -> Option<String> {
        // What is of the value is of all, too.
        let of_all = |all: u64| match max {
            Some(Limit::Bytes(max)) => max,
            Some(Limit::Share(share)) => {
                u64::try_from(u128::from(all) * u128::from(share) / u128::from(WHOLE)).unwrap_or(u64::MAX)
            }
            None => u64::MAX,
        };
        let (least_max, max) = (of_all(self.total), of_all(self.total.saturating_add(self.of_threads)));
        (self.value <= least_max && max < self.most).then(|| {
            let text = self.texts(&[(self.most, self.value), (self.most, max)]);
            let then = if least_max == max { "" } else { " then" };
            let [value, most, max] = [self.value, self.most, max].map(&text);
            format!("{}, so the value is {value} to {most}, and max is {max}{then}", self.unknown(&text))
        })
    }

    /// The same of the limit of growth, which it meets. `most_of_runs`: the largest value of the runs of the baseline, which is no growth that
    /// fails; in the unit of the measure.
    pub fn may_outgrow(&self, growth: &LimitResult, most_of_runs: Option<u64>) -> Option<String> {
        let limit = u64::try_from(growth.limit).unwrap_or(0);
        let most_of_runs = most_of_runs.map(|most| most.saturating_mul(self.measure.unit().scale()));
        let allowed = most_of_runs.map_or(limit, |most| most.max(limit));
        (growth.verdict != Verdict::Fail && self.most > allowed).then(|| {
            let text = self.texts(&[(self.most, self.value), (self.most, allowed)]);
            let [value, most, limit] = [self.value, self.most, limit].map(&text);
            let runs = most_of_runs.map(|most| format!(", the most of its runs {}", text(most))).unwrap_or_default();
            let unknown = self.unknown(&text);
            format!("{unknown}, so the value is {value} to {most}, and the baseline with max_growth is {limit}{runs}")
        })
    }

    /// The same of a lower limit, which it is below by `lacking`: what nobody knows the owner of can make up for that.
    pub fn may_reach(&self, lacking: u64) -> Option<String> {
        (lacking > 0 && lacking <= self.most.saturating_sub(self.value)).then(|| {
            let min = self.value.saturating_add(lacking);
            let text = self.texts(&[(self.value, min), (self.most, min)]);
            let [value, most, min] = [self.value, self.most, min].map(&text);
            format!("{}, so the value is {value} to {most}, and min is {min}", self.unknown(&text))
        })
    }

    /// Why a limit in percent is not known: time of unknown threads can be a part of all. `most`: the limit where all of that time, `unknown`, is; in
    /// the unit of the measure.
    pub fn of_whole(&self, limit: &LimitResult, most: &LimitResult, unknown: u64) -> Option<String> {
        let fails = |limit: &LimitResult| limit.verdict == Verdict::Fail;
        (fails(limit) != fails(most)).then(|| {
            let unknown = unknown.saturating_mul(self.measure.unit().scale());
            let [from, to] = [limit, most].map(|limit| u64::try_from(limit.limit).unwrap_or(0));
            let text = self.texts(&[(self.value, from), (self.value, to)]);
            let (kind, unknown) = (limit.kind.name(), text(unknown));
            let [value, from, to] = [self.value, from, to].map(&text);
            format!("which threads ran is unknown for {unknown} in all, so {kind} is {from} to {to}, and the value is {value}")
        })
    }

    /// Why it is not known whether it is within a limit, by the verdict without that: `excluded` of it the conditions would exclude if it had
    /// another name; in the unit of limits.
    pub fn less(&self, limit: &LimitResult, excluded: u64) -> Option<String> {
        let least = self.value.saturating_sub(excluded);
        let (fails, bound) = (limit.verdict == Verdict::Fail, u64::try_from(limit.limit).unwrap_or(0));
        let is_undecided = match limit.kind {
            LimitKind::Min => !fails && least < bound,
            LimitKind::Max | LimitKind::MaxGrowth => fails && least <= bound,
        };
        (excluded > 0 && is_undecided).then(|| {
            let text = self.texts(&[(least, self.value), (self.value, bound), (least, bound)]);
            let (name, excluded) = (self.unnamed, text(excluded));
            let [least, value, bound] = [least, self.value, bound].map(&text);
            let limit = match limit.kind {
                LimitKind::Min => "min",
                LimitKind::Max => "max",
                LimitKind::MaxGrowth => "the baseline with max_growth",
            };
            format!(
                "no record names {name} of {excluded}, which the conditions can exclude, so the value is {least} to {value}, and {limit} is \
                 {bound}"
            )
        })
    }

    /// Of a baseline: why it is not known whether a value of `now` has grown too much, by the verdict without that. `allowed`: the most that a
    /// value may be with max_growth beside such a baseline; `excluded`: what of it conditions would exclude if its process had another
    /// name. All in the unit of limits.
    pub fn of_growth(&self, now: u64, fails: bool, allowed: impl Fn(u64) -> u64, excluded: u64) -> Option<String> {
        let least = self.value.saturating_sub(excluded);
        let may_be_none = fails && now <= allowed(self.most);
        let may_be_more = !fails && now > allowed(least);
        if !may_be_none && !may_be_more {
            return None;
        }
        let text = self.texts(&[(self.most, self.value), (least, self.value), (self.value, now)]);
        let [from, to, now] =
            if may_be_none { [self.value, self.most, now] } else { [least, self.value, now] }.map(&text);
        let why = match may_be_none {
            true => self.unknown(&text),
            false => {
                format!("no record names {} of {}, which the conditions can exclude", self.unnamed, text(excluded))
            }
        };
        Some(format!("of the baseline: {why}, so it is {from} to {to}, and the value is {now}"))
    }

    /// What nobody knows the owner of.
    fn unknown(&self, text: &impl Fn(u64) -> String) -> String {
        let ran = || format!("which threads ran is unknown for {}", text(self.of_threads));
        let owned = || match self.measure {
            Measure::CpuTime | Measure::ReadyTime | Measure::WaitTime => {
                format!("the process of threads is unknown for {}", text(self.unowned))
            }
            _ => format!("no record names {} of {}", self.unnamed, text(self.unowned)),
        };
        match (self.of_threads, self.unowned) {
            (_, 0) => ran(),
            (0, _) => owned(),
            _ => format!("{}, and {}", ran(), owned()),
        }
    }

    /// Amounts as text, so that the two of each pair can be told apart.
    fn texts(&self, pairs: &[(u64, u64)]) -> impl Fn(u64) -> String + use<> {
        let signed = |nanos| i64::try_from(nanos).unwrap_or(i64::MAX);
        let is_fine = pairs.iter().any(|(one, other)| needs_nanoseconds(signed(*one), signed(*other)));
        let unit = self.measure.unit();
        move |amount| match unit {
            MeasureUnit::Time => milliseconds(signed(amount), is_fine),
            MeasureUnit::Faults => counted(amount, "fault", "faults"),
            MeasureUnit::Pages | MeasureUnit::Bytes => format!("{} bytes", count(amount)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::refset::query::Dimension as Of;

    #[test]
    fn time_of_unknown_threads_can_take_a_value_above_its_limit() {
        let value = Value { pages: 20_000_000, unknown_ns: 5_000_000, ..Value::default() };
        let reason = |max| Bounds::new(&value, Measure::CpuTime).may_exceed(Some(Limit::Bytes(max)));
        let told = reason(21_000_000).expect("a reason");
        assert!(told.contains("5.000 ms, so the value is 20.000 ms to 25.000 ms, and max is 21.000 ms"), "{told}");
        // Exceeded for certain, and not exceeded for certain.
        assert_eq!((reason(19_999_999), reason(25_000_000)), (None, None));
        // A share is of all, and the same time is of all then: 20 of 100 ms is less than a fifth of them, 25 of 105 ms is more.
        let part = Bounds::new(&Value { total: 100_000_000, ..value }, Measure::CpuTime);
        let share = |share| part.may_exceed(Some(Limit::Share(share)));
        let told = share(200_000).expect("a reason");
        assert!(told.contains("20.000 ms to 25.000 ms, and max is 21.000 ms then"), "{told}");
        assert_eq!((share(199_999), share(240_000), part.may_exceed(None)), (None, None, None));
    }

    /// 5 pages can be more: values whose 5 pages more were no growth that fails were not judged, and one that all runs could be below was.
    #[test]
    fn growth_with_what_is_unknown_is_judged_as_growth_is() {
        let reason = |verdict, pages: u64, most_of_runs| {
            let value = Value { pages, unowned: 5, total: 1000, ..Value::default() };
            let (kind, limit) = (LimitKind::MaxGrowth, 173 * 4096);
            let growth = LimitResult { kind, limit, room: limit - pages as i64 * 4096, verdict };
            Bounds::new(&value, Measure::Pages).may_outgrow(&growth, most_of_runs)
        };
        assert_eq!([168, 200].map(|pages| reason(Verdict::Watch, pages, None).is_some()), [false, true]);
        assert_eq!([169, 200].map(|pages| reason(Verdict::Fail, pages, None)), [None, None], "fails for certain");
        assert_eq!([170, 172, 185].map(|pages| reason(Verdict::Watch, pages, Some(190))), [None, None, None]);
        let told = reason(Verdict::Watch, 190, Some(190)).expect("a reason");
        let end = "the value is 778,240 bytes to 798,720 bytes, and the baseline with max_growth is 708,608 bytes, the most of its runs 778,240 bytes";
        assert!(told.ends_with(end), "{told}");
    }

    #[test]
    fn pages_of_unknown_processes_are_told_in_bytes() {
        let value = Value { pages: 2, unowned: 3, total: 10, ..Value::default() };
        let bounds = Bounds::new(&value, Measure::Pages);
        let told = bounds.may_exceed(Some(Limit::Bytes(4 * 4096))).expect("a reason");
        assert_eq!(
            told,
            "no record names the process or the file of 12,288 bytes, so the value is 8,192 bytes to 20,480 bytes, and max is 16,384 bytes"
        );
        assert_eq!(bounds.may_exceed(Some(Limit::Bytes(5 * 4096))), None);
        assert_eq!([1, 3 * 4096].map(|lacking| bounds.may_reach(lacking).is_some()), [true; 2]);
        assert_eq!(bounds.may_reach(3 * 4096 + 1), None);
    }

    #[test]
    fn only_names_of_processes_and_files_can_be_unknown() {
        let asked = |texts: &[&str]| {
            let conditions: Vec<Condition<Of>> = texts.iter().map(|text| Condition::parse(text).unwrap()).collect();
            let written =
                |conditions: Vec<Condition<Of>>| conditions.iter().map(Condition::text).collect::<Vec<_>>().join(" ");
            of_unknown(&conditions).into_iter().map(|of| (written(of.conditions), of.is_of_files)).collect::<Vec<_>>()
        };
        let none: [(String, bool); 0] = [];
        let with = |texts: &[(&str, bool)]| {
            texts.iter().map(|(text, is_of_files)| ((*text).to_owned(), *is_of_files)).collect::<Vec<_>>()
        };
        assert_eq!(asked(&["category=MapFile"]), none);
        let excluding = with(&[("process=!a.exe process=Unknown*", false)]);
        assert_eq!(asked(&["process=!a.exe"]), excluding, "has what is unknown already, and can exclude it");
        assert_eq!(asked(&["file=!*.dll"]), with(&[("file=!*.dll file=Unknown*", true)]));
        assert_eq!([asked(&["process=!shared*"]), asked(&["process=!Unknown*"])], [none.clone(), none.clone()]);
        for decided in ["Unknown*", "unknown (0x1f)", "shared*", "Shared (files*", "n/a;Unknown (-1)", "*"] {
            assert_eq!(asked(&[&format!("process={decided}")]), none, "{decided}");
        }
        for decided in ["n/a", "0;n/a", "!n/a", "no session"] {
            assert_eq!(asked(&[&format!("session={decided}")]), none, "{decided}");
        }
        assert_eq!(asked(&["session=0"]), with(&[("session=* process=Unknown*", false)]), "has no label of its own");
        assert_eq!(asked(&["session=!0"]), with(&[("session=!0 process=Unknown*", false)]), "can be of any");
        let rest = "process=Unknown*;!Unknown (0x1f)";
        assert_eq!(asked(&["process=a.exe;Unknown (0x1f)"]), with(&[(rest, false)]), "what is chosen already");
        let without_id = |more: &str| format!("process=Unknown;Unknown (0x*{more}");
        for (of_ids, rest) in [
            ("process=4;8", ";Unknown (4);Unknown (8);!Unknown (4);!Unknown (8)"),
            ("process=a.exe (4)", ";Unknown (4)"),
            ("process=4;Unknown (0x1f)", ";Unknown (4);!Unknown (0x1f);!Unknown (4)"),
        ] {
            assert_eq!(asked(&[of_ids]), with(&[(&without_id(rest), false)]), "of another id it is not");
        }
        assert_eq!(asked(&["pid=4"]), with(&[("pid=Unknown;Unknown (0x*;Unknown (4)", false)]));
        assert_eq!(asked(&["process=4;a.exe"]), with(&[("process=Unknown*;!Unknown (4)", false)]));
        let excluding = format!("process=!4 {}", without_id(";Unknown (4)"));
        assert_eq!(asked(&["process=!4"]), with(&[(&excluding, false)]));
        assert_eq!(asked(&["detail=*b.dll"]), with(&[("detail=Unknown*", true)]), "names of files too");
        assert_eq!(
            asked(&["process=a.exe", "category=MapFile"]),
            with(&[("process=Unknown* category=MapFile", false)])
        );
        assert_eq!(
            asked(&["process=a.exe", "file=b.dll"]),
            with(&[
                ("process=Unknown* file=b.dll", false),
                ("process=a.exe file=Unknown*", true),
                ("process=Unknown* file=Unknown*", true)
            ])
        );
    }
}
