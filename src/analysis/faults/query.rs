//! What is asked for: window, groups, conditions, timeline.

use crate::analysis::resident::query::SnapshotChoice;
use crate::dimensions::dimension_trait::Values;
use crate::dimensions::single_dimensions::{DISK, KIND, MODULE, OPERATION, PRIORITY, THREAD};
use crate::dimensions::{Condition, Dimension as _, FileFacet, ProcessFacet, dimensions};
use crate::error::Error;
use crate::event::disk_io::DiskOperation;
use crate::event::file_name_and_view::ViewKind;
use crate::model::window::Bound;
use crate::named_enum::named_enum;
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

named_enum! {
    /// What can have a dimension.
    pub enum Of {
        /// Hard faults.
        Hard = "hard faults",
        /// Disk requests.
        Disk = "disk requests",
        /// Soft faults.
        Soft = "soft faults",
    }
}

impl Of {
    /// True where these have the dimension: of others every label would be the same, and a condition on it would leave none.
    pub(crate) const fn has(self, dimension: Dimension) -> bool {
        match dimension {
            Dimension::Process => true,
            Dimension::Thread | Dimension::File => matches!(self, Of::Hard | Of::Disk),
            Dimension::Kind | Dimension::Module => matches!(self, Of::Hard),
            Dimension::Disk | Dimension::Priority | Dimension::Operation => matches!(self, Of::Disk),
        }
    }

    /// The first of these dimensions that they do not have.
    pub(crate) fn lacks(self, dimensions: impl IntoIterator<Item = Dimension>) -> Option<Dimension> {
        dimensions.into_iter().find(|dimension| !self.has(*dimension))
    }
}

/// Ranges of files that hard faults read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeQuery {
    /// Only those of which a part was read again.
    pub only_again: bool,
    /// The page sequence beside which they are shown.
    pub beside: SnapshotChoice,
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
    /// Which ranges of files are shown.
    pub ranges: Option<RangeQuery>,
}

impl Default for FaultQuery {
    fn default() -> FaultQuery {
        FaultQuery {
            group_by: vec![Dimension::Process],
            conditions: Vec::new(),
            from: None,
            to: None,
            timeline: None,
            ranges: None,
        }
    }
}

impl FaultQuery {
    /// Dimensions of the conditions.
    pub(crate) fn filtered(&self) -> impl Iterator<Item = Dimension> {
        self.conditions.iter().map(|condition| condition.dimension)
    }

    /// The only rows that have every dimension of the groups and of the conditions, where others lack one; `None` where hard faults
    /// and disk requests have all.
    ///
    /// # Errors
    /// A usage error where no rows have all.
    #[cfg(feature = "cli")]
    pub(crate) fn only_of(&self) -> Result<Option<Of>, Error> {
        let lacks = |of: Of| of.lacks(self.group_by.iter().copied().chain(self.filtered()));
        match (lacks(Of::Hard), lacks(Of::Disk)) {
            (None, None) => Ok(None),
            (None, _) => Ok(Some(Of::Hard)),
            (_, None) => Ok(Some(Of::Disk)),
            (Some(of_disk), Some(of_hard)) => Err(Error::Usage(format!(
                "{} is of {}, {} of {}: no row has both",
                of_hard.name(),
                Of::Hard.name(),
                of_disk.name(),
                Of::Disk.name()
            ))),
        }
    }

    /// What the conditions leave none of, because it lacks their dimension: a line for people.
    pub(super) fn told_of_none(&self) -> Option<String> {
        let part = |of: Of| Some(format!("{} have no {}", of.name(), of.lacks(self.filtered())?.name()));
        let parts: Vec<String> = Of::ALL.into_iter().filter_map(part).collect();
        (!parts.is_empty()).then(|| format!("not counted, because of the conditions: {}", parts.join(", ")))
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
