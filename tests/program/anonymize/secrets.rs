//! Nothing of what a trace says about people is left in the file, wherever it stood.

use super::{anonymized, text};
use crate::program::{fixtures, pfnset, run};
use etl_writer::payloads::{header, image::Image, merged, perf, process, process::Process, process::Sid, system};
use etl_writer::{Compression, Ptr::P8, Rec, Session, Trace, file_of, tracelogging_schema};
use std::path::Path;

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Each byte as a character, for a search that is fast in test builds too.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn has(text: &str, part: &[u8]) -> bool {
    text.contains(&latin(part))
}

/// The words of a secret, in both encodings and in lower case.
fn words(secret: &str) -> impl Iterator<Item = [Vec<u8>; 2]> {
    let parts = secret.split(|c: char| !c.is_alphanumeric()).filter(|part| part.chars().count() >= 5);
    parts.map(|part| [part.to_lowercase().into_bytes(), wide(&part.to_lowercase())])
}

/// A trace with these records, in buffers that are compressed or not.
fn trace(recs: impl IntoIterator<Item = Rec>, compression: Compression) -> Vec<u8> {
    let session = Session { logger_name: "Wilhelmina Recorder".into(), ..Session::windows10() }.compressed(compression);
    let t0 = session.t0;
    let recs = recs.into_iter().enumerate().map(|(n, rec)| rec.at(t0 + n as u64));
    Trace::new(session).push_all(recs).finish()
}

/// The bytes of the anonymized trace, ASCII letters in lower case.
fn new_bytes(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let new = std::fs::read(anonymized(file_of(bytes).path(), folder.path())).expect("the new file");
    latin(&new.to_ascii_lowercase())
}

/// Provider of the .NET runtime, as its bytes.
const CLR: [u8; 16] = *b"\x23\x0d\x3c\xe1\xbc\xcc\x12\x4e\x93\x1b\xd9\xcc\x2e\xee\x27\xe4";

fn patched(mut rec: Rec, at: usize, bytes: &[u8]) -> Rec {
    rec.payload[at..at + bytes.len()].copy_from_slice(bytes);
    rec
}

fn process(id: u32, edit: impl FnOnce(&mut Process)) -> Rec {
    let mut process = Process::new(id, "harmless.exe");
    process.command = String::new();
    edit(&mut process);
    process.rec(P8, 4, process::DC_START)
}

