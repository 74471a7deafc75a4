//! Classifies many pages at once, as fast as the memory allows.
//!
//! [`SnapshotContext::classify`] classifies one page and is the reference. For millions of pages that is slow: branches for each
//! page mispredict, and cache misses wait for each other. Here a table assigns each page a lookup class, and each class is
//! processed in one loop. A property test compares the results of both.

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::classify::{ClassifiedPage, NOTHING, OwnerCode};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::model::address_index::{AddressOwner, LayerPair, Question};
use crate::model::snapshot::BATCH;

/// What has to be looked up to classify a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookupClass {
    /// Nothing: use and list decide.
    Known,
    /// Nothing either; memory combining made the page, which the checks count.
    Combined,
    /// Its process.
    Owned,
    /// Its process, and what its address belongs to there.
    Private,
    /// The name of its file.
    Named,
    /// Nothing, as long as it has no owner key: half of a machine's memory may be free.
    Free,
    /// Rare: classified by [`SnapshotContext::classify`].
    Odd,
}

const CLASSES: usize = 7;

/// Bits of each class's count of pages in a batch.
const COUNT_BITS: usize = 9;
const _: () = assert!(BATCH < 1 << COUNT_BITS && BATCH <= 1 << u8::BITS && CLASSES * COUNT_BITS <= u64::BITS as usize);

const NOT_CLASSIFIED: ClassifiedPage = ClassifiedPage {
    rule: Rule::Unused,
    rule_wpa: Rule::Unused,
    owner: OwnerCode::NONE,
    address_owner: AddressOwner::NOTHING,
};

/// Our rule and WPA's by the layers of an address. A table, because a `match` becomes a jump to an address that no processor
/// can foresee.
const RULES: [(Rule, Rule); LayerPair::ALL.len()] = {
    let mut rules = [(Rule::NoRange, Rule::NoRange); LayerPair::ALL.len()];
    let mut at = 0;
    while at < rules.len() {
        let [corrected, wpa] = LayerPair::ALL[at];
        rules[at] = (Rule::of_layer(corrected), Rule::of_layer_wpa(wpa));
        at += 1;
    }
    rules
};

/// Counts for the checks. They cover all pages, whatever the query is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyStats {
    /// Pages that memory combining made.
    pub combined: u64,
    /// Active private pages with an owner key.
    pub keyed: u64,
    /// Pages among these with a key that names no process.
    pub unnamed: u64,
}

impl KeyStats {
    /// Adds another thread's counts.
    pub fn merge(&mut self, other: KeyStats) {
        self.combined += other.combined;
        self.keyed += other.keyed;
        self.unnamed += other.unnamed;
    }
}

/// Classifies batches of up to [`BATCH`] pages; one for each thread.
#[derive(Debug)]
pub struct BatchClassifier<'s> {
    context: &'s SnapshotContext<'s>,
    /// The class of a page, by [`start_of`], and what is known of it at once.
    classes: Box<[LookupClass; 256]>,
    starts: Box<[ClassifiedPage; 256]>,
    classified_pages: [ClassifiedPage; BATCH],
    /// Places in the batch of the pages of each class, and how many there are.
    places: [[u8; BATCH]; CLASSES],
    counts: [usize; CLASSES],
    /// Counts for the checks so far.
    pub stats: KeyStats,
    questions: [Question; BATCH],
}

/// Use (4 bits) and list (3 bits) of a page as one number, with the bit that says *image* for files and *combined* for
/// sections.
#[inline(always)]
const fn start_of(page: &PageIdentity) -> u8 {
    (page.flags & 0x7f) as u8 | ((page.u2 & 1) as u8) << 7
}

