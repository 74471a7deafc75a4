//! Files that are no traces but often hold one: told by their first bytes.

/// First bytes and what begins with them. No log begins so: these would be sizes of its first buffer that are odd or too
/// large.
const SIGNATURES: [(&[u8], &str); 7] = [
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"MSCF", "a CAB archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ\0", "an XZ file"),
    (b"BZh", "a bzip2 file"),
];

/// What the file is and what to do; `None` when it is none of these.
pub fn archive(bytes: &[u8]) -> Option<String> {
    let (_, what) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature))?;
    Some(format!("it is {what}, which is not read; unpack it and name the .etl file that it holds"))
}
