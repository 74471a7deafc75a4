//! Which function holds a place in the code: procedures with their lengths, else public symbols, each of which reaches to the next
//! procedure or public symbol.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// A place in the code: number of the section, offset in it.
pub type Place = (u16, u32);

/// S_LPROC32, S_GPROC32, S_LPROC32_ID, S_GPROC32_ID.
pub(super) const PROCEDURES: [u16; 4] = [0x110f, 0x1110, 0x1146, 0x1147];

/// Names of public symbols at one place.
pub(super) type Names = Arc<[Box<str>]>;

/// What lies at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The name of a procedure.
    Procedure(Arc<str>),
    /// The names of public symbols as the linker has them. More than one where functions with equal code were folded. Places of one
    /// function share them.
    Publics(Names),
}

/// Names of one address that are kept. Linkers fold some hundred functions; a hostile file has as many as it likes.
const MOST_FOLDED: usize = 1024;

/// Longest name that is kept, bytes; compilers end at 4,095.
pub const LONGEST: usize = 4096;

/// Looks for the functions of some places while the records of a database pass by, in any order.
#[derive(Debug)]
pub struct Search {
    /// Sorted.
    places: Vec<Place>,
    /// By place, the procedure that holds it: its start and name.
    procedures: Vec<Option<(u32, Arc<str>)>>,
    /// By place, the number of the module that has this procedure.
    modules: Vec<u32>,
    /// The module whose procedures pass by.
    pub(super) module: u32,
    /// By place, what begins last at or before it; of equal sections only.
    begins: Vec<Option<Begin>>,
    /// How often procedures may still hold places. Procedures do not overlap, so each place is held once, or by folded ones.
    left: u64,
}

#[derive(Debug, Clone)]
struct Begin {
    offset: u32,
    is_procedure: bool,
    publics: BTreeSet<Box<str>>,
}

impl Search {
    /// For these places.
    pub fn new(mut places: Vec<Place>) -> Search {
        places.sort_unstable();
        places.dedup();
        let (procedures, begins) = (vec![None; places.len()], vec![None; places.len()]);
        let left = 1_000_000 + 100 * places.len() as u64;
        let modules = vec![0; places.len()];
        Search { places, procedures, modules, module: 0, begins, left }
    }

    /// The places, sorted.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Indices of the places from this one up to an end in its section.
    pub(super) fn places_in(&self, from: Place, end: u32) -> Range<usize> {
        let first = self.places.partition_point(|place| *place < from);
        first..self.places.partition_point(|place| *place < (from.0, end)).max(first)
    }

    /// Where the procedure of a place, by its index, begins, and the module that has it.
    pub(super) fn procedure_of(&self, at: usize) -> Option<(u32, u32)> {
        let (start, _) = self.procedures.get(at)?.as_ref()?;
        self.modules.get(at).map(|module| (*start, *module))
    }

    /// Takes note of a procedure. False when the procedures overlap so much that no linker wrote them.
    pub fn procedure(&mut self, (section, start): Place, length: u32, name: &[u8]) -> bool {
        self.begins((section, start), |begin| begin.is_procedure = true);
        let end = start.saturating_add(length);
        let mut shared: Option<Arc<str>> = None;
        for at in self.places_in((section, start), end) {
            let Some(left) = self.left.checked_sub(1) else { return false };
            self.left = left;
            let Some(known) = self.procedures.get_mut(at) else { break };
            // The one that begins last; of folded functions the first name.
            let is_better = match known {
                None => true,
                Some((other, _)) if *other != start => start > *other,
                Some((_, other)) => name < other.as_bytes(),
            };
            if is_better {
                *known = Some((start, Arc::clone(shared.get_or_insert_with(|| text(name).into()))));
                self.modules.get_mut(at).into_iter().for_each(|module| *module = self.module);
            }
        }
        true
    }

    /// Takes note of a public symbol.
    pub fn public(&mut self, place: Place, is_function: bool, name: &[u8]) {
        self.begins(place, |begin| {
            if is_function {
                begin.publics.insert(text(name));
                if begin.publics.len() > MOST_FOLDED {
                    begin.publics.pop_last();
                }
            }
        });
    }

    /// Changes what begins last before the first place that is not before it.
    fn begins(&mut self, (section, offset): Place, change: impl FnOnce(&mut Begin)) {
        let at = self.places.partition_point(|place| *place < (section, offset));
        if self.places.get(at).is_none_or(|(of, _)| *of != section) {
            return;
        }
        let Some(known) = self.begins.get_mut(at) else { return };
        match known {
            Some(begin) if begin.offset > offset => {}
            Some(begin) if begin.offset == offset => change(begin),
            _ => change(known.insert(Begin { offset, is_procedure: false, publics: BTreeSet::new() })),
        }
    }

