//! The facets that stand alone, and the list of all.

use crate::dimensions::dimension_trait::{Dimension, Facet, Values};
use crate::dimensions::file_dimensions::FileFacet;
use crate::dimensions::process_dimensions::ProcessFacet;
use crate::event::page_identity::{PageList, PageUse};
use crate::model::category::{Category, Class};

/// Facets that stand alone: constant, name, title, values.
macro_rules! alone {
    ($($constant:ident: $name:literal, $title:literal, $values:expr;)*) => {
        $(pub(crate) const $constant: Facet = Facet { name: $name, title: $title, values: $values };)*
        const ALONE: &[Facet] = &[$($constant),*];
    };
}

alone! {
    LIST: "list", "List", Values::OneOf(|| PageList::ALL.map(PageList::name).to_vec());
    USE: "use", "Use", Values::OneOf(|| PageUse::ALL.map(PageUse::name).to_vec());
    CATEGORY: "category", "Category", Values::OneOf(|| Category::ALL.map(Category::name).to_vec());
    CATEGORY_WPA: "category_wpa", "WPA category", Values::OneOf(|| Category::ALL.map(Category::name).to_vec());
    CLASS: "class", "Class", Values::OneOf(|| Class::ALL.map(Class::name).to_vec());
    CLASS_WPA: "class_wpa", "WPA class", Values::OneOf(|| Class::ALL.map(Class::name).to_vec());
    RULE: "rule", "Rule", Values::Text;
    DETAIL: "detail", "Detail", Values::Text;
    POOL_TAG: "pool_tag", "Pool tag", Values::Text;
    PRIORITY: "priority", "Priority", Values::UpTo(7);
    COLD: "cold", "Cold", Values::YesNo;
    PINNED: "pinned", "Pinned", Values::YesNo;
    NON_TRADEABLE: "non_tradeable", "Non-tradeable", Values::YesNo;
    ACCESS_REASON: "access_reason", "Access reason", Values::Text;
    RELEASE_REASON: "release_reason", "Release reason", Values::Text;
    IMPACT: "impact", "Impact", Values::Text;
    THREAD: "thread", "Thread", Values::Number;
    PROCESSOR: "processor", "Processor", Values::Number;
    PROVIDER: "provider", "Provider", Values::Text;
    EVENT: "event", "Event", Values::Text;
    MODULE: "module", "Module", Values::Text;
    FUNCTION: "function", "Function", Values::Text;
    STACK: "stack", "Stack", Values::Text;
    READY_STACK: "ready_stack", "Stack that readied", Values::Text;
    READY_FUNCTION: "ready_function", "Function that readied", Values::Text;
    READY_MODULE: "ready_module", "Module that readied", Values::Text;
    KIND: "kind", "Kind", Values::Text;
    DISK: "disk", "Disk", Values::Number;
    OPERATION: "operation", "Operation", Values::Text;
    FREE_STACK: "free_stack", "Stack that freed", Values::Text;
    FREE_FUNCTION: "free_function", "Function that freed", Values::Text;
    REASON: "reason", "Freed by", Values::Text;
    SIZE: "size", "Size", Values::PowerOfTwo;
    PAGE_SIZE: "pages", "Pages", Values::OneOf(|| vec!["normal", "large"]);
    TAG: "tag", "Tag", Values::PoolTag;
    POOL: "pool", "Pool", Values::OneOf(|| vec!["paged", "nonpaged"]);
    HEAP: "heap", "Heap", Values::Text;
    SOURCE: "source", "Source", Values::Text;
    NAME: "name", "Name", Values::Text;
    PARENT: "parent", "Parent", Values::Process;
    STARTED: "started", "Started in the trace", Values::YesNo;
    ENDED: "ended", "Ended in the trace", Values::YesNo;
}

/// All facets.
pub(crate) fn all() -> impl Iterator<Item = Facet> {
    let processes = ProcessFacet::ALL.iter().map(|of| of.facet());
    let files = FileFacet::ALL.iter().map(|of| of.facet());
    processes.chain(files).chain(ALONE.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_one_facet() {
        let names: Vec<&str> = all().map(|facet| facet.name).collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "{names:?}");
        assert!(all().all(|facet| !facet.title.is_empty() && facet.name == facet.name.to_lowercase()));
    }
}
