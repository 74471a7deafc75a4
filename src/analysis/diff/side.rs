//! A side of a comparison: a trace, a file that pfnset wrote, or a table that WPA exported. Its content decides which.

use crate::analysis::diff::compared_dimensions::{Dimension, dimension_of};
use crate::analysis::table::Dimension as _;
use crate::code_page::CodePage;
use crate::dimensions::single_dimensions::{CATEGORY, CATEGORY_WPA, LIST};
use crate::error::Error;
use crate::etl::EtlFile;
use crate::event::page_identity::PageList;
use crate::imported::pfnset_table::{PfnsetForm, PfnsetTable};
use crate::imported::wpa::columns::{ExportedTable, PROCESS_NAME};
use crate::imported::wpa::{WpaExport, WpaOptions};
use crate::imported::{EXPECTED, Exported, first_bytes};
use crate::input::{Input, UnpackLimits};
use crate::model::category::Category;
use crate::trace::Trace;
use crate::trace::recording::join_all;
use crate::trace::trust::readiness::{Readiness, ReadinessLevel};
use std::path::{Path, PathBuf};

/// A side, opened.
#[derive(Debug)]
pub struct Source {
    /// As the user named it.
    pub path: PathBuf,
    /// Further files of a trace's recording.
    pub further: Vec<PathBuf>,
    /// What it is.
    pub(crate) content: SourceContent,
}

/// The kinds of sides.
#[derive(Debug)]
pub enum SourceContent {
    /// A trace.
    Trace(Box<Trace>),
    /// A file that pfnset wrote.
    Pfnset(Box<PfnsetTable>),
    /// A table that WPA exported.
    Wpa(Box<WpaExport>),
}

impl SourceContent {
    /// The trace, where it is one.
    pub fn trace(&self) -> Option<&Trace> {
        if let SourceContent::Trace(trace) = self { Some(trace) } else { None }
    }
}

impl Source {
    /// Opens a file, unpacks it where it is packed, and finds out what it is.
    ///
    /// # Errors
    /// [`Error::Unreadable`], [`Error::NotUnpacked`] and [`Error::NotUnderstood`].
    pub fn open(
        path: &Path,
        limits: &UnpackLimits,
        options: &WpaOptions,
        code_page: CodePage,
    ) -> Result<Source, Error> {
        let known = [
            (CATEGORY.name, Category::ALL.map(Category::name).to_vec()),
            (LIST.name, PageList::ALL.map(PageList::name).to_vec()),
        ];
        let not_understood = |reason| Error::NotUnderstood { path: path.into(), reason };
        let input = Input::open(path, limits)?;
        let content = match Exported::of(input, options, &known).map_err(not_understood)? {
            Exported::Pfnset(table) => SourceContent::Pfnset(table),
            Exported::Wpa(export) => SourceContent::Wpa(export),
            Exported::NoText(input) => {
                let start = first_bytes(input.bytes());
                let told = |reason| not_understood(format!("{EXPECTED}; its first bytes are {start}: {reason}").into());
                let mut etl = EtlFile::from_input(input).map_err(told)?;
                etl.code_page = code_page;
                SourceContent::Trace(Box::new(etl.into()))
            }
        };
        Ok(Source { path: path.into(), further: Vec::new(), content })
    }

    /// True for a trace of which a reference set can be told.
    pub(crate) fn has_reference(&self) -> bool {
        let can =
            |readiness: &Readiness| readiness.name == "reference_set" && readiness.level != ReadinessLevel::Missing;
        self.trace().is_some_and(|trace| trace.readiness().iter().any(can))
    }

    /// All files, the first one first.
    pub fn files(&self) -> Vec<PathBuf> {
        std::iter::once(&self.path).chain(&self.further).cloned().collect()
    }

    /// With the other files of the recording.
    ///
    /// # Errors
    /// A usage error where this is no trace, [`Error::NotOneRecording`] for a file that does not fit.
    pub fn with(self, others: Vec<(PathBuf, EtlFile)>) -> Result<Source, Error> {
        let Some((path, _)) = others.first() else { return Ok(self) };
        let SourceContent::Trace(trace) = self.content else { return Err(Source::no_trace(path, &self.path)) };
        let further = others.iter().map(|(path, _)| path.clone()).collect();
        let (all, _) = join_all((self.path.clone(), trace.into_etl()), others)?;
        Ok(Source { further, content: SourceContent::Trace(Box::new(all.into())), ..self })
    }