/// Records, each with the secrets in it.
fn recs_with_texts() -> Vec<(Rec, &'static [&'static str])> {
    let service: Vec<u8> = ["FjordbankSync", "Ledger Synchronizer", "fjordsync.exe", "OrderZebulon", "GroupXanthippe"]
        .iter()
        .flat_map(|text| wide(&format!("{text}\0")))
        .collect();
    let hive = |path: &str| {
        let names = wide(&format!("\\??\\C:\\Users\\Wilhelmina\\ntuser.dat\0{path}\0"));
        Rec::system(P8, 0x0927, 2, [vec![0; 20], names].concat())
    };
    let interval = [vec![0; 12], wide("ProfileSourceCordelia\0")].concat();
    let cpu = Rec { payload: vec![0; 828], ..Rec::system(P8, 0x0b0a, 3, vec![]) };
    let cpu = patched(patched(cpu, 20, &wide("PC-OTTOLINE-77\0STALEMERIDIAN")), 532, &wide("FJORDBANK\0stalePELICAN"));
    let disk = patched(system::physical_disk(P8, 0, "SERIALNO77X"), 140, &wide("staleHUMBOLDT"));
    let volume = patched(system::logical_disk(P8, 0, 1, "C:", 1 << 30), 82, &wide("VOLKESTREL"));
    let processor = patched(system::processor(P8, 0, 2300, "GenuineChip"), 12 + 40, &wide("StaleVandermeer"));
    let tracelogging = Rec::event(P8, *b"TLPROVIDERGUIDX!", 0, 0, b"payload Rowanberry".to_vec())
        .with_item(11, &tracelogging_schema("FjordTransfer", &[("fieldOttoline", 1)]))
        .with_item(12, b"\x10\0LedgerProvider\0")
        .with_item(4, b"EXTSIDOTTOLINE99");
    // Events of the .NET runtime: a method, and the module that it is of.
    let texts = |texts: &[&str]| -> Vec<u8> { texts.iter().flat_map(|text| wide(&format!("{text}\0"))).collect() };
    let method = [vec![1; 36], texts(&["Fjordbank.Ledger", "TransferOttoline", "void (Signature Cordelia)"])].concat();
    let module = [vec![1; 24], texts(&[r"C:\Fjordbank\Kestrelvault.dll", r"C:\Wilhelmina\native.dll"])].concat();
    let clr = |id, payload| Rec::event(P8, CLR, id, 0, payload);
    vec![
        (clr(143, method), &["Fjordbank.Ledger", "TransferOttoline", "Cordelia"]),
        (clr(152, module), &["Fjordbank", "Kestrelvault", "Wilhelmina"]),
        (clr(143, wide("a method Cordelia without its end")), &["Cordelia"]),
        (clr(82, [vec![0, 0, 0, 0, 1, 0, 0, 0], vec![7; 8], wide("StaleVandermeer")].concat()), &["StaleVandermeer"]),
        (Rec::system(P8, 0x010c, 3, b"\x00\x91\0\0\0\0\0\0\x07\0\0\0PELICAN in a request".to_vec()), &["PELICAN"]),
        (
            Rec::event(P8, [1; 16], 7, 0, vec![])
                .with_item(6, &[vec![0; 16], b"Theodor".to_vec()].concat())
                .with_item(18, &[vec![0; 16], b"Persephone".to_vec()].concat()),
            &["Theodor", "Persephone"],
        ),
        (process(8, |p| p.command = "fjordbank.exe --password=Zx9qKvelt".into()), &["fjordbank", "Zx9qKvelt"]),
        (process(12, |p| p.package = "FjordCorp.Ledgerize_1.2.3_x64__8wekyb3d8bbwe".into()), &["FjordCorp.Ledgerize"]),
        (
            Rec::system(P8, 0x0b0f, 3, [vec![0; 12], service].concat()),
            &["FjordbankSync", "Ledger Synchronizer", "fjordsync", "OrderZebulon", "GroupXanthippe"],
        ),
        (
            hive(r"\REGISTRY\USER\S-1-12-1-2712847316-1158106136-691686236-1836941200_Classes"),
            &["2712847316", "1158106136", "691686236", "1836941200", "Wilhelmina"],
        ),
        (
            hive(r"\REGISTRY\USER\S-1-5-80-3880718306-3832830129-1677859214"),
            &["3880718306", "3832830129", "1677859214"],
        ),
        (hive(r"\REGISTRY\USER\S-1-11-96-3623454863-1597581903"), &["3623454863", "1597581903"]),
        (cpu, &["OTTOLINE", "STALEMERIDIAN", "FJORDBANK", "stalePELICAN"]),
        (disk, &["SERIALNO77X", "staleHUMBOLDT"]),
        (volume, &["VOLKESTREL"]),
        (processor, &["StaleVandermeer"]),
        (
            system::platform(P8, "FjordMaker", "AssetGroovewell", "2024-01-01", "BiosOttoline"),
            &["FjordMaker", "AssetGroovewell", "BiosOttoline"],
        ),
        (
            header::partition(P8, 1, 0, *b"PARTGUIDOTTOLINE", *b"PARENTGUIDOTTO!!"),
            &["PARTGUIDOTTOLINE", "PARENTGUIDOTTO"],
        ),
        (Rec::system(P8, 0x0f49, 3, interval), &["ProfileSourceCordelia"]),
        (Rec::system(P8, 0x0e28, 2, b"pool snapshot Cordelia".to_vec()), &["snapshot", "Cordelia"]),
        (
            merged::build_info(P8, 133_000_000_000_000_000, "19041.ottolab", "Windows 10 FjordEdition"),
            &["ottolab", "FjordEdition"],
        ),
        (header::build_lab(P8, "26100.ottolab"), &["ottolab"]),
        (header::provider_path(P8, &[], r"C:\Fjordbank\prov.dll"), &["Fjordbank"]),
        (
            tracelogging,
            &["TLPROVIDERGUIDX", "Rowanberry", "FjordTransfer", "fieldOttoline", "LedgerProvider", "EXTSIDOTTOLINE99"],
        ),
        (
            Rec { activity: *b"ACTIVITYOTTOLINE", ..Rec::event(P8, [1; 16], 7, 0, b"Persephone".to_vec()) },
            &["ACTIVITYOTTOLINE", "Persephone"],
        ),
        (
            Rec { guid: *b"WPPGUIDOTTOLINE!", ..Rec::message(3, 2, b"Cadwallader".to_vec()) },
            &["WPPGUIDOTTOLINE", "Cadwallader"],
        ),
        (perf::mark(P8, "clicked Kestrelvault"), &["Kestrelvault"]),
        (
            Image { name: r"\SystemRoot\System32\drivers\fjordguard.sys".into(), ..Image::default() }
                .rec(P8, 3, 0x1403),
            &["fjordguard"],
        ),
        (Rec::system(P8, 0x0303, 4, b"a process record Cordelia that does not fit".to_vec()), &["Cordelia"]),
        (
            Rec::system(P8, 0x0548, 2, [vec![0; 8], wide("Worker Quillbert\0"), b"SurplusCordelia".to_vec()].concat()),
            &["Quillbert", "SurplusCordelia"],
        ),
    ]
}

