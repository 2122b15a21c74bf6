//! The macros that declare records: `object!` for a type and `record!` for the record of an entity.
//!
//! One declaration generates the struct, its packed form, JSON output in both shapes, selection,
//! building from input, the walk over references, the walk along paths, the walk into columns, and
//! the schema.
//!
//! Each walk over the members is generated for each object. A walk by the schema at run time would be one function,
//! and would decide the type of each member again for each record. [`leaf`](crate::record::leaf) says once for each
//! output how it shows a value without members. A prototype had one generated walk, with visitors for JSON, columns
//! and gathered values. The prototype took 85 lines more, because each visitor repeats what the wrapper types do. JSON
//! was as fast; columns of 7,089 real outputs were filled in 0.9 of the time.

/// Declares objects member by member, in the order of the interface.
///
/// ```text
/// object! {
///     /// What the object is.
///     Biblio {
///         /// What the member is.
///         volume: Option<String>,          the JSON name is the field name
///         kind as "type": Option<…>,       the JSON name is "type"
///         @single issue: Option<String>,   lists omit the member
///         @flat author: Ref<AUTHOR>,       `id` and `name` become members of this object
///         @key pmid: Option<String>,       replies omit the member; exports have it, filters may
///     }
/// }
/// ```
///
/// `Name lists [b a] { … }` names the members in the order of lists, where lists have another order.
/// `Name derives gather { … }` gathers the paths that lead to no member by that function.
///
/// A new member touches three files: its line here in `record/`, the OpenAlex front end of the
/// record, and `schema/keys/lines.rs` if lists filter or sort by it. The native front end reads
/// it without a change.
macro_rules! object {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $(lists $listed:tt)? $(derives $derive:path)? { $($body:tt)* }
    )+) => {$(
        $crate::record::declare::object!(
            @one $(#[doc = $doc])* $name $(lists $listed)? $(derives $derive)? { $($body)* }
        );
    )+};
    (
        @one $(#[doc = $doc:literal])*
        $name:ident $(lists [$($listed:ident)*])? $(derives $derive:path)? {
            $(
                $(#[doc = $member_doc:literal])*
                $(@$shown:ident)? $member:ident $(as $json:literal)? : $type:ty,
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $member_doc])* pub $member: $type,)*
        }

        impl $crate::record::schema::Describe for $name {
            fn schema() -> $crate::record::schema::Schema {
                $crate::record::schema::Schema::Object($crate::record::schema::ObjectSchema {
                    name: stringify!($name),
                    doc: concat!($($doc),*).trim_ascii(),
                    members: vec![$(
                        $crate::record::schema::MemberSchema {
                            name: $crate::record::declare::json_name!($member $($json)?),
                            doc: concat!("", $($member_doc),*).trim_ascii(),
                            shown: $crate::record::declare::shown!($($shown)?),
                            schema: <$type as $crate::record::schema::Describe>::schema(),
                            flag_bits: <$type as $crate::record::stored::Stored>::FLAG_BITS,
                        },
                    )*],
                    list_order: &[$($(stringify!($listed)),*)?],
                })
            }
        }

        impl $crate::record::build::Build for $name {
            fn build(source: &mut impl $crate::record::build::ValueSource) -> Option<Self> {
                source.object(|source| {
                    Some($name {
                        $($member: $crate::record::declare::build_member!(
                            [$($shown)?] $type, source,
                            $crate::record::declare::json_name!($member $($json)?)
                        )?,)*
                    })
                })
            }

            fn absent() -> Option<Self> {
                Some($name {
                    $($member: <$type as $crate::record::build::Build>::absent()?,)*
                })
            }
        }

        $crate::record::stored::stored_object! { $name { $($member: $type,)* } }

        impl $crate::record::gather::Gather for $name {
            fn gather<'r>(
                from: &mut $crate::json::record_reader::RecordReader<'r>,
                tree: &$crate::record::gather::PathTree,
                visit: &mut dyn FnMut(usize, $crate::record::gather::Gathered<'r>),
            ) -> Result<(), $crate::storage::error::ReadError> {
                let object = *from;
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                let mut paths = &tree.members[..];
                let mut at = 0;
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    $crate::record::gather::gather_member::<$type>(at, from, &mut paths, visit)?;
                    at += 1;
                )*
                // The paths that lead to no member.
                $($derive(object, paths, visit)?;)?
                let _ = (at, paths, object);
                Ok(())
            }
        }

        impl $crate::json::render::Render for $name {
            #[inline]
            fn render(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                writer: &mut $crate::json::render::JsonWriter<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                let object = writer.begin_object();
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    $crate::record::declare::render_member!(
                        [$($shown)?] $type, from, writer,
                        concat!(",\"", $crate::record::declare::json_name!($member $($json)?), "\":")
                    );
                )*
                writer.end_object(object);
                Ok(())
            }
        }

        impl $crate::json::select::Select for $name {
            fn select(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                selection: &$crate::json::select::MemberSelection,
                writer: &mut $crate::json::select::SelectionWriter<'_, '_>,
            ) -> Result<(), $crate::json::select::SelectError> {
                let members = <Self as $crate::record::stored::StoredObject>::locate(from)?;
                writer.object(selection, |value, writer| {
                    <Self as $crate::record::select::SelectMember>::select_member(&members, value, writer)
                })
            }

            fn select_value(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                value: &$crate::json::select::SelectedValue,
                writer: &mut $crate::json::select::SelectionWriter<'_, '_>,
            ) -> Result<(), $crate::json::select::SelectError> {
                let members = <Self as $crate::record::stored::StoredObject>::locate(from)?;
                <Self as $crate::record::select::SelectMember>::select_member(&members, value, writer)
            }
        }

        impl $crate::record::select::SelectMember for $name {
            fn select_member(
                members: &Self::Members<'_>,
                value: &$crate::json::select::SelectedValue,
                writer: &mut $crate::json::select::SelectionWriter<'_, '_>,
            ) -> Result<(), $crate::json::select::SelectError> {
                // A macro does not number what it repeats, so `at` counts the members.
                let mut at = 0;
                match value {
                    $crate::json::select::SelectedValue::Constant(json) => {
                        writer.json.out.extend_from_slice(json.as_bytes());
                        return Ok(());
                    }
                    $crate::json::select::SelectedValue::Member(member, below) => {
                        $(
                            if *member == at {
                                return <$type as $crate::json::select::Select>::select(
                                    &mut members[at].clone(), below, writer,
                                );
                            }
                            at += 1;
                        )*
                    }
                    $crate::json::select::SelectedValue::Flat(member, part) => {
                        $(
                            if *member == at {
                                return <$type as $crate::json::select::Select>::select_value(
                                    &mut members[at].clone(), part, writer,
                                );
                            }
                            at += 1;
                        )*
                    }
                    _ => {}
                }
                // The count after the last member is not read.
                let _ = at;
                Err($crate::storage::error::ReadError::Internal("the record has no such member").into())
            }
        }

        impl $crate::record::columns::Columns for $name {
            fn put<C: $crate::record::columns::Column>(
                from: &mut $crate::json::record_reader::RecordReader<'_>,
                column: &mut C,
                writer: &mut $crate::json::render::JsonWriter<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut flags = from.object_flags(Self::OBJECT_FLAG_BITS)?;
                let mut columns = column.object().iter_mut();
                $(
                    from.take_flags(&mut flags, <$type as $crate::record::stored::Stored>::FLAG_BITS);
                    let column = columns.next().ok_or($crate::record::columns::OTHER_MEMBERS)?;
                    $crate::record::columns::fill::<$type, C>(from, column, writer)?;
                )*
                Ok(())
            }
        }
    };
}

