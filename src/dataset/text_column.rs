//! A column of texts as a column chunk of Parquet. Arrow has the texts as numbers into a dictionary, and Parquet stores nearly
//! the same. But the writer of the crate `parquet` looks up the text of every row, which took a third of the time of an
//! export. Here each different text is looked up once.
//!
//! A chunk is a page with the different texts, then data pages of version 1 with numbers into them (RLE_DICTIONARY). Layouts:
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use arrow_array::types::Int32Type;
use arrow_array::{Array, DictionaryArray, StringArray};
use bytes::Bytes;
use foldhash::HashMap as FastMap;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType, Type, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::{self, Write};
use zstd::bulk::Compressor;

/// Rows of a data page, as many as the crate `parquet` takes.
const PAGE_ROWS: usize = 20_000;
/// Longer texts are no least or greatest text of a page: statistics are read whole.
const LONGEST_IN_STATISTICS: usize = 64;

/// A column chunk that is encoded, for a row group.
pub struct TextColumn {
    bytes: Bytes,
    close: ColumnCloseResult,
}

impl TextColumn {
    /// Encodes a column. With `statistics` it has the least and the greatest text of each page.
    ///
    /// # Errors
    /// A number without a text, which would be an error of this program.
    pub fn new(
        descriptor: &ColumnDescPtr,
        column: &DictionaryArray<Int32Type>,
        statistics: bool,
        level: ZstdLevel,
    ) -> Result<TextColumn, ParquetError> {
        let texts = column.values().as_any().downcast_ref::<StringArray>();
        let texts = texts.ok_or_else(|| ParquetError::General("a dictionary of something else than texts".into()))?;
        let mut packer = Packer { compressor: Compressor::new(level.compression_level())? };
        let mut listed = Listed::new(texts);
        let (mut pages, mut ranges) = (Vec::new(), Vec::new());
        for begin in (0..column.len()).step_by(PAGE_ROWS) {
            let rows = begin..column.len().min(begin + PAGE_ROWS);
            let numbers = listed.numbers(column, rows.clone())?;
            if statistics {
                ranges.push(listed.range(&numbers.numbers, rows.len()));
            }
            pages.push((rows.len(), packer.data_page(&numbers, &listed, descriptor.max_def_level() > 0)?));
        }
        let dictionary = packer.dictionary_page(&listed.texts)?;
        chunk(descriptor, Compression::ZSTD(level), dictionary, pages, ranges)
    }

    /// Writes the chunk as the next column of a row group.
    ///
    /// # Errors
    /// Those of the file.
    pub fn append_to_row_group<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        group.append_column(&self.bytes, self.close)
    }
}

/// The different texts of a chunk in the order in which they came, each once.
struct Listed<'t> {
    all: &'t StringArray,
    /// By number in Arrow's dictionary; `None` of a text that no row had so far.
    numbers: Vec<Option<u32>>,
    by_text: FastMap<&'t str, u32>,
    texts: Vec<&'t str>,
}

/// The rows of a page.
struct Numbers {
    /// Numbers of the rows that have a text.
    numbers: Vec<u32>,
    /// 1 for each row with a text, 0 for null; empty when all have one.
    levels: Vec<u32>,
    rows: usize,
}

/// Least and greatest text of a page, and how many rows are null.
struct Range<'t> {
    ends: Option<(&'t str, &'t str)>,
    nulls: usize,
}

impl<'t> Listed<'t> {
    fn new(all: &'t StringArray) -> Listed<'t> {
        Listed { all, numbers: vec![None; all.len()], by_text: FastMap::default(), texts: Vec::new() }
    }

    #[inline]
    fn number(&mut self, key: i32) -> Option<u32> {
        match self.numbers.get(key as usize) {
            Some(None) => Some(self.add(key as usize)),
            known => known.copied().flatten(),
        }
    }

    #[cold]
    fn add(&mut self, key: usize) -> u32 {
        // Arrow's dictionary can have a text twice, as of processes with the same name and id.
        let (text, next) = (self.all.value(key), self.texts.len() as u32);
        let number = *self.by_text.entry(text).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.numbers.get_mut(key).into_iter().for_each(|slot| *slot = Some(number));
        number
    }

    fn numbers(
        &mut self,
        column: &DictionaryArray<Int32Type>,
        rows: std::ops::Range<usize>,
    ) -> Result<Numbers, ParquetError> {
        let keys = column.keys();
        let values = keys.values().get(rows.clone()).unwrap_or_default();
        let unknown = || ParquetError::General("a number without a text".into());
        let Some(nulls) = keys.nulls().map(|nulls| nulls.slice(rows.start, rows.len())) else {
            let numbers = values.iter().map(|&key| self.number(key).ok_or_else(unknown));
            return Ok(Numbers { numbers: numbers.collect::<Result<_, _>>()?, levels: Vec::new(), rows: rows.len() });
        };
        let mut numbers = Vec::with_capacity(rows.len());
        for (&key, has_text) in values.iter().zip(&nulls) {
            if has_text {
                numbers.push(self.number(key).ok_or_else(unknown)?);
            }
        }
        let levels = if nulls.null_count() == 0 { Vec::new() } else { nulls.iter().map(u32::from).collect() };
        Ok(Numbers { numbers, levels, rows: rows.len() })
    }

    fn range(&self, numbers: &[u32], rows: usize) -> Range<'t> {
        let mut ends: Option<(&str, &str)> = None;
        for of_one in numbers.chunk_by(|a, b| a == b) {
            let text = of_one.first().and_then(|number| self.texts.get(*number as usize)).copied().unwrap_or_default();
            ends = Some(ends.map_or((text, text), |(least, greatest)| (least.min(text), greatest.max(text))));
        }
        Range { ends, nulls: rows - numbers.len() }
    }

