//! A part of the page: for each trace what was found, or why there is nothing.

use crate::analysis::report::{Overview, Part};
use crate::analysis::table::Table;
use crate::answer::Units;
use crate::escape::visible;
use crate::forms::html::tables;
use crate::forms::html::trace_page::TracePage;
use maud::{Markup, html};

/// A part of the page: of each trace its pictures, or the line that says what to record.
pub fn part<'o, T: 'o>(
    traces: &'o [TracePage<'o>],
    (id, title): (&str, &str),
    of: impl Fn(&'o Overview) -> &'o Part<T>,
    show: impl Fn(usize, &T) -> Markup,
) -> Markup {
    html! {
        section #(id) {
            h2 { (title) }
            div.panels {
                @for (number, trace) in traces.iter().enumerate() {
                    article {
                        @if traces.len() > 1 { h3.which { (trace.name) } }
                        @match of(trace.overview) {
                            Ok(found) => { (show(number, found)) }
                            Err(line) => { p.unrecorded { "Not shown: " (visible(line)) } }
                        }
                    }
                }
            }
        }
    }
}

/// A table that can be opened.
pub fn numbers_of(title: &str, table: &Table) -> Markup {
    html! {
        details { summary { "Numbers: " (title) } (tables::table(title, table, Units::default())) }
    }
}
