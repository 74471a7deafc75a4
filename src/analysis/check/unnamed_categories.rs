//! Pages of files without a name, which count as MapFile (a hive of WPA's as MetaFile): where many files have none, some can be of the categories
//! that only names tell.

use super::unknown_owners::unknown;
use crate::analysis::category_rules::Rule;
use crate::analysis::resident::page_dimensions::Dimension;
use crate::dimensions::single_dimensions::DETAIL;
use crate::dimensions::{Condition, Dimension as _};
use crate::model::category::Category;

/// The conditions again, with that as which pages of files without a name count in place of what only names tell, and after them one on the file;
/// `None` where they choose nothing of that, choose such pages already, or are on files themselves.
pub(super) fn of_unnamed(conditions: &[Condition<Dimension>]) -> Option<Vec<Condition<Dimension>>> {
    let is_of_files = |condition: &Condition<Dimension>| {
        matches!(condition.dimension, Dimension::File(_)) || condition.dimension.name() == DETAIL.name
    };
    if conditions.iter().any(is_of_files) {
        return None;
    }
    let without_names: Vec<Option<&str>> = conditions.iter().map(counts_as).collect::<Option<_>>()?;
    let is_any = without_names.iter().any(Option::is_some);
    let condition = |(condition, label): (&Condition<Dimension>, Option<&str>)| match label {
        Some(label) => Condition::fixed(condition.dimension, label),
        None => condition.anew(),
    };
    let replaced = conditions.iter().zip(without_names).map(condition);
    is_any.then(|| replaced.chain([unknown(Dimension::FILE)]).collect())
}

/// The label that a page has without the name of its file, where the condition does not choose it and chooses one that only a name tells: `Some(None)`
/// where it says nothing of that, and `None` where no page of a file without a name can meet it.
fn counts_as(condition: &Condition<Dimension>) -> Option<Option<&'static str>> {
    let passes = |label: &str| condition.patterns.could_pass(&[label]);
    let [driver, prefetcher, hive, map, meta] =
        [Category::DriverFile, Category::Prefetcher, Category::RegistryFile, Category::MapFile, Category::MetaFile]
            .map(Category::name);
    let named = [driver, prefetcher].into_iter().any(passes);
    match condition.dimension {
        Dimension::Category if !passes(map) => (named || passes(hive)).then_some(Some(map)),
        Dimension::CategoryWpa if !passes(map) && !passes(meta) => match (named, passes(hive)) {
            (true, _) => Some(Some(map)),
            (false, is_hive) => is_hive.then_some(Some(meta)),
        },
        Dimension::Rule if !passes(Rule::DataFile.id()) => {
            let rules = [Rule::DriverFile, Rule::PrefetchFile, Rule::HiveFile, Rule::HiveByPlace];
            rules.iter().any(|rule| passes(rule.id())).then_some(Some(Rule::DataFile.id()))
        }
        _ => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_that_names_tell_are_asked_for_without_them() {
        let asked = |texts: &[&str]| {
            let conditions: Vec<_> = texts.iter().map(|text| Condition::parse(text).unwrap()).collect();
            let written = |of: Condition<Dimension>| format!("{}={}", of.dimension.name(), of.patterns);
            of_unnamed(&conditions).map(|all| all.into_iter().map(written).collect::<Vec<_>>().join(" "))
        };
        let told = |texts: &[&str]| asked(texts).unwrap_or_default();
        assert_eq!(told(&["category=DriverFile"]), "category=MapFile file=Unknown*");
        assert_eq!(told(&["list=Active", "category=Registry*"]), "list=Active category=MapFile file=Unknown*");
        assert_eq!(told(&["category_wpa=RegistryFile"]), "category_wpa=MetaFile file=Unknown*");
        assert_eq!(told(&["category_wpa=Prefetcher"]), "category_wpa=MapFile file=Unknown*");
        assert_eq!(told(&["rule=file.hive*"]), "rule=file.data file=Unknown*");
        for other in ["category=MapFile", "category=!Image", "category=Image", "class=File", "rule=file.*"] {
            assert_eq!(asked(&[other]), None, "{other}");
        }
        assert_eq!(asked(&["category=DriverFile", "file=*.sys"]), None);
        assert_eq!(asked(&["category=DriverFile", "rule=private.*"]), None);
    }
}
