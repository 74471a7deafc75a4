//! What this repository's own program, Python module, tests, benches and fuzz targets use beside the public library. It is public for them only:
//! it can change or go at any time, also in a version that breaks nothing else.
#[cfg(feature = "cli")]
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};

pub use crate::analysis::allocations::{AllocationQuery, AllocationSet, Figures};
#[cfg(feature = "cli")]
pub use crate::analysis::check::{
    TraceResult, baseline::Baseline, baseline::Saved, budgets_file::read as read_budgets, suggested_budgets::suggest,
    trace_values::TraceValues, verdict::Verdict,
};
#[cfg(feature = "cli")]
pub use crate::analysis::event_rows::{EventListing, EventRowQuery};
pub use crate::analysis::faults::{FaultQuery, FaultSet};
#[cfg(feature = "cli")]
pub use crate::analysis::report::{Overview, treemap::Tile};
pub use crate::analysis::stacks::{StackQuery, StackSet};
#[cfg(feature = "cli")]
pub use crate::answer::check::Checked;
#[cfg(feature = "cli")]
pub use crate::answer::stacks::collapsed as collapsed_stacks;
#[cfg(feature = "cli")]
pub use crate::cli::{embedded, main, program};
pub use crate::escape::{is_hidden, visible};
pub use crate::etl::buffer_order::{circular_start, ranks};
#[cfg(feature = "cli")]
pub use crate::forms::{
    ascii_stand_ins::ascii, budgets::write as write_budgets, event_rows::EventForm, event_rows::RowWriter,
    event_rows::heading as event_heading, html::HtmlReport, junit::document as junit,
};
pub use crate::load::sha256_digest::TraceDigest;
pub use crate::symbols::database::{functions_of, sources_of};
pub use crate::symbols::source_lines::{Inlined, Source, SourceLine};
pub use crate::symbols::undecorated::undecorated;

/// What a `pooltag.txt` says of these tags, drivers or texts.
///
/// # Errors
/// What is wrong with it.
pub fn tag_uses(file: &[u8], tags: &[u32]) -> Result<Vec<Option<String>>, String> {
    let known = crate::model::pool_tags::PoolTags::read(file)?;
    let text = |tag: &u32| {
        let of_it = known.of(crate::event::pool::PoolTag(*tag))?;
        Some(of_it.driver.as_ref().unwrap_or(&of_it.text).clone())
    };
    Ok(tags.iter().map(text).collect())
}

/// Warnings of which there is one, with this text.
#[cfg(feature = "cli")]
pub fn one_warning(text: &str) -> Warnings {
    vec![Warning::note(OF_TRACE, "budget", text.to_owned())].into()
}

/// The answer of `pfnset check`, with these warnings.
#[cfg(feature = "cli")]
pub fn check_answer<'a>(
    checked: Checked<'_>,
    traces: &'a [TraceResult],
    warnings: Warnings,
) -> crate::answer::Answer<'a> {
    crate::answer::check::answer(checked, traces, warnings, Default::default())
}

/// The answer of `pfnset stacks` without flags.
#[cfg(feature = "cli")]
pub fn stacks_answer(set: &StackSet) -> crate::answer::Answer<'_> {
    crate::answer::stacks::answer(set, Default::default())
}

/// Shows the answers about code, faults and allocations of a trace one by one, for what checks forms.
#[cfg(feature = "cli")]
pub fn answers_of_code(trace: &crate::trace::Trace, show: &mut dyn FnMut(crate::answer::Answer<'_>)) {
    use crate::analysis::stack_profile::StackProfile;
    use crate::analysis::stacks::SymbolNeeds;
    use crate::answer::faults::FaultView;
    use crate::answer::numbers::{TimeUnit, Unit};
    use crate::answer::{allocations, faults, stacks, symbols};
    let mut query = StackQuery { whole_stacks: true, ..StackQuery::default() };
    query.group_by =
        crate::dimensions::Dimension::parse_list("process,thread,module,function,stack").expect("dimensions");
    if let Ok(set) = StackSet::answer(trace, &query) {
        show(stacks::answer(&set, Default::default()));
        show(stacks::collapsed(&set, false));
    }
    if let Ok(profile) = StackProfile::answer(trace, &StackQuery::default()) {
        show(stacks::profile(&profile));
    }
    if let Ok(needs) = SymbolNeeds::answer(trace, &Default::default()) {
        show(symbols::answer(&needs));
    }
    let group_by = crate::dimensions::Dimension::parse_list("process,file,module").expect("dimensions");
    let query = FaultQuery { group_by, ..FaultQuery::default() };
    if let Ok(set) = FaultSet::answer(trace, &query) {
        for view in [FaultView::Summary, FaultView::Hard, FaultView::Disk, FaultView::Soft] {
            show(faults::answer(&set, view, None, TimeUnit::Auto));
        }
    }
    let group_by = crate::dimensions::Dimension::parse_list("process,function").expect("dimensions");
    let query = AllocationQuery { group_by, ..AllocationQuery::default() };
    if let Ok(set) = AllocationSet::answer(trace, &query) {
        let display = allocations::AllocationDisplay {
            view: crate::analysis::allocations::AllocationView::Outstanding,
            is_summary: true,
            is_timeline: false,
            order: query.order,
            top: None,
            unit: Unit::Auto,
        };
        show(allocations::answer(&set, display));
    }
}

/// Decompression of buffers.
pub mod compression {
    pub use crate::etl::compression::outcome::{CompressionFault, Decompression};
    pub use crate::etl::compression::{Format, decompress};
}

/// Schemas of events, and payloads by them.
pub mod fields {
    /// Class of event information.
    pub const EVENT_METADATA: uuid::Uuid = crate::event::event_names::EVENT_METADATA;

    pub use crate::event::fields::event_info::EventInfo;
    pub use crate::event::fields::kernel::fields as kernel_fields;
    pub use crate::event::fields::manifest::{Chunk, Manifest, text_of};
    pub use crate::event::fields::reader::{Context, read};
    pub use crate::event::fields::schema::{Maps, Schema};
    pub use crate::event::fields::trace_logging::schema as trace_logging_schema;
    pub use crate::event::fields::value::FieldValue;
}
