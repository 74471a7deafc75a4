//! What some pool tags of Windows stand for, in our own words, where no file of the user says it.
//!
//! Only tags whose use Microsoft tells publicly. Sources: Microsoft Learn (PoolMon and its examples, the debugger's `!poolused` and
//! `!object`, articles on support cases of the pool); objects of the kernel have the first four letters of their type's name.

/// Tags in memory order.
pub(super) const DOCUMENTED: [(&[u8; 4], &str); 39] = [
    // Objects.
    (b"Proc", "processes"),
    (b"Thre", "threads"),
    (b"File", "open files"),
    (b"Even", "events"),
    (b"Sema", "semaphores"),
    (b"Muta", "mutexes"),
    (b"Toke", "access tokens"),
    (b"Sect", "sections"),
    (b"Key ", "open registry keys"),
    (b"Symb", "symbolic links"),
    (b"Dire", "object directories"),
    (b"Desk", "desktops"),
    (b"Job ", "jobs"),
    (b"Driv", "drivers"),
    (b"Devi", "devices"),
    (b"ObNm", "names of objects"),
    (b"Obtb", "handle tables"),
    // Memory manager, cache manager, registry.
    (b"MmSt", "mapped files"),
    (b"MmCa", "control areas"),
    (b"MmCm", "contiguous memory"),
    (b"Vad ", "address ranges"),
    (b"VadS", "address ranges"),
    (b"CcSc", "cached files"),
    (b"CM25", "registry"),
    (b"CM31", "registry"),
    // Input and output, file systems.
    (b"Irp ", "I/O requests"),
    (b"Mdl ", "page lists of I/O"),
    (b"IoNm", "names in I/O"),
    (b"Ntfx", "NTFS"),
    (b"FMsl", "filter streams"),
    (b"FMfn", "filter names"),
    // Network.
    (b"AfdB", "data of sockets"),
    (b"AfdC", "connections"),
    (b"AfdE", "sockets"),
    (b"TcpE", "TCP endpoints"),
    (b"UdpA", "UDP endpoints"),
    (b"NDpp", "network packets"),
    // Tracing, security.
    (b"EtwB", "trace buffers"),
    (b"EtwR", "trace providers"),
];

#[cfg(test)]
mod tests {
    use super::DOCUMENTED;
    use std::collections::BTreeSet;

    #[test]
    fn each_tag_stands_there_once_in_few_words() {
        let tags: BTreeSet<_> = DOCUMENTED.iter().map(|(tag, _)| tag).collect();
        assert_eq!(tags.len(), DOCUMENTED.len());
        assert!(DOCUMENTED.iter().all(|(_, text)| !text.is_empty() && text.len() <= 20));
    }
}
