//! Few points of many: a picture has a few hundred.

use crate::units::Nanos;

/// Evenly spaced numbers of at most `most` of `count` things, the first and the last among them.
pub fn thinned(count: usize, most: usize) -> Vec<usize> {
    let kept = count.min(most);
    match kept {
        0 | 1 => (0..kept).collect(),
        _ => (0..kept).map(|n| n * (count - 1) / (kept - 1)).collect(),
    }
}

/// The length of the steps that divide a length of time into this number of steps.
pub fn step_of(length: Nanos, steps: i128) -> Nanos {
    Nanos((length.0 / steps).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_both_ends() {
        assert_eq!(thinned(5, 10), [0, 1, 2, 3, 4]);
        assert_eq!(thinned(101, 5), [0, 25, 50, 75, 100]);
        assert_eq!((thinned(0, 5), thinned(1, 5)), (vec![], vec![0]));
        assert_eq!(thinned(1000, 3), [0, 499, 999]);
    }
}
