//! What is known of a stack: its text, and of its innermost frame the function and the module.

use crate::dimensions::dimension_trait::dimensions;
use crate::dimensions::single_dimensions::{FUNCTION, MODULE, STACK};

dimensions! {
    /// What is known of a stack. Rows have the innermost frame; as conditions, function and module find any frame.
    pub enum StackFacet {
        Stack: STACK;
        Function: FUNCTION;
        Module: MODULE;
    }
}
