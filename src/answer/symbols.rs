//! The answer of `pfnset symbols`. Wire format: docs/json.md, schema `pfnset.symbols`.

use crate::analysis::stacks::{SymbolNeeds, SymbolUse};
use crate::analysis::table::{Column, Field, Fit, Line, Table, Value};
use crate::answer::answer_type::Answer;
use crate::answer::json_facts::{Fact, Facts};
use crate::answer::numbers;
use crate::symbols::PdbSearch;
use crate::units::counted;
use std::collections::BTreeSet;

/// The answer of `pfnset symbols`.
pub fn answer(needs: &SymbolNeeds) -> Answer<'_> {
    let named: u64 = needs.images.iter().map(|image| image.named).sum();
    let facts = Facts::of_trace()
        .is("stacks", needs.stacks)
        .is("folders", needs.folders)
        .is("frames", needs.frames)
        .is("named", named)
        .has("images", Fact::table(|| images(needs)));
    Answer {
        warnings: needs.warnings.clone(),
        facts,
        tables: vec![images(needs).titled(title(needs, named)).into()],
        ..Answer::new("pfnset.symbols")
    }
}

/// Symbol files that were not found, a line `NAME,GUIDAGE,1` each, meant for symchk; not tried with it.
pub fn manifest(needs: &SymbolNeeds) -> Answer<'_> {
    let missing = needs.images.iter().filter(|image| found(image).is_none()).filter_map(|image| image.pdb.as_ref());
    // A comma or a line break in a name would be another entry.
    let lines: BTreeSet<String> = missing
        .filter(|pdb| !pdb.name.contains([',', '\r', '\n']))
        .map(|pdb| format!("{},{},1", pdb.name, pdb.key()))
        .collect();
    let records = lines.into_iter().map(|line| vec![Value::Text(line)]).collect();
    let table = Table { fields: vec![Field::new("pdb")], records, ..Table::default() };
    Answer { warnings: needs.warnings.clone(), tables: vec![table.into()], ..Answer::new("pfnset.symbols") }
}

/// `1,234 stacks have 20,000 frames in 40 images: 5.1 % have the name of a function, by 2 symbol files of 38 in 3 folders`.
fn title(needs: &SymbolNeeds, named: u64) -> String {
    let files = |only_found: bool| {
        let images = needs.images.iter().filter(|image| !only_found || found(image).is_some());
        images.filter_map(|image| image.pdb.as_ref()).collect::<BTreeSet<_>>().len()
    };
    let stacks = counted(needs.stacks, "stack has", "stacks have");
    let frames = counted(needs.frames, "frame", "frames");
    let images = counted(needs.images.len() as u64, "image", "images");
    let share = numbers::percent(named, needs.frames);
    let folders = counted(needs.folders as u64, "folder", "folders");
    format!(
        "{stacks} {frames} in {images}; {share} have the name of a function; {} of {} symbol files found in {folders}",
        files(true),
        files(false)
    )
}

fn found(image: &SymbolUse) -> Option<String> {
    match &image.search {
        Some(PdbSearch::Found(path)) => Some(path.to_string_lossy().into_owned()),
        _ => None,
    }
}

fn images(needs: &SymbolNeeds) -> Table {
    let fields = ["image", "pdb", "guid", "age", "key", "frames", "named", "found"];
    let record = |image: &SymbolUse| {
        let pdb = image.pdb.as_ref();
        vec![
            Value::text(&*image.module),
            Value::maybe(pdb.map(|pdb| &*pdb.name), Value::text),
            Value::maybe(pdb.map(|pdb| pdb.guid.to_string()), Value::Text),
            Value::maybe(pdb.map(|pdb| u64::from(pdb.age)), Value::Number),
            Value::maybe(pdb.map(|pdb| pdb.key()), Value::Text),
            Value::count(image.frames),
            Value::count(image.named),
            Value::maybe(found(image), Value::Text),
        ]
    };
    let line = |image: &SymbolUse| {
        let place = match &image.pdb {
            None => "the trace does not name it".to_owned(),
            Some(_) => found(image).unwrap_or_else(|| "not found".to_owned()),
        };
        Line::new([
            Value::text(&*image.module),
            Value::count(image.frames),
            Value::share(image.frames, needs.frames),
            Value::count(image.named),
            Value::maybe(image.pdb.as_ref().map(|pdb| &*pdb.name), Value::text),
            Value::maybe(image.pdb.as_ref().map(|pdb| pdb.key()), Value::Text),
            Value::Text(place),
        ])
    };
    let columns = vec![
        Column::text("Image"),
        Column::number("Frames"),
        Column::number("Share").fit(Fit::Leaves(0)),
        Column::number("With name"),
        Column::text("Symbol file"),
        // A number is never cut, and what was found is what is asked for.
        Column::number("GUID and age").fit(Fit::Spare(0)),
        Column::text("Found"),
    ];
    Table {
        fields: fields.map(Field::new).to_vec(),
        records: needs.images.iter().map(record).collect(),
        columns,
        lines: needs.images.iter().map(line).collect(),
        ..Table::default()
    }
}
