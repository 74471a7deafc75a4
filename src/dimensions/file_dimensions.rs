//! What is known of a file: its path, folder and extension. And details of pages, which are files, images and other contents.

use crate::dimensions::dimension_trait::{Facet, Values, dimensions};
use crate::dimensions::label::{Label, NO_LABEL};
use crate::event::pool::PoolTag;
use crate::model::drive_paths::{DrivePaths, extension, folder};

dimensions! {
    /// What is known of a file.
    pub enum FileFacet {
        File: Facet { name: "file", title: "File", values: Values::Text };
        Folder: Facet { name: "folder", title: "Folder", values: Values::Text };
        Extension: Facet { name: "extension", title: "Extension", values: Values::Text };
    }
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content<'n> {
    /// Nothing that has a name.
    None,
    /// A file or an image, by its path as logged.
    Path(&'n str),
    /// A file whose key has no name.
    Unknown(u64),
    /// A combined page.
    Combined,
    /// Pool with this tag.
    PoolTag(PoolTag),
}

/// What people read for pages without a detail, and without a file.
pub(crate) const NO_DETAIL: &str = "no detail";
const NO_FILE: &str = "no file";

impl Content<'_> {
    /// The label in the dimension `detail`.
    pub(crate) fn detail(self, paths: &DrivePaths) -> Label {
        match self {
            Content::None => Label::nothing().shown_as(NO_DETAIL),
            Content::Path(path) => Label::name(path).shown_as(&paths.shown(path)),
            Content::Unknown(key) => Label::unknown(format!("Unknown (0x{key:x})")),
            Content::Combined => Label::name("CombinedPage"),
            Content::PoolTag(tag) => Label::name(tag.to_string()),
        }
    }
}

impl FileFacet {
    /// The label that a text stands for, where it is read from a file.
    pub fn of_text(self, text: &str) -> Label {
        match text {
            NO_LABEL => Label::nothing().shown_as(NO_FILE),
            _ => Label::name(text),
        }
    }

    /// The label of a file.
    pub(crate) fn label(self, file: Content<'_>, paths: &DrivePaths) -> Label {
        match (self, file) {
            (_, Content::None | Content::Combined | Content::PoolTag(_)) => Label::nothing().shown_as(NO_FILE),
            (FileFacet::File, Content::Unknown(key)) => Label::unknown(format!("Unknown (0x{key:x})")),
            (FileFacet::Folder | FileFacet::Extension, Content::Unknown(_)) => Label::unknown("Unknown"),
            (FileFacet::File, Content::Path(path)) => Label::name(path).shown_as(&paths.shown(path)),
            (FileFacet::Folder, Content::Path(path)) => Label::name(folder(path)).shown_as(&paths.shown(folder(path))),
            (FileFacet::Extension, Content::Path(path)) => match extension(path) {
                end if end.is_empty() => Label::name("none"),
                end => Label::name(end),
            },
        }
    }
}
