//! Why a page has its category: its record bit by bit, everything that it was joined with, and the rules that decided.
//!
//! The page is classified as the tables count it ([`SnapshotContext::classify`]). This module adds the events that this comes
//! from: it builds the address space of the one process again, with the events of each range.

mod address_history;
mod cited_event;
mod collect_facts;
mod commit;
mod fact;
mod ranges;
mod record_fields;

pub use address_history::AddressEvent;
pub use cited_event::CitedEvent;
pub use fact::Fact;
pub use record_fields::RecordField;

use crate::analysis::category_rules::Rule;
use crate::analysis::resident::page_dimensions::{Dimension, committable};
use crate::analysis::resident::query::SnapshotChoice;
use crate::analysis::resident::snapshot_context::SnapshotContext;
use crate::analysis::resident::warnings;
use crate::dimensions::Label;
use crate::error::Error;
use crate::event::page_identity::{PageIdentity, PageUse};
use crate::model::drive_paths::DrivePaths;
use crate::model::page_owner_key::KeyReading;
use crate::model::snapshot::{PageRecord, Snapshot};
use crate::symbols::folders::SymbolFolders;
use crate::trace::Trace;
use crate::trace::trust::warning::Warnings;
use crate::units::{Nanos, PAGE_BYTES};
use crate::units::{count, counted, is_kernel_address};
use collect_facts::FactCollector;
use commit::StacksOnDemand;

/// What to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A page frame.
    Pfn(u64),
    /// An address of a process.
    Address {
        /// Process id.
        process_id: u32,
        /// Any address in the page.
        address: u64,
    },
}

/// Most pages at one address that are explained; a hostile trace can have any number.
const MOST_PAGES: usize = 8;

/// The answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Warnings, most important first.
    pub warnings: Warnings,
    /// What was asked.
    pub target: Target,
    /// Snapshots of the trace.
    pub snapshot_count: usize,
    /// The snapshots asked for.
    pub snapshots: Vec<InSnapshot>,
    drive_paths: DrivePaths,
}

/// The answer for one snapshot.
#[derive(Debug)]
pub struct InSnapshot {
    /// Number in the trace, from 0.
    pub index: usize,
    /// When, since trace start.
    pub time: Nanos,
    /// How owner keys are read.
    pub reading: KeyReading,
    /// The process of an address; `None` when a page frame was asked for.
    pub process: Option<String>,
    /// The pages: one for a page frame, any number for an address.
    pub pages: Vec<ExplainedPage>,
    /// Pages at the address that are not among `pages`.
    pub more_pages: usize,
    /// What the address belongs to, where no page of it is resident.
    pub absent: Option<ExplainedAddress>,
}

/// A page with its reasons.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplainedPage {
    /// The record and where it lies.
    pub record: PageRecord,
    /// Its event.
    pub event: CitedEvent,
    /// The record's fields.
    pub fields: Vec<RecordField>,
    /// Label of the process.
    pub process: Label,
    /// Label of the detail.
    pub detail: Label,
    /// What it was joined with.
    pub facts: Vec<Fact>,
    /// The stack of the record that committed its address: names of frames, innermost first. `None` where none is known.
    pub commit_stack: Option<Vec<String>>,
    /// Events at its address in its process, before and after the snapshot.
    pub history: Vec<AddressEvent>,
    /// Events left out of `history`.
    pub more_history: usize,
    /// The corrected rule that decided.
    pub rule: Rule,
    /// WPA's rule that decided.
    pub rule_wpa: Rule,
}

/// An address without a page.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplainedAddress {
    /// What it belongs to.
    pub facts: Vec<Fact>,
    /// Events at the address.
    pub history: Vec<AddressEvent>,
    /// Events left out of `history`.
    pub more_history: usize,
    /// What a private page there would be, by the corrected and by WPA's rules; `None` for kernel addresses.
    pub would_be: Option<(Rule, Rule)>,
}

