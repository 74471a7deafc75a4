//! What one side leaves out must be left out of the other side too: else what was not looked at looks as if it were not there.

use crate::analysis::diff::compared_dimensions::Dimension;
use crate::analysis::diff::side::{Source, SourceContent};
use crate::analysis::table::{Condition, Dimension as _};
use crate::error::Error;
use crate::imported::selection::Chosen;
use crate::trace::trust::warning::{OF_TRACE, Warning};

/// Names of the sides with their places.
const SIDES: [(&str, usize); 2] = [("LEFT", 1), ("RIGHT", 0)];

/// Doubts about two files of which one leaves out what the other has.
///
/// # Errors
/// [`Error::Usage`] for a file beside a trace, which can be asked for the same.
pub fn differing(sides: [&Source; 2], conditions: &[Condition<Dimension>]) -> Result<Vec<Warning>, Error> {
    let mut warnings = Vec::new();
    for ((name, other), source) in SIDES.into_iter().zip(sides) {
        let (SourceContent::Pfnset(table), Some(other)) = (&source.content, sides.get(other)) else { continue };
        let mut tell = |text: String, advice: String| {
            if other.trace().is_some() {
                let path = source.path.display();
                return Err(Error::Usage(format!(
                    "{name} ({path}) {text}, and the trace beside it is whole: {advice}"
                )));
            }
            let text = format!("{name} {text}: what it leaves out looks as if it were not there");
            warnings.push(Warning::grave(OF_TRACE, "selections_differ", text));
            Ok(())
        };
        let is_asked = |dimension: &str, patterns: &str| other.is_chosen_by(dimension, patterns);
        if table.selection.chosen == Chosen::NotNamed {
            let text = "holds only a part of its pages, by conditions that it does not name".to_owned();
            tell(text, "write it again with this program".to_owned())?;
        }
        for by in table.selection.conditions() {
            let is_of_run = |own: &Condition<Dimension>| by.is_same(own.dimension.name(), &own.patterns.to_string());
            if !(conditions.iter().any(is_of_run) || is_asked(&by.dimension, &by.patterns)) {
                let condition = by.text();
                let advice =
                    format!("ask both sides, pfnset diff --where \"{condition}\", or write the file without it");
                tell(format!("holds only what meets {condition}"), advice)?;
            }
        }
        if let Some((start, stop)) = table.selection.window
            && other.window() != Some((start, stop))
        {
            let text = format!("is of a window that was chosen, {start:.3} s to {stop:.3} s");
            tell(text, "write the file of the whole scenario".to_owned())?;
        }
    }
    Ok(warnings)
}
