//! Reading of parts: decompression, lines, rows and JSON values, independent of any record type.
//!
//! - [`part_file`] reads the file of a part, on disk or in a bucket; [`file_version`] tells whether a file has
//!   changed.
//! - [`lines`], [`rows`] and [`elements`] split a part into lines, table rows and array elements.
//! - [`parquet`] reads the rows of a Parquet file.
//! - [`json`] parses a line or names its fault; [`lenient`] reads the values of optional members.
//! - [`identifier`], [`times`] and [`inverted_index`] parse the notations that dumps use.
//!
//! Imports `error`, `remote`.

pub(crate) mod csv_rows;
pub(crate) mod elements;
pub(crate) mod file_version;
pub(crate) mod id_list;
pub(crate) mod identifier;
mod index_text;
pub(crate) mod institution_types;
pub(crate) mod inverted_index;
pub(crate) mod iso;
pub(crate) mod json;
pub(crate) mod json_tree;
pub(crate) mod lenient;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod parquet;
pub(crate) mod part_file;
pub(crate) mod times;

pub(crate) use crate::read::csv_rows::{CsvRows, first_record};
pub(crate) use crate::read::elements::Elements;
pub(crate) use crate::read::identifier::{BadId, parse_any_reference, parse_reference};
pub(crate) use crate::read::json::JsonFault;
pub(crate) use crate::read::json_tree::{JsonMembers, JsonValue};
pub(crate) use crate::read::lenient::{
    Diagnostics, Lenient, MaybeBool, MaybeId, MaybeLength, MaybeList, MaybeNumber, MaybeObject,
    MaybeText, MemberName, Members, Wanted, clean, members,
};
pub(crate) use crate::read::limits::{MemberLimits, ReadLimits};
pub(crate) use crate::read::lines::{Container, Line, RAW_BYTES_MAX};
pub(crate) use crate::read::parquet::{Batch, ParquetRows, Row, RowFault};
