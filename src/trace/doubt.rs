//! What is wrong with a trace or with an analysis of it. Each analysis judges in one place, and all commands show its words.

/// The name of doubts about the file and its recording, whatever is analyzed.
pub(crate) const OF_TRACE: &str = "trace";

/// Something that a reader of the numbers has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
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

impl Doubt {
    /// Numbers can be wrong.
    pub fn grave(analysis: &'static str, code: &'static str, text: String) -> Doubt {
        Doubt { analysis, code, text, amount: None, is_grave: true }
    }

    /// Numbers are as they are said to be.
    pub fn note(analysis: &'static str, code: &'static str, text: String) -> Doubt {
        Doubt { analysis, code, text, amount: None, is_grave: false }
    }

    /// The same with the number that it counts.
    pub fn of(self, amount: u64) -> Doubt {
        Doubt { amount: Some(amount), ..self }
    }

    /// The same with a name before its text.
    pub fn named(self, name: &str) -> Doubt {
        Doubt { text: format!("{name}: {}", self.text), ..self }
    }
}

/// The lines for people.
pub(crate) fn texts(doubts: &[Doubt]) -> Vec<String> {
    doubts.iter().map(|doubt| doubt.text.clone()).collect()
}

/// Those that can make numbers wrong.
pub(crate) fn grave(doubts: &[Doubt]) -> Vec<Doubt> {
    doubts.iter().filter(|doubt| doubt.is_grave).cloned().collect()
}

/// Of these the lines on what is lost, cut off or damaged: nobody may miss them.
pub(crate) fn of_the_file(doubts: &[Doubt]) -> Vec<String> {
    doubts.iter().filter(|doubt| doubt.is_grave && doubt.analysis == OF_TRACE).map(|doubt| doubt.text.clone()).collect()
}

/// True when numbers can be wrong.
pub(crate) fn any_grave(doubts: &[Doubt]) -> bool {
    doubts.iter().any(|doubt| doubt.is_grave)
}

/// Adds those whose text is not there yet: several analyses can say the same.
pub(crate) fn add(all: &mut Vec<Doubt>, more: impl IntoIterator<Item = Doubt>) {
    for doubt in more {
        if !all.iter().any(|other| other.text == doubt.text) {
            all.push(doubt);
        }
    }
}
