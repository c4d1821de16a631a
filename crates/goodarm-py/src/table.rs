//! Tables between Rust and Python: Arrow, by its C stream.

use std::sync::Arc;

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, UInt64Array,
};
use arrow_json::WriterBuilder;
use arrow_json::writer::LineDelimited;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take_record_batch;
use goodarm_data::table::TableColumn;
use pyo3::exceptions::{PyImportError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use crate::errors::unknown;

/// Named columns. Libraries with Arrow's C stream take it as it is: `polars.DataFrame(table)`,
/// `pyarrow.table(table)`.
#[pyclass(frozen, name = "Table", module = "goodarm")]
pub(crate) struct PyTable(RecordBatch);

impl PyTable {
    pub(crate) fn new(columns: Vec<(String, TableColumn)>) -> Self {
        let arrays = columns.into_iter().map(|(name, column)| (name, array(column)));
        Self::of_arrays(arrays.collect())
    }

    pub(crate) fn of_arrays(columns: Vec<(String, ArrayRef)>) -> Self {
        let field = |(name, array): &(String, ArrayRef)| {
            Field::new(name, array.data_type().clone(), array.null_count() > 0)
        };
        let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Self(RecordBatch::try_new(Arc::new(schema), arrays).expect("columns of one length"))
    }

    /// A table with only these rows.
    pub(crate) fn with_rows(&self, rows: impl Iterator<Item = usize>) -> Self {
        let rows = UInt64Array::from_iter_values(rows.map(|row| row as u64));
        Self(take_record_batch(&self.0, &rows).expect("the rows are there"))
    }

    fn array(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            let names = self.column_names();
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            PyKeyError::new_err(unknown("column", name, &known))
        })
    }
}

fn array(column: TableColumn) -> ArrayRef {
    match column {
        TableColumn::Texts(values) => Arc::new(LargeStringArray::from(values)),
        TableColumn::Reals(values) => Arc::new(Float64Array::from(values)),
        TableColumn::Integers(values) => Arc::new(Int64Array::from(values)),
        TableColumn::Flags(values) => Arc::new(BooleanArray::from(values)),
    }
}

#[pymethods]
impl PyTable {
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = std::iter::once(Ok::<_, ArrowError>(self.0.clone()));
        let reader = RecordBatchIterator::new(batches, self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// A column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.array(name)?;
        (0..array.len())
            .map(|row| cell(py, array, row))
            .collect::<PyResult<Vec<_>>>()
            .and_then(|cells| PyList::new(py, cells))
    }

    /// A row as a dict, by its number.
    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        if row >= self.0.num_rows() {
            let message = format!("there is no row {row} of {}", self.0.num_rows());
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        let dict = PyDict::new(py);
        for (field, array) in self.0.schema().fields().iter().zip(self.0.columns()) {
            dict.set_item(field.name(), cell(py, array, row)?)?;
        }
        Ok(dict)
    }

    /// A list of dicts, one for each row.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        (0..self.0.num_rows()).map(|row| self.row(py, row)).collect()
    }

    /// A `pandas.DataFrame`.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = wanted(py, "pandas")?;
        let columns = PyDict::new(py);
        for name in self.column_names() {
            let is_plain =
                matches!(self.array(&name)?.data_type(), DataType::Float64 | DataType::Int64)
                    && self.array(&name)?.null_count() == 0;
            let column = if is_plain {
                self.to_numpy(py, &name)?
            } else {
                self.__getitem__(py, &name)?.into_any()
            };
            columns.set_item(name, column)?;
        }
        pandas.call_method1("DataFrame", (columns,))
    }

    /// A `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wanted(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// A `pyarrow.Table`.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        wanted(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// A column as a `numpy.ndarray`, with NaN for missing numbers.
    fn to_numpy<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let numpy = wanted(py, "numpy")?;
        let array = self.array(name)?;
        let of_bytes = |bytes: &[u8], kind: &str| {
            numpy.call_method1("frombuffer", (PyBytes::new(py, bytes), kind))
        };
        if let Some(reals) = array.as_any().downcast_ref::<Float64Array>() {
            let value = |value: Option<f64>| value.unwrap_or(f64::NAN).to_le_bytes();
            return of_bytes(&reals.iter().flat_map(value).collect::<Vec<u8>>(), "<f8");
        }
        if let Some(integers) = array.as_any().downcast_ref::<Int64Array>()
            && array.null_count() == 0
        {
            let bytes: Vec<u8> =
                integers.values().iter().flat_map(|value| value.to_le_bytes()).collect();
            return of_bytes(&bytes, "<i8");
        }
        numpy.call_method1("asarray", (self.__getitem__(py, name)?,))
    }

    fn __repr__(&self) -> String {
        format!("<Table: {} rows of {}>", self.0.num_rows(), self.column_names().join(", "))
    }

    /// The first rows, for a notebook.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let escape = py.import("html")?.getattr("escape")?;
        let escaped = |text: &str| escape.call1((text,))?.extract::<String>();
        let mut html = String::from("<table><thead><tr>");
        for name in self.column_names() {
            html += &format!("<th>{}</th>", escaped(&name)?);
        }
        html += "</tr></thead><tbody>";
        for row in 0..self.0.num_rows().min(ROWS_SHOWN) {
            html += "<tr>";
            for array in self.0.columns() {
                let cell = cell(py, array, row)?;
                let text = if cell.is_none() { String::new() } else { cell.str()?.to_string() };
                let short: String = text.chars().take(CHARACTERS_SHOWN).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                html += &format!("<td>{}{dots}</td>", escaped(&short)?);
            }
            html += "</tr>";
        }
        html += "</tbody></table>";
        if self.0.num_rows() > ROWS_SHOWN {
            html += &format!("<p>{} rows in all</p>", self.0.num_rows());
        }
        Ok(html)
    }
}

const ROWS_SHOWN: usize = 20;
const CHARACTERS_SHOWN: usize = 120;

fn cell<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    let any = array.as_any();
    Ok(if let Some(texts) = any.downcast_ref::<LargeStringArray>() {
        texts.value(row).into_pyobject(py)?.into_any()
    } else if let Some(reals) = any.downcast_ref::<Float64Array>() {
        reals.value(row).into_pyobject(py)?.into_any()
    } else if let Some(integers) = any.downcast_ref::<Int64Array>() {
        integers.value(row).into_pyobject(py)?.into_any()
    } else if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        flags.value(row).into_pyobject(py)?.to_owned().into_any()
    } else {
        return Err(PyTypeError::new_err("a column of an unknown kind"));
    })
}

/// Imports an optional package; an exception with advice if it is missing.
fn wanted<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        let missing =
            PyImportError::new_err(format!("{name} is needed for this: pip install {name}"));
        missing.set_cause(py, Some(error));
        missing
    })
}

/// The rows of an object with Arrow's C stream, as lines of JSON.
#[expect(unsafe_code, reason = "Arrow hands over a stream as a pointer")]
pub(crate) fn json_lines(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    let wrong = |error: ArrowError| PyValueError::new_err(format!("the candidates: {error}"));
    // SAFETY: a capsule of this name holds such a stream, by the Arrow PyCapsule interface; `from_raw`
    // takes it out and leaves an empty one behind, which the capsule then frees.
    let reader =
        unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr().cast()) }.map_err(wrong)?;
    object.py().detach(|| {
        let mut writer =
            WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
        for batch in reader {
            writer.write(&batch.map_err(wrong)?).map_err(wrong)?;
        }
        writer.finish().map_err(wrong)?;
        String::from_utf8(writer.into_inner())
            .map_err(|error| PyValueError::new_err(format!("the candidates: {error}")))
    })
}
