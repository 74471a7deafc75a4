//! The program from outside: the real binary on fixtures, on traces of known content and on generated machines. Outputs,
//! exit codes, streams, and what docs and README say of them.

mod allocations;
mod anonymize;
mod archives;
mod characters;
mod check;
mod cli;
mod contract;
mod counter;
mod counters;
mod cpu;
mod diff;
mod diff_forms;
mod dimensions;
mod each;
mod every_form;
mod export;
mod faults;
mod filters;
mod first_screen;
mod hostile;
mod junit;
mod limits;
mod lost_pages;
mod man;
mod memory;
mod names;
mod one_of_each;
mod output;
mod owner_keys;
mod pages;
mod processes;
mod program;
#[path = "../../src/random_cases.rs"]
mod random_cases;
mod readme;
mod recording;
mod refset;
mod report;
mod resident;
mod stacks;
mod symbols;
mod trust;
mod widths;
mod written;