    /// Bits of a number of these texts.
    fn width(&self) -> u32 {
        (self.texts.len() as u32).saturating_sub(1).checked_ilog2().map_or(0, |bits| bits + 1)
    }
}

/// Compresses pages.
struct Packer {
    compressor: Compressor<'static>,
}

impl Packer {
    fn compress(&mut self, raw: &[u8]) -> Result<Bytes, ParquetError> {
        Ok(self.compressor.compress(raw)?.into())
    }

    /// Levels after their length, where rows can be null; then the width of numbers in one byte, and the numbers.
    fn data_page(
        &mut self,
        page: &Numbers,
        listed: &Listed<'_>,
        nullable: bool,
    ) -> Result<CompressedPage, ParquetError> {
        let mut raw = Vec::new();
        if nullable {
            raw.extend([0; 4]);
            match page.levels.is_empty() {
                true => run(1, page.rows, 1, &mut raw),
                false => hybrid(&page.levels, 1, &mut raw),
            }
            let length = (raw.len() as u32 - 4).to_le_bytes();
            raw.iter_mut().zip(length).for_each(|(slot, byte)| *slot = byte);
        }
        raw.push(listed.width() as u8);
        hybrid(&page.numbers, listed.width(), &mut raw);
        let data = Page::DataPage {
            buf: self.compress(&raw)?,
            num_values: page.rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        Ok(CompressedPage::new(data, raw.len()))
    }

    /// Each text after its length.
    fn dictionary_page(&mut self, texts: &[&str]) -> Result<CompressedPage, ParquetError> {
        let mut raw = Vec::with_capacity(texts.iter().map(|text| text.len() + 4).sum());
        for text in texts {
            raw.extend((text.len() as u32).to_le_bytes());
            raw.extend(text.as_bytes());
        }
        let (buf, num_values) = (self.compress(&raw)?, texts.len() as u32);
        let page = Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false };
        Ok(CompressedPage::new(page, raw.len()))
    }
}

/// A header: how many, and in the lowest bit whether as packed groups.
fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The same value many times.
fn run(value: u32, times: usize, width: u32, out: &mut Vec<u8>) {
    varint(times << 1, out);
    out.extend(value.to_le_bytes().iter().take(width.div_ceil(8) as usize));
}

/// Values of this number of bits in groups of 8, the last one filled with 0. More than 63 groups at once are unusual.
fn packed(values: &[u32], width: u32, out: &mut Vec<u8>) {
    for values in values.chunks(63 * 8) {
        varint(values.len().div_ceil(8) << 1 | 1, out);
        let end = out.len() + values.len().div_ceil(8) * width as usize;
        let (mut bits, mut count) = (0u64, 0);
        for &value in values {
            bits |= u64::from(value) << count;
            count += width;
            if count >= 32 {
                out.extend((bits as u32).to_le_bytes());
                bits >>= 32;
                count -= 32;
            }
        }
        out.extend(bits.to_le_bytes().iter().take(count.div_ceil(8) as usize));
        out.resize(end, 0);
    }
}

/// Values as runs, and where they differ as packed groups: the encoding RLE.
fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    // Values from `start` on are still to be written.
    let (mut start, mut at) = (0usize, 0usize);
    for same in values.chunk_by(|a, b| a == b) {
        let fill = (at - start).next_multiple_of(8) - (at - start); // this many complete the group before
        if same.len() >= fill + 8 {
            packed(values.get(start..at + fill).unwrap_or_default(), width, out);
            run(same.first().copied().unwrap_or_default(), same.len() - fill, width, out);
            start = at + same.len();
        }
        at += same.len();
    }
    packed(values.get(start..).unwrap_or_default(), width, out);
}

