//! The type word: its fields by bits, as `winperf.h` composes it.

use std::fmt;

/// The type of a counter. Any word of 32 bits is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterType(pub u32);

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coded {
    /// The number that stands in the word.
    pub code: u32,
    /// Its name in `winperf.h`; `None` where no name is known.
    pub name: Option<&'static str>,
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(name),
            None => write!(f, "unknown(0x{:x})", self.code),
        }
    }
}

/// A type word in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fields {
    /// Bits 8–9: bytes of the raw value.
    pub size: Coded,
    /// Bits 10–11: number, counter, text or nothing.
    pub kind: Coded,
    /// Bits 16–19, whose meaning depends on the kind; `None` where a word of that kind has no subtype.
    pub subtype: Option<Coded>,
    /// Bits 20–21: the clock; `None` where a word of that kind has none.
    pub timer: Option<Coded>,
    /// Bits 22–25, lowest first.
    pub modifiers: Vec<&'static str>,
    /// Bits 28–31: what a monitor writes after the value.
    pub display: Coded,
    /// Bits 0–7, 12–15 and 26–27 in their places.
    pub reserved: u32,
}

/// The clock of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The performance counter.
    Tick,
    /// System time in units of 100 ns.
    HundredNs,
    /// The clock of the counter's object.
    Object,
}

impl Timer {
    /// Ticks per second, where they are the same on every machine.
    pub const fn fixed_frequency(self) -> Option<u64> {
        match self {
            Timer::HundredNs => Some(10_000_000),
            Timer::Tick | Timer::Object => None,
        }
    }
}

const SIZES: [&str; 4] = ["PERF_SIZE_DWORD", "PERF_SIZE_LARGE", "PERF_SIZE_ZERO", "PERF_SIZE_VARIABLE_LEN"];
const KINDS: [&str; 4] = ["PERF_TYPE_NUMBER", "PERF_TYPE_COUNTER", "PERF_TYPE_TEXT", "PERF_TYPE_ZERO"];
const NUMBERS: [&str; 3] = ["PERF_NUMBER_HEX", "PERF_NUMBER_DECIMAL", "PERF_NUMBER_DEC_1000"];
const COUNTERS: [&str; 8] = [
    "PERF_COUNTER_VALUE",
    "PERF_COUNTER_RATE",
    "PERF_COUNTER_FRACTION",
    "PERF_COUNTER_BASE",
    "PERF_COUNTER_ELAPSED",
    "PERF_COUNTER_QUEUELEN",
    "PERF_COUNTER_HISTOGRAM",
    "PERF_COUNTER_PRECISION",
];
const TEXTS: [&str; 2] = ["PERF_TEXT_UNICODE", "PERF_TEXT_ASCII"];
const TIMERS: [&str; 3] = ["PERF_TIMER_TICK", "PERF_TIMER_100NS", "PERF_OBJECT_TIMER"];
const MODIFIERS: [&str; 4] = ["PERF_DELTA_COUNTER", "PERF_DELTA_BASE", "PERF_INVERSE_COUNTER", "PERF_MULTI_COUNTER"];
const DISPLAYS: [(&str, &str); 5] = [
    ("PERF_DISPLAY_NO_SUFFIX", ""),
    ("PERF_DISPLAY_PER_SEC", "/sec"),
    ("PERF_DISPLAY_PERCENT", "%"),
    ("PERF_DISPLAY_SECONDS", "seconds"),
    ("PERF_DISPLAY_NOSHOW", ""),
];
/// Numbers of kinds in [`KINDS`].
const NUMBER: u32 = 0;
const COUNTER: u32 = 1;
const TEXT: u32 = 2;
const RESERVED: u32 = 0x0c00_f0ff;

impl CounterType {
    /// So many bits from this one on.
    const fn bits(self, from: u32, count: u32) -> u32 {
        self.0 >> from & ((1 << count) - 1)
    }

