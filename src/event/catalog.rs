//! temp
use crate::etl::record::RecordId;
/// x
pub struct KernelName {
    /// g
    pub group: &'static str,
    /// n
    pub name: Option<&'static str>,
    /// x
    pub xperf: Option<&'static str>,
}
/// t
pub fn name(_: RecordId) -> Option<&'static KernelName> {
    None
}
