//! The columns of a file of samples by their headings, and numbers from cells.

use crate::byte_reader::Narrow;
use crate::code_page::CodePage;
use crate::counter::samples::raw::RawSample;
use crate::counter::type_word::CounterType;
use csv::ByteRecord;

/// A column by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleColumn {
    Name,
    CounterType,
    RawValue,
    BaseValue,
    Ticks,
    TickFrequency,
    HundredNs,
    ObjectTime,
    ObjectFrequency,
    SecondValue,
    MultipleCount,
    TimeBase,
}

/// Heading of the counter's name, and that of its instance's name where both are there.
const COUNTER: &str = "Counter";
const INSTANCE: &str = "Name";

/// SampleColumns with their headings; the first that a file has counts. All but those of the name are headings of one number.
const HEADINGS: [(SampleColumn, &[&str]); 12] = [
    (SampleColumn::Name, &["Path", COUNTER, INSTANCE]),
    (SampleColumn::CounterType, &["CounterType"]),
    (SampleColumn::RawValue, &["RawValue"]),
    (SampleColumn::BaseValue, &["BaseValue"]),
    (SampleColumn::Ticks, &["Timestamp_PerfTime", "TimeStamp"]),
    (SampleColumn::TickFrequency, &["Frequency_PerfTime", "SystemFrequency"]),
    (SampleColumn::HundredNs, &["Timestamp_Sys100NS", "Timestamp100NSec"]),
    (SampleColumn::ObjectTime, &["Timestamp_Object", "CounterTimeStamp"]),
    (SampleColumn::ObjectFrequency, &["Frequency_Object", "CounterFrequency"]),
    (SampleColumn::SecondValue, &["SecondValue"]),
    (SampleColumn::MultipleCount, &["MultipleCount"]),
    (SampleColumn::TimeBase, &["TimeBase"]),
];

/// Where the columns of a file stand.
#[derive(Debug)]
pub struct SampleColumns {
    /// Place and heading by [`HEADINGS`].
    places: [Option<(usize, String)>; HEADINGS.len()],
    headings: Vec<String>,
    /// Columns with another heading of a number that `places` has.
    repeated: Vec<(SampleColumn, usize, String)>,
    /// Place of the instance's name beside that of the counter.
    instance: Option<usize>,
}

/// What is wrong with a cell.
type Wrong = (SampleColumn, String);

fn text(cell: &[u8]) -> String {
    CodePage::default().text(Narrow(cell.trim_ascii()))
}

/// A whole number, also with `0x`.
fn parsed(cell: &str) -> Option<u64> {
    match cell.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => cell.parse().ok(),
    }
}

impl SampleColumns {
    /// Finds the columns.
    pub fn of_headings(record: &ByteRecord) -> Result<SampleColumns, String> {
        let headings: Vec<String> = record.iter().map(text).collect();
        let find = |name: &str| -> Result<Option<(usize, String)>, String> {
            let mut found = headings.iter().enumerate().filter(|(_, heading)| heading.eq_ignore_ascii_case(name));
            let first = found.next().map(|(place, heading)| (place, heading.clone()));
            if found.next().is_some() {
                return Err(format!("column {name} occurs twice"));
            }
            Ok(first)
        };
        let mut places: [Option<(usize, String)>; HEADINGS.len()] = Default::default();
        let mut repeated = Vec::new();
        for (place, (column, names)) in places.iter_mut().zip(HEADINGS) {
            for name in names {
                match find(name)? {
                    Some(found) if place.is_none() => *place = Some(found),
                    Some((other, heading)) if column != SampleColumn::Name => repeated.push((column, other, heading)),
                    _ => {}
                }
            }
        }
        // PowerShell's `Timestamp` is no number of the performance counter: see `number`.
        if places[SampleColumn::SecondValue as usize].is_some() {
            repeated.retain(|(column, ..)| *column != SampleColumn::Ticks);
        }
        // WMI has the instance in its own column: without it samples of all instances would be those of one counter.
        let is_counter = |(_, heading): &&(usize, String)| heading.eq_ignore_ascii_case(COUNTER);
        let has_instance = places[SampleColumn::Name as usize].as_ref().filter(is_counter).is_some();
        let instance = if has_instance { find(INSTANCE)?.map(|(place, _)| place) } else { None };
        let columns = SampleColumns { places, headings, repeated, instance };
        for required in [SampleColumn::Name, SampleColumn::CounterType, SampleColumn::RawValue] {
            if columns.place(required).is_none() {
                let (_, names) = HEADINGS[required as usize];
                return Err(format!("column {} is missing", names.join(" or ")));
            }
        }
        Ok(columns)
    }

