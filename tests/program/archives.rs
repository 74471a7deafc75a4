//! Traces in archives and on standard input give the same answers as the plain file.

use crate::program::{Ran, finish, fixtures, out, pfnset, run};
use crate::recording::pair;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

const TRACE: &str = "resident-small.etl";

fn trace() -> Vec<u8> {
    std::fs::read(fixtures().join(TRACE)).unwrap()
}

pub fn zip(files: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default().compression_method(method)).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut archive = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    archive.write_all(bytes).unwrap();
    archive.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    // Two frames, with one that holds nothing between them.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let frame = |bytes: &[u8]| ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest);
    [&frame(first)[..], b"\x50\x2a\x4d\x18\x04\0\0\0none", &frame(second)].concat()
}

fn cab(files: &[(&str, &[u8])], how: cab::CompressionType) -> Vec<u8> {
    let mut builder = cab::CabinetBuilder::new();
    let folder = builder.add_folder(how);
    for (name, _) in files {
        folder.add_file(*name);
    }
    let mut writer = builder.build(Cursor::new(Vec::new())).unwrap();
    let mut contents = files.iter();
    while let Some(mut file) = writer.next_file().unwrap() {
        file.write_all(contents.next().unwrap().1).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A file of that name in a new folder.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn resident(path: &Path, more: &[&str]) -> Ran {
    run(&[&["resident", path.to_str().unwrap(), "--format", "csv"], more].concat())
}

#[test]
fn every_form_of_archive_gives_the_tables_of_the_trace() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let both = [("readme.txt", &b"hello"[..]), ("logs/T.ETL", &trace)];
    let archives = [
        ("stored.zip", zip(&both, zip::CompressionMethod::Stored)),
        ("deflated.zip", zip(&both, zip::CompressionMethod::Deflated)),
        ("trace.etl.gz", gzip(&trace)),
        ("two parts.etlgz", [gzip(&trace[..1000]), gzip(&trace[1000..])].concat()),
        ("trace.zst", zstandard(&trace)),
        ("stored.cab", cab(&both, cab::CompressionType::None)),
        ("packed.cab", cab(&both, cab::CompressionType::MsZip)),
        ("no ending", gzip(&trace)),
    ];
    let expected = out(&["resident", TRACE, "--format", "csv"]);
    for (name, bytes) in archives {
        let path = put(folder.path(), name, &bytes);
        // All in memory, and all but a kilobyte in a temporary file.
        for more in [&[][..], &["--in-memory", "1 KiB"]] {
            let ran = resident(&path, more);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
            assert_eq!(ran.out, expected, "{name}");
        }
    }
}

#[test]
fn an_archive_without_a_trace_says_what_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        put(folder.path(), "none.zip", &zip(&[("a.txt", b"x"), ("b.txt", b"y")], zip::CompressionMethod::Stored));
    let ran = resident(&path, &[]);
    assert!(ran.code == 3 && ran.err.ends_with("none.zip: no .etl file is in it, but a.txt, b.txt\n"), "{ran:?}");
}

/// What may be a trace too, and is not read, is named.
#[test]
fn files_beside_a_trace_that_may_be_traces_are_named() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let members: [(&str, &[u8]); 4] = [("a.etl", &trace), ("in.zip", b"PK"), ("b.etlx", b"x"), ("notes.txt", b"x")];
    let place = folder.path().join("runs");
    std::fs::create_dir(&place).unwrap();
    put(&place, "day.zip", &zip(&members, zip::CompressionMethod::Deflated));
    put(&place, "c.etlx", b"x");
    put(&place, "notes.txt", b"x");
    let each = resident(&place, &["--each"]);
    for says in [
        "day.zip: not read, though a trace may be in it: in.zip, b.etlx",
        "runs: not read, though a trace may be in it: c.etlx",
    ] {
        assert!(each.code == 0 && each.err.contains(says), "{each:?}");
    }
    assert!(!each.err.contains("notes") && resident(&place, &["--each", "-q"]).err.is_empty());
}

