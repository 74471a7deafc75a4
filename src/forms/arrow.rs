//! The rows of an answer as Arrow columns: those of CSV, each with a type.
//!
//! A column has one type for all its values. Numbers that stand beside words, as ids beside `n/a`, are texts there.

use crate::analysis::table::{Field, Forms, Value};
use crate::answer::Rows;
use crate::forms::cells::{plain, written};
use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, NullArray, RecordBatch, RecordBatchOptions, UInt64Array,
};
use arrow_schema::{ArrowError, Field as ArrowField, Schema};
use std::borrow::Cow;
use std::sync::Arc;

/// Fields of this form.
const WRITTEN: [Forms; 3] = [Forms::All, Forms::Csv, Forms::Alone];

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Flag,
    Integer,
    /// Addresses, and numbers above the signed ones.
    Unsigned,
    Real,
    Text,
    Texts,
    Numbers,
}

impl Kind {
    fn of(value: &Value) -> Kind {
        match value {
            Value::Nothing | Value::Absent | Value::Unknown | Value::Object(_) | Value::Course(_) => Kind::Nothing,
            Value::Text(_) | Value::More(..) => Kind::Text,
            Value::List(_) => Kind::Texts,
            Value::Numbers(_) => Kind::Numbers,
            Value::Flag(_) => Kind::Flag,
            Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
                if i64::try_from(*number).is_ok() {
                    Kind::Integer
                } else {
                    Kind::Unsigned
                }
            }
            Value::Count(_) | Value::Difference(_) | Value::Size(_) => Kind::Integer,
            Value::SizeDifference(_) | Value::DurationDifference(_) => Kind::Integer,
            Value::Share(_) | Value::Points(_) | Value::Change(_) | Value::Decimal(_) => Kind::Real,
            Value::Seconds(_) | Value::ExactSeconds(_) => Kind::Real,
            Value::Hex(_) => Kind::Unsigned,
        }
    }

    /// One that can hold both.
    fn of_both(self, other: Kind) -> Kind {
        match (self, other) {
            (one, other) if one == other => one,
            (Kind::Nothing, kind) | (kind, Kind::Nothing) => kind,
            (Kind::Integer, Kind::Real) | (Kind::Real, Kind::Integer) => Kind::Real,
            (Kind::Integer, Kind::Unsigned) | (Kind::Unsigned, Kind::Integer) => Kind::Unsigned,
            _ => Kind::Text,
        }
    }
}

/// All rows of an answer's tables, which have the same fields.
///
/// # Errors
/// A table with other fields than the first, which would be an error of this program.
pub(crate) fn rows(tables: &[Rows<'_>]) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<Field> = tables.first().map(|first| first.records.fields.clone()).unwrap_or_default();
    let names = fields.iter().filter(|field| WRITTEN.contains(&field.forms)).map(|field| field.name);
    let mut columns: Vec<(&str, Vec<Value>)> = names.map(|name| (name, Vec::new())).collect();
    let mut count = 0;
    for table in tables {
        if table.records.fields != fields {
            return Err(ArrowError::SchemaError("the tables of an answer have other fields".into()));
        }
        table.records.each(|record| {
            count += 1;
            let values = written(&fields, record, &WRITTEN);
            columns.iter_mut().zip(values).for_each(|((_, column), (_, value))| column.push(value.clone()));
            Ok::<(), ArrowError>(())
        })?;
    }
    let arrays: Vec<(&str, ArrayRef)> = columns.into_iter().map(|(name, values)| (name, array(&values))).collect();
    let schema = arrays.iter().map(|(name, array)| ArrowField::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(schema.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(schema, arrays.into_iter().map(|(_, array)| array).collect(), &options)
}

fn array(values: &[Value]) -> ArrayRef {
    let kind = values.iter().map(Kind::of).fold(Kind::Nothing, Kind::of_both);
    match kind {
        Kind::Nothing => Arc::new(NullArray::new(values.len())),
        Kind::Flag => Arc::new(values.iter().map(flag).collect::<BooleanArray>()),
        Kind::Integer => {
            let signed = |value: &Value| integer(value).and_then(|number| i64::try_from(number).ok());
            Arc::new(values.iter().map(signed).collect::<Int64Array>())
        }
        Kind::Unsigned if values.iter().filter_map(integer).all(|number| number >= 0) => {
            let unsigned = |value: &Value| integer(value).and_then(|number| u64::try_from(number).ok());
            Arc::new(values.iter().map(unsigned).collect::<UInt64Array>())
        }
        Kind::Real => Arc::new(values.iter().map(real).collect::<Float64Array>()),
        Kind::Texts => texts(values),
        Kind::Numbers => numbers(values),
        Kind::Text | Kind::Unsigned => {
            let mut column = StringDictionaryBuilder::<Int32Type>::new();
            values.iter().for_each(|value| match Kind::of(value) {
                Kind::Nothing => column.append_null(),
                _ => column.append_value(text(value)),
            });
            Arc::new(column.finish())
        }
    }
}

/// A text as it is: no terminal reads it here.
fn text(value: &Value) -> Cow<'_, str> {
    if let Value::Text(text) = value { Cow::Borrowed(text) } else { plain(value) }
}

fn flag(value: &Value) -> Option<bool> {
    if let Value::Flag(flag) = value { Some(*flag) } else { None }
}

fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) | Value::CountIfAny(number) | Value::Bytes(number) | Value::Duration(number) => {
            Some((*number).into())
        }
        Value::Count(number) | Value::Difference(number) | Value::Size(number) => Some((*number).into()),
        Value::SizeDifference(number) | Value::DurationDifference(number) => Some((*number).into()),
        Value::Hex(number) => Some((*number).into()),
        _ => None,
    }
}