/// Makes an object declared by `object!` the record of the entity of the same name.
///
/// `by` names the member that orders the entity's list, descending with nulls last. `by id` orders
/// ascending by id.
macro_rules! record {
    ($record:ident by $order:ident) => {
        impl $crate::record::Record for $record {
            const ENTITY: $crate::entity::Entity = $crate::entity::Entity::$record;
            const ORDERED_BY: &str = stringify!($order);

            fn id(&self) -> u64 {
                self.id.0
            }

            fn order_count(&self) -> Option<u64> {
                $crate::record::declare::order_count!(self $order)
            }

            fn name(packed: &[u8]) -> Result<Option<&str>, $crate::storage::error::ReadError> {
                let mut from = $crate::json::record_reader::RecordReader::new(packed)?;
                let members = <$record as $crate::record::stored::StoredObject>::locate(&mut from)?;
                let mut name = members[const { $record::index_of("name") }];
                if name.flag() { name.utf8().map(Some) } else { Ok(None) }
            }
        }
    };
}

macro_rules! order_count {
    ($record:ident id) => {
        None
    };
    ($record:ident $order:ident) => {
        $record.$order
    };
}

macro_rules! json_name {
    ($member:ident $json:literal) => {
        $json
    };
    ($member:ident) => {
        stringify!($member)
    };
}