#[test]
fn standard_input_may_be_a_trace_or_an_archive() {
    let expected = out(&["resident", TRACE, "--format", "csv"]);
    for bytes in [trace(), gzip(&trace())] {
        let ran = finish(pfnset(&["resident", "-", "--format", "csv"]).write_stdin(bytes));
        assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (0, "", expected.as_str()));
    }
    let refused = |bytes: Vec<u8>, more: &[&str], says: &str| {
        let ran = finish(pfnset(&[&["info", "-"], more].concat()).write_stdin(bytes));
        assert!(ran.code == 3 && ran.out.is_empty() && ran.err.contains(says), "{ran:?}");
    };
    for size in ["100KiB", "100kb", "100 K", "102400", "102400B"] {
        refused(gzip(&trace()), &["--unpack-limit", size], "limit of 102400 bytes (--unpack-limit allows more)");
    }
    refused(gzip(&vec![0; 300 << 20]), &[], "more than 200 times its size");
    refused(gzip(&gzip(&trace())), &[], "it holds a gzip file");
    refused(b"\x1f\x8b, and no gzip file".to_vec(), &[], "nothing in it can be unpacked");
    let packed = gzip(&trace());
    let cut = finish(pfnset(&["info", "-"]).write_stdin(&packed[..packed.len() / 2]));
    assert!(cut.code == 0 && cut.out.contains("DAMAGED"), "{cut:?}");
    let ran = finish(pfnset(&["info", "-"]).write_stdin("no trace"));
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("no .etl file") && ran.err.lines().count() == 1, "{}", ran.err);
}

#[test]
fn one_of_several_traces_is_named() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let files = [("a.etl", &b"no trace"[..]), ("sub/b.etl", &trace)];
    let zip = put(folder.path(), "two.zip", &zip(&files, zip::CompressionMethod::Deflated));
    let cab = put(folder.path(), "two.cab", &cab(&files, cab::CompressionType::MsZip));
    for archive in [zip, cab] {
        let ran = resident(&archive, &[]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (3, "", 1), "{}", ran.err);
        assert!(ran.err.contains("2 traces") && ran.err.contains("a.etl, sub/b.etl"), "{}", ran.err);
        let member = |name: &str| PathBuf::from(format!("{}!{name}", archive.display()));
        assert_eq!(resident(&member("sub/b.etl"), &[]), resident(&fixtures().join(TRACE), &[]));
        let ran = resident(&member("c.etl"), &[]);
        assert!(ran.code == 3 && ran.err.contains("it has no c.etl, but a.etl, sub/b.etl"), "{}", ran.err);
    }
}

#[test]
fn a_cut_archive_gives_what_can_be_read_and_says_so() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let one = [("t.etl", &trace[..])];
    let archives = [
        ("stored.zip", zip(&one, zip::CompressionMethod::Stored)),
        ("deflated.zip", zip(&one, zip::CompressionMethod::Deflated)),
        ("t.gz", gzip(&trace)),
        ("t.zst", zstandard(&trace)),
        ("one.zst", ruzstd::encoding::compress_to_vec(&trace[..], ruzstd::encoding::CompressionLevel::Fastest)),
        ("t.cab", cab(&one, cab::CompressionType::MsZip)),
    ];
    for (name, mut bytes) in archives {
        bytes.truncate(bytes.len() * 95 / 100);
        let path = put(folder.path(), name, &bytes);
        let ran = run(&["info", path.to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}");
        assert!(ran.out.contains("archive, where unpacking ended"), "{name}: {}", ran.out);
        assert_eq!(run(&["info", path.to_str().unwrap(), "--strict"]).code, 3, "{name}");
        if name == "t.zst" {
            // Behind the trace, inside of a frame that would be skipped.
            let path =
                put(folder.path(), "skipped.zst", &[&zstandard(&trace)[..], b"\x50\x2a\x4d\x18\xff\0\0\0"].concat());
            assert_eq!(run(&["info", path.to_str().unwrap(), "--strict"]).code, 3);
        }
        // Nothing is left when only the first bytes are there.
        let ran = resident(&put(folder.path(), name, &bytes[..12]), &[]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (3, "", 1), "{name}: {}", ran.err);
    }
}

