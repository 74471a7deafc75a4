//! Sessions of users.
//!
//! Sources: `docs/formats.md` ("Memory"), after the Windows MOF. Not checked on a recorded trace.

use crate::byte_reader::layout;
use crate::event::payload::MEMORY;
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    SESSION_CREATE = 0x024b, "Memory: SessionCreate";
    SESSION_DC_END = 0x024c, "Memory: SessionDCEnd";
    SESSION_DC_START = 0x024d, "Memory: SessionDCStart";
    SESSION_DELETE = 0x024e, "Memory: SessionDelete";
}

/// `0x024b` (created), `0x024e` (deleted), `0x024d`, `0x024c` (rundowns): a session, 12/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Key of the session, as in page identities of use SessionPrivate.
    pub key: u64,
    /// Session id.
    pub session_id: u32,
}

layout! {
    SessionLayout<P> = 12 / 8 bytes => Session, fn read(MEMORY) { key: P, session_id: U32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::testing::*;
    use crate::event::{Event, Phase};

    #[test]
    fn sessions_have_their_rundowns_in_reverse_order() {
        for (p, size) in [(P8, 12), (P4, 8)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0xa000_0010).u32(p.bytes(), 1);
            for (hook, expected) in
                [(0x024b, Phase::Start), (0x024c, Phase::DcEnd), (0x024d, Phase::DcStart), (0x024e, Phase::End)]
            {
                let Event::Session { phase, session } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!((phase, session), (expected, Session { key: 0xa000_0010, session_id: 1 }));
                check_fixed(hook, 2, p, &bytes);
            }
        }
    }
}
