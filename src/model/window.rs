//! The time window of an analysis: from the start mark to the stop mark, or as the user says.
//!
//! The recorder empties the working sets at its start mark and logs the active pages right after it, so the reference set
//! starts from an empty state there. Its marks are recognized by words in their text. If none is recognized, the first and
//! the last mark are used, at which nothing need have been emptied; without marks the window is the whole trace.

use crate::error::Error;
use crate::etl::EtlFile;
use crate::etl::clock::Clock;
use crate::load::survey::Survey;
use crate::moment::{At, Moment};
use crate::pattern::Patterns;
use crate::units::{Nanos, Ticks};
use fundu::{CustomDurationParserBuilder, CustomTimeUnit, TimeUnit};

/// One end of the window as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// Time since trace start.
    Time(Nanos),
    /// A mark whose text matches.
    Mark(String),
}

impl std::str::FromStr for Bound {
    type Err = String;

    /// Parses seconds (`12`, `0.25`, `12s`); any other text is that of a mark. With the prefix `mark:` it is always a mark.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("mark:") {
            Some(mark) => Ok(Bound::Mark(mark.to_owned())),
            None => Ok(duration(text).map_or_else(|| Bound::Mark(text.to_owned()), Bound::Time)),
        }
    }
}

/// Units of durations as users write them.
const UNITS: [CustomTimeUnit<'static>; 4] = [
    CustomTimeUnit::with_default(TimeUnit::Second, &["s"]),
    CustomTimeUnit::with_default(TimeUnit::MilliSecond, &["ms"]),
    CustomTimeUnit::with_default(TimeUnit::MicroSecond, &["us"]),
    CustomTimeUnit::with_default(TimeUnit::NanoSecond, &["ns"]),
];

/// Parses a duration: seconds, or a number with `s`, `ms`, `us` or `ns`. Exact; fractions of a nanosecond are cut off.
/// `None` if the text is not a duration.
pub(crate) fn duration(text: &str) -> Option<Nanos> {
    let text = text.trim();
    // A text that begins with a sign or a point is not a duration.
    text.starts_with(|first: char| first.is_ascii_digit()).then_some(())?;
    let parser = CustomDurationParserBuilder::new().time_units(&UNITS).disable_exponent().allow_time_unit_delimiter();
    let parsed = parser.inner_delimiter(|byte| byte == b' ').build().parse(text).ok()?;
    i128::try_from(std::time::Duration::try_from(parsed).ok()?.as_nanos()).ok().map(Nanos)
}

/// Most points of a timeline.
const MOST_POINTS: i128 = 10_000;

/// Where the window comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The recorder's marks.
    Marks,
    /// The trace has no marks: all of it.
    WholeTrace,
    /// The user.
    User,
}

/// The time window, and when the working sets were emptied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Events after this moment are inside.
    pub from: Moment,
    /// Events after this moment are outside.
    pub to: Moment,
    /// Text of the mark at its start, if there is one.
    pub from_mark: Option<String>,
    /// Text of the mark at its end, if there is one.
    pub to_mark: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
    /// When the working sets were emptied.
    pub resets: Vec<Moment>,
}

/// What a window is computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends<'t> {
    /// Marks in order.
    pub marks: &'t [At<Box<str>>],
    /// First stamp of the trace.
    pub first: Ticks,
    /// Last moment of the analysis: the final page sequence, or the end of the trace.
    pub last: Moment,
    /// What is at `last`, where that is not the end of the trace.
    pub last_is: Option<&'static str>,
    /// Last moment of the trace: a window that begins after it is a mistake, not an empty one.
    pub end: Moment,
    /// Stamps of the first and the last page of the active rundown; before it the working sets were empty.
    pub rundown: Option<(Ticks, Ticks)>,
}

impl Ends<'_> {
    /// The ends of a whole trace.
    pub fn of_trace<'m>(etl: &EtlFile, survey: &Survey, marks: &'m [At<Box<str>>]) -> Ends<'m> {
        let spans = || survey.spans.iter().flatten();
        let last = survey.last().map_or(Moment::LAST, Moment::end_of);
        let first = survey.kept_from(etl).or_else(|| spans().map(|span| span.first).min()).unwrap_or_default();
        Ends { marks, first, last, last_is: None, end: last, rundown: None }
    }
}

