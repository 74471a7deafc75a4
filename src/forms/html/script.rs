//! The scripts and the style of the page, and the policy that lets nothing else run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::io::{self, Read};

/// Apache ECharts, compressed by build.rs.
const CHARTS_PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echarts.js.zlib"));
/// Our own script.
pub const PAGE: &str = concat!(
    "\"use strict\";\n",
    include_str!("common.js"),
    include_str!("tables.js"),
    include_str!("resident.js"),
    include_str!("series.js"),
    include_str!("flame.js"),
    include_str!("page.js")
);
/// The style.
pub const STYLE: &str = include_str!("page.css");

/// The library that draws charts.
///
/// # Errors
/// None in a program that was built whole.
pub fn charts() -> io::Result<String> {
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(CHARTS_PACKED).read_to_string(&mut text)?;
    // Only this would end the element that holds it.
    Ok(text.replace("</script", "<\\/script"))
}

/// The policy: these scripts and this style by their hashes, and nothing from anywhere.
pub fn policy(scripts: &[&str]) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let scripts: Vec<String> = scripts.iter().map(|text| hash(text)).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        hash(STYLE)
    )
}