impl Explanation {
    /// Explains.
    ///
    /// # Errors
    /// [`Error::MissingEvents`] without a page sequence; [`Error::Usage`] for a snapshot, a page frame or a process
    /// that the trace does not have.
    pub fn answer(
        trace: &Trace,
        target: Target,
        choice: SnapshotChoice,
        symbols: &SymbolFolders,
    ) -> Result<Explanation, Error> {
        trace.gather(SnapshotContext::PARTS);
        let snapshots = trace.need_snapshots()?;
        let chosen = choice.indices(snapshots)?;
        // Pages are counted: what `resident` says of its totals holds for the page too.
        let (mut warnings, mut counted) = warnings::with_last_context(trace, &chosen);
        let stacks = StacksOnDemand::new(trace, symbols);
        let mut explained = Vec::new();
        for index in chosen {
            let Some(snapshot) = snapshots.get(index) else { continue };
            let context = counted.take_if(|(of, _)| *of == index).map(|(_, context)| context);
            let context = context.unwrap_or_else(|| SnapshotContext::new(trace, snapshot));
            explained.push(Explainer { trace, snapshot, context: &context, stacks: &stacks }.explain(target, index)?);
        }
        warnings.extend(stacks.joined().into_iter().flat_map(warnings::of_symbols));
        Ok(Explanation {
            warnings,
            target,
            snapshot_count: snapshots.len(),
            snapshots: explained,
            drive_paths: DrivePaths::new(&trace.system().volumes),
        })
    }

    /// A text of the answer with paths as people know them.
    pub fn shown(&self, text: &str) -> String {
        self.drive_paths.shown_in(text)
    }
}

struct Explainer<'m> {
    trace: &'m Trace,
    snapshot: &'m Snapshot,
    context: &'m SnapshotContext<'m>,
    stacks: &'m StacksOnDemand<'m>,
}