    fn coded(self, from: u32, count: u32, names: &[&'static str]) -> Coded {
        let code = self.bits(from, count);
        Coded { code, name: names.get(code as usize).copied() }
    }

    /// The parts of the word.
    pub fn fields(self) -> Fields {
        let kind = self.coded(10, 2, &KINDS);
        let subtypes: &[&'static str] = match kind.code {
            NUMBER => &NUMBERS,
            COUNTER => &COUNTERS,
            TEXT => &TEXTS,
            _ => &[],
        };
        let subtype = self.coded(16, 4, subtypes);
        let timer = self.coded(20, 2, &TIMERS);
        let modifiers = MODIFIERS.iter().enumerate().filter(|(bit, _)| self.bits(22 + *bit as u32, 1) == 1);
        Fields {
            size: self.coded(8, 2, &SIZES),
            kind,
            subtype: Some(subtype).filter(|subtype| !subtypes.is_empty() || subtype.code != 0),
            timer: Some(timer).filter(|timer| kind.code == COUNTER || timer.code != 0),
            modifiers: modifiers.map(|(_, name)| *name).collect(),
            display: self.coded(28, 4, &DISPLAYS.map(|(name, _)| name)),
            reserved: self.0 & RESERVED,
        }
    }

    /// What a monitor writes after the value; `None` for an undocumented display.
    pub fn suffix(self) -> Option<&'static str> {
        DISPLAYS.get(self.bits(28, 4) as usize).map(|(_, suffix)| *suffix)
    }

    /// The clock; `None` for a type that is no counter, and for an undocumented clock.
    pub fn timer(self) -> Option<Timer> {
        match (self.bits(10, 2), self.bits(20, 2)) {
            (COUNTER, 0) => Some(Timer::Tick),
            (COUNTER, 1) => Some(Timer::HundredNs),
            (COUNTER, 2) => Some(Timer::Object),
            _ => None,
        }
    }

    /// Bits of the raw value: 32 for a DWORD, else 64.
    pub const fn value_bits(self) -> u32 {
        if self.bits(8, 2) == 0 { 32 } else { 64 }
    }
}

impl fmt::Display for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(word: u32) -> String {
        let f = CounterType(word).fields();
        let or_none = |field: Option<Coded>| field.map_or("-".to_owned(), |field| field.to_string());
        let modifiers = f.modifiers.join("+");
        format!(
            "{} {} {} {} {modifiers} {} {:08x}",
            f.size,
            f.kind,
            or_none(f.subtype),
            or_none(f.timer),
            f.display,
            f.reserved
        )
    }

    #[test]
    fn words_are_split() {
        for (word, expected) in [
            (
                0x2351_0500,
                "PERF_SIZE_LARGE PERF_TYPE_COUNTER PERF_COUNTER_RATE PERF_TIMER_100NS \
                 PERF_DELTA_COUNTER+PERF_INVERSE_COUNTER+PERF_MULTI_COUNTER PERF_DISPLAY_PERCENT 00000000",
            ),
            (
                0x40030402,
                "PERF_SIZE_DWORD PERF_TYPE_COUNTER PERF_COUNTER_BASE PERF_TIMER_TICK  PERF_DISPLAY_NOSHOW 00000002",
            ),
            (0x0b00, "PERF_SIZE_VARIABLE_LEN PERF_TYPE_TEXT PERF_TEXT_UNICODE -  PERF_DISPLAY_NO_SUFFIX 00000000"),
            (0x8000_0000, "PERF_SIZE_DWORD PERF_TYPE_NUMBER PERF_NUMBER_HEX -  unknown(0x8) 00000000"),
            (0x0000_0e00, "PERF_SIZE_ZERO PERF_TYPE_ZERO - -  PERF_DISPLAY_NO_SUFFIX 00000000"),
            (
                0xffff_ffff,
                "PERF_SIZE_VARIABLE_LEN PERF_TYPE_ZERO unknown(0xf) unknown(0x3) \
                 PERF_DELTA_COUNTER+PERF_DELTA_BASE+PERF_INVERSE_COUNTER+PERF_MULTI_COUNTER unknown(0xf) 0c00f0ff",
            ),
            (
                0x0012_0800,
                "PERF_SIZE_DWORD PERF_TYPE_TEXT unknown(0x2) PERF_TIMER_100NS  PERF_DISPLAY_NO_SUFFIX 00000000",
            ),
        ] {
            assert_eq!(fields(word), expected, "{word:08x}");
        }
    }
}
