//! A [`Table`] as HTML: what text tables show, with the numbers by which the page sorts.

use crate::analysis::table::{Align, Line, Table};
use crate::answer::Units;
use crate::forms::cells::{for_table, heading, largest, number, shown, tells_unit};
use crate::forms::html::label::label;
use maud::{Markup, html};

/// The table below a caption.
pub fn table(caption: &str, table: &Table, units: Units) -> Markup {
    let units = for_table(units, table);
    let is_told = tells_unit(table) || largest(table) == 0;
    html! {
        div.scroll {
            table {
                caption { (caption) @if !is_told { ", sizes in " (units.size.title().trim_start_matches("Size/")) } }
                thead { tr {
                    @for column in &table.columns {
                        th scope="col" class=[(column.align == Align::Right).then_some("number")] {
                            (heading(column, units.size))
                        }
                    }
                } }
                tbody { @for row in &table.lines { (line(row, table, units)) } }
            }
        }
    }
}

fn line(line: &Line, table: &Table, units: Units) -> Markup {
    let is_number = |at: usize| table.columns.get(at).is_some_and(|column| column.align == Align::Right);
    html! {
        tr class=[line.ruled.then_some("total")] data-depth=(line.depth) {
            @for (at, cell) in line.cells.iter().enumerate() {
                @if at == 0 {
                    th scope="row" data-v=[number(cell)] { (label(&shown(cell, units))) }
                } @else {
                    td class=[is_number(at).then_some("number")] data-v=[number(cell)] { (label(&shown(cell, units))) }
                }
            }
        }
    }
}