impl Window {
    /// The window of a trace.
    ///
    /// # Errors
    /// A usage error for a mark that is not there, and for a window that is empty or ends before it begins.
    pub(crate) fn new(
        ends: Ends<'_>,
        from: Option<&Bound>,
        to: Option<&Bound>,
        clock: &Clock,
    ) -> Result<Window, Error> {
        let (start, stop) = recorder_marks(ends.marks);
        let text = |mark: Option<&At<Box<str>>>| mark.map(|mark| mark.value.to_string());
        let resets = resets(ends, start);
        let mut window = Window {
            from: start.map_or(Moment { time: ends.first, order: 0 }, |mark| mark.moment),
            to: stop.map_or(ends.last, |mark| mark.moment),
            from_mark: text(start),
            to_mark: text(stop),
            origin: if start.is_some() { Origin::Marks } else { Origin::WholeTrace },
            resets,
        };
        window.bind(ends, from, to, clock)?;
        Ok(window)
    }

    /// The window between these ends; marks of the trace do not matter.
    ///
    /// # Errors
    /// As [`Window::new`].
    pub(crate) fn between(
        ends: Ends<'_>,
        from: Option<&Bound>,
        to: Option<&Bound>,
        clock: &Clock,
    ) -> Result<Window, Error> {
        let mut window = Window {
            from: Moment { time: ends.first, order: 0 },
            to: ends.last,
            from_mark: None,
            to_mark: None,
            origin: Origin::WholeTrace,
            resets: Vec::new(),
        };
        window.bind(ends, from, to, clock)?;
        Ok(window)
    }

    /// Sets the ends that a user named.
    fn bind(
        &mut self,
        Ends { marks, end, last_is, .. }: Ends<'_>,
        from: Option<&Bound>,
        to: Option<&Bound>,
        clock: &Clock,
    ) -> Result<(), Error> {
        let window = self;
        let seconds = |moment: Moment| clock.nanos(moment.time).seconds();
        if let Some(bound) = from {
            window.origin = Origin::User;
            (window.from, window.from_mark) = match bound {
                Bound::Time(time) => (Moment { time: clock.ticks_from(*time), order: 0 }, None),
                Bound::Mark(name) => named(marks, name, Moment::FIRST)?,
            };
        }
        if from.is_some() && window.from.time > end.time {
            let (from, end) = (seconds(window.from), seconds(end));
            return Err(Error::Usage(format!("the window begins at {from:.6} s, but the trace ends at {end:.6} s")));
        }
        if let Some(bound) = to {
            window.origin = Origin::User;
            // Nothing is known of what comes after the trace.
            let latest = Moment { time: Ticks(end.time.0.saturating_add(1)), order: 0 };
            (window.to, window.to_mark) = match bound {
                Bound::Time(time) => (end_at(*time, clock).min(latest), None),
                Bound::Mark(name) => named(marks, name, window.from)?,
            };
        }
        let by_default = match (&window.to_mark, last_is, to) {
            (Some(mark), _, None) => format!(", with the mark \"{mark}\", which is the default: name its end too"),
            (None, Some(last), None) => format!(", with {last}, which is the default: name its end too"),
            _ => String::new(),
        };
        if window.to < window.from {
            let (to, from) = (seconds(window.to), seconds(window.from));
            return Err(Error::Usage(format!(
                "the window ends ({to:.6} s) before it begins ({from:.6} s){by_default}"
            )));
        }
        // The end of the trace is no mistake: what lies at its last moment can be meant.
        let has_end = to.is_some() || from.is_some() && window.to_mark.is_some();
        if has_end && window.to.time == window.from.time {
            let at = seconds(window.from);
            return Err(Error::Usage(format!("the window is empty: it begins and ends at {at:.6} s{by_default}")));
        }
        Ok(())
    }

