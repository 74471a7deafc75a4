//! Dimensions: what rows are grouped and filtered by. Each analysis lists its own; names, lists and conditions are read
//! in one way for all.

use crate::error::Error;
use crate::pattern::Patterns;

/// What the labels of a dimension can be.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// Any text.
    Text,
    /// A whole number where it is known, else a text.
    Number,
    /// `true` or `false`.
    YesNo,
    /// One of these names.
    OneOf(fn() -> Vec<&'static str>),
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

    /// The dimension of a name; `-` and `_` are the same.
    ///
    /// # Errors
    /// A usage error that lists the names.
    fn parse(name: &str) -> Result<Self, Error> {
        let wanted = name.trim().to_ascii_lowercase().replace('-', "_");
        Self::ALL.iter().copied().find(|dimension| dimension.name() == wanted).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|dimension| dimension.name()).collect();
            Error::Usage(format!("unknown dimension \"{name}\"; known are {}", names.join(", ")))
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

/// A condition on one dimension.
#[derive(Debug, Clone)]
pub struct Condition<D> {
    /// The dimension.
    pub dimension: D,
    /// What its label must match.
    pub patterns: Patterns,
}

impl<D: Dimension> Condition<D> {
    /// Reads `DIMENSION=PATTERNS`.
    ///
    /// # Errors
    /// A usage error that shows the form, or lists the dimensions.
    pub fn parse(text: &str) -> Result<Condition<D>, Error> {
        let Some((name, patterns)) = text.split_once('=') else {
            return Err(Error::Usage(format!(
                "\"{text}\" is no condition; write DIMENSION=PATTERNS, as in process=chrome*"
            )));
        };
        Ok(Condition { dimension: D::parse(name)?, patterns: Patterns::new(patterns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    dimensions! {
        pub enum Example {
            Name: "name", "Name", Values::Text;
            ProcessId: "process_id", "PID", Values::Number;
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
}
