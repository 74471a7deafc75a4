//! Dimensions: what the rows of an analysis are grouped and filtered by. Each analysis lists the facets that it has.

use crate::dimensions::spelling;
use crate::error::Error;

/// What the labels of a dimension can be.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// Any text.
    Text,
    /// A process: `name.exe (id)`, or what stands for several or none.
    Process,
    /// A pool tag; tables show beside it what it is for, as in `Thre (threads)`.
    PoolTag,
    /// A whole number where it is known, else a text.
    Number,
    /// 0 or a power of two.
    PowerOfTwo,
    /// A whole number from 0 to this one.
    UpTo(u64),
    /// `true` or `false`.
    YesNo,
    /// One of these names.
    OneOf(fn() -> Vec<&'static str>),
    /// One of these names, or the number of what has none.
    OneOfOrNumber(fn() -> Vec<&'static str>),
}

impl Values {
    /// All labels that can be, where they are known.
    pub fn closed(self) -> Option<Vec<String>> {
        match self {
            Values::Text
            | Values::Process
            | Values::PoolTag
            | Values::Number
            | Values::PowerOfTwo
            | Values::OneOfOrNumber(_) => None,
            Values::UpTo(most) => Some((0..=most).map(|number| number.to_string()).collect()),
            Values::YesNo => Some([true, false].map(|value| value.to_string()).to_vec()),
            Values::OneOf(names) => Some(names().into_iter().map(str::to_owned).collect()),
        }
    }
}

/// A facet in words.
#[derive(Debug, Clone, Copy)]
pub struct Facet {
    /// Name on the command line, in CSV and in JSON.
    pub name: &'static str,
    /// Heading in tables.
    pub title: &'static str,
    /// What its labels can be.
    pub values: Values,
}

impl Facet {
    /// The same facet with other labels.
    pub(crate) const fn of(self, values: Values) -> Facet {
        Facet { values, ..self }
    }
}

/// The dimensions of one analysis, or the facets of one fact; `dimensions!` makes such a type of a list.
pub trait Dimension: Copy + PartialEq + 'static {
    /// All dimensions in the order in which they are listed to users.
    const ALL: &'static [Self];

    /// By how many of them rows can be grouped.
    const MOST: usize = Self::ALL.len();

    /// Name, title and values.
    fn facet(self) -> Facet;

    /// Name on the command line, in CSV and in JSON.
    fn name(self) -> &'static str {
        self.facet().name
    }

    /// Heading in tables.
    fn title(self) -> &'static str {
        self.facet().title
    }

    /// Names of dimensions.
    fn names(dimensions: &[Self]) -> Vec<&'static str> {
        dimensions.iter().map(|dimension| dimension.name()).collect()
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

    /// The dimensions of `a,b,c`, as the `group_by` of a query has them.
    ///
    /// # Errors
    /// A usage error for an unknown name, a name that occurs twice, or more than [`Dimension::MOST`].
    fn parse_list(names: &str) -> Result<Vec<Self>, Error> {
        let mut list = Vec::new();
        for name in names.split(',') {
            let dimension = Self::parse(name)?;
            if list.contains(&dimension) {
                return Err(Error::Usage(format!("dimension {} is named twice", dimension.name())));
            }
            list.push(dimension);
        }
        match list.len() > Self::MOST {
            true => Err(Error::Usage(format!("there can be at most {} dimensions", Self::MOST))),
            false => Ok(list),
        }
    }
}

/// How many there are in all parts.
pub(crate) const fn count<D>(parts: &[&[D]]) -> usize {
    let (mut sum, mut at) = (0, 0);
    while at < parts.len() {
        sum += parts[at].len();
        at += 1;
    }
    sum
}

/// The parts as one list; the first part is not empty.
pub(crate) const fn joined<D: Copy, const N: usize>(parts: &[&[D]]) -> [D; N] {
    let mut all = [parts[0][0]; N];
    let (mut next, mut part) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            all[next] = parts[part][at];
            (next, at) = (next + 1, at + 1);
        }
        part += 1;
    }
    all
}

