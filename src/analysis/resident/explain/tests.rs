//! The rules that are named must give what the judge gives, for every list, use, key and kind of address.

use super::rule;
use crate::analysis::resident::testing::{pages, with_scene};
use std::collections::BTreeSet;

#[test]
fn named_rules_give_what_the_judge_gives() {
    let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
    with_scene(4, |scene, hives| {
        for page in pages() {
            let verdict = scene.judge(&page);
            let corrected = rule::corrected(scene, hives, &page, &verdict);
            let wpa = rule::wpa(scene, &page, &verdict);
            assert_eq!(corrected.category, verdict.category, "{page:x?} by {}", corrected.rule.id);
            assert_eq!(wpa.category, verdict.wpa, "{page:x?} by {}", wpa.rule.id);
            ours.insert(corrected.rule.id);
            theirs.insert(wpa.rule.id);
        }
    });
    // The machine has a case for every rule; a rule without a case would be untested.
    let private = ["heap", "stack", "view.image", "view.file", "view.pagefile", "region", "none", "no_owner"];
    for id in private.map(|name| format!("private.{name}")) {
        assert!(ours.contains(id.as_str()), "{id}");
    }
    for id in ["heap", "stack", "region", "none"].map(|name| format!("wpa.{name}")) {
        assert!(theirs.contains(id.as_str()), "{id}");
    }
    for id in ["private.unknown_owner", "file.sys", "file.pf", "file.hive_by_place", "file.data", "file.unnamed"] {
        assert!(ours.contains(id), "{id}");
    }
    for id in ["system.pfn_database", "system.driver", "session.image", "list.transition", "list.unused", "list.bad"] {
        assert!(ours.contains(id), "{id}");
    }
    assert!(theirs.contains("metafile.hive_name"));
    assert_eq!(ours.iter().filter(|id| id.starts_with("use.")).count(), 16);
}
