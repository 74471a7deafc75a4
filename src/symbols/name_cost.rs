//! What undecorating a C++ name costs, known before it is done.
//!
//! A name can refer back to up to ten names and ten types that stood before. `msvc-demangler` copies what is referred to, so templates or
//! functions in each other multiply: 115 bytes come to a gigabyte, and nobody can stop it on its way. So this walks through a name as
//! `msvc-demangler` 0.11 does (`ParserState` in its `lib.rs`, with the same order of questions) and only adds up what it would have in
//! memory and write. A reference counts as the largest of what it can mean. Where that crate finds a fault, this may find none, but
//! never the other way around without consequence: a name that this does not understand is left as it is.

/// Bytes of a node: a type or a part of a name, with its place in a list and the words around it.
const NODE: u64 = 128;

/// Bytes that undecorating takes at most; `None` if more than `most`, or for no decorated name.
pub fn cost(name: &[u8], most: u64) -> Option<u64> {
    let mut walk = Walk { rest: name, names: 0, types: 0, left: most };
    let text = walk.whole()?;
    walk.spend(text)?;
    Some(most - walk.left)
}

struct Walk<'n> {
    rest: &'n [u8],
    /// The largest of the names, and of the types, that can be referred to.
    names: u64,
    types: u64,
    left: u64,
}

/// What the last part of a name is, where that matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    /// A constructor or destructor: what it is of is written twice.
    Structor,
    /// The guard of a local static.
    Guard,
}

