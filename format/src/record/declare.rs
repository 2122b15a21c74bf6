//! The macros that declare records: `object!` for a type and `record!` for the record of an entity.
//!
//! One declaration generates the struct, its archived form, JSON output in both shapes, selection,
//! building from input, the walk over references, the walk along paths, the walk into columns, and
//! the schema.

/// Declares an object member by member, in the order of the interface.
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
///         @key pmid: Option<String>,       replies omit the member; filters and exports have it
///     }
/// }
/// ```
///
/// `Name lists [b a] { … }` names the members in the order of lists, where lists have another order.
///
/// A new member touches three files: its line here in `record/`, the OpenAlex front end of the
/// record, and `schema/keys/lines.rs` if lists filter or sort by it. The native front end reads
/// it without a change.
macro_rules! object {
    (
        $(#[doc = $doc:literal])*
        $name:ident $(lists [$($listed:ident)*])? {
            $(
                $(#[doc = $member_doc:literal])*
                $(@$shown:ident)? $member:ident $(as $json:literal)? : $type:ty,
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize, Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $member_doc])* pub $member: $type,)*
        }

        impl $crate::record::schema::Describe for $name {
            fn schema() -> $crate::record::schema::Schema {
                $crate::record::schema::Schema::Object($crate::record::schema::Object {
                    name: stringify!($name),
                    doc: concat!($($doc),*).trim_ascii(),
                    members: vec![$(
                        $crate::record::schema::Member {
                            name: $crate::record::declare::json_name!($member $($json)?),
                            doc: concat!("", $($member_doc),*).trim_ascii(),
                            shown: $crate::record::declare::shown!($($shown)?),
                            schema: <$type as $crate::record::schema::Describe>::schema(),
                            archived_bytes: size_of::<rkyv::Archived<$type>>(),
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

        impl $crate::record::slot::Slots for rkyv::Archived<$name> {
            fn slots<'a>(
                &'a self,
                visit: &mut impl FnMut($crate::record::slot::Slot<&'a rkyv::primitive::ArchivedU32>),
            ) {
                $($crate::record::slot::Slots::slots(&self.$member, visit);)*
                let _ = visit;
            }
        }

        impl $crate::record::gather::Gather for rkyv::Archived<$name> {
            fn gather<'a>(
                &'a self,
                tree: &$crate::record::gather::PathTree,
                visit: &mut dyn FnMut(usize, $crate::record::gather::Gathered<'a>),
            ) {
                for (member, below) in &tree.members {
                    let mut at = 0;
                    $(
                        if *member == at {
                            $crate::record::gather::Gather::gather(&self.$member, below, visit);
                        }
                        at += 1;
                    )*
                    let _ = at;
                }
            }
        }

        impl $crate::json::render::Render for rkyv::Archived<$name> {
            fn render_at(
                at: $crate::json::location::ValueLocation<'_>,
                page: &mut $crate::json::render::Page<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let object = page.begin_object();
                $(
                    $crate::record::declare::render_member!(
                        [$($shown)?] rkyv::Archived<$type>,
                        at.member(std::mem::offset_of!(rkyv::Archived<$name>, $member)), page,
                        concat!(",\"", $crate::record::declare::json_name!($member $($json)?), "\":")
                    );
                )*
                page.end_object(object);
                Ok(())
            }
        }

        impl $crate::json::select::Select for rkyv::Archived<$name> {
            fn select_value(
                &self,
                value: &$crate::json::select::SelectedValue,
                writer: &mut $crate::json::select::SelectionWriter<'_, '_>,
            ) -> Result<(), $crate::json::select::SelectError> {
                let mut at = 0;
                match value {
                    $crate::json::select::SelectedValue::Constant(json) => {
                        writer.page.out.extend_from_slice(json.as_bytes());
                        return Ok(());
                    }
                    $crate::json::select::SelectedValue::Member(member, below) => {
                        $(
                            if *member == at {
                                return $crate::json::select::Select::select(
                                    &self.$member, below, writer,
                                );
                            }
                            at += 1;
                        )*
                    }
                    $crate::json::select::SelectedValue::Flat(member, part) => {
                        $(
                            if *member == at {
                                return $crate::json::select::Select::select_value(&self.$member, part, writer);
                            }
                            at += 1;
                        )*
                    }
                    _ => {}
                }
                let _ = at;
                Err($crate::storage::error::ReadError::Internal("the record has no such member").into())
            }
        }

        impl $crate::record::columns::Columns for rkyv::Archived<$name> {
            fn put<C: $crate::record::columns::Column>(
                &self,
                column: &mut C,
                page: &mut $crate::json::render::Page<'_>,
            ) -> Result<(), $crate::storage::error::ReadError> {
                let mut columns = column.object().iter_mut();
                $(
                    let column = columns.next().ok_or($crate::record::columns::OTHER_MEMBERS)?;
                    $crate::record::columns::fill(&self.$member, column, page)?;
                )*
                Ok(())
            }
        }

        // With alignment 1 there is no padding: the offset of a member is the sum of the sizes
        // before it.
        const _: () = assert!(align_of::<rkyv::Archived<$name>>() == 1);
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
        }

        impl $crate::record::ArchivedRecord for rkyv::Archived<$record> {
            fn id(&self) -> u64 {
                self.id.0.to_native()
            }

            fn name(&self) -> Option<&str> {
                self.name.as_ref().map(|name| name.as_str())
            }

            fn updated_micros(&self) -> Option<i64> {
                self.updated_date.as_ref().map(|date| date.micros.to_native())
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
    ([] $type:ty, $at:expr, $page:ident, $key:expr) => {
        $page.member($key);
        <$type as $crate::json::render::Render>::render_at($at, $page)?;
    };
    ([single] $type:ty, $at:expr, $page:ident, $key:expr) => {
        if $page.shape() == $crate::json::render::Shape::Single {
            $page.member($key);
            <$type as $crate::json::render::Render>::render_at($at, $page)?;
        }
    };
    ([flat] $type:ty, $at:expr, $page:ident, $key:expr) => {
        <$type>::render_members($at, $page)?;
    };
    ([key] $type:ty, $at:expr, $page:ident, $key:expr) => {
        if $page.has_key_members() && !<$type as $crate::json::render::Render>::is_absent_at($at)? {
            $page.member($key);
            <$type as $crate::json::render::Render>::render_at($at, $page)?;
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
    use crate::record::schema::{Describe, Schema};

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
    fn object_generates_struct_archive_and_schema() {
        assert_eq!(members(&before::Record::schema()), ["name"]);
        assert_eq!(members(&after::Record::schema()), ["name", "2yr_weight"]);
        let grown = size_of::<rkyv::Archived<after::Record>>();
        assert_eq!(grown, size_of::<rkyv::Archived<before::Record>>() + 9);

        let record = after::Record { name: Some("a".into()), weight: Some(0.5) };
        let bytes = rkyv::to_bytes::<rkyv::rancor::Error>(&record).unwrap();
        let archived =
            rkyv::access::<rkyv::Archived<after::Record>, rkyv::rancor::Error>(&bytes).unwrap();
        assert_eq!(archived.weight.as_ref().map(|weight| weight.to_native()), Some(0.5));
    }
}
