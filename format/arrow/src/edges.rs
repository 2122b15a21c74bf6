//! The flat tables of the edges between outputs and what they refer to.

use pinakes_format::entity::number::TOPIC;
use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::json::render::JsonWriter;
use pinakes_format::record::{
    Authorship, Column, Funding, Output, PrimaryVenue, PrimaryVenueSource, Ref, Stored,
    StoredObject, Venue, VenueSource, fill_member, put_reference,
};
use pinakes_format::storage::ReadError;

use crate::builder::ColumnBuilder;
use crate::tables::{Edges, Table};
use crate::types::{ColumnKind, ColumnType, NamedColumn};

/// The tables of the edges of outputs.
pub fn tables() -> [Table; 5] {
    [authors(), topics(), funders(), venues(), citations()]
}

fn authors() -> Table {
    let columns = vec![
        id("output_id"),
        required("position", ColumnKind::Int32),
        first_of_pair("author_id"),
        nullable("author_position", ColumnKind::Text),
        nullable("is_corresponding", ColumnKind::Boolean),
        list("institution_ids", first_alone(ColumnKind::Id)),
        list("country_codes", first_alone(ColumnKind::Text)),
    ];
    Table::of_edges("outputs_authors", columns, put_authors)
}

fn topics() -> Table {
    let columns = vec![
        id("output_id"),
        required("position", ColumnKind::Int32),
        first_of_pair("topic_id"),
        required("is_primary", ColumnKind::Boolean),
    ];
    Table::of_edges("outputs_topics", columns, put_topics)
}

fn funders() -> Table {
    let columns = vec![
        id("output_id"),
        required("position", ColumnKind::Int32),
        first_of_pair("funder_id"),
        list("funder_award_ids", ColumnKind::Text),
    ];
    Table::of_edges("outputs_funders", columns, put_funders)
}

fn venues() -> Table {
    let columns = vec![
        id("output_id"),
        required("position", ColumnKind::Int32),
        required("is_primary", ColumnKind::Boolean),
        first_of_pair("source_id"),
        nullable("is_oa", ColumnKind::Boolean),
        nullable("version", ColumnKind::Text),
        nullable("license", ColumnKind::Text),
        nullable("landing_page_url", ColumnKind::Text),
        nullable("pdf_url", ColumnKind::Text),
    ];
    Table::of_edges("outputs_venues", columns, put_venues)
}

fn citations() -> Table {
    Table::of_edges("citations", vec![id("citing_id"), id("cited_id")], put_citations)
}

fn id(name: &'static str) -> NamedColumn {
    required(name, ColumnKind::Id)
}

fn required(name: &'static str, kind: ColumnKind) -> NamedColumn {
    NamedColumn::new(name, ColumnType::required(kind))
}

fn nullable(name: &'static str, kind: ColumnKind) -> NamedColumn {
    NamedColumn::new(name, ColumnType::nullable(kind))
}

fn list(name: &'static str, items: ColumnKind) -> NamedColumn {
    nullable(name, ColumnKind::List(Box::new(ColumnType::required(items))))
}

/// A reference of which only the id is a column.
fn first_of_pair(name: &'static str) -> NamedColumn {
    let first = nullable(name, ColumnKind::Id);
    let second = NamedColumn::new("", ColumnType::SKIPPED);
    nullable("", ColumnKind::Flat(vec![first, second]))
}

/// The items of a list of references, or of codes with a name, as ids or codes.
fn first_alone(kind: ColumnKind) -> ColumnKind {
    let second = NamedColumn::new("", ColumnType::SKIPPED);
    ColumnKind::Flat(vec![nullable("", kind), second])
}

/// The place of a member of an object.
macro_rules! place {
    ($type:ident, $members:expr, $member:ident) => {
        $members[const { $type::index_of(stringify!($member)) }]
    };
}

/// Puts a member of an object into a column.
macro_rules! put {
    ($type:ident, $members:expr, $member:ident, $column:expr, $writer:expr) => {
        fill_member(
            |object: &$type| &object.$member,
            place!($type, $members, $member),
            $column,
            $writer,
        )
    };
}