/// What the row group has to know of the pages.
fn chunk(
    descriptor: &ColumnDescPtr,
    compression: Compression,
    dictionary: CompressedPage,
    pages: Vec<(usize, CompressedPage)>,
    ranges: Vec<Range<'_>>,
) -> Result<TextColumn, ParquetError> {
    let rows: usize = pages.iter().map(|(rows, _)| rows).sum();
    let count = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
    let stats = vec![
        count(PageType::DICTIONARY_PAGE, Encoding::PLAIN, 1),
        count(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY, pages.len() as i32),
    ];
    let Written { bytes, uncompressed, first_data, offset_index } = write(dictionary, pages)?;
    let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
    let mut metadata = ColumnChunkMetaData::builder(descriptor.clone())
        .set_compression(compression)
        .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
        .set_page_encoding_stats(stats)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(uncompressed as i64)
        .set_num_values(rows as i64)
        .set_dictionary_page_offset(Some(0))
        .set_data_page_offset(first_data as i64);
    let (statistics, column_index) = statistics(&ranges)?.unzip();
    if let Some(statistics) = statistics {
        metadata = metadata.set_statistics(statistics);
    }
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: rows as u64,
        metadata: metadata.build()?,
        bloom_filter: None,
        column_index,
        offset_index: Some(offset_index),
    };
    Ok(TextColumn { bytes, close })
}

/// Pages in the form in which they are in the file.
struct Written {
    bytes: Bytes,
    uncompressed: usize,
    /// Where the first data page begins.
    first_data: u64,
    offset_index: OffsetIndexMetaData,
}

fn write(dictionary: CompressedPage, pages: Vec<(usize, CompressedPage)>) -> Result<Written, ParquetError> {
    let mut sink = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut sink);
    let spec = writer.write_page(dictionary)?;
    let (mut uncompressed, first_data) = (spec.uncompressed_size, spec.bytes_written);
    let mut index = OffsetIndexBuilder::new();
    for (rows, page) in pages {
        let spec = writer.write_page(page)?;
        uncompressed += spec.uncompressed_size;
        index.append_row_count(rows as i64);
        index.append_offset_and_size(spec.offset as i64, spec.compressed_size as i32);
    }
    let bytes = sink.into_inner().map_err(|error| ParquetError::External(Box::new(io::Error::other(error))))?;
    Ok(Written { bytes: bytes.into(), uncompressed, first_data, offset_index: index.build() })
}

type ColumnIndex = parquet::file::page_index::column_index::ColumnIndexMetaData;

