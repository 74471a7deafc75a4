//! `machines FOLDER COUNT [PAGES]`: traces of made-up machines in a folder, for tests of many traces: machine-00.etl,
//! machine-01.etl, … Five machines in turns, three builds of Windows, each trace with pages of its own.

use etl_writer::{ResidentSpec, generate_resident};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = || io::Error::other("machines FOLDER COUNT [PAGES]");
    let (folder, count, pages) = match arguments.as_slice() {
        [folder, count] => (folder, count, 20_000),
        [folder, count, pages] => (folder, count, pages.parse().map_err(io::Error::other)?),
        _ => return Err(usage()),
    };
    let count: u64 = count.parse().map_err(io::Error::other)?;
    fs::create_dir_all(folder)?;
    for number in 0..count {
        let machine = number % 5;
        let spec = ResidentSpec {
            seed: 100 + number,
            // The fifth machine has more of everything.
            pages: if machine == 4 { pages * 2 } else { pages },
            build: [19_045, 22_631, 26_100][number as usize % 3],
            computer: Some(format!("HOST-{machine}")),
            ..ResidentSpec::small()
        };
        let file = File::create(Path::new(folder).join(format!("machine-{number:02}.etl")))?;
        generate_resident(&spec, BufWriter::new(file))?;
    }
    Ok(())
}
