//! What is wrong with a trace or with an analysis of it. Each analysis judges in one place, and all commands show its words.

/// The name of warnings about the file and its recording, whatever is analyzed.
pub(crate) const OF_TRACE: &str = "trace";

/// All codes, and whether they make numbers wrong. docs/export.md says what each means.
const CODES: &[(&str, bool)] = &[
    // The file and its recording.
    ("data_lost", true),
    ("file_cut", true),
    ("file_damaged", true),
    ("several_recordings", true),
    ("clock_impossible", true),
    ("end_before_start", true),
    ("times_beyond_end", true),
    ("times_far_from_end", true),
    ("times_before_start", true),
    ("processor_impossible", true),
    ("pointer_size_differs", true),
    ("buffers_repeated", true),
    ("buffers_too_many", true),
    ("files_shifted", true),
    ("events_in_two_files", true),
    ("loss_unknown", true),
    ("buffers_missing", false),
    ("buffers_advice", false),
    ("records_misfit", false),
    ("times_short_of_end", false),
    ("some_records_before_start", false),
    ("kept_unevenly", false),
    ("unusual_file", false),
    ("events_at_size_limit", false),
    // Any analysis.
    ("not_recorded", false),
    ("labels_unknown", false),
    ("not_left", false),
    ("heaps_not_recorded", false),
    ("records_left_out", false),
    ("responses_too_long", false),
    // Pages of RAM.
    ("sequence_lost_buffers", true),
    ("sequence_gaps", true),
    ("sequence_duplicates", true),
    ("sequence_too_few", true),
    ("pfns_impossible", true),
    ("lists_differ", true),
    ("combined_pages_differ", true),
    ("pfn_database_differs", true),
    ("rundown_disagrees", true),
    ("keys_name_no_process", true),
    ("files_unnamed", true),
    ("some_files_unnamed", false),
    ("heaps_missing", true),
    ("some_heaps_missing", false),
    ("heaps_after_pages", false),
    ("addresses_missing", true),
    ("drivers_unknown", false),
    ("sequence_broken", true),
    ("sequence_fragments", false),
    ("records_like_pages", false),
    ("records_repeated", false),
    ("rundown_missing", true),
    ("rundown_incomplete", true),
    ("end_rundown_missing", false),
    ("process_ends_missing", true),
    ("processes_before_start", false),
    ("some_process_ends_missing", false),
    ("process_starts_missing", true),
    ("some_process_starts_missing", false),
    ("file_name_records_missing", true),
    ("thread_starts_missing", true),
    ("some_thread_starts_missing", false),
    ("thread_end_records_missing", true),
    ("some_thread_end_records_missing", false),
    ("thread_process_differs", true),
    ("records_unread", true),
    ("things_unknown", false),
    ("pfn_database_unknown", false),
    ("lists_unchecked", false),
    ("keys_read_otherwise", false),
    // The reference set.
    ("no_trims", true),
    ("accesses_unattributed", true),
    ("accesses_missing", true),
    ("accesses_unrecorded", false),
    ("outside_chosen", false),
    ("not_emptied", false),
    ("residue", true),
    ("nothing_matches", true),
    ("uses_differ", true),
    ("releases_missing", true),
    ("some_releases_missing", false),
    ("working_sets_differ", true),
    ("no_marks", false),
    ("no_start_mark", false),
    ("no_stop_mark", false),
    ("later_stops", false),
    ("later_scenarios", false),
    ("starts_inside", false),
    ("outside_unmatched", false),
    ("unproved", false),
    // Faults.
    ("waits_unknown", true),
    ("some_waits_unknown", false),
    ("waits_overlap", true),
    ("requests_unmatched", true),
    ("some_requests_unmatched", false),
    ("responses_differ", true),
    // Memory over time.
    ("counters_fell", true),
    ("lists_exceed_memory", true),
    ("memory_samples_missing", false),
    // Processors.
    ("switches_broken", true),
    ("window_beyond_switches", true),
    ("wakeups_missing", true),
    ("readied_unknown", true),
    ("readied_before_switches", false),
    ("thread_ends_missing", false),
    ("processes_unknown", true),
    ("some_processes_unknown", false),
    ("by_samples", false),
    ("samples_beyond_window", true),
    ("samples_beyond_short_window", false),
    ("samples_missing", true),
    ("some_samples_missing", false),
    ("processors_unsampled", false),
    ("interval_assumed", false),
    ("processors_silent", false),
    ("threads_unknown", false),
    ("processors_unknown", false),
    ("interrupts_unknown", true),
    ("switches_at_ends", true),
    ("switches_missing", true),
    ("window_before_switches", true),
    ("window_empty", true),
    ("stack_keys_missing", true),
    ("interrupts_after_end", false),
    ("interrupts_before_trace", false),
    ("interrupts_over_switches", false),
    ("interrupts_overlap", false),
    ("interrupts_missing", false),
    ("time_went_back", false),
    // Allocations.
    ("no_stacks", false),
    ("stacks_incomplete", false),
    ("builds_mixed", false),
    ("frees_estimated", false),
    ("symbols_missing", false),
    ("frees_not_recorded", true),
    ("frees_missing", true),
    ("allocated_again", false),
    ("allocations_missing", true),
    ("freed_again", false),
    ("frees_lost", false),
    ("frees_undated", false),
    ("differs_from_rundown", false),
    ("far_from_rundown", true),
    ("frees_differ", true),
    ("snapshot_impossible", true),
    // A window that the recording does not fill.
    ("window_beyond_recording", false),
    ("marks_repeated", false),
    ("records_before_start", true),
    ("unknown", false),
    ("start_unknown", false),
    // Processes.
    ("processes_undescribed", false),
    ("in_no_sum", false),
    ("in_no_row", false),
    // Rows of events.
    ("unreadable_manifest", false),
    // Sides of a comparison and baselines.
    ("written_of_doubtful_trace", true),
    ("selections_differ", true),
    ("last_snapshot_guessed", true),
    ("written_with_warning", false),
    ("csv_says_less", false),
    ("baseline_unused", false),
    ("machine_differs", false),
    ("build_differs", false),
    ("sizes_differ", true),
    ("amounts_missing", true),
    ("categories_unknown", true),
    ("total_differs", true),
    ("sums_left_out", false),
    ("column_by_content", false),
    ("rules_differ", false),
    ("processes_renamed", false),
    ("lengths_differ", false),
    ("code_pages_differ", false),
    ("recorded_together", true),
    ("weights_unknown", false),
    ("snapshots_apart", false),
    ("rows_repeated", false),
    ("addresses_differ", false),
    // Budgets.
    ("budget", false),
];

