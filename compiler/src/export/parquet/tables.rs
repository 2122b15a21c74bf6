//! The tables of an export: one for each entity, and the edges between outputs and what they refer to.

use arrow_schema::Fields;
use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::Page;
use pinakes_format::record::columns::{Column, fill};
use pinakes_format::record::members::Members;
use pinakes_format::record::{ArchivedOutput, Output, schema_of};
use pinakes_format::schema::keys::keys_of;
use pinakes_format::snapshot::{RecordLookup, Snapshot};
use pinakes_format::storage::error::ReadError;
use rkyv::{option::ArchivedOption, vec::ArchivedVec};

use crate::export::parquet::builder::ColumnBuilder;
use crate::export::parquet::types::{ColumnKind, ColumnType, NamedColumn, fields_of};
use crate::frontend::native::REFERENCES;

/// A table with a row for each record, or for each edge of a record.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    columns: ColumnType,
    /// Puts the edges of an output into the table; `None` for the table of the records.
    put_edges: Option<PutEdges>,
}

type PutEdges = fn(&Edges<'_>, &mut ColumnBuilder, &mut Page<'_>) -> Result<(), ReadError>;

/// An output and the ids that it refers to.
struct Edges<'r> {
    id: u64,
    output: &'r ArchivedOutput,
    references: &'r [u64],
}

impl Table {
    /// The table of an entity's records: all members, or a selection of them.
    pub(crate) fn of_records(entity: Entity, select: Option<&Members>) -> Table {
        let mut record = ColumnType::of(&schema_of(entity)).flattened();
        if let Some(select) = select {
            record.select(select.members());
        }
        let mut columns = vec![NamedColumn::new("", record)];
        if keys_of(entity).has_citations() && select.is_none() {
            columns.push(NamedColumn::new(REFERENCES, ColumnType::list_of(ColumnKind::Id)));
        }
        Table {
            name: entity.facts().plural,
            columns: ColumnType::required(ColumnKind::Object(columns)),
            put_edges: None,
        }
    }

    /// The tables of the edges of outputs.
    pub(crate) fn of_edges() -> [Table; 5] {
        let output = || NamedColumn::new("output_id", ColumnType::required(ColumnKind::Id));
        let position = || NamedColumn::new("position", ColumnType::required(ColumnKind::Int32));
        let text = |name| NamedColumn::new(name, ColumnType::nullable(ColumnKind::Text));
        let boolean = |name| NamedColumn::new(name, ColumnType::nullable(ColumnKind::Boolean));
        let is_primary =
            || NamedColumn::new("is_primary", ColumnType::required(ColumnKind::Boolean));
        let list = |name, items| {
            let items = Box::new(ColumnType::required(items));
            NamedColumn::new(name, ColumnType::nullable(ColumnKind::List(items)))
        };
        let table = |name, columns, put_edges: PutEdges| Table {
            name,
            columns: ColumnType::required(ColumnKind::Object(columns)),
            put_edges: Some(put_edges),
        };
        [
            table(
                "outputs_authors",
                vec![
                    output(),
                    position(),
                    first_of_pair("author_id", ColumnKind::Id),
                    text("author_position"),
                    boolean("is_corresponding"),
                    list("institution_ids", first_alone(ColumnKind::Id)),
                    list("country_codes", first_alone(ColumnKind::Text)),
                ],
                put_authors,
            ),
            table(
                "outputs_topics",
                vec![output(), position(), first_of_pair("topic_id", ColumnKind::Id), is_primary()],
                put_topics,
            ),
            table(
                "outputs_funders",
                vec![
                    output(),
                    position(),
                    first_of_pair("funder_id", ColumnKind::Id),
                    list("funder_award_ids", ColumnKind::Text),
                ],
                put_funders,
            ),
            table(
                "outputs_venues",
                vec![
                    output(),
                    position(),
                    is_primary(),
                    first_of_pair("source_id", ColumnKind::Id),
                    boolean("is_oa"),
                    text("version"),
                    text("license"),
                    text("landing_page_url"),
                    text("pdf_url"),
                ],
                put_venues,
            ),
            table(
                "citations",
                vec![
                    NamedColumn::new("citing_id", ColumnType::required(ColumnKind::Id)),
                    NamedColumn::new("cited_id", ColumnType::required(ColumnKind::Id)),
                ],
                put_citations,
            ),
        ]
    }

    /// Whether the rows are edges, not records.
    pub(super) fn has_edges(&self) -> bool {
        self.put_edges.is_some()
    }

    /// The fields of the table's schema.
    pub(crate) fn fields(&self) -> Fields {
        match &self.columns.kind {
            ColumnKind::Object(columns) => fields_of(columns),
            _ => Fields::empty(),
        }
    }

    /// Returns the paths of the leaves of a kind, as Parquet names them.
    pub(crate) fn leaves(&self, is_meant: impl Fn(&ColumnKind) -> bool) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        self.columns.add_leaves(&mut Vec::new(), &is_meant, &mut found);
        found
    }

    pub(super) fn builder(&self) -> ColumnBuilder {
        ColumnBuilder::new(&self.columns)
    }
}

/// A reference of which only the id is a column.
fn first_of_pair(name: &'static str, kind: ColumnKind) -> NamedColumn {
    let first = NamedColumn::new(name, ColumnType::nullable(kind));
    let second = NamedColumn::new("", ColumnType::SKIPPED);
    NamedColumn::new("", ColumnType::nullable(ColumnKind::Flat(vec![first, second])))
}

/// The items of a list of references, or of codes with a name, as ids or codes.
fn first_alone(kind: ColumnKind) -> ColumnKind {
    let first = NamedColumn::new("", ColumnType::nullable(kind));
    let second = NamedColumn::new("", ColumnType::SKIPPED);
    ColumnKind::Flat(vec![first, second])
}

