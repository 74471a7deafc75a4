//! Analyses: typed events in, results out. No raw bytes and no printing here.

pub mod category;
pub mod digest;

pub mod info;
pub mod loss;
pub mod pages;
pub mod processes;
pub mod readiness;
pub mod reference;
pub mod resident;
pub mod rules;
pub mod statistics;
pub mod table;
pub mod trust;
