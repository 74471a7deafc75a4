//! Conditions: which rows a user wants to see.

use crate::dimensions::dimension_trait::{Dimension, Facet, Values};
use crate::dimensions::label::{IDLE, Label, NO_LABEL};
use crate::dimensions::spelling;
use crate::error::Error;
use crate::pattern::{Pattern, Patterns};

/// A condition on one dimension.
#[derive(Debug, Clone)]
pub struct Condition<D> {
    /// The dimension.
    pub dimension: D,
    /// What its label must match.
    pub patterns: Patterns,
    /// True when a user wrote it: then a message reports patterns that match nothing.
    pub is_users: bool,
}

impl<D: Dimension> Condition<D> {
    /// A condition of our own.
    pub fn fixed(dimension: D, patterns: &str) -> Condition<D> {
        Condition { dimension, patterns: Patterns::new(patterns), is_users: false }
    }

    /// Reads `DIMENSION=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form, lists the dimensions, or names a label that cannot be.
    pub fn parse(text: &str) -> Result<Condition<D>, Error> {
        let Some((name, patterns)) = text.split_once('=') else {
            return Err(Error::Usage(format!(
                "\"{text}\" is no condition; write DIMENSION=PATTERNS, as in process=chrome*"
            )));
        };
        let dimension = D::parse(name)?;
        let name = dimension.name();
        if let Some(rest) = patterns.trim_start().strip_prefix('=') {
            return Err(Error::Usage(format!("\"{text}\" has two =; write {name}={rest}")));
        }
        let patterns = match dimension.facet().values {
            Values::Process => Patterns::of_processes(patterns),
            Values::PoolTag => Patterns::of_pool_tags(patterns),
            _ => Patterns::of_labels(&in_names(dimension.facet(), patterns)),
        };
        if patterns.all().all(|pattern| pattern.text.is_empty()) {
            return Err(Error::Usage(format!(
                "\"{text}\" says nothing; write what {name} must match, as in {name}=*, or leave the condition out"
            )));
        }
        for pattern in patterns.all().filter(|pattern| pattern.is_literal()) {
            if let Some(advice) = excluded(dimension.facet().values, &pattern.text) {
                return Err(Error::Usage(format!("{name} is never \"{}\"{advice}", pattern.text)));
            }
        }
        Ok(Condition { dimension, patterns, is_users: true })
    }

    /// The same condition for a question of our own beside the user's: what it matches there is no answer to the user's patterns.
    pub(crate) fn anew(&self) -> Condition<D> {
        Condition { dimension: self.dimension, patterns: self.patterns.anew(), is_users: false }
    }

