//! What a file can be, and what is said of one that is something else.

/// Bytes at the start of a text that are looked at.
pub const HEAD: usize = 1 << 16;

/// What a file can be, for messages.
pub const EXPECTED: &str = "expected a trace (.etl), JSON or CSV that pfnset wrote, or a table exported by WPA";

/// The first bytes of a file as a person reads them.
pub fn first_bytes(bytes: &[u8]) -> String {
    let start: Vec<u8> = bytes.iter().copied().take(24).collect();
    match std::str::from_utf8(&start) {
        Ok(text) if !text.contains(|c: char| c.is_control() && !c.is_whitespace()) => {
            format!("\"{}\"", text.split(['\r', '\n']).next().unwrap_or_default())
        }
        _ => start.iter().take(12).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "),
    }
}
