//! The course of a number as a line of characters of eight heights.

use crate::analysis::table::Course;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// On screens that are narrower than this, a course has at most so many characters.
const NARROW: (u16, usize) = (100, 8);

/// A course; on a narrow screen it is shorter, and what falls together becomes its mean. Blank where nothing is known.
pub(super) fn shown(course: &Course, width: Option<u16>) -> String {
    let columns = width.filter(|width| *width < NARROW.0).map_or(usize::MAX, |_| NARROW.1);
    in_columns(course, columns)
}

/// A course in at most so many characters.
pub(super) fn in_columns(course: &Course, most: usize) -> String {
    let all = course.heights.len();
    let columns = all.min(most.max(1));
    let height = |at: usize| {
        let (from, to) = (at * all / columns, (at + 1) * all / columns);
        let known = || course.heights.iter().take(to).skip(from).flatten().map(|height| usize::from(*height));
        let mean = (known().sum::<usize>() + known().count() / 2).checked_div(known().count());
        mean.and_then(|mean| LEVELS.get(mean)).copied().unwrap_or(' ')
    };
    (0..columns).map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_screen_shows_means() {
        let course = Course { heights: (0..24).map(|n| Some(n / 3)).collect() };
        assert_eq!(shown(&course, None), "▁▁▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇▇███");
        assert_eq!(shown(&course, Some(100)), shown(&course, None));
        assert_eq!(shown(&course, Some(99)), "▁▂▃▄▅▆▇█");
        let gaps = Course { heights: vec![Some(0), None, Some(7), Some(4)] };
        assert_eq!((shown(&gaps, Some(40)).as_str(), shown(&Course::default(), None).as_str()), ("▁ █▅", ""));
    }
}