#[test]
fn no_text_of_any_record_is_left() {
    for compression in [Compression::None, Compression::Xpress] {
        let recs = recs_with_texts();
        let bytes = trace(recs.iter().map(|(rec, _)| rec.clone()), compression);
        let new = new_bytes(&bytes);
        for secret in recs.iter().flat_map(|(_, secrets)| *secrets).chain(&["Wilhelmina Recorder"]) {
            for forms in words(secret) {
                let is_in = |text: &str| forms.iter().any(|form| has(text, form));
                if compression == Compression::None {
                    assert!(is_in(&latin(&bytes.to_ascii_lowercase())), "{secret} was not in the trace");
                }
                assert!(!is_in(&new), "{secret} is left");
            }
        }
        assert!(!has(&new, &133_000_000_000_000_000u64.to_le_bytes()), "the date of the installation");
        assert!(has(&new, &wide("genuinechip")), "the name of the processor stays");
    }
}

/// One damaged byte makes other things of a record: counters of the processor, a header of the file, an event that cannot be read.
#[test]
fn no_text_of_a_damaged_record_is_left() {
    let damaged = |rec: Rec, at: usize, bytes: &[u8]| {
        let mut all = Vec::new();
        rec.at(Session::windows10().t0).encode(&mut all);
        all[at..at + bytes.len()].copy_from_slice(bytes);
        Rec::raw(all)
    };
    let thread = |name: &str| Rec::system(P8, 0x0548, 2, [vec![0; 8], wide(&format!("{name}\0"))].concat());
    let long = |begin: &str, end: &str| {
        let path = format!("{begin}{}{end}", r"\folder".repeat(30));
        Rec::system(P8, 0x0548, 2, wide(&path))
    };
    let event = Rec { activity: *b"ACTIVITYOTTOLINE", ..Rec::event(P8, *b"TLPROVIDERGUIDX!", 7, 0, vec![1; 8]) };
    let cases: [(Rec, &[&str]); 5] = [
        (damaged(thread("Worker Quillbert Kestrelvault"), 1, &[0xff]), &["Quillbert", "Kestrelvault"]),
        (damaged(thread("Theodora"), 1, &[0x01]), &["Theodora"]),
        (damaged(long("Wilhelmina", "\0Rowanberry\0"), 6, &[0, 0]), &["Wilhelmina", "Rowanberry"]),
        (damaged(long("Persephone", "Cadwallader"), 6, &[0, 0]), &["Persephone", "Cadwallader"]),
        (damaged(event.with_item(11, b"FjordTransfer"), 0x50, &[0, 0]), &["ACTIVITYOTTOLINE", "TLPROVIDERGUIDX"]),
    ];
    let bytes = trace(cases.iter().map(|(rec, _)| rec.clone()), Compression::None);
    let (old, new) = (latin(&bytes.to_ascii_lowercase()), new_bytes(&bytes));
    for forms in cases.iter().flat_map(|(_, secrets)| *secrets).flat_map(|secret| words(secret)) {
        let is_in = |text: &str| forms.iter().any(|form| has(text, form));
        assert!(is_in(&old) && !is_in(&new), "{:?}", String::from_utf8_lossy(&forms[0]));
    }
}