fn real(value: &Value) -> Option<f64> {
    match value {
        Value::Share(number) | Value::Points(number) | Value::Change(number) | Value::Decimal(number) => Some(*number),
        Value::Seconds(time) | Value::ExactSeconds(time) => Some(time.seconds()),
        value => integer(value).map(|number| number as f64),
    }
}

fn texts(values: &[Value]) -> ArrayRef {
    let mut column = ListBuilder::new(StringBuilder::new());
    for value in values {
        if let Value::List(texts) = value {
            texts.iter().for_each(|text| column.values().append_value(text));
        }
        column.append(matches!(value, Value::List(_)));
    }
    Arc::new(column.finish())
}

fn numbers(values: &[Value]) -> ArrayRef {
    let mut column = ListBuilder::new(UInt64Builder::new());
    for value in values {
        if let Value::Numbers(numbers) = value {
            column.values().append_slice(numbers);
        }
        column.append(matches!(value, Value::Numbers(_)));
    }
    Arc::new(column.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::table::Table;
    use crate::units::Nanos;
    use arrow_schema::DataType;

    fn column(values: Vec<Value>) -> (DataType, RecordBatch) {
        let table = Table {
            fields: vec![Field::only("j", Forms::Json), Field::new("x")],
            records: values.into_iter().map(|value| vec![Value::text("only in JSON"), value]).collect(),
            ..Table::default()
        };
        let rows = rows(&[table.clone().into(), table.into()]).unwrap();
        assert_eq!(rows.schema().fields().len(), 1);
        (rows.column(0).data_type().clone(), rows)
    }

    #[test]
    fn a_column_has_one_type_for_all_its_values() {
        let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let list = |of| DataType::List(Arc::new(ArrowField::new_list_field(of, true)));
        for (values, expected) in [
            (vec![], DataType::Null),
            (vec![Value::Nothing], DataType::Null),
            (vec![Value::Nothing, Value::Number(7), Value::Size(-1)], DataType::Int64),
            (vec![Value::Number(u64::MAX), Value::Count(1)], DataType::UInt64),
            (vec![Value::Hex(1)], DataType::UInt64),
            (vec![Value::Count(1), Value::Seconds(Nanos(5))], DataType::Float64),
            (vec![Value::Flag(true), Value::Absent], DataType::Boolean),
            (vec![Value::Flag(true), Value::text("n/a")], text()),
            (vec![Value::Number(u64::MAX), Value::Count(-1)], text()),
            (vec![Value::List(vec!["a", "b"])], list(DataType::Utf8)),
            (vec![Value::Numbers(vec![1])], list(DataType::UInt64)),
        ] {
            let rows = values.len();
            let (found, batch) = column(values);
            assert_eq!((found, batch.num_rows()), (expected, 2 * rows));
        }
    }

    #[test]
    fn no_value_is_lost() {
        let (_, batch) = column(vec![Value::Number(u64::MAX), Value::Nothing, Value::Hex(0)]);
        let numbers: Vec<Option<u64>> =
            batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap().iter().collect();
        assert_eq!(numbers, [[Some(u64::MAX), None, Some(0)]; 2].concat());
        let (_, batch) = column(vec![Value::Size(i64::MIN), Value::Share(0.5)]);
        let reals: Vec<Option<f64>> = batch.column(0).as_any().downcast_ref::<Float64Array>().unwrap().iter().collect();
        assert_eq!(reals, [[Some(i64::MIN as f64), Some(0.5)]; 2].concat());
    }
}