#[test]
fn what_other_programs_leave_around_a_trace_is_passed_over() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let expected = out(&["resident", TRACE, "--format", "csv"]);
    let skipped = b"\x5a\x2a\x4d\x18\x05\0\0\0index";
    let archives = [
        ("padded.gz", [gzip(&trace), vec![0; 100_000]].concat()),
        ("parts.gz", [gzip(&trace[..1000]), vec![0; 10], gzip(&trace[1000..])].concat()),
        ("skipped.zst", [&skipped[..], &zstandard(&trace)].concat()),
        // One raw block, with the window of `zstd --long=27`.
        ("long.zst", [b"\x28\xb5\x2f\xfd\0\x88".to_vec(), raw_blocks(&trace)].concat()),
    ];
    for (name, bytes) in archives {
        let ran = resident(&put(folder.path(), name, &bytes), &[]);
        assert_eq!((ran.code, ran.err.as_str(), &ran.out), (0, "", &expected), "{name}");
    }
    // By standard input too.
    let padded = [gzip(&trace), vec![0; 100_000]].concat();
    let ran = finish(pfnset(&["resident", "-", "--format", "csv"]).write_stdin(padded));
    assert_eq!((ran.code, ran.err.as_str(), &ran.out), (0, "", &expected));
}

/// The blocks of a Zstandard frame, as they are (RFC 8878, 3.1.1.2).
fn raw_blocks(bytes: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = bytes.chunks(100_000).collect();
    let block = |(number, piece): (usize, &&[u8])| {
        let header = (piece.len() as u32) << 3 | u32::from(number + 1 == pieces.len());
        [&header.to_le_bytes()[..3], piece].concat()
    };
    pieces.iter().enumerate().flat_map(block).collect()
}

#[test]
fn what_cannot_be_told_apart_or_read_is_said() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    // The writer of archives refuses two files of the same name.
    let twice = |bytes: Vec<u8>| -> Vec<u8> {
        let text = bytes.windows(5).enumerate().filter(|(_, part)| *part == b"b.etl").map(|(at, _)| at);
        let places: Vec<usize> = text.collect();
        let mut bytes = bytes;
        places.iter().for_each(|at| bytes[*at] = b'a');
        bytes
    };
    let both = [("a.etl", &b"another"[..]), ("b.etl", &trace)];
    let whole = twice(zip(&both, zip::CompressionMethod::Stored));
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 30);
    let far = [b"\x28\xb5\x2f\xfd\0\xa8".to_vec(), raw_blocks(&trace)].concat();
    for (name, bytes, says) in [
        ("twice.zip", whole, "have the same name"),
        ("cut.zip", cut, "2 files in it have the name a.etl"),
        ("twice.cab", twice(cab(&both, cab::CompressionType::None)), "2 files in it have the name a.etl"),
        ("far.zst", far, "a window of 2147483648 bytes"),
    ] {
        let path = put(folder.path(), name, &bytes);
        for path in [path.clone(), PathBuf::from(format!("{}!a.etl", path.display()))] {
            if name == "far.zst" && path.extension().is_none_or(|ending| ending != "zst") {
                continue; // it has no names
            }
            let ran = resident(&path, &[]);
            assert!(ran.code == 3 && ran.out.is_empty() && ran.err.lines().count() == 1, "{name}: {ran:?}");
            assert!(ran.err.contains(says), "{name}: {}", ran.err);
        }
    }
}

