//! `pfnset anonymize`.

use crate::anonymized::{self, StandIns};
use crate::cli::args::Base;
use crate::cli::exit::Exit;
use crate::cli::{atomic_file, bounded_file, messages, output, trace};
use crate::units::count;
use anyhow::{Context, bail};
use clap::Args;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(mut_arg("output", |arg| arg.help("The new file")))]
#[command(mut_arg("further", |arg| arg.help("None: one trace at a time, each with the same --secret")))]
#[command(after_help = "\
Names of files, programs, users, hosts, services, threads and registry keys, command
lines and marks get stand-ins of the same length, and so do SIDs. Equal names have
equal stand-ins. Extensions, the paths of Windows itself and the names of its files
stay, and so do sizes, times and counts: all tables stay the same except for names,
and damage stays damage. Payloads of events that pfnset does not know are zeroed.

What stays: addresses, times, the Windows build, the names of processors. Look at the
new file before you send it: pfnset events, pfnset processes.

Examples:
  pfnset anonymize trace.etl -o to-send.etl
  pfnset anonymize today.etl -o b.etl --secret-file my-secret.txt")]
pub struct Anonymize {
    #[command(flatten)]
    pub base: Base,
    /// Traces with the same secret have the same stand-ins [default: a random one]
    #[arg(long, value_name = "TEXT", env = "PFNSET_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
    /// The secret is in this file, without the end of its line: other users see the arguments of programs
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    pub secret_file: Option<PathBuf>,
    /// Write over a file that exists
    #[arg(long)]
    pub force: bool,
}

impl Anonymize {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        let base = &self.base;
        let Some(path) = &base.printing.output else {
            bail!(crate::error::Error::Usage("where to? Name the new file: -o OUT.etl".into()));
        };
        if !base.further.is_empty() {
            bail!(crate::error::Error::Usage("one trace at a time: anonymize each with the same --secret".into()));
        }
        if path.exists() && !self.force {
            let there = format!("{} exists; --force writes over it", path.display());
            bail!(crate::error::Error::Usage(there));
        }
        let names = StandIns::new(&self.secret()?);
        let trace = trace::open(base)?;
        let changes = trace::with_bar(base, &trace, 2, || write(path, |out| anonymized::write(&trace, &names, out)))?;
        if !base.printing.quiet {
            let [records, texts, zeroed] = changes.figures().map(count);
            messages::write(&format!(
                "{}: {records} records; {texts} texts have stand-ins, {zeroed} records of unknown layout are zeroed",
                path.display()
            ));
        }
        // Damage stays damage: whoever gets the file has to know it too.
        output::warn(&output::told(&trace.trust().warnings(), base.printing.quiet));
        Ok(if base.strict && trace.trust().is_doubtful() { Exit::BadInput } else { Exit::Fine })
    }
}

impl Anonymize {
    /// The secret: from the file, the command line or the environment, else a random one.
    fn secret(&self) -> anyhow::Result<Vec<u8>> {
        if let Some(file) = &self.secret_file {
            output::spare(file, &self.base.printing, "the file of the secret")?;
            let text = bounded_file::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let secret = text.trim_ascii_end();
            if secret.is_empty() {
                bail!(crate::error::Error::Usage(format!("{} holds no secret", file.display())));
            }
            return Ok(secret.to_vec());
        }
        match self.secret.as_deref() {
            Some("") => bail!(crate::error::Error::Usage("the secret is empty".into())),
            Some(secret) => Ok(secret.into()),
            None => Ok(random()),
        }
    }
}

fn write<T>(path: &Path, make: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> anyhow::Result<T> {
    let (new, file) = atomic_file::create(path)?;
    let mut out = BufWriter::new(file);
    let made = make(&mut out).and_then(|made| out.flush().map(|()| made));
    let made = made.with_context(|| format!("cannot write {}", path.display()))?;
    drop(out);
    new.keep()?;
    Ok(made)
}

/// A random secret: the 128-bit key of the standard library's hash comes from the system.
fn random() -> Vec<u8> {
    (0..4u8).flat_map(|number| RandomState::new().hash_one(number).to_le_bytes()).collect()
}
