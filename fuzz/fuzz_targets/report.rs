//! The page of `pfnset report` of any file: pictures add up, no text of the file gets out of its place, and none hides or steers there.
//!
//! Input: the bytes of the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pfnset::trace::Trace;
use pfnset::unstable_api::HtmlReport;
use pfnset::unstable_api::Overview;
use pfnset::unstable_api::Tile;
use std::path::Path;

#[path = "../every_form.rs"]
mod every_form;
#[path = "../scratch_file.rs"]
mod scratch_file;

fuzz_target!(|data: &[u8]| scratch_file::open(data).iter().for_each(report));

fn report(trace: &Trace) {
    let overview = Overview::answer(trace);
    if let Ok(resident) = &overview.resident {
        let snapshot = resident.snapshot().expect("the snapshot that was counted");
        assert!(adds_up(&resident.treemap) && resident.treemap.pages == snapshot.pages);
        let by_class = resident.by_class();
        assert_eq!(by_class.iter().map(|(_, pages, _)| pages).sum::<u64>(), snapshot.pages);
        assert_eq!(by_class.iter().map(|(.., wpa)| wpa).sum::<u64>(), snapshot.pages);
        assert_eq!(resident.pfn_map.by_list.iter().map(|(_, share)| share.pages).sum::<u64>(), snapshot.pages);
    }
    let mut page = Vec::new();
    let name = format!("</script>{}", every_form::NAME);
    let report = HtmlReport::new([(vec![Path::new(&name)], &overview)].into_iter(), &[]);
    report.write(&mut page).expect("room in memory");
    let page = String::from_utf8(page).expect("UTF-8");
    // The data, the library, the page's own script.
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (3, 3));
    assert!(page.len() < 6 << 20, "{} bytes", page.len());
    let (before, rest) = page.split_once("<script>").expect("the library");
    let (_, after) = rest.split_once("</script>").expect("its end");
    every_form::harmless([before, after].concat().into());
}

/// Sums of tiles are those of their parts.
fn adds_up(tile: &Tile) -> bool {
    let parts = tile.parts.iter().map(|part| part.pages).sum::<u64>();
    tile.parts.is_empty() || tile.pages == parts && tile.parts.iter().all(adds_up)
}
