//! `pfnset check --junit` by the rules of the schema that build servers use (that of Jenkins and Ant): which elements stand in
//! which, in what order, with which attributes, and of what type.

use crate::program::{finish, fixtures, pfnset};
use roxmltree::{Document, Node};

#[derive(Debug, Clone, Copy)]
enum Type {
    Text,
    Count,
    Seconds,
    DateTime,
}

/// An element: attributes that must be there, those that may, and the elements in it in their order (`true`: any number).
struct Rule {
    name: &'static str,
    required: &'static [(&'static str, Type)],
    optional: &'static [(&'static str, Type)],
    /// Groups in this order; the elements of a group stand in any order.
    children: &'static [(&'static [&'static str], bool)],
    has_text: bool,
}

use Type::{Count, DateTime, Seconds, Text};

const RULES: [Rule; 10] = [
    Rule {
        name: "testsuites",
        required: &[],
        optional: &[
            ("name", Text),
            ("time", Seconds),
            ("tests", Count),
            ("failures", Count),
            ("disabled", Count),
            ("errors", Count),
        ],
        children: &[(&["testsuite"], true)],
        has_text: false,
    },
    Rule {
        name: "testsuite",
        required: &[("name", Text), ("tests", Count)],
        optional: &[
            ("failures", Count),
            ("errors", Count),
            ("time", Seconds),
            ("disabled", Count),
            ("skipped", Count),
            ("timestamp", DateTime),
            ("hostname", Text),
            ("id", Text),
            ("package", Text),
        ],
        children: &[
            (&["properties"], false),
            (&["testcase"], true),
            (&["system-out"], false),
            (&["system-err"], false),
        ],
        has_text: false,
    },
    Rule { name: "properties", required: &[], optional: &[], children: &[(&["property"], true)], has_text: false },
    Rule {
        name: "property",
        required: &[("name", Text), ("value", Text)],
        optional: &[],
        children: &[],
        has_text: false,
    },
    Rule {
        name: "testcase",
        required: &[("name", Text)],
        optional: &[("assertions", Count), ("time", Seconds), ("classname", Text), ("status", Text)],
        children: &[(&["skipped", "error", "failure"], false), (&["system-out"], true), (&["system-err"], true)],
        has_text: false,
    },
    Rule { name: "skipped", required: &[], optional: &[("message", Text)], children: &[], has_text: true },
    Rule {
        name: "error",
        required: &[],
        optional: &[("message", Text), ("type", Text)],
        children: &[],
        has_text: true,
    },
    Rule {
        name: "failure",
        required: &[],
        optional: &[("message", Text), ("type", Text)],
        children: &[],
        has_text: true,
    },
    Rule { name: "system-out", required: &[], optional: &[], children: &[], has_text: true },
    Rule { name: "system-err", required: &[], optional: &[], children: &[], has_text: true },
];

fn is_of(kind: Type, value: &str) -> bool {
    match kind {
        Text => true,
        Count => value.parse::<u32>().is_ok(),
        Seconds => value.parse::<f64>().is_ok_and(|seconds| seconds >= 0.0),
        DateTime => value.len() >= 19 && value.as_bytes()[10] == b'T',
    }
}

/// What is wrong with an element and those in it.
fn faults(node: Node<'_, '_>) -> Vec<String> {
    let name = node.tag_name().name();
    let Some(rule) = RULES.iter().find(|rule| rule.name == name) else { return vec![format!("no element is {name}")] };
    let mut faults = Vec::new();
    for (attribute, _) in rule.required.iter().filter(|(attribute, _)| node.attribute(*attribute).is_none()) {
        faults.push(format!("{name} has no {attribute}"));
    }
    for attribute in node.attributes() {
        let known = rule.required.iter().chain(rule.optional).find(|(known, _)| *known == attribute.name());
        if known.is_none_or(|(_, kind)| !is_of(*kind, attribute.value())) {
            faults.push(format!("{name} has {}={:?}", attribute.name(), attribute.value()));
        }
    }
    let mut counts = vec![0; rule.children.len()];
    let mut reached = 0;
    for child in node.children() {
        if child.is_text() && !rule.has_text && !child.text().unwrap_or_default().trim().is_empty() {
            faults.push(format!("{name} has text"));
        }
        if !child.is_element() {
            continue;
        }
        let tag = child.tag_name().name();
        match rule.children.iter().position(|(group, _)| group.contains(&tag)) {
            Some(place) if place >= reached && (rule.children[place].1 || counts[place] == 0) => {
                (reached, counts[place]) = (place, counts[place] + 1);
            }
            _ => faults.push(format!("{tag} stands in {name} at the wrong place, or twice")),
        }
        faults.extend(self::faults(child));
    }
    // The counters say what is there.
    let of = |tag: &str| node.descendants().filter(|other| other.has_tag_name(tag)).count().to_string();
    for (attribute, tag) in
        [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
    {
        if node.attribute(attribute).is_some_and(|told| told != of(tag)) {
            faults.push(format!("{name} tells {attribute}, and has {} {tag}", of(tag)));
        }
    }
    faults
}

fn all_faults(xml: &str) -> Vec<String> {
    match Document::parse(xml) {
        Ok(document) if !document.root_element().has_tag_name("testsuites") => vec!["another root".into()],
        Ok(document) => faults(document.root_element()),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn verdicts_are_valid_junit() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixtures().join("resident-small.etl")).unwrap();
    std::fs::write(folder.path().join("a<&\">é.etl"), &whole).unwrap();
    std::fs::write(folder.path().join("cut.etl"), &whole[..200_000]).unwrap();
    // Pass, watch and fail, with names that XML must escape; all are invalid for the cut trace.
    let budgets = "[[budget]]\nname = \"<a> & \\\"b\\\" ]]> \\u0001\"\nmax = \"100 %\"\nwatch = \"100 %\"\n\
                   [[budget]]\nname = \"near\"\nwhere = { class = \"File\" }\nmax = \"1400 pages\"\n\
                   [[budget]]\nname = \"far\"\nwhere = { process = \"!<*\" }\nmax = \"1 page\"\n";
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    let line = ["check", "a<&\">é.etl", "cut.etl", "none.etl", "--budgets", "budgets.toml", "--junit", "out.xml", "-q"];
    let ran = finish(pfnset(&line).current_dir(folder.path()));
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert_eq!(all_faults(&xml), [""; 0], "{xml}");
    let document = Document::parse(&xml).unwrap();
    let of = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).collect::<Vec<_>>();
    let names: Vec<_> = of("testsuite").iter().map(|suite| suite.attribute("name").unwrap()).collect();
    assert_eq!(names, ["a<&\">é.etl", "cut.etl", "none.etl"]);
    assert_eq!(["testcase", "failure", "error", "system-out"].map(|tag| of(tag).len()), [9, 1, 6, 3], "{xml}");
    assert!(of("failure")[0].text().unwrap().contains("its largest parts"), "{xml}");
}