impl<'s> BatchClassifier<'s> {
    /// For the pages of a snapshot.
    pub fn new(context: &'s SnapshotContext<'s>) -> BatchClassifier<'s> {
        let page = |number: usize| PageIdentity { flags: number as u64 & 0x7f, pfn: 0, u2: number as u64 >> 7 };
        let classes: [LookupClass; 256] = std::array::from_fn(|number| lookup_class(context, &page(number)));
        let start = |number: usize| match classes.get(number) {
            Some(LookupClass::Odd) | None => NOT_CLASSIFIED,
            Some(LookupClass::Named) => {
                let by_use = Rule::of_use(&page(number));
                ClassifiedPage { rule: by_use, rule_wpa: by_use, ..context.classify(&page(number)) }
            }
            Some(_) => context.classify(&page(number)),
        };
        BatchClassifier {
            context,
            starts: Box::new(std::array::from_fn(start)),
            classes: Box::new(classes),
            classified_pages: [NOT_CLASSIFIED; BATCH],
            places: [[0; BATCH]; CLASSES],
            counts: [0; CLASSES],
            stats: KeyStats::default(),
            questions: [Question::default(); BATCH],
        }
    }

    /// Classifies pages, at most [`BATCH`]; [`BatchClassifier::classified_pages`] are in the same order.
    #[inline(never)]
    pub fn classify(&mut self, pages: &[PageIdentity]) {
        let context = self.context;
        // All counts share one register. In memory, each increment would wait until the one before it has been written.
        let mut counts = 0u64;
        for (place, (page, classified)) in pages.iter().zip(&mut self.classified_pages).enumerate() {
            let start = start_of(page) as usize; // any u8 is in the tables
            *classified = self.starts[start];
            let class = self.classes[start] as usize;
            let count = (counts >> (class * COUNT_BITS)) as usize & (BATCH - 1);
            counts += 1 << (class * COUNT_BITS);
            self.places[class][count] = place as u8;
        }
        self.counts = std::array::from_fn(|class| (counts >> (class * COUNT_BITS)) as usize & ((1 << COUNT_BITS) - 1));
        let [_, combined, owned, _, named, free, odd] = self.counts;
        self.stats.combined += combined as u64;
        self.classify_private(pages);
        let [_, _, owned_at, _, named_at, free_at, odd_at] = &self.places;
        for &at in owned_at.iter().take(owned) {
            let (page, classified) = (page_at(pages, at), &mut self.classified_pages[at as usize]);
            classified.owner = context.owner_by_key(page.key(), context.owners.get(page.key()).unwrap_or(NOTHING));
        }
        for &at in named_at.iter().take(named) {
            let (page, classified) = (page_at(pages, at), &mut self.classified_pages[at as usize]);
            if let Some(rules) = context.special_files.get(page.file_key()) {
                (classified.rule, classified.rule_wpa) = match page.page_use() {
                    PageUse::File => (rules.data, rules.data_wpa),
                    _ => (classified.rule, rules.meta_wpa),
                };
            }
        }
        for &at in free_at.iter().take(free) {
            let page = page_at(pages, at);
            if page.key() != 0 {
                self.classified_pages[at as usize] = context.classify(page);
            }
        }
        for &at in odd_at.iter().take(odd) {
            self.classified_pages[at as usize] = context.classify(page_at(pages, at));
        }
    }

    /// Classifies the pages of [`LookupClass::Private`]: processes first, then all of their addresses at once.
    #[inline(always)]
    fn classify_private(&mut self, pages: &[PageIdentity]) {
        let context = self.context;
        let (places, private) =
            (&self.places[LookupClass::Private as usize], self.counts[LookupClass::Private as usize]);
        // Number of keyed pages, and in the upper half those without a name: one register, no slower vectors.
        let (mut asked, mut keyed) = (0, 0u64);
        for &at in places.iter().take(private) {
            let (page, classified) = (page_at(pages, at), &mut self.classified_pages[at as usize]);
            let key = page.key();
            let process = context.owners.get(key).filter(|_| key != 0).unwrap_or(NOTHING);
            let is_keyed = (page.list() == PageList::Active) & (key != 0);
            keyed += u64::from(is_keyed) | u64::from(is_keyed & !context.owners.is_named(process)) << 32;
            if process == NOTHING {
                (classified.rule, classified.rule_wpa) = context.private_rules(key, process, AddressOwner::NOTHING);
                classified.owner = context.owner_by_key(key, process);
            } else if let Some(question) = self.questions.get_mut(asked) {
                *question = Question { space: process, tag: u32::from(at), address: page.u2 };
                asked += 1;
            }
        }
        self.stats.keyed += keyed & u64::from(u32::MAX);
        self.stats.unnamed += keyed >> 32;
        let classified_pages = &mut self.classified_pages;
        context.spaces.find_all(self.questions.get(..asked).unwrap_or_default(), |question, address_owner| {
            let (rule, rule_wpa) = RULES[address_owner.layers.number()];
            let owner = context.owner_of(question.space);
            classified_pages[question.tag as u8 as usize] = ClassifiedPage { rule, rule_wpa, owner, address_owner };
        });
    }

    /// The first classified pages of the last batch.
    #[inline]
    pub fn classified_pages(&self, pages: usize) -> &[ClassifiedPage] {
        self.classified_pages.get(..pages).unwrap_or(&self.classified_pages)
    }

    /// The classified pages of the last batch of `pages`, with their records: those that can have an owner.
    #[inline]
    pub fn owned<'j>(
        &'j self,
        pages: &'j [PageIdentity],
    ) -> impl Iterator<Item = (&'j PageIdentity, &'j ClassifiedPage)> + 'j {
        let classes = [LookupClass::Private, LookupClass::Owned, LookupClass::Odd]
            .map(|class| (&self.places[class as usize], self.counts[class as usize]));
        let places = classes.into_iter().flat_map(|(places, count)| places.iter().take(count));
        places.map(|&at| (page_at(pages, at), &self.classified_pages[at as usize]))
    }
}

