//! The put-helper: little-endian numbers, pointers of either size, strings and GUIDs, appended to a byte vector.
//!
//! Everything this writer emits goes through [`Put`], field by field, in the order and at the offsets the format
//! documents give. There are no layout structs on purpose: a struct shared with the reader would hide its mistakes.

/// Pointer size of one record (a property of the record, not of the file).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ptr {
    /// 4-byte pointers (32-bit kernel, or a 32-bit process in a 64-bit trace).
    P4,
    /// 8-byte pointers.
    P8,
}

impl Ptr {
    /// Size in bytes: 4 or 8.
    pub fn size(self) -> usize {
        match self {
            Ptr::P4 => 4,
            Ptr::P8 => 8,
        }
    }

    /// `p8` for 8-byte pointers, else `p4`: reads like the two columns of the layout tables.
    pub fn pick<T>(self, p8: T, p4: T) -> T {
        match self {
            Ptr::P8 => p8,
            Ptr::P4 => p4,
        }
    }
}

/// Appends fields to a byte vector; methods chain, [`Put::done`] hands the bytes out.
#[derive(Clone, Debug)]
pub struct Put {
    /// The bytes so far.
    pub bytes: Vec<u8>,
    /// Pointer size that [`Put::ptr`] writes.
    pub p: Ptr,
}

impl Put {
    /// Starts with nothing.
    pub fn new(p: Ptr) -> Put {
        Put { bytes: Vec::new(), p }
    }

    /// Starts with nothing but takes over the allocation of `old`: for generators of millions of records.
    pub fn reuse(old: &mut Vec<u8>, p: Ptr) -> Put {
        let mut bytes = std::mem::take(old);
        bytes.clear();
        Put { bytes, p }
    }

    /// The bytes written; leaves the helper empty.
    pub fn done(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Bytes written so far.
    pub fn written(&self) -> usize {
        self.bytes.len()
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Put {
        self.bytes.push(value);
        self
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Put {
        self.raw(&value.to_le_bytes())
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Put {
        self.raw(&value.to_le_bytes())
    }

    /// Four bytes, signed.
    pub fn i32(&mut self, value: i32) -> &mut Put {
        self.raw(&value.to_le_bytes())
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Put {
        self.raw(&value.to_le_bytes())
    }

    /// A pointer or pointer-sized number: 4 or 8 bytes; the upper half is cut off for 4.
    pub fn ptr(&mut self, value: u64) -> &mut Put {
        match self.p {
            Ptr::P4 => self.u32(value as u32),
            Ptr::P8 => self.u64(value),
        }
    }

    /// Bytes as they are.
    pub fn raw(&mut self, value: &[u8]) -> &mut Put {
        self.bytes.extend_from_slice(value);
        self
    }

    /// `count` zero bytes.
    pub fn zeros(&mut self, count: usize) -> &mut Put {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }

    /// Zero bytes up to offset `at`; the field that follows stands exactly there.
    pub fn pad_to(&mut self, at: usize) -> &mut Put {
        assert!(at >= self.bytes.len(), "offset {at:#x} is already behind the {:#x} bytes written", self.bytes.len());
        self.bytes.resize(at, 0);
        self
    }

    /// UTF-16LE with its NUL.
    pub fn wide(&mut self, text: &str) -> &mut Put {
        text.encode_utf16().for_each(|unit| self.bytes.extend_from_slice(&unit.to_le_bytes()));
        self.u16(0)
    }

    /// UTF-16LE in a field of `units` 16-bit units: cut to leave room for a NUL, rest zero.
    pub fn wide_fixed(&mut self, text: &str, units: usize) -> &mut Put {
        let end = self.bytes.len() + 2 * units;
        for unit in text.encode_utf16().take(units.saturating_sub(1)) {
            self.u16(unit);
        }
        self.pad_to(end)
    }

    /// 8-bit string with its NUL.
    pub fn narrow(&mut self, text: &str) -> &mut Put {
        self.raw(text.as_bytes()).u8(0)
    }
}

/// The 16 bytes a GUID has in a file: first three groups little-endian, the rest as printed.
///
/// # Panics
/// When `text` is not of the form `3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c`.
pub fn guid(text: &str) -> [u8; 16] {
    let digits: Vec<u8> = text.bytes().filter(|b| *b != b'-').collect();
    assert_eq!(digits.len(), 32, "not a GUID: {text}");
    let printed: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).expect("hexadecimal GUID"))
        .collect();
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    order.map(|i| printed[i])
}