    /// What was found, by place.
    pub fn finish(self) -> Vec<(Place, Option<Found>)> {
        // The section, and the public symbols there if no procedure begins with them.
        let mut last: Option<(u16, Option<Names>)> = None;
        let places = self.places.into_iter().zip(self.procedures).zip(self.begins);
        let found = places.map(|((place, procedure), begin)| {
            if let Some(Begin { is_procedure, publics, .. }) = begin {
                let is_public = !is_procedure && !publics.is_empty();
                last = Some((place.0, is_public.then(|| publics.into_iter().collect())));
            }
            let found = procedure.map(|(_, name)| Found::Procedure(name)).or_else(|| {
                let (_, publics) = last.as_ref().filter(|(section, _)| *section == place.0)?;
                publics.clone().map(Found::Publics)
            });
            (place, found)
        });
        found.collect()
    }
}

/// A name, or a path: what is longer than a compiler's is cut.
pub(super) fn text(name: &[u8]) -> Box<str> {
    String::from_utf8_lossy(name.get(..LONGEST).unwrap_or(name)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(number: usize) -> String {
        format!("f{number:02}")
    }

    fn find(places: &[Place], procedures: &[(Place, u32)], publics: &[(Place, bool)]) -> Vec<(Place, Option<Found>)> {
        let mut search = Search::new(places.to_vec());
        for (number, (place, is_function)) in publics.iter().enumerate() {
            search.public(*place, *is_function, name(number).as_bytes());
        }
        for (number, (place, length)) in procedures.iter().enumerate() {
            assert!(search.procedure(*place, *length, name(number).as_bytes()));
        }
        search.finish()
    }

    /// The rule, asked of all records for each place.
    fn slow(place: Place, procedures: &[(Place, u32)], publics: &[(Place, bool)]) -> Option<Found> {
        let (section, offset) = place;
        let holds =
            |((of, start), length): &(Place, u32)| *of == section && *start <= offset && offset - start < *length;
        let start = procedures.iter().filter(|one| holds(one)).map(|((_, start), _)| *start).max();
        if let Some(start) = start {
            let names = (0..).zip(procedures).filter(|(_, one)| holds(one) && one.0.1 == start);
            return names.map(|(number, _)| name(number)).min().map(|name| Found::Procedure(name.into()));
        }
        let before = |(of, start): &Place| *of == section && *start <= offset;
        let starts = procedures.iter().map(|(place, _)| place).chain(publics.iter().map(|(place, _)| place));
        let last = *starts.filter(|place| before(place)).max()?;
        if procedures.iter().any(|(place, _)| *place == last) {
            return None;
        }
        let names: Vec<Box<str>> = (0..)
            .zip(publics)
            .filter(|(_, (place, is_function))| *place == last && *is_function)
            .map(|(number, _)| name(number).into())
            .collect();
        (!names.is_empty()).then(|| Found::Publics(names.into()))
    }

    proptest! {
        #[test]
        fn functions_are_those_of_the_rule(
            places in prop::collection::vec((1u16..3, 0u32..40), 1..20),
            procedures in prop::collection::vec(((1u16..3, 0u32..40), 0u32..12), 0..8),
            publics in prop::collection::vec(((1u16..3, 0u32..40), prop::bool::weighted(0.8)), 0..8),
        ) {
            for (place, found) in find(&places, &procedures, &publics) {
                prop_assert_eq!(found, slow(place, &procedures, &publics), "{:?}", place);
            }
        }
    }

    #[test]
    fn places_of_one_function_share_its_names() {
        let mut search = Search::new((0..100).map(|offset| (1, offset)).collect());
        (0..8).for_each(|number| search.public((1, 0), true, name(number).as_bytes()));
        assert!(search.procedure((1, 50), 50, b"long"));
        let (mut publics, mut procedures) = (Vec::new(), Vec::new());
        for (_, found) in search.finish() {
            match found.expect("a function") {
                Found::Publics(names) => publics.push(names),
                Found::Procedure(name) => procedures.push(name),
            }
        }
        assert_eq!((publics.len(), procedures.len()), (50, 50));
        assert!(publics.windows(2).all(|two| two.iter().all(|one| Arc::ptr_eq(one, &two[0]))));
        assert!(procedures.windows(2).all(|two| two.iter().all(|one| Arc::ptr_eq(one, &two[0]))));
    }

    #[test]
    fn procedures_that_all_hold_all_places_end() {
        let mut search = Search::new((0..1000).map(|offset| (1, offset)).collect());
        let taken = (0..10_000).take_while(|_| search.procedure((1, 0), u32::MAX, b"f")).count();
        assert!((1000..10_000).contains(&taken), "{taken}");
    }
}
