//! The macro by which the files of record families name their hook ids.

/// Name of a kind of kernel event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelName {
    /// Class and event as in WPA, `Process: DCStart`.
    pub name: &'static str,
    /// Name that xperf gives it, `P-DCStart`.
    pub alias: Option<&'static str>,
}

impl KernelName {
    /// The class: the part before the colon.
    pub fn group(&self) -> &'static str {
        self.name.split_once(": ").map_or(self.name, |(group, _)| group)
    }

    /// The event inside its class: the part after the colon.
    pub fn event(&self) -> &'static str {
        self.name.split_once(": ").map_or(self.name, |(_, event)| event)
    }
}

/// Declares the hook ids of a record family, each with its name as in WPA and, if it has one, its name in xperf:
/// a constant for each id, and `NAMES` for `event_names`.
macro_rules! hooks {
    ($($id:ident = $hook:literal, $name:literal $(, $alias:literal)?;)+) => {
        pub(in crate::event) mod hook {
            use $crate::etl::record_id::HookId;
            use $crate::event::hooks_macro::{KernelName, named};
            $(
                #[doc = concat!("`", stringify!($hook), "` ", $name, ".")]
                pub const $id: HookId = HookId($hook);
            )+
            pub(in crate::event) const NAMES: &[(HookId, KernelName)] = &[$(($id, named($name, &[$($alias)?]))),+];
        }
    };
}
pub(super) use hooks;

pub(super) const fn named(name: &'static str, alias: &[&'static str]) -> KernelName {
    KernelName { name, alias: alias.first().copied() }
}
