//! Values whose processes were read by different code pages: a name that one of them decides is another one by the other, so conditions on it
//! choose other processes, and growth says nothing.

use super::measured_value::Value;
use crate::code_page::{CodePage, differ};
use crate::dimensions::{Dimension as _, ProcessFacet};

/// Dimensions whose labels have names of processes.
fn names() -> [&'static str; 2] {
    [ProcessFacet::Process, ProcessFacet::ProcessName].map(|facet| facet.name())
}

impl Value {
    /// The two code pages, where names of the baseline needed one and the trace is read by another one.
    fn two_code_pages(&self, earlier: &Value) -> Option<[CodePage; 2]> {
        Some([earlier.code_page?, self.code_page?]).filter(|[before, now]| before != now)
    }

    /// That names of processes were read by different code pages.
    pub(super) fn other_code_page(&self, earlier: &Value) -> Option<String> {
        let [before, now] = self.two_code_pages(earlier)?;
        differ([("the baseline", before), ("this trace", now)])
    }

    /// Why conditions choose other processes in the baseline.
    pub(super) fn chosen_by_other_code_page(
        &self,
        earlier: &Value,
        filter: &[(&'static str, String)],
    ) -> Option<String> {
        let pages = self.two_code_pages(earlier)?;
        let mut patterns = filter.iter().filter(|(name, _)| names().contains(name)).flat_map(|(_, all)| all.split(';'));
        let reason = || {
            let names = self.other_code_page(earlier)?;
            Some(format!("{names}: read both by the same one, or save the baseline again"))
        };
        patterns.any(|pattern| depends(pattern, pages)).then(reason).flatten()
    }

    /// That one process can have two rows of what grew most.
    pub(super) fn rows_by_other_code_page(&self, earlier: &Value) -> Option<String> {
        let are_by_process =
            [self, earlier].iter().all(|value| value.dimensions.iter().any(|name| names().contains(&&**name)));
        let reason = self.other_code_page(earlier).filter(|_| are_by_process)?;
        Some(format!("what grew most can have one process as two: {reason}"))
    }
}

/// True where a pattern can choose a name by one of these code pages and not by the other. ASCII is the same in all of them, so a pattern
/// of it can do so only where it counts characters, or looks at what stands behind one of two bytes.
fn depends(pattern: &str, pages: [CodePage; 2]) -> bool {
    let are_bytes = pages.iter().all(|page| page.is_single_byte());
    let has_end = || pattern.split_once('*').is_some_and(|(_, end)| end.contains(|c| c != '*'));
    !pattern.is_ascii() || pattern.contains('?') || !are_bytes && has_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_the_same_by_all_code_pages() {
        let pages = |page: &str| [CodePage::default(), page.parse().unwrap()];
        for (pattern, by_bytes, by_pairs) in [
            ("chrome.exe", false, false),
            ("!Unknown*", false, false),
            ("*", false, false),
            ("*ss.exe", false, true),
            ("ls?ss.exe", true, true),
            ("lsäss.exe", true, true),
        ] {
            let found = ["1251", "932"].map(|page| depends(pattern, pages(page)));
            assert_eq!(found, [by_bytes, by_pairs], "{pattern}");
        }
    }
}