/// The binary SIDs of users, of Entra, of Microsoft accounts and of services; those that every machine has stay.
#[test]
fn no_sid_of_a_person_is_left() {
    let sids: [(u64, &[u32]); 5] = [
        (5, &[21, 2_997_623_713, 318_043_213, 1_203_384_902, 1_001]),
        (12, &[1, 2_712_847_316, 1_158_106_136, 691_686_236, 1_836_941_200]),
        (11, &[96, 3_623_454_863, 558_364, 2_661_722_203]),
        (5, &[80, 3_880_718_306, 3_832_830_129, 1_677_859_214]),
        (15, &[2, 1_239_072_475, 3_687_740_317]),
    ];
    let user = |(id, (authority, sub)): (usize, &(u64, &[u32]))| {
        process(id as u32 * 4, |p| p.sid = Sid::User { authority: *authority, sub: sub.to_vec() })
    };
    let all: Vec<(u64, &[u32])> = sids.into_iter().chain([(5, &[18][..]), (5, &[32, 544])]).collect();
    let bytes = trace(all.iter().enumerate().map(user), Compression::None);
    let new = new_bytes(&bytes);
    for number in sids.iter().flat_map(|(_, sub)| *sub).filter(|number| **number > 1_000) {
        assert!(has(&latin(&bytes), &number.to_le_bytes()), "{number} was not in the trace");
        assert!(!has(&new, &number.to_le_bytes()), "{number} is left");
    }
    assert!(has(&new, &[[1, 2, 0, 0, 0, 0, 0, 5].as_slice(), &32u32.to_le_bytes(), &544u32.to_le_bytes()].concat()));
}

/// What lies outside of records: names of the time zone, headers of buffers, filler.
#[test]
fn nothing_is_left_between_records() {
    let mut bytes = trace((0..50).map(|n| Rec::perf(P8, 0x0f2e, 2, vec![n; 16])), Compression::None);
    let second = u32::from_le_bytes(bytes[..4].try_into().expect("a size")) as usize;
    let places: [(usize, &[u8]); 6] = [
        (0x48 + 0x20 + 0x4c, &wide("W. Europe Standard Time")),
        (0x48 + 0x20 + 0x4c + 84, &wide("W. Europe Daylight Time")),
        (second + 0x04, b"SAVEDOFFSETS"),
        (second + 0x20, b"BHTHEODO"),
        (second + 0x38, b"BUFHDRTHEODORA!!"),
        (second + 0xff00, b"FillerBytesTheodora"),
    ];
    for (at, secret) in places {
        bytes[at..at + secret.len()].copy_from_slice(secret);
    }
    let new = new_bytes(&bytes);
    for (_, secret) in places {
        assert!(!has(&new, &secret.to_ascii_lowercase()), "{:?} is left", String::from_utf8_lossy(secret));
    }
}

/// 8-bit names of East Asian machines: of no character two bytes are left.
#[test]
fn names_in_other_code_pages_are_replaced() {
    let names: [&[u8]; 3] =
        [b"\x8eR\x93c\x91\xbe\x98Y\x8b\x8b\x97^.exe", b"\xb1\xe8\xc3\xb6\xbc\xf6.exe", b"\xd5\xc5\xce\xb0\xb9\xa4.exe"];
    let recs = names.iter().enumerate().map(|(n, name)| process(n as u32 * 4, |p| p.name_bytes = name.to_vec()));
    let new = new_bytes(&trace(recs, Compression::None));
    for pair in names.iter().flat_map(|name| name[..name.len() - 4].chunks(2)) {
        assert!(!has(&new, &[pair, b".exe"].concat()) && !has(&new, pair) || pair[0].is_ascii(), "{pair:x?}");
    }
}

