//! Datasets: the tables of many traces as files that SQL engines read as one, in `DIR/TABLE/trace=ID/part-N.EXTENSION`.
//!
//! [`table_files`] writes the files of one table, [`staging`] those of one trace beside the dataset, [`publish`] moves them into
//! it, whole or not at all. [`add_trace`] does all of it for a trace. Everything else lies below `DIR/.pfnset`, which engines skip.
//!
//! A dataset may come from anybody. [`paths`] makes all paths in it, and nothing outside of the folder is read, written or
//! removed, whatever lies in it.

pub mod add_trace;
mod bundle_rows;
pub(crate) mod compact;
mod csv;
mod format;
mod identity;
mod paths;
mod publish;
mod ready_folder;
pub(crate) mod same_recording;
pub(crate) mod session;
mod staging;
pub(crate) mod table_files;
pub(crate) mod tags;
mod text_column;
mod trace_rows;
mod trace_state;

pub use format::Format;
pub(crate) use identity::is_copy;
pub use publish::Refused;

use crate::error::Error;
use crate::input::refuse_remote;
use identity::TraceId;
use paths::Places;
use same_recording::Marks;
use staging::Staging;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tags::Tags;

/// The file in the program's own folder that says that a dataset is a copy in few files.
const COMPACTED: &str = "compacted";

/// A folder with a dataset.
#[derive(Debug)]
pub struct Dataset {
    places: Places,
    format: Format,
    version: String,
    refused: Vec<Refused>,
    /// What the user says of the traces.
    tags: Tags,
    /// A path, and what stands in its place at the start of `traces.trace_file`.
    name: Option<(String, String)>,
    /// Traces that could not be read, by digests of the names of their files, when the dataset was opened.
    unreadable: BTreeMap<String, Vec<TraceId>>,
    /// Traces that were there in another form when the dataset was opened.
    of_other_form: BTreeMap<TraceId, Format>,
    /// What is known so far of the traces that are there.
    marks: Marks,
}

impl Dataset {
    /// Opens or begins a dataset. What a run before began to move into it is moved in, what it left unfinished is removed.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    pub fn open(folder: &Path, format: Format, version: &str) -> Result<Dataset, Error> {
        refuse_remote(folder)?;
        if folder.join(paths::OWN).join(COMPACTED).exists() {
            return Err(Error::Usage(format!(
                "{} is a copy that pfnset export made in few files: export into the dataset itself, and make the copy again",
                folder.display()
            )));
        }
        fs::create_dir_all(folder).map_err(Error::not_written(folder))?;
        let places = Places { folder: folder.to_path_buf() };
        let refused = publish::recover(&places)?;
        let unreadable = publish::unreadable(&places)?;
        let of_other_form = publish::of_other_form(&places, format)?;
        let (version, tags) = (version.to_owned(), Tags::default());
        let marks = Marks::default();
        Ok(Dataset { places, format, version, refused, tags, name: None, unreadable, of_other_form, marks })
    }

    /// The same dataset: traces get these tags, and the start of their names is another.
    pub(crate) fn with_tags(self, tags: Tags, name: Option<(String, String)>) -> Dataset {
        Dataset { tags, name, ..self }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.places.folder
    }

    /// What was found when the dataset was opened, and does not fit it.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Begins the parts of a trace.
    ///
    /// # Errors
    /// [`Error::NotWritten`].
    fn stage(&self) -> Result<Staging, Error> {
        let _not_while_others_clean_up = publish::lock_dataset(&self.places)?;
        Staging::new(&self.places.work()?, self.format, self.tags.clone())
    }
}
