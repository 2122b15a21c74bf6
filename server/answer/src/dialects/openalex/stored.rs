//! A record as the snapshot has it, and the members of the records that it refers to.
//!
//! The dialect reads a record as a line of an export, with the members that the selection needs.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::mem;
use std::rc::Rc;
use std::sync::{LazyLock, Mutex, PoisonError};

use pinakes_format::changes::add_all_references;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::query::{REFERENCES, parse_select};
use pinakes_format::record::{Members, View};
use pinakes_format::schema::parse_record_id;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;
use serde_json_borrow::{OwnedValue, Value};

use crate::dialects::openalex::values::{API, elements, short_id, write_address, write_list};
use crate::record::references::NotedReferences;

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

/// A row of a record that was referred to, by entity and id.
type ReferredRow = ((Entity, u64), u32);

/// A record as it is stored, and the snapshot with the records it refers to.
pub struct Stored<'s> {
    snapshot: &'s Snapshot,
    /// The record as a line of an export.
    line: OwnedValue,
    /// The rows of records that were referred to, ascending.
    rows: RefCell<Vec<ReferredRow>>,
    /// Members of records that this one refers to, by id.
    referred: RefCell<HashMap<String, Rc<OwnedValue>>>,
    fragments: &'s Fragments,
}

/// Records as others show them, as text by id: the records of a page refer to the same sources, topics and institutions.
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
        let noted = NotedRows::new(snapshot);
        let store = noted.store();
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
        let (line, rows) = (read_line(writer.out)?, RefCell::new(noted.take_rows()));
        Ok(Stored { snapshot, line, rows, referred: RefCell::default(), fragments })
    }

    /// The value at a dotted path of the line.
    pub fn at(&self, path: &'static str) -> &Value<'_> {
        path.split('.').fold(self.line.get_value(), |value, name| value.get(name))
    }

    /// The elements of a list; none where the list is not known.
    pub fn list(&self, path: &'static str) -> &[Value<'_>] {
        elements(self.at(path))
    }

    /// The record's id without the prefix of the interface.
    pub fn short_id(&self) -> String {
        match self.at("id") {
            Value::Str(id) => short_id(id).to_owned(),
            id => id.to_string(),
        }
    }

    /// The address of a list of records that name this one, as OpenAlex writes it.
    pub fn list_address(&self, list: &str, key: &str) -> String {
        format!("{API}/{list}?filter={key}:{}", self.short_id())
    }

    /// Appends the ids of the records that the record refers to.
    pub fn write_references(&self, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let ids = self.at(REFERENCES);
        if ids.is_null() {
            out.extend_from_slice(b"null");
            return Ok(());
        }
        write_list(elements(ids), out, |id, out| {
            write_address("", id, out);
            Ok(())
        })
    }

    /// The members of a record that others show; null of a record that the snapshot does not have.
    pub fn referred(&self, entity: Entity, id: &Value<'_>) -> Result<Rc<OwnedValue>, ReadError> {
        let text = id.as_str().unwrap_or_default();
        if let Some(known) = self.referred.borrow().get(text) {
            return Ok(Rc::clone(known));
        }
        let found = match self.snapshot.or_noted(self.look_up(entity, text))? {
            Some(found) => Rc::new(found),
            None => Rc::new(read_line(b"null".to_vec())?),
        };
        self.referred.borrow_mut().insert(text.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    fn look_up(&self, entity: Entity, text: &str) -> Result<Option<OwnedValue>, ReadError> {
        let (Some((of, id)), Some(members)) = (parse_record_id(text), SELECTIONS.get(&entity))
        else {
            return Ok(None);
        };
        if of != entity {
            return Ok(None);
        }
        let known = {
            let rows = self.rows.borrow();
            let at = rows.binary_search_by_key(&(entity, id), |(of, _)| *of);
            at.ok().and_then(|at| rows.get(at)).map(|(_, row)| *row)
        };
        let found = match known {
            Some(row) => Some(row),
            None => self.snapshot.find_merged(entity, id)?.1,
        };
        let Some(row) = found else { return Ok(None) };
        let noted = NotedRows::new(self.snapshot);
        let store = noted.store();
        let mut writer = members.writer(&store);
        members.render(row, &mut writer)?;
        let found = read_line(writer.out)?;
        let mut rows = self.rows.borrow_mut();
        rows.extend(noted.take_rows());
        rows.sort_unstable();
        rows.dedup();
        Ok(Some(found))
    }

    /// Appends a record that this one refers to as `write` writes it, or as an earlier call wrote it. A fragment is kept if
    /// `write` says that it is whole.
    pub fn write_fragment(
        &self,
        id: &Value<'_>,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, ReadError>,
    ) -> Result<(), ReadError> {
        let id = id.as_str().unwrap_or_default();
        let known = Ref::filter_map(self.fragments.0.borrow(), |texts| texts.get(id));
        if let Ok(known) = known {
            out.extend_from_slice(&known);
            return Ok(());
        }
        drop(known);
        let from = out.len();
        if write(out)? {
            self.fragments.0.borrow_mut().insert(id.to_owned(), out[from..].into());
        }
        Ok(())
    }
}

/// Reads the text of a record; null of a record that is noted as absent.
fn read_line(text: Vec<u8>) -> Result<OwnedValue, ReadError> {
    let damaged = || ReadError::corrupt("records", "a record is not JSON");
    let text = String::from_utf8(text).map_err(|_| damaged())?;
    OwnedValue::from_string(text).map_err(|_| damaged())
}

/// The rows of the records that a record refers to. On a mirror, records whose members others show are fetched together with
/// the names of all.
struct NotedRows<'s> {
    snapshot: &'s Snapshot,
    rows: Mutex<Vec<ReferredRow>>,
}

impl<'s> NotedRows<'s> {
    fn new(snapshot: &'s Snapshot) -> NotedRows<'s> {
        NotedRows { snapshot, rows: Mutex::default() }
    }

    /// The store of a writer whose references are noted.
    fn store(&self) -> NotedReferences<'s, impl Fn(Entity, u32, u64) + Sync> {
        let note = |entity, row, id| self.note(entity, row, id);
        NotedReferences { snapshot: self.snapshot, note }
    }

    /// The rows, ascending, without duplicates.
    fn take_rows(&self) -> Vec<ReferredRow> {
        let mut rows = mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner));
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    fn note(&self, entity: Entity, row: u32, id: u64) {
        if !self.snapshot.has_visible_row(entity, row)
            || !REFERRED.iter().any(|(referred, _)| *referred == entity)
        {
            return;
        }
        self.snapshot.note_record(entity, row);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(((entity, id), row));
    }
}
