//! The columns to decode: a Parquet schema cut down to the members that a type reads.
//!
//! ```text
//! schema of the file        wanted: id, topics{id}       cut schema              columns
//! id                        id                           id                      0
//! mesh.list.element.ui                                                           (1 is skipped)
//! topics.list.element.id    topics, id                   topics.list.element.id  2
//! topics.list.element.score                                                      (3 is skipped)
//! ```
//!
//! The cut schema replaces the annotations of texts: [`Texts`] says whether the decoder checks that texts are
//! UTF-8.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};
use parquet::arrow::{
    FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema,
};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::read::lenient::{Diagnostics, Wanted};

/// How texts are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// As UTF-8, which the decoder checks a page at a time. One bad text ends the decoding of the file.
    Checked,
    /// As bytes, so that a bad text costs its row instead of its file.
    Bytes,
}

/// The columns of a file that are read.
pub(super) struct Projection {
    /// The columns as Arrow types.
    pub levels: FieldLevels,
    /// The number of each column in the file.
    pub leaves: Vec<usize>,
}

impl Projection {
    /// Cuts a schema down to the wanted members. Columns of types that no member has are left out, each with
    /// a warning.
    pub(super) fn new(
        schema: &SchemaDescriptor,
        wanted: Wanted,
        texts: Texts,
        diagnostics: &Diagnostics,
    ) -> Result<Projection, ParquetError> {
        let mut cutter = Cutter { next_leaf: 0, leaves: Vec::new(), texts, diagnostics };
        let root = schema.root_schema();
        let fields = cutter.members(root.get_fields(), wanted)?;
        let cut = Type::group_type_builder(root.name()).with_fields(fields).build()?;
        let cut = SchemaDescriptor::new(Arc::new(cut));
        let plain = parquet_to_arrow_schema(&cut, None)?;
        let hint: Fields = plain.fields().iter().map(read_as).collect();
        let levels = parquet_to_arrow_field_levels(&cut, ProjectionMask::all(), Some(&hint))?;
        Ok(Projection { levels, leaves: cutter.leaves })
    }
}

/// The type to decode to: a view of a text copies no byte, and microseconds reach as far as dates do.
fn read_as(field: &FieldRef) -> FieldRef {
    let inner = |field: &FieldRef| read_as(field);
    let data_type = match field.data_type() {
        DataType::Binary => DataType::BinaryView,
        DataType::Utf8 => DataType::Utf8View,
        // The cut schema has no other timestamps without a zone than those of INT96.
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        DataType::List(element) => DataType::List(inner(element)),
        DataType::Map(entries, is_sorted) => DataType::Map(inner(entries), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()))
}

/// Walks a schema depth first, as its columns are numbered.
struct Cutter<'d> {
    next_leaf: usize,
    leaves: Vec<usize>,
    texts: Texts,
    diagnostics: &'d Diagnostics,
}

