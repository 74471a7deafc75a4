//! Processes while records are counted: threads whose process is known count under one number.
//!
//! A thread whose process no record has named yet has its own number; its process is known at the end.

use crate::analysis::cpu::replay::process_pair_counts::ProcessNumber;
use crate::analysis::cpu::replay::thread_instances::ThreadIndex;
use crate::dimensions::process_dimensions::ProcessCode;
use foldhash::HashMap as FastMap;

/// All numbers.
#[derive(Debug, Default)]
pub struct ProcessNumbers {
    by_process: FastMap<ProcessCode, ProcessNumber>,
    /// A thread of each.
    members: Vec<ThreadIndex>,
}

impl ProcessNumbers {
    /// This process, of which `member` is a thread.
    pub fn of_process(&mut self, process: ProcessCode, member: ThreadIndex) -> ProcessNumber {
        let ProcessNumbers { by_process, members } = self;
        *by_process.entry(process).or_insert_with(|| {
            members.push(member);
            members.len() as ProcessNumber - 1
        })
    }

    /// A thread that has its own number.
    pub fn of_thread(&mut self, instance: ThreadIndex) -> ProcessNumber {
        self.members.push(instance);
        self.members.len() as ProcessNumber - 1
    }

    /// A thread of a number.
    pub fn member(&self, process_number: ProcessNumber) -> Option<ThreadIndex> {
        self.members.get(process_number as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_one_party_and_an_unknown_thread_another() {
        let mut process_numbers = ProcessNumbers::default();
        let found = [
            process_numbers.of_process(ProcessCode::Instance(1), 7),
            process_numbers.of_thread(8),
            process_numbers.of_process(ProcessCode::Instance(1), 9),
        ];
        assert_eq!(found, [0, 1, 0]);
        assert_eq!([0, 1, 2].map(|process_number| process_numbers.member(process_number)), [Some(7), Some(8), None]);
    }
}