/// The tables that one pass over the rows of an entity fills.
pub(crate) struct Tables<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) entity: Entity,
    pub(crate) tables: Vec<Table>,
    has_edges: bool,
    has_references: bool,
}

impl<'s> Tables<'s> {
    /// The table of an entity's records, and of its edges if they are asked for.
    pub(crate) fn new(
        snapshot: &'s Snapshot,
        entity: Entity,
        select: Option<&Members>,
        has_edges: bool,
    ) -> Tables<'s> {
        let mut tables = vec![Table::of_records(entity, select)];
        if has_edges {
            tables.extend(Table::of_edges());
        }
        let has_references = keys_of(entity).has_citations() && (select.is_none() || has_edges);
        Tables { snapshot, entity, tables, has_edges, has_references }
    }

    /// Puts the record in a row, and its edges, into one builder for each table.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged. The builders then have an incomplete record.
    pub(super) fn fill(
        &self,
        row: u32,
        builders: &mut [ColumnBuilder],
        page: &mut Page<'s>,
    ) -> Result<(), ReadError> {
        let references = match self.has_references {
            true => RecordLookup::references(self.snapshot, self.entity, row)?,
            false => Vec::new(),
        };
        let [records, edges @ ..] = builders else { return Ok(()) };
        if let [record, rest @ ..] = records.object() {
            self.snapshot.fill(self.entity, row, record, page)?;
            for column in rest {
                put_ids(&references, column);
            }
        }
        if !self.has_edges {
            return Ok(());
        }
        let Some(output) = self.snapshot.archived::<Output>(row)? else { return Ok(()) };
        let of =
            Edges { id: self.snapshot.row_id(self.entity, row)?, output, references: &references };
        let tables = self.tables.iter().filter_map(|table| table.put_edges).zip(edges);
        tables.into_iter().try_for_each(|(put, builder)| put(&of, builder, page))
    }
}

fn put_ids(ids: &[u64], column: &mut ColumnBuilder) {
    if let Some(items) = column.list(ids.len()) {
        ids.iter().for_each(|id| items.id(Entity::Output, *id));
    }
}

fn put_authors(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    for (at, author) in (1..).zip(items(&of.output.authors)) {
        let [output, position, id, place, is_corresponding, institutions, countries] =
            columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        fill(&author.author, id, page)?;
        fill(&author.author_position, place, page)?;
        fill(&author.is_corresponding, is_corresponding, page)?;
        fill(&author.affiliations, institutions, page)?;
        fill(&author.countries, countries, page)?;
    }
    Ok(())
}

fn put_topics(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    let primary = of.output.primary_topic.as_ref();
    for (at, topic) in (1..).zip(items(&of.output.topics)) {
        let [output, position, id, is_primary] = columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        fill(topic, id, page)?;
        is_primary.boolean(match primary {
            Some(primary) => is_same(page, primary.0.to_native(), topic.0.to_native())?,
            None => false,
        });
    }
    Ok(())
}

/// Whether two rows of topics have one id. An id without a record has a row for each of its names.
fn is_same(page: &Page<'_>, one: u32, other: u32) -> Result<bool, ReadError> {
    let id = |row| page.store().row_id(Entity::Topic, row);
    Ok(one == other || (id(one)? == id(other)? && id(one)? != NO_ID))
}

fn put_funders(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    for (at, funding) in (1..).zip(items(&of.output.funders)) {
        let [output, position, id, awards] = columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        fill(&funding.funder, id, page)?;
        let numbers =
            || items(&funding.awards).iter().filter_map(|award| award.funder_award_id.as_ref());
        if let Some(awards) = awards.list(numbers().count()) {
            numbers().try_for_each(|number| fill(number, awards, page))?;
        }
    }
    Ok(())
}

/// Puts one row for the primary venue, in position 0, and one for each additional venue.
fn put_venues(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    page: &mut Page<'_>,
) -> Result<(), ReadError> {
    macro_rules! put {
        ($at:expr, $venue:expr) => {{
            let [output, position, is_primary, id, is_oa, version, license, landing, pdf] =
                columns(table)?;
            output.id(Entity::Output, of.id);
            position.integer($at);
            is_primary.boolean($at == 0);
            let source = $venue.source.as_ref().map(|source| &source.source);
            fill(&source, id, page)?;
            fill(&$venue.is_oa, is_oa, page)?;
            fill(&$venue.version, version, page)?;
            fill(&$venue.license, license, page)?;
            fill(&$venue.landing_page_url, landing, page)?;
            fill(&$venue.pdf_url, pdf, page)?;
        }};
    }
    if let Some(venue) = of.output.primary_venue.as_ref() {
        put!(0, venue);
    }
    for (at, venue) in (1..).zip(items(&of.output.additional_venues)) {
        put!(at, venue);
    }
    Ok(())
}

fn put_citations(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    _: &mut Page<'_>,
) -> Result<(), ReadError> {
    for cited in of.references {
        let [citing, cited_id] = columns(table)?;
        citing.id(Entity::Output, of.id);
        cited_id.id(Entity::Output, *cited);
    }
    Ok(())
}

/// The columns of a row of a table.
fn columns<const N: usize>(
    table: &mut ColumnBuilder,
) -> Result<&mut [ColumnBuilder; N], ReadError> {
    let columns = table.object().try_into();
    columns.map_err(|_| ReadError::Internal("a table of edges has other columns than its edges"))
}

fn items<T>(list: &ArchivedOption<ArchivedVec<T>>) -> &[T] {
    list.as_ref().map_or(&[], |list| list.as_slice())
}
