//! Takes the chart library of `pfnset report` out of the package of a crate and compresses it for the program.
//!
//! The script of Apache ECharts (Apache-2.0) lies in the package of the crate `charming`, which keeps it private. Cargo
//! downloads and checks that package because it is a build dependency; here its folder is looked up. docs/report.md says
//! why this library.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the script lies in its package.
const SCRIPT: &str = "src/asset/echarts-5.5.1.min.js";
/// The package.
const PACKAGE: (&str, &str) = ("charming", "0.6.0");
/// Names another file in the place of the script, for builds without cargo.
const OVERRIDE: &str = "PFNSET_ECHARTS";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.lock");
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    // The library alone has no report.
    if std::env::var_os("CARGO_FEATURE_CLI").is_none() {
        return Ok(());
    }
    let path = script()?;
    let script = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&script)?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    std::fs::write(out.join("echarts.js.zlib"), packed.finish()?)?;
    Ok(())
}

fn script() -> Result<PathBuf, Box<dyn Error>> {
    if let Some(path) = std::env::var_os(OVERRIDE) {
        return Ok(path.into());
    }
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or("no CARGO_MANIFEST_DIR")?);
    // A package from a registry lies beside its dependencies; so do vendored packages.
    let (name, version) = PACKAGE;
    let beside = [format!("{name}-{version}"), name.to_owned()];
    let beside = beside.iter().filter_map(|folder| Some(own.parent()?.join(folder).join(SCRIPT)));
    if let Some(path) = beside.into_iter().find(|path| path.is_file()) {
        return Ok(path);
    }
    // Cargo has just downloaded the package, so this works without network unless packages for tests are missing.
    from_metadata(&own, &["--offline"]).or_else(|_| from_metadata(&own, &[]))
}

/// Asks cargo where the package lies.
fn from_metadata(own: &Path, flags: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--filter-platform", &std::env::var("HOST")?]).args(flags);
    let output = command.current_dir(own).output()?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let (name, version) = PACKAGE;
    let package = packages.iter().find(|package| package["name"] == name && package["version"] == version);
    let manifest = package.and_then(|package| package["manifest_path"].as_str());
    let folder = manifest.and_then(|path| Path::new(path).parent());
    Ok(folder.ok_or_else(|| format!("cargo knows no package {name} {version}"))?.join(SCRIPT))
}
