//! The course of a counter: its heights over time.

use crate::analysis::table::Course;
use crate::units::Nanos;

/// Most columns of a course.
const COLUMNS: usize = 24;
/// The greatest height.
const TOP: u128 = 7;

/// Heights from the least to the most of a counter, in equal columns of a window. There are no more columns than samples.
///
/// A height is the mean of the values in a column; `count` is how many values there are.
pub(super) fn course(
    (from, to): (Nanos, Nanos),
    (least, most): (u64, u64),
    count: u64,
    values: impl Iterator<Item = (Nanos, u64)>,
) -> Course {
    let columns = usize::try_from(count).unwrap_or(COLUMNS).clamp(1, COLUMNS);
    let mut sums = [(0u128, 0u128); COLUMNS];
    let length = to.0.saturating_sub(from.0).max(1);
    for (time, value) in values {
        // The first sample is in the first column and the last one in the last.
        let at = time.0.saturating_sub(from.0).saturating_mul(2 * (columns as i128 - 1)).saturating_add(length);
        let at = usize::try_from(at / length / 2).unwrap_or(0).min(columns - 1);
        if let Some((sum, count)) = sums.get_mut(at) {
            *sum += u128::from(value.saturating_sub(least));
            *count += 1;
        }
    }
    let range = u128::from(most.saturating_sub(least)).max(1);
    // Halves go up.
    let height = |(sum, count): (u128, u128)| {
        let height = (sum * TOP * 2 + range * count) / (range * count * 2).max(1);
        (count > 0).then(|| height.min(TOP) as u8)
    };
    Course { heights: sums.into_iter().take(columns).map(height).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heights as digits, from 1; a dot where nothing is known.
    fn heights(values: &[(i128, u64)]) -> String {
        let values = || values.iter().map(|&(time, value)| (Nanos(time), value));
        let (least, most) = (values().map(|v| v.1).min().unwrap(), values().map(|v| v.1).max().unwrap());
        let ends = (values().next().unwrap().0, values().next_back().unwrap().0);
        let course = course(ends, (least, most), values().len() as u64, values());
        course.heights.iter().map(|height| height.map_or('.', |height| char::from(b'1' + height))).collect()
    }

    #[test]
    fn heights_go_from_the_least_to_the_most() {
        let all: Vec<(i128, u64)> = (0..24).map(|n| (n * 10, 100 + n as u64 * 2)).collect();
        assert_eq!(heights(&all), "112223333444555666677788");
        assert_eq!(heights(&[(0, 5), (120, 5), (240, 5)]), "111");
        assert_eq!(heights(&[(7, 5)]), "1");
        assert_eq!(heights(&[(0, 0), (9, 9), (10, 0), (11, 9)]), "1.85", "the mean of a column");
        assert_eq!(heights(&[(0, 0), (1, u64::MAX), (240, u64::MAX / 2 + 1)]), "5.5");
        let jitter: Vec<(i128, u64)> = (0..13).map(|n| (n * 1000 + n % 3 * 90, n as u64 % 2)).collect();
        assert_eq!(heights(&jitter), "1818181818181", "regular samples leave no gaps");
    }
}
