//! Flat Parquet files: a text, a number, a boolean or nothing in each cell.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::Candidates;
use super::builder::Builder;
use super::csv_file::object_prefixes;
use super::error::{CandidatesError, FaultKind};
use super::json::push_text;

/// How many rows are in memory besides the candidates.
const BATCH_ROWS: usize = 1024;

pub(super) fn read(file: File, builder: Builder<'_>) -> Result<Candidates, CandidatesError> {
    let path = builder.path.to_owned();
    // The Parquet library panics at some files that are damaged. All it works on is in here and
    // dropped with it, so nothing half done can be seen afterwards.
    let work = AssertUnwindSafe(|| read_trusting(file, builder));
    panic::catch_unwind(work).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(CandidatesError::Parquet { path, message })
    })
}

fn read_trusting(file: File, mut builder: Builder<'_>) -> Result<Candidates, CandidatesError> {
    let path = builder.path;
    let broken = |error: ParquetError| CandidatesError::Parquet {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let kinds = schema
        .columns()
        .iter()
        .map(|column| kind_of(column).ok_or_else(|| unsupported(column, &builder)))
        .collect::<Result<Vec<Kind>, CandidatesError>>()?;
    let names: Vec<String> =
        schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let id_column = builder.check_columns(&names)?;
    if !matches!(kinds[id_column], Kind::Text | Kind::Signed | Kind::Unsigned) {
        return Err(unsupported(&schema.column(id_column), &builder));
    }
    let fields: BTreeSet<Cow<'_, str>> = names.iter().map(Cow::from).collect();
    builder.note_fields(1, &fields);
    let mut rows = Rows { prefixes: object_prefixes(&names), kinds, id_column, next_row: 1 };
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(broken)?;
        let mut columns = rows.columns(group.as_ref()).map_err(broken)?;
        while let count @ 1.. = fill(&mut columns).map_err(broken)? {
            for _ in 0..count {
                rows.push_next(&mut columns, &mut builder)?;
            }
        }
    }
    builder.finish()
}

/// What the values of a column mean.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Text,
}

/// `None` if we cannot say what the values mean in JSON, or if there may be several in a row.
fn kind_of(column: &ColumnDescriptor) -> Option<Kind> {
    if column.path().parts().len() != 1 || column.max_rep_level() != 0 {
        return None;
    }
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match (column.physical_type(), logical, converted) {
        (Physical::BOOLEAN, ..) => Some(Kind::Bool),
        (Physical::FLOAT | Physical::DOUBLE, ..) => Some(Kind::Float),
        (Physical::INT32 | Physical::INT64, logical, converted) => match (logical, converted) {
            (Some(LogicalType::Integer(integer)), _) if integer.is_signed => Some(Kind::Signed),
            (Some(LogicalType::Integer(_)), _) => Some(Kind::Unsigned),
            (Some(LogicalType::Unknown), _) => Some(Kind::Signed), // a column of nothing but nulls
            (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Some(Kind::Unsigned),
            (
                None,
                ConvertedType::NONE
                | ConvertedType::INT_8
                | ConvertedType::INT_16
                | ConvertedType::INT_32
                | ConvertedType::INT_64,
            ) => Some(Kind::Signed),
            _ => None,
        },
        // Some programs write texts without saying that they are.
        (
            Physical::BYTE_ARRAY,
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json),
            _,
        )
        | (
            Physical::BYTE_ARRAY,
            None,
            ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON,
        ) => Some(Kind::Text),
        _ => None,
    }
}

fn unsupported(column: &ColumnDescriptor, builder: &Builder<'_>) -> CandidatesError {
    let kind = match column.logical_type_ref() {
        Some(logical) => format!("{logical:?} ({})", column.physical_type()),
        None => format!("{} ({})", column.converted_type(), column.physical_type()),
    };
    let (path, column) = (builder.path.to_owned(), column.path().string());
    CandidatesError::ColumnType { path, column, kind }
}

/// The shape of all rows, and how far we are.
struct Rows {
    prefixes: Vec<String>,
    kinds: Vec<Kind>,
    id_column: usize,
    next_row: u64,
}

impl Rows {
    fn columns(&self, group: &dyn RowGroupReader) -> Result<Vec<Column>, ParquetError> {
        let column =
            |(index, kind): (usize, &Kind)| Column::new(group.get_column_reader(index)?, *kind);
        self.kinds.iter().enumerate().map(column).collect()
    }

    fn push_next(
        &mut self,
        columns: &mut [Column],
        builder: &mut Builder<'_>,
    ) -> Result<(), CandidatesError> {
        let row = self.next_row;
        self.next_row += 1;
        let mut json = String::new();
        let mut id = String::new();
        let mut is_utf8 = true;
        for (index, (prefix, column)) in self.prefixes.iter().zip(columns).enumerate() {
            json.push_str(prefix);
            let cell = column.next();
            is_utf8 &= cell != Cell::NotUtf8;
            if index == self.id_column {
                cell.write_id(&mut id);
            }
            cell.write_json(&mut json);
        }
        json.push('}');
        if !is_utf8 {
            builder.faults.push(row, FaultKind::NotUtf8);
            return Ok(());
        }
        builder.push(row, &id, &json)
    }
}

