//! What the targets of schemas do: a payload is read by a schema, and what was read is within the payload.

use pfnset::code_page::CodePage;
use pfnset::units::PointerSize;
use pfnset::unstable_api::fields::{Context, FieldValue, Maps, Schema, read};

/// Reads a payload by a schema, with both sizes of pointers.
pub fn payload(schema: &Schema, payload: &[u8], maps: Option<&Maps>) {
    assert!(schema.is_sound());
    for pointer in [PointerSize::P4, PointerSize::P8] {
        let decoded = read(schema, payload, pointer, Context { maps, code_page: CodePage::default() });
        assert!(decoded.rest <= payload.len());
        // Many missing fields are told in a few texts.
        assert!(decoded.fields.len() <= schema.top);
        assert!(decoded.fields.len() == schema.top || !decoded.missing.is_empty());
        let mut left = 128 + 32 * (payload.len() + schema.top);
        decoded.fields.iter().for_each(|(_, value)| look(value, &mut left));
    }
}

/// All texts of a value, of which there are not more than the payload allows.
pub fn look(value: &FieldValue<'_>, left: &mut usize) {
    *left = left.checked_sub(1).expect("fewer values");
    match value {
        FieldValue::List(values) => values.iter().for_each(|value| look(value, left)),
        FieldValue::Object(fields) => fields.iter().for_each(|(_, value)| look(value, left)),
        single => _ = std::hint::black_box(single.text()),
    }
}

/// Divides the input: two bytes with a length, so many bytes, and the rest.
#[allow(dead_code, reason = "not used by the targets of documents")]
pub fn divided(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    Some(rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len())))
}

/// Reads a document, and a payload by each of its schemas.
#[allow(dead_code, reason = "used by the targets of documents")]
pub fn document(text: &str, bytes: &[u8]) {
    const MOST: usize = 64;
    for manifest in pfnset::unstable_api::fields::Manifest::read(text).unwrap_or_default() {
        manifest.schemas.values().take(MOST).for_each(|schema| payload(schema, bytes, Some(&manifest.maps)));
    }
}