/// Something that a reader of the numbers has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// Which analysis it concerns, by its name in JSON (`resident_set`, …), or [`OF_TRACE`].
    pub analysis: &'static str,
    /// What it is, for programs: the same for all traces and in all versions.
    pub code: &'static str,
    /// The same for people, in a line.
    pub text: String,
    /// How many there are of what it counts.
    pub amount: Option<u64>,
    /// True when numbers can be wrong. False for what is only good to know: what was not recorded, or was put right.
    pub is_grave: bool,
}

impl Warning {
    fn new(analysis: &'static str, code: &'static str, text: String, is_grave: bool) -> Warning {
        debug_assert!(CODES.contains(&(code, is_grave)), "{code} is not among the codes, or not with {is_grave}");
        Warning { analysis, code, text, amount: None, is_grave }
    }

    /// Numbers can be wrong.
    pub(crate) fn grave(analysis: &'static str, code: &'static str, text: String) -> Warning {
        Warning::new(analysis, code, text, true)
    }

    /// Numbers are as they are said to be.
    pub(crate) fn note(analysis: &'static str, code: &'static str, text: String) -> Warning {
        Warning::new(analysis, code, text, false)
    }

    /// True for one with one of these codes.
    pub(crate) fn is_of(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code)
    }

    /// The same with the number that it counts.
    pub(crate) fn of(self, amount: u64) -> Warning {
        Warning { amount: Some(amount), ..self }
    }

    /// The same with a name before its text.
    pub(crate) fn named(self, name: &str) -> Warning {
        Warning { text: format!("{name}: {}", self.text), ..self }
    }
}

/// Names processors without a context switch, if there are any.
pub(crate) fn no_switches_of(processors: impl Iterator<Item = u32>) -> Option<String> {
    let numbers: Vec<String> = processors.map(|number| number.to_string()).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    (!numbers.is_empty()).then(|| format!("no context switch of processor{plural} {}", numbers.join(", ")))
}

/// What the search for symbols did not find.
pub(crate) fn symbols_missing(
    analysis: &'static str,
    told: impl IntoIterator<Item = String>,
) -> impl Iterator<Item = Warning> {
    told.into_iter().map(move |text| Warning::note(analysis, "symbols_missing", text))
}

/// More records are missing than are there, and not a single one.
pub(crate) fn are_most(missing: u64, there: u64) -> bool {
    missing > there.max(1)
}