/// Makes a [`Dimension`] type of a list. `List: LIST;` is one dimension with its facet, `Process(ProcessFacet);` stands for all
/// facets of a fact; `[7]` after the name says by how many of them rows can be grouped, where that is not by all.
macro_rules! dimensions {
    ($(#[$meta:meta])* pub enum $type:ident $([$most:expr])? { $($variant:ident $(($fact:ty))? $(: $facet:expr)?;)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // named as on the command line; docs/json.md explains them
        pub enum $type { $($variant $(($fact))?),* }

        impl $type {
            const PARTS: &'static [&'static [$type]] =
                &[$($crate::dimensions::dimensions!(@all $type $variant $(($fact))?)),*];
        }

        impl $crate::dimensions::Dimension for $type {
            const ALL: &'static [Self] = &$crate::dimensions::dimension_trait::joined::<
                $type,
                { $crate::dimensions::dimension_trait::count($type::PARTS) },
            >($type::PARTS);
            $(const MOST: usize = $most;)?

            fn facet(self) -> $crate::dimensions::Facet {
                match self {
                    $($crate::dimensions::dimensions!(@one of $type $variant $(($fact))?) => {
                        $crate::dimensions::dimensions!(@facet of $(($fact))? $($facet)?)
                    })*
                }
            }
        }
    };
    (@all $type:ident $variant:ident ($fact:ty)) => {
        &{
            const OF: &[$fact] = <$fact as $crate::dimensions::Dimension>::ALL;
            let mut all = [$type::$variant(OF[0]); OF.len()];
            let mut at = 1;
            while at < OF.len() {
                all[at] = $type::$variant(OF[at]);
                at += 1;
            }
            all
        }
    };
    (@all $type:ident $variant:ident) => { &[$type::$variant] };
    (@one $of:ident $type:ident $variant:ident ($fact:ty)) => { $type::$variant($of) };
    (@one $of:ident $type:ident $variant:ident) => { $type::$variant };
    (@facet $of:ident ($fact:ty)) => { $crate::dimensions::Dimension::facet($of) };
    (@facet $of:ident $facet:expr) => { $facet };
}
pub(crate) use dimensions;

#[cfg(test)]
mod tests {
    use super::*;

    const fn facet(name: &'static str, values: Values) -> Facet {
        Facet { name, title: name, values }
    }

    dimensions! {
        pub enum Example [2] {
            Name: facet("name", Values::Text);
            ProcessId: facet("process_id", Values::Number);
            Kind: facet("kind", Values::OneOf(|| vec!["Image", "MapFile"]));
            Cold: facet("cold", Values::YesNo);
            Priority: facet("priority", Values::UpTo(7));
        }
    }

    dimensions! {
        pub enum OfTwo {
            First: facet("first", Values::Text);
            Of(Example);
            Last: facet("last", Values::Text);
        }
    }

    #[test]
    fn all_facets_of_a_fact_are_dimensions_in_their_place() {
        let names: Vec<&str> = OfTwo::ALL.iter().map(|dimension| dimension.name()).collect();
        assert_eq!(names, ["first", "name", "process_id", "kind", "cold", "priority", "last"]);
        assert_eq!(OfTwo::parse("Process-Id").unwrap(), OfTwo::Of(Example::ProcessId));
    }

    #[test]
    fn names_are_parsed_in_either_spelling() {
        assert_eq!(Example::parse(" Process-ID").unwrap(), Example::ProcessId);
        assert_eq!(Example::parse_list("process_id,name").unwrap(), [Example::ProcessId, Example::Name]);
        assert!(Example::parse("x").unwrap_err().to_string().contains("name, process_id"));
        assert!(Example::parse_list("name,NAME").unwrap_err().to_string().contains("name is named twice"));
        assert!(Example::parse_list("process_id,name,kind").unwrap_err().to_string().contains("at most 2"));
    }
}
