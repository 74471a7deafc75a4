//! Instrumentation manifests: XML that a provider writes into the trace, as event sources do, in an event with a head; or a file.
//!
//! Sources: `docs/events.md`, after TraceEvent's documents. Documents with a DTD are refused, so that nothing in them expands.

use super::schema::{Amount, Content, Maps, Meaning, Property, Schema, ValueMap, with_own_names};
use crate::byte_reader::Cursor;
use crate::units::PointerSize;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// Id, opcode and task of the event that holds a part of a manifest.
pub const MANIFEST_ID: u16 = 0xfffe;
/// Its opcode.
pub const MANIFEST_OPCODE: u8 = 254;
/// Its task.
pub const MANIFEST_TASK: u16 = 0xfffe;

/// Size of the head before the XML.
const HEAD: usize = 8;

/// Most elements of a document: those of .NET have some thousand.
const MOST_NODES: u32 = 1 << 19;

/// Most attributes of an element, and most namespaces of a document. The reader of XML compares each attribute with all others of its
/// element, and each namespace with all those around it.
const MOST_ATTRIBUTES: usize = 256;

/// A part of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Format and version of the manifest, `[`.
    pub head: [u8; 4],
    /// Number of parts.
    pub total: u16,
    /// Number of this part, from 0.
    pub number: u16,
    /// Its XML, UTF-8.
    pub xml: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Reads the payload of the event; `None` when it is none.
    pub fn read(payload: &'a [u8]) -> Option<Chunk<'a>> {
        let mut cursor = Cursor::new(payload, PointerSize::P8);
        let head = *cursor.take(4, "head").ok()?.first_chunk()?;
        let (total, number) = (cursor.u16("chunks").ok()?, cursor.u16("chunk").ok()?);
        let fits = head.first() == Some(&1) && head.last() == Some(&0x5b);
        fits.then_some(Chunk { head, total, number, xml: payload.get(HEAD..)? })
    }
}

/// The schema of the event that holds a part of a manifest.
pub static OWN_SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let names = ["Format", "MajorVersion", "MinorVersion", "Magic", "TotalChunks", "ChunkNumber"];
    let property = |(number, name): (usize, &str)| Property {
        name: name.into(),
        content: Content::Value { in_type: if number < 4 { 4 } else { 6 }, meaning: Meaning::Plain, map: None },
        length: Amount::None,
        count: Amount::None,
        is_counted: false,
    };
    let properties: Vec<Property> = names.into_iter().enumerate().map(property).collect();
    let top = properties.len();
    Schema { name: Some("ManifestData".into()), properties: properties.into(), top, ..Schema::default() }
});

/// What a manifest says of one provider.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// The provider.
    pub provider: Uuid,
    /// Its name.
    pub name: Option<Arc<str>>,
    /// Schemas by event id and version.
    pub schemas: HashMap<(u16, u8), Schema>,
    /// Names of numbers.
    pub maps: Maps,
}

impl Manifest {
    /// The providers of a document.
    ///
    /// # Errors
    /// The reason why the document is not well-formed XML.
    pub fn read(xml: &str) -> Result<Vec<Manifest>, String> {
        if !is_compared_quickly(xml) {
            return Err(format!("more than {MOST_ATTRIBUTES} attributes of an element, or as many namespaces"));
        }
        let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(xml, options).map_err(|error| error.to_string())?;
        let strings = strings(&document);
        let mut all = Vec::new();
        // An element inside of one that was read belongs to that: else each level would read the same again.
        let mut last = None;
        for provider in document.descendants().filter(|node| is(node, "provider")) {
            if last < Some(provider.id().get())
                && let Some(manifest) = of_provider(provider, &strings)
            {
                all.push(manifest);
                // Numbers of nodes are in the order of the document.
                last = provider.descendants().next_back().map(|node| node.id().get());
            }
        }
        Ok(all)
    }
}

/// Whether no element has too many attributes and the document not too many namespaces. No value holds a `<`, and each stands between
/// quotes.
fn is_compared_quickly(xml: &str) -> bool {
    let quotes = |part: &str| part.bytes().filter(|byte| matches!(byte, b'"' | b'\'')).count();
    xml.matches("xmlns").count() <= MOST_ATTRIBUTES && xml.split('<').all(|part| quotes(part) <= 2 * MOST_ATTRIBUTES)
}

