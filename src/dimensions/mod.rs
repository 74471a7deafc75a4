//! What rows can be grouped by and filtered on, told once for all commands: names, headings, possible labels.
//!
//! A fact can have several facets: of a process its name, its session, its services. They stand together in the file of the
//! fact ([`process_dimensions`], [`file_dimensions`]), and an analysis can take all of them at once. Facets that stand alone are in
//! [`single_dimensions`]. The [`Dimension`]s of an analysis are the facets that it has: inside, each is a code; at the edge a code
//! becomes a [`Label`].

pub mod condition;
pub mod dimension_trait;
pub mod file_dimensions;
pub mod label;
pub mod process_dimensions;
pub mod single_dimensions;
pub(crate) mod spelling;
pub(crate) mod stack_dimensions;

pub use condition::Condition;
pub(crate) use dimension_trait::dimensions;
pub use dimension_trait::{Dimension, Facet, Values};
pub use file_dimensions::FileFacet;
pub(crate) use label::{IDLE, IDLE_PROCESS, NO_LABEL};
pub use label::{Label, LabelKind};
pub use process_dimensions::ProcessFacet;