    /// True for a window from a mark of the start to the end of the trace, or to a mark that does not say that it is the stop.
    pub(crate) fn lacks_stop_mark(&self) -> bool {
        let [start, begin, stop, end, ..] = RECORDER_WORDS;
        let has = |mark: &Option<String>, either| mark.as_ref().is_some_and(|text| has_word(text, either));
        self.origin == Origin::Marks && has(&self.from_mark, [start, begin]) && !has(&self.to_mark, [stop, end])
    }

    /// A mark of the recorder's stop where none of the marks says when the scenario starts.
    pub(crate) fn stop_without_start<'m>(&self, marks: &'m [TextMark]) -> Option<&'m TextMark> {
        let [start, begin, stop, _, refset, referenceset] = RECORDER_WORDS;
        let has_start = || marks.iter().any(|mark| has_word(&mark.value, [start, begin]));
        // "end" alone is in many words.
        let is_stop = |mark: &&TextMark| {
            has_word(&mark.value, [stop, stop]) || is_stop(mark) && has_word(&mark.value, [refset, referenceset])
        };
        marks.iter().find(is_stop).filter(|_| self.origin != Origin::User && !has_start())
    }

    /// Marks with the text of the stop mark that stand after the window, up to the start of a later scenario: it could end with each of them.
    pub(crate) fn later_stops(&self, marks: &[TextMark]) -> Vec<Moment> {
        let next = self.later_starts().next().unwrap_or(Moment::LAST);
        let is_again = |mark: &&TextMark| {
            mark.moment > self.to
                && mark.moment < next
                && is_stop(mark)
                && Some(&*mark.value) == self.to_mark.as_deref()
        };
        let again = marks.iter().filter(is_again).filter(|_| self.origin == Origin::Marks);
        again.map(|mark| mark.moment).collect()
    }

    /// Start marks after the window, where it is that of the recorder's marks: scenarios that the analysis leaves out.
    pub(crate) fn later_starts(&self) -> impl Iterator<Item = Moment> {
        self.resets.iter().copied().filter(|&reset| self.origin == Origin::Marks && reset >= self.to)
    }

    /// The mark with which the window begins, where the working sets were not emptied at it.
    pub(crate) fn not_emptied_at(&self) -> Option<&str> {
        let is_of_marks = self.origin == Origin::Marks && !self.resets.contains(&self.from);
        self.from_mark.as_deref().filter(|_| is_of_marks)
    }

    /// Start marks inside the window, which begins with one or where a user says.
    pub(crate) fn starts_inside(&self, marks: &[TextMark]) -> Vec<Moment> {
        // Without marks it is the active rundown that tells when the working sets were emptied.
        let is_mark = |reset: &Moment| marks.iter().any(|mark| mark.moment == *reset);
        let inside = self.resets.iter().copied().filter(|&reset| self.from < reset && reset < self.to);
        inside.filter(is_mark).collect()
    }

    /// True for moments inside.
    pub fn holds(&self, moment: Moment) -> bool {
        self.from < moment && moment <= self.to
    }

    /// Stamps of the points: from the window's start in steps, and its end.
    ///
    /// # Errors
    /// A usage error for a step of 0 or one that gives too many points.
    pub fn points(&self, clock: &Clock, step: Nanos) -> Result<Vec<Ticks>, Error> {
        let (from, to) = (clock.nanos(self.from.time), clock.nanos(self.to.time));
        let length = to.0.saturating_sub(from.0);
        if step.0 <= 0 {
            return Err(Error::Usage("the step of a timeline must be longer than 0".into()));
        }
        if length / step.0 >= MOST_POINTS {
            let least = Nanos(length / MOST_POINTS + 1).seconds();
            return Err(Error::Usage(format!(
                "a timeline has at most {MOST_POINTS} points; for {:.3} s the step must be at least {least:.6} s",
                Nanos(length).seconds()
            )));
        }
        // The time of the start is rounded down, so its tick can be the one before.
        let at = |time: Nanos| clock.ticks_at(time).max(self.from.time);
        let steps = (0..=length / step.0).map(|n| at(Nanos(from.0 + n * step.0)));
        let mut points: Vec<Ticks> = steps.collect();
        points.push(self.to.time);
        points.dedup();
        Ok(points)
    }
}

