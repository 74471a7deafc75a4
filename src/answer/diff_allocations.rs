//! The answer of `pfnset diff --allocations`. Wire format: docs/json.md, schema `pfnset.diff_allocations`.

use crate::analysis::diff::allocations::{AllocationDiff, AllocationMeasure, AllocationSide, AllocationSums};
use crate::analysis::diff::comparison::Amounts as _;
use crate::answer::allocations::what;
use crate::answer::answer_type::{Answer, Units, name_of_files};
use crate::answer::comparison::{Compared, ListedRows, compared_rows, equal, held, within_tolerance};
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers::{self, Unit};
use crate::units::counted;

/// The answer of `pfnset diff --allocations`.
pub fn answer(diff: &AllocationDiff, unit: Unit, listed: ListedRows) -> Answer<'_> {
    let largest = diff.sums().map(|sums| sums.amount(diff.measure).unsigned_abs()).into_iter().max();
    let unit = unit.for_largest(u64::try_from(largest.unwrap_or(0)).unwrap_or(u64::MAX));
    let lines = Compared {
        sides: sides(diff),
        verdict: verdict(diff),
        title: title(diff, unit),
        not_listed: listed.not_listed(diff.compared.rows.len()),
        note: None,
    };
    lines
        .around(Answer {
            warnings: diff.warnings.clone(),
            facts: facts(diff),
            tables: vec![diff.table(listed.most()).into()],
            units: Units { size: unit, ..Units::default() },
            ..Answer::new("pfnset.diff_allocations")
        })
        .chosen_by(&diff.compared.filter)
}

fn facts(diff: &AllocationDiff) -> Facts<'_> {
    let [left, right] = diff.sides.each_ref().map(|side| {
        let at_start = Facts::of_numbers(&side.set.at_start);
        let facts = Facts::default()
            .is("path", side.files.first().map(|path| path.display().to_string()))
            .files(&side.files)
            .is("window_s", side.length().seconds())
            .has("at_start", Fact::Object(at_start));
        Fact::Object(facts)
    });
    let facts = Facts::default()
        .has("warnings", Fact::Warnings)
        .has("left", left)
        .has("right", right)
        .is("of", diff.of.name())
        .is("measure", diff.measure.name())
        .filter(&diff.compared.filter)
        .group_by(&diff.dimensions);
    let total = Facts::of_values(diff.total_values());
    compared_rows(facts, &diff.compared, diff.compared.is_equal(), Some(total), |rows| diff.table_of(rows))
        .doubts(&diff.warnings)
}

/// `LEFT   trace.etl: 62.42 MiB at the end (297 pieces), growth 59.33 MiB, peak 80.00 MiB, in 12.345 s`.
fn sides(diff: &AllocationDiff) -> [String; 2] {
    let side = |name: &str, side: &AllocationSide, sums: AllocationSums| {
        format!(
            "{name:<5}  {}: {} at the end ({}), growth {}, peak {}, in {:.3} s",
            name_of_files(&side.files),
            amount(sums.outstanding),
            counted(sums.pieces, "piece", "pieces"),
            amount(sums.growth),
            amount(sums.peak),
            side.length().seconds(),
        )
    };
    let ([left, right], [left_sums, right_sums]) = (&diff.sides, diff.sums());
    [side("LEFT", left, left_sums), side("RIGHT", right, right_sums)]
}

fn amount(bytes: i128) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    format!("{sign}{}", numbers::bytes(u64::try_from(bytes.unsigned_abs()).unwrap_or(u64::MAX)))
}

const fn measured(measure: AllocationMeasure) -> &'static str {
    match measure {
        AllocationMeasure::Outstanding => "at the end",
        AllocationMeasure::Growth => "growth",
        AllocationMeasure::Peak => "peak",
    }
}

/// `Commit, at the end; sizes in MiB`.
fn title(diff: &AllocationDiff, unit: Unit) -> String {
    format!("{}, {}; sizes in {}", what(diff.of), measured(diff.measure), unit.name())
}

/// Whether the sides agree, and in what not.
fn verdict(diff: &AllocationDiff) -> String {
    let compared = &diff.compared;
    let rows = counted(compared.all.rows, "row", "rows");
    let within = within_tolerance(compared.within.rows);
    if let Some(text) = compared.no_match() {
        return text.into();
    }
    let measure = measured(diff.measure);
    let [left, right] = diff.sums().map(|sums| sums.amount(diff.measure));
    if compared.is_equal() {
        let all = equal(compared.within.rows);
        let sides = [left, right].map(amount);
        return format!("{all}: {rows}, {} {measure}{within}", held(sides));
    }
    let total = match right.saturating_sub(left) {
        0 => "the totals agree".to_owned(),
        more if more > 0 => format!("RIGHT has {} more {measure}", amount(more)),
        less => format!("LEFT has {} more {measure}", amount(less.saturating_neg())),
    };
    format!("Different: {} of {rows}; {total}{within}", numbers::count(compared.differing().count() as u64))
}
