//! A record as the snapshot has it, and the members of the records that it refers to.
//!
//! The dialect reads a record as a line of an export, with the members that the selection needs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use pinakes_format::changes::add_all_references;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, RecordBytes, RecordStore};
use pinakes_format::query::{REFERENCES, parse_select};
use pinakes_format::record::members::{Members, View};
use pinakes_format::schema::identifier::parse_record_id;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::error::ReadError;
use serde_json::{Map, Value};

use crate::dialects::openalex::values::{ADDRESS, API, Object, read_json, short_id, write_json};

/// The members of records that others show of them.
const REFERRED: [(Entity, &str); 5] = [
    (Entity::Institution, "ror,country.code,type,lineage"),
    (
        Entity::Source,
        "issn_l,issn,is_oa,is_in_doaj,is_core,host_organization,host_organization_name",
    ),
    (Entity::Topic, "subfield,field,domain"),
    (Entity::Publisher, "lineage"),
    (Entity::Funder, "ids.ror"),
];

/// The selections of [`REFERRED`].
static SELECTIONS: LazyLock<HashMap<Entity, Members>> = LazyLock::new(|| {
    let select = |(entity, names): (Entity, &str)| {
        let known = |name: &&str| parse_select(entity, View::Export, name).is_ok();
        let names: Vec<&str> = names.split(',').filter(known).collect();
        parse_select(entity, View::Export, &names.join(",")).ok().map(|members| (entity, members))
    };
    REFERRED.into_iter().filter_map(select).collect()
});

/// A record as it is stored, and the snapshot with the records it refers to.
pub struct Stored<'s> {
    snapshot: &'s Snapshot,
    /// The record as a line of an export.
    line: Map<String, Value>,
    /// The rows of records that were referred to, by id.
    rows: HashMap<(Entity, u64), u32>,
    /// Members of records that this one refers to, by id.
    referred: HashMap<String, Value>,
    fragments: &'s Fragments,
}

/// Records as others show them, as text: the records of a page refer to the same sources, topics and institutions.
#[derive(Default)]
pub struct Fragments(RefCell<HashMap<String, Box<[u8]>>>);

/// The members that the dialect reads of the records of a list.
pub enum StoredMembers {
    /// All of a record.
    All,
    Some {
        /// `None` where records have none of the members.
        members: Option<Members>,
        has_references: bool,
    },
}

impl StoredMembers {
    /// The stored members at these paths.
    pub fn at(entity: Entity, paths: impl Iterator<Item = &'static str>) -> StoredMembers {
        let mut known: Vec<&str> = Vec::new();
        let mut has_references = false;
        for path in paths {
            has_references |= path == REFERENCES;
            if !known.contains(&path) && parse_select(entity, View::Export, path).is_ok() {
                known.push(path);
            }
        }
        let members = parse_select(entity, View::Export, &known.join(",")).ok();
        StoredMembers::Some { members, has_references }
    }
}

