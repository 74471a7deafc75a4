//! The properties that a page shares with others: everything except its frame and its place in a file or address space. Texts
//! are numbers here; [`PageTexts`] has the texts.

use crate::analysis::category_rules::Rule;
use crate::analysis::export::column_batches::dictionary;
use crate::analysis::pages::Flag;
use crate::analysis::resident::classify::{ClassifiedPage, Detail, PageOwner};
use crate::analysis::resident::page_dimensions::{Dimension, DimensionCode, detail_code};
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::event::page_identity::{PageIdentity, PageList, PageUse};
use crate::model::category::{Category, Class};
use arrow_array::{ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray};
use arrow_schema::ArrowError;
use foldhash::HashMap as FastMap;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

/// Instead of the number of a text: there is none. Also instead of a session's number if it is not known.
const NONE: u32 = u32::MAX;

/// The page's value in each of these dimensions. 20 bytes, because a machine has hundreds of thousands of different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageAttributes {
    /// Rules, use, list, priority and flags, from the highest bits to the lowest.
    small: u32,
    /// Number of the process's text.
    process: u32,
    /// Number of the file's text.
    file: u32,
    /// Number of the detail's text.
    detail: u32,
    session: u32,
}

/// Bits of each small field.
const FLAG_BITS: u32 = 6;
const LIST_AT: u32 = FLAG_BITS + 3;
const USE_AT: u32 = LIST_AT + 3;
const RULE_WPA_AT: u32 = USE_AT + 4;
const RULE_AT: u32 = RULE_WPA_AT + RULE_BITS;
const RULE_BITS: u32 = 6;
const _: () = assert!(Flag::ALL.len() <= FLAG_BITS as usize && Rule::ALL.len() <= 1 << RULE_BITS);

impl Hash for PageAttributes {
    /// In three steps instead of five.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.small) << 32 | u64::from(self.process));
        state.write_u64(u64::from(self.file) << 32 | u64::from(self.detail));
        state.write_u32(self.session);
    }
}

impl PageAttributes {
    #[inline(always)]
    fn new(page: &PageIdentity, classified: &ClassifiedPage) -> PageAttributes {
        let small = Flag::bits_of(page) as u32
            | u32::from(page.priority()) << FLAG_BITS
            | (page.list() as u32) << LIST_AT
            | (page.page_use() as u32) << USE_AT
            | (classified.rule_wpa as u32) << RULE_WPA_AT
            | (classified.rule as u32) << RULE_AT;
        PageAttributes { small, process: NONE, file: NONE, detail: NONE, session: NONE }
    }

    #[inline(always)]
    const fn bits(&self, at: u32, count: u32) -> usize {
        (self.small >> at & ((1 << count) - 1)) as usize
    }

    /// Category by our rules.
    #[inline(always)]
    pub fn category(&self) -> Category {
        category_of(self.bits(RULE_AT, RULE_BITS))
    }

    /// Number of the text of the process.
    #[inline(always)]
    pub const fn process(&self) -> u32 {
        self.process
    }

    /// True for pages of files: they have an offset there and no address.
    #[inline(always)]
    pub const fn is_file_backed(&self) -> bool {
        let page_use = self.bits(USE_AT, 4);
        page_use == PageUse::File as usize || page_use == PageUse::MetaFile as usize
    }
}

/// Category that a rule gives, by the rule's number.
#[inline(always)]
fn category_of(rule: usize) -> Category {
    Rule::ALL.get(rule).map_or(Category::Unused, |rule| rule.category())
}

/// Numbers of codes that no list has: keys without a name, tags of pool. They follow those of a list.
#[derive(Debug, Default)]
struct Numbers {
    listed: u32,
    found: RwLock<(FastMap<DimensionCode, u32>, Vec<DimensionCode>)>,
}

impl Numbers {
    fn after(listed: usize) -> Numbers {
        Numbers { listed: u32::try_from(listed).unwrap_or(NONE - 1), ..Numbers::default() }
    }

    fn number(&self, code: DimensionCode) -> u32 {
        let known = |found: &(FastMap<DimensionCode, u32>, Vec<DimensionCode>)| found.0.get(&code).copied();
        if let Some(number) = known(&self.found.read().unwrap_or_else(PoisonError::into_inner)) {
            return number;
        }
        let mut found = self.found.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known(&found) {
            return number;
        }
        let number = self.listed.saturating_add(found.1.len() as u32).min(NONE - 1);
        found.1.push(code);
        found.0.insert(code, number);
        number
    }

