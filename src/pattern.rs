//! Text filters: `*` and `?` as wildcards, a leading `!` to exclude, `;` between patterns; case does not matter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wildmatch::WildMatch;

/// WPA's label for pages of several processes.
pub(crate) const SEVERAL: &str = "Unknown (-1)";

/// A list of patterns. A text matches when at least one pattern without `!` matches it (or there is none) and no pattern
/// with `!` does.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
    /// True when a text passed all of them. Copies share it.
    has_passed: Arc<AtomicBool>,
}

/// One pattern. Copies share the note of what it matched.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As it was written, without the `!`.
    pub text: String,
    matcher: WildMatch,
    /// A name or an id of a process stands for `name (*)` or `* (id)` too, a pool tag with what it is for, `tag (*)`, for the tag alone.
    also: Option<WildMatch>,
    /// True when it is not the whole label that WPA has for pages of several processes: that reads as a process without a name, which
    /// parts of it mean. A pattern that takes everything takes what people read for it.
    spares_several: bool,
    has_matched: Arc<AtomicBool>,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let matcher = WildMatch::new_case_insensitive(text);
        let text = text.to_owned();
        Pattern { text, matcher, also: None, spares_several: false, has_matched: Arc::default() }
    }

    fn of_label(text: &str) -> Pattern {
        Pattern { spares_several: !text.eq_ignore_ascii_case(SEVERAL), ..Pattern::new(text) }
    }

    fn of_process(text: &str) -> Pattern {
        let plain = Pattern::of_label(text);
        let is_id = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let label = match () {
            () if !plain.is_literal() => None,
            () if is_id => Some(format!("* ({text})")),
            () => Some(format!("{text} (*)")),
        };
        Pattern { also: label.map(|label| WildMatch::new_case_insensitive(&label)), ..plain }
    }

    fn of_pool_tag(text: &str) -> Pattern {
        let plain = Pattern::of_label(text);
        let tag = text.split_once(" (").filter(|(_, what)| plain.is_literal() && what.ends_with(')'));
        Pattern { also: tag.map(|(tag, _)| WildMatch::new_case_insensitive(tag)), ..plain }
    }

    /// True when it matches nothing but its own text.
    pub fn is_literal(&self) -> bool {
        !self.text.contains(['*', '?'])
    }

    /// True when it matched something since it was read.
    pub fn has_matched(&self) -> bool {
        self.has_matched.load(Ordering::Relaxed)
    }

    /// What is to be said of one that matched nothing and has the sign with which tables cut long texts.
    pub(crate) fn cut_advice(&self) -> &'static str {
        if self.text.contains('…') {
            "; a … that a table shows stands for text that it cut: write * there"
        } else {
            ""
        }
    }

    fn forget(&self) {
        self.has_matched.store(false, Ordering::Relaxed);
    }

    fn anew(&self) -> Pattern {
        Pattern { has_matched: Arc::default(), ..self.clone() }
    }

    fn matches_whole(&self, text: &str) -> bool {
        self.matcher.matches(text) || self.also.as_ref().is_some_and(|label| label.matches(text))
    }

    fn matches(&self, text: &str) -> bool {
        // A list of patterns keeps no spaces at its ends, and command lines can end in some.
        let bare = text.trim();
        let hit = self.matches_whole(text) || bare.len() < text.len() && self.matches_whole(bare);
        let hit = hit && !(self.spares_several && text == SEVERAL);
        if hit {
            self.has_matched.store(true, Ordering::Relaxed);
        }
        hit
    }
}

impl std::fmt::Display for Patterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unwanted = self.unwanted.iter().map(|pattern| format!("!{}", pattern.text));
        let all: Vec<String> = self.wanted.iter().map(|pattern| pattern.text.clone()).chain(unwanted).collect();
        f.write_str(&all.join(";"))
    }
}

impl Patterns {
    /// Parses a list such as `a*;!b?`. Empty parts are ignored.
    pub fn new(text: &str) -> Patterns {
        Patterns::read(text, Pattern::new)
    }

    /// The same for labels of rows, one of which is WPA's of pages of several processes.
    pub(crate) fn of_labels(text: &str) -> Patterns {
        Patterns::read(text, Pattern::of_label)
    }

    /// The same for labels of processes (`name.exe (id)`): a name without wildcards means every instance, a number the id.
    pub(crate) fn of_processes(text: &str) -> Patterns {
        Patterns::read(text, Pattern::of_process)
    }

    /// The same for pool tags, also as tables show them: `Thre (threads)`.
    pub(crate) fn of_pool_tags(text: &str) -> Patterns {
        Patterns::read(text, Pattern::of_pool_tag)
    }

