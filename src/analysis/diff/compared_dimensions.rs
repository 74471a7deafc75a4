//! Dimensions that two sides can be compared by: those of the resident set and of the reference set.

use crate::analysis::category_rules::Rule;
use crate::analysis::diff::missing_names::MissingName;
use crate::analysis::diff::process_matching::ProcessText;
use crate::analysis::refset::query::Dimension as ReferenceDimension;
use crate::analysis::resident::page_dimensions::Dimension as ResidentDimension;
use crate::dimensions::file_dimensions::NO_DETAIL;
use crate::dimensions::single_dimensions::*;
use crate::dimensions::{Condition, Dimension as _, FileFacet, Label, NO_LABEL, ProcessFacet, Values, dimensions};
use crate::escape::visible;
use crate::imported::wpa::columns::PROCESS_NAME;
use crate::model::category::Category;
use crate::pattern::Patterns;

dimensions! {
    /// What the two sides are compared by: by no more than pages are grouped.
    pub enum Dimension [ResidentDimension::MOST] {
        Process(ProcessFacet);
        Category: CATEGORY;
        Class: CLASS;
        List: LIST;
        Priority: PRIORITY;
        Use: USE;
        Rule: RULE.of(Values::OneOf(Rule::ids_corrected));
        File(FileFacet);
        Detail: DETAIL;
        PoolTag: POOL_TAG;
        Cold: COLD;
        Pinned: PINNED;
        NonTradeable: NON_TRADEABLE;
        // WPA has more reasons than pfnset.
        AccessReason: ACCESS_REASON;
        ReleaseReason: RELEASE_REASON;
        Impact: IMPACT;
        Function: FUNCTION;
        Module: MODULE;
    }
}

impl Dimension {
    /// The process.
    pub const PROCESS: Dimension = Dimension::Process(ProcessFacet::Process);
    /// Its id.
    pub const PID: Dimension = Dimension::Process(ProcessFacet::Pid);
    /// The file.
    pub const FILE: Dimension = Dimension::File(FileFacet::File);

    /// The dimension of a name in a file; `None` for names that are not compared.
    pub fn of_name(name: &str) -> Option<Dimension> {
        Dimension::ALL.iter().copied().find(|dimension| dimension.name() == name)
    }

    /// True where labels have names of processes.
    pub(crate) fn is_of_process_names(self) -> bool {
        [ProcessFacet::Process, ProcessFacet::ProcessName].map(Dimension::Process).contains(&self)
    }

    /// The same in a resident set, by WPA's rules or by ours.
    pub fn resident(self, by_wpa: bool) -> Option<ResidentDimension> {
        let same = ResidentDimension::ALL.iter().copied().find(|dimension| dimension.name() == self.name())?;
        Some(if by_wpa { same.by_wpa().unwrap_or(same) } else { same })
    }

    /// The same in a reference set.
    pub fn reference(self) -> Option<ReferenceDimension> {
        ReferenceDimension::ALL.iter().copied().find(|dimension| dimension.name() == self.name())
    }

    /// The dimension from whose labels those of this one follow.
    pub const fn derived_from(self) -> Option<Dimension> {
        match self {
            Dimension::Class => Some(Dimension::Category),
            Dimension::PID => Some(Dimension::PROCESS),
            _ => None,
        }
    }

    /// The label in this dimension that follows from `label`, which a file has in the dimension that it is derived from.
    pub fn derived(self, label: &str) -> String {
        match self {
            Dimension::Class => {
                let category = Category::ALL.into_iter().find(|category| category.name().eq_ignore_ascii_case(label));
                category.map_or(NO_LABEL, |category| category.class().name()).to_owned()
            }
            Dimension::PID => ProcessText::new(label).id_label(label).unwrap_or(NO_LABEL).to_owned(),
            _ => label.to_owned(),
        }
    }

    /// The label that a text stands for: files have texts only, and sides are compared by them.
    pub fn label(self, text: &str) -> Label {
        match self {
            Dimension::Process(of) => of.of_text(text),
            Dimension::File(of) => of.of_text(text),
            Dimension::Detail if text == NO_LABEL => Label::nothing().shown_as(NO_DETAIL),
            _ => Label::of_text(text, self.facet().values),
        }
    }

    /// True when a text of a file meets a condition, as the label of a trace would: patterns can be of the words that people read.
    pub(crate) fn meets(self, text: &str, patterns: &Patterns) -> bool {
        let label = self.label(text);
        patterns.matches_any(&[label.as_str(), label.shown()])
    }