    /// The error of a file `with` that was added to `path`, which is no trace.
    pub fn no_trace(with: &Path, path: &Path) -> Error {
        let (with, path) = (with.display(), path.display());
        Error::Usage(format!("{with} cannot be added: {path}, before it, is no trace, and only a trace has more files"))
    }

    /// A trace that was opened.
    pub fn of_trace(path: &Path, trace: Trace) -> Source {
        Source { path: path.into(), further: Vec::new(), content: SourceContent::Trace(Box::new(trace)) }
    }

    /// Name of the kind in JSON.
    pub const fn kind(&self) -> &'static str {
        match &self.content {
            SourceContent::Trace(_) => "trace",
            SourceContent::Pfnset(table) => match table.form {
                PfnsetForm::Json => "pfnset_json",
                PfnsetForm::Csv => "pfnset_csv",
            },
            SourceContent::Wpa(_) => "wpa_csv",
        }
    }

    /// The trace, where it is one.
    pub fn trace(&self) -> Option<&Trace> {
        self.content.trace()
    }

    /// True for a table that WPA exported.
    pub const fn is_export(&self) -> bool {
        matches!(self.content, SourceContent::Wpa(_))
    }

    /// True for a file whose rows this condition chose.
    pub(crate) fn is_chosen_by(&self, dimension: &str, patterns: &str) -> bool {
        matches!(&self.content, SourceContent::Pfnset(table) if table.selection.is_by(dimension, patterns))
    }

    /// The window that a user chose for the reference set of a file, seconds.
    pub(crate) fn window(&self) -> Option<(f64, f64)> {
        if let SourceContent::Pfnset(table) = &self.content { table.selection.window } else { None }
    }

    /// Which table a file holds; a trace can give both.
    pub const fn table(&self) -> Option<ExportedTable> {
        match &self.content {
            SourceContent::Trace(_) => None,
            SourceContent::Pfnset(table) => Some(table.table),
            SourceContent::Wpa(export) => Some(export.columns.table),
        }
    }

    /// True where processes have names without ids.
    pub fn has_names_only(&self) -> bool {
        match &self.content {
            SourceContent::Wpa(export) => export.columns.keys.iter().any(|(dimension, _)| *dimension == PROCESS_NAME),
            _ => false,
        }
    }

    /// True for a file with a row for each page.
    pub fn has_pages(&self) -> bool {
        match &self.content {
            SourceContent::Trace(_) => false,
            SourceContent::Pfnset(table) => table.listing.is_some(),
            SourceContent::Wpa(export) => export.columns.has_pfn(),
        }
    }

    /// Dimensions of a file in its order, finest; all that a trace can be counted by.
    pub fn dimensions(&self, table: ExportedTable) -> Vec<Dimension> {
        match &self.content {
            SourceContent::Trace(_) => {
                let is_there = |dimension: &Dimension| match table {
                    ExportedTable::Resident => dimension.resident(false).is_some(),
                    ExportedTable::Reference => dimension.reference().is_some(),
                };
                Dimension::ALL.iter().copied().filter(is_there).collect()
            }
            SourceContent::Pfnset(table) => {
                let name =
                    |name: &String| Dimension::of_name(if name == CATEGORY_WPA.name { CATEGORY.name } else { name });
                let mut found: Vec<Dimension> = Vec::new();
                for dimension in table.dimensions.iter().filter_map(name) {
                    if !found.contains(&dimension) {
                        found.push(dimension);
                    }
                }
                found
            }
            SourceContent::Wpa(export) => {
                // In the order of the columns.
                let mut keys = export.columns.keys.clone();
                keys.sort_by_key(|(_, at)| *at);
                keys.iter().filter_map(|(dimension, _)| Dimension::of_name(dimension_of(dimension))).collect()
            }
        }
    }

    /// The dimensions and those that follow from them.
    pub fn all_dimensions(&self, table: ExportedTable) -> Vec<Dimension> {
        let mut all = self.dimensions(table);
        let has_ids = !self.has_names_only();
        let derived = Dimension::ALL.iter().copied().filter(|dimension| {
            !all.contains(dimension)
                && dimension.derived_from().is_some_and(|from| all.contains(&from))
                && (has_ids || *dimension != Dimension::PID)
        });
        let derived: Vec<Dimension> = derived.collect();
        all.extend(derived);
        all
    }
}
