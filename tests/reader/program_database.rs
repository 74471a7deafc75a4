//! Program databases that no linker writes: what is read of them takes time and memory in proportion to the file.

use pfnset::unstable_api::{functions_of, undecorated};
use std::time::Instant;

const PAGE: usize = 256;

/// A database, page by page; the first three pages are its head and two maps of free pages.
struct Database {
    pages: Vec<u8>,
    /// Size and pages of each stream.
    streams: Vec<(u32, Vec<u32>)>,
}

impl Database {
    fn put(&mut self, bytes: &[u8]) -> Vec<u32> {
        let first = self.pages.len() / PAGE;
        self.pages.extend_from_slice(bytes);
        self.pages.resize(self.pages.len().next_multiple_of(PAGE), 0);
        (first as u32..(self.pages.len() / PAGE) as u32).collect()
    }

    fn stream(&mut self, bytes: &[u8]) {
        let pages = self.put(bytes);
        self.streams.push((bytes.len() as u32, pages));
    }

    /// With the head and the table of streams.
    fn finish(mut self) -> Vec<u8> {
        let mut table = vec![self.streams.len() as u32];
        table.extend(self.streams.iter().map(|(size, _)| *size));
        table.extend(self.streams.iter().flat_map(|(_, pages)| pages.iter().copied()));
        let length = 4 * table.len() as u32;
        let table = self.put(&words(&table));
        let list = self.put(&words(&table));
        let count = (self.pages.len() / PAGE) as u32;
        let mut head = b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0".to_vec();
        head.extend(words(&[PAGE as u32, 1, count, length, 0]));
        head.extend(words(&list));
        self.pages[..head.len()].copy_from_slice(&head);
        // The reader asks for so much at once.
        self.pages.resize(self.pages.len().max(4096), 0);
        self.pages
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A module whose symbols are in this stream.
fn module(stream: u16) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[34..36].copy_from_slice(&stream.to_le_bytes());
    bytes[36..40].copy_from_slice(&100u32.to_le_bytes());
    bytes.extend_from_slice(b"m\0o\0");
    bytes
}

/// A database with these modules, the stream of its sections (4), one with public symbols (5) and one (6) of this size in these pages.
fn database(modules: usize, publics: &[u8], size: u32, pages: Vec<u32>) -> Vec<u8> {
    let mut database = Database { pages: vec![0; 3 * PAGE], streams: Vec::new() };
    database.stream(b"");
    database.stream(&[words(&[20_000_404, 1, 1]), vec![7; 16], words(&[0, 0])].concat());
    database.stream(b"");
    let modules = module(6).repeat(modules);
    let mut information = words(&[u32::MAX, 19_990_903, 1]);
    information.extend([0xffff, 0, 0xffff, 0, 5, 0].iter().flat_map(|half: &u16| half.to_le_bytes()));
    information.extend(words(&[modules.len() as u32, 0, 0, 0, 0, 0, 22, 0, 0x8664 << 16, 0]));
    information.extend(modules);
    let extra = |at: u16| if at == 5 { 4 } else { u16::MAX };
    information.extend((0..11).flat_map(|at| extra(at).to_le_bytes()));
    database.stream(&information);
    let mut section = b".text\0\0\0".to_vec();
    section.extend(words(&[0x10_0000, 0x1000, 0x10_0000, 0x1000, 0, 0, 0, 0x6000_0020]));
    database.stream(&section);
    database.stream(publics);
    database.streams.push((size, pages));
    database.finish()
}

/// The record of a public function at an offset of the section.
fn public(name: &str, offset: u32) -> Vec<u8> {
    let mut record = 0x110e_u16.to_le_bytes().to_vec();
    record.extend(words(&[2, offset]));
    record.extend(1u16.to_le_bytes());
    record.extend(name.bytes());
    record.push(0);
    record.resize((record.len() + 2).next_multiple_of(4) - 2, 0);
    [&(record.len() as u16).to_le_bytes()[..], &record].concat()
}

#[test]
fn what_is_made_here_is_a_database() {
    let publics = [public("?run@Task@@QEAAXXZ", 0), public("plain", 0x20)].concat();
    let (names, damage) = functions_of(database(1, &publics, 0, Vec::new()), &[0x1000, 0x1025]).expect("a database");
    let names: Vec<&str> = names.values().map(String::as_str).collect();
    assert_eq!((names, damage.is_some()), (vec!["Task::run", "plain"], true), "its module has no symbols");
}

/// Each of many modules names a stream that claims a table full of pages: the reader makes that list before it is asked what is in it.
#[test]
fn a_list_of_pages_is_not_made_for_each_module() {
    let pages = [1, 2].repeat(20_000);
    let bytes = database(4000, &public("plain", 0), pages.len() as u32 * PAGE as u32, pages);
    let begun = Instant::now();
    let (_, damage) = functions_of(bytes, &[0x1000]).expect("a database");
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    assert!(damage.is_some_and(|damage| damage.contains("share pages")));
}

/// Names of some hundred bytes that stand for terabytes.
#[test]
fn names_that_multiply_are_left_as_they_are() {
    let templates = (0..12).fold("PEAH".to_owned(), |inner, _| format!("V?$a@{inner}{}@@", "0".repeat(12)));
    let values: String = (0..9).map(|level| format!("$1?g@@YAX{}@Z", level.to_string().repeat(12))).collect();
    for parameters in [templates, format!("PEAH{values}")] {
        let name = format!("?f@@YAX{parameters}@Z");
        assert_eq!(undecorated(&name), name);
        let (names, _) = functions_of(database(0, &public(&name, 0), 0, Vec::new()), &[0x1000]).expect("a database");
        assert_eq!(names.get(&0x1000), Some(&name));
    }
    assert_eq!(undecorated("?f@@YAXV?$a@PEAH00@@@Z"), "f");
}
