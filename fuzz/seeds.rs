//! Writes seed inputs for the fuzz targets: `seeds FOLDER TRACE.etl…`.
//!
//! One folder per kind of input, in the layout its targets read: `xpress`, `lznt1`, `huffman` (limit, stream), `record`
//! (type byte, record), `events` and `events_merged` (hook id, version, pointer size, payload) `container` (a file) `analyses`, `anonymize`, `export`, `forms` and `report` (a file too), `counters` (0, a file), `exported` (a table), `unpack` (archives of a file), `budgets` (text, 0, a baseline), `symbols` (a program database), `undecorated` (a name), `pool_tags` (a tag, a list), `schemas_*` (length, a schema, a payload), `dataset` (lines with paths, tabs and contents).
//! All are small, so that the fuzzer is quick: of each kind of record the first ones, and each trace shrunk to a few
//! buffers of a few records.

use pfnset::etl::record::RawRecord;
use pfnset::etl::record_id::RecordId;
use pfnset::etl::{EtlFile, Scratch};
use pfnset::event::Payload;
use pfnset::event::merged::{IMAGE_ID, SYS_CONFIG};
use pfnset::unstable_api::fields::EVENT_METADATA;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::{env, error, fs, io};

// The fuzzer's runtime, which the instrumented library is linked against.
use libfuzzer_sys as _;

#[path = "../tests/reader/compression/encode.rs"]
mod encode;

/// Of each kind of record so many become seeds, and none that is larger.
const RECORDS_OF_A_KIND: usize = 2;
const RECORD_BYTES: usize = 2048;
/// A shrunk trace: its buffers, the bytes of a buffer, and the bytes of its records.
const BUFFERS: usize = 6;
const BUFFER_BYTES: usize = 4096;
const AREA_BYTES: usize = 1024;
/// Files up to this size are seeds as a whole where a few records of each kind would say nothing.
const WHOLE_FILE_BYTES: usize = 256 << 10;

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut args = env::args_os().skip(1);
    let folder = args.next().ok_or("usage: seeds FOLDER TRACE.etl...")?;
    let mut seeds = Seeds { folder: folder.as_ref(), count: 0, of_a_kind: HashMap::new() };
    seeds.streams(&made_up_area())?;
    seeds.archives(&made_up_area())?;
    seeds.budgets()?;
    seeds.datasets()?;
    seeds.exported()?;
    seeds.counters()?;
    seeds.symbols()?;
    seeds.names()?;
    seeds.manifests()?;
    for trace in args {
        seeds.trace(trace.as_ref()).map_err(|e| format!("{}: {e}", trace.display()))?;
    }
    println!("{} seeds", seeds.count);
    Ok(())
}

struct Seeds<'a> {
    folder: &'a Path,
    count: usize,
    /// How many records of a kind were written.
    of_a_kind: HashMap<(RecordId, u8), usize>,
}

