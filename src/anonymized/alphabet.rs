//! Kinds of characters. A character has a stand-in of its kind, of the same case, and of the same length in UTF-8 and UTF-16.

/// The kind of a character: which others can stand for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `0` to `9`.
    Digit,
    /// `a` to `z`, in lower or upper case.
    Latin {
        /// Upper case.
        upper: bool,
    },
    /// Letters with two cases of one block of 128 characters.
    Cased {
        /// First character of the block.
        block: u32,
        /// Upper case.
        upper: bool,
    },
    /// Other letters and digits of such a block.
    Uncased {
        /// First character of the block.
        block: u32,
    },
    /// Pictures of such a block.
    Picture {
        /// First character of the block.
        block: u32,
    },
    /// A byte of 8-bit text that is no ASCII character.
    HighByte,
    /// A sign that may be the second byte of a character of 8-bit text.
    SecondByte,
}

/// Signs from `@` on: second bytes of characters have these values.
const SECOND_BYTES: &[u8] = br"@[\]^_`{|}~";

impl Alphabet {
    /// The kind of a Unicode character; `None` for signs, which stay.
    pub fn of(code: u32) -> Option<Alphabet> {
        let c = char::from_u32(code)?;
        let block = code & !0x7f;
        match c {
            '0'..='9' => Some(Alphabet::Digit),
            'a'..='z' => Some(Alphabet::Latin { upper: false }),
            'A'..='Z' => Some(Alphabet::Latin { upper: true }),
            '\0'..='\u{9f}' => None,
            _ if is_lower_of_pair(code) => Some(Alphabet::Cased { block, upper: false }),
            _ if lower_of_pair(code).is_some() => Some(Alphabet::Cased { block, upper: true }),
            _ if c.is_alphanumeric() => Some(Alphabet::Uncased { block }),
            _ if is_picture(c) => Some(Alphabet::Picture { block }),
            _ => None,
        }
    }

    /// The kind of a byte of 8-bit text in an unknown code page; `after_high`: the byte before is no ASCII character.
    pub fn of_byte(byte: u8, after_high: bool) -> Option<Alphabet> {
        match byte {
            0x80.. => Some(Alphabet::HighByte),
            _ if after_high && SECOND_BYTES.contains(&byte) => Some(Alphabet::SecondByte),
            _ => Alphabet::of(byte.into()),
        }
    }

    /// Its characters in order, in lower case.
    fn members(self) -> impl Iterator<Item = u32> {
        let (first, count) = match self {
            Alphabet::Digit => (u32::from(b'0'), 10),
            Alphabet::Latin { .. } => (u32::from(b'a'), 26),
            Alphabet::HighByte => (0x80, 0x80),
            Alphabet::SecondByte => (0, 0x80),
            Alphabet::Cased { block, .. } | Alphabet::Uncased { block } | Alphabet::Picture { block } => (block, 0x80),
        };
        (first..first + count).filter(move |code| match self {
            Alphabet::SecondByte => u8::try_from(*code).is_ok_and(|byte| SECOND_BYTES.contains(&byte)),
            Alphabet::Cased { .. } => is_lower_of_pair(*code),
            Alphabet::Uncased { .. } | Alphabet::Picture { .. } => Alphabet::of(*code) == Some(self),
            _ => true,
        })
    }

    /// Number of its characters.
    pub fn base(self) -> u32 {
        self.members().count() as u32
    }

    /// Which of its characters this is, in either case.
    pub fn value(self, code: u32) -> u32 {
        let lower = match self {
            Alphabet::Latin { .. } => code | 0x20,
            Alphabet::Cased { upper: true, .. } => lower_of_pair(code).unwrap_or(code),
            _ => code,
        };
        self.members().take_while(|member| *member != lower).count() as u32
    }

    /// One of its characters, in the case of the kind.
    pub fn character(self, value: u32) -> Option<u32> {
        let lower = self.members().nth(value as usize)?;
        match self {
            Alphabet::Latin { upper: true } => Some(lower & !0x20),
            Alphabet::Cased { upper: true, .. } => upper_of_pair(lower),
            _ => Some(lower),
        }
    }

    /// A letter that is the same for all characters of the kind in either case.
    pub fn sign(self) -> char {
        match self {
            Alphabet::Digit => '0',
            Alphabet::Latin { .. } => 'a',
            Alphabet::HighByte | Alphabet::SecondByte => '\u{80}',
            Alphabet::Cased { block, .. } | Alphabet::Uncased { block } | Alphabet::Picture { block } => {
                char::from_u32(block).unwrap_or('\u{80}')
            }
        }
    }
}

/// The one character of another case, when both are in one block of 128 characters.
fn in_block(code: u32, mut others: impl Iterator<Item = char>) -> Option<u32> {
    let other = others.next().map(u32::from).filter(|other| *other != code && *other & !0x7f == code & !0x7f)?;
    others.next().is_none().then_some(other)
}

fn upper_of_pair(lower: u32) -> Option<u32> {
    in_block(lower, char::from_u32(lower)?.to_uppercase())
}

/// The lower case of an upper-case letter; both have no other case.
fn lower_of_pair(upper: u32) -> Option<u32> {
    let lower = in_block(upper, char::from_u32(upper)?.to_lowercase())?;
    (upper_of_pair(lower) == Some(upper)).then_some(lower)
}

fn is_lower_of_pair(code: u32) -> bool {
    upper_of_pair(code).is_some_and(|upper| lower_of_pair(upper) == Some(code))
}

/// Symbols that people put into names, such as emoji.
const fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_keep_their_place_case_and_length() {
        for code in (0u32..0x3000).chain(0x1_0400..0x1_0500).chain(0x1_f000..0x1_fb00) {
            let Some(kind) = Alphabet::of(code) else { continue };
            let (value, base) = (kind.value(code), kind.base());
            assert!(value < base, "{code:#x}");
            assert_eq!(kind.character(value), Some(code), "{code:#x}");
            let length = |code: u32| char::from_u32(code).map(|c| (c.len_utf8(), c.len_utf16()));
            for value in [0, base - 1] {
                let other = kind.character(value).expect("a character");
                assert_eq!(length(other), length(code), "{code:#x} {other:#x}");
                assert_eq!(Alphabet::of(other), Some(kind), "{code:#x} {other:#x}");
            }
        }
        assert_eq!(Alphabet::of(0x202e), None);
    }

    #[test]
    fn letters_of_two_cases_have_the_same_value_in_both() {
        for (lower, upper) in [('b', 'B'), ('é', 'É'), ('ж', 'Ж'), ('ω', 'Ω')] {
            let [lower, upper] = [lower, upper].map(u32::from);
            let [small, large] = [lower, upper].map(|code| Alphabet::of(code).expect("a letter"));
            assert_eq!(small.value(lower), large.value(upper));
            assert_eq!((small.sign(), small.base()), (large.sign(), large.base()));
            assert_ne!(small, large);
        }
        assert!(matches!(Alphabet::of('ß'.into()), Some(Alphabet::Uncased { block: 0x80 })));
    }
}
