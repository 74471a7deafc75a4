//! A [`Table`] as HTML: what text tables show, with the numbers by which the page sorts.

use crate::analysis::table::{Align, Line, Table};
use crate::report::table::{heading, largest, number, shown};
use crate::report::text::{Unit, label};
use maud::{Markup, html};

/// The table below a caption.
pub fn table(caption: &str, table: &Table, unit: Unit) -> Markup {
    let unit = unit.for_largest(largest(table));
    // A column without a title of its own has the unit in its heading.
    let is_told = table.columns.iter().any(|column| column.title.is_empty()) || largest(table) == 0;
    html! {
        div.scroll {
            table {
                caption { (caption) @if !is_told { ", sizes in " (unit.title().trim_start_matches("Size/")) } }
                thead { tr {
                    @for column in &table.columns {
                        th scope="col" class=[(column.align == Align::Right).then_some("number")] {
                            (heading(&column.title, column.align, unit))
                        }
                    }
                } }
                tbody { @for row in &table.lines { (line(row, table, unit)) } }
            }
        }
    }
}

fn line(line: &Line, table: &Table, unit: Unit) -> Markup {
    let is_number = |at: usize| table.columns.get(at).is_some_and(|column| column.align == Align::Right);
    html! {
        tr class=[line.ruled.then_some("total")] data-depth=(line.depth) {
            @for (at, cell) in line.cells.iter().enumerate() {
                @if at == 0 {
                    th scope="row" data-v=[number(cell)] { (label(&shown(cell, unit))) }
                } @else {
                    td class=[is_number(at).then_some("number")] data-v=[number(cell)] { (label(&shown(cell, unit))) }
                }
            }
        }
    }
}