/// A cut name, or one in a code page, still belongs to the path that has the whole name.
#[test]
fn cut_names_belong_to_their_full_names() {
    let logged: [(&[u8], &str); 5] = [
        (b"contosopayrolls", "contosopayrollservice.exe"),
        (b"contosopayroll", "contosopayrollscan.tmp.exe"),
        (b"Contoso Payroll", "Contoso Payroll Updater.exe"),
        (b"Gr\xfc\xdfe an alle.exe", "Grüße an alle.exe"),
        ("Größenänder€".as_bytes(), "Größenänder€ung.exe"),
    ];
    let recs = logged.iter().enumerate().flat_map(|(n, (name, full))| {
        let id = 4 * n as u32 + 4;
        let image = Image { pid: id, name: format!(r"\Device\HarddiskVolume3\Apps\{full}"), ..Image::default() };
        let process = process(id, |p| p.name_bytes = name[..name.len().min(15)].to_vec());
        [process, image.rec(P8, 3, 0x1403)]
    });
    let bytes = trace(recs, Compression::None);
    let folder = tempfile::tempdir().expect("a folder");
    let before = file_of(&bytes);
    let after = anonymized(before.path(), folder.path());
    let names = |path: &Path| -> Vec<String> {
        let ran = run(&["processes", text(path), "-q", "--format", "csv"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out.lines().skip(1).filter_map(|line| line.split(',').nth(1)).map(str::to_owned).collect()
    };
    let [before, after] = [names(before.path()), names(&after)];
    let lengths = |names: &[String]| {
        let mut lengths: Vec<usize> = names.iter().map(|name| name.chars().count()).collect();
        lengths.sort();
        lengths
    };
    assert_eq!(lengths(&before), lengths(&after), "{before:?} {after:?}");
    assert_eq!(after.iter().filter(|name| name.contains(".exe")).count(), logged.len(), "{after:?}");
    assert!(after.iter().all(|name| !before.contains(name)), "{after:?}");
}

/// What a known name becomes says nothing about names that begin alike.
#[test]
fn known_names_tell_nothing_about_others() {
    let names: Vec<String> = ["contoso", "fabrikam", "adventure", "northwind"]
        .iter()
        .flat_map(|stem| {
            (0..26u8).map(move |n| format!("{stem}{}", char::from(b'a' + n).to_string().repeat(1 + usize::from(n) % 7)))
        })
        .collect();
    let recs = names.iter().map(|name| {
        Image { name: format!(r"\Device\HarddiskVolume3\Apps\{name}.dll"), ..Image::default() }.rec(P8, 3, 0x1403)
    });
    let bytes = trace(recs, Compression::None);
    let folder = tempfile::tempdir().expect("a folder");
    let new = std::fs::read(anonymized(file_of(&bytes).path(), folder.path())).expect("the new file");
    let before = latin(&bytes);
    let stand_in = |name: &str| {
        let at = before.find(&latin(&wide(&format!("{name}.dll")))).expect("a name");
        // Characters up to 0x7f are one byte in the text, others two.
        let at = before[..at].chars().count();
        new[at..at + 2 * name.len()].chunks(2).map(|unit| char::from(unit[0])).collect::<String>()
    };
    let (mut guessed, mut letters) = (0, 0);
    for pair in names.windows(2) {
        let [known, other] = pair else { continue };
        let (of_known, of_other) = (stand_in(known), stand_in(other));
        // The attacker takes each letter's shift at its place in the known name for that in the other one.
        for ((a, b), (c, d)) in known.bytes().zip(of_known.bytes()).zip(other.bytes().zip(of_other.bytes())) {
            letters += 1;
            guessed += usize::from((b + 26 - a) % 26 == (d + 26 - c) % 26);
        }
    }
    assert!(letters > 500 && guessed * 10 < letters, "{guessed} of {letters}: one of 26 is chance");
}

#[test]
fn the_secret_comes_from_a_file_or_the_environment() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = fixtures().join("resident-small.etl");
    let file = folder.path().join("secret.txt");
    std::fs::write(&file, "only I know\r\n").expect("a file");
    let path = |name: &str| folder.path().join(name);
    let [by_text, by_file, by_environment, other] = ["a.etl", "b.etl", "c.etl", "d.etl"].map(path);
    let base = |to: &'static str| {
        vec!["anonymize".to_owned(), text(&trace).into(), "-q".into(), "-o".into(), text(&path(to)).into()]
    };
    let go = |arguments: Vec<String>, more: &[&str], secret: Option<&str>| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let mut command = pfnset(&arguments);
        if let Some(secret) = secret {
            command.env("PFNSET_SECRET", secret);
        }
        command.output().expect("a run").status.code()
    };
    assert_eq!(go(base("a.etl"), &["--secret", "only I know"], None), Some(0));
    assert_eq!(go(base("b.etl"), &["--secret-file", text(&file)], None), Some(0));
    assert_eq!(go(base("c.etl"), &[], Some("only I know")), Some(0));
    assert_eq!(go(base("d.etl"), &[], None), Some(0));
    let read = |path: &Path| std::fs::read(path).expect("a trace");
    assert!(read(&by_text) == read(&by_file) && read(&by_text) == read(&by_environment));
    assert!(read(&by_text) != read(&other), "a random one else");
    std::fs::write(&file, "\n").expect("a file");
    for wrong in
        [&["--secret-file", text(&file)][..], &["--secret", ""], &["--secret", "a", "--secret-file", text(&file)]]
    {
        assert_eq!(go(base("e.etl"), wrong, None), Some(2), "{wrong:?}");
    }
    assert_eq!(go(base("e.etl"), &["--secret-file", text(&path("none"))], None), Some(2));
}
