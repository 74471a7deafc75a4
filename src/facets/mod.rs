//! What rows can be grouped by and filtered on, told once for all commands: names, headings, possible labels.
//!
//! A fact can have several facets: of a process its name, its session, its services. They stand together in the file of the
//! fact ([`process`], [`file`]), and an analysis can take all of them at once. Facets that stand alone are in
//! [`vocabulary`]. The [`Dimension`]s of an analysis are the facets that it has: inside, each is a code; at the edge a code
//! becomes a [`Label`].

pub mod condition;
pub mod dimension;
pub mod file;
pub mod label;
pub mod process;
pub(crate) mod spelling;
pub(crate) mod stack;
pub mod vocabulary;

pub use condition::Condition;
pub(crate) use dimension::dimensions;
pub use dimension::{Dimension, Facet, Values};
pub use file::FileFacet;
pub(crate) use label::NO_LABEL;
pub use label::{Label, LabelKind};
pub use process::ProcessFacet;
