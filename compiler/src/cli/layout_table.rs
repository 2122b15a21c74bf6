//! `inspect --layout`: counts the bytes of records, by entity and member.
//!
//! ```text
//! outputs: 40000 records, 812.4 bytes each
//!   member                  values    members B      texts B  B/record
//!   (flags and counts)           0       200000            0       5.0
//!   doi                      39120        39120      1447440      37.2
//!   authors                  39800      2202200            0      55.1
//!     (flags and counts)         0       197100            0       4.9
//!     author                157300       471900            0      11.8
//! ```

use std::fmt::Write;

use pinakes_format::entity::Entity;
use pinakes_format::record::{Measured, ObjectSchema, Schema, schema_of};
use pinakes_format::snapshot::{RecordSizes, Snapshot};
use pinakes_format::storage::ReadError;
use serde_json::{Value, json};

/// The bytes of records, by entity and member.
pub(crate) struct LayoutTable(Vec<(Entity, RecordSizes)>);

/// One line of the table.
struct Line {
    depth: usize,
    member: String,
    measured: Measured,
}

impl LayoutTable {
    /// Reads every record of a snapshot.
    pub(crate) fn measure(snapshot: &Snapshot) -> Result<LayoutTable, ReadError> {
        let entities = Entity::all().filter(|entity| snapshot.count(*entity) > 0);
        let sizes = entities.map(|entity| Ok((entity, snapshot.measure_records(entity)?)));
        sizes.collect::<Result<_, _>>().map(LayoutTable)
    }

    pub(crate) fn as_text(&self) -> String {
        let mut text = String::new();
        for (entity, sizes) in &self.0 {
            let each = |bytes: u64| bytes as f64 / sizes.records as f64;
            let _ = writeln!(
                text,
                "{entity}: {} records, {:.1} bytes each",
                sizes.records,
                each(sizes.stored_bytes)
            );
            let _ = writeln!(
                text,
                "  {:<44}{:>12}{:>13}{:>13}{:>10}",
                "member", "values", "members B", "texts B", "B/record"
            );
            for Line { depth, member, measured } in lines(*entity, sizes) {
                let name = format!("{:indent$}{member}", "", indent = 2 * depth);
                let bytes = measured.member_bytes + measured.text_bytes;
                let _ = writeln!(
                    text,
                    "  {name:<44}{:>12}{:>13}{:>13}{:>10.1}",
                    measured.values,
                    measured.member_bytes,
                    measured.text_bytes,
                    each(bytes)
                );
            }
            text.push('\n');
        }
        text
    }

    pub(crate) fn as_json(&self) -> Value {
        let entities = self.0.iter().map(|(entity, sizes)| {
            let mut path = Vec::new();
            let members =
                lines(*entity, sizes).into_iter().map(|Line { depth, member, measured }| {
                    path.truncate(depth);
                    path.push(member);
                    json!({
                        "member": path.join("."),
                        "values": measured.values,
                        "members_bytes": measured.member_bytes,
                        "texts_bytes": measured.text_bytes,
                    })
                });
            let members: Vec<Value> = members.collect();
            let value = json!({
                "records": sizes.records,
                "stored_bytes": sizes.stored_bytes,
                "members": members,
            });
            (entity.to_string(), value)
        });
        Value::Object(entities.collect())
    }
}

/// The members of an entity's records, and the bytes that belong to no member.
fn lines(entity: Entity, sizes: &RecordSizes) -> Vec<Line> {
    let mut lines = Vec::new();
    let schema = schema_of(entity);
    if let Some(object) = object_in(&schema) {
        add_members(object, &sizes.members, 0, &mut lines);
    }
    let own = sizes.members.member_bytes + sizes.members.text_bytes;
    let other = [
        ("long texts, compressed", sizes.long_text_bytes),
        ("frame of the archive", sizes.stored_bytes - own - sizes.long_text_bytes),
    ];
    lines.extend(other.map(|(name, bytes)| {
        let measured = Measured { member_bytes: bytes, ..Measured::default() };
        Line { depth: 0, member: name.to_owned(), measured }
    }));
    lines
}

fn add_members(object: &ObjectSchema, measured: &Measured, depth: usize, lines: &mut Vec<Line>) {
    let of_members: u64 = measured.members.iter().map(|member| member.member_bytes).sum();
    let flags = measured.member_bytes.saturating_sub(of_members);
    lines.push(Line {
        depth,
        member: "(flags and counts)".to_owned(),
        measured: Measured { member_bytes: flags, ..Measured::default() },
    });
    for (member, measured) in object.members.iter().zip(&measured.members) {
        let line = Measured { members: Vec::new(), ..measured.clone() };
        lines.push(Line { depth, member: member.name.to_owned(), measured: line });
        if let Some(below) = object_in(&member.schema).filter(|_| !measured.members.is_empty()) {
            add_members(below, measured, depth + 1, lines);
        }
    }
}

/// The object that a schema is of, or the object of a list's items.
fn object_in(schema: &Schema) -> Option<&ObjectSchema> {
    match schema {
        Schema::Nullable(inner) | Schema::List(inner) => object_in(inner),
        Schema::ByShape { single, .. } => object_in(single),
        Schema::Object(object) => Some(object),
        _ => None,
    }
}