/// Statistics of the chunk and of each page; none without ranges, and none when a text is long.
fn statistics(ranges: &[Range<'_>]) -> Result<Option<(Statistics, ColumnIndex)>, ParquetError> {
    let is_short = |text: &str| text.len() <= LONGEST_IN_STATISTICS;
    let ends = || ranges.iter().filter_map(|range| range.ends);
    if ranges.is_empty() || !ends().all(|(least, greatest)| is_short(least) && is_short(greatest)) {
        return Ok(None);
    }
    let mut index = ColumnIndexBuilder::new(Type::BYTE_ARRAY);
    for Range { ends, nulls } in ranges {
        let (least, greatest) = ends.unwrap_or_default();
        index.append(ends.is_none(), least.into(), greatest.into(), *nulls as i64, None);
    }
    let least = ends().map(|(least, _)| least).min().map(ByteArray::from);
    let greatest = ends().map(|(_, greatest)| greatest).max().map(ByteArray::from);
    let nulls = ranges.iter().map(|range| range.nulls as u64).sum();
    let all = Statistics::ByteArray(ValueStatistics::new(least, greatest, None, Some(nulls), false));
    Ok(Some((all, index.build()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_cases::cases;
    use arrow_array::Int32Array;
    use arrow_array::cast::AsArray;
    use arrow_schema::{DataType, Field, Schema};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use proptest::prelude::*;
    use std::sync::Arc;

    type Texts = Vec<Option<String>>;

    fn schema(nullable: bool) -> Arc<Schema> {
        let texts = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        Arc::new(Schema::new(vec![Field::new("text", texts, nullable)]))
    }

    /// A file with these row groups, of numbers of texts.
    fn file(texts: &[String], groups: &[Vec<Option<i32>>], nullable: bool) -> Bytes {
        let schema = ArrowSchemaConverter::new().convert(&schema(nullable)).unwrap();
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.root_schema_ptr(), properties).unwrap();
        for group in groups {
            let texts = Arc::new(StringArray::from_iter_values(texts));
            let numbers = match nullable {
                true => Int32Array::from(group.clone()),
                false => Int32Array::from_iter_values(group.iter().flatten().copied()),
            };
            let column = DictionaryArray::try_new(numbers, texts).unwrap();
            let chunk = TextColumn::new(&schema.column(0), &column, true, ZstdLevel::default()).unwrap();
            let mut group = writer.next_row_group().unwrap();
            chunk.append_to_row_group(&mut group).unwrap();
            group.close().unwrap();
        }
        writer.into_inner().unwrap().into()
    }

    fn read(file: &Bytes) -> Texts {
        let batches = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap().build().unwrap();
        let texts = batches.map(|batch| {
            let column = batch.unwrap().column(0).clone();
            column.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Texts>()
        });
        texts.flatten().collect()
    }

    /// Each group is a list of texts by number, each this number of times.
    fn check(texts: &[String], groups: &[Vec<(Option<usize>, usize)>], nullable: bool) {
        let number = |number: &Option<usize>| number.map(|number| (number % texts.len()) as i32);
        let rows = |group: &Vec<(Option<usize>, usize)>| -> Vec<Option<i32>> {
            let kept = group.iter().filter(|(text, _)| nullable || text.is_some());
            kept.flat_map(|(text, times)| std::iter::repeat_n(number(text), *times)).collect()
        };
        let groups: Vec<Vec<Option<i32>>> = groups.iter().map(rows).collect();
        let file = file(texts, &groups, nullable);
        let expected: Texts = groups.iter().flatten().map(|row| row.map(|row| texts[row as usize].clone())).collect();
        assert!(read(&file) == expected, "{groups:?}");
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = reader.parse_and_finish(&file).unwrap();
        for (group, rows) in metadata.row_groups().iter().zip(&groups) {
            assert_eq!(group.num_rows() as usize, rows.len());
            let present = || rows.iter().flatten().map(|row| texts[*row as usize].as_bytes());
            let statistics = group.column(0).statistics();
            if present().any(|text| text.len() > LONGEST_IN_STATISTICS) || rows.is_empty() {
                continue;
            }
            let statistics = statistics.unwrap();
            assert_eq!(statistics.min_bytes_opt(), present().min());
            assert_eq!(statistics.max_bytes_opt(), present().max());
            assert_eq!(statistics.null_count_opt(), Some(rows.iter().filter(|row| row.is_none()).count() as u64));
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn the_edges() {
        let two = texts(&["b", "a"]);
        check(&two, &[vec![], vec![(None, 3)], vec![(Some(0), 1)]], true);
        check(&two, &[vec![(Some(0), 7), (Some(1), 9), (Some(0), 20_000)]], false);
        check(&texts(&["x", "x", "y"]), &[vec![(Some(1), 2), (Some(0), 3), (Some(2), 1)]], true);
        check(&texts(&["", &"ä".repeat(40)]), &[vec![(Some(0), 2), (Some(1), 3)]], false);
        let many: Vec<String> = (0..70_000).map(|number| format!("{number}")).collect();
        let each: Vec<_> = (0..many.len()).map(|number| (Some(number * 7), 1)).collect();
        check(&many, &[each], false);
    }

    #[test]
    fn pages_tell_their_least_and_greatest_text() {
        let names = texts(&["a", "b", "c"]);
        let rows: Vec<_> = (0..3).flat_map(|text| vec![Some(text); PAGE_ROWS]).chain([None; 5]).collect();
        let file = file(&names, &[rows], true);
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = reader.parse_and_finish(&file).unwrap();
        let index = metadata.page_index_for_row_group(0);
        let ColumnIndex::BYTE_ARRAY(pages) = index.column_index(0).unwrap() else { panic!("no index of texts") };
        let ends: Vec<_> = (0..4).map(|page| (pages.min_value(page), pages.max_value(page))).collect();
        let one = |text: &'static str| (Some(text.as_bytes()), Some(text.as_bytes()));
        assert_eq!(ends, [one("a"), one("b"), one("c"), (None, None)]);
        assert!(pages.is_null_page(3));
    }

    proptest! {
        #![proptest_config(cases(24))]

        #[test]
        fn what_is_written_is_read(
            texts in prop::collection::vec("[a-c]{0,3}|[a-z ]{60,70}", 1..40),
            groups in prop::collection::vec(
                prop::collection::vec((prop::option::weighted(0.8, 0usize..40), prop_oneof![1usize..20, 1usize..9_000]), 0..20),
                1..3,
            ),
            nullable: bool,
        ) {
            check(&texts, &groups, nullable);
        }
    }
}