    fn codes(&self) -> Vec<DimensionCode> {
        self.found.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// The numbers in an order that is the same in every run.
    fn ordered(&self) -> OrderedNumbers {
        let codes = self.codes();
        let mut order: Vec<usize> = (0..codes.len()).collect();
        order.sort_unstable_by_key(|&found| codes.get(found));
        let mut places = vec![0; order.len()];
        (0..).zip(order).for_each(|(place, found)| places[found] = place);
        OrderedNumbers { listed: self.listed, places }
    }
}

/// Which number comes before which. Codes that no list has are numbered as pages are read, which differs with the threads.
#[derive(Debug)]
struct OrderedNumbers {
    listed: u32,
    /// For each number after the list, the place of its code among the others.
    places: Vec<u32>,
}

impl OrderedNumbers {
    fn of(&self, number: u32) -> u32 {
        let found = number.checked_sub(self.listed).and_then(|found| self.places.get(found as usize));
        found.map_or(number, |place| self.listed + place)
    }
}

/// Where keys stand in tables: by process and category, then in one order whatever the threads found first.
#[derive(Debug)]
pub struct KeyOrder {
    process_ranks: Vec<u32>,
    details: OrderedNumbers,
}

impl KeyOrder {
    /// Number of places.
    pub const fn places(&self) -> usize {
        (self.process_ranks.len() + 1) * Category::ALL.len()
    }

    /// By process, then category.
    #[inline(always)]
    pub fn place(&self, key: &PageAttributes) -> usize {
        let known = self.process_ranks.get(key.process as usize);
        known.map_or(self.process_ranks.len(), |rank| *rank as usize) * Category::ALL.len() + key.category() as usize
    }

    /// Compares keys of one place.
    pub fn compare(&self, one: &PageAttributes, other: &PageAttributes) -> Ordering {
        let rest =
            |key: &PageAttributes| (key.small, self.details.of(key.file), self.details.of(key.detail), key.session);
        rest(one).cmp(&rest(other))
    }
}

/// Makes keys of pages, and knows the texts that they mean.
#[derive(Debug)]
pub struct PageTexts<'c> {
    context: &'c SnapshotContext<'c>,
    processes: Numbers,
    /// Number of the text for shareable pages.
    shared: u32,
    details: Numbers,
}