impl Cutter<'_> {
    /// Cuts the members of a group. A group without a wanted member keeps its first one, because it says
    /// where the group is null.
    fn members(
        &mut self,
        members: &[TypePtr],
        wanted: Wanted,
    ) -> Result<Vec<TypePtr>, ParquetError> {
        let is_any = members.iter().any(|member| wanted.member(member.name()).is_some());
        let mut kept = Vec::new();
        for member in members {
            let wanted = match wanted.member(member.name()) {
                None if !is_any && kept.is_empty() => Some(Wanted::Scalar),
                wanted => wanted,
            };
            match wanted {
                Some(wanted) => kept.extend(self.cut(member, wanted)?),
                None => self.next_leaf += leaf_count(member),
            }
        }
        Ok(kept)
    }

    /// Cuts one member; `None` if nothing of it can be read.
    fn cut(&mut self, member: &TypePtr, wanted: Wanted) -> Result<Option<TypePtr>, ParquetError> {
        if member.is_primitive() {
            return self.primitive(member);
        }
        let info = member.get_basic_info();
        let is_list = info.converted_type() == ConvertedType::LIST
            || info.logical_type_ref() == Some(&LogicalType::List);
        let is_map =
            matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE)
                || info.logical_type_ref() == Some(&LogicalType::Map);
        let converted = match (is_list, is_map) {
            (true, _) => ConvertedType::LIST,
            (_, true) => ConvertedType::MAP,
            _ => ConvertedType::NONE,
        };
        let from = self.leaves.len();
        let fields = member.get_fields();
        let kept = match fields {
            [repeated] if is_list => self.repeated(member, repeated, wanted)?,
            [entries] if is_map && entries.is_group() => {
                let whole = self.whole(entries)?;
                whole.into_iter().collect()
            }
            _ => self.members(fields, wanted)?,
        };
        // A map without its values, or a list without its elements, is left out as a whole.
        if kept.is_empty() || (is_map && leaf_count(&kept[0]) != leaf_count(&fields[0])) {
            self.leaves.truncate(from);
            return Ok(None);
        }
        group(member, converted, kept).map(Some)
    }

    /// Cuts the repeated field of a list. A field that is the element itself stays whole: with fewer
    /// members it could look like a wrapper of the element.
    fn repeated(
        &mut self,
        list: &TypePtr,
        repeated: &TypePtr,
        wanted: Wanted,
    ) -> Result<Vec<TypePtr>, ParquetError> {
        if repeated.is_primitive() {
            return Ok(self.primitive(repeated)?.into_iter().collect());
        }
        let is_element = repeated.get_fields().len() != 1
            || repeated.name() == "array"
            || repeated.name() == format!("{}_tuple", list.name());
        let cut = match repeated.get_fields() {
            [element] if !is_element => self.cut(element, wanted)?.into_iter().collect(),
            _ => return Ok(self.whole(repeated)?.into_iter().collect()),
        };
        let cut: Vec<TypePtr> = cut;
        if cut.is_empty() {
            return Ok(cut);
        }
        Ok(vec![group(repeated, repeated.get_basic_info().converted_type(), cut)?])
    }

    /// Keeps a group with everything below; `None` if something of it cannot be read.
    fn whole(&mut self, member: &TypePtr) -> Result<Option<TypePtr>, ParquetError> {
        let fields = self.members(member.get_fields(), Wanted::All)?;
        if fields.len() != member.get_fields().len() {
            return Ok(None);
        }
        group(member, member.get_basic_info().converted_type(), fields).map(Some)
    }

    fn primitive(&mut self, column: &TypePtr) -> Result<Option<TypePtr>, ParquetError> {
        let leaf = self.next_leaf;
        self.next_leaf += 1;
        let info = column.get_basic_info();
        let (logical, converted) = (info.logical_type_ref(), info.converted_type());
        // Every value of such a column is null, so its physical type does not matter.
        let logical = logical.filter(|logical| **logical != LogicalType::Unknown);
        let is_decimal =
            matches!(logical, Some(LogicalType::Decimal(_))) || converted == ConvertedType::DECIMAL;
        let is_time = matches!(logical, Some(LogicalType::Time(_)))
            || matches!(converted, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS);
        let physical = column.get_physical_type();
        let is_odd = physical == PhysicalType::FIXED_LEN_BYTE_ARRAY && !is_decimal;
        if is_time || is_odd {
            self.diagnostics.warn("column_type");
            return Ok(None);
        }
        let has_number = matches!(physical, PhysicalType::INT32 | PhysicalType::INT64);
        let (logical, converted) = match logical {
            _ if physical == PhysicalType::BYTE_ARRAY
                && !is_decimal
                && self.texts == Texts::Checked =>
            {
                (Some(LogicalType::String), ConvertedType::UTF8)
            }
            _ if !has_number && !is_decimal => (None, ConvertedType::NONE),
            Some(LogicalType::Timestamp(timestamp)) => {
                let mut timestamp = timestamp.clone();
                // Dumps mean UTC in either case.
                timestamp.is_adjusted_to_u_t_c = true;
                (Some(LogicalType::Timestamp(timestamp)), ConvertedType::NONE)
            }
            logical => (logical.cloned(), converted),
        };
        let mut builder = Type::primitive_type_builder(column.name(), physical)
            .with_repetition(info.repetition())
            .with_converted_type(converted)
            .with_logical_type(logical);
        if let Type::PrimitiveType { type_length, scale, precision, .. } = &**column {
            builder =
                builder.with_length(*type_length).with_scale(*scale).with_precision(*precision);
        }
        self.leaves.push(leaf);
        Ok(Some(Arc::new(builder.build()?)))
    }
}

fn group(
    like: &TypePtr,
    converted: ConvertedType,
    fields: Vec<TypePtr>,
) -> Result<TypePtr, ParquetError> {
    let info = like.get_basic_info();
    let repetition = if info.has_repetition() { info.repetition() } else { Repetition::OPTIONAL };
    let group = Type::group_type_builder(like.name())
        .with_repetition(repetition)
        .with_converted_type(converted)
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(group))
}

fn leaf_count(member: &TypePtr) -> usize {
    if member.is_primitive() {
        return 1;
    }
    member.get_fields().iter().map(leaf_count).sum()
}