/// The text of a file: UTF-8, or UTF-16 with its mark.
pub fn text_of(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let wide = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = units.iter().skip(1).map(|bytes| unit(*bytes)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    }
}

fn is(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// Texts of the first culture.
fn strings(document: &Document<'_>) -> HashMap<String, String> {
    let first = document.descendants().find(|node| is(node, "stringTable"));
    let texts = first.into_iter().flat_map(|table| table.descendants().filter(|node| is(node, "string")));
    texts.filter_map(|text| Some((text.attribute("id")?.to_owned(), text.attribute("value")?.to_owned()))).collect()
}

/// A number in decimal digits, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn of_provider(provider: Node<'_, '_>, strings: &HashMap<String, String>) -> Option<Manifest> {
    let guid = provider.attribute("guid")?.trim_matches(['{', '}']).parse().ok()?;
    let inside = |name: &'static str| provider.descendants().filter(move |node| is(node, name));
    let values = |name: &'static str| -> HashMap<String, (u64, String)> {
        let entry = |node: Node<'_, '_>| {
            let name = node.attribute("name")?.to_owned();
            Some((name.clone(), (number(node.attribute("value")?)?, name)))
        };
        inside(name).filter_map(entry).collect()
    };
    let opcodes: HashMap<String, (u64, String)> = values("opcode");
    // Many events can have one template: it is read once.
    let templates: HashMap<&str, Option<Template>> =
        inside("template").filter_map(|node| Some((node.attribute("tid")?, properties(node)))).collect();
    let mut manifest =
        Manifest { provider: guid, name: provider.attribute("name").map(Into::into), ..Manifest::default() };
    for (kind, is_bits) in [("valueMap", false), ("bitMap", true)] {
        for node in inside(kind) {
            let Some(name) = node.attribute("name") else { continue };
            let entry = |map: Node<'_, '_>| {
                let value = u32::try_from(number(map.attribute("value")?)?).ok()?;
                let message = map.attribute("message").unwrap_or_default();
                let id = message.strip_prefix("$(string.").and_then(|rest| rest.strip_suffix(')'));
                let text = id.and_then(|id| strings.get(id)).map_or(message, |text| text);
                Some((value, text.trim_end_matches(' ').to_owned()))
            };
            let entries = node.children().filter(|map| is(map, "map")).filter_map(entry).collect();
            manifest.maps.entry(name.into()).or_insert_with(|| ValueMap::new(is_bits, entries));
        }
    }
    for event in inside("event") {
        let id = event.attribute("value").and_then(number).and_then(|id| u16::try_from(id).ok());
        let version = event.attribute("version").map_or(Some(0), number).and_then(|version| u8::try_from(version).ok());
        let (Some(id), Some(version)) = (id, version) else { continue };
        // An event of a template that is not there has fields that nobody knows.
        let template =
            event.attribute("template").map_or(Some((Arc::default(), 0)), |tid| templates.get(tid).cloned()?);
        let Some((properties, top)) = template else { continue };
        let task = event.attribute("task").filter(|task| *task != "win:None").or_else(|| event.attribute("symbol"));
        // An opcode's name may have any prefix.
        let plain = |name: &str| name.rsplit(':').next().unwrap_or(name).to_owned();
        let opcode = event
            .attribute("opcode")
            .map(|name| opcodes.get(name).map_or_else(|| plain(name), |(_, name)| plain(name)).into());
        let schema = Schema { provider: manifest.name.clone(), name: task.map(Into::into), opcode, properties, top };
        manifest.schemas.entry((id, version)).or_insert(schema);
    }
    Some(manifest)
}

/// Properties, and how many of them are at the top level.
type Template = (Arc<[Property]>, usize);

