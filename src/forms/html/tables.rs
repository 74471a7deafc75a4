//! A [`Table`] as HTML: what text tables show, with the numbers by which the page sorts.

use crate::analysis::table::{Align, Line, Table};
use crate::answer::Units;
use crate::forms::cells::{for_table, heading, largest, number, shown, tells_unit};
use crate::forms::html::label::label;
use maud::{Markup, html};

/// The table below a caption.
pub fn table(caption: &str, table: &Table, units: Units) -> Markup {
    linked(caption, table, units, &[])
}

/// The same; the labels of its lines are links to these parts of the page.
pub fn linked(caption: &str, table: &Table, units: Units, links: &[String]) -> Markup {
    let units = for_table(units, table);
    let is_told = tells_unit(table) || largest(table) == 0;
    html! {
        div.scroll {
            table {
                caption { (caption) @if !is_told { ", sizes in " (units.size.name()) } }
                thead { tr {
                    @for column in &table.columns {
                        th scope="col" class=[(column.align == Align::Right).then_some("number")] {
                            (heading(column, units.size))
                        }
                    }
                } }
                tbody { @for (at, row) in table.lines.iter().enumerate() { (line(row, table, units, links.get(at))) } }
            }
        }
    }
}

fn line(line: &Line, table: &Table, units: Units, link: Option<&String>) -> Markup {
    let is_number = |at: usize| table.columns.get(at).is_some_and(|column| column.align == Align::Right);
    html! {
        tr class=[line.ruled.then_some("total")] data-depth=(line.depth) {
            @for (at, cell) in line.cells.iter().enumerate() {
                @if at == 0 {
                    th scope="row" data-v=[number(cell)] {
                        @let text = label(&shown(cell, units));
                        @match link { Some(link) => { a href={ "#" (link) } { (text) } }, None => { (text) } }
                    }
                } @else {
                    td class=[is_number(at).then_some("number")] data-v=[number(cell)] { (label(&shown(cell, units))) }
                }
            }
        }
    }
}
