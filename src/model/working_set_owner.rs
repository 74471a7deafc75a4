//! Owners of working sets: a process instance, a session, the system.

/// An owner in 8 bytes: the kind in the top byte, the number below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(u64);

/// The owner that an [`OwnerId`] encodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The system working sets.
    System,
    /// A session's working set, by session id; `None` where the session is not known.
    Session(Option<u32>),
    /// A process instance by its index.
    Process(u32),
    /// A process id without process events.
    UnknownProcess(u32),
    /// An owner key that matches no process.
    UnknownKey(u64),
}

impl OwnerId {
    const SHIFT: u32 = 56;
    /// No session id is so large.
    const NO_SESSION: u64 = 1 << 32;

    /// The system.
    pub const SYSTEM: OwnerId = OwnerId(0);

    /// Packs an owner. Keys have 48 bits.
    #[inline(always)]
    pub const fn new(owner: Owner) -> OwnerId {
        OwnerId(match owner {
            Owner::System => 0,
            Owner::Session(Some(id)) => 1 << Self::SHIFT | id as u64,
            Owner::Session(None) => 1 << Self::SHIFT | Self::NO_SESSION,
            Owner::Process(index) => 2 << Self::SHIFT | index as u64,
            Owner::UnknownProcess(id) => 3 << Self::SHIFT | id as u64,
            Owner::UnknownKey(key) => 4 << Self::SHIFT | key & ((1 << Self::SHIFT) - 1),
        })
    }

    /// Unpacks it.
    #[inline(always)]
    pub const fn owner(self) -> Owner {
        let number = self.0 & ((1 << Self::SHIFT) - 1);
        match self.0 >> Self::SHIFT {
            0 => Owner::System,
            1 if number == Self::NO_SESSION => Owner::Session(None),
            1 => Owner::Session(Some(number as u32)),
            2 => Owner::Process(number as u32),
            3 => Owner::UnknownProcess(number as u32),
            _ => Owner::UnknownKey(number),
        }
    }

    /// The packed number.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_survive_packing() {
        for owner in [
            Owner::System,
            Owner::Session(Some(u32::MAX)),
            Owner::Session(None),
            Owner::Process(7),
            Owner::UnknownProcess(4242),
            Owner::UnknownKey(0xe080_1234_5080),
        ] {
            assert_eq!(OwnerId::new(owner).owner(), owner);
        }
        assert_eq!(OwnerId::new(Owner::System), OwnerId::SYSTEM);
    }
}
