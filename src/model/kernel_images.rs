//! Kernel images over time: which image holds an address. Images are unloaded, and others take their addresses.

use crate::event::Phase;
use crate::load::owned_events::ImageEvent;
use crate::model::process_name::last_part;
use crate::model::range_map::RangeMap;
use crate::moment::At;
use crate::units::Ticks;
use std::collections::HashMap;
use std::sync::Arc;

/// An image while it was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Loaded<'h> {
    base: u64,
    size: u64,
    name: &'h str,
    begin: Ticks,
    end: Ticks,
}

/// The kernel images of a trace.
#[derive(Debug, Clone, Default)]
pub struct KernelImages<'h> {
    /// By begin.
    loaded: Vec<Loaded<'h>>,
    /// When images were loaded and unloaded, in order. Between two of these times nothing changes.
    pub changes: Arc<[Ticks]>,
}

impl<'h> KernelImages<'h> {
    /// The images of these events, which come in order.
    pub fn new(events: &'h [At<ImageEvent>]) -> KernelImages<'h> {
        let mut loaded: Vec<Loaded<'h>> = Vec::new();
        let mut latest: HashMap<u64, usize> = HashMap::new();
        for At { moment, value } in events {
            let known = latest.get(&value.base).and_then(|&index| loaded.get_mut(index));
            let mut begin = Ticks(i64::MIN);
            if let Some(before) = known {
                let is_loaded = before.end == Ticks(i64::MAX);
                match value.phase {
                    Phase::End if is_loaded => before.end = moment.time,
                    Phase::Start if is_loaded => before.end = moment.time,
                    _ => {}
                }
                if value.phase == Phase::End || is_loaded && value.phase != Phase::Start {
                    continue;
                }
                begin = moment.time; // listed again after its end
            }
            begin = if value.phase == Phase::Start { moment.time } else { begin };
            let end = if value.phase == Phase::End { moment.time } else { Ticks(i64::MAX) };
            latest.insert(value.base, loaded.len());
            loaded.push(Loaded { base: value.base, size: value.size, name: last_part(&value.file_name), begin, end });
        }
        loaded.sort_by_key(|image| image.begin);
        let times = loaded.iter().flat_map(|image| [image.begin, image.end]);
        let mut changes: Vec<Ticks> = times.filter(|time| ![i64::MIN, i64::MAX].contains(&time.0)).collect();
        changes.sort_unstable();
        changes.dedup();
        KernelImages { loaded, changes: changes.into() }
    }

    /// The file names of the images that hold these addresses, each after a number of changes.
    pub fn names(&self, wanted: &[(u64, u32)]) -> Vec<Option<&'h str>> {
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|&at| wanted.get(at).map(|wanted| wanted.1));
        let mut ends: Vec<usize> = (0..self.loaded.len()).collect();
        ends.sort_by_key(|&at| self.loaded.get(at).map(|image| image.end));
        let (mut begins, mut ends) = (self.loaded.iter().enumerate().peekable(), ends.into_iter().peekable());
        let mut now: RangeMap<usize> = RangeMap::default();
        let mut names = vec![None; wanted.len()];
        for at in order {
            let Some(&(address, changes)) = wanted.get(at) else { continue };
            let time = (changes as usize).checked_sub(1).and_then(|last| self.changes.get(last).copied());
            let time = time.unwrap_or(Ticks(i64::MIN));
            while let Some((index, image)) = begins.next_if(|(_, image)| image.begin <= time) {
                now.insert(image.base, image.size, index);
            }
            while let Some(index) = ends.next_if(|&at| self.loaded.get(at).is_some_and(|image| image.end <= time)) {
                let Some(image) = self.loaded.get(index) else { continue };
                now.remove_if(image.base, image.base.saturating_add(image.size), |&other| other == index);
            }
            let found = now.get(address).and_then(|(.., &index)| self.loaded.get(index));
            names.get_mut(at).into_iter().for_each(|name| *name = found.map(|image| image.name));
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;

    #[test]
    fn an_address_has_the_image_of_its_time() {
        use Phase::*;
        let event = |time: i64, phase, base, name: &str| At {
            moment: Moment { time: Ticks(time), order: 0 },
            value: ImageEvent { phase, base, size: 10, file_name: format!("\\SystemRoot\\{name}").into() },
        };
        let events = [
            event(1, DcStart, 100, "a.sys"),
            event(5, End, 100, "a.sys"),
            event(7, Start, 100, "b.sys"),
            event(9, End, 200, "c.sys"),
            event(20, DcEnd, 100, "b.sys"),
            event(20, DcEnd, 300, "d.sys"),
        ];
        let images = KernelImages::new(&events);
        assert_eq!(*images.changes, [5, 7, 9].map(Ticks));
        let names = images.names(&[(105, 0), (105, 3), (105, 1), (209, 2), (209, 3), (305, 0), (310, 3)]);
        let expected = [Some("a.sys"), Some("b.sys"), None, Some("c.sys"), None, Some("d.sys"), None];
        assert_eq!(names, expected);
    }
}