#[test]
fn what_is_made_to_fill_the_disk_is_refused() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let refused = |name: &str, bytes: &[u8], more: &[&str], says: &str| {
        let ran = resident(&put(folder.path(), name, bytes), more);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (3, "", 1), "{name}: {}", ran.err);
        assert!(ran.err.contains(says), "{name}: {}", ran.err);
    };
    let zeros = gzip(&vec![0; 1 << 20]).repeat(257);
    refused("zeros.gz", &zeros, &[], "more than 200 times its size");
    for limit in ["300kib", "300 KiB", "307200"] {
        refused(
            "t.gz",
            &gzip(&trace),
            &["--unpack-limit", limit],
            "the limit of 307200 bytes (--unpack-limit allows more)",
        );
    }
    let each = resident(&folder.path().join("t.gz"), &["--each", "--unpack-limit", "307200"]);
    assert!(each.code == 3 && each.out.replace("\n", " ").contains("--unpack-limit"), "{each:?}");
    refused("twice.gz", &gzip(&gzip(&trace)), &[], "it holds a gzip file");
    let inner = [("t.etl.gz", &gzip(&trace)[..])];
    refused("outer.zip", &zip(&inner, zip::CompressionMethod::Stored), &[], "it holds a gzip file");
    refused("t.7z", b"7z\xbc\xaf\x27\x1c and more", &[], "a 7z archive, which is not read; unpack it");
    refused("text.gz", &gzip(b"no trace, but a text"), &[], "what it holds is no .etl file");
    refused("none.zip", &zip(&[], zip::CompressionMethod::Stored), &[], "none.zip: it is empty");
}

/// A ZIP archive in which a second name stands for the bytes of the only file.
fn shared_bytes(trace: &[u8]) -> Vec<u8> {
    let mut bytes = zip(&[("a.etl", trace)], zip::CompressionMethod::Deflated);
    let end = bytes.split_off(bytes.len() - 22);
    let entry = u32::from_le_bytes(end[16..20].try_into().unwrap()) as usize;
    let mut second = bytes[entry..].to_vec();
    let name = second.windows(5).position(|part| part == b"a.etl").unwrap();
    second[name] = b'b';
    let length = 2 * second.len() as u32;
    let end = [&end[..8], &[2, 0, 2, 0], &length.to_le_bytes(), &end[16..]].concat();
    [bytes, second, end].concat()
}

/// A CAB archive with traces of 64 bytes behind `blocks` blocks of zeros.
fn behind_zeros(blocks: usize, traces: usize) -> Vec<u8> {
    let mut packer = flate2::write::DeflateEncoder::new(b"CK".to_vec(), flate2::Compression::best());
    packer.write_all(&[0; 32_768]).unwrap();
    let packed = packer.finish().unwrap();
    let block = [&[0; 4], &(packed.len() as u16).to_le_bytes()[..], &32_768_u16.to_le_bytes(), &packed].concat();
    let start = (blocks as u32 * 32_768).to_le_bytes();
    let entry = |n: usize| {
        [&64_u32.to_le_bytes(), &start[..], &[0; 6], &[0x20, 0], format!("{n:05}.etl\0").as_bytes()].concat()
    };
    let files: Vec<u8> = (0..traces).flat_map(entry).collect();
    let data = 44 + files.len();
    let whole = data + (blocks + 1) * block.len();
    let number = |number: usize| (number as u32).to_le_bytes();
    let header = [
        &b"MSCF\0\0\0\0"[..],
        &number(whole),
        &[0; 4],
        &number(44),
        &[0; 4],
        &[3, 1, 1, 0],
        &(traces as u16).to_le_bytes(),
        &[0; 2],
        &[1, 0, 0, 0],
    ];
    let folder = [&number(data)[..], &(blocks as u16 + 1).to_le_bytes(), &[1, 0]];
    [header.concat(), folder.concat(), files, block.repeat(blocks + 1)].concat()
}