    /// True when one of the labels is wanted and none is excluded, by its text for programs or that for people. A row that is
    /// grouped by one label may be filtered by several: the innermost frame of a stack names the row, any frame can match.
    pub fn matches<'l>(&self, labels: impl IntoIterator<Item = &'l Label>) -> bool {
        let names: Vec<&str> = labels.into_iter().flat_map(|label| [label.as_str(), label.shown()]).collect();
        self.patterns.matches_any(&names)
    }

    /// `list=Active`, as it could be written.
    pub(crate) fn text(&self) -> String {
        format!("{}={}", self.dimension.name(), self.patterns)
    }

    /// Names of the dimensions with their patterns, as they could be written.
    pub(crate) fn written(conditions: &[Condition<D>]) -> Vec<(&'static str, String)> {
        conditions.iter().map(|condition| (condition.dimension.name(), condition.patterns.to_string())).collect()
    }

    /// After a run: a line for each of the user's patterns that matched nothing, and for a condition that let nothing pass. A
    /// label that can be but that nothing has is no doubt beside others that something has.
    pub fn unmatched(conditions: &[Condition<D>]) -> Vec<String> {
        Condition::told_of(conditions, true)
    }

    /// The same without labels that can be but that nothing has: of these, nothing is a true 0.
    pub(crate) fn maybe_misspelled(conditions: &[Condition<D>]) -> Vec<String> {
        Condition::told_of(conditions, false)
    }

    /// A line for what leaves nothing of several conditions that nothing meets together, though each label can be.
    pub(crate) fn unmet_together(conditions: &[Condition<D>]) -> Vec<String> {
        if conditions.len() < 2 { Vec::new() } else { Condition::unmatched(conditions) }
    }

    /// What rows leave unmet and what is there without a row then meets, as `meet` asks: nothing of a process or on a processor that is
    /// there is a true 0, and is told where other conditions stand before it.
    pub(crate) fn met_without_rows(conditions: &[Condition<D>], meet: impl FnOnce()) -> Vec<String> {
        let deciding = conditions.iter().position(|condition| condition.patterns.select_nothing());
        let unmet = if deciding == Some(0) { Vec::new() } else { Condition::unmet_together(conditions) };
        meet();
        let still = Condition::unmatched(conditions);
        unmet.into_iter().filter(|line| !still.contains(line)).collect()
    }

    fn told_of(conditions: &[Condition<D>], tells_empty: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, condition) in conditions.iter().enumerate() {
            let is_closed = condition.is_closed();
            let is_empty = condition.patterns.select_nothing();
            let can_be_absent = is_closed && !(is_empty && tells_empty);
            let is_true_zero = !tells_empty && condition.takes_all();
            let missed =
                |pattern: &&Pattern| !(pattern.has_matched() || is_true_zero || can_be_absent && pattern.is_literal());
            let before: Vec<String> = conditions.iter().take(number).map(Condition::text).collect();
            let of_what = match before.is_empty() {
                true => String::new(),
                false => format!(" of what {} {} pass", before.join(" and "), if number == 1 { "lets" } else { "let" }),
            };
            let line = |pattern: &Pattern| {
                let (name, advice) = (condition.dimension.name(), pattern.cut_advice());
                format!("{name} \"{}\" matches nothing{of_what}{advice}", pattern.text)
            };
            let lines_before = lines.len();
            lines.extend(condition.patterns.all().filter(|_| condition.is_users).filter(missed).map(line));
            if is_empty {
                let nothing = || format!("{} lets nothing pass{of_what}", condition.text());
                lines.extend((tells_empty && condition.is_users && lines.len() == lines_before).then(nothing));
                break; // the conditions after it had nothing to match
            }
        }
        lines
    }

    /// After a run: true when a condition let nothing pass, and none of its patterns is a name that is known to exist. Of a
    /// known name, nothing is a true 0; of another one it may be misspelled. What lets no known name pass never matches. Nor is
    /// anything misspelled in a condition that takes every label: there was none, and that is a true 0 too.
    pub(crate) fn has_no_match(conditions: &[Condition<D>]) -> bool {
        let deciding = conditions.iter().find(|condition| condition.patterns.select_nothing());
        let deciding = deciding.filter(|condition| !condition.takes_all());
        deciding.is_some_and(|Condition { dimension, patterns, .. }| {
            let known = dimension.facet().values.closed();
            let is_name = patterns.wanted().iter().any(Pattern::is_literal);
            !known.is_some_and(|known| is_name && patterns.could_pass(&known))
        })
    }

    /// True where every label passes: `*`, or patterns that all known names meet.
    fn takes_all(&self) -> bool {
        let known = self.dimension.facet().values.closed();
        let take_known = |known: Vec<_>| known.iter().all(|name| self.patterns.could_pass(&[name]));
        self.patterns.take_all() || known.is_some_and(take_known)
    }

    /// True where all labels are known before a trace is read.
    pub(crate) fn is_closed(&self) -> bool {
        self.dimension.facet().values.closed().is_some()
    }
}

/// Patterns with the names of labels in place of what tables show for them: `ModifiedNoWrite` of "Modified no-write", `0` of "prio 0".
fn in_names(facet: Facet, patterns: &str) -> String {
    let Some(known) = facet.values.closed() else { return patterns.to_owned() };
    let plain = |text: &str| text.to_ascii_lowercase().replace([' ', '-', '_'], "");
    // What stands before a number is the name of the dimension, or what it begins with.
    let number = |text: &str| {
        let (word, number) = text.split_once(' ')?;
        let word = word.to_ascii_lowercase();
        let is_name = word.len() >= SHORTEST_NAME && facet.name.starts_with(&word);
        (is_name && matches!(facet.values, Values::UpTo(_))).then(|| number.trim().to_owned())
    };
    let named = |part: &str| {
        let part = part.trim();
        let (sign, text) = part.strip_prefix('!').map_or(("", part), |rest| ("!", rest));
        let text = number(text).unwrap_or_else(|| text.to_owned());
        // Capitals are no other name: what was written stays.
        let is_it = |name: &&String| plain(name) == plain(&text) && !name.eq_ignore_ascii_case(&text);
        format!("{sign}{}", known.iter().find(is_it).unwrap_or(&text))
    };
    patterns.split(';').map(named).collect::<Vec<_>>().join(";")
}

/// So many letters say which dimension a word stands for.
const SHORTEST_NAME: usize = 4;