/// Reads the next rows of all columns, which must be equally many.
fn fill(columns: &mut [Column]) -> Result<usize, ParquetError> {
    let counts = columns.iter_mut().map(Column::fill).collect::<Result<Vec<usize>, _>>()?;
    let first = counts.first().copied().unwrap_or(0);
    if counts.iter().any(|count| *count != first) {
        return Err(ParquetError::General("columns of unequal length".to_owned()));
    }
    Ok(first)
}

/// A value of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell<'a> {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    Text(&'a str),
    NotUtf8,
}

impl Cell<'_> {
    fn write_json(self, json: &mut String) {
        let written = match self {
            Self::Null | Self::NotUtf8 => json.write_str("null"),
            Self::Bool(value) => write!(json, "{value}"),
            Self::Signed(value) => write!(json, "{value}"),
            Self::Unsigned(value) => write!(json, "{value}"),
            // JSON knows no NaN and no infinities. Debug writes the shortest digits that read back.
            Self::Float(value) if !value.is_finite() => json.write_str("null"),
            Self::Double(value) if !value.is_finite() => json.write_str("null"),
            Self::Float(value) => write!(json, "{value:?}"),
            Self::Double(value) => write!(json, "{value:?}"),
            Self::Text(text) => {
                push_text(json, text);
                Ok(())
            }
        };
        written.expect("a String takes everything");
    }

    fn write_id(self, id: &mut String) {
        match self {
            Self::Text(text) => id.push_str(text),
            Self::Null => {} // reported as an empty id
            other => other.write_json(id),
        }
    }
}

/// A column of a row group with its next values.
enum Column {
    Bool(Batch<BoolType>),
    Int32(Batch<Int32Type>, Kind),
    Int64(Batch<Int64Type>, Kind),
    Float(Batch<FloatType>),
    Double(Batch<DoubleType>),
    Text(Batch<ByteArrayType>),
}

impl Column {
    fn new(reader: ColumnReader, kind: Kind) -> Result<Self, ParquetError> {
        Ok(match reader {
            ColumnReader::BoolColumnReader(reader) => Self::Bool(Batch::new(reader)),
            ColumnReader::Int32ColumnReader(reader) => Self::Int32(Batch::new(reader), kind),
            ColumnReader::Int64ColumnReader(reader) => Self::Int64(Batch::new(reader), kind),
            ColumnReader::FloatColumnReader(reader) => Self::Float(Batch::new(reader)),
            ColumnReader::DoubleColumnReader(reader) => Self::Double(Batch::new(reader)),
            ColumnReader::ByteArrayColumnReader(reader) => Self::Text(Batch::new(reader)),
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        })
    }

    fn fill(&mut self) -> Result<usize, ParquetError> {
        match self {
            Self::Bool(batch) => batch.fill(),
            Self::Int32(batch, _) => batch.fill(),
            Self::Int64(batch, _) => batch.fill(),
            Self::Float(batch) => batch.fill(),
            Self::Double(batch) => batch.fill(),
            Self::Text(batch) => batch.fill(),
        }
    }

    fn next(&mut self) -> Cell<'_> {
        let cell = match self {
            Self::Bool(batch) => batch.next().map(|value| Cell::Bool(*value)),
            Self::Int32(batch, Kind::Unsigned) => {
                batch.next().map(|value| Cell::Unsigned(value.cast_unsigned().into()))
            }
            Self::Int32(batch, _) => batch.next().map(|value| Cell::Signed((*value).into())),
            Self::Int64(batch, Kind::Unsigned) => {
                batch.next().map(|value| Cell::Unsigned(value.cast_unsigned()))
            }
            Self::Int64(batch, _) => batch.next().map(|value| Cell::Signed(*value)),
            Self::Float(batch) => batch.next().map(|value| Cell::Float(*value)),
            Self::Double(batch) => batch.next().map(|value| Cell::Double(*value)),
            Self::Text(batch) => batch
                .next()
                .map(|value| str::from_utf8(value.data()).map_or(Cell::NotUtf8, Cell::Text)),
        };
        cell.unwrap_or(Cell::Null)
    }
}

struct Batch<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// For each row, 0 if it is null; empty if no row can be.
    levels: Vec<i16>,
    /// The values of the rows that are not null.
    values: Vec<T::T>,
    next_row: usize,
    next_value: usize,
}

impl<T: DataType> Batch<T> {
    fn new(reader: ColumnReaderImpl<T>) -> Self {
        Self { reader, levels: Vec::new(), values: Vec::new(), next_row: 0, next_value: 0 }
    }

    fn fill(&mut self) -> Result<usize, ParquetError> {
        self.levels.clear();
        self.values.clear();
        self.next_row = 0;
        self.next_value = 0;
        let levels = Some(&mut self.levels);
        let (rows, _, _) = self.reader.read_records(BATCH_ROWS, levels, None, &mut self.values)?;
        Ok(rows)
    }

    /// `None` if the next row is null.
    fn next(&mut self) -> Option<&T::T> {
        let is_null = self.levels.get(self.next_row) == Some(&0);
        self.next_row += 1;
        if is_null {
            return None;
        }
        self.next_value += 1;
        self.values.get(self.next_value - 1)
    }
}