#[test]
fn traces_of_an_archive_do_not_unpack_the_same_bytes_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("dataset");
    let refused = |name: &str, bytes: &[u8], member: &str, says: &str| {
        let path = put(folder.path(), name, bytes);
        let one = format!("{}{member}", path.display());
        for command in [&["export", path.to_str().unwrap(), "--out", out.to_str().unwrap()][..], &["info", &one]] {
            let ran = run(command);
            assert!(ran.code == 3 && (ran.out + &ran.err).contains(says), "{name}: {}", ran.err);
        }
    };
    refused("shared.zip", &shared_bytes(&trace()), "!b.etl", "share the same bytes");
    // 257 MiB of zeros for each; 300 times a MiB.
    refused("far.cab", &behind_zeros(257 * 32, 1), "!00000.etl", "stands behind 269484032 bytes");
    refused("many.cab", &behind_zeros(32, 300), "", "300 traces are in it; name one");
    let alone = run(&["info", &format!("{}!00007.etl", folder.path().join("many.cab").display())]);
    assert!(alone.code == 3 && alone.err.contains("what it holds is no .etl file"), "{alone:?}");
    // What people make.
    let (a, b) = (trace(), std::fs::read(fixtures().join("refset-small.etl")).unwrap());
    let three = [("a.etl", &a[..]), ("b.etl", &b), ("c/a.etl", &a)];
    for (name, bytes) in [
        ("three.zip", zip(&three, zip::CompressionMethod::Deflated)),
        ("three.cab", cab(&three, cab::CompressionType::MsZip)),
    ] {
        let path = put(folder.path(), name, &bytes);
        let out = folder.path().join(format!("{name}-dataset"));
        let ran = run(&["export", path.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        assert_eq!((ran.code, std::fs::read_dir(out.join("traces")).unwrap().count()), (0, 3), "{}", ran.err);
    }
}

#[test]
fn a_changed_bit_in_a_zip_archive_is_told_by_its_checksum() {
    let (trace, folder) = (trace(), tempfile::tempdir().unwrap());
    let whole = zip(&[("T.ETL", &trace)], zip::CompressionMethod::Stored);
    let content = whole.windows(16).position(|bytes| *bytes == trace[..16]).unwrap();
    let mut changed = whole.clone();
    changed[content + 0x36570] ^= 1;
    let mut longer = whole.clone();
    // The size in the list of files (APPNOTE.TXT, 4.3.12).
    let list = whole.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    let size = u32::from_le_bytes(whole[list + 24..list + 28].try_into().unwrap());
    longer[list + 24..list + 28].copy_from_slice(&(size + 65536).to_le_bytes());
    for (name, bytes) in [("changed.zip", changed), ("longer.zip", longer)] {
        let ran = resident(&put(folder.path(), name, &bytes), &["--strict"]);
        assert!(ran.code == 3 && ran.err.contains("T.ETL"), "{name}: {ran:?}");
    }
    assert_eq!(resident(&put(folder.path(), "whole.zip", &whole), &["--strict"]).code, 0);
}

/// `check pair.zip` took its files for one trace, and `check --init pair.zip` said that two are in it.
#[test]
fn budgets_are_made_of_a_recording_whose_files_are_in_one_archive() {
    let folder = tempfile::tempdir().unwrap();
    let [kernel, user] = pair(folder.path());
    let [of_kernel, of_user] = [&kernel, &user].map(|path| std::fs::read(path).unwrap());
    let stored = zip::CompressionMethod::Stored;
    put(folder.path(), "pair.zip", &zip(&[("kernel.etl", &of_kernel), ("user.etl", &of_user)], stored));
    put(folder.path(), "two.zip", &zip(&[("a.etl", &trace()), ("b.etl", &trace())], stored));
    let init = |arguments: &[&str]| {
        let ran = finish(pfnset(&[&["check", "--init", "-q"], arguments].concat()).current_dir(folder.path()));
        // The first line names the trace.
        let budgets = ran.out.split_once('\n').map(|(_, budgets)| budgets.to_owned());
        (ran.code, budgets, ran.err)
    };
    let packed = init(&["pair.zip"]);
    assert!(packed.0 == 0 && packed.1.as_ref().is_some_and(|text| text.contains("[[budget]]")), "{packed:?}");
    assert_eq!(packed, init(&["kernel.etl", "--with", "user.etl"]));
    let (code, _, told) = init(&["two.zip"]);
    assert!(code == 3 && told.contains("2 traces are in it; name one as ARCHIVE!NAME"), "{code} {told}");
}