/// What the labels can be, to follow "it is never TEXT"; `None` where one can be this text.
fn excluded(values: Values, text: &str) -> Option<String> {
    let number = text.parse::<i128>().ok();
    // People read labels of several words where there is no number: "no session", "Unknown (0x1f)", "up to 4 KiB".
    let is_in_words = text.contains(' ') || text.eq_ignore_ascii_case("unknown");
    match values {
        Values::Text | Values::Process | Values::PoolTag => None,
        _ if text.eq_ignore_ascii_case(NO_LABEL) => None,
        // The idle threads are of no session.
        Values::Number if text.eq_ignore_ascii_case(IDLE) => None,
        Values::Number | Values::PowerOfTwo if is_in_words => None,
        Values::Number => number.is_none().then(|| "; it is a whole number".to_owned()),
        Values::PowerOfTwo => {
            // The greatest size is 2⁶⁴, which does not fit.
            let is_class = |number: u64| number == 0 || number == u64::MAX || number.is_power_of_two();
            let is_size = number.and_then(|number| u64::try_from(number).ok()).is_some_and(is_class);
            (!is_size).then(|| "; it is a power of two, as in 4096".to_owned())
        }
        Values::OneOfOrNumber(_) if number.is_some() => None,
        Values::OneOfOrNumber(names) => not_among(text, &names()),
        Values::UpTo(_) | Values::YesNo | Values::OneOf(_) => not_among(text, &values.closed().unwrap_or_default()),
    }
}

