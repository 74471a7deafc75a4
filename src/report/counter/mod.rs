//! `pfnset counter` in all forms: types explained ([`types`]), samples calculated ([`samples`]).

pub mod samples;
pub mod types;
