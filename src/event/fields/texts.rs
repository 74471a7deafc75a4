//! Texts and network addresses in payloads.

use super::schema::Meaning;
use super::value::FieldValue;
use crate::byte_reader::{Cursor, Wide};
use crate::event::sid::Sid;
use crate::units::PointerSize;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};

/// UTF-16 as it is; what is none becomes replacement characters.
pub fn wide_units(units: &[u16]) -> String {
    String::from_utf16_lossy(units)
}

/// UTF-16 without the NULs at its end.
pub fn wide(bytes: &[u8]) -> String {
    let even = bytes.get(..bytes.len() & !1).unwrap_or_default();
    let zeros = even.rchunks_exact(2).take_while(|unit| *unit == [0, 0]).count();
    Wide(even.get(..even.len() - 2 * zeros).unwrap_or_default()).text()
}

/// 8-bit text without the NULs at its end.
pub fn without_end(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    bytes.get(..bytes.len() - zeros).unwrap_or_default()
}

/// Size of the token of two pointers before a SID (`WBEMSID`); `None` for four zero bytes, which are no SID. They can begin a token of
/// zeros too: where a SID is behind it.
pub fn token_bytes(bytes: &[u8], pointer: PointerSize) -> Option<usize> {
    let token = 2 * pointer.bytes();
    let is_zero = |size: usize| bytes.get(..size).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    let behind = || Sid::next(&mut Cursor::new(bytes.get(token..).unwrap_or_default(), pointer));
    (!is_zero(4) || is_zero(token) && behind().is_ok()).then_some(token)
}

/// Bytes, or the network address that they are.
pub fn binary(bytes: &[u8], meaning: Meaning) -> FieldValue<'_> {
    let address = match meaning {
        Meaning::Ipv6 => bytes.try_into().ok().map(|bytes: [u8; 16]| Ipv6Addr::from(bytes).to_string()),
        Meaning::Socket => socket(bytes),
        _ => None,
    };
    address.map_or(FieldValue::Bytes(bytes), |address| FieldValue::Text(address.into()))
}

/// `sockaddr_in` (family 2) or `sockaddr_in6` (23): family u16, port big-endian @2, address @4 or @8, scope u32 @24.
fn socket(bytes: &[u8]) -> Option<String> {
    let family = u16::from_le_bytes(*bytes.first_chunk()?);
    let port = u16::from_be_bytes(*bytes.get(2..)?.first_chunk()?);
    match family {
        2 => Some(format!("{}:{port}", Ipv4Addr::from(*bytes.get(4..)?.first_chunk::<4>()?))),
        23 => {
            let address = Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?);
            let scope = u32::from_le_bytes(*bytes.get(24..)?.first_chunk()?);
            Some(SocketAddrV6::new(address, port, 0, scope).to_string())
        }
        _ => None,
    }
}
