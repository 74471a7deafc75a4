//! Dimensions: what rows are grouped and filtered by. Each analysis lists its own. Names, lists and conditions are
//! read in the same way for all.

use super::spelling;
use crate::error::Error;
use crate::pattern::{Pattern, Patterns};

/// What the labels of a dimension can be.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// Any text.
    Text,
    /// A whole number where it is known, else a text.
    Number,
    /// A whole number from 0 to this one.
    UpTo(u64),
    /// `true` or `false`.
    YesNo,
    /// One of these names.
    OneOf(fn() -> Vec<&'static str>),
}

impl Values {
    /// All labels that can be, where they are known.
    pub fn closed(self) -> Option<Vec<String>> {
        match self {
            Values::Text | Values::Number => None,
            Values::UpTo(most) => Some((0..=most).map(|number| number.to_string()).collect()),
            Values::YesNo => Some([true, false].map(|value| value.to_string()).to_vec()),
            Values::OneOf(names) => Some(names().into_iter().map(str::to_owned).collect()),
        }
    }
}

/// A dimension in words.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Name on the command line, in CSV and in JSON.
    pub name: &'static str,
    /// Heading in tables.
    pub title: &'static str,
    /// What its labels can be.
    pub values: Values,
}

/// The dimensions of one analysis; [`dimensions!`](crate::analysis::table::dimensions) makes such a type of a list.
pub trait Dimension: Copy + PartialEq + 'static {
    /// All dimensions in the order in which they are listed to users.
    const ALL: &'static [Self];

    /// Name, title and values.
    fn description(self) -> Description;

    /// Name on the command line, in CSV and in JSON.
    fn name(self) -> &'static str {
        self.description().name
    }

    /// Heading in tables.
    fn title(self) -> &'static str {
        self.description().title
    }

    /// Heading of the labels of nested rows.
    fn titles(dimensions: &[Self]) -> String {
        dimensions.iter().map(|dimension| dimension.title()).collect::<Vec<_>>().join(" / ")
    }

    /// The dimension of a name; `-` and `_` are the same.
    ///
    /// # Errors
    /// A usage error that says which name was meant, and lists them.
    fn parse(name: &str) -> Result<Self, Error> {
        let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
        Self::ALL.iter().copied().find(|dimension| dimension.name() == wanted).ok_or_else(|| {
            let advice = spelling::advice(name, Self::ALL.iter().map(|dimension| dimension.name()));
            Error::Usage(format!("unknown dimension \"{name}\"{advice}"))
        })
    }

    /// The dimensions of `a,b,c`.
    ///
    /// # Errors
    /// A usage error for an unknown name, a name that occurs twice, or more than `most` names.
    fn parse_list(names: &str, most: usize) -> Result<Vec<Self>, Error> {
        let mut list = Vec::new();
        for name in names.split(',') {
            let dimension = Self::parse(name)?;
            if list.contains(&dimension) {
                return Err(Error::Usage(format!("dimension {} is named twice", dimension.name())));
            }
            list.push(dimension);
        }
        match list.len() > most {
            true => Err(Error::Usage(format!("there can be at most {most} dimensions"))),
            false => Ok(list),
        }
    }
}