macro_rules! shown {
    (single) => {
        $crate::record::schema::Shown::Single
    };
    (flat) => {
        $crate::record::schema::Shown::Flat
    };
    (key) => {
        $crate::record::schema::Shown::KeyOnly
    };
    () => {
        $crate::record::schema::Shown::Always
    };
}

macro_rules! render_member {
    ([] $type:ty, $from:ident, $writer:ident, $key:expr) => {
        $writer.member($key);
        <$type as $crate::json::render::Render>::render($from, $writer)?;
    };
    ([single] $type:ty, $from:ident, $writer:ident, $key:expr) => {
        if $writer.shape() == $crate::json::render::Shape::Single {
            $writer.member($key);
            <$type as $crate::json::render::Render>::render($from, $writer)?;
        } else {
            <$type as $crate::record::stored::Stored>::skip($from)?;
        }
    };
    ([flat] $type:ty, $from:ident, $writer:ident, $key:expr) => {
        <$type>::render_members($from, $writer)?;
    };
    ([key] $type:ty, $from:ident, $writer:ident, $key:expr) => {
        if $writer.has_key_members() && !$from.has_no_flag() {
            $writer.member($key);
            <$type as $crate::json::render::Render>::render($from, $writer)?;
        } else {
            <$type as $crate::record::stored::Stored>::skip($from)?;
        }
    };
}

macro_rules! build_member {
    ([flat] $type:ty, $source:ident, $name:expr) => {
        <$type as $crate::record::build::Build>::build($source)
    };
    ([$($shown:ident)?] $type:ty, $source:ident, $name:expr) => {
        $source
            .member($name, |source| <$type as $crate::record::build::Build>::build(source))
            .or_else(<$type as $crate::record::build::Build>::absent)
    };
}

pub(crate) use {build_member, json_name, object, order_count, record, render_member, shown};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::json::record_reader::RecordReader;
    use crate::record::schema::{Describe, Schema};
    use crate::record::stored::Stored;
    use crate::record::writer::RecordWriter;

    mod before {
        crate::record::declare::object! {
            /// A record.
            Record {
                /// Its name.
                name: Option<String>,
            }
        }
    }

    mod after {
        crate::record::declare::object! {
            /// A record.
            Record {
                /// Its name.
                name: Option<String>,
                /// The one line that was added.
                @single weight as "2yr_weight": Option<f64>,
            }
        }
    }

    fn members(schema: &Schema) -> Vec<&'static str> {
        let Schema::Object(object) = schema else { panic!("no object") };
        object.members.iter().map(|member| member.name).collect()
    }

    #[test]
    fn object_generates_struct_packed_form_and_schema() {
        assert_eq!(members(&before::Record::schema()), ["name"]);
        assert_eq!(members(&after::Record::schema()), ["name", "2yr_weight"]);

        let record = after::Record { name: Some("a".into()), weight: Some(0.5) };
        let (mut writer, mut packed) = (RecordWriter::default(), Vec::new());
        record.write(&mut writer);
        writer.finish(&mut packed);
        // Members of 4 bytes: flags, the head of the text, and 5 by the first power of ten; then the text.
        assert_eq!(packed, [4, 0b11, 2, 1, 10, b'a']);
        let mut from = RecordReader::new(&packed).unwrap();
        assert_eq!(after::Record::read(&mut from).unwrap(), record);
        assert!(from.is_at_end());
    }
}
