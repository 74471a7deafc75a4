//! Text filters: `*` and `?` as wildcards, a leading `!` to exclude, `;` between patterns; case does not matter.

use wildmatch::WildMatch;

/// A list of patterns. A text matches when at least one pattern without `!` matches it (or there is none) and no pattern
/// with `!` does.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    wanted: Vec<WildMatch>,
    unwanted: Vec<WildMatch>,
}

impl Patterns {
    /// Parses a list such as `a*;!b?`. Empty parts are ignored.
    pub fn new(text: &str) -> Patterns {
        let mut patterns = Patterns::default();
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix('!') {
                Some(rest) => patterns.unwanted.push(WildMatch::new_case_insensitive(rest)),
                None => patterns.wanted.push(WildMatch::new_case_insensitive(part)),
            }
        }
        patterns
    }

    /// True when `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.matches_any(&[text])
    }

    /// True when an item with several names matches: at least one name is wanted and none is excluded.
    pub fn matches_any(&self, names: &[&str]) -> bool {
        let hit = |list: &[WildMatch]| list.iter().any(|p| names.iter().any(|name| p.matches(name)));
        (self.wanted.is_empty() || hit(&self.wanted)) && !hit(&self.unwanted)
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
}
