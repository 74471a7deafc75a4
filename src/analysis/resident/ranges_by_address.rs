//! Address ranges in order that do not overlap, for millions of look-ups.

/// Ranges with a value each.
#[derive(Debug, Clone)]
pub(crate) struct RangesByAddress<T>(Vec<(u64, u64, T)>);

impl<T> Default for RangesByAddress<T> {
    fn default() -> Self {
        RangesByAddress(Vec::new())
    }
}

impl<T: Copy> FromIterator<(u64, u64, T)> for RangesByAddress<T> {
    /// Makes the list of ranges in order: begin, end, value.
    fn from_iter<I: IntoIterator<Item = (u64, u64, T)>>(ranges: I) -> Self {
        RangesByAddress(ranges.into_iter().collect())
    }
}

impl<T: Copy> RangesByAddress<T> {
    /// Of ranges in order; those that touch and have equal values become one.
    pub fn joined(ranges: impl Iterator<Item = (u64, u64, T)>) -> RangesByAddress<T>
    where
        T: PartialEq,
    {
        let mut all: Vec<(u64, u64, T)> = Vec::new();
        for (base, end, value) in ranges {
            match all.last_mut() {
                Some(last) if last.1 == base && last.2 == value => last.1 = end,
                _ => all.push((base, end, value)),
            }
        }
        all.shrink_to_fit();
        RangesByAddress(all)
    }

    /// The value of the range that holds an address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<T> {
        let next = self.0.partition_point(|range| range.0 <= address);
        let &(_, end, value) = self.0.get(next.checked_sub(1)?)?;
        (address < end).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one_where_their_values_are() {
        let ranges = [(1, 3, 'a'), (3, 5, 'a'), (5, 6, 'b'), (8, 9, 'b')];
        let joined = RangesByAddress::joined(ranges.into_iter());
        assert_eq!(joined.0, [(1, 5, 'a'), (5, 6, 'b'), (8, 9, 'b')]);
        let plain: RangesByAddress<char> = ranges.into_iter().collect();
        let found = |all: &RangesByAddress<char>| (0..10).map(|at| all.get(at).unwrap_or('.')).collect::<String>();
        assert_eq!((found(&joined).as_str(), found(&plain)), (".aaaab..b.", found(&joined)));
        assert_eq!(RangesByAddress::<char>::default().get(0), None);
    }
}
