//! What is wrong with the header of a record.

/// Why a record's header cannot be read: it announces more than the record contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// PEBS index or performance counters pass the end.
    #[error("extension words pass the end of the record of {size} bytes")]
    ExtensionWords {
        /// Size of the record, bytes.
        size: usize,
    },
    /// An extended data item is shorter than its head or passes the end.
    #[error("an extended data item does not fit into the {left} bytes left")]
    ExtendedItem {
        /// Bytes left in the record at the item.
        left: usize,
    },
    /// The optional fields of a message pass the end.
    #[error("message fields pass the end of the record of {size} bytes")]
    MessageOptions {
        /// Size of the record, bytes.
        size: usize,
    },
}