impl Explainer<'_> {
    fn explain(&self, target: Target, index: usize) -> Result<InSnapshot, Error> {
        let mut answer = InSnapshot {
            index,
            time: self.trace.time(self.snapshot.first.time),
            reading: self.context.owners.reading,
            process: None,
            pages: Vec::new(),
            more_pages: 0,
            absent: None,
        };
        match target {
            Target::Pfn(pfn) => {
                answer.pages = self.frame(pfn);
                if answer.pages.is_empty() {
                    let (first, last) = self.snapshot.pfns;
                    return Err(Error::Usage(format!(
                        "PFN 0x{pfn:x} is not in snapshot {index}: its {} pages have PFNs from 0x{first:x} to 0x{last:x}, \
                         with {} missing in {}",
                        count(self.snapshot.pages),
                        count(self.snapshot.missing_pfns),
                        counted(self.snapshot.gaps, "gap", "gaps")
                    )));
                }
            }
            Target::Address { process_id, address } => {
                let instance = self.instance(process_id, index)?;
                let (frames, count) = self.frames_at(instance, address);
                answer.pages = frames.iter().flat_map(|&pfn| self.frame(pfn)).collect();
                answer.more_pages = count.saturating_sub(answer.pages.len());
                answer.process = self.trace.processes().instances.get(instance as usize).map(|process| process.label());
                if frames.is_empty() {
                    answer.absent = Some(self.absent(instance, address));
                }
            }
        }
        Ok(answer)
    }

    /// The records of a page frame: one, unless the sequence repeats it.
    fn frame(&self, pfn: u64) -> Vec<ExplainedPage> {
        self.snapshot.records_of(self.trace.etl(), pfn).into_iter().map(|record| self.page(record)).collect()
    }

    fn page(&self, record: PageRecord) -> ExplainedPage {
        let page = record.page;
        let classified = self.context.classify(&page);
        let mut facts = FactCollector::of_page(self.trace, self.context, self.snapshot, &page, &classified);
        let commit = committable(&page, &classified)
            .and_then(|instance| self.stacks.commit(instance, page.u2, self.context.moment));
        let commit_stack = commit.and_then(|(fact, stack)| {
            facts.facts.push(fact);
            stack
        });
        let label =
            |dimension: Dimension| dimension.label(self.context, dimension.code(self.context, &page, &classified));
        ExplainedPage {
            event: CitedEvent::new(self.trace.etl(), record.hook, record.time),
            record,
            fields: record_fields::fields(&page, self.context),
            process: label(Dimension::PROCESS),
            detail: label(Dimension::Detail),
            rule: classified.rule,
            rule_wpa: classified.rule_wpa,
            facts: facts.facts,
            commit_stack,
            history: facts.history,
            more_history: facts.more_history,
        }
    }

    /// The instance of a process id that was alive at the snapshot.
    fn instance(&self, process_id: u32, snapshot: usize) -> Result<u32, Error> {
        let processes = self.trace.processes();
        if let Some(index) = processes.alive(process_id, self.snapshot.first) {
            return Ok(index as u32);
        }
        let seconds = |ticks| format!("{:.3} s", self.trace.time(ticks).seconds());
        let lives: Vec<String> =
            (processes.instances_of(process_id).iter().filter_map(|&i| processes.instances.get(i)))
                .map(|life| {
                    let from = life.start_time().map_or_else(|| life.unknown_start("the start of the trace"), seconds);
                    let to = life.end_time().map_or("its end".into(), seconds);
                    format!("{} lived from {from} to {to}", life.label())
                })
                .collect();
        let at = seconds(self.snapshot.first.time);
        Err(Error::Usage(if lives.is_empty() {
            format!(
                "the trace knows no process {process_id}; pfnset resident --group-by process lists those with pages"
            )
        } else {
            format!("process {process_id} was not alive at snapshot {snapshot} ({at}): {}", lives.join("; "))
        }))
    }

    /// The first page frames at an address of a process, or at a kernel address, and how many there are.
    fn frames_at(&self, instance: u32, address: u64) -> (Vec<u64>, usize) {
        let wanted = address / PAGE_BYTES;
        let kernel = is_kernel_address(address, self.context.pointer);
        let empty = || (Vec::new(), 0);
        let is_there = |page: &PageIdentity| {
            let addressed = !matches!(page.page_use(), PageUse::File | PageUse::MetaFile | PageUse::PageFileMapped);
            addressed
                && page.u2 != 0
                && page.u2 / PAGE_BYTES == wanted
                && (kernel || self.context.owners.get(page.key()) == Some(instance))
        };
        let found = self.snapshot.fold(self.trace.etl(), empty, |(frames, count): &mut (Vec<u64>, usize), pages| {
            for page in pages.iter().filter(|page| is_there(page)) {
                *count += 1;
                frames.push(page.pfn);
                smallest(frames);
            }
        });
        let count = found.iter().map(|(_, count)| count).sum();
        let mut frames = found.into_iter().flat_map(|(frames, _)| frames).collect();
        smallest(&mut frames);
        (frames, count)
    }

    fn absent(&self, instance: u32, address: u64) -> ExplainedAddress {
        let address = address / PAGE_BYTES * PAGE_BYTES;
        let owner = self.context.spaces.get(instance, address);
        let facts = FactCollector::of_address(self.trace, self.context, self.snapshot, instance, address, owner);
        let private = !is_kernel_address(address, self.context.pointer);
        ExplainedAddress {
            would_be: private.then(|| (Rule::of_layer(owner.corrected()), Rule::of_layer_wpa(owner.wpa()))),
            facts: facts.facts,
            history: facts.history,
            more_history: facts.more_history,
        }
    }
}

/// Keeps the [`MOST_PAGES`] smallest, rising, each once.
fn smallest(frames: &mut Vec<u64>) {
    frames.sort_unstable();
    frames.dedup();
    frames.truncate(MOST_PAGES);
}
