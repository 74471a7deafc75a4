//! What events with stacks are grouped and filtered by.

use crate::dimensions::single_dimensions::{FUNCTION, MODULE, PROCESSOR, STACK, THREAD};
use crate::dimensions::{ProcessFacet, dimensions};

dimensions! {
    /// What events with stacks are grouped and filtered by. Module and function group by the innermost frame and filter by any.
    pub enum Dimension {
        Process: ProcessFacet::Process.facet();
        Thread: THREAD;
        Processor: PROCESSOR;
        Module: MODULE;
        Function: FUNCTION;
        Stack: STACK;
    }
}
