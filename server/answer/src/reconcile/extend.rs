//! Data extension: members of records as the cells of new columns.
//!
//! ```text
//! {"ids":["HX_W1"],"properties":[{"id":"authors.name"}]}
//! {"meta":[{"id":"authors.name",…}],"rows":{"HX_W1":{"authors.name":[{"str":"Ada Berg"},…]}}}
//! ```

use std::{borrow::Cow, collections::BTreeMap, fmt, mem};

use pinakes_format::entity::Entity;
use pinakes_format::query::{member_names, nearest, parse_select};
use pinakes_format::record::{Members, View};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::define::charge::RECORDS_PER_REQUEST;
use crate::define::{Answer, Call};
use crate::reconcile::types::{find, types};
use crate::reply::pieces::{ListStream, PIECE_BYTES, PieceBudget, PieceError, PieceSource};
use crate::reply::{Detail, JSON, Reply};

/// The most records of a request.
const IDS_MAX: usize = 100;
/// The most properties of a request.
const PROPERTIES_MAX: usize = 20;
/// The values of a cell; a record may have a million authors.
const VALUES_MAX: usize = 1_000;
/// The values of all cells of a reply.
const REPLY_VALUES_MAX: usize = 100_000;

/// A request for members of records.
#[derive(Clone, Debug, Deserialize)]
pub struct Extension {
    /// Each once.
    ids: Vec<String>,
    /// Each once.
    properties: Vec<Property>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Property {
    id: String,
}

/// Parses the parameter `extend`.
pub fn parse(text: &str) -> Result<Extension, Vec<Detail>> {
    let refuse = |value: &str, reason: String| Err(vec![Detail::new("extend", value, reason)]);
    let Extension { ids, properties } = match serde_json::from_str(text) {
        Ok(extension) => extension,
        Err(error) if error.is_data() => {
            return refuse(text, format!("must be an object with `ids` and `properties`: {error}"));
        }
        Err(error) => return refuse(text, format!("is no JSON, at column {}", error.column())),
    };
    if ids.len() > IDS_MAX || properties.len() > PROPERTIES_MAX {
        let reason =
            format!("has more than {IDS_MAX} ids or more than {PROPERTIES_MAX} properties");
        return refuse(text, reason);
    }
    for Property { id } in &properties {
        let is_known = types().any(|facts| parse_select(facts.entity, View::Single, id).is_ok());
        if !is_known {
            let names: Vec<String> =
                types().flat_map(|facts| member_names(facts.entity, View::Single)).collect();
            let near = nearest(id, names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return refuse(id, format!("has an unknown property{near}"));
        }
    }
    Ok(Extension { ids: each_once(ids), properties: each_once(properties) })
}

/// The distinct items, in the order of their first places.
fn each_once<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut distinct: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// Begins the reply with the cells: each record counts as a search.
pub fn answer(extension: &Extension, call: &Call<'_>) -> Answer {
    let list = ListStream {
        records: extension.ids.len() as u64,
        weight: RECORDS_PER_REQUEST,
        media_type: JSON,
        file_name: None,
    };
    let cells = Cells {
        extension: extension.clone(),
        selections: BTreeMap::new(),
        next: 0,
        values_left: REPLY_VALUES_MAX,
        has_begun: false,
        is_done: false,
    };
    call.prepare(&cells)?;
    Ok(Reply::in_pieces(Box::new(cells), Some(list)))
}

/// The cells of records, which are read one after the other.
#[derive(Clone)]
struct Cells {
    extension: Extension,
    /// The members that are read of an entity's records; `None` where the records have none of the properties.
    selections: BTreeMap<Entity, Option<Members>>,
    /// Index of the next id.
    next: usize,
    values_left: usize,
    has_begun: bool,
    is_done: bool,
}

impl Cells {
    /// The cells of the next record.
    fn cells(&mut self, snapshot: &Snapshot) -> Result<Value, ReadError> {
        let Extension { ids, properties } = &self.extension;
        // The JSON of the record.
        let mut record = Vec::new();
        if let Some((entity, row)) = find(&ids[self.next], snapshot)? {
            let selection = self.selections.entry(entity);
            if let Some(members) = selection.or_insert_with(|| selected(entity, properties)) {
                let mut writer = members.writer(snapshot);
                members.render(row, &mut writer)?;
                record = writer.out;
            }
        }
        let mut cells = Map::new();
        for Property { id } in properties {
            let path: Vec<&str> = id.split('.').map(str::trim).collect();
            let mut values = Vec::new();
            if !record.is_empty() {
                let cells_max = VALUES_MAX.min(self.values_left);
                let gather = Gather { path: &path, cells_max, cells: &mut values };
                let mut json = serde_json::Deserializer::from_slice(&record);
                let gathered = gather.deserialize(&mut json);
                gathered.map_err(|_| ReadError::Internal("a record is no JSON"))?;
            }
            self.values_left -= values.len();
            cells.insert(id.clone(), values.into());
        }
        Ok(cells.into())
    }
}

/// The members of an entity's records that the properties name.
fn selected(entity: Entity, properties: &[Property]) -> Option<Members> {
    let names = properties.iter().map(|Property { id }| id.trim());
    let known = names.filter(|name| parse_select(entity, View::Single, name).is_ok());
    let known = each_once(known.collect()).join(",");
    parse_select(entity, View::Single, &known).ok()
}

impl PieceSource for Cells {
    fn held_bytes(&self) -> usize {
        // The text of the request came in a URL or a body of at most 64 KiB.
        PIECE_BYTES
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        if !mem::replace(&mut self.has_begun, true) {
            let names = self.extension.properties.iter();
            let meta: Value =
                names.map(|Property { id }| json!({ "id": id, "name": id })).collect();
            out.extend_from_slice(format!("{{\"meta\":{meta},\"rows\":{{").as_bytes());
        }
        while let Some(id) = self.extension.ids.get(self.next) {
            if budget.is_used(out.len()) {
                return Ok(());
            }
            let id = Value::from(id.as_str());
            let cells = snapshot.or_noted(self.cells(snapshot))?;
            let comma = if self.next == 0 { "" } else { "," };
            out.extend_from_slice(format!("{comma}{id}:{cells}").as_bytes());
            self.next += 1;
        }
        out.extend_from_slice(b"}}");
        self.is_done = true;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// Gathers the cells of the values at a path, which passes through lists, from the text of a record: nothing else of a
/// record with thousands of authors is held.
struct Gather<'g> {
    path: &'g [&'g str],
    cells_max: usize,
    cells: &'g mut Vec<Value>,
}

impl Gather<'_> {
    fn push(self, cell: Value) {
        if self.path.is_empty() && self.cells.len() < self.cells_max {
            self.cells.push(cell);
        }
    }

    /// For a value inside of this one.
    fn inner<'i>(&'i mut self, path: &'i [&'i str]) -> Gather<'i> {
        Gather { path, cells_max: self.cells_max, cells: self.cells }
    }
}