/// Advice where a text is none of these names.
fn not_among(text: &str, names: &[impl AsRef<str>]) -> Option<String> {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let is_known = names.iter().any(|name| name.eq_ignore_ascii_case(text));
    (!is_known).then(|| spelling::advice(text, names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimensions::dimension_trait::{Facet, dimensions};

    const fn facet(name: &'static str, values: Values) -> Facet {
        Facet { name, title: name, values }
    }

    dimensions! {
        pub enum Example {
            Name: facet("name", Values::Text);
            Process: facet("process", Values::Process);
            ProcessId: facet("process_id", Values::Number);
            Kind: facet("kind", Values::OneOf(|| vec!["Image", "MapFile"]));
            Cold: facet("cold", Values::YesNo);
            Priority: facet("priority", Values::UpTo(7));
            Size: facet("size", Values::PowerOfTwo);
            Source: facet("source", Values::OneOfOrNumber(|| vec!["main", "slow"]));
            Tag: facet("tag", Values::PoolTag);
        }
    }

    #[test]
    fn conditions_are_read() {
        let condition = Condition::<Example>::parse("process-id=4;!8").unwrap();
        assert!(condition.dimension == Example::ProcessId && condition.patterns.matches("4"));
        assert!(Condition::<Example>::parse("name").unwrap_err().to_string().contains("DIMENSION=PATTERNS"));
    }

    #[test]
    fn a_process_is_named_by_its_image_its_id_or_both() {
        let several = Label::shared("Unknown (-1)").shown_as("shared (files, images, sections)");
        let labels = [
            Label::name("lsass.exe (780)"),
            Label::name("lsass.exe (4780)"),
            Label::name("780 (12)"),
            Label::unknown("Unknown (0x1f)"),
            Label::unknown("Unknown (780)"),
            Label::name("a (b).exe (5)"),
            several,
        ];
        for (text, passing) in [
            ("process=lsass.exe", &[0, 1][..]),
            ("process=LSASS.exe (*)", &[0, 1]),
            ("process=lsass.exe (780)", &[0]),
            ("process=780", &[0, 4]),
            ("process=lsass*", &[0, 1]),
            ("process=Unknown*", &[3, 4]),
            ("process=unknown", &[3, 4]),
            ("process=Unk*", &[3, 4]),
            ("process=*Unknown*", &[3, 4]),
            ("process=?nknown*", &[3, 4]),
            ("process=u*", &[3, 4]),
            ("process=!*known*", &[0, 1, 2, 5, 6]),
            ("process=unknown (-1)", &[6]),
            ("process=!Unknown (-1)", &[0, 1, 2, 3, 4, 5]),
            ("process=shared*", &[6]),
            ("process=a (b).exe", &[5]),
            ("process=!Unknown*;!lsass.exe", &[2, 5, 6]),
            ("process=*", &[0, 1, 2, 3, 4, 5, 6]),
            ("name=lsass.exe", &[]),
            ("name=Unknown*", &[3, 4]),
            ("name=*", &[0, 1, 2, 3, 4, 5, 6]),
        ] {
            let condition = Condition::<Example>::parse(text).unwrap();
            let passes = (0..labels.len()).filter(|&at| condition.matches([&labels[at]])).collect::<Vec<_>>();
            assert_eq!(passes, passing, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        for (text, says) in [
            ("kind=Imge", "kind is never \"Imge\"; did you mean \"Image\"? Known are Image, MapFile"),
            ("kind=Image;!mapfil", "did you mean \"MapFile\"?"),
            ("kind==Image", "write kind=Image"),
            ("kind=", "says nothing"),
            ("name= ; ", "says nothing"),
            ("name=!", "says nothing"),
            ("cold=yes", "did you mean \"true\"?"),
            ("priority=9", "known are 0, 1, 2, 3, 4, 5, 6, 7"),
            ("priority=8", "known are 0"),
            ("process_id=abc", "process_id is never \"abc\"; it is a whole number"),
            ("process_id=4;!x", "is never \"x\""),
            ("size=3", "size is never \"3\"; it is a power of two"),
            ("size=big", "is never \"big\""),
            ("source=foo", "source is never \"foo\"; known are main, slow"),
            ("source=sloww", "did you mean \"slow\"?"),
            ("nane=x", "unknown dimension \"nane\"; did you mean \"name\"?"),
        ] {
            let error = Condition::<Example>::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let named = ["kind=IMAGE;!mapfile", "kind=Im*", "cold=True", "priority=7", "name=anything", "source=Slow;7"];
        let numbers = ["process-id=4", "process_id=1*;-1;n/a", "process_id=Unknown (0x1f);no session;unknown"];
        let sizes = ["size=0;1;4096", "size=18446744073709551615;3*;up to 4 KiB"];
        for text in named.into_iter().chain(numbers).chain(sizes) {
            Condition::<Example>::parse(text).unwrap();
        }
    }

    #[test]
    fn what_tables_show_can_be_written() {
        for (text, label, others) in [
            ("kind=map file", "MapFile", "Image"),
            ("kind=!Map-File", "Image", "MapFile"),
            ("priority=prio 0", "0", "1"),
            ("priority=7;Priority 3", "3", "0"),
            ("process_id=[idle]", "[idle]", "0"),
            ("tag=Thre (threads)", "Thre", "Proc"),
            ("tag=Ntf  (NTFS (all))", "Ntf ", "Ntfx"),
        ] {
            let condition = Condition::<Example>::parse(text).unwrap();
            let passes = |label| condition.matches([&Label::name(label)]);
            assert!(passes(label) && !passes(others), "{text}");
        }
        for text in ["priority=prio 8", "priority=pr 0", "process_id=[idler]", "size=[idle]"] {
            assert!(Condition::<Example>::parse(text).is_err(), "{text}");
        }
        assert_eq!(Condition::<Example>::parse("kind=IMAGE").unwrap().text(), "kind=IMAGE");
    }

    #[test]
    fn patterns_that_match_nothing_are_told() {
        let of = |texts: &[&str], labels: &[[&str; 2]]| {
            let conditions: Vec<_> = texts.iter().map(|text| Condition::<Example>::parse(text).unwrap()).collect();
            for label in labels {
                let place = |dimension| usize::from(dimension != Example::Name);
                let _ = conditions.iter().all(|c| c.patterns.matches(label[place(c.dimension)]));
            }
            Condition::unmatched(&conditions)
        };
        let labels = [["a", "Image"], ["b", "Image"]];
        assert_eq!(of(&["name=a;c*;!d"], &labels), ["name \"c*\" matches nothing", "name \"d\" matches nothing"]);
        assert_eq!(of(&["kind=MapFile;Image"], &labels), [""; 0], "it can be");
        assert_eq!(of(&["kind=MapFile"], &labels), ["kind \"MapFile\" matches nothing"], "nothing is left");
        assert_eq!(of(&["name=a;!a"], &labels), ["name=a;!a lets nothing pass"]);
        assert_eq!(of(&["kind=Map*"], &labels), ["kind \"Map*\" matches nothing"]);
        assert_eq!(of(&["name=c", "kind=Im*"], &labels), ["name \"c\" matches nothing"]);
        let after = "kind \"M*\" matches nothing of what name=a lets pass";
        assert_eq!(of(&["name=a", "kind=M*"], &labels), [after]);
        let after = "priority \"x*\" matches nothing of what name=a and kind=Im* let pass";
        assert_eq!(of(&["name=a", "kind=Im*", "priority=x*"], &labels), [after]);
    }

    #[test]
    fn a_row_can_be_filtered_by_other_labels_than_it_is_grouped_by() {
        let condition = |text: &str| Condition::<Example>::parse(text).unwrap();
        let frames = ["inner", "middle"].map(Label::name);
        let outer = Label::name("outer").shown_as("the outer one");
        let all = || frames.iter().chain([&outer]);
        assert!(condition("name=middle").matches(all()) && condition("name=the*").matches(all()));
        assert!(!condition("name=!inner").matches(all()) && !condition("name=x").matches(all()));
    }
}
