//! Commands in which each argument is a separate trace: `--with FILE` adds a file of the same recording to the trace before it.
//!
//! Such a command has a field `recordings` before `common`, and opens each of them with
//! [`trace::open_recording`](crate::cli::trace::open_recording).

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint, value_parser};
use std::path::PathBuf;

/// A trace and the further files of its recording.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recording {
    /// The first file, whose name stands for the recording.
    pub trace: PathBuf,
    /// Sessions of the same boot that were recorded side by side.
    pub with: Vec<PathBuf>,
    /// Why a path that was found in a folder is not read.
    pub refused: Option<String>,
}

impl Recording {
    /// A recording of these files.
    pub const fn new(trace: PathBuf, with: Vec<PathBuf>) -> Recording {
        Recording { trace, with, refused: None }
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.trace).chain(&self.with)
    }
}

/// The traces of a command line in its order. The field must stand before [`Common`](crate::cli::args::Common), which
/// takes the arguments out.
#[derive(Debug, Clone, Default)]
pub struct Recordings {
    /// Those that were named as arguments.
    pub traces: Vec<Recording>,
    /// That of `--baseline`, where the command has it.
    pub baseline: Option<Recording>,
}

/// Names of arguments that are a trace, and of the one that adds files.
const TRACES: [&str; 4] = ["trace", "further", "paths", BASELINE];
const BASELINE: &str = "baseline";
const WITH: &str = "with";

impl Recordings {
    /// All files of all of them.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.traces.iter().chain(&self.baseline).flat_map(Recording::files)
    }
}

/// The values of an argument with their places on the command line; none where the command has no such argument.
fn placed<'m>(matches: &'m ArgMatches, name: &'static str) -> impl Iterator<Item = (usize, &'static str, &'m PathBuf)> {
    let values = matches.try_get_many::<PathBuf>(name).ok().flatten();
    let places = values.as_ref().and_then(|_| matches.indices_of(name)).into_iter().flatten();
    let values = values.into_iter().flatten();
    places.zip(values).map(move |(place, path)| (place, name, path))
}

impl FromArgMatches for Recordings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Recordings, clap::Error> {
        let names = TRACES.into_iter().chain([WITH]);
        let mut files: Vec<(usize, &str, &PathBuf)> = names.flat_map(|name| placed(matches, name)).collect();
        files.sort_unstable();
        let (mut all, mut baseline) = (Vec::<Recording>::new(), None);
        for (_, name, path) in files {
            match (name, all.last_mut()) {
                (WITH, Some(recording)) => recording.with.push(path.clone()),
                (WITH, None) => {
                    let text = format!("--with {} follows the trace that it belongs to\n", path.display());
                    return Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
                }
                _ => {
                    baseline = baseline.or((name == BASELINE).then_some(all.len()));
                    all.push(Recording::new(path.clone(), Vec::new()));
                }
            }
        }
        let baseline = baseline.map(|at| all.remove(at));
        Ok(Recordings { traces: all, baseline })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Recordings::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Recordings {
    fn augment_args(command: Command) -> Command {
        command.arg(
            Arg::new(WITH)
                .long(WITH)
                .value_name("FILE")
                .help("One more file of the same recording as the trace before it; repeatable")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Recordings::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::Common;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Example {
        #[command(flatten)]
        recordings: Recordings,
        #[command(flatten)]
        common: Common,
        #[arg(long)]
        baseline: Option<PathBuf>,
    }

    fn read(line: &str) -> Result<Example, clap::Error> {
        Example::try_parse_from(line.split(' '))
    }

    fn told(line: &str) -> (Vec<String>, Option<String>) {
        let name = |recording: &Recording| {
            recording.files().map(|path| path.display().to_string()).collect::<Vec<_>>().join("+")
        };
        let recordings = read(line).unwrap().recordings;
        (recordings.traces.iter().map(name).collect(), recordings.baseline.as_ref().map(name))
    }

    #[test]
    fn a_file_is_added_to_the_trace_before_it() {
        let (traces, none) = told("x a --with b --quiet c --with d --with=e f");
        assert_eq!((traces, none), (vec!["a+b".into(), "c+d+e".into(), "f".into()], None));
        let (traces, baseline) = told("x a --with b --baseline o --with p");
        assert_eq!((traces, baseline), (vec!["a+b".into()], Some("o+p".into())));
        let (traces, baseline) = told("x --baseline o --with p a -j 2 --with b c");
        assert_eq!((traces, baseline), (vec!["a+b".into(), "c".into()], Some("o+p".into())));
        assert_eq!(read("x a b").unwrap().common.traces().count(), 2, "the arguments stay where they are");
        assert_eq!(read("x a --baseline o").unwrap().baseline, Some("o".into()));
    }

    #[test]
    fn a_file_alone_is_refused() {
        let error = read("x --with b a").unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().contains("--with b follows the trace")), (2, true));
    }
}
