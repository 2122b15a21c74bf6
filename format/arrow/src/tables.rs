//! The tables of an export, and the records that fill them.

use arrow_schema::Fields;
use pinakes_format::changes::REFERENCES;
use pinakes_format::entity::Entity;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::{Column, Members, Output, StoredObject, schema_of};
use pinakes_format::schema::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::ReadError;

use crate::builder::ColumnBuilder;
use crate::types::{ColumnKind, ColumnType, NamedColumn, fields_of};

/// A table with a row for each record, or for each edge of a record.
pub struct Table {
    /// The name of its file.
    pub name: &'static str,
    columns: ColumnType,
    /// Whether the last column has the ids that the record refers to.
    has_references: bool,
    /// Puts the edges of an output into the table; `None` for the table of the records.
    put_edges: Option<PutEdges>,
}

/// Puts the edges of an output into their table.
pub(crate) type PutEdges =
    fn(&Edges<'_>, &mut ColumnBuilder, &mut JsonWriter<'_>) -> Result<(), ReadError>;

/// An output and the ids that it refers to.
pub(crate) struct Edges<'r> {
    pub(crate) id: u64,
    /// The places of the members.
    pub(crate) output: <Output as StoredObject>::Members<'r>,
    pub(crate) references: &'r [u64],
}

impl Table {
    /// The table of an entity's records: all members and the ids that they refer to, or a selection of the members.
    pub fn of_records(entity: Entity, select: Option<&Members>) -> Table {
        let mut record = ColumnType::of(&schema_of(entity)).flattened();
        if let Some(select) = select {
            record.select(select.members());
        }
        let columns = ColumnType::required(ColumnKind::Object(vec![NamedColumn::new("", record)]));
        let name = entity.facts().plural;
        let mut table = Table { name, columns, has_references: false, put_edges: None };
        if keys_of(entity).has_citations() && select.is_none() {
            table.add_references();
        }
        table
    }

    /// Adds the ids that the records refer to as the last column.
    pub fn add_references(&mut self) {
        if let ColumnKind::Object(columns) = &mut self.columns.kind {
            columns.push(NamedColumn::new(REFERENCES, ColumnType::list_of(ColumnKind::Id)));
            self.has_references = true;
        }
    }

    /// A table of the edges of outputs.
    pub(crate) fn of_edges(
        name: &'static str,
        columns: Vec<NamedColumn>,
        put_edges: PutEdges,
    ) -> Table {
        let columns = ColumnType::required(ColumnKind::Object(columns));
        Table { name, columns, has_references: false, put_edges: Some(put_edges) }
    }

    /// Adds the number of each identifier as a column.
    pub fn add_numbers(&mut self) {
        self.columns.add_numbers();
    }

    /// Whether the rows are edges, not records.
    pub fn has_edges(&self) -> bool {
        self.put_edges.is_some()
    }

    /// The fields of the table's schema.
    pub fn fields(&self) -> Fields {
        match &self.columns.kind {
            ColumnKind::Object(columns) => fields_of(columns),
            _ => Fields::empty(),
        }
    }

    /// Returns the paths of the leaves of a kind, as Parquet names them.
    pub fn leaves(&self, is_meant: impl Fn(&ColumnKind) -> bool) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        self.columns.add_leaves(&mut Vec::new(), &is_meant, &mut found);
        found
    }

    pub(crate) fn builder(&self) -> ColumnBuilder {
        ColumnBuilder::new(&self.columns)
    }
}

/// The tables that one pass over the rows of an entity fills.
pub struct Tables {
    pub(crate) snapshot: Snapshot,
    pub(crate) entity: Entity,
    /// The table of the records, and those of their edges.
    pub tables: Vec<Table>,
    needs_references: bool,
}

impl Tables {
    /// The table of an entity's records, and tables of their edges.
    pub fn new(
        snapshot: &Snapshot,
        entity: Entity,
        records: Table,
        edges: impl IntoIterator<Item = Table>,
    ) -> Tables {
        let tables: Vec<Table> = [records].into_iter().chain(edges).collect();
        let needs_references = tables.iter().any(|table| table.has_edges() || table.has_references);
        Tables { snapshot: snapshot.clone(), entity, tables, needs_references }
    }

    /// Puts the record in a row, and its edges, into one builder for each table.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged. The builders then have an incomplete record.
    pub(crate) fn fill<'s>(
        &'s self,
        row: u32,
        builders: &mut [ColumnBuilder],
        writer: &mut JsonWriter<'s>,
    ) -> Result<(), ReadError> {
        let references = match self.needs_references {
            true => RecordLookup::references(&self.snapshot, self.entity, row)?,
            false => Vec::new(),
        };
        let [records, edges @ ..] = builders else { return Ok(()) };
        if let [record, rest @ ..] = records.object() {
            self.snapshot.fill(self.entity, row, record, writer)?;
            for column in rest {
                put_ids(&references, column);
            }
        }
        if edges.is_empty() {
            return Ok(());
        }
        let Some(mut from) = self.snapshot.reader(Entity::Output, row)? else { return Ok(()) };
        let (id, output) = (self.snapshot.row_id(self.entity, row)?, Output::locate(&mut from)?);
        let of = Edges { id, output, references: &references };
        let tables = self.tables.iter().filter_map(|table| table.put_edges).zip(edges);
        tables.into_iter().try_for_each(|(put, builder)| put(&of, builder, writer))
    }
}

fn put_ids(ids: &[u64], column: &mut ColumnBuilder) {
    if let Some(items) = column.list(ids.len()) {
        ids.iter().for_each(|id| items.id(Entity::Output, *id));
    }
}
