//! Suggestions for a name that does not exist: what the user may have meant.

/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.75;

/// `; did you mean "x"? Known are …`, or only what is known.
pub fn advice<'n>(word: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let wanted = word.to_ascii_lowercase().replace('-', "_");
    let alike = |name: &str| match (wanted.as_str(), name) {
        ("yes" | "on", "true") | ("no" | "off", "false") => 1.0,
        _ => strsim::jaro_winkler(&wanted, &name.to_ascii_lowercase().replace('-', "_")),
    };
    let best = known.iter().map(|name| (alike(name), *name)).max_by(|a, b| a.0.total_cmp(&b.0));
    let known = known.join(", ");
    match best.filter(|(score, _)| *score > ALIKE) {
        Some((_, name)) => format!("; did you mean \"{name}\"? Known are {known}"),
        None => format!("; known are {known}"),
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn slips_of_the_hand_are_seen() {
        let known = ["Image", "MapFile", "process", "by-process", "true"];
        for (word, meant) in [("Imge", "Image"), ("mapfiles", "MapFile"), ("proces", "process"), ("yes", "true")] {
            assert!(
                advice(word, known).starts_with(&format!("; did you mean \"{meant}\"? Known are Image, ")),
                "{word}"
            );
        }
        assert_eq!(advice("9", known), "; known are Image, MapFile, process, by-process, true");
    }
}
