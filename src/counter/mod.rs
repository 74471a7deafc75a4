//! Performance counters: how a raw value and its base become what a monitor shows.
//!
//! A counter carries a type word of 32 bits. [`CounterType::fields`] splits any word; [`CounterType::predefined`] names
//! those that Windows defines, with their formulas; [`calculate`] applies a formula to samples. Arithmetic is exact: whole
//! numbers until the last division, which is rounded to six decimals. `docs/counters.md` explains each type.
//!
//! ```
//! use pfnset::counter::{self, CounterType, CounterSample};
//!
//! let sample = |counter, time| CounterSample { counter: Some(counter), time: Some(time), ..CounterSample::default() };
//! let value = counter::calculate(CounterType(0x2041_0500), &[sample(0, 0), sample(2_500_000, 10_000_000)])?;
//! assert_eq!((value.to_string().as_str(), value.unit), ("25.000000", Some("%")));
//! # Ok::<(), counter::Reason>(())
//! ```

mod calculation;
mod decimal;
mod formula;
mod predefined;
#[cfg(feature = "cli")]
pub mod samples;
mod type_word;

pub use calculation::{CounterSample, CounterValue, Note, Reason, calculate};
pub use decimal::Decimal;
pub use formula::{BaseCounter, Formula};
pub use predefined::{Predefined, UnknownType};
pub use type_word::{Coded, CounterType, Fields, Timer};
