//! `--pooltags`: the user's list of what pool tags stand for.

use crate::cli::args::Printing;
use crate::cli::{bounded_file, messages, output};
use crate::error::Error;
use crate::model::pool_tags::PoolTags;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The flag of commands with rows by pool tag.
#[derive(Debug, Args)]
pub struct PoolTagArgs {
    /// The pooltag.txt of Windows' debuggers: it names the driver of each pool tag
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub pooltags: Option<PathBuf>,
}

impl PoolTagArgs {
    /// What pool tags stand for: as the file says, else as Windows documents.
    pub fn read(&self, printing: &Printing) -> anyhow::Result<PoolTags> {
        let Some(path) = &self.pooltags else { return Ok(PoolTags::default()) };
        let fault = |reason: String| Error::Usage(format!("--pooltags {}: {reason}", path.display()));
        output::spare(path, printing, "the list of pool tags")?;
        let bytes = bounded_file::read(path).map_err(|error| fault(error.to_string()))?;
        Ok(PoolTags::read(&bytes).map_err(fault)?)
    }

    /// Says it where the file has named no tag of the rows.
    pub fn tell_unused(&self, tags: &PoolTags, is_quiet: bool) {
        if let Some(path) = self.pooltags.as_ref().filter(|_| !is_quiet && !tags.has_named()) {
            messages::write(&format!("--pooltags {}: it names no tag of the rows", path.display()));
        }
    }
}
