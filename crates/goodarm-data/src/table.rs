//! A table of columns, as CSV and as Parquet.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock};

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use regex::Regex;

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, TableColumn)>,
}

/// The values of a column; `None` is an empty cell.
#[derive(Clone, Debug, PartialEq)]
pub enum TableColumn {
    /// Texts in UTF-8.
    Texts(Vec<Option<String>>),
    /// Numbers, written with all digits, so that they read back as the same bits.
    Reals(Vec<Option<f64>>),
    /// Whole numbers, such as counts.
    Integers(Vec<Option<i64>>),
    /// True or false.
    Flags(Vec<Option<bool>>),
}

impl TableColumn {
    /// Texts without empty cells.
    pub fn texts(values: impl IntoIterator<Item = String>) -> Self {
        Self::Texts(values.into_iter().map(Some).collect())
    }

    /// Numbers without empty cells.
    pub fn reals(values: impl IntoIterator<Item = f64>) -> Self {
        Self::Reals(values.into_iter().map(Some).collect())
    }

    /// Counts without empty cells.
    pub fn integers(values: impl IntoIterator<Item = i64>) -> Self {
        Self::Integers(values.into_iter().map(Some).collect())
    }

    /// Whether each cell is empty.
    fn gaps(&self) -> Vec<bool> {
        match self {
            Self::Texts(values) => values.iter().map(Option::is_none).collect(),
            Self::Reals(values) => values.iter().map(Option::is_none).collect(),
            Self::Integers(values) => values.iter().map(Option::is_none).collect(),
            Self::Flags(values) => values.iter().map(Option::is_none).collect(),
        }
    }

    /// A cell of a CSV file.
    fn cell(&self, row: usize) -> String {
        let cell = match self {
            Self::Texts(values) => values[row].as_deref().map(|text| escape_formula(text).into()),
            Self::Reals(values) => values[row].map(|value| value.to_string()),
            Self::Integers(values) => values[row].map(|value| value.to_string()),
            Self::Flags(values) => values[row].map(|value| value.to_string()),
        };
        cell.unwrap_or_default()
    }

    /// The column's type in Parquet.
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        let (physical, converted) = match self {
            Self::Texts(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Self::Reals(_) => (Physical::DOUBLE, ConvertedType::NONE),
            Self::Integers(_) => (Physical::INT64, ConvertedType::NONE),
            Self::Flags(_) => (Physical::BOOLEAN, ConvertedType::NONE),
        };
        let has_gaps = self.gaps().contains(&true);
        let repetition = if has_gaps { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted)
            .build()
    }

    /// Writes the values as the next column of a row group.
    fn write(
        &self,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Texts(values) => {
                let bytes = |text: &Option<String>| Some(ByteArray::from(text.as_deref()?));
                let values: Vec<Option<ByteArray>> = values.iter().map(bytes).collect();
                write_column::<ByteArrayType, _>(group, &values)
            }
            Self::Reals(values) => write_column::<DoubleType, _>(group, values),
            Self::Integers(values) => write_column::<Int64Type, _>(group, values),
            Self::Flags(values) => write_column::<BoolType, _>(group, values),
        }
    }
}

impl Table {
    /// Adds a column, which must be as long as the others. If the name is taken, a number is added to it.
    pub fn push(&mut self, name: impl Into<String>, column: TableColumn) {
        let length = column.gaps().len();
        assert!(self.columns.is_empty() || length == self.row_count(), "columns have one length");
        let name = name.into();
        let is_free = |name: &String| self.columns.iter().all(|(other, _)| other != name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let name = std::iter::once(name.clone()).chain(numbered).find(is_free);
        self.columns.push((name.expect("there are enough numbers"), column));
    }

    /// The columns with their names.
    pub fn into_columns(self) -> Vec<(String, TableColumn)> {
        self.columns
    }

    fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.gaps().len())
    }

    /// The table as CSV, with a header row. Names and texts are escaped by [`escape_formula`].
    pub fn csv(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| escape_formula(name).into());
        let mut text = csv_line(names.collect());
        for row in 0..self.row_count() {
            text += &csv_line(self.columns.iter().map(|(_, column)| column.cell(row)).collect());
        }
        text
    }

    /// Writes the table as a Parquet file.
    pub fn write_parquet(&self, out: impl Write + Send) -> io::Result<()> {
        self.try_write_parquet(out).map_err(|error| match error {
            ParquetError::External(cause) => io::Error::other(cause),
            other => io::Error::other(other),
        })
    }

    fn try_write_parquet(&self, out: impl Write + Send) -> Result<(), ParquetError> {
        let fields = self.columns.iter().map(|(name, column)| column.field(name).map(Arc::new));
        let schema = Type::group_type_builder("table")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        // The version of the library must not be part of the bytes.
        let properties = WriterProperties::builder().set_created_by("goodarm".to_owned()).build();
        let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for (_, column) in &self.columns {
            column.write(&mut group)?;
        }
        group.close()?;
        file.close().map(drop)
    }
}

