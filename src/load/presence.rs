//! Whether a file holds records of some kinds at all.

use crate::etl::EtlFile;
use crate::etl::record_id::HookId;
use std::sync::atomic::{AtomicBool, Ordering};

/// True when a record of one of these kinds is there. Buffers are read until one is found.
pub fn holds(etl: &EtlFile, hooks: &[HookId]) -> bool {
    let found = AtomicBool::new(false);
    etl.fold_buffers(
        || (),
        |(), area| {
            let mut records = area.records();
            while let Some(raw) = records.next().filter(|_| !found.load(Ordering::Relaxed)) {
                if raw.hook().is_some_and(|hook| hooks.contains(&hook)) {
                    found.store(true, Ordering::Relaxed);
                }
            }
        },
    );
    found.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::hooks::{PAGE_IN_MEMORY, PAGE_IN_MEMORY_24H2};
    use std::path::Path;

    #[test]
    fn one_of_several_kinds_is_enough() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/resident-small.etl");
        let etl = EtlFile::open(&path).unwrap();
        assert!(holds(&etl, &[PAGE_IN_MEMORY_24H2, PAGE_IN_MEMORY]));
        assert!(!holds(&etl, &[PAGE_IN_MEMORY_24H2]));
    }
}
