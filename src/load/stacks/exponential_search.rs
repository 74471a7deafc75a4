//! Search in sorted lists by those who ask nearly in order.

/// Where a sorted list is parted: `is_before` holds for all items before that place and for none after. It is looked for around `place`,
/// which is where the one before was found.
pub fn partition_point_near<T>(items: &[T], place: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let holds = |at: usize| items.get(at).is_some_and(&is_before);
    let mut low = place.min(items.len());
    let (mut high, mut step) = (low, 1);
    while low > 0 && !holds(low - 1) {
        (low, high, step) = (low.saturating_sub(step), low - 1, step * 2);
    }
    while holds(high) {
        (low, high, step) = (high + 1, high.saturating_add(step).min(items.len()), step * 2);
    }
    low + items.get(low..high).unwrap_or_default().partition_point(is_before)
}
