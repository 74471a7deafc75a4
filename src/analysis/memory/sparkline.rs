//! The course of a counter as a sparkline: a few characters of eight heights.

use crate::units::Nanos;
use std::fmt;

/// Columns of a sparkline.
const COLUMNS: usize = 24;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Heights from the least to the most of a counter, in equal columns of a window; blank where no sample lies. There are no
/// more columns than samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sparkline {
    heights: [Option<u8>; COLUMNS],
    columns: usize,
}

impl Sparkline {
    /// The mean of the values in each column; `count` is how many values there are.
    pub(super) fn new(
        (from, to): (Nanos, Nanos),
        (least, most): (u64, u64),
        count: u64,
        values: impl Iterator<Item = (Nanos, u64)>,
    ) -> Sparkline {
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
        let top = LEVELS.len() as u128 - 1;
        // Halves go up.
        let height = |(sum, count): (u128, u128)| {
            let height = (sum * top * 2 + range * count) / (range * count * 2).max(1);
            (count > 0).then(|| height.min(top) as u8)
        };
        Sparkline { heights: sums.map(height), columns }
    }
}

impl Sparkline {
    /// The same in at most this number of columns; columns that fall together become their mean.
    pub(super) fn within(self, most: usize) -> Sparkline {
        let columns = self.columns.min(most.clamp(1, COLUMNS));
        let mut heights = [None; COLUMNS];
        for (at, height) in heights.iter_mut().enumerate().take(columns) {
            let (from, to) = (at * self.columns / columns, (at + 1) * self.columns / columns);
            let known = || self.heights.iter().take(to).skip(from).flatten().map(|height| usize::from(*height));
            let mean = (known().sum::<usize>() + known().count() / 2).checked_div(known().count());
            *height = mean.and_then(|mean| u8::try_from(mean).ok());
        }
        Sparkline { heights, columns }
    }
}

impl fmt::Display for Sparkline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let character = |height: &Option<u8>| height.and_then(|h| LEVELS.get(usize::from(h)).copied()).unwrap_or(' ');
        f.write_str(&self.heights.iter().take(self.columns).map(character).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparkline(values: &[(i128, u64)]) -> String {
        let values = || values.iter().map(|&(time, value)| (Nanos(time), value));
        let (least, most) = (values().map(|v| v.1).min().unwrap(), values().map(|v| v.1).max().unwrap());
        let ends = (values().next().unwrap().0, values().next_back().unwrap().0);
        Sparkline::new(ends, (least, most), values().len() as u64, values()).to_string()
    }

    #[test]
    fn heights_go_from_the_least_to_the_most() {
        let all: Vec<(i128, u64)> = (0..24).map(|n| (n * 10, 100 + n as u64 * 2)).collect();
        assert_eq!(sparkline(&all), "▁▁▂▂▂▃▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██");
        assert_eq!(sparkline(&[(0, 5), (120, 5), (240, 5)]), "▁▁▁");
        assert_eq!(sparkline(&[(7, 5)]), "▁");
        assert_eq!(sparkline(&[(0, 0), (9, 9), (10, 0), (11, 9)]), "▁ █▅", "the mean of a column");
        assert_eq!(sparkline(&[(0, 0), (1, u64::MAX), (240, u64::MAX / 2 + 1)]), "▅ ▅");
        let jitter: Vec<(i128, u64)> = (0..13).map(|n| (n * 1000 + n % 3 * 90, n as u64 % 2)).collect();
        assert_eq!(
            Sparkline::new((Nanos(0), Nanos(23)), (0, 23), 24, (0..24).map(|n| (Nanos(n), n as u64)))
                .within(8)
                .to_string(),
            "▁▂▃▄▅▆▇█",
            "means of three columns each"
        );
        assert_eq!(sparkline(&jitter), "▁█▁█▁█▁█▁█▁█▁", "regular samples leave no gaps");
    }
}
