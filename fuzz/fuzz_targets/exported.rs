//! Any bytes as a file that is compared: no panic, no endless loop, what is read adds up whatever it is read by, and every form of the
//! comparison is harmless.
//!
//! Input: the bytes of the file, which go through a real one because that is what is mapped.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::analysis::diff::Diff;
use pfnset::analysis::diff::Source;
use pfnset::analysis::diff::WpaOptions;
use pfnset::analysis::diff::query::DiffQuery;
use pfnset::answer;
use pfnset::answer::numbers::Unit;
use pfnset::code_page::CodePage;
use pfnset::input::UnpackLimits;
use std::{env, fs, process};

#[path = "../every_form.rs"]
mod every_form;

fuzz_target!(|data: &[u8]| {
    let path = env::temp_dir().join(format!("pfnset-fuzz-{}.csv", process::id()));
    fs::write(&path, data).expect("a scratch file can be written");
    let open = || Source::open(&path, &UnpackLimits::default(), &WpaOptions::default(), CodePage::default());
    if let (Ok(left), Ok(right)) = (open(), open())
        && let Ok(diff) = Diff::new(&left, &right, &DiffQuery::default())
    {
        // A file without a row is no match: nothing was compared.
        assert!(diff.is_equal() || diff.compared.has_no_match(), "a file differs from itself");
        assert_eq!(diff.compared.all.left, diff.compared.all.right);
        every_form::written(answer::diff::answer(&diff, Unit::Auto, Default::default()));
    }
    let _ = fs::remove_file(&path);
});
