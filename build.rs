//! Takes the chart library of `pfnset report` out of the package of a crate and compresses it for the program.
//!
//! The script of Apache ECharts (Apache-2.0) lies in the package of the crate `charming`, which keeps it private. Cargo
//! downloads that package because it is a build dependency; here its folder is looked up, never the network. docs/report.md
//! says why this library.

use sha2::{Digest, Sha256};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the script lies in its package.
const SCRIPT: &str = "src/asset/echarts-5.4.2.min.js";
/// The package.
const PACKAGE: &str = "charming-0.3.1";
/// SHA-256 of the script.
const DIGEST: &str = "3d16c3a22fffe270406aaeec21fc72453dda9f0eed56e6b35080321e49356393";
/// Names another file in the place of the script, for builds without cargo.
const OVERRIDE: &str = "PFNSET_ECHARTS";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    println!("cargo::rustc-check-cfg=cfg(etl_writer)");
    // The package that is published has no writer of traces for its unit tests.
    if Path::new("tests/writer/Cargo.toml").is_file() {
        println!("cargo::rustc-cfg=etl_writer");
    }
    // Tests start the program thousands of times. Without these addresses to fill in, a start takes 4 ms instead of 6.
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    if of("PROFILE") == "debug" && of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // The library alone has no report.
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return Ok(());
    }
    let script = script()?;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&script)?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    std::fs::write(out.join("echarts.js.zlib"), packed.finish()?)?;
    Ok(())
}

fn script() -> Result<Vec<u8>, Box<dyn Error>> {
    let read = |path: &Path| std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    if let Some(path) = std::env::var_os(OVERRIDE) {
        return Ok(read(Path::new(&path))?);
    }
    let script = places()?.into_iter().map(|folder| folder.join(SCRIPT)).find(|path| path.is_file());
    let script = script.ok_or_else(|| {
        format!("the package {PACKAGE} is not where cargo keeps packages: let {OVERRIDE} name the file {SCRIPT} of it")
    })?;
    let bytes = read(&script)?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if digest != DIGEST {
        return Err(format!("{} is not the script of {PACKAGE}: its SHA-256 is {digest}", script.display()).into());
    }
    Ok(bytes)
}

/// Where the package can lie. Cargo has compiled it just now, so it is there.
fn places() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    // A package from a registry lies beside its dependencies; so do vendored packages, without version.
    let vendor = own.join("vendor");
    let mut folders: Vec<PathBuf> = own.parent().map(Path::to_owned).into_iter().chain([vendor]).collect();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    // One folder for each registry.
    let registries = home.and_then(|home| home.join("registry").join("src").read_dir().ok());
    folders.extend(registries.into_iter().flatten().flatten().map(|entry| entry.path()));
    let name = PACKAGE.rsplit_once('-').map_or(PACKAGE, |(name, _)| name);
    Ok(folders.iter().flat_map(|folder| [folder.join(PACKAGE), folder.join(name)]).collect())
}