fn put_authors(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let mut authors = place!(Output, of.output, authors);
    for at in 1..=positions(&mut authors)? {
        let author = Authorship::locate(&mut authors)?;
        let [output, position, id, place, is_corresponding, institutions, countries] =
            columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        put!(Authorship, author, author, id, writer)?;
        put!(Authorship, author, author_position, place, writer)?;
        put!(Authorship, author, is_corresponding, is_corresponding, writer)?;
        put!(Authorship, author, affiliations, institutions, writer)?;
        put!(Authorship, author, countries, countries, writer)?;
    }
    Ok(())
}

fn put_topics(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let primary =
        <Option<Ref<TOPIC>>>::read(&mut place!(Output, of.output, primary_topic).clone())?;
    let topics = <Option<Vec<Ref<TOPIC>>>>::read(&mut place!(Output, of.output, topics).clone())?;
    for (at, topic) in (1..).zip(topics.into_iter().flatten()) {
        let [output, position, id, is_primary] = columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        put_reference(Entity::Topic, topic.0, id, writer)?;
        is_primary.boolean(match primary {
            Some(primary) => is_same(writer, primary.0, topic.0)?,
            None => false,
        });
    }
    Ok(())
}

/// Whether two rows of topics have one id. An id without a record has a row for each of its names.
fn is_same(writer: &JsonWriter<'_>, one: u32, other: u32) -> Result<bool, ReadError> {
    let id = |row| writer.store().row_id(Entity::Topic, row);
    Ok(one == other || (id(one)? == id(other)? && id(one)? != NO_ID))
}

fn put_funders(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    let mut funders = place!(Output, of.output, funders);
    for at in 1..=positions(&mut funders)? {
        let Funding { funder, awards } = Funding::read(&mut funders)?;
        let [output, position, id, award_ids] = columns(table)?;
        output.id(Entity::Output, of.id);
        position.integer(at);
        put_reference(Entity::Funder, funder.0, id, writer)?;
        let awards = awards.unwrap_or_default();
        let numbers = || awards.iter().filter_map(|award| award.funder_award_id.as_ref());
        if let Some(award_ids) = award_ids.list(numbers().count()) {
            numbers().for_each(|number| award_ids.text("", number.as_bytes()));
        }
    }
    Ok(())
}

/// Puts one row for the primary venue, in position 0, and one for each additional venue.
fn put_venues(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    writer: &mut JsonWriter<'_>,
) -> Result<(), ReadError> {
    // The two declarations of venues have the same members, but are two types.
    macro_rules! put_venue {
        ($at:expr, $type:ident, $source:ident, $from:expr) => {{
            let venue = $type::locate($from)?;
            let [output, position, is_primary, id, is_oa, version, license, landing, pdf] =
                columns(table)?;
            output.id(Entity::Output, of.id);
            position.integer($at);
            is_primary.boolean($at == 0);
            match <Option<$source>>::read(&mut place!($type, venue, source).clone())? {
                Some(source) => put_reference(Entity::Source, source.source.0, id, writer)?,
                None => id.null(),
            }
            put!($type, venue, is_oa, is_oa, writer)?;
            put!($type, venue, version, version, writer)?;
            put!($type, venue, license, license, writer)?;
            put!($type, venue, landing_page_url, landing, writer)?;
            put!($type, venue, pdf_url, pdf, writer)?;
        }};
    }
    let mut primary = place!(Output, of.output, primary_venue);
    if primary.is_present() {
        put_venue!(0, PrimaryVenue, PrimaryVenueSource, &mut primary);
    }
    let mut additional = place!(Output, of.output, additional_venues);
    for at in 1..=positions(&mut additional)? {
        put_venue!(at, Venue, VenueSource, &mut additional);
    }
    Ok(())
}

fn put_citations(
    of: &Edges<'_>,
    table: &mut ColumnBuilder,
    _: &mut JsonWriter<'_>,
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

/// The position of the last item of a nullable list.
fn positions(list: &mut RecordReader<'_>) -> Result<i64, ReadError> {
    // A record has less than 2^31 bytes.
    list.items().map(|items| items as i64)
}
