//! Which part of a trace the rows of a file of pfnset are, and what was wrong with that trace.
use crate::code_page::CodePage;
use crate::trace::trust::warning::{OF_TRACE, Warning, Warnings};

/// The conditions that chose the rows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The file cannot say it (CSV), or does not (a program of before said it nowhere, and its numbers do not tell).
    NotSaid,
    /// There were some, by the numbers of a file that does not name them.
    NotNamed,
    /// These; none: the rows are of all pages.
    By(Vec<ChosenBy>),
}

/// A condition that chose rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChosenBy {
    /// Name of the dimension.
    pub dimension: String,
    /// Patterns as they are written.
    pub patterns: String,
}

impl ChosenBy {
    /// True for a condition on the same dimension with the same patterns, in any order.
    pub fn is_same(&self, dimension: &str, patterns: &str) -> bool {
        let parts = |text: &str| {
            let mut parts: Vec<String> = text.split(';').map(|part| part.trim().to_lowercase()).collect();
            parts.sort();
            parts
        };
        self.dimension == dimension && parts(&self.patterns) == parts(patterns)
    }

    /// `process=chrome.exe`, as it is written.
    pub fn text(&self) -> String {
        format!("{}={}", self.dimension, self.patterns)
    }
}

/// A warning that was said when the file was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToldOnce {
    /// What it is.
    pub code: String,
    /// The same for people.
    pub text: String,
}

/// A part of a trace, and what is known of its numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selection {
    /// What chose the rows.
    pub chosen: Chosen,
    /// The window that a user chose for a reference set, seconds since trace start.
    pub window: Option<(f64, f64)>,
    /// The length of the scenario of a reference set, nanoseconds.
    pub span_ns: Option<u64>,
    /// Of the warnings those that make numbers wrong; `None`: the file does not say which.
    pub grave: Option<Vec<ToldOnce>>,
    /// The other warnings; of an older file none.
    pub notes: Vec<ToldOnce>,
    /// Keywords that its trace was recorded without; `None`: the file does not say it.
    pub missing_keywords: Option<Vec<String>>,
    /// The code page by which names of processes were read, where some needed one and the file says it.
    pub code_page: Option<CodePage>,
}

impl Default for Selection {
    fn default() -> Selection {
        Selection {
            chosen: Chosen::NotSaid,
            window: None,
            span_ns: None,
            grave: None,
            notes: Vec::new(),
            missing_keywords: None,
            code_page: None,
        }
    }
}

impl Selection {
    /// True when this condition chose the rows: all of them meet it.
    pub fn is_by(&self, dimension: &str, patterns: &str) -> bool {
        self.conditions().iter().any(|by| by.is_same(dimension, patterns))
    }

    /// The conditions that are known.
    pub fn conditions(&self) -> &[ChosenBy] {
        if let Chosen::By(conditions) = &self.chosen { conditions } else { &[] }
    }

    /// What was wrong when the file was written: what made its numbers doubtful, then the first of the other `warnings`.
    /// `says_it`: false for a form that has no place for either.
    pub fn warnings(&self, says_it: bool, warnings: &[String]) -> Warnings {
        const OTHERS: usize = 3;
        const CODE: &str = "written_of_doubtful_trace";
        let told = |text: &String| format!("when it was written: {text}");
        let mut all = Warnings::default();
        // A program of before named all warnings alike: the first are the worst.
        let grave: Vec<&String> = match &self.grave {
            Some(grave) => grave.iter().map(|warning| &warning.text).collect(),
            None => warnings.iter().take(OTHERS).collect(),
        };
        all.extend(grave.iter().map(|text| Warning::grave(OF_TRACE, CODE, told(text))));
        let others = warnings.iter().filter(|text| !grave.contains(text)).take(OTHERS);
        all.extend(others.map(|text| Warning::note(OF_TRACE, "written_with_warning", told(text))));
        if !says_it {
            let text =
                "CSV says neither which conditions chose its rows nor what was wrong with its trace; JSON says both";
            all.push(Warning::note(OF_TRACE, "csv_says_less", text.to_owned()));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_the_same_in_any_order() {
        let by = ChosenBy { dimension: "process".into(), patterns: "A.exe;!b*".into() };
        assert!(
            by.is_same("process", "!b*; a.exe") && !by.is_same("process", "a.exe") && !by.is_same("file", "A.exe;!b*")
        );
    }

    #[test]
    fn what_an_older_file_warns_of_is_grave() {
        let warnings = ["a", "b", "c", "d"].map(str::to_owned);
        let told = |grave: Option<&[&str]>| {
            let coded = |text: &&str| ToldOnce { code: String::new(), text: (*text).to_owned() };
            let grave = grave.map(|grave| grave.iter().map(coded).collect());
            let doubts = Selection { grave, ..Selection::default() }.warnings(true, &warnings);
            doubts.iter().map(|doubt| doubt.is_grave).collect::<Vec<_>>()
        };
        assert_eq!(told(None), [true, true, true, false]);
        assert_eq!(told(Some(&["d"])), [true, false, false, false]);
        assert_eq!(told(Some(&[])), [false, false, false]);
    }
}