/// The properties of a template: those of the top level first, members of a structure beside each other behind it.
fn properties(template: Node<'_, '_>) -> Option<Template> {
    let children = |node: Node<'_, '_>| {
        node.children()
            .filter(|child| is(child, "data") || is(child, "struct"))
            .map(|child| child.id())
            .collect::<Vec<_>>()
    };
    let document = template.document();
    let top = children(template);
    let count = top.len();
    let mut waiting: VecDeque<_> = top.into();
    let mut properties: Vec<Property> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    while let Some(node) = waiting.pop_front().and_then(|id| document.get_node(id)) {
        let amount = |name: &str| -> Option<Amount> {
            let Some(text) = node.attribute(name) else { return Some(Amount::None) };
            if let Some(fixed) = number(text) {
                return Some(Amount::Fixed(u32::try_from(fixed).ok()?));
            }
            by_name.get(text).copied().map(Amount::Of)
        };
        // One of something is no list.
        let (length, count) = (amount("length")?, amount("count")?.unless_single());
        let content = match is(&node, "struct") {
            true => {
                let members = children(node);
                let first = properties.len() + 1 + waiting.len();
                let content = Content::Struct { first, members: members.len() };
                waiting.extend(members);
                content
            }
            false => Content::Value {
                in_type: in_type(node.attribute("inType")?)?,
                meaning: node.attribute("outType").map_or(Meaning::Plain, out_type),
                map: node.attribute("map").map(Into::into),
            },
        };
        let name = node.attribute("name").unwrap_or_default();
        by_name.insert(name.to_owned(), properties.len());
        properties.push(Property { name: name.into(), content, length, count, is_counted: false });
    }
    Some((with_own_names(properties, count)?, count))
}

/// The part of a type's name behind its prefix, in lower case.
fn plain(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase()
}

/// The input type of a name: `win:UnicodeString`.
fn in_type(name: &str) -> Option<u16> {
    Some(match plain(name).as_str() {
        "unicodestring" => 1,
        "ansistring" => 2,
        "int8" => 3,
        "uint8" => 4,
        "int16" => 5,
        "uint16" => 6,
        "int32" => 7,
        "uint32" => 8,
        "int64" => 9,
        "uint64" => 10,
        "float" => 11,
        "double" => 12,
        "boolean" => 13,
        "binary" => 14,
        "guid" => 15,
        "pointer" => 16,
        "filetime" => 17,
        "systemtime" => 18,
        "sid" => 19,
        "hexint32" => 20,
        "hexint64" => 21,
        "countedunicodestring" => 22,
        "countedansistring" => 23,
        "countedbinary" => 25,
        _ => return None,
    })
}

