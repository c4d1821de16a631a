//! Parquet files, flat and nested.

use std::sync::Arc;

use parquet::basic::{Compression as Codec, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use super::*;

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

fn write(schema: &str, codec: Codec, groups: &[&dyn Fn(&mut Group<'_>)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for write_group in groups {
        let mut group = writer.next_row_group().unwrap();
        write_group(&mut group);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn column<T: DataType>(group: &mut Group<'_>, values: &[T::T], levels: Option<&[i16]>) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

fn texts(texts: &[&str]) -> Vec<ByteArray> {
    texts.iter().map(|text| ByteArray::from(*text)).collect()
}

const ALL_TYPES: &str = "message m {
    required binary id (UTF8);
    optional binary text (STRING);
    required int32 small;
    required int32 unsigned (UINT_32);
    optional int64 large;
    required int64 huge (UINT_64);
    required float single;
    optional double number;
    required boolean flag;
    required binary plain;
}";

fn all_types(group: &mut Group<'_>) {
    column::<ByteArrayType>(group, &texts(&["a", "b"]), None);
    column::<ByteArrayType>(group, &texts(&["two\n\"lines\""]), Some(&[0, 1]));
    column::<Int32Type>(group, &[-1, 2], None);
    column::<Int32Type>(group, &[-1, 2], None);
    column::<Int64Type>(group, &[i64::MIN], Some(&[1, 0]));
    column::<Int64Type>(group, &[-1, 2], None);
    column::<FloatType>(group, &[0.1, f32::NAN], None);
    column::<DoubleType>(group, &[1e300], Some(&[0, 1]));
    column::<BoolType>(group, &[true, false], None);
    column::<ByteArrayType>(group, &texts(&["x", ""]), None);
}

fn bytes_of_all_types(codec: Codec) -> Vec<u8> {
    write(ALL_TYPES, codec, &[&all_types])
}

#[test]
fn all_types_become_json_with_every_compression() {
    let zstd = Codec::ZSTD(ZstdLevel::default());
    let gzip = Codec::GZIP(parquet::basic::GzipLevel::default());
    for codec in [Codec::UNCOMPRESSED, Codec::SNAPPY, gzip, zstd, Codec::LZ4_RAW] {
        let candidates = read("a.parquet", &bytes_of_all_types(codec)).unwrap();
        assert_eq!(candidates.len(), 2);
        assert_eq!(
            candidates.json(ArmId(0)),
            "{\"id\":\"a\",\"text\":null,\"small\":-1,\"unsigned\":4294967295,\
             \"large\":-9223372036854775808,\"huge\":18446744073709551615,\"single\":0.1,\
             \"number\":null,\"flag\":true,\"plain\":\"x\"}"
        );
        assert_eq!(
            candidates.json(ArmId(1)),
            "{\"id\":\"b\",\"text\":\"two\\n\\\"lines\\\"\",\"small\":2,\"unsigned\":2,\
             \"large\":null,\"huge\":2,\"single\":null,\"number\":1e300,\"flag\":false,\
             \"plain\":\"\"}"
        );
        check_consistent(&candidates);
    }
}

#[test]
fn ids_may_be_whole_numbers_and_rows_of_all_groups_count() {
    let group = |start: i64| {
        move |group: &mut Group<'_>| {
            let ids: Vec<i64> = (start..start + 3000).collect();
            column::<Int64Type>(group, &ids, None);
        }
    };
    let schema = "message m { required int64 id; }";
    let bytes = write(schema, Codec::UNCOMPRESSED, &[&group(0), &group(3000)]);
    let candidates = read("a.parquet", &bytes).unwrap();
    assert_eq!(candidates.len(), 6000);
    assert_eq!(candidates.id(ArmId(5999)), "5999");
    check_consistent(&candidates);
    let bytes = write(schema, Codec::UNCOMPRESSED, &[&group(0), &group(2999)]);
    check_faults("a.parquet", &bytes, &["3001: id \"2999\" already names the candidate at 3000"]);
}

#[test]
fn faults_name_the_row() {
    let schema = "message m { optional binary id (UTF8); }";
    let bytes = write(
        schema,
        Codec::UNCOMPRESSED,
        &[&|group: &mut Group<'_>| {
            column::<ByteArrayType>(group, &texts(&["a", "", "b"]), Some(&[1, 0, 1, 1]));
        }],
    );
    check_faults(
        "a.parquet",
        &bytes,
        &["2: the id in field \"id\" is neither a text nor a whole number", "3: the id is empty"],
    );
    let error = read("a.parquet", &bytes).unwrap_err().to_string();
    assert!(error.contains("a.parquet, row 2: "), "{error}");
}

/// Datasets on Hugging Face have pictures in such a column.
#[test]
fn binary_values_are_null_with_one_note() {
    let schema = "message m { required binary id (UTF8); required group image { required binary bytes; required binary path (UTF8); } }";
    let bytes = write(
        schema,
        Codec::UNCOMPRESSED,
        &[&|group: &mut Group<'_>| {
            column::<ByteArrayType>(group, &texts(&["a", "b"]), None);
            let picture = ByteArray::from(vec![0xFF, 0xD8]);
            column::<ByteArrayType>(group, &[picture, ByteArray::from("text")], None);
            column::<ByteArrayType>(group, &texts(&["1.jpg", "2.jpg"]), None);
        }],
    );
    let candidates = read("a.parquet", &bytes).unwrap();
    let json = candidates.json(ArmId(0));
    assert_eq!(json, r#"{"id":"a","image":{"bytes":null,"path":"1.jpg"}}"#);
    assert!(candidates.json(ArmId(1)).contains(r#""bytes":"text""#));
    let [note] = candidates.notes() else { panic!("{:?}", candidates.notes()) };
    assert!(note.ends_with("null for bytes that are not a text, in image.bytes"), "{note}");
}

#[test]
fn times_and_decimals_are_texts() {
    let schema = "message m {
        required int32 id;
        required int32 day (DATE);
        required int64 at (TIMESTAMP_MILLIS);
        required int32 sum (DECIMAL(9, 2));
    }";
    let bytes = write(
        schema,
        Codec::UNCOMPRESSED,
        &[&|group: &mut Group<'_>| {
            column::<Int32Type>(group, &[7], None);
            column::<Int32Type>(group, &[1], None);
            column::<Int64Type>(group, &[1500], None);
            column::<Int32Type>(group, &[1234], None);
        }],
    );
    let candidates = read("a.parquet", &bytes).unwrap();
    assert_eq!(
        candidates.json(ArmId(0)),
        "{\"id\":7,\"day\":\"1970-01-02\",\"at\":\"1970-01-01 00:00:01.500 +00:00\",\
         \"sum\":\"12.34\"}"
    );
}

#[test]
fn lists_and_structs_become_json_as_datasets_and_pandas_write_them() {
    let schema = "message m {
        optional group messages (LIST) {
            repeated group list {
                optional group element {
                    optional binary role (UTF8);
                    optional binary content (UTF8);
                }
            }
        }
        optional group meta { optional int64 id; }
    }";
    let bytes = write(
        schema,
        Codec::SNAPPY,
        &[&|group: &mut Group<'_>| {
            // Two messages in the first row, none in the second, no list in the third.
            for values in [["user", "assistant"], ["2+2?", "4"]] {
                let mut column = group.next_column().unwrap().unwrap();
                let levels = (Some(&[4, 4, 1, 0][..]), Some(&[0, 1, 0, 0][..]));
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&texts(&values), levels.0, levels.1)
                    .unwrap();
                column.close().unwrap();
            }
            column::<Int64Type>(group, &[5, 6, 7], Some(&[2, 2, 2]));
        }],
    );
    let candidates = {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        fs::write(&path, &bytes).unwrap();
        Candidates::read(&path, "meta.id").unwrap()
    };
    let found: Vec<(&str, &str)> =
        arms(&candidates).map(|arm| (candidates.id(arm), candidates.json(arm))).collect();
    assert_eq!(
        found,
        [
            (
                "5",
                "{\"messages\":[{\"role\":\"user\",\"content\":\"2+2?\"},\
                 {\"role\":\"assistant\",\"content\":\"4\"}],\"meta\":{\"id\":5}}"
            ),
            ("6", "{\"messages\":[],\"meta\":{\"id\":6}}"),
            ("7", "{\"messages\":null,\"meta\":{\"id\":7}}"),
        ]
    );
    // The same file without an id field.
    let candidates = read("a.parquet", &bytes).unwrap();
    assert!(candidates.are_ids_made());
    assert!(candidates.id(ArmId(0)).starts_with("1-"));
}

