//! Registry hives: for the names of the files behind them.
//!
//! Sources: `docs/formats.md` ("Registry hives"), after the Windows MOF. Not checked on a recorded trace. All other
//! registry records are only counted.

use super::outcome::{Fault, Parsed, Read};
use super::payload::{ANY, Payload};
use crate::bytes::Wide;

/// A hive record; `hive` is the address of the kernel's hive object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hive<'a> {
    /// `0x0924`: a hive is made ready.
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
        let value = match payload.hook.0 {
            0x0924 => Hive::Initialize {
                hive: c.ptr("hive")?,
                operation: c.u32("operation")?,
                pool_tag: c.u32("pool tag")?,
                size_bytes: c.u32("size")?,
                file_name: c.wide("file name")?,
            },
            0x0925 => {
                Hive::Destroy { hive: c.ptr("hive")?, file_name: c.wide("file name")?, path: c.wide("hive path")? }
            }
            0x0926 => Hive::Link { hive: c.ptr("hive")?, path: c.wide("hive path")? },
            0x0927 => Hive::Rundown {
                size_bytes: c.u64("size")?,
                hive: c.ptr("hive")?,
                loaded_keys: c.u32("loaded keys")?,
                file_name: c.wide("file name")?,
                path: c.wide("link path")?,
            },
            0x0928 => Hive::Dirty { hive: c.ptr("hive")?, path: c.wide("link path")?, reason: c.u32("reason")? },
            _ => return Err(Fault::Value { field: "hook id" }),
        };
        Ok(Parsed::new(value, payload.ends(&c, ANY)))
    }
}