    /// True where two labels can stand for the same.
    pub(super) const fn is_matched(self) -> bool {
        matches!(self, Dimension::PROCESS | Dimension::FILE | Dimension::Detail)
    }

    /// Which labels stand for a missing name, so that labels of two boots cannot be compared by what else they hold. Ids are what was asked for,
    /// and processes are matched with their names.
    pub(super) const fn missing_name(self, of_one_boot: bool) -> MissingName {
        match self {
            // In one boot too, processes have other code at the same address.
            Dimension::Function => MissingName::Address,
            Dimension::PROCESS | Dimension::PID => MissingName::Literal,
            Dimension::Process(_) | Dimension::FILE | Dimension::Detail if !of_one_boot => MissingName::Key,
            _ => MissingName::Literal,
        }
    }

    /// True where it matters whether both sides are of one boot: processes are matched by ids then, and keys of what has no name are compared.
    pub(crate) fn depends_on_boot(self) -> bool {
        self == Dimension::PROCESS || self.missing_name(true) != self.missing_name(false)
    }

    /// The text by which a label of one side is that of the other. CSV has hidden characters in writing, so it is what is visible.
    pub(super) fn joined_by(self, label: &str) -> String {
        match self {
            Dimension::Process(_) => visible(label).to_lowercase(),
            _ => visible(label).into_owned(),
        }
    }

    /// A label in the standard form of its dimension: known names with their capitals, an empty label as `n/a`.
    pub fn in_one_form(self, label: &str) -> String {
        let label = label.trim();
        if label.is_empty() {
            return NO_LABEL.to_owned();
        }
        match self.facet().values {
            Values::YesNo => match label.to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => "true".to_owned(),
                "false" | "no" | "0" => "false".to_owned(),
                _ => label.to_owned(),
            },
            values => {
                let known = values.closed().into_iter().flatten().find(|known| known.eq_ignore_ascii_case(label));
                known.unwrap_or_else(|| label.to_owned())
            }
        }
    }
}

/// The dimension of a key of an export: WPA's names of processes are processes without ids.
pub fn dimension_of(key: &str) -> &str {
    if key == PROCESS_NAME { Dimension::PROCESS.name() } else { key }
}

/// True when a label of a file meets the conditions on its dimension, and on those that are derived from it.
pub fn passes(conditions: &[Condition<Dimension>], dimension: &str, label: &str) -> bool {
    let Some(dimension) = Dimension::of_name(dimension) else { return true };
    let form = dimension.in_one_form(label);
    conditions.iter().all(|condition| match condition.dimension {
        of if of == dimension => of.meets(&form, &condition.patterns),
        of if of.derived_from() == Some(dimension) => of.meets(&of.derived(&form), &condition.patterns),
        _ => true,
    })
}

/// The conditions for pages of a trace.
pub fn of_resident(conditions: &[Condition<Dimension>], by_wpa: bool) -> Vec<Condition<ResidentDimension>> {
    let all = conditions.iter().filter_map(|condition| {
        let dimension = condition.dimension.resident(by_wpa)?;
        Some(Condition { dimension, patterns: condition.patterns.clone(), is_users: condition.is_users })
    });
    all.collect()
}

/// The conditions for pages of a reference set.
pub fn of_reference(conditions: &[Condition<Dimension>]) -> Vec<Condition<ReferenceDimension>> {
    let all = conditions.iter().filter_map(|condition| {
        let dimension = condition.dimension.reference()?;
        Some(Condition { dimension, patterns: condition.patterns.clone(), is_users: condition.is_users })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_is_one_of_an_analysis() {
        for dimension in Dimension::ALL {
            let found = dimension.resident(false).is_some() || dimension.reference().is_some();
            assert!(found, "{}", dimension.name());
        }
    }

    #[test]
    fn labels_have_one_form_and_tell_others() {
        assert_eq!(Dimension::Category.in_one_form("mapfile"), "MapFile");
        assert_eq!(Dimension::Pinned.in_one_form("Yes"), "true");
        assert_eq!(Dimension::Detail.in_one_form(" "), "n/a");
        assert_eq!(Dimension::Class.derived("MapFile"), "File");
        assert_eq!(Dimension::PID.derived("a (b).exe <P> (42)"), "42");
        let conditions = ["class=File", "pid=42"].map(|text| Condition::parse(text).unwrap());
        assert!(passes(&conditions, "category", "Image") && !passes(&conditions, "category", "PagedPool"));
        assert!(passes(&conditions, "process", "x (42)") && !passes(&conditions, "process", "x (4)"));
        assert_eq!(of_resident(&conditions, true)[0].dimension, ResidentDimension::ClassWpa);
    }
}
