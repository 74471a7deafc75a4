//! Stacks that are logged as keys: what of keys and their definitions is missing.

use crate::analysis::stacks::stack_matching::JoinCounts;
use crate::load::stacks::first_walk::Parts;
use crate::load::stacks::kernel_or_user::Half;
use crate::trace::analysis_needs::STACK_EVENTS;
use crate::trace::trust::warning::Warning;
use crate::units::{count, counted};

/// Fewer keys, or definitions, can be without the other at the ends of a trace.
const FEW: u64 = 10;

/// That more than a tenth of the keys are defined nowhere, or that nothing refers to the definitions of one half.
pub(super) fn doubt(parts: &Parts, joined: &JoinCounts) -> Option<Warning> {
    let counts = &parts.counts;
    let keys = counts.kernel_keys + counts.user_keys + counts.item_keys;
    let undefined = joined.unresolved_keys;
    let of_keys = (undefined >= FEW && undefined.saturating_mul(10) > keys).then(|| {
        let keys = counted(keys, "key of a stack is", "keys of stacks are");
        format!("{} of {keys} defined by no record", count(undefined))
    });
    let halves = [
        (Half::Kernel, counts.kernel_keys, "the kernel", "StackKeyKernel"),
        (Half::User, counts.user_keys, "user mode", "StackKeyUser"),
    ];
    let unused = halves.into_iter().filter_map(|(half, references, whose, name)| {
        let defined = parts.definitions.keys().filter(|(_, of)| *of == half).count() as u64;
        // Keys in extended items do not say of which half they are.
        (references == 0 && defined >= FEW.max(counts.item_keys.saturating_add(1))).then(|| {
            let stacks = counted(defined, "stack", "stacks");
            format!("{stacks} of {whose} are defined, and no event has one (no {name})")
        })
    });
    let texts: Vec<String> = of_keys.into_iter().chain(unused).collect();
    let text = format!("{}: stacks lack these frames, and sums of functions are too small", texts.join("; "));
    (!texts.is_empty()).then(|| Warning::grave(STACK_EVENTS.name, "stack_keys_missing", text))
}
