//! Names on the page.

use crate::escape::visible;

/// Most characters of a name on the page.
const LONGEST: usize = 300;

/// A name from a trace on the page: [`visible`], and cut in the middle where it is very long.
pub(super) fn label(text: &str) -> String {
    let shown = visible(text);
    let length = shown.chars().count();
    if length <= LONGEST {
        return shown.into_owned();
    }
    let half = LONGEST / 2;
    let (start, end) = (shown.chars().take(half), shown.chars().skip(length - half));
    start.chain(['…']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        let long = label(&"é".repeat(100_000));
        assert!(long.chars().count() == LONGEST + 1 && long.contains('…'));
        assert_eq!(label("a\u{202e}b"), "a\\u{202e}b");
    }
}