/// The meaning of an output type's name: `win:HexInt32`, `xs:string`.
fn out_type(name: &str) -> Meaning {
    Meaning::of_tdh(match plain(name).as_str() {
        "string" => 1,
        "long" => 9,
        "unsignedlong" => 10,
        "boolean" => 13,
        "hexint8" => 16,
        "hexint16" => 17,
        "hexint32" => 18,
        "hexint64" => 19,
        "port" => 22,
        "ipv4" => 23,
        "ipv6" => 24,
        "socketaddress" => 25,
        "xml" => 28,
        "ntstatus" => 31,
        "hresult" => 32,
        "json" => 34,
        "utf8" => 35,
        "codepointer" => 37,
        "datetimeutc" => 38,
        _ => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = r#"<m:instrumentationManifest xmlns:m="x"><provider name="P" guid="{00000000-0000-0000-0000-000000000001}">
        <tasks><task name="T" value="1"/></tasks><opcodes><opcode name="own:Halt" value="11"/></opcodes>
        <maps><bitMap name="B"><map value="0x1" message="$(string.one)"/></bitMap></maps>
        <events><event value="0x10" version="1" task="T" opcode="own:Halt" template="X"/><event value="2" symbol="S"/>
        <event value="3" template="Y"/><event value="4" template="Z"/><event value="5" template="W"/></events>
        <templates><template tid="X"><data name="n" inType="win:UInt16"/><struct name="s" count="n"><data name="x" inType="win:Int8"/></struct>
        <data name="m" inType="win:UInt32" map="B"/></template><template tid="Y"><data name="q" inType="win:Nonsense"/></template>
        <template tid="W"><data name="one" inType="win:Int8" count="1"/><data name="two" inType="win:Int8" count="2"/></template></templates>
        </provider><stringTable><string id="one" value="One "/></stringTable></m:instrumentationManifest>"#;

    #[test]
    fn events_templates_and_names_of_numbers() {
        let manifests = Manifest::read(XML).expect("XML");
        let [manifest] = &manifests[..] else { panic!("{manifests:?}") };
        let schema = &manifest.schemas[&(16, 1)];
        let names: Vec<&str> = schema.properties.iter().map(|property| &*property.name).collect();
        assert_eq!((names.join(" ").as_str(), schema.top), ("n s m x", 3));
        assert_eq!((schema.name.as_deref(), schema.opcode.as_deref()), (Some("T"), Some("Halt")));
        assert_eq!(schema.properties[1].count, Amount::Of(0));
        assert_eq!(manifest.schemas[&(2, 0)].name.as_deref(), Some("S"));
        assert!(!manifest.schemas.contains_key(&(3, 0)), "a type that is not known");
        assert!(!manifest.schemas.contains_key(&(4, 0)), "a template that is not there");
        let counts = manifest.schemas[&(5, 0)].properties.iter().map(|property| property.count);
        assert_eq!(counts.collect::<Vec<_>>(), [Amount::None, Amount::Fixed(2)]);
        assert_eq!(manifest.maps["B"].name(1, 3).as_deref(), Ok("One"));
    }

    #[test]
    fn many_attributes_and_namespaces_are_refused() {
        let of = |what: &str, inside: &str| {
            let provider = "<provider guid='{00000000-0000-0000-0000-000000000001}'/>";
            Manifest::read(&format!("<m {what}>{inside}{provider}</m>")).map(|manifests| manifests.len())
        };
        let many = |count, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(" ");
        let attributes = |count| many(count, |number| format!("a{number}=''"));
        let namespaces = |count| many(count, |number| format!("xmlns:n{number}=\"u{number}\""));
        assert_eq!((of(&attributes(256), ""), of(&namespaces(256), "")), (Ok(1), Ok(1)));
        assert!(of(&attributes(257), "").is_err() && of(&namespaces(257), "").is_err());
        let nested: String = (0..300).map(|number| format!("<a xmlns:n{number}='u'>")).collect();
        assert!(of("", &(nested + &"</a>".repeat(300))).is_err());
        // A comment with as many signs of equality is none.
        assert_eq!(of("", &format!("<!-- {} -->", "=".repeat(3000))), Ok(1));
    }

    #[test]
    fn a_provider_inside_of_another_is_read_once() {
        let guid = |number: usize| format!("{{00000000-0000-0000-0000-{number:012x}}}");
        let (depth, events) = (1_000, 20_000);
        let open: String = (1..=depth).map(|level| format!("<provider guid=\"{}\">", guid(level))).collect();
        let event = "<event value=\"1\"/>".repeat(events);
        let begin = std::time::Instant::now();
        let xml = format!(
            "<x><provider>{open}{event}{}</provider><provider guid=\"{}\"/></x>",
            "</provider>".repeat(depth),
            guid(7)
        );
        let manifests = Manifest::read(&xml).expect("XML");
        let providers: Vec<u128> = manifests.iter().map(|manifest| manifest.provider.as_u128()).collect();
        assert_eq!((providers, manifests[0].schemas.len()), (vec![1, 7], 1));
        // Less than a second; it was minutes.
        assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    }

    #[test]
    fn documents_with_a_definition_of_their_own_are_refused() {
        let bomb = r#"<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>"#;
        assert!(Manifest::read(bomb).is_err() && Manifest::read("<x>").is_err());
        assert_eq!(Manifest::read("<x/>").map(|manifests| manifests.len()), Ok(0));
    }

    #[test]
    fn files_are_of_either_encoding() {
        let text = "<x a=\"\u{e4}\"/>";
        let wide = |bytes: fn(u16) -> [u8; 2]| {
            "\u{feff}".chars().chain(text.chars()).flat_map(|c| bytes(c as u16)).collect::<Vec<u8>>()
        };
        assert_eq!(text_of(text.as_bytes()), text);
        assert_eq!(text_of(&[b"\xef\xbb\xbf", text.as_bytes()].concat()), text);
        assert_eq!([text_of(&wide(u16::to_le_bytes)), text_of(&wide(u16::to_be_bytes))], [text, text]);
        for cut in [&b""[..], b"\xff", b"\xff\xfe", b"\xff\xfe<"] {
            assert!(text_of(cut).len() <= 3);
        }
    }

    #[test]
    fn parts_have_a_head() {
        let chunk = Chunk::read(b"\x01\x00\x00\x5b\x02\x00\x01\x00<x/>").expect("a part");
        assert_eq!((chunk.total, chunk.number, chunk.xml), (2, 1, &b"<x/>"[..]));
        assert_eq!(Chunk::read(b"\x02\x00\x00\x5b\x02\x00\x01\x00<x/>"), None);
    }
}
