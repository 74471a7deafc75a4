//! One function for each command: open, analyze, print, judge.

use crate::cli::args::{Base, Cli, Command, Common, Events, Format, Info, Pages, Resident, RowFormat, Rules, SortBy};
use crate::cli::exit::Exit;
use crate::cli::{output, progress};
use anyhow::Context;
use clap::CommandFactory;
use pfnset::analysis::digest::Digest;
use pfnset::analysis::info::TraceInfo;
use pfnset::analysis::pages::{PageListing, PageQuery};
use pfnset::analysis::resident::ResidentSet;
use pfnset::analysis::resident::explain::{Explanation, Target};
use pfnset::analysis::resident::query::{Classification, Query};
use pfnset::analysis::resident::rows::Sort;
use pfnset::analysis::statistics::{EventFilter, EventStatistics};
use pfnset::analysis::table::Condition;
use pfnset::etl::EtlFile;
use pfnset::load::survey::Survey;
use pfnset::pattern::Patterns;
use pfnset::report::Report;
use pfnset::report::events::EventsReport;
use pfnset::report::explain::ExplainReport;
use pfnset::report::info::InfoReport;
use pfnset::report::pages::{PageForm, PageText};
use pfnset::report::resident::ResidentReport;
use pfnset::report::text;
use std::io::Write;

/// Runs the command.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Info(args) => info(&args),
        Command::Events(args) => events(&args),
        Command::Resident(args) => resident(&args),
        Command::Pages(args) => pages(&args),
        Command::Refset(args) => crate::cli::refset::refset(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new(); // the generator panics where it cannot write
            clap_complete::generate(shell, &mut Cli::command(), "pfnset", &mut script);
            let mut out = std::io::stdout();
            out.write_all(&script).and_then(|()| out.flush())?;
            Ok(Exit::Fine)
        }
    }
}

fn info(args: &Info) -> anyhow::Result<Exit> {
    let etl = open(&args.common)?;
    let survey = survey(&etl, &args.common);
    let info = TraceInfo::new(&etl, &survey);
    finish(&InfoReport::new(&args.common.trace, &info), &args.common, info.is_doubtful())
}

fn events(args: &Events) -> anyhow::Result<Exit> {
    let etl = open(&args.common)?;
    let survey = survey(&etl, &args.common);
    let filter = EventFilter {
        provider: args.provider.as_deref().map(Patterns::new).unwrap_or_default(),
        name: args.name.as_deref().map(Patterns::new).unwrap_or_default(),
    };
    let statistics = EventStatistics::new(&etl, &survey, &filter);
    let digest = args.digest.then(|| Digest::new(&etl));
    let doubtful = statistics.is_doubtful();
    finish(&EventsReport::new(&args.common.trace, &statistics, digest.as_ref()), &args.common, doubtful)
}

fn resident(args: &Resident) -> anyhow::Result<Exit> {
    if let Some(number) = args.explain {
        return explain(args, number);
    }
    let mut query = Query {
        top: args.top,
        sort: match args.sort {
            SortBy::Pages => Sort::Pages,
            SortBy::Name => Sort::Name,
            SortBy::Wpa => Sort::PagesWpa,
            SortBy::Difference => Sort::Difference,
        },
        classification: match args.classification {
            Rules::Corrected => Classification::Corrected,
            Rules::Wpa => Classification::Wpa,
            Rules::Both => Classification::Both,
        },
        snapshot: args.snapshot,
        ..Query::default()
    };
    let by_default = args.group_by.is_none() && args.preset.is_none();
    if !by_default || args.common.format != Format::Table {
        query.processes = 0;
    }
    if let Some(preset) = &args.preset {
        query.preset(preset)?;
    }
    if let Some(names) = &args.group_by {
        query.group_by(names)?;
    }
    args.conditions.iter().try_for_each(|condition| query.condition(condition))?;
    let unit = args.unit.unit();
    let etl = open(&args.common)?;
    let set = progress::with_bar(
        args.common.quiet,
        2 * etl.size_bytes(), // one walk for the events, one for the pages
        || etl.bytes_read(),
        || ResidentSet::new(&etl, &query),
    )?;
    let report = ResidentReport::new(&args.common.trace, &set, unit, by_default);
    finish(&report, &args.common, set.doubtful)
}

fn explain(args: &Resident, number: u64) -> anyhow::Result<Exit> {
    let target = match args.process {
        Some(process_id) => Target::Address { process_id, address: number },
        None => Target::Pfn(number),
    };
    let etl = open(&args.common)?;
    let explanation = progress::with_bar(
        args.common.quiet,
        2 * etl.size_bytes(),
        || etl.bytes_read(),
        || Explanation::new(&etl, target, args.snapshot),
    )?;
    finish(&ExplainReport::new(&args.common.trace, &explanation), &args.common, explanation.doubtful)
}

fn pages(args: &Pages) -> anyhow::Result<Exit> {
    let mut query = PageQuery { snapshot: args.snapshot, ..PageQuery::default() };
    query.conditions = args.conditions.iter().map(|text| Condition::parse(text)).collect::<Result<_, _>>()?;
    let form = match args.format {
        RowFormat::Table => PageForm::Table,
        RowFormat::Csv => PageForm::Csv,
        RowFormat::Jsonl => PageForm::Jsonl,
        RowFormat::Xperf => PageForm::Xperf,
    };
    let etl = open(&args.base)?;
    let progress = || etl.bytes_read();
    let listing = progress::with_bar(args.base.quiet, etl.size_bytes(), progress, || PageListing::new(&etl, &query))?;
    let mut out = output::open_rows(&args.base)?;
    if form == PageForm::Table {
        out.text(|text| text::warnings(text, &listing.warnings, output::width(&args.base)))?;
    } else if !args.base.quiet {
        output::warn(&listing.warnings);
    }
    out.write(&PageText::heading(form, &etl, &args.base.trace))?;
    for &index in &listing.snapshots {
        let Some(pages) = listing.snapshot(index) else { continue };
        if form == PageForm::Table && listing.snapshots.len() > 1 {
            out.write(format!("Snapshot {index}\n").as_bytes())?;
        }
        let text = PageText::new(form, &etl, &pages.names(), index);
        pages.stream(|out, row| text.row(out, row), &mut |bytes| out.write(bytes))?;
    }
    out.finish()?;
    Ok(if args.base.strict && listing.doubtful { Exit::BadInput } else { Exit::Fine })
}

/// Opens the trace and sets the number of threads.
pub fn open(common: &Base) -> anyhow::Result<EtlFile> {
    output::spare_the_trace(common)?;
    if let Some(threads) = common.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().context("cannot start threads")?;
    }
    Ok(EtlFile::open(&common.trace)?)
}

fn survey(etl: &EtlFile, common: &Common) -> Survey {
    progress::with_bar(common.quiet, etl.size_bytes(), || etl.bytes_read(), || Survey::new(etl))
}

/// Prints; with `--strict` doubtful data is bad input.
pub fn finish(report: &dyn Report, common: &Common, doubtful: bool) -> anyhow::Result<Exit> {
    output::print(report, common)?;
    Ok(if common.strict && doubtful { Exit::BadInput } else { Exit::Fine })
}
