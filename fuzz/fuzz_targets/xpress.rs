//! XPRESS streams: the real decoder against the slow one.
#![no_main]

#[path = "../compressed.rs"]
mod compressed;

use libfuzzer_sys::fuzz_target;
use pfnset::unstable_api::compression::Format;

fuzz_target!(|data: &[u8]| compressed::compare(Format::Xpress, compressed::reference_decoders::xpress, data));
