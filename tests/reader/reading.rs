//! Everything that is done with a trace, whatever it holds; and where recorded traces are.

use pfnset::analysis::events::{EventFilter, EventStatistics};
use pfnset::analysis::info::TraceInfo;
use pfnset::analysis::pages::{PageListing, PageQuery};
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::query::{ResidentQuery, SnapshotChoice};
use pfnset::answer::numbers::Unit;
use pfnset::answer::{Answer, events, info as answer_of_info, resident};
use pfnset::forms::pages::{PageForm, PageText};
use pfnset::forms::{self, Form, Look};
use pfnset::trace::Trace;
use pfnset::unstable_api::TraceDigest;
use std::path::{Path, PathBuf};

/// How much is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Everything that one parallel walk gives.
    Survey,
    /// That, digests and all reports.
    All,
}

/// What came of reading a file that may be damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// False when the file was refused.
    pub opened: bool,
    pub records: u64,
    pub damaged_places: u64,
}

/// Reads a file in every way; whatever it holds, this returns.
pub fn read_all(path: &Path, effort: Effort) -> Found {
    let trace = match Trace::open(path) {
        Ok(trace) => trace,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return Found::default();
        }
    };
    let (etl, survey) = (trace.etl(), trace.survey());
    let listed: u64 = survey.kinds.iter().map(|kind| kind.count).sum();
    assert_eq!(listed + survey.unlisted.0, survey.total, "kinds add up");
    assert_eq!(survey.by_header.values().sum::<u64>(), survey.total, "header types add up");
    assert_eq!(survey.by_processor.values().sum::<u64>(), survey.total, "processors add up");
    let spans: u64 = survey.spans.iter().flatten().map(|span| u64::from(span.records)).sum();
    assert_eq!(spans, survey.total, "buffers add up");
    let info = TraceInfo::answer(&trace);
    if effort == Effort::All {
        let digest = TraceDigest::new(etl);
        let statistics = EventStatistics::answer(&trace, &EventFilter::default());
        write_all(&answer_of_info::answer(&info, path, &[]));
        write_all(&events::answer(&statistics, Some(&digest)));
    }
    Found { opened: true, records: survey.total, damaged_places: survey.damage.total }
}

/// Writes an answer in every form.
fn write_all(answer: &Answer<'_>) {
    let look = Look { width: 80, color: true, rows: None };
    for form in [Form::Text(look), Form::Json, Form::Csv(Default::default()), Form::JsonLines, Form::Markdown] {
        forms::write(answer, form, &mut std::io::sink()).unwrap();
    }
}

/// Reads a file as a resident-set recording, all snapshots, in every form; whatever it holds, this returns.
pub fn read_pages(path: &Path) -> bool {
    let Ok(trace) = Trace::open(path) else { return false };
    let query = ResidentQuery { snapshot: SnapshotChoice::All, ..ResidentQuery::default() };
    if let Ok(set) = ResidentSet::answer(&trace, &query) {
        write_all(&resident::answer(&set, &Default::default(), Unit::Auto, true));
    }
    let query = PageQuery { snapshot: SnapshotChoice::Last, ..PageQuery::default() };
    let Ok(listing) = PageListing::answer(&trace, &query) else { return false };
    for form in [PageForm::Table, PageForm::Csv(Default::default()), PageForm::Jsonl, PageForm::Xperf] {
        for &index in &listing.snapshots {
            let pages = listing.snapshot(index).expect("a snapshot that is listed");
            let text = PageText::new(form, trace.etl(), &pages.names(), index, 80);
            pages.stream(|out, row| text.row(out, row), &mut |_| Ok(())).unwrap();
        }
    }
    true
}

/// Recorded traces, where they are present: `PFNSET_TRACES`, or the folder that they have in this project.
pub fn recorded_traces() -> Vec<PathBuf> {
    let folder = std::env::var_os("PFNSET_TRACES")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/real"));
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("SKIPPED: no recorded traces in {}", folder.display());
        return Vec::new();
    };
    let mut traces: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    traces.retain(|path| path.extension().is_some_and(|e| e == "etl"));
    traces.sort();
    traces
}
