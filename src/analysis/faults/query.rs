//! What is asked for: window, groups, conditions, timeline.

use crate::error::Error;
use crate::event::disk_io::DiskOperation;
use crate::event::file::ViewKind;
use crate::facets::dimension::Values;
use crate::facets::vocabulary::{DISK, KIND, MODULE, OPERATION, PRIORITY, THREAD};
use crate::facets::{Condition, Dimension as _, FileFacet, ProcessFacet, dimensions};
use crate::model::window::Bound;
use crate::named::named_enum;
use crate::units::Nanos;

named_enum! {
    /// What a hard fault read.
    pub enum HardKind {
        /// The page file or the swap file.
        PageFile = "page_file",
        /// An image.
        Image = "image",
        /// A file that is mapped as data.
        MappedFile = "mapped_file",
        /// For an address of the kernel: the system cache.
        Cache = "cache",
        /// Not known.
        Unknown = "unknown",
    }
}

impl HardKind {
    /// What a fault in a view read.
    pub(super) fn of_view(kind: ViewKind) -> Option<HardKind> {
        match kind {
            ViewKind::Image | ViewKind::ImageOtherProtection => Some(HardKind::Image),
            ViewKind::DataFile => Some(HardKind::MappedFile),
            ViewKind::PagefileBacked => None,
        }
    }
}

/// Names of the priorities in a request's flags.
pub(super) const PRIORITIES: [&str; 8] = ["none", "very_low", "low", "normal", "high", "critical", "5", "6"];

dimensions! {
    /// What hard faults and disk requests are grouped and filtered by. Kind and module are those of hard faults; disk, priority and
    /// operation those of requests.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Thread: THREAD;
        File: FileFacet::File.facet();
        Kind: KIND.of(Values::OneOf(|| HardKind::ALL.map(HardKind::name).to_vec()));
        Module: MODULE;
        Disk: DISK;
        Priority: PRIORITY.of(Values::OneOf(|| PRIORITIES.to_vec()));
        Operation: OPERATION.of(Values::OneOf(|| DiskOperation::ALL.map(DiskOperation::name).to_vec()));
    }
}

impl Dimension {
    /// True where hard faults have it.
    pub fn is_of_hard_faults(self) -> bool {
        !matches!(self, Dimension::Disk | Dimension::Priority | Dimension::Operation)
    }

    /// True where disk requests have it.
    pub fn is_of_requests(self) -> bool {
        !matches!(self, Dimension::Kind | Dimension::Module)
    }
}

/// A query.
#[derive(Debug, Clone)]
pub struct FaultQuery {
    /// Dimensions of the rows, outermost first.
    pub group_by: Vec<Dimension>,
    /// Conditions, all of which a fault or a request must meet.
    pub conditions: Vec<Condition<Dimension>>,
    /// Beginning of the window; `None` = that of the trace.
    pub from: Option<Bound>,
    /// End of the window; `None` = that of the trace.
    pub to: Option<Bound>,
    /// Step of the timeline.
    pub timeline: Option<Nanos>,
}

impl Default for FaultQuery {
    fn default() -> FaultQuery {
        FaultQuery { group_by: vec![Dimension::Process], conditions: Vec::new(), from: None, to: None, timeline: None }
    }
}

impl FaultQuery {
    /// Sets the dimensions of `a,b,c`.
    ///
    /// # Errors
    /// A usage error for an unknown name and a name that occurs twice.
    pub fn group_by(&mut self, names: &str) -> Result<(), Error> {
        self.group_by = Dimension::parse_list(names, Dimension::ALL.len())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::analysis_needs::DESCRIBING;

    #[test]
    fn keywords_tell_kinds_that_there_are() {
        let told = || DESCRIBING.iter().flat_map(|recorded| recorded.fault_kinds);
        assert!(told().all(|kind| HardKind::ALL.iter().any(|known| known.name() == *kind)));
        assert!(HardKind::ALL.iter().all(|kind| told().any(|told| *told == kind.name())));
    }
}
