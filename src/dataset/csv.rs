//! A batch as lines of CSV: what is null is empty, instants are RFC 3339, maps and lists JSON.

use crate::event::fields::value_json::quoted;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use std::io::{self, Write};

/// Writes the rows of a batch.
///
/// # Errors
/// Those of the file.
pub fn write<W: Write>(writer: &mut csv::Writer<W>, batch: &RecordBatch) -> io::Result<()> {
    let mut text = String::new();
    for row in 0..batch.num_rows() {
        for column in batch.columns() {
            text.clear();
            if !column.is_null(row) {
                cell(column, row, &mut text);
            }
            writer.write_field(&text)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

fn cell(column: &ArrayRef, row: usize, text: &mut String) {
    use std::fmt::Write;
    // Writing into a text cannot fail.
    let _ = match column.data_type() {
        DataType::Int64 => write!(text, "{}", column.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => write!(text, "0x{:x}", column.as_primitive::<UInt64Type>().value(row)),
        DataType::Float64 => write!(text, "{}", column.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => write!(text, "{}", column.as_boolean().value(row)),
        DataType::Timestamp(..) => {
            let time = column.as_primitive::<TimestampMicrosecondType>();
            match time.value_as_datetime(row) {
                Some(time) => write!(text, "{}Z", time.format("%Y-%m-%dT%H:%M:%S%.6f")),
                None => Ok(()),
            }
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            if let [names, values] = entries.columns() {
                json(names, values, text);
            }
            Ok(())
        }
        DataType::List(_) => {
            json_list(&column.as_list::<i32>().value(row), text);
            Ok(())
        }
        DataType::Dictionary(..) => {
            let texts = column.as_dictionary::<Int32Type>();
            let values = texts.values().as_string::<i32>();
            let number = texts.keys().value(row) as usize;
            text.push_str(if number < values.len() { values.value(number) } else { "" });
            Ok(())
        }
        _ => Ok(()),
    };
}

/// The list of texts.
fn json_list(texts: &ArrayRef, text: &mut String) {
    let Some(texts) = texts.as_string_opt::<i32>() else { return };
    let mut out = vec![b'['];
    for (number, one) in texts.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        quoted(&mut out, one.unwrap_or_default());
    }
    out.push(b']');
    text.push_str(&String::from_utf8(out).unwrap_or_default());
}

/// The object of names and texts.
fn json(names: &ArrayRef, values: &ArrayRef, text: &mut String) {
    let (Some(names), Some(values)) = (names.as_string_opt::<i32>(), values.as_string_opt::<i32>()) else { return };
    let mut out = vec![b'{'];
    for (number, (name, value)) in names.iter().zip(values).enumerate() {
        if number > 0 {
            out.push(b',');
        }
        quoted(&mut out, name.unwrap_or_default());
        out.push(b':');
        match value {
            Some(value) => quoted(&mut out, value),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    text.push_str(&String::from_utf8(out).unwrap_or_default());
}