impl<'de> DeserializeSeed<'de> for Gather<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Gather<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member of a record")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, is_true: bool) -> Result<(), E> {
        self.push(json!({ "str": (is_true.to_string()) }));
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.push(json!({ "int": number }));
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.push(json!({ "int": number }));
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.push(json!({ "float": number }));
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.push(json!({ "str": text }));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let path = self.path;
        while items.next_element_seed(self.inner(path))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        if let [name, rest @ ..] = self.path {
            while let Some(member) = members.next_key::<Cow<'de, str>>()? {
                match member == *name {
                    true => members.next_value_seed(self.inner(rest))?,
                    false => _ = members.next_value::<IgnoredAny>()?,
                }
            }
            return Ok(());
        }
        // A reference is an entity, and another object with a name is its name.
        let (mut id, mut object_name) = (None, None);
        while let Some(member) = members.next_key::<Cow<'de, str>>()? {
            match &*member {
                "id" => id = members.next_value::<Value>()?.as_str().map(str::to_owned),
                "name" => object_name = members.next_value::<Value>()?.as_str().map(str::to_owned),
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        match (id.filter(|id| id.starts_with("HX_")), object_name) {
            (Some(id), Some(name)) => self.push(json!({ "id": id, "name": name })),
            (None, Some(name)) => self.push(json!({ "str": name })),
            (_, None) => {}
        }
        Ok(())
    }
}
