//! What a reference set does not know: where the scenario stops, and what a page sequence proves of which a part is missing.

use crate::trust::{fixture, places, with};
use serde_json::Value;

const MARK: u16 = 0x0f22;
const PAGES: [u16; 2] = [0x0223, 0x028a];

/// The code with `--strict`, and the warnings.
fn told(bytes: &[u8]) -> (i32, Vec<String>) {
    let ran = with("refset", bytes, &["--format", "json", "--strict"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    let texts = json["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    (ran.code, texts.collect())
}

#[test]
fn a_stop_mark_that_is_missing_is_told() {
    let whole = fixture("refset-proved.etl");
    let says =
        |bytes: &[u8]| told(bytes).1.into_iter().find(|text| text.starts_with("no mark says when the scenario stops"));
    assert_eq!(says(&whole), None);
    let marks = places(&whole, &[MARK]);
    let texts = |bytes: &[u8]| {
        marks.iter().map(|mark| String::from_utf8_lossy(&bytes[mark.clone()]).into_owned()).collect::<Vec<_>>()
    };
    let stop = texts(&whole).iter().position(|text| text.to_lowercase().contains("stop")).expect("a stop mark");
    // Its text is another one, and its record is of another event.
    let mut renamed = whole.clone();
    renamed[marks[stop].clone()]
        .iter_mut()
        .filter(|byte| byte.is_ascii_alphabetic())
        .skip(1)
        .for_each(|byte| *byte = b'x');
    assert!(says(&renamed).expect("told").contains("the last mark after it"), "{:?}", says(&renamed));
    let mut gone = whole.clone();
    gone[marks[stop].start + 6] = 0xee;
    assert!(says(&gone).expect("told").contains("the end of the trace"), "{:?}", says(&gone));
}

#[test]
fn a_page_sequence_of_which_a_part_is_lost_gives_no_percentage() {
    let whole = fixture("refset-proved.etl");
    let size = u32::from_le_bytes(whole[..4].try_into().unwrap()) as usize;
    let of_pages: Vec<usize> = places(&whole, &PAGES).iter().map(|place| place.start / size).collect();
    let (first, last) = (of_pages[0], *of_pages.last().unwrap());
    assert!(last > first + 2, "{first} {last}");
    let mut bytes = whole.clone();
    bytes.drain((first + 1) * size..last * size);
    let (code, warnings) = told(&bytes);
    assert!(code == 3 && !warnings.iter().any(|text| text.contains("% of the pages that match")), "{warnings:?}");
    let says = "the page sequence after the scenario is not whole";
    assert!(warnings.iter().any(|text| text.starts_with(says)), "{warnings:?}");
    let screen = with("refset", &bytes, &[]).out;
    assert!(screen.contains("a part is missing") && !screen.contains("residue "), "{screen}");
    assert!(!told(&whole).1.iter().any(|text| text.starts_with(says)));
}
