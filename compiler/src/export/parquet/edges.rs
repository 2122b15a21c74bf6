//! The flat tables of the edges between outputs and what they refer to.

use pinakes_format::entity::{Entity, NO_ID};
use pinakes_format::json::render::Page;
use pinakes_format::record::columns::{Column, fill};
use pinakes_format::storage::error::ReadError;
use rkyv::{option::ArchivedOption, vec::ArchivedVec};

use crate::export::parquet::builder::ColumnBuilder;
use crate::export::parquet::tables::{Edges, Table};
use crate::export::parquet::types::{ColumnKind, ColumnType, NamedColumn};

/// The tables of the edges of outputs.
pub(crate) fn tables() -> [Table; 5] {
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
