//! Data extension: members of records as the cells of new columns.
//!
//! ```text
//! {"ids":["HX_W1"],"properties":[{"id":"authors.name"}]}
//! {"meta":[{"id":"authors.name",…}],"rows":{"HX_W1":{"authors.name":[{"str":"Ada Berg"},…]}}}
//! ```

use pinakes_format::entity::Entity;
use pinakes_format::query::{member_names, nearest, parse_select};
use pinakes_format::record::members::View;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::error::ReadError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::endpoint::call::{Answer, Call};
use crate::endpoint::reconcile::{find, types};
use crate::reply::Reply;
use crate::reply::detail::Detail;

/// The most records of a request.
const IDS_MAX: usize = 100;
/// The most properties of a request.
const PROPERTIES_MAX: usize = 20;
/// The values of a cell; a record may have a million authors.
const VALUES_MAX: usize = 1_000;

/// A request for members of records.
#[derive(Clone, Debug, Deserialize)]
pub struct Extension {
    ids: Vec<String>,
    properties: Vec<Property>,
}

#[derive(Clone, Debug, Deserialize)]
struct Property {
    id: String,
}

/// Parses the parameter `extend`.
pub fn parse(text: &str) -> Result<Extension, Vec<Detail>> {
    let refuse = |value: &str, reason: String| Err(vec![Detail::new("extend", value, reason)]);
    let extension: Extension = match serde_json::from_str(text) {
        Ok(extension) => extension,
        Err(error) if error.is_data() => {
            return refuse(text, format!("must be an object with `ids` and `properties`: {error}"));
        }
        Err(error) => return refuse(text, format!("is no JSON, at column {}", error.column())),
    };
    let Extension { ids, properties } = &extension;
    if ids.len() > IDS_MAX || properties.len() > PROPERTIES_MAX {
        let reason =
            format!("has more than {IDS_MAX} ids or more than {PROPERTIES_MAX} properties");
        return refuse(text, reason);
    }
    for Property { id } in properties {
        let is_known = types().any(|facts| parse_select(facts.entity, View::Single, id).is_ok());
        if !is_known {
            let names: Vec<String> =
                types().flat_map(|facts| member_names(facts.entity, View::Single)).collect();
            let near = nearest(id, names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return refuse(id, format!("has an unknown property{near}"));
        }
    }
    Ok(extension)
}

/// Answers the cells.
pub fn answer(extension: &Extension, call: &Call<'_>) -> Answer {
    let mut rows = Map::new();
    for id in &extension.ids {
        let mut cells = Map::new();
        let found = find(id, call.snapshot)?;
        for Property { id } in &extension.properties {
            let values = match found {
                Some((entity, row)) => values(entity, row, id, call.snapshot)?,
                None => Vec::new(),
            };
            cells.insert(id.clone(), values.into());
        }
        rows.insert(id.clone(), cells.into());
    }
    let meta = extension.properties.iter().map(|Property { id }| json!({ "id": id, "name": id }));
    let meta: Vec<Value> = meta.collect();
    Ok(Reply::json(json!({ "meta": meta, "rows": rows }).to_string()))
}

/// The values of a member; none where records of the entity have no such member.
fn values(
    entity: Entity,
    row: u32,
    property: &str,
    snapshot: &Snapshot,
) -> Result<Vec<Value>, ReadError> {
    let Ok(members) = parse_select(entity, View::Single, property) else { return Ok(Vec::new()) };
    let mut writer = members.writer(snapshot);
    members.render(row, &mut writer)?;
    let record: Value = serde_json::from_slice(&writer.out)
        .map_err(|_| ReadError::Internal("a record is no JSON"))?;
    let mut values = Vec::new();
    let path: Vec<&str> = property.split('.').map(str::trim).collect();
    gather(&record, &path, &mut values);
    Ok(values)
}

/// Gathers the values at a path, which passes through lists.
fn gather(value: &Value, path: &[&str], out: &mut Vec<Value>) {
    match (value, path) {
        (Value::Array(items), _) => items.iter().for_each(|item| gather(item, path, out)),
        (Value::Object(members), [name, rest @ ..]) => {
            if let Some(member) = members.get(*name) {
                gather(member, rest, out);
            }
        }
        (_, []) if out.len() < VALUES_MAX => out.extend(cell_value(value)),
        _ => {}
    }
}

/// A value of a cell. A reference is an entity, and another object with a name is its name.
fn cell_value(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null | Value::Array(_) => return None,
        Value::Bool(is_true) => json!({ "str": (is_true.to_string()) }),
        Value::Number(number) if number.is_f64() => json!({ "float": number }),
        Value::Number(number) => json!({ "int": number }),
        Value::String(text) => json!({ "str": text }),
        Value::Object(members) => match (members.get("id"), members.get("name")) {
            (Some(Value::String(id)), Some(Value::String(name))) if id.starts_with("HX_") => {
                json!({ "id": id, "name": name })
            }
            (_, Some(Value::String(name))) => json!({ "str": name }),
            _ => return None,
        },
    })
}