/// That records are missing, of which others are there: with the first code where more are missing, with the second from a quarter on. A few
/// are always of what began or ended before or after the recording.
pub(crate) fn records_missing(
    analysis: &'static str,
    [most, some]: [&'static str; 2],
    (missing, there): (u64, u64),
    text: String,
) -> Option<Warning> {
    let warning = match are_most(missing, there) {
        true => Warning::grave(analysis, most, text),
        false => Warning::note(analysis, some, text),
    };
    (missing.saturating_mul(4) > there).then(|| warning.of(missing))
}

/// What a reader of numbers has to know, most important first. Each result has one, and all that a form shows of trust comes from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// True when numbers can be wrong: data was lost, the file is damaged, or the numbers do not agree.
    pub fn is_doubtful(&self) -> bool {
        self.0.iter().any(|warning| warning.is_grave)
    }

    /// A line for people of each.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|warning| warning.text.clone()).collect()
    }

    /// Those that can make numbers wrong.
    pub(crate) fn grave(&self) -> Warnings {
        self.0.iter().filter(|warning| warning.is_grave).cloned().collect()
    }

    /// The same with a name before each text.
    pub(crate) fn named(self, name: &str) -> Warnings {
        self.0.into_iter().map(|warning| warning.named(name)).collect()
    }

    /// Adds one.
    pub(crate) fn push(&mut self, warning: Warning) {
        self.0.push(warning);
    }

    /// True when one of them says this.
    pub(crate) fn say(&self, text: &str) -> bool {
        self.0.iter().any(|warning| warning.text == text)
    }

    /// Leaves out those that are not wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl FnMut(&Warning) -> bool) {
        self.0.retain(is_wanted);
    }

    /// Adds those whose text is not there yet: several analyses can say the same.
    pub(crate) fn add(&mut self, more: impl IntoIterator<Item = Warning>) {
        for warning in more {
            if !self.say(&warning.text) {
                self.0.push(warning);
            }
        }
    }
}

impl std::ops::Deref for Warnings {
    type Target = [Warning];

    fn deref(&self) -> &[Warning] {
        &self.0
    }
}

impl From<Vec<Warning>> for Warnings {
    fn from(warnings: Vec<Warning>) -> Warnings {
        Warnings(warnings)
    }
}

impl FromIterator<Warning> for Warnings {
    fn from_iter<I: IntoIterator<Item = Warning>>(warnings: I) -> Warnings {
        Warnings(warnings.into_iter().collect())
    }
}

impl Extend<Warning> for Warnings {
    fn extend<I: IntoIterator<Item = Warning>>(&mut self, warnings: I) {
        self.0.extend(warnings);
    }
}

impl IntoIterator for Warnings {
    type Item = Warning;
    type IntoIter = std::vec::IntoIter<Warning>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'w> IntoIterator for &'w Warnings {
    type Item = &'w Warning;
    type IntoIter = std::slice::Iter<'w, Warning>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Rows of the table of codes in docs/export.md: `| `code` | yes | … |`.
    #[test]
    fn the_codes_of_the_documentation_are_those_of_the_program() {
        let docs = include_str!("../../../docs/export.md");
        let (_, table) = docs.split_once("| code | makes doubtful |").expect("the table of codes");
        let row = |line: &str| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let (code, grave) = (cells.next()?.trim_end_matches('`').to_owned(), cells.next()?);
            Some((
                code,
                match grave {
                    "yes" => true,
                    "no" => false,
                    other => panic!("{line}: {other}"),
                },
            ))
        };
        let lines = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let rows: Vec<(String, bool)> = lines.filter_map(row).collect();
        let count = rows.len();
        let told: BTreeMap<String, bool> = rows.into_iter().collect();
        assert_eq!(told.len(), count, "each code has one row");
        let own: BTreeMap<String, bool> =
            CODES.iter().map(|(code, is_grave)| ((*code).to_owned(), *is_grave)).collect();
        assert_eq!(told, own);
    }

    /// A code that no file of the program writes any more is no code.
    #[test]
    fn each_code_is_written_somewhere() {
        let mut sources = String::new();
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false if !path.ends_with("trust/warning.rs") => {
                        sources += &std::fs::read_to_string(path).unwrap_or_default();
                    }
                    false => {}
                }
            }
        }
        let unused: Vec<&str> =
            CODES.iter().map(|(code, _)| *code).filter(|code| !sources.contains(&format!("\"{code}\""))).collect();
        assert_eq!(unused, [""; 0]);
    }
}
