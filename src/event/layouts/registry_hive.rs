//! Registry hives: used for the names of their files.
//!
//! Sources: `docs/formats.md` ("Registry hives"), after the Windows MOF. Not checked on a recorded trace. All other
//! registry records are only counted.

use crate::byte_reader::Wide;
use crate::event::outcome::{Fault, Parsed, Read};
use crate::event::payload::{ANY, Payload};
use hook::*;

crate::event::hooks_macro::hooks! {
    HIVE_INITIALIZE = 0x0924, "Registry: HiveInitialize";
    HIVE_DESTROY = 0x0925, "Registry: HiveDestroy";
    HIVE_LINK = 0x0926, "Registry: HiveLink";
    HIVE_RUNDOWN = 0x0927, "Registry: HiveRundown";
    HIVE_DIRTY = 0x0928, "Registry: HiveDirty";
}

/// A hive record; `hive` is the address of the kernel's hive object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hive<'a> {
    /// `0x0924`: a hive is initialized.
    Initialize {
        /// Hive.
        hive: u64,
        /// Operation.
        operation: u32,
        /// Tag of its pool memory.
        pool_tag: u32,
        /// Size.
        size_bytes: u32,
        /// Name of its file.
        file_name: Wide<'a>,
    },
    /// `0x0925`: a hive is unloaded.
    Destroy {
        /// Hive.
        hive: u64,
        /// Name of its file.
        file_name: Wide<'a>,
        /// Path in the registry.
        path: Wide<'a>,
    },
    /// `0x0926`: a hive becomes part of the registry.
    Link {
        /// Hive.
        hive: u64,
        /// Path in the registry.
        path: Wide<'a>,
    },
    /// `0x0927`: a hive is loaded when the session starts or ends.
    Rundown {
        /// Size.
        size_bytes: u64,
        /// Hive.
        hive: u64,
        /// Keys loaded.
        loaded_keys: u32,
        /// Name of its file.
        file_name: Wide<'a>,
        /// Path in the registry.
        path: Wide<'a>,
    },
    /// `0x0928`: a hive has changes to be written.
    Dirty {
        /// Hive.
        hive: u64,
        /// Path in the registry.
        path: Wide<'a>,
        /// Reason.
        reason: u32,
    },
}

impl<'a> Hive<'a> {
    /// Decodes any of the five records, by the hook id.
    ///
    /// # Errors
    /// A fault when a field passes the end, a string has no NUL, or for another hook id.
    pub fn read(payload: &Payload<'a>) -> Read<Hive<'a>> {
        let mut c = payload.cursor();
        let value = match payload.hook {
            HIVE_INITIALIZE => Hive::Initialize {
                hive: c.ptr("hive")?,
                operation: c.u32("operation")?,
                pool_tag: c.u32("pool tag")?,
                size_bytes: c.u32("size")?,
                file_name: c.wide("file name")?,
            },
            HIVE_DESTROY => {
                Hive::Destroy { hive: c.ptr("hive")?, file_name: c.wide("file name")?, path: c.wide("hive path")? }
            }
            HIVE_LINK => Hive::Link { hive: c.ptr("hive")?, path: c.wide("hive path")? },
            HIVE_RUNDOWN => Hive::Rundown {
                size_bytes: c.u64("size")?,
                hive: c.ptr("hive")?,
                loaded_keys: c.u32("loaded keys")?,
                file_name: c.wide("file name")?,
                path: c.wide("link path")?,
            },
            HIVE_DIRTY => Hive::Dirty { hive: c.ptr("hive")?, path: c.wide("link path")?, reason: c.u32("reason")? },
            _ => return Err(Fault::Value { field: "hook id" }),
        };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;
    use crate::units::PointerSize;

    fn hive<'a>(hook: u16, p: PointerSize, bytes: &'a Bytes) -> Hive<'a> {
        check_strings(hook, 2, p, bytes);
        match event(hook, 2, p, bytes) {
            Event::Hive(hive) => hive,
            other => panic!("{other:?}"),
        }
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn every_record_of_both_pointer_sizes() {
        let (file, key) = (wide(r"\??\C:\NTUSER.DAT"), wide(r"\REGISTRY\USER\S-1"));
        let (file_name, path) = (Wide(&file), Wide(&key));
        for p in [P8, P4] {
            let at = p.bytes();
            let names = |bytes: Bytes| bytes.wide(r"\??\C:\NTUSER.DAT").wide(r"\REGISTRY\USER\S-1");
            let head = Bytes::new(at).ptr(p, 0, 0xa000_1000);

            let bytes = Bytes::new(12 + at).u64(0, 0x5_0000).ptr(p, 8, 0xa000_1000).u32(8 + at, 33);
            let expected = Hive::Rundown { size_bytes: 0x5_0000, hive: 0xa000_1000, loaded_keys: 33, file_name, path };
            assert_eq!(hive(0x0927, p, &names(bytes)), expected);

            let bytes = Bytes::new(at + 12).ptr(p, 0, 0xa000_1000).u32(at, 1).u32(at + 4, 2).u32(at + 8, 3);
            let bytes = bytes.wide(r"\??\C:\NTUSER.DAT");
            let expected = Hive::Initialize { hive: 0xa000_1000, operation: 1, pool_tag: 2, size_bytes: 3, file_name };
            assert_eq!(hive(0x0924, p, &bytes), expected);

            let expected = Hive::Destroy { hive: 0xa000_1000, file_name, path };
            assert_eq!(hive(0x0925, p, &names(head.clone())), expected);

            let bytes = head.wide(r"\REGISTRY\USER\S-1");
            assert_eq!(hive(0x0926, p, &bytes), Hive::Link { hive: 0xa000_1000, path });

            let bytes = bytes.more(&5u32.to_le_bytes());
            assert_eq!(hive(0x0928, p, &bytes), Hive::Dirty { hive: 0xa000_1000, path, reason: 5 });
        }
    }
}