/// A line of CSV. A cell is quoted if it has a comma, another usual separator, a quote or a line end: many spreadsheets
/// split at several separators at once. A line of one empty cell would be no line.
fn csv_line(cells: Vec<String>) -> String {
    let is_alone = cells.len() == 1;
    let quoted = |cell: String| {
        let is_quoted = cell.contains([',', ';', '\t', '|', '"', '\r', '\n']);
        if is_quoted || (is_alone && cell.is_empty()) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    };
    cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

/// A text for a cell of a CSV file. A spreadsheet computes a cell that begins like a formula, and texts are
/// untrusted: such a text gets an apostrophe before it. So does one that is a formula after apostrophes of its own,
/// so that [`unescape_formula`] is the inverse.
pub fn escape_formula(text: &str) -> Cow<'_, str> {
    if is_formula_after_apostrophes(text) { format!("'{text}").into() } else { text.into() }
}

/// The text of a cell that [`escape_formula`] wrote.
pub fn unescape_formula(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|text| is_formula_after_apostrophes(text)).unwrap_or(cell)
}

/// Whether the first character that is seen begins a formula. A number may begin with a sign, and is not escaped.
fn is_formula_after_apostrophes(text: &str) -> bool {
    let text = text.trim_start_matches('\'');
    let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
    (FORMULA.is_match(text) || text.starts_with(['\t', '\r', '\n'])) && !is_number
}

/// White space, and what is not seen: control characters, those without a width, and unassigned ones.
static FORMULA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[\s\p{C}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠]")
        .expect("a pattern of ours")
});

fn write_column<T: DataType<T = V>, V: Clone>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[Option<V>],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let has_gaps = levels.contains(&0);
    let values: Vec<V> = values.iter().flatten().cloned().collect();
    column.typed::<T>().write_batch(&values, has_gaps.then_some(&levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.push("a name, with.marks", TableColumn::texts(["a,\"b\"".into(), "ü".into()]));
        table.push("value", TableColumn::reals([0.1, -2.0]));
        table.push("count", TableColumn::integers([3, 4]));
        table.push("count", TableColumn::Flags(vec![Some(true), None]));
        table
    }

    #[test]
    fn csv_quotes_cells_if_needed() {
        assert_eq!(
            table().csv(),
            "\"a name, with.marks\",value,count,count_2\n\"a,\"\"b\"\"\",0.1,3,true\nü,-2,4,\n"
        );
    }

    #[test]
    fn formulas_are_escaped_in_names_and_texts_and_can_be_read_back() {
        let texts = [
            "=cmd|' /C calc'!A0",
            "+1-2",
            "-2+3",
            "@SUM(1)",
            " =1",
            "\t=1",
            "\r",
            "'=x",
            "''=x",
            "'",
            "'a",
            "-",
            "＝1",
            "-inf",
            "\u{200b}=1",
            "\u{feff}=1",
            "\u{a0}+1",
            "\u{2060}\u{3000}＠x",
            "\u{3164}=1",
            "\u{fe0f}-x",
            "\0=1",
            "'\u{200b}=x",
            "-5",
            "+0.5e3",
            "a=b",
            "\u{200b}a=b",
            "",
        ];
        let mut table = Table::default();
        table.push("=name", TableColumn::texts(texts.map(String::from)));
        let csv = table.csv();
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        assert_eq!(&reader.headers().unwrap()[0], "'=name");
        let cells: Vec<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
        let read: Vec<&str> = cells.iter().map(|cell| unescape_formula(cell)).collect();
        assert_eq!(read, texts);
        let is_escaped = |(text, cell): &(&str, &String)| text != cell;
        let escaped = texts.into_iter().zip(&cells).filter(is_escaped).count();
        assert_eq!(escaped, 20, "{cells:?}");
        assert!(
            cells
                .iter()
                .all(|cell| cell.parse::<f64>().is_ok() || !cell.starts_with(['=', '+', '-', '@']))
        );
    }

    #[test]
    fn cells_with_any_usual_separator_are_quoted() {
        let texts = ["x;=1+1", "x\t=1", "x|y", "x y", "a\"b", "a\rb", ""].map(String::from);
        let mut table = Table::default();
        table.push("a;b", TableColumn::texts(texts.clone()));
        let csv = table.csv();
        assert_eq!(
            csv,
            "\"a;b\"\n\"x;=1+1\"\n\"x\t=1\"\n\"x|y\"\nx y\n\"a\"\"b\"\n\"a\rb\"\n\"\"\n"
        );
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let read: Vec<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
        assert_eq!(read, texts);
    }

    #[test]
    fn parquet_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.parquet");
        table().write_parquet(std::fs::File::create(&path).unwrap()).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_string(0).unwrap(), "ü");
        assert!((rows[0].get_double(1).unwrap() - 0.1).abs() < 1e-15);
        assert_eq!(rows[1].get_long(2).unwrap(), 4);
        assert!(rows[0].get_bool(3).unwrap() && rows[1].is_null(3).unwrap());
    }
}
