//! Processes while records are counted: threads whose process is known count as one party.
//!
//! A thread of which no record has told yet stands for itself; its process is known in the end.

use crate::analysis::cpu::lives::LifeId;
use crate::analysis::cpu::pair_counts::Party;
use foldhash::HashMap as FastMap;

/// All parties.
#[derive(Debug, Default)]
pub struct Parties {
    by_label: FastMap<String, Party>,
    /// A thread of each, whose process has the party's label in the end.
    members: Vec<LifeId>,
}

impl Parties {
    /// The process with this label, of which `member` is a thread.
    pub fn of_process(&mut self, label: String, member: LifeId) -> Party {
        let Parties { by_label, members } = self;
        *by_label.entry(label).or_insert_with(|| {
            members.push(member);
            members.len() as Party - 1
        })
    }

    /// A thread that stands for itself.
    pub fn of_thread(&mut self, life: LifeId) -> Party {
        self.members.push(life);
        self.members.len() as Party - 1
    }

    /// A thread of a party.
    pub fn member(&self, party: Party) -> Option<LifeId> {
        self.members.get(party as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_one_party_and_an_unknown_thread_another() {
        let mut parties = Parties::default();
        let found = [parties.of_process("a".into(), 7), parties.of_thread(8), parties.of_process("a".into(), 9)];
        assert_eq!(found, [0, 1, 0]);
        assert_eq!([0, 1, 2].map(|party| parties.member(party)), [Some(7), Some(8), None]);
    }
}
