//! `pfnset counter`.

use crate::answer::{counter_samples as answer_of_samples, counter_types};
use crate::cli::args::{CsvArgs, OutputFormat, Printing};
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::counter::{CounterType, Predefined, samples};
use crate::error::Error;
use anyhow::Context;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Without a type and without --csv: all types that Windows defines.

Columns of FILE, in any order, headings without case:
  Counter (Path, Name), CounterType, RawValue      required
  Name beside Counter                              instance
  BaseValue                                        base
  Timestamp_PerfTime, Frequency_PerfTime           performance counter
  Timestamp_Sys100NS                               system time, 100 ns
  Timestamp_Object, Frequency_Object               clock of the object
  SecondValue, MultipleCount, TimeBase             as Get-Counter has them
.NET's headings are read too. Rows with the same name and type are successive
samples. docs/counters.md explains types, formulas and reasons.

Examples:
  pfnset counter PERF_100NSEC_TIMER_INV      how is % Processor Time made?
  pfnset counter 0x20410500
  pfnset counter --csv samples.csv
  pfnset counter --csv samples.csv --format csv -o values.csv")]
pub struct Counter {
    /// Types to explain: numbers, names as in PERF_COUNTER_TIMER, or .NET's names as in CounterTimer
    #[arg(value_name = "TYPE", conflicts_with = "csv", allow_negative_numbers = true)]
    pub types: Vec<String>,
    /// Calculate the counters of a file of raw samples (- for standard input)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = OutputFormat::Table, value_name = "FORM")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv_form: CsvArgs,
    #[command(flatten)]
    pub printing: Printing,
}

impl Counter {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        match &self.csv {
            Some(file) => {
                output::spare(file, &self.printing, "the file of samples")?;
                let series = samples::read_file(file)?;
                output::print(
                    &answer_of_samples::answer(file, &series),
                    self.format,
                    self.csv_form.cells(),
                    &self.printing,
                )?;
            }
            None => {
                let parse = |text: &String| {
                    CounterType::parse(text).map_err(|error| Error::Usage(format!("\"{text}\" is {error}")))
                };
                let mut types = self.types.iter().map(parse).collect::<Result<Vec<_>, _>>().context("TYPE")?;
                if types.is_empty() {
                    types = Predefined::ALL.iter().map(|known| known.counter_type).collect();
                }
                output::print(&counter_types::answer(&types), self.format, self.csv_form.cells(), &self.printing)?;
            }
        }
        Ok(Exit::Fine)
    }
}
