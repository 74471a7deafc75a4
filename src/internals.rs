//! What this repository's own program, tests, benches and fuzz targets use beside the public library. It is public for them only:
//! it can change or go at any time, also in a version that breaks nothing else.

#[cfg(feature = "cli")]
pub use crate::cli::main;