    fn place(&self, column: SampleColumn) -> Option<&(usize, String)> {
        self.places.get(column as usize)?.as_ref()
    }

    /// How many columns a row must have.
    pub fn count(&self) -> usize {
        self.headings.len()
    }

    /// The heading of the first column that a short row does not have.
    pub fn first_missing(&self, record: &ByteRecord) -> Option<&str> {
        self.headings.get(record.len()).map(String::as_str)
    }

    /// The heading as it stands in the file.
    pub fn heading(&self, column: SampleColumn) -> &str {
        self.place(column).map_or("", |(_, heading)| heading)
    }

    /// The cell of a column; empty where the file has no such column.
    pub fn cell<'r>(&self, record: &'r ByteRecord, column: SampleColumn) -> &'r [u8] {
        self.place(column).and_then(|(place, _)| record.get(*place)).unwrap_or_default().trim_ascii()
    }

    /// What tells the counter of a row from others: its name, with its instance where that stands apart.
    pub fn name(&self, record: &ByteRecord) -> String {
        let decoded = |cell: &[u8]| CodePage::default().text(Narrow(cell));
        let name = decoded(self.cell(record, SampleColumn::Name));
        let instance = self.instance.and_then(|place| record.get(place)).unwrap_or_default().trim_ascii();
        if instance.is_empty() { name } else { format!("{name} ({})", decoded(instance)) }
    }

    /// The type of a row.
    pub fn counter_type(&self, record: &ByteRecord) -> Result<CounterType, Wrong> {
        let cell = text(self.cell(record, SampleColumn::CounterType));
        CounterType::parse(&cell).map_err(|error| (SampleColumn::CounterType, format!("\"{cell}\" is {error}")))
    }

    /// The number, where no other heading of it has another one in this row. What is no number there is something else, as a date.
    fn agreed(&self, record: &ByteRecord, column: SampleColumn, number: u64) -> Result<u64, Wrong> {
        for (_, place, heading) in self.repeated.iter().filter(|(of, ..)| *of == column) {
            let other = record.get(*place).map(text).and_then(|cell| parsed(&cell));
            if let Some(other) = other.filter(|other| *other != number) {
                return Err((
                    column,
                    format!("{number} is not {other}, as column {heading} says, a heading of the same number"),
                ));
            }
        }
        Ok(number)
    }

    /// The numbers of a row.
    pub fn sample(&self, record: &ByteRecord) -> Result<RawSample, Wrong> {
        let number = |column: SampleColumn| -> Result<Option<u64>, Wrong> {
            let cell = self.cell(record, column);
            if cell.is_empty() {
                return Ok(None);
            }
            let cell = text(cell);
            match parsed(&cell) {
                // PowerShell's `Timestamp` is a local date, which no formula needs.
                None if column == SampleColumn::Ticks && self.place(SampleColumn::SecondValue).is_some() => Ok(None),
                None => Err((column, format!("\"{cell}\" is no whole number from 0 to {}", u64::MAX))),
                Some(number) => self.agreed(record, column, number).map(Some),
            }
        };
        Ok(RawSample {
            counter: number(SampleColumn::RawValue)?,
            base: number(SampleColumn::BaseValue)?,
            ticks: (number(SampleColumn::Ticks)?, number(SampleColumn::TickFrequency)?),
            hundred_ns: number(SampleColumn::HundredNs)?,
            object: (number(SampleColumn::ObjectTime)?, number(SampleColumn::ObjectFrequency)?),
            second: number(SampleColumn::SecondValue)?,
            instances: number(SampleColumn::MultipleCount)?,
            time_base: number(SampleColumn::TimeBase)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_columns() {
        for (number, (column, _)) in HEADINGS.iter().enumerate() {
            assert_eq!(*column as usize, number);
        }
    }
}