impl Walk<'_> {
    fn spend(&mut self, bytes: u64) -> Option<u64> {
        self.left = self.left.checked_sub(bytes)?;
        Some(bytes)
    }

    /// A node around what is in it.
    fn node(&mut self, inner: u64) -> Option<u64> {
        self.spend(NODE)?;
        Some(NODE.saturating_add(inner))
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn get(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn consume(&mut self, text: &[u8]) -> bool {
        self.rest.strip_prefix(text).map(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.consume(text).then_some(())
    }

    fn one_of(&mut self, set: &[u8]) -> Option<u8> {
        self.peek().filter(|byte| set.contains(byte)).and_then(|_| self.get())
    }

    fn digit(&mut self) -> bool {
        self.one_of(b"0123456789").is_some()
    }

    fn skip_hexadecimal(&mut self) -> u64 {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        self.rest = self.rest.get(digits..).unwrap_or_default();
        digits as u64
    }

    fn number(&mut self) -> Option<i32> {
        let is_negative = self.consume(b"?");
        let sign = |number: i32| if is_negative { number.wrapping_neg() } else { number };
        if let Some(digit) = self.one_of(b"0123456789") {
            return Some(sign(i32::from(digit - b'0') + 1));
        }
        let length = self.rest.iter().position(|byte| *byte == b'@')?;
        let (digits, rest) = self.rest.split_at(length);
        if !digits.iter().all(|digit| matches!(digit, b'A'..=b'P')) {
            return None;
        }
        self.rest = rest.get(1..)?;
        Some(sign(digits.iter().fold(0i32, |all, digit| all << 4 | i32::from(digit - b'A'))))
    }

    /// Text up to the next `@`.
    fn text(&mut self) -> Option<u64> {
        let length = self.rest.iter().position(|byte| *byte == b'@')?;
        self.rest = self.rest.get(length + 1..)?;
        self.node(length as u64)
    }

    /// Keeps a copy of a name.
    fn memorize(&mut self, name: u64) -> Option<u64> {
        self.spend(name)?;
        self.names = self.names.max(name);
        Some(name)
    }

    fn referred_name(&mut self) -> Option<u64> {
        self.spend(self.names)?;
        self.node(self.names)
    }

    fn referred_type(&mut self) -> Option<u64> {
        self.spend(self.types)?;
        self.node(self.types)
    }

    fn whole(&mut self) -> Option<u64> {
        self.expect(b"?")?;
        if self.consume(b"?@") {
            let digits = self.skip_hexadecimal();
            self.expect(b"@")?;
            return self.node(digits);
        }
        if self.consume(b"$") {
            if !self.consume(b"TSS") {
                return self.template();
            }
            while !self.consume(b"@") {
                self.digit().then_some(())?;
            }
            let (name, (scope, _)) = (self.nested_name()?, self.scope()?);
            self.expect(b"4HA")?;
            return self.node(name.saturating_add(scope));
        }
        let (symbol, kind) = self.name(true)?;
        if kind == Kind::Guard {
            if !self.consume(b"4IA") {
                self.expect(b"5")?;
            }
            if !self.rest.is_empty() {
                self.number()?;
            }
        }
        let Some(class) = self.get() else { return Some(symbol) };
        let of_type = self.type_of_symbol(class)?;
        self.node(symbol.saturating_add(of_type))
    }

    fn type_of_symbol(&mut self, class: u8) -> Option<u64> {
        match class {
            b'0'..=b'4' => {
                let variable = self.variable()?;
                self.storage_class();
                self.node(variable)
            }
            b'6' | b'7' => {
                self.qualifier();
                let (scope, _) = self.scope()?;
                self.node(scope)
            }
            b'8' | b'9' => self.node(0),
            b'Y' => {
                self.calling_convention()?;
                self.storage_class_of_result()?;
                let result = self.variable()?;
                let parameters = self.function_parameters()?;
                self.node(result.saturating_add(parameters))
            }
            b'_' => self.encoded_string(),
            b'$' => {
                self.expect(b"B")?;
                self.number()?;
                self.expect(b"A")?;
                self.calling_convention()?;
                self.node(0)
            }
            class => {
                if !self.is_static(class)? {
                    self.qualifiers_of_function();
                }
                self.member_function()
            }
        }
    }

    fn member_function(&mut self) -> Option<u64> {
        self.calling_convention()?;
        self.storage_class_of_result()?;
        let result = if self.consume(b"@") { 0 } else { self.variable()? };
        let parameters = self.function_parameters()?;
        self.node(result.saturating_add(parameters))
    }

    fn encoded_string(&mut self) -> Option<u64> {
        let width = match self.get()? {
            b'0' => 1,
            b'1' => 2,
            _ => return None,
        };
        let length = self.number()?;
        self.number()?;
        for _ in 0..length.min(width * 32) {
            if self.get()? == b'?' && self.get()? == b'$' {
                self.get()?;
                self.get()?;
            }
        }
        self.node(0)
    }

    fn name(&mut self, is_function: bool) -> Option<(u64, Kind)> {
        let (name, kind) = self.unqualified_name(is_function)?;
        let (scope, innermost) = self.scope()?;
        let again = if kind == Kind::Structor { innermost } else { 0 };
        Some((self.node(name.saturating_add(scope).saturating_add(again))?, kind))
    }

    /// All of it, and its first part.
    fn scope(&mut self) -> Option<(u64, u64)> {
        let (mut all, mut first) = (0u64, None);
        while !self.consume(b"@") {
            let name = self.nested_name()?;
            first.get_or_insert(name);
            all = all.saturating_add(name);
        }
        Some((all, first.unwrap_or(0)))
    }

    fn unqualified_name(&mut self, is_function: bool) -> Option<(u64, Kind)> {
        if self.digit() {
            return Some((self.referred_name()?, Kind::Plain));
        }
        if self.consume(b"?$") {
            let name = self.template()?;
            return Some((if is_function { name } else { self.memorize(name)? }, Kind::Plain));
        }
        if self.consume(b"?") {
            return self.special_name();
        }
        let name = self.text()?;
        Some((self.memorize(name)?, Kind::Plain))
    }

    fn nested_name(&mut self) -> Option<u64> {
        if self.digit() {
            return self.referred_name();
        }
        if !self.consume(b"?") {
            let name = self.text()?;
            return self.memorize(name);
        }
        if self.peek() == Some(b'?') {
            let name = self.whole()?;
            return self.node(name);
        }
        if self.consume(b"$") {
            let name = self.template()?;
            return self.memorize(name);
        }
        if self.consume(b"A") {
            let digits = if self.consume(b"0x") { self.skip_hexadecimal() } else { 0 };
            self.expect(b"@")?;
            let name = self.node(digits)?;
            return self.memorize(name);
        }
        if self.consume(b"Q") {
            let name = self.text()?;
            self.expect(b"@")?;
            return self.memorize(name);
        }
        self.number()?;
        self.node(0)
    }

    fn template(&mut self) -> Option<u64> {
        // A template has its own references.
        let (names, types) = (std::mem::take(&mut self.names), std::mem::take(&mut self.types));
        let (name, _) = self.unqualified_name(false)?;
        let parameters = self.parameters()?;
        (self.names, self.types) = (names, types);
        self.node(name.saturating_add(parameters))
    }

    fn special_name(&mut self) -> Option<(u64, Kind)> {
        let mut inner = 0;
        let mut kind = Kind::Plain;
        match self.get()? {
            b'0' | b'1' => kind = Kind::Structor,
            b'_' => match self.get()? {
                b'B' => kind = Kind::Guard,
                b'R' => inner = self.type_information()?,
                b'_' if self.get()? == b'J' => kind = Kind::Guard,
                _ => {}
            },
            _ => {}
        }
        Some((self.node(inner)?, kind))
    }

    fn type_information(&mut self) -> Option<u64> {
        match self.get()? {
            b'0' => {
                self.expect(b"?")?;
                self.storage_class();
                self.variable()
            }
            b'1' => {
                for _ in 0..4 {
                    self.number()?;
                }
                Some(0)
            }
            _ => Some(0),
        }
    }

    fn parameters(&mut self) -> Option<u64> {
        let mut all = 0u64;
        while !matches!(self.peek(), None | Some(b'@' | b'Z')) {
            let before = self.rest.len();
            let one = if self.digit() { self.referred_type()? } else { self.variable()? };
            if before - self.rest.len() > 1 {
                self.spend(one)?;
                self.types = self.types.max(one);
            }
            all = all.saturating_add(one);
        }
        if !self.consume(b"Z") && !self.rest.is_empty() {
            self.expect(b"@")?;
        }
        self.node(all)
    }

    fn function_parameters(&mut self) -> Option<u64> {
        let all = if self.consume(b"X") { self.node(0)? } else { self.parameters()? };
        self.expect(b"Z")?;
        Some(all)
    }

    /// A type.
    fn variable(&mut self) -> Option<u64> {
        if self.consume(b"W4") {
            return Some(self.name(false)?.0);
        }
        if self.consume(b"A6") || self.consume(b"P6") {
            return self.function_type(false);
        }
        if self.consume(b"P8") {
            return self.member_function_pointer(true);
        }
        if self.consume(b"$") {
            if let Some(special) = self.special_type() {
                return special;
            }
            // Others go on with what follows.
            if self.consume(b"$C") {
                self.qualifier();
            } else if self.one_of(b"1HIJ").is_some() {
                self.expect(b"?")?;
                return self.member_function_pointer(false);
            }
        }
        if self.consume(b"?") {
            self.number()?;
            return self.node(0);
        }
        if self.digit() {
            return self.referred_type();
        }
        let inner = match self.get()? {
            b'T' | b'U' | b'V' => self.name(false)?.0,
            b'A' | b'B' | b'P' | b'Q' | b'R' | b'S' => self.pointee()?,
            b'Y' => self.array()?,
            b'_' => self.get().map(|_| 0)?,
            _ => 0,
        };
        self.node(inner)
    }

    /// A type that begins with `$`; `None` for another one, of which nothing is taken.
    fn special_type(&mut self) -> Option<Option<u64>> {
        if self.consume(b"0") || self.consume(b"D") {
            return Some(self.number().and_then(|_| self.node(0)));
        }
        if self.consume(b"$BY") {
            return Some(self.array());
        }
        if self.consume(b"$Q") {
            return Some(self.pointee());
        }
        if [&b"S"[..], b"$V", b"$Z", b"$$V", b"$T"].iter().any(|text| self.consume(text)) {
            return Some(self.node(0));
        }
        if self.consume(b"$A6") {
            return Some(self.function_type(false));
        }
        if self.consume(b"$A8@@") {
            return Some(self.function_type(true));
        }
        self.consume(b"$Y").then(|| Some(self.name(true)?.0))
    }

    fn pointee(&mut self) -> Option<u64> {
        self.consume(b"E");
        self.storage_class();
        let inner = self.variable()?;
        self.node(inner)
    }

    fn array(&mut self) -> Option<u64> {
        let dimensions = self.number().filter(|number| *number > 0)?;
        let mut all = 0u64;
        for _ in 0..dimensions {
            self.number()?;
            all = all.saturating_add(self.node(0)?);
        }
        if self.consume(b"$$C") {
            self.one_of(b"ABCD")?;
        }
        Some(self.variable()?.saturating_add(all))
    }

    fn function_type(&mut self, has_qualifiers: bool) -> Option<u64> {
        if has_qualifiers {
            self.qualifiers_of_function();
        }
        self.calling_convention()?;
        if self.consume(b"?") {
            self.storage_class();
        }
        let result = self.variable()?;
        let parameters = self.function_parameters()?;
        self.node(result.saturating_add(parameters))
    }

    fn member_function_pointer(&mut self, has_qualifiers: bool) -> Option<u64> {
        let (name, _) = self.name(true)?;
        self.consume(b"E");
        if has_qualifiers {
            self.qualifier();
        } else {
            let class = self.get()?;
            self.is_static(class)?;
        }
        let function = self.member_function()?;
        self.node(name.saturating_add(function))
    }

    /// Whether a function of this class is static.
    fn is_static(&mut self, class: u8) -> Option<bool> {
        if matches!(class, b'G' | b'H' | b'O' | b'P' | b'W' | b'X') {
            self.number()?;
        }
        class.is_ascii_uppercase().then_some(matches!(class, b'C' | b'D' | b'K' | b'L' | b'S' | b'T'))
    }

    fn qualifiers_of_function(&mut self) {
        for one in [&b"E"[..], b"I", b"F"] {
            self.consume(one);
        }
        self.one_of(b"GH");
        self.qualifier();
    }

    fn qualifier(&mut self) {
        self.one_of(b"ABCDQRST");
    }

    fn storage_class(&mut self) {
        self.one_of(b"ABCDEFGHQRST");
    }

    fn storage_class_of_result(&mut self) -> Option<()> {
        if self.consume(b"?") { self.one_of(b"ABCD").map(|_| ()) } else { Some(()) }
    }

    fn calling_convention(&mut self) -> Option<()> {
        self.one_of(b"ABCEGI").map(|_| ())
    }
}
