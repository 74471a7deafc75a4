//! Text filters: `*` and `?` as wildcards, a leading `!` to exclude, `;` between patterns; case does not matter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wildmatch::WildMatch;

/// A list of patterns. A text matches when at least one pattern without `!` matches it (or there is none) and no pattern
/// with `!` does.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

/// One pattern. Copies share the note of what it matched.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// As it was written, without the `!`.
    pub text: String,
    matcher: WildMatch,
    has_matched: Arc<AtomicBool>,
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let matcher = WildMatch::new_case_insensitive(text);
        Pattern { text: text.to_owned(), matcher, has_matched: Arc::default() }
    }

    /// True when it matches nothing but its own text.
    pub fn is_literal(&self) -> bool {
        !self.text.contains(['*', '?'])
    }

    /// True when it matched something since it was read.
    pub fn has_matched(&self) -> bool {
        self.has_matched.load(Ordering::Relaxed)
    }

    fn forget(&self) {
        self.has_matched.store(false, Ordering::Relaxed);
    }

    fn matches(&self, text: &str) -> bool {
        let hit = self.matcher.matches(text);
        if hit {
            self.has_matched.store(true, Ordering::Relaxed);
        }
        hit
    }
}

impl Patterns {
    /// Parses a list such as `a*;!b?`. Empty parts are ignored.
    pub fn new(text: &str) -> Patterns {
        let mut patterns = Patterns::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix('!') {
                Some(rest) => patterns.unwanted.push(Pattern::new(rest)),
                None => patterns.wanted.push(Pattern::new(part)),
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
    }

    /// True when nothing passed: there are plain patterns and none has matched.
    pub fn select_nothing(&self) -> bool {
        !self.wanted.is_empty() && !self.wanted.iter().any(Pattern::has_matched)
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
        (self.wanted.is_empty() || wanted > 0) && unwanted == 0
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
    fn patterns_note_what_they_matched() {
        let p = Patterns::new("a*;ab;x;!b;!y");
        let copy = p.clone();
        assert!(p.select_nothing() && copy.matches("AB") && !copy.matches("b"));
        let noted: Vec<_> = p.all().map(|p| (p.text.as_str(), p.has_matched())).collect();
        assert_eq!(noted, [("a*", true), ("ab", true), ("x", false), ("b", true), ("y", false)]);
        assert!(!p.select_nothing());
        p.forget();
        assert!(p.select_nothing() && copy.select_nothing());
    }
}