impl Seeds<'_> {
    fn write(&mut self, kind: &str, parts: &[&[u8]]) -> io::Result<()> {
        let folder = self.folder.join(kind);
        fs::create_dir_all(&folder)?;
        self.count += 1;
        fs::write(folder.join(format!("seed-{:05}", self.count)), parts.concat())
    }

    fn archives(&mut self, content: &[u8]) -> Result<(), Box<dyn error::Error>> {
        for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
            let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
            archive.start_file("t.etl", zip::write::SimpleFileOptions::default().compression_method(method))?;
            archive.write_all(content)?;
            self.write("unpack", &[&archive.finish()?.into_inner()])?;
        }
        for how in [cab::CompressionType::None, cab::CompressionType::MsZip] {
            let mut builder = cab::CabinetBuilder::new();
            let folder = builder.add_folder(how);
            folder.add_file("a.txt");
            folder.add_file("t.etl");
            let mut archive = builder.build(io::Cursor::new(Vec::new()))?;
            while let Some(mut file) = archive.next_file()? {
                file.write_all(content)?;
            }
            self.write("unpack", &[&archive.finish()?.into_inner()])?;
        }
        let mut archive = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        archive.write_all(content)?;
        self.write("unpack", &[&archive.finish()?])?;
        let frame = ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest);
        Ok(self.write("unpack", &[&frame])?)
    }

    fn budgets(&mut self) -> io::Result<()> {
        for rest in [
            "max = \"5 %\"",
            "min = \"1000 pages\"\nwatch = \"80 %\"",
            "where = { class = \"File\" }\nmax_growth = \"2 %\"",
            "analysis = \"faults\"\nwhere = { process = \"*\", kind = \"image\" }\nmax = \"200\"",
            "analysis = \"faults\"\nmeasure = \"fault_wait_ms\"\nmax = \"2 s\"",
            "analysis = \"commit\"\nmeasure = \"peak\"\nmax = \"5 MiB\"",
            "analysis = \"pool\"\nmeasure = \"growth_per_minute\"\nwhere = { tag = \"N*\" }\nmax = \"5 MiB\"",
            "analysis = \"heap\"\nwhere = { function = \"*a*\", size = \"*\" }\nmax = \"5 MiB\"",
        ] {
            let text = format!("[[budget]]\nname = \"a\"\n{rest}\n");
            let baseline = r#"{"schema":"pfnset.baseline","version":1,"trace":"t","budgets":[]}"#;
            self.write("budgets", &[text.as_bytes(), &[0], baseline.as_bytes()])?;
        }
        Ok(())
    }

    /// Saved results and tables of WPA.
    fn exported(&mut self) -> io::Result<()> {
        let json = r#"{"schema":"pfnset.resident","version":1,"trace":"t","group_by":["process","category"],"classification":"both",
            "snapshots":[{"index":0,"pages":3,"rows":[{"process":"a.exe (4)","category":"Image","pages":3,"bytes":12288,"pages_wpa":2}]}]}"#;
        for text in [
            json,
            "snapshot,process,category,pages,bytes,pages_wpa\n0,a.exe (4),Image,3,12288,2\n",
            "snapshot,pfn,list,category,category_wpa\n0,1,Active,Image,Image\n",
            "Process,Page Category,Page Frame Number,Virtual Address,Size (MB)\na.exe (4),Image,0x100,0x1000,0.004\n",
            "sep=;\rPage Category;Size (MB);Count\rImage;0,004;1\r",
        ] {
            self.write("exported", &[text.as_bytes()])?;
        }
        Ok(())
    }

    /// The program database of the tests.
    fn symbols(&mut self) -> io::Result<()> {
        let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/program/symbols/CrashWithException.pdb.gz");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(fs::File::open(packed)?).read_to_end(&mut bytes)?;
        self.write("symbols", &[&bytes])
    }

    /// Decorated names, and a list of pool tags.
    fn names(&mut self) -> io::Result<()> {
        for name in [
            "?run@Task@app@@QEAAXHH@Z",
            "??$make@V?$vector@HV?$allocator@H@std@@@std@@@app@@YAXV?$vector@HV?$allocator@H@std@@@std@@0@Z",
            "?f@?1??g@@YAXP6AXPEAH@Z0@Z@4HA",
            "??_R0?AVbad_alloc@std@@@8",
            "?h@@YAX$1?i@@YAXPEAD@Z0P8x@@EAAX0@Z@Z",
        ] {
            self.write("undecorated", &[name.as_bytes()])?;
        }
        let list = "rem a list\r\nNtfx - ntfs.sys - general\r\nNt?x - <unknown> - any\r\nMm* - nt!mm - all\r\n";
        self.write("pool_tags", &[b"Ntfx", list.as_bytes()])
    }

    fn datasets(&mut self) -> io::Result<()> {
        let id = "t0123456789abcdef0123";
        let ready = format!(".pfnset/work/ready-{id}");
        let rest = r#""version":"1","format":"csv","code_page":"windows-1252","machine_names":false,"schema_version":2,"snapshots":"last","asked":["traces"],"error":null,"rows":1,"bytes":1"#;
        let state = format!(r#"{{"parts":{{"files":1,"traces":1}},{rest}}}"#);
        let files = format!("{ready}/files/part-0.csv\tx\n");
        for row in ["part-0.csv\tx", "part-0.csv\t@part-0.csv", "../../x\tx"] {
            let text = format!("{ready}/state.json\t{state}\n{files}{ready}/traces/{row}\n");
            self.write("dataset", &[text.as_bytes()])?;
        }
        let links = [".pfnset", ".pfnset/work", ".pfnset/lock", "traces", &format!("traces/trace={id}")]
            .map(|path| format!("{path}\t@trace=t1\n"));
        for link in &links {
            let text = format!("{link}{ready}/state.json\t{state}\n{files}{ready}/traces/part-0.csv\tx\n");
            self.write("dataset", &[text.as_bytes()])?;
        }
        let left =
            format!(".pfnset/work/writing-a/x\tx\n.pfnset/work/writing-a.lock\t\n.pfnset/traces/{id}.json\t{state}\n");
        let old = ".pfnset/work/ready-x/plan.json\t{\"id\":\"x/../../victim\"}\ntraces/trace=x\n";
        self.write("dataset", &[left.as_bytes(), old.as_bytes()])
    }

    fn trace(&mut self, path: &Path) -> Result<(), Box<dyn error::Error>> {
        let file = fs::read(path)?;
        let Ok(etl) = EtlFile::open(path) else {
            return Ok(self.write("container", &[&file[..file.len().min(BUFFER_BYTES)]])?); // a damaged fixture
        };
        if file.len() <= WHOLE_FILE_BYTES {
            self.whole(&file)?;
        }
        let mut scratch = Scratch::new();
        let (mut plain, mut compressed) = (Vec::new(), Vec::new());
        for index in 0..etl.buffers.len() {
            let area = etl.area(index, &mut scratch);
            let mut start = 0;
            for raw in area.records() {
                let end = (raw.position.offset as usize + raw.bytes.len()).next_multiple_of(8);
                if end <= AREA_BYTES.min(area.bytes.len()) {
                    start = end;
                }
                self.record(&raw)?;
            }
            let header = file.get(area.buffer.offset.0 as usize..).and_then(|rest| rest.first_chunk::<0x48>());
            if let (Some(header), true) = (header, index < BUFFERS) {
                let records = &area.bytes[..start];
                self.streams(records)?;
                plain.extend(buffer(*header, records, false));
                compressed.extend(buffer(*header, records, index > 0));
            }
        }
        for mut shrunk in [plain, compressed] {
            // The session's buffer size, first field behind the log-file header's record header.
            if let Some(field) = shrunk.get_mut(0x68..0x6c) {
                field.copy_from_slice(&(BUFFER_BYTES as u32).to_le_bytes());
            }
            self.write("container", &[&shrunk])?;
            self.whole(&shrunk)?;
        }
        Ok(())
    }

    /// A file, for the targets that open one as a trace.
    fn whole(&mut self, file: &[u8]) -> io::Result<()> {
        ["analyses", "anonymize", "export", "forms", "report"].iter().try_for_each(|target| self.write(target, &[file]))
    }

    /// Raw samples of counters.
    fn counters(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/counters"))? {
            self.write("counters", &[&[0], &fs::read(entry?.path())?])?;
        }
        Ok(())
    }

    fn record(&mut self, raw: &RawRecord<'_>) -> io::Result<()> {
        let Ok(record) = raw.read() else { return Ok(()) };
        let known = self.of_a_kind.entry((record.id, record.version)).or_default();
        *known += 1;
        if *known > RECORDS_OF_A_KIND || raw.bytes.len() > RECORD_BYTES {
            return Ok(());
        }
        let &[_, _, type_byte, flags, ..] = raw.bytes else { return Ok(()) };
        let type_byte = if flags & 0xf0 == 0x90 { 15 } else { type_byte }; // messages
        self.write("record", &[&[type_byte], raw.bytes])?;
        let how = [record.version, record.pointer.bytes() as u8];
        let length = |bytes: &[u8]| (bytes.len() as u16).to_le_bytes();
        // A schema, and beside it bytes that it may describe.
        let some = record.payload.get(..64).unwrap_or(record.payload);
        if !record.extended.is_empty() {
            self.write("schemas_tracelogging", &[&length(record.extended), record.extended, some])?;
        }
        match (record.id, Payload::of(&record)) {
            (RecordId::Classic { class: EVENT_METADATA, opcode }, _) => {
                self.write("schemas_merged", &[&[opcode], &length(record.payload), record.payload, some])
            }
            (_, Some(payload)) => self.write("events", &[&payload.hook.0.to_le_bytes(), &how, payload.bytes]),
            (RecordId::Classic { class: class @ (SYS_CONFIG | IMAGE_ID), opcode }, _) => {
                self.write("events_merged", &[&[opcode, u8::from(class == IMAGE_ID)], &how, record.payload])
            }
            _ => Ok(()),
        }
    }

    /// A manifest with a structure, a list, a map of numbers and one of bits; in a file, and as a provider writes it.
    fn manifests(&mut self) -> io::Result<()> {
        const XML: &str = r#"<m><provider name="P" guid="{07070707-0707-0707-0707-070707070707}">
<maps><valueMap name="v"><map value="1" message="$(string.a)"/></valueMap><bitMap name="b"><map value="0x2" message="$(string.a)"/></bitMap></maps>
<templates><template tid="T"><data name="n" inType="win:UInt8"/><data name="l" inType="win:UInt16" count="n" map="b"/>
<struct name="s" count="2"><data name="x" inType="win:UnicodeString"/><data name="y" inType="win:UInt32" map="v"/></struct></template></templates>
<events><event value="1" version="1" task="t" opcode="win:Start" template="T"/></events></provider>
<stringTable><string id="a" value="A"/></stringTable></m>"#;
        let payload = [2, 1, 0, 3, 0, b'a', 0, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0];
        let event = [&[1, 0, 0, 0x5b, 1, 0, 0, 0], XML.as_bytes()].concat();
        let wide: Vec<u8> = "\u{feff}".chars().chain(XML.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
        let files = [("schemas_manifest", &event[..]), ("schemas_user", XML.as_bytes()), ("schemas_user", &wide)];
        for (kind, file) in files {
            self.write(kind, &[&(file.len() as u16).to_le_bytes(), file, &payload])?;
        }
        Ok(())
    }

    /// The three formats of one event area.
    fn streams(&mut self, area: &[u8]) -> io::Result<()> {
        let limit = (area.len() as u16).to_le_bytes();
        self.write("xpress", &[&limit, &encode::xpress(area)])?;
        self.write("huffman", &[&limit, &encode::huffman(area, &[9; 512])])?;
        let mut chunks = Vec::new();
        lznt1::compress(area, &mut chunks);
        self.write("lznt1", &[&limit, &chunks])
    }
}

/// A buffer with other records and its header made to fit.
fn buffer(mut header: [u8; 0x48], records: &[u8], compressed: bool) -> Vec<u8> {
    let mut area = if compressed { encode::xpress(records) } else { records.to_vec() };
    if !compressed {
        area.resize(BUFFER_BYTES - header.len(), 0xff);
    }
    let [size, used] = [area.as_slice(), records].map(|content| (header.len() + content.len()) as u32);
    header[..4].copy_from_slice(&size.to_le_bytes());
    header[0x30..0x34].copy_from_slice(&used.to_le_bytes());
    header[0x34] = header[0x34] & !0x40 | if compressed { 0x40 } else { 0 };
    [&header, &area[..]].concat()
}

/// Something like records, for when there is no trace.
fn made_up_area() -> Vec<u8> {
    (0..24u64)
        .flat_map(|i| [0x0223_0028_c011_0002, 0x1234_5678 + i * 37, i % 3, i * 40503 % 65521, i << 12])
        .flat_map(u64::to_le_bytes)
        .collect()
}