/// When the working sets were emptied: at the recorder's start marks. Any other mark can be one at which they were not: there the active rundown tells
/// it, which follows at once.
fn resets(Ends { marks, rundown, .. }: Ends<'_>, start: Option<&TextMark>) -> Vec<Moment> {
    let again = |start: &TextMark| -> Vec<Moment> {
        marks.iter().filter(|mark| mark.value == start.value).map(|mark| mark.moment).collect()
    };
    match (start, rundown) {
        (Some(start), _) if is_recorders(start) => again(start),
        (Some(start), Some((first, last))) if start.moment.time <= first => {
            again(start).into_iter().filter(|mark| mark.time <= last).collect()
        }
        (_, Some((first, _))) => vec![Moment { time: first, order: 0 }],
        (_, None) => Vec::new(),
    }
}

/// The end of a window at a time. Between two ticks it is right before the second one, so that a window that begins there leaves out
/// no record, also where the end is a time that is not inside.
fn end_at(time: Nanos, clock: &Clock) -> Moment {
    let (before, behind) = (clock.ticks_at(time), clock.ticks_from(time));
    Moment { time: behind, order: if before == behind { u64::MAX } else { 0 } }
}

/// The first mark after `after` whose text matches.
fn named(marks: &[At<Box<str>>], name: &str, after: Moment) -> Result<(Moment, Option<String>), Error> {
    let patterns = Patterns::new(name);
    let found = marks.iter().find(|mark| mark.moment > after && patterns.matches(&mark.value));
    found.map(|mark| (mark.moment, Some(mark.value.to_string()))).ok_or_else(|| {
        if marks.iter().any(|mark| patterns.matches(&mark.value)) {
            return Error::Usage(format!("the mark \"{name}\" is not after the begin of the window"));
        }
        let all: Vec<String> = marks.iter().take(20).map(|mark| format!("\"{}\"", mark.value)).collect();
        let known =
            if all.is_empty() { "the trace has no marks".to_owned() } else { format!("known are {}", all.join(", ")) };
        Error::Usage(format!("no mark matches \"{name}\"; {known}. A time is written in seconds, as in 1.25"))
    })
}

/// A mark and when it was set.
pub(crate) type TextMark = At<Box<str>>;

/// Words by which marks of a recorder are known, without blanks and `_` and `-`: start, stop, whose they are.
pub(crate) const RECORDER_WORDS: [&str; 6] = ["start", "begin", "stop", "end", "refset", "referenceset"];

/// True for a text with one of these words.
fn has_word(text: &str, either: [&str; 2]) -> bool {
    let words = text.to_lowercase().replace([' ', '_', '-'], "");
    either.into_iter().any(|word| words.contains(word))
}

/// True for a mark that says that something stops.
fn is_stop(mark: &TextMark) -> bool {
    let [_, _, stop, end, ..] = RECORDER_WORDS;
    has_word(&mark.value, [stop, end])
}

/// True for a mark of a recorder of reference sets.
fn is_recorders(mark: &TextMark) -> bool {
    let [.., refset, referenceset] = RECORDER_WORDS;
    has_word(&mark.value, [refset, referenceset])
}

