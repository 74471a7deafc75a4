//! Pagefile-backed sections.
//!
//! Sources: `docs/formats.md` ("Memory"), after the Windows MOF. Not checked on a recorded trace.

use crate::byte_reader::layout;
use crate::event::payload::MEMORY;
use zerocopy::little_endian::U32;

crate::event::hooks_macro::hooks! {
    PAGEFILE_SECTION_RUNDOWN = 0x0248, "Memory: PFMappedSectionRundown";
    PAGEFILE_SECTION_CREATE = 0x0249, "Memory: PFMappedSectionCreate";
    PAGEFILE_SECTION_DELETE = 0x024f, "Memory: PFMappedSectionDelete";
    SECTION_OBJECT_CREATE = 0x0287, "Memory: PFMappedSectionObjectCreate";
    SECTION_OBJECT_DELETE = 0x0288, "Memory: PFMappedSectionObjectDelete";
}

/// Which record a pagefile section's range came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionPhase {
    /// `0x0248`: it exists (rundown).
    Rundown,
    /// `0x0249`: it was created.
    Create,
    /// `0x024f`: it was deleted.
    Delete,
}

/// `0x0248`, `0x0249`, `0x024f`: a pagefile-backed section, 20/12 bytes.
///
/// The range is expected to be that of the section's prototype PTEs (8 bytes per page), to be joined with page
/// identities of use PageFileMapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagefileSection {
    /// Start of the range.
    pub start: u64,
    /// End of the range, exclusive.
    pub end: u64,
    /// Process that created it.
    pub process_id: u32,
}

layout! {
    SectionLayout<P> = 20 / 12 bytes => PagefileSection, fn read(MEMORY) { start: P, end: P, process_id: U32 }
}

/// `0x0287` (created), `0x0288` (deleted): a section object of a pagefile section, 16/8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionObject {
    /// Address of the object.
    pub object: u64,
    /// Start of the section's range, as in [`PagefileSection::start`].
    pub start: u64,
}

layout! {
    ObjectLayout<P> = 16 / 8 bytes => SectionObject, fn read(MEMORY) { object: P, start: P }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::event::testing::*;

    #[test]
    fn pagefile_sections() {
        for (p, size) in [(P8, 20), (P4, 12)] {
            let at = p.bytes();
            let bytes = Bytes::new(size).ptr(p, 0, 0xc000_1000).ptr(p, at, 0xc000_1800).u32(2 * at, 77);
            for (hook, expected) in
                [(0x0248, SectionPhase::Rundown), (0x0249, SectionPhase::Create), (0x024f, SectionPhase::Delete)]
            {
                let Event::PagefileSection { phase, section } = event(hook, 2, p, &bytes) else { panic!() };
                assert_eq!(phase, expected);
                assert_eq!(section, PagefileSection { start: 0xc000_1000, end: 0xc000_1800, process_id: 77 });
                check_fixed(hook, 2, p, &bytes);
            }
        }
    }

    #[test]
    fn section_objects() {
        for (p, size) in [(P8, 16), (P4, 8)] {
            let bytes = Bytes::new(size).ptr(p, 0, 0xa000_0010).ptr(p, p.bytes(), 0xc000_1000);
            let expected = SectionObject { object: 0xa000_0010, start: 0xc000_1000 };
            assert_eq!(event(0x0287, 2, p, &bytes), Event::SectionObjectCreate(expected));
            assert_eq!(event(0x0288, 2, p, &bytes), Event::SectionObjectDelete(expected));
            check_fixed(0x0287, 2, p, &bytes);
            check_fixed(0x0288, 2, p, &bytes);
        }
    }
}