/// Makes a [`Dimension`] type of a list: variant, name, title, values.
macro_rules! dimensions {
    ($(#[$meta:meta])* pub enum $type:ident { $($variant:ident: $name:literal, $title:literal, $values:expr;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // named as on the command line; docs/json.md explains them
        pub enum $type { $($variant),* }

        impl $crate::analysis::table::Dimension for $type {
            const ALL: &'static [Self] = &[$($type::$variant),*];

            fn description(self) -> $crate::analysis::table::Description {
                match self {
                    $($type::$variant => {
                        $crate::analysis::table::Description { name: $name, title: $title, values: $values }
                    })*
                }
            }
        }
    };
}
pub(crate) use dimensions;

/// What stands for a label that is not there, in any dimension.
pub const NO_LABEL: &str = "n/a";

/// A condition on one dimension.
#[derive(Debug, Clone)]
pub struct Condition<D> {
    /// The dimension.
    pub dimension: D,
    /// What its label must match.
    pub patterns: Patterns,
    /// True when a user wrote it: then a message reports patterns that match nothing.
    pub is_users: bool,
}

impl<D: Dimension> Condition<D> {
    /// A condition of our own.
    pub fn fixed(dimension: D, patterns: &str) -> Condition<D> {
        Condition { dimension, patterns: Patterns::new(patterns), is_users: false }
    }

    /// Reads `DIMENSION=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form, lists the dimensions, or names a label that cannot be.
    pub fn parse(text: &str) -> Result<Condition<D>, Error> {
        let Some((name, patterns)) = text.split_once('=') else {
            return Err(Error::Usage(format!(
                "\"{text}\" is no condition; write DIMENSION=PATTERNS, as in process=chrome*"
            )));
        };
        let dimension = D::parse(name)?;
        let name = dimension.name();
        if let Some(rest) = patterns.trim_start().strip_prefix('=') {
            return Err(Error::Usage(format!("\"{text}\" has two =; write {name}={rest}")));
        }
        let patterns = Patterns::new(patterns);
        if patterns.all().all(|pattern| pattern.text.is_empty()) {
            return Err(Error::Usage(format!(
                "\"{text}\" says nothing; write what {name} must match, as in {name}=*, or leave the condition out"
            )));
        }
        for pattern in patterns.all().filter(|pattern| pattern.is_literal()) {
            let Some(known) = dimension.description().values.closed() else { break };
            if !known
                .iter()
                .map(String::as_str)
                .chain([NO_LABEL])
                .any(|label| label.eq_ignore_ascii_case(&pattern.text))
            {
                let advice = spelling::advice(&pattern.text, known.iter().map(String::as_str));
                return Err(Error::Usage(format!("{name} is never \"{}\"{advice}", pattern.text)));
            }
        }
        Ok(Condition { dimension, patterns, is_users: true })
    }

    /// After a run: a line for each of the user's patterns that matched nothing. A label that can be but that nothing has
    /// is no doubt.
    pub fn unmatched(conditions: &[Condition<D>]) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, condition) in conditions.iter().enumerate() {
            let is_closed = condition.dimension.description().values.closed().is_some();
            let missed = |pattern: &&Pattern| !(pattern.has_matched() || is_closed && pattern.is_literal());
            let of_what = if number == 0 { "" } else { " of what the conditions before it let pass" };
            let line = |pattern: &Pattern| {
                format!("{} \"{}\" matches nothing{of_what}", condition.dimension.name(), pattern.text)
            };
            lines.extend(condition.patterns.all().filter(|_| condition.is_users).filter(missed).map(line));
            if condition.patterns.select_nothing() {
                break; // the conditions after it had nothing to match
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    dimensions! {
        pub enum Example {
            Name: "name", "Name", Values::Text;
            ProcessId: "process_id", "PID", Values::Number;
            Kind: "kind", "Kind", Values::OneOf(|| vec!["Image", "MapFile"]);
            Cold: "cold", "Cold", Values::YesNo;
            Priority: "priority", "Priority", Values::UpTo(7);
        }
    }

    #[test]
    fn names_are_parsed_in_either_spelling() {
        assert_eq!(Example::parse(" Process-ID").unwrap(), Example::ProcessId);
        assert_eq!(Example::parse_list("process_id,name", 2).unwrap(), [Example::ProcessId, Example::Name]);
        assert!(Example::parse("x").unwrap_err().to_string().contains("name, process_id"));
        assert!(Example::parse_list("name,NAME", 2).unwrap_err().to_string().contains("name is named twice"));
        assert!(Example::parse_list("process_id,name", 1).unwrap_err().to_string().contains("at most 1"));
    }

    #[test]
    fn conditions_are_read() {
        let condition = Condition::<Example>::parse("process-id=4;!8").unwrap();
        assert!(condition.dimension == Example::ProcessId && condition.patterns.matches("4"));
        assert!(Condition::<Example>::parse("name").unwrap_err().to_string().contains("DIMENSION=PATTERNS"));
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        for (text, says) in [
            ("kind=Imge", "kind is never \"Imge\"; did you mean \"Image\"? Known are Image, MapFile"),
            ("kind=Image;!mapfil", "did you mean \"MapFile\"?"),
            ("kind==Image", "write kind=Image"),
            ("kind=", "says nothing"),
            ("name= ; ", "says nothing"),
            ("name=!", "says nothing"),
            ("cold=yes", "did you mean \"true\"?"),
            ("priority=9", "known are 0, 1, 2, 3, 4, 5, 6, 7"),
            ("priority=8", "known are 0"),
            ("nane=x", "unknown dimension \"nane\"; did you mean \"name\"?"),
        ] {
            let error = Condition::<Example>::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        for text in ["kind=IMAGE;!mapfile", "kind=Im*", "cold=True", "priority=7", "name=anything", "process-id=x"] {
            Condition::<Example>::parse(text).unwrap();
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_told() {
        let of = |texts: &[&str], labels: &[[&str; 2]]| {
            let conditions: Vec<_> = texts.iter().map(|text| Condition::<Example>::parse(text).unwrap()).collect();
            for label in labels {
                let _ = conditions.iter().all(|c| c.patterns.matches(label[c.dimension as usize / 2]));
            }
            Condition::unmatched(&conditions)
        };
        let labels = [["a", "Image"], ["b", "Image"]];
        assert_eq!(of(&["name=a;c*;!d"], &labels), ["name \"c*\" matches nothing", "name \"d\" matches nothing"]);
        assert_eq!(of(&["kind=MapFile"], &labels), [""; 0], "it can be");
        assert_eq!(of(&["kind=Map*"], &labels), ["kind \"Map*\" matches nothing"]);
        assert_eq!(of(&["name=c", "kind=Im*"], &labels), ["name \"c\" matches nothing"]);
        let after = "kind \"M*\" matches nothing of what the conditions before it let pass";
        assert_eq!(of(&["name=a", "kind=M*"], &labels), [after]);
    }
}
