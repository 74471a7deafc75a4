//! The flags of the settings that the library's errors name in words: the library knows no command line.

/// Words of messages, with their flags.
const FLAGS: [(&str, &str); 2] =
    [("column map", "--map"), ("locale of the numbers", "--locale, or --decimal and --group")];

/// A message, with the flags of the settings that it names.
pub fn with_flags(message: String) -> String {
    let named = FLAGS.iter().filter(|(words, _)| message.contains(words));
    let flags: Vec<String> = named.map(|(words, flags)| format!("{words}: {flags}")).collect();
    if flags.is_empty() { message } else { format!("{message} ({})", flags.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_with_their_flags() {
        assert_eq!(with_flags("no map".into()), "no map");
        assert_eq!(with_flags("the column map can name one".into()), "the column map can name one (column map: --map)");
    }
}
