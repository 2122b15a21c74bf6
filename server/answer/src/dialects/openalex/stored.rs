//! A record as the snapshot has it, and the members of the records that it refers to.
//!
//! The dialect reads a record as a line of an export, with the members that the selection needs.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::query::{REFERENCES, parse_select};
use pinakes_format::record::{Members, View};
use pinakes_format::schema::parse_record_id;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;

use crate::dialects::openalex::tape::{Elements, Tape, Value};
use crate::dialects::openalex::values::{ADDRESS, API, short_id};
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
    (Entity::Funder, "ids.ror,ids.doi"),
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
    entity: Entity,
    /// The record as a line of an export.
    line: Tape,
    /// The member of the line that was found last.
    last: Cell<u32>,
    /// The ids of the records that the record cites; `None` if they are not read.
    references: Option<Vec<u64>>,
    /// The rows of records that were referred to.
    rows: RefCell<Vec<ReferredRow>>,
    page: &'s PageParts,
}

/// Texts and values that the records of a page share, because they name the same sources, topics and institutions.
#[derive(Default)]
pub struct PageParts {
    /// Records as others show them, as text by id.
    fragments: RefCell<HashMap<Vec<u8>, Box<[u8]>>>,
    /// Members of records that others show; null of a record that the snapshot does not have.
    referred: RefCell<HashMap<(Entity, u64), Arc<Tape>>>,
    /// The memory of a record that is written.
    spare: RefCell<(Tape, Vec<ReferredRow>)>,
}

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
        page: &'s PageParts,
    ) -> Result<Stored<'s>, ReadError> {
        let (mut spare, rows) = page.spare.take();
        let noted = NotedRows::new(snapshot, rows);
        let store = noted.store();
        let mut writer = JsonWriter::for_export(&store);
        writer.out = spare.take_memory();
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
        let references = match has_references {
            true => snapshot.or_noted(RecordLookup::references(snapshot, entity, row).map(Some))?,
            false => None,
        };
        let line = Tape::read(writer.out, spare)?;
        let (last, rows) = (Cell::default(), RefCell::new(noted.take_rows()));
        Ok(Stored { snapshot, entity, line, last, references, rows, page })
    }

    /// Gives the memory of the record to the next one.
    pub fn end(self) {
        let mut rows = self.rows.into_inner();
        rows.clear();
        self.page.spare.replace((self.line, rows));
    }

    /// The value at a dotted path of the line.
    pub fn at(&self, path: &'static str) -> Value<'_> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let found = self.line.value().get_next(first, &self.last);
        rest.split('.').filter(|name| !name.is_empty()).fold(found, Value::get)
    }

    /// The elements of a list; none where the list is not known.
    pub fn list(&self, path: &'static str) -> Elements<'_> {
        self.at(path).elements()
    }

    /// Appends the address of a list of records that name this one, as OpenAlex writes it.
    pub fn write_list_address(&self, list: &str, key: &str, out: &mut Vec<u8>) {
        let id = self.at("id");
        let id = id.text().unwrap_or_else(|| String::from_utf8_lossy(id.json()));
        json::string(out, &format!("{API}/{list}?filter={key}:{}", short_id(&id)));
    }

    /// Appends the ids of the records that the record cites.
    pub fn write_references(&self, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let Some(ids) = &self.references else {
            out.extend_from_slice(b"null");
            return Ok(());
        };
        let letter = self.entity.facts().letter;
        json::list(out, ids, |id, out| {
            out.push(b'"');
            out.extend_from_slice(ADDRESS.as_bytes());
            out.extend(letter);
            json::unsigned(out, *id);
            out.push(b'"');
        });
        Ok(())
    }

    /// The members of a record that others show; null of a record that the snapshot does not have.
    pub fn referred(&self, entity: Entity, id: Value<'_>) -> Result<Arc<Tape>, ReadError> {
        let text = id.escaped().and_then(|id| std::str::from_utf8(id).ok());
        let named = text.and_then(parse_record_id).filter(|(of, _)| *of == entity);
        let Some(named) = named else { return Ok(Arc::default()) };
        if let Some(known) = self.page.referred.borrow().get(&named) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(self.snapshot.or_noted(self.look_up(named))?);
        if self.is_whole() {
            self.page.referred.borrow_mut().insert(named, Arc::clone(&found));
        }
        Ok(found)
    }

    /// Whether nothing that was read is absent. Later pieces of a page must not show what an attempt went on without.
    fn is_whole(&self) -> bool {
        !self.snapshot.is_lacking()
    }

    fn look_up(&self, (entity, id): (Entity, u64)) -> Result<Tape, ReadError> {
        let Some(members) = SELECTIONS.get(&entity) else { return Ok(Tape::default()) };
        let known = self.rows.borrow().iter().find(|(named, _)| *named == (entity, id)).copied();
        let found = match known {
            Some((_, row)) => Some(row),
            None => self.snapshot.find_merged(entity, id)?.1,
        };
        let Some(row) = found else { return Ok(Tape::default()) };
        let noted = NotedRows::new(self.snapshot, self.rows.take());
        let store = noted.store();
        let mut writer = members.writer(&store);
        let rendered = members.render(row, &mut writer);
        let text = mem::take(&mut writer.out);
        self.rows.replace(noted.take_rows());
        rendered?;
        Tape::read(text, Tape::default())
    }

    /// Appends a record that this one refers to as `write` writes it, or as an earlier call wrote it. A fragment is kept if
    /// `write` says that it is whole.
    pub fn write_fragment(
        &self,
        id: Value<'_>,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, ReadError>,
    ) -> Result<(), ReadError> {
        let id = id.json();
        let fragments = &self.page.fragments;
        let known = Ref::filter_map(fragments.borrow(), |texts| texts.get(id));
        if let Ok(known) = known {
            out.extend_from_slice(&known);
            return Ok(());
        }
        drop(known);
        let from = out.len();
        if write(out)? && self.is_whole() {
            fragments.borrow_mut().insert(id.to_owned(), out[from..].into());
        }
        Ok(())
    }
}

/// The rows of the records that a record refers to. On a mirror, records whose members others show are fetched together with
/// the names of all.
struct NotedRows<'s> {
    snapshot: &'s Snapshot,
    rows: Mutex<Vec<ReferredRow>>,
}

impl<'s> NotedRows<'s> {
    fn new(snapshot: &'s Snapshot, rows: Vec<ReferredRow>) -> NotedRows<'s> {
        NotedRows { snapshot, rows: Mutex::new(rows) }
    }

    /// The store of a writer whose references are noted.
    fn store(&self) -> NotedReferences<'s, impl Fn(Entity, u32, u64) + Sync> {
        let note = |entity, row, id| self.note(entity, row, id);
        NotedReferences { snapshot: self.snapshot, note }
    }

    fn take_rows(&self) -> Vec<ReferredRow> {
        mem::take(&mut *self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, entity: Entity, row: u32, id: u64) {
        if !REFERRED.iter().any(|(referred, _)| *referred == entity)
            || !self.snapshot.has_visible_row(entity, row)
        {
            return;
        }
        self.snapshot.note_record(entity, row);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(((entity, id), row));
    }
}
