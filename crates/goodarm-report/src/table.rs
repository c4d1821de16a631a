//! A table of columns, as CSV and as Parquet.

use std::io;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// Named columns of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(&'static str, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// UTF-8.
    Texts(Vec<String>),
    /// Written so that they read back as the same bits.
    Reals(Vec<f64>),
    /// Counts.
    Integers(Vec<i64>),
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Texts(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::Integers(values) => values.len(),
        }
    }

    fn cell(&self, row: usize) -> String {
        match self {
            Self::Texts(values) => values[row].clone(),
            Self::Reals(values) => values[row].to_string(),
            Self::Integers(values) => values[row].to_string(),
        }
    }
}

impl Table {
    /// Adds a column, which must be as long as the others.
    pub fn push(&mut self, name: &'static str, column: Column) {
        let length = self.columns.first().map_or(column.len(), |(_, first)| first.len());
        assert_eq!(column.len(), length, "the columns of a table have one length");
        self.columns.push((name, column));
    }

    fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The table as CSV, names first.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |cells: Vec<String>| writer.write_record(cells).expect("memory, one width");
        write(self.columns.iter().map(|(name, _)| (*name).to_owned()).collect());
        for row in 0..self.row_count() {
            write(self.columns.iter().map(|(_, column)| column.cell(row)).collect());
        }
        let bytes = writer.into_inner().expect("memory takes all");
        String::from_utf8(bytes).expect("made of texts")
    }

    /// The table as a Parquet file.
    pub fn parquet(&self) -> Result<Vec<u8>, ParquetError> {
        let fields: String = self
            .columns
            .iter()
            .map(|(name, column)| match column {
                Column::Texts(_) => format!("required binary {name} (UTF8); "),
                Column::Reals(_) => format!("required double {name}; "),
                Column::Integers(_) => format!("required int64 {name}; "),
            })
            .collect();
        let schema = Arc::new(parse_message_type(&format!("message trials {{ {fields}}}"))?);
        // The version of the library must not be part of the bytes.
        let properties = WriterProperties::builder().set_created_by("goodarm".to_owned()).build();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(io::Cursor::new(&mut bytes), schema, Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (_, column) in &self.columns {
            let Some(mut sink) = group.next_column()? else { break };
            match column {
                Column::Texts(values) => {
                    let values: Vec<ByteArray> =
                        values.iter().map(|text| text.as_str().into()).collect();
                    sink.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                }
                Column::Reals(values) => {
                    sink.typed::<DoubleType>().write_batch(values, None, None)?;
                }
                Column::Integers(values) => {
                    sink.typed::<Int64Type>().write_batch(values, None, None)?;
                }
            }
            sink.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::*;

    fn table() -> Table {
        let mut table = Table::default();
        table.push("name", Column::Texts(vec!["a,\"b\"".into(), "ü".into()]));
        table.push("value", Column::Reals(vec![0.1, -2.0]));
        table.push("count", Column::Integers(vec![3, 4]));
        table
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        assert_eq!(table().csv(), "name,value,count\n\"a,\"\"b\"\"\",0.1,3\nü,-2,4\n");
    }

    #[test]
    fn parquet_reads_back() {
        let bytes = parquet_bytes();
        let reader = SerializedFileReader::new(bytes).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_string(0).unwrap(), "ü");
        assert!((rows[0].get_double(1).unwrap() - 0.1).abs() < 1e-15);
        assert_eq!(rows[1].get_long(2).unwrap(), 4);
    }

    fn parquet_bytes() -> bytes::Bytes {
        table().parquet().unwrap().into()
    }
}
