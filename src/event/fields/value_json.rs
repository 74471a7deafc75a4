//! Values of fields as JSON: what rows of events write, and what lists and structures are as one text.

use crate::escape::is_hidden;
use crate::event::fields::value::{FieldValue, Fields};

/// Adds a text in quotes. Nearly all are of plain characters, which stand for themselves; hidden ones are written as numbers.
#[inline]
pub fn quoted(out: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) & (byte != b'"') & (byte != b'\\');
    out.push(b'"');
    // Without an early end, so that many bytes are compared at once.
    if text.as_bytes().iter().fold(true, |all, byte| all & is_plain(*byte)) {
        out.extend_from_slice(text.as_bytes());
    } else {
        text.chars().for_each(|c| character(out, c));
    }
    out.push(b'"');
}

fn character(out: &mut Vec<u8>, c: char) {
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        c if is_hidden(c) => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

/// Adds a list.
pub fn list<T>(out: &mut Vec<u8>, values: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (number, value) in values.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}

/// Adds `"0x1f"` or digits between quotes.
#[inline]
pub fn in_quotes(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Adds the object of fields.
pub fn members(out: &mut Vec<u8>, fields: &Fields<'_>) {
    out.push(b'{');
    for (number, (name, field)) in fields.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        quoted(out, name);
        out.push(b':');
        value(out, field);
    }
    out.push(b'}');
}

/// Adds a value.
pub fn value(out: &mut Vec<u8>, value: &FieldValue<'_>) {
    match value {
        FieldValue::Null => out.extend_from_slice(b"null"),
        FieldValue::Flag(_) | FieldValue::Unsigned(_) | FieldValue::Signed(_) => value.write(out),
        FieldValue::Float(number) if number.is_finite() => value.write(out),
        FieldValue::Double(number) if number.is_finite() => value.write(out),
        FieldValue::Object(fields) => members(out, fields),
        FieldValue::List(values) => list(out, values, self::value),
        FieldValue::Text(text) => quoted(out, text),
        other => in_quotes(out, |out| other.write(out)),
    }
}

/// The text of a single value, without quotes; of a list or a structure its JSON; nothing for what is null.
pub fn text(own: &FieldValue<'_>) -> Option<String> {
    let mut out = Vec::new();
    match own {
        FieldValue::Null => return None,
        FieldValue::Text(text) => return Some(text.to_string()),
        FieldValue::List(_) | FieldValue::Object(_) => value(&mut out, own),
        single => single.write(&mut out),
    }
    Some(String::from_utf8(out).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json(own: &FieldValue<'_>) -> String {
        let mut out = Vec::new();
        value(&mut out, own);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lists_and_structures_are_json_and_other_values_plain() {
        let inner = FieldValue::Object(vec![("a", FieldValue::Hex(31)), ("b\u{202e}", FieldValue::Null)]);
        let list = FieldValue::List(vec![inner, FieldValue::Text("x\"\u{85}".into()), FieldValue::Flag(true)]);
        assert_eq!(text(&list).unwrap(), r#"[{"a":"0x1f","b\u202e":null},"x\"\u0085",true]"#);
        assert_eq!(text(&FieldValue::Hex(31)).as_deref(), Some("0x1f"));
        assert_eq!(text(&FieldValue::Text("=a\u{85}".into())).as_deref(), Some("=a\u{85}"));
        assert_eq!(text(&FieldValue::Double(f64::NAN)).as_deref(), Some("NaN"));
        assert_eq!(text(&FieldValue::Null), None);
    }

    proptest! {
        #[test]
        fn texts_are_read_back_and_hide_nothing(parts: Vec<(u8, char)>) {
            // Half of them below 0x100.
            let text: String = parts.iter().map(|(byte, c)| if byte % 2 == 0 { *c } else { char::from(*byte) }).collect();
            let written = json(&FieldValue::Text(text.as_str().into()));
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
            prop_assert!(!written.contains(is_hidden), "{}", written);
        }
    }
}