    fn read(text: &str, pattern: fn(&str) -> Pattern) -> Patterns {
        let mut patterns = Patterns::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix('!') {
                Some(rest) => patterns.unwanted.push(pattern(rest.trim_start())),
                None => patterns.wanted.push(pattern(part)),
            }
        }
        patterns
    }

    /// All patterns, those with a leading `!` last.
    pub fn all(&self) -> impl Iterator<Item = &Pattern> {
        self.wanted.iter().chain(&self.unwanted)
    }

    /// Those without a leading `!`.
    pub(crate) fn wanted(&self) -> &[Pattern] {
        &self.wanted
    }

    /// Forgets what each has matched, before another trace.
    pub(crate) fn forget(&self) {
        self.all().for_each(Pattern::forget);
        self.has_passed.store(false, Ordering::Relaxed);
    }

    /// The same patterns with notes of their own: what they match is no answer to whoever wrote these.
    pub(crate) fn anew(&self) -> Patterns {
        let anew = |patterns: &[Pattern]| patterns.iter().map(Pattern::anew).collect();
        Patterns { wanted: anew(&self.wanted), unwanted: anew(&self.unwanted), has_passed: Arc::default() }
    }

    /// True when there are patterns and nothing has passed them.
    pub fn select_nothing(&self) -> bool {
        self.all().next().is_some() && !self.has_passed.load(Ordering::Relaxed)
    }

    /// True when one of these texts would pass; this is no match that is noted.
    pub(crate) fn could_pass<T: AsRef<str>>(&self, texts: &[T]) -> bool {
        let own = Patterns::new(&self.to_string());
        texts.iter().any(|text| own.matches(text.as_ref()))
    }

    /// True when any text passes: `*`.
    pub(crate) fn take_all(&self) -> bool {
        let is_any = |pattern: &Pattern| pattern.text.bytes().all(|byte| byte == b'*');
        self.unwanted.is_empty() && self.wanted.iter().any(is_any)
    }

    /// True when `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_any(&[text])
    }

    /// True when an item with several names matches: at least one name is wanted and none is excluded.
    pub fn matches_any(&self, names: &[&str]) -> bool {
        // Each pattern is asked, so that each notes what it matches.
        let hits = |list: &[Pattern]| list.iter().filter(|p| names.iter().any(|name| p.matches(name))).count();
        let (wanted, unwanted) = (hits(&self.wanted), hits(&self.unwanted));
        let passes = (self.wanted.is_empty() || wanted > 0) && unwanted == 0;
        // Many threads ask: the line is written once.
        if passes && !self.has_passed.load(Ordering::Relaxed) {
            self.has_passed.store(true, Ordering::Relaxed);
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_combine() {
        let p = Patterns::new("mem*;Process?;!*End");
        assert!(p.matches("Memory") && p.matches("process1"));
        assert!(!p.matches("Process") && !p.matches("memory: End"));
        assert!(Patterns::new("!x*").matches("abc") && !Patterns::new("!x*").matches("XYZ"));
        assert!(Patterns::new(" ; ").matches(""));
    }

    #[test]
    fn spaces_at_the_ends_do_not_matter() {
        let matches = |pattern: &str, text: &str| Patterns::new(pattern).matches(text);
        for pattern in ["\"cmd.exe\" ", "\"cmd.exe\"", " \"CMD*\"", "\"cmd.exe\"?"] {
            assert!(matches(pattern, "\"cmd.exe\" "), "{pattern}");
        }
        assert!(matches("a", "  a") && !matches("! a", "a ") && !matches("ab", "a b") && !matches("a", "a b"));
    }

    #[test]
    fn patterns_note_what_they_matched() {
        let p = Patterns::new("a*;ab;x;!b;!y");
        let copy = p.clone();
        assert!(p.select_nothing() && copy.matches("AB") && !copy.matches("b"));
        let noted: Vec<_> = p.all().map(|p| (p.text.as_str(), p.has_matched())).collect();
        assert_eq!(noted, [("a*", true), ("ab", true), ("x", false), ("b", true), ("y", false)]);
        assert!(!p.select_nothing());
        p.forget();
        assert!(p.select_nothing() && copy.select_nothing());
        let anew = p.anew();
        assert!(anew.matches("ab") == p.could_pass(&["ab"]) && p.select_nothing(), "notes of its own");
        let none = Patterns::new("a*;!ab*");
        assert!(
            !none.matches("abc") && none.select_nothing() && !none.could_pass(&["abc"]) && none.could_pass(&["ac"])
        );
        assert!(none.select_nothing() && none.matches("ac") && !none.select_nothing());
    }
}
