//! Integration tests, one binary: the library and the program on traces that an independent writer made (`synth`), on
//! damaged ones, and on recorded ones where they are present.

#[path = "../pages/machine.rs"]
mod machine;
#[path = "../synth/mod.rs"]
mod synth;

mod cli;
mod container;
mod contract;
mod corrupt;
mod counters;
mod hostile;
mod opened;
mod output;
mod owner_keys;
mod program;
mod readme;
mod real;
mod refset;
mod resident;
mod rooms;
