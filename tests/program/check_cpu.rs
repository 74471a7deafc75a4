//! Budgets of processor time: values are those of `cpu`.

use crate::check_faults::check;
use crate::program::out;
use serde_json::{Value, json};

const TRACE: &str = "stacks-keys.etl";

fn budget(name: &str, measure: &str, rest: &str) -> String {
    format!("[[budget]]\nname = \"{name}\"\nanalysis = \"cpu\"\nmeasure = \"{measure}\"\n{rest}\n")
}

fn rows(more: &[&str]) -> Vec<Value> {
    let json: Value =
        serde_json::from_str(&out(&[&["cpu", TRACE, "-q", "--format", "json"], more].concat())).expect("JSON");
    json["rows"].as_array().expect("rows").clone()
}

fn nanos(row: &Value, key: &str) -> u64 {
    row[key].as_u64().expect("a number")
}

#[test]
fn budgets_of_processor_time() {
    let by_function = rows(&["--group-by", "function", "--where", "process=!Idle (0)"]);
    let all: u64 = by_function.iter().map(|row| nanos(row, "cpu_ns")).sum();
    let known = by_function.iter().find(|row| row["function"].as_str().is_some_and(|name| name.starts_with("win32k")));
    let known = known.expect("a function");
    let (function, own) = (known["function"].as_str().expect("a text"), nanos(known, "cpu_ns"));
    let of_function = format!("where.function = \"{function}\"\nwatch = \"100 %\"\n");
    let text = [
        budget("all", "cpu_ms", &format!("max = \"{} ns\"", all + by_function.len() as u64)),
        budget("less", "cpu_ms", "max = \"0.001\""),
        budget("share", "cpu_ms", "where.module = \"win32k.sys\"\nmax = \"100 %\""),
        budget("function", "cpu_ms", &format!("{of_function}max = \"10 s\"")),
        budget("waits", "waiting_ms", "max = \"1 s\""),
        budget("nobody", "cpu_ms", "where.process = \"nobody.exe\"\nmax = \"1\""),
        budget("idle", "cpu_ms", "where.process = \"Idle*\"\nmax = \"0\""),
    ]
    .concat();
    let (_, results) = check(TRACE, &text);
    let of = |name: &str, key: &str| {
        results.iter().find(|result| result["name"] == name).map(|result| result[key].clone()).unwrap_or_default()
    };
    let ms = |name: &str| of(name, "value").as_f64().unwrap_or_else(|| panic!("{name}: {}", of(name, "reason")));
    // Rows are rounded down one by one, sums once.
    assert!((ms("all") - all as f64 / 1e6).abs() < 1e-4, "{} {all}", ms("all"));
    // As a condition a function is anywhere in the stack: as much as in its own row, or more.
    assert!(ms("function") >= own as f64 / 1e6 && ms("function") <= ms("all"), "{} {own}", ms("function"));
    assert_eq!((of("less", "verdict"), of("all", "unit")), (json!("fail"), json!("ms")));
    assert_eq!((of("nobody", "verdict"), of("idle", "verdict"), ms("idle")), (json!("no match"), json!("pass"), 0.0));
    assert!(of("function", "warnings").to_string().contains("have no stack"), "{}", of("function", "warnings"));
    // No context switch was recorded here, and nothing is known.
    let (code, results) = check("resident-small.etl", &text);
    assert!(code == 3 && results.iter().all(|result| result["verdict"] == "invalid"), "{results:?}");
}