/// The page at a noted place of the batch.
#[inline(always)]
fn page_at(pages: &[PageIdentity], at: u8) -> &PageIdentity {
    const NONE: PageIdentity = PageIdentity { flags: 0, pfn: 0, u2: 0 };
    pages.get(at as usize).unwrap_or(&NONE)
}

fn lookup_class(context: &SnapshotContext<'_>, page: &PageIdentity) -> LookupClass {
    let is_listed = Rule::of_list(page.list()).is_some();
    match page.page_use() {
        PageUse::PageFileMapped if page.combined() => LookupClass::Combined,
        PageUse::PageFileMapped
        | PageUse::PagedPool
        | PageUse::NonPagedPool
        | PageUse::DriverLocked
        | PageUse::KernelStack
        | PageUse::Use14
        | PageUse::Use15 => LookupClass::Known,
        PageUse::File if page.is_image() => LookupClass::Known,
        page_use @ (PageUse::Awe | PageUse::LargePage) if !context.has_owner(page_use) => LookupClass::Known,
        PageUse::ProcessPrivate if matches!(page.list(), PageList::Zero | PageList::Free) => LookupClass::Free,
        // For pages on these lists WPA has another rule than the corrected classification.
        _ if is_listed => LookupClass::Odd,
        PageUse::PageTable | PageUse::WsMetaData | PageUse::Awe | PageUse::LargePage => LookupClass::Owned,
        PageUse::ProcessPrivate => LookupClass::Private,
        PageUse::File | PageUse::MetaFile => LookupClass::Named,
        PageUse::SystemPte | PageUse::SessionPrivate => LookupClass::Odd,
    }
}

#[cfg(etl_writer)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::resident::classify::PageOwner;
    use crate::analysis::resident::testing::{pages, with_context};
    use crate::random_cases::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(16))]

        /// Batches against classifying one by one: every page of the machine, in any order, in batches of any size.
        #[test]
        fn agrees_with_the_rule_book(
            (version, pages) in prop::sample::select(vec![2u8, 4]).prop_flat_map(|v| (Just(v), Just(pages(v)).prop_shuffle())),
            size in 1..=BATCH,
        ) {
            with_context(version, |context| {
                let mut classifier = BatchClassifier::new(context);
                let mut stats = KeyStats::default();
                for batch in pages.chunks(size) {
                    classifier.classify(batch);
                    let (mut owned, mut owned_by_book) = (0, 0);
                    for (page, classified) in batch.iter().zip(classifier.classified_pages(batch.len())) {
                        assert_eq!(*classified, context.classify(page), "{page:x?}");
                        let is_keyed = page.page_use() == PageUse::ProcessPrivate && page.list() == PageList::Active && page.key() != 0;
                        stats.combined += u64::from(page.combined());
                        stats.keyed += u64::from(is_keyed);
                        stats.unnamed += u64::from(is_keyed && classified.owner() == PageOwner::Unknown);
                        owned_by_book += u32::from(matches!(classified.owner(), PageOwner::Process(_) | PageOwner::Unknown));
                    }
                    for (page, classified) in classifier.owned(batch) {
                        assert_eq!(*classified, context.classify(page), "{page:x?}");
                        owned += u32::from(matches!(classified.owner(), PageOwner::Process(_) | PageOwner::Unknown));
                    }
                    assert_eq!(owned, owned_by_book);
                }
                assert_eq!(classifier.stats, stats);
            });
        }
    }
}
