//! Rows as Arrow data, handed on without a copy (the Arrow PyCapsule interface).

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// Rows in batches of the same columns.
#[pyclass(frozen, module = "pfnset._pfnset")]
pub struct Batches {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Batches {
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Batches {
        Batches { schema, batches }
    }
}

fn wrong(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Batches {
    /// A stream over all batches; each call begins at the first. Another schema than that of the batches is not made: who asks for
    /// one converts what it gets, as the protocol says.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(wrong)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Bytes of memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// Name and type of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        self.schema.fields().iter().map(|field| (field.name().clone(), field.data_type().to_string())).collect()
    }

    /// So many rows from one on, as objects of Python.
    fn rows<'py>(&self, py: Python<'py>, from: usize, count: usize) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        let (mut skip, mut left) = (from, count);
        for batch in &self.batches {
            let begin = skip.min(batch.num_rows());
            let end = begin.saturating_add(left).min(batch.num_rows());
            skip -= begin;
            left -= end - begin;
            for row in begin..end {
                let object = PyDict::new(py);
                for (field, column) in self.schema.fields().iter().zip(batch.columns()) {
                    object.set_item(field.name(), value(py, column.as_ref(), row)?)?;
                }
                rows.append(object)?;
            }
        }
        Ok(rows)
    }
}

/// A value of a column as an object of Python.
fn value<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) || column.data_type() == &DataType::Null {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Dictionary(..) => {
            let column = column.as_dictionary::<Int32Type>();
            value(py, column.values().as_ref(), usize::try_from(column.keys().value(row)).unwrap_or(usize::MAX))
        }
        DataType::Utf8 => column.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::List(_) => {
            let values = column.as_list::<i32>().value(row);
            let list = PyList::empty(py);
            (0..values.len()).try_for_each(|place| list.append(value(py, values.as_ref(), place)?))?;
            Ok(list.into_any())
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let (names, values) = (entries.column(0), entries.column(1));
            let object = PyDict::new(py);
            (0..entries.len()).try_for_each(|place| {
                object.set_item(value(py, names.as_ref(), place)?, value(py, values.as_ref(), place)?)
            })?;
            Ok(object.into_any())
        }
        other => Err(PyTypeError::new_err(format!("values of type {other} are for Arrow alone"))),
    }
}
