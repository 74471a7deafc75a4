//! What events with stacks are grouped and filtered by.

use crate::facets::vocabulary::{FUNCTION, MODULE, PROCESSOR, STACK, THREAD};
use crate::facets::{ProcessFacet, dimensions};

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