impl<'c> PageTexts<'c> {
    /// For the pages of a snapshot.
    pub fn new(context: &'c SnapshotContext<'c>) -> PageTexts<'c> {
        let processes = Numbers::after(context.processes.instances.len());
        PageTexts {
            context,
            shared: processes.number(DimensionCode::Shared),
            processes,
            details: Numbers::after(context.files.names.len()),
        }
    }

    /// The key of a page.
    #[inline]
    pub fn key(&self, page: &PageIdentity, classified: &ClassifiedPage) -> PageAttributes {
        let context = self.context;
        let owner = classified.owner();
        let process = match owner {
            PageOwner::Process(index) => index,
            PageOwner::None => NONE,
            PageOwner::Shared => self.shared,
            PageOwner::Unknown => self.processes.number(DimensionCode::Unknown(page.key())),
        };
        let session = match owner {
            PageOwner::Process(index) => context.processes.instances.get(index as usize).and_then(|p| p.session_id),
            _ if page.page_use() == PageUse::SessionPrivate && page.key() != 0 => context.session(page.key()),
            _ => None,
        };
        let file = if page.is_file_backed() { self.file(page.file_key()) } else { NONE };
        let detail = match context.detail(page, classified) {
            Detail::None => NONE,
            Detail::File(_) if page.is_file_backed() => file,
            Detail::File(key) => self.file(key),
            detail => self.details.number(detail_code(context, detail)),
        };
        PageAttributes {
            process,
            file,
            detail,
            session: session.unwrap_or(NONE),
            ..PageAttributes::new(page, classified)
        }
    }

    #[inline]
    fn file(&self, key: u64) -> u32 {
        self.context.files.index(key).unwrap_or_else(|| self.details.number(DimensionCode::Unknown(key)))
    }

    /// Texts of processes by number.
    fn process_texts(&self) -> Vec<String> {
        let listed = (0..self.context.processes.instances.len() as u64).map(DimensionCode::Number);
        let all = listed.chain(self.processes.codes());
        all.map(|code| Dimension::PROCESS.label(self.context, code).to_string()).collect()
    }

    /// The order of all keys that were made until now.
    pub fn order(&self) -> KeyOrder {
        let texts = self.process_texts();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_unstable_by_key(|&number| texts.get(number));
        let mut process_ranks = vec![0; order.len()];
        (0..).zip(order).for_each(|(rank, number)| process_ranks[number] = rank);
        KeyOrder { process_ranks, details: self.details.ordered() }
    }

    /// Texts of files and details by number.
    fn detail_texts(&self) -> StringArray {
        let unlisted =
            self.details.codes().into_iter().map(|code| Dimension::Detail.label(self.context, code).to_string());
        let unlisted: Vec<String> = unlisted.collect();
        let listed = self.context.files.names.iter().copied();
        StringArray::from_iter_values(listed.chain(unlisted.iter().map(String::as_str)))
    }

    /// A column by its name; `None` for one that keys do not have.
    ///
    /// # Errors
    /// A number without a text, which would be an error of this program.
    pub fn column<'k>(
        &self,
        name: &str,
        keys: impl ExactSizeIterator<Item = &'k PageAttributes>,
    ) -> Result<Option<ArrayRef>, ArrowError> {
        let instances = self.context.processes.instances.len() as u32;
        let column = match name {
            "list" => few(PageList::ALL.map(PageList::name), keys.map(|key| key.bits(LIST_AT, 3)))?,
            "use" => few(PageUse::ALL.map(PageUse::name), keys.map(|key| key.bits(USE_AT, 4)))?,
            "flags" => few(flag_texts(), keys.map(|key| key.bits(0, FLAG_BITS)))?,
            "rule" => few(Rule::ALL.map(Rule::id), keys.map(|key| key.bits(RULE_AT, RULE_BITS)))?,
            "category" => few(Category::ALL.map(Category::name), keys.map(|key| key.category() as usize))?,
            "category_wpa" => {
                let category = |key: &PageAttributes| category_of(key.bits(RULE_WPA_AT, RULE_BITS)) as usize;
                few(Category::ALL.map(Category::name), keys.map(category))?
            }
            "class" => few(Class::ALL.map(Class::name), keys.map(|key| key.category().class() as usize))?,
            "process" => {
                let texts = StringArray::from_iter_values(self.process_texts());
                dictionary(optional(keys.map(|key| key.process)), Arc::new(texts))?
            }
            "file" => dictionary(optional(keys.map(|key| key.file)), Arc::new(self.detail_texts()))?,
            "detail" => dictionary(optional(keys.map(|key| key.detail)), Arc::new(self.detail_texts()))?,
            "priority" => Arc::new(Int64Array::from_iter_values(keys.map(|key| key.bits(FLAG_BITS, 3) as i64))),
            "instance" => {
                let instance = |key: &PageAttributes| (key.process < instances).then_some(i64::from(key.process));
                Arc::new(keys.map(instance).collect::<Int64Array>())
            }
            "session" => {
                let session = |key: &PageAttributes| (key.session != NONE).then_some(i64::from(key.session));
                Arc::new(keys.map(session).collect::<Int64Array>())
            }
            _ => return Ok(None),
        };
        Ok(Some(column))
    }
}

/// Numbers of texts, null for [`NONE`].
fn optional(numbers: impl Iterator<Item = u32>) -> Int32Array {
    let all = Int32Array::from_iter_values(numbers.map(|number| number as i32));
    let known = BooleanArray::from_unary(&all, |number| number != NONE as i32);
    Int32Array::new(all.values().clone(), Some(known.values().clone().into()))
}

/// A column of few texts, which every page has.
fn few<T: AsRef<str>>(
    texts: impl IntoIterator<Item = T>,
    numbers: impl Iterator<Item = usize>,
) -> Result<ArrayRef, ArrowError> {
    dictionary(
        Int32Array::from_iter_values(numbers.map(|number| number as i32)),
        Arc::new(StringArray::from_iter_values(texts)),
    )
}

/// Flags by their bits, as in `pfnset pages --format csv`.
fn flag_texts() -> Vec<String> {
    let text = |bits| Flag::of_bits(bits).map(Flag::name).collect::<Vec<_>>().join("+");
    (0..1 << Flag::ALL.len()).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads find codes in any order; the rows' order is the same.
    #[test]
    fn numbers_are_ordered_by_code_not_by_who_came_first() {
        let codes = [7u64, 3, 9, 1, 5].map(DimensionCode::Unknown);
        let in_order = |found: &[DimensionCode]| -> Vec<DimensionCode> {
            let numbers = Numbers::after(10);
            let mut all: Vec<(u32, DimensionCode)> = found.iter().map(|code| (numbers.number(*code), *code)).collect();
            let order = numbers.ordered();
            assert_eq!(order.of(4), 4, "a number of the list stays");
            assert_eq!(order.of(NONE), NONE);
            all.sort_unstable_by_key(|(number, _)| order.of(*number));
            all.into_iter().map(|(_, code)| code).collect()
        };
        let mut reversed = codes;
        reversed.reverse();
        assert_eq!(in_order(&codes), in_order(&reversed));
        assert_eq!(in_order(&codes), [1, 3, 5, 7, 9].map(DimensionCode::Unknown));
    }
}