/// What makes verdicts doubtful reaches those who read only this file.
#[test]
fn warnings_are_in_junit() {
    let folder = tempfile::tempdir().unwrap();
    let mut lossy = std::fs::read(fixtures().join("refset-small.etl")).unwrap();
    lossy.drain(8 * 0x1_0000..9 * 0x1_0000);
    std::fs::write(folder.path().join("lossy.etl"), lossy).unwrap();
    let budget =
        |name: &str, rest: &str| format!("[[budget]]\nname = \"{name}\"\nmax = \"100 %\"\nwhere.process = {rest}\n");
    let budgets = budget("one", "\"csrss*;nobody*\"") + &budget("two", "\"nobody*\"");
    let budgets = budgets + &budget("three", "\"nobody*\"\noptional = true");
    std::fs::write(folder.path().join("budgets.toml"), budgets).unwrap();
    let line = ["check", "lossy.etl", "--budgets", "budgets.toml", "--junit", "out.xml", "-q"];
    let ran = finish(pfnset(&line).current_dir(folder.path()));
    assert_eq!(ran.code, 1, "{} {}", ran.out, ran.err);
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert_eq!(all_faults(&xml), [""; 0], "{xml}");
    let document = Document::parse(&xml).unwrap();
    let of = |tag: &str| document.descendants().find(|node| node.has_tag_name(tag)).unwrap();
    assert!(of("system-out").text().unwrap().contains("warning: process \"nobody*\" matches nothing"), "{xml}");
    assert!(of("system-err").text().unwrap().contains("warning: "), "{xml}");
    assert_eq!(of("failure").attribute("type"), Some("no match"), "{xml}");
    assert_eq!(of("failure").attribute("message"), Some("two: process \"nobody*\" matches nothing"), "{xml}");
    assert!(of("skipped").attribute("message").unwrap().ends_with("the budget is optional"), "{xml}");
}

/// Of a budget that nothing matches only the reason was there.
#[test]
fn other_warnings_of_what_matches_nothing_are_in_junit() {
    let folder = tempfile::tempdir().unwrap();
    let budget = "[[budget]]\nname = \"one\"\nanalysis = \"commit\"\nmax = \"1 GiB\"\nwhere.process = \"nobody.exe\"\n";
    std::fs::write(folder.path().join("budgets.toml"), budget).unwrap();
    let trace = fixtures().join("stacks-keys.etl");
    let line = ["check", trace.to_str().unwrap(), "--budgets", "budgets.toml", "--junit", "out.xml", "-q"];
    finish(pfnset(&line).current_dir(folder.path()));
    let xml = std::fs::read_to_string(folder.path().join("out.xml")).unwrap();
    assert_eq!(all_faults(&xml), [""; 0], "{xml}");
    let document = Document::parse(&xml).unwrap();
    let of = |tag: &str| document.descendants().find(|node| node.has_tag_name(tag)).and_then(|node| node.text());
    assert_eq!(of("system-out"), Some("warning: the trace has no end rundown to compare its commit with"), "{xml}");
    assert_eq!(of("failure"), Some("one: process \"nobody.exe\" matches nothing"), "{xml}");
}

/// The test of the test.
#[test]
fn what_the_schema_forbids_is_found() {
    let case = "<testcase name=\"c\"/>";
    let suite = |head: &str, inside: &str| format!("<testsuites><testsuite {head}>{inside}</testsuite></testsuites>");
    assert_eq!(all_faults(&suite("name=\"s\" tests=\"1\"", case)), [""; 0]);
    for xml in [
        suite("tests=\"1\"", case),
        suite("name=\"s\" tests=\"2\"", case),
        suite("name=\"s\" tests=\"-1\"", case),
        suite("name=\"s\" tests=\"1\" colour=\"red\"", case),
        suite("name=\"s\" tests=\"1\"", "<testcase/>"),
        suite("name=\"s\" tests=\"1\"", &format!("<system-out/>{case}")),
        suite("name=\"s\" tests=\"1\"", "<testcase name=\"c\"><failure/><error/></testcase>"),
        suite("name=\"s\" tests=\"1\" errors=\"0\"", "<testcase name=\"c\"><error/></testcase>"),
        suite("name=\"s\" tests=\"1\"", &format!("text {case}")),
        suite("name=\"s\" tests=\"1\" time=\"long\"", case),
        "<testsuite name=\"s\" tests=\"0\"/>".into(),
        "<testsuites>".into(),
    ] {
        assert!(!all_faults(&xml).is_empty(), "{xml}");
    }
}
