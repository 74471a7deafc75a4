//! The flags of the settings that the library's errors name: the library knows no command line.

use crate::error::{Error, Setting};

/// The message of an error, with the flags of the setting that it names.
pub fn with_flags(error: &anyhow::Error) -> String {
    let setting = match error.downcast_ref::<Error>() {
        Some(Error::NotUnderstood { reason, .. } | Error::NotUnpacked { reason, .. }) => reason.setting,
        _ => None,
    };
    match setting {
        Some(Setting::ColumnMap) => format!("{error:#} (column map: --map)"),
        Some(Setting::Locale) => format!("{error:#} (locale of the numbers: --locale, or --decimal and --group)"),
        Some(Setting::UnpackLimit) => format!("{error:#} (--unpack-limit allows more)"),
        None => format!("{error:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Reason;

    #[test]
    fn settings_are_named_with_their_flags() {
        let error =
            |reason: Reason| anyhow::Error::from(Error::NotUnderstood { path: "column map.csv".into(), reason });
        let named = Reason::with(Setting::ColumnMap, "the column map can name one".into());
        assert_eq!(with_flags(&error(named)), "column map.csv: the column map can name one (column map: --map)");
        assert_eq!(with_flags(&error("no columns".to_owned().into())), "column map.csv: no columns");
    }
}