impl<'s> Stored<'s> {
    /// Reads parts of the record in a row.
    pub fn read(
        snapshot: &'s Snapshot,
        entity: Entity,
        row: u32,
        parts: &StoredMembers,
        fragments: &'s Fragments,
    ) -> Result<Stored<'s>, ReadError> {
        let store = NotedRows::new(snapshot);
        let mut writer = JsonWriter::for_export(&store);
        let mut has_references = entity == Entity::Output;
        match parts {
            StoredMembers::All => snapshot.render(entity, row, &mut writer)?,
            StoredMembers::Some { members, has_references: are_read } => {
                has_references &= are_read;
                match members {
                    Some(members) => members.render(row, &mut writer)?,
                    None => writer.out.extend_from_slice(b"{}"),
                }
            }
        }
        if has_references {
            snapshot.or_noted(add_all_references(snapshot, entity, row, &mut writer.out))?;
        }
        // Null of a record that is noted as absent.
        let line = read_json::<Option<Object>>(&writer.out)?.unwrap_or_default();
        let (rows, referred) = (store.into_rows(), HashMap::new());
        Ok(Stored { snapshot, line, rows, referred, fragments })
    }

    /// The value at a dotted path of the line.
    pub fn at(&self, path: &str) -> &Value {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.line.get(first).unwrap_or(&Value::Null);
        if rest.is_empty() { value } else { &value[rest] }
    }

    /// The elements of a list.
    pub fn list(&self, name: &str) -> Vec<Value> {
        self.line.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// The number of the record's id, with its letter.
    pub fn short_id(&self) -> String {
        self.line.get("id").map(short_id).unwrap_or_default()
    }

    /// The address of a list of records that name this one, as OpenAlex writes it.
    pub fn list_address(&self, list: &str, key: &str) -> Value {
        format!("{API}/{list}?filter={key}:{}", self.short_id()).into()
    }

    /// Appends the ids of the records that the record refers to.
    pub fn write_references(&self, out: &mut Vec<u8>) {
        let Some(ids) = self.line.get(REFERENCES) else {
            return out.extend_from_slice(b"null");
        };
        out.push(b'[');
        for (at, id) in ids.as_array().into_iter().flatten().enumerate() {
            let id = id.as_str().unwrap_or_default();
            out.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
            out.extend_from_slice(ADDRESS.as_bytes());
            // Ids are letters and digits.
            out.extend_from_slice(id.strip_prefix("HX_").unwrap_or(id).as_bytes());
            out.push(b'"');
        }
        out.push(b']');
    }

    /// The members of a record that others show; null of a record that the snapshot does not have.
    pub fn referred(&mut self, entity: Entity, id: &Value) -> Result<Value, ReadError> {
        let Some(text) = id.as_str() else { return Ok(Value::Null) };
        if let Some(known) = self.referred.get(text) {
            return Ok(known.clone());
        }
        let snapshot = self.snapshot;
        let found = snapshot.or_noted(self.look_up(entity, text))?;
        self.referred.insert(text.to_owned(), found.clone());
        Ok(found)
    }

    fn look_up(&mut self, entity: Entity, text: &str) -> Result<Value, ReadError> {
        let (Some((of, id)), Some(members)) = (parse_record_id(text), SELECTIONS.get(&entity))
        else {
            return Ok(Value::Null);
        };
        if of != entity {
            return Ok(Value::Null);
        }
        let found = match self.rows.get(&(entity, id)) {
            Some(row) => LookupResult::Row(*row),
            None => match self.snapshot.find(entity, id)? {
                LookupResult::Merged(into) => self.snapshot.find(entity, into)?,
                found => found,
            },
        };
        let LookupResult::Row(row) = found else { return Ok(Value::Null) };
        let store = NotedRows::new(self.snapshot);
        let mut writer = members.writer(&store);
        members.render(row, &mut writer)?;
        // Null of a record that is noted as absent.
        let found = read_json(&writer.out)?;
        self.rows.extend(store.into_rows());
        Ok(found)
    }

    /// Appends a record that this one refers to as `make` makes it, or as an earlier call made it. A fragment is kept if `make`
    /// says that it is whole.
    pub fn write_fragment(
        &mut self,
        id: &Value,
        out: &mut Vec<u8>,
        make: impl FnOnce(&mut Stored<'s>) -> Result<(Value, bool), ReadError>,
    ) -> Result<(), ReadError> {
        let id = id.as_str().unwrap_or_default();
        if let Some(known) = self.fragments.0.borrow().get(id) {
            out.extend_from_slice(known);
            return Ok(());
        }
        let from = out.len();
        let (made, is_whole) = make(self)?;
        write_json(&made, out)?;
        if is_whole {
            self.fragments.0.borrow_mut().insert(id.to_owned(), out[from..].into());
        }
        Ok(())
    }

    /// Calls `visit` with a member, which leaves the line meanwhile.
    pub fn with<T>(
        &mut self,
        name: &str,
        visit: impl FnOnce(&mut Stored<'s>, &Value) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let member = self.line.get_mut(name).map(Value::take).unwrap_or_default();
        let visited = visit(self, &member);
        if let Some(place) = self.line.get_mut(name) {
            *place = member;
        }
        visited
    }

    /// Makes objects of a list from its elements; `None` of a list that is not known.
    pub fn each(
        &mut self,
        name: &str,
        make: impl Fn(&mut Stored<'s>, &Value) -> Result<Value, ReadError>,
    ) -> Result<Option<Value>, ReadError> {
        let mut made = Vec::new();
        let add = |stored: &mut Stored<'s>, element: &Value| {
            made.push(make(stored, element)?);
            Ok(())
        };
        let is_known = self.visit_list(name, add)?;
        Ok(is_known.then(|| made.into()))
    }

    /// Visits the elements of a list; tells whether the list is known. The list leaves the line meanwhile, since a list of
    /// thousands of authors is not copied.
    pub fn visit_list(
        &mut self,
        name: &str,
        mut visit: impl FnMut(&mut Stored<'s>, &Value) -> Result<(), ReadError>,
    ) -> Result<bool, ReadError> {
        let Some(list) = self.line.get_mut(name).map(Value::take) else { return Ok(false) };
        let elements = list.as_array();
        let is_known = elements.is_some();
        elements.into_iter().flatten().try_for_each(|element| visit(self, element))?;
        if let Some(place) = self.line.get_mut(name) {
            *place = list;
        }
        Ok(is_known)
    }
}

/// A snapshot that notes the rows of the records that a record refers to: these need not be found by their ids. On a mirror,
/// records whose members others show are fetched together with the names of all.
struct NotedRows<'s> {
    snapshot: &'s Snapshot,
    rows: Mutex<HashMap<(Entity, u64), u32>>,
}

impl<'s> NotedRows<'s> {
    fn new(snapshot: &'s Snapshot) -> NotedRows<'s> {
        NotedRows { snapshot, rows: Mutex::default() }
    }

    fn into_rows(self) -> HashMap<(Entity, u64), u32> {
        self.rows.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, entity: Entity, row: u32, id: u64) {
        let has_record = row < self.snapshot.count(entity);
        if !has_record
            || self.snapshot.suppressed().has(entity, row)
            || !SELECTIONS.contains_key(&entity)
        {
            return;
        }
        self.snapshot.note_record(entity, row);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).insert((entity, id), row);
    }
}

impl RecordStore for NotedRows<'_> {
    fn row_id(&self, entity: Entity, row: u32) -> Result<u64, ReadError> {
        let id = RecordStore::row_id(self.snapshot, entity, row)?;
        self.note(entity, row, id);
        Ok(id)
    }

    fn row_name(&self, entity: Entity, row: u32) -> Result<Option<&str>, ReadError> {
        RecordStore::row_name(self.snapshot, entity, row)
    }

    fn reference(&self, entity: Entity, row: u32) -> Result<(u64, Option<&[u8]>), ReadError> {
        let (id, name) = RecordStore::reference(self.snapshot, entity, row)?;
        self.note(entity, row, id);
        Ok((id, name))
    }

    fn code(&self, code: u32) -> Result<&[u8], ReadError> {
        RecordStore::code(self.snapshot, code)
    }

    fn code_name(&self, code: u32) -> Result<Option<&[u8]>, ReadError> {
        RecordStore::code_name(self.snapshot, code)
    }

    fn has_record(&self, entity: Entity, row: u32) -> bool {
        RecordStore::has_record(self.snapshot, entity, row)
    }

    fn is_placeholder(&self, entity: Entity, row: u32) -> Result<bool, ReadError> {
        RecordStore::is_placeholder(self.snapshot, entity, row)
    }

    fn record(&self, entity: Entity, row: u32) -> Result<RecordBytes<'_>, ReadError> {
        RecordStore::record(self.snapshot, entity, row)
    }
}
