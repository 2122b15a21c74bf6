//! Detection: which front end a file or line belongs to.
//!
//! `input` imports this module only, and no front end.

use pinakes_format::entity::Entity;
use pinakes_format::record::schema::Schema;
use pinakes_format::record::schema_of;

pub use crate::frontend::id_lists::{is_deleted_header, not_deleted_ids};
pub use crate::frontend::side::detect::{DetectedTable, detect_side_table, require_side_table};
pub use crate::frontend::taxonomy_csv::is_header as is_taxonomy_header;
use crate::read::identifier;
use crate::read::json_tree::{JsonMembers, JsonValue};
use crate::read::lenient::Diagnostics;
use crate::read::parquet::ParquetRows;

/// The member that names a native record; no OpenAlex record has it.
pub(crate) const NAME: &str = "name";
/// The member that names an OpenAlex record; no native record has it.
pub(crate) const OPENALEX_NAME: &str = "display_name";

/// The kind of dump that a JSON line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineDialect {
    /// A native record, and its entity where the id or the members determine one.
    Native(Option<Entity>),
    /// Anything else.
    Other,
}

/// Whether a line belongs to a native dump.
pub fn is_native(line: &str) -> bool {
    detect_dialect(line) != LineDialect::Other
}

/// Whether the columns of a Parquet file are those of native records.
pub(crate) fn has_native_columns(rows: &ParquetRows<'_>) -> bool {
    rows.has_column(NAME) && !rows.has_column(OPENALEX_NAME)
}

/// Detects the dialect of a line by its id and its members. Costs a full parse of the line.
///
/// ```text
/// {"id":"HX_A1","name":"x"}            Native(Author): the letter names the entity
/// {"id":3,"name":"x","fields":[]}      Native(Domain): only domains declare `fields`
/// {"id":3,"name":"x"}                  Native(None): several entities fit
/// {"id":"https://openalex.org/A1"}     Other
/// ```
pub fn detect_dialect(line: &str) -> LineDialect {
    let Ok(line) = JsonValue::parse(line, &Diagnostics::default()) else {
        return LineDialect::Other;
    };
    let Some(members) = line.members() else { return LineDialect::Other };
    let has = |name: &str| members.keys().any(|key| key == name);
    if !has(NAME) || has(OPENALEX_NAME) {
        return LineDialect::Other;
    }
    match members.get("id") {
        Some(JsonValue::Text(id)) if identifier::strip_prefix(id).is_some() => {
            LineDialect::Native(identifier::parse_any(id).map(|(entity, _)| entity))
        }
        // A number alone does not name an entity: exactly one entity must declare all members.
        Some(JsonValue::Unsigned(_)) => {
            let mut fitting = Entity::all()
                .filter(|entity| entity.facts().letter.is_none() && declares_all(*entity, members));
            LineDialect::Native(fitting.next().filter(|_| fitting.next().is_none()))
        }
        _ => LineDialect::Other,
    }
}

fn declares_all(entity: Entity, members: &JsonMembers<'_>) -> bool {
    let Schema::Object(object) = schema_of(entity) else { return false };
    members.keys().all(|key| object.members.iter().any(|member| member.name == key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_native_line_is_detected_by_its_id_and_name() {
        let check = |line: &str, expected: LineDialect| {
            assert_eq!(detect_dialect(line), expected, "{line}")
        };
        check(r#"{"id":"HX_A1","name":null}"#, LineDialect::Native(Some(Entity::Author)));
        check(r#"{"id":"hx_a1","name":null}"#, LineDialect::Native(Some(Entity::Author)));
        check(r#"{"id":"HX_Z1","name":"x"}"#, LineDialect::Native(None));
        check(r#"{"id":3,"name":"x"}"#, LineDialect::Native(None));
        check(r#"{"id":3,"name":"x","fields":[]}"#, LineDialect::Native(Some(Entity::Domain)));
        check(r#"{"id":3,"name":"x","subfields":[]}"#, LineDialect::Native(Some(Entity::Field)));
        check(r#"{"id":3,"name":"x","topics":[]}"#, LineDialect::Native(Some(Entity::Subfield)));
        check(
            r#"{"id":3,"name":"x","code":"y"}"#,
            LineDialect::Native(Some(Entity::InstitutionType)),
        );
        check(r#"{"id":3,"name":"x","odd":1,"code":"y"}"#, LineDialect::Native(None));
        check(r#"{"id":"HX_A1","name":"x","display_name":"x"}"#, LineDialect::Other);
        check(r#"{"id":"HX_A1","works_count":1}"#, LineDialect::Other);
        check(r#"{"id":"https://openalex.org/A1","name":"x"}"#, LineDialect::Other);
        check(r#"{"id":"3","name":"x"}"#, LineDialect::Other);
        check(r#"{"name":"x"}"#, LineDialect::Other);
        check(r#"["HX_A1"]"#, LineDialect::Other);
        check("HX_A1", LineDialect::Other);
    }
}