/// The recorder's start and stop mark.
pub(crate) fn recorder_marks(marks: &[TextMark]) -> (Option<&TextMark>, Option<&TextMark>) {
    let [start, begin, ..] = RECORDER_WORDS;
    let is_start = |mark: &&TextMark| has_word(&mark.value, [start, begin]);
    let is_stop = |mark: &&TextMark| is_stop(mark);
    let own = |mark: &&TextMark| is_recorders(mark);
    let by_words = marks.iter().find(|mark| own(mark) && is_start(mark)).or_else(|| marks.iter().find(is_start));
    if let Some(start) = by_words {
        let later = || marks.iter().filter(|mark| mark.moment > start.moment);
        let stop = later().find(|mark| own(mark) && is_stop(mark)).or_else(|| later().find(is_stop));
        return (Some(start), stop.or_else(|| later().next_back()));
    }
    match marks {
        [start, .., stop] => (Some(start), Some(stop)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::clock::ClockKind;
    use crate::units::FileTime;

    const CLOCK: Clock = Clock { kind: ClockKind::Qpc, frequency_hz: 1000, origin: Ticks(0), start: FileTime(0) };

    fn marks(list: &[(i64, &str)]) -> Vec<TextMark> {
        list.iter()
            .map(|&(time, text)| At { moment: Moment { time: Ticks(time), order: 0 }, value: text.into() })
            .collect()
    }

    fn window(list: &[(i64, &str)], from: Option<&str>, to: Option<&str>) -> Result<(i64, i64, Origin), String> {
        let marks = marks(list);
        let last = Moment { time: Ticks(1000), order: 0 };
        let ends = Ends { marks: &marks, first: Ticks(1), last, last_is: None, end: last, rundown: None };
        let bound = |text: Option<&str>| text.map(|text| text.parse::<Bound>().unwrap());
        Window::new(ends, bound(from).as_ref(), bound(to).as_ref(), &CLOCK)
            .map(|w| (w.from.time.0, w.to.time.0, w.origin))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn the_recorders_marks_are_found_among_others() {
        let list =
            [(5, "boot start"), (10, "RefSetTraceStart"), (20, "half way"), (30, "RefSetTraceStop"), (40, "end")];
        assert_eq!(window(&list, None, None), Ok((10, 30, Origin::Marks)));
        assert_eq!(window(&list[2..3], None, None), Ok((1, 1000, Origin::WholeTrace)));
        assert_eq!(window(&[(3, "a"), (4, "b"), (9, "c")], None, None), Ok((3, 9, Origin::Marks)));
        assert_eq!(window(&[(3, "ReferenceSet start")], None, None), Ok((3, 1000, Origin::Marks)));
        assert_eq!(window(&[], None, None), Ok((1, 1000, Origin::WholeTrace)));
    }

    #[test]
    fn users_name_times_and_marks() {
        let list = [(10, "RefSetTraceStart"), (20, "half way"), (30, "RefSetTraceStop")];
        assert_eq!(window(&list, Some("0.015"), Some("half*")), Ok((15, 20, Origin::User)));
        assert_eq!(window(&list, Some("HALF WAY"), None), Ok((20, 30, Origin::User)));
        assert!(window(&list, Some("nowhere"), None).unwrap_err().contains("\"half way\""));
        assert!(window(&list, Some("0.5"), Some("20ms")).unwrap_err().contains("before it begins"));
        for (from, to) in [("0.5", "0.5"), ("0.0201", "0.0209"), ("half way", "0.02")] {
            assert!(window(&list, Some(from), Some(to)).unwrap_err().contains("the window is empty"), "{from} {to}");
        }
        let after_stop = window(&list, Some("RefSetTraceStop"), None).unwrap_err();
        assert!(after_stop.contains("the window is empty") && after_stop.contains("name its end too"), "{after_stop}");
        // All of a trace with one moment, and its last mark, are no mistake.
        assert_eq!(window(&[(1000, "last")], Some("last"), None), Ok((1000, 1000, Origin::User)));
    }

    #[test]
    fn durations() {
        assert_eq!(duration("1.25"), Some(Nanos(1_250_000_000)));
        assert_eq!(duration("20ms"), Some(Nanos(20_000_000)));
        assert_eq!([duration("12"), duration("12s"), duration("12 s")], [Some(Nanos(12_000_000_000)); 3]);
        assert_eq!([duration("7ns"), duration("0.25us")], [Some(Nanos(7)), Some(Nanos(250))]);
        assert_eq!(duration("123456789.123456789"), Some(Nanos(123_456_789_123_456_789)));
        assert_eq!(duration("0.0000000019 s"), Some(Nanos(1)));
        for wrong in ["", "-1", "1.2.3", "5 min", "s", ".5", "1e3", "+1", "inf", "5 m", "1s 2ms"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