#[test]
fn ids_of_another_type_are_refused() {
    let schema = "message m { required double id; }";
    let group = |group: &mut Group<'_>| column::<DoubleType>(group, &[0.5], None);
    check_faults(
        "a.parquet",
        &write(schema, Codec::UNCOMPRESSED, &[&group]),
        &["1: the id in field \"id\" is neither a text nor a whole number"],
    );
}

#[test]
fn a_table_needs_ids_and_rows() {
    let bytes = write("message m { required int32 ids; }", Codec::UNCOMPRESSED, &[]);
    let error = read("a.parquet", &bytes).unwrap_err();
    assert!(matches!(error.kind, CandidatesErrorKind::NoIdColumn(..)), "{error}");
    let bytes = write("message m { required int32 id; }", Codec::UNCOMPRESSED, &[]);
    let error = read("a.parquet", &bytes).unwrap_err();
    assert!(matches!(error.kind, CandidatesErrorKind::Empty(_)), "{error}");
    let error = read("a.parquet", b"{\"id\": 1}\n").unwrap_err();
    assert!(error.to_string().contains("broken or unsupported Parquet"), "{error}");
}

proptest! {
    #[test]
    fn changed_files_do_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        is_compressed in any::<bool>(),
    ) {
        let codec = if is_compressed { Codec::SNAPPY } else { Codec::UNCOMPRESSED };
        let mut bytes = bytes_of_all_types(codec);
        for (index, byte) in changes {
            *index.get_mut(&mut bytes) = byte;
        }
        if let Ok(candidates) = read("a.parquet", &bytes) {
            check_consistent(&candidates);
        }
    }

    #[test]
    fn cut_files_do_no_harm(length in any::<prop::sample::Index>()) {
        let bytes = bytes_of_all_types(Codec::UNCOMPRESSED);
        let _ = read("a.parquet", &bytes[..length.index(bytes.len())]);
    }
}
