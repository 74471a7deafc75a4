//! Labels of things without a name hold a value of one boot: a key, an address, the id of a process. In two runs the same thing has other
//! values, so all such labels of a dimension are compared as one.

use crate::analysis::stacks::UNKNOWN_ADDRESS;

/// What things without a name are called; of two runs all of a side are one row.
pub(crate) const NO_NAME: &str = "Unknown";

/// Which labels of a dimension stand for a missing name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum MissingName {
    /// None, or they are compared letter for letter.
    #[default]
    Literal,
    /// `Unknown (0x1f)`, `Unknown (12)`.
    Key,
    /// `0x1f`: code in no image.
    Address,
}

impl MissingName {
    /// What a label is compared under, where it stands for a missing name.
    pub(crate) fn common(self, label: &str) -> Option<&'static str> {
        match self {
            MissingName::Literal => None,
            MissingName::Key => is_key(label).then_some(NO_NAME),
            MissingName::Address => is_address(label).then_some(UNKNOWN_ADDRESS),
        }
    }
}

fn is_address(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Pages of several processes, `Unknown (-1)`, are none of these: they lack no name.
fn is_key(label: &str) -> bool {
    let key = label.strip_prefix(NO_NAME).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'));
    key.is_some_and(|key| is_address(key) || key.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_without_a_name_are_put_together() {
        for (label, key, address) in [
            ("Unknown (0x1f)", true, false),
            ("Unknown (65532)", true, false),
            ("Unknown (-1)", false, false),
            ("Unknown (0x)", false, false),
            ("Unknown", false, false),
            ("Unknown (1).exe (12)", false, false),
            ("n/a", false, false),
            ("0xfffffa8000000033", false, true),
            ("0x", false, false),
            ("a.sys+0x33", false, false),
        ] {
            assert_eq!(MissingName::Key.common(label), key.then_some("Unknown"), "{label}");
            assert_eq!(MissingName::Address.common(label), address.then_some("[unknown]"), "{label}");
            assert_eq!(MissingName::Literal.common(label), None);
        }
    }
}
