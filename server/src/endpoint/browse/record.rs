//! The page of a record: its members, counts by year, and the beginnings of the lists it leads to.

use std::num::NonZeroU32;

use askama::Template;
use http::StatusCode;
use pinakes_format::entity::{Entity, Facts, IdFormat};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::{Query, QueryError};
use pinakes_format::snapshot::{RecordLookup as _, Snapshot};
use pinakes_format::storage::error::ReadError;

use crate::citation::Reference;
use crate::endpoint::browse::address::Address;
use crate::endpoint::browse::chart::{self, ByYear};
use crate::endpoint::browse::citation::{self, Citation};
use crate::endpoint::browse::error;
use crate::endpoint::browse::groups::id_text;
use crate::endpoint::browse::html::{self, Frame};
use crate::endpoint::browse::labels::thousands;
use crate::endpoint::browse::list_rows::{self, ListRow};
use crate::endpoint::browse::members::{LabelledMember, Node, declaration, members};
use crate::endpoint::browse::preview::Preview;
use crate::endpoint::browse::tables;
use crate::endpoint::call::{Answer, Call, Cost, Planned, Planning};
use crate::endpoint::record::{CURRENT, NamedRecord, Variant, find, lists_of, parse_id};
use crate::endpoint::work_limits::WorkLimits;
use crate::reply::Reply;

/// The paths of pages of records.
const PAGES: Variant =
    Variant { root: "/browse", spelling: IdFormat::CURRENT, render: Snapshot::render };
/// Records that the beginning of a list shows.
const BEGINNING: u32 = 5;
/// Members that stand above the others, as texts.
const TEXTS: [&str; 2] = ["abstract", "description"];
/// The member that is drawn.
const BY_YEAR: &str = "counts_by_year";
/// Members that the heading shows.
const HEADING: [&str; 2] = ["id", "name"];

#[derive(Template)]
#[template(path = "browse/record.html")]
struct RecordPage {
    frame: Frame,
    kind: &'static str,
    id: String,
    /// HTML of the name.
    name: String,
    /// The member that stands by itself in rows of lists, too.
    lead: Option<Node>,
    texts: Vec<LabelledMember>,
    by_year: Option<ByYear>,
    /// Members of a line each.
    facts: Vec<LabelledMember>,
    /// Members of several lines, each with a heading of its own.
    sections: Vec<LabelledMember>,
    lists: Vec<Beginning>,
    json: String,
    /// Parts for reference managers; of outputs alone.
    citation: Option<Citation>,
}

/// The beginning of a list that the record leads to.
struct Beginning {
    heading: &'static str,
    count: String,
    href: String,
    rows: Vec<ListRow>,
    has_more: bool,
    /// References that have no record.
    unresolved: Option<String>,
}

/// Plans the page of a record.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (facts, segment) = (planning.facts(), planning.matched.segment);
    let id = parse_id(&CURRENT, facts, planning.segment())?;
    Ok(Planned::work(Cost::Large, move |call| {
        answer(NamedRecord { facts, id, raw_id: segment.text_in(call.path) }, call)
    }))
}

/// Makes the page.
fn answer(record: NamedRecord<'_>, call: &Call<'_>) -> Answer {
    let (facts, snapshot) = (record.facts, call.snapshot);
    let row = match find(&PAGES, record, "", call)? {
        Ok(row) => row,
        Err(reply) if reply.status == StatusCode::NOT_FOUND => {
            let lists = lists_of(record, call)?;
            return Ok(error::without_record(reply, &lists, call.site.other_pages()));
        }
        Err(reply) => return Ok(reply),
    };
    if let Some(reply) = html::not_modified(call) {
        return Ok(reply);
    }
    let json = json_of(facts.entity, row, snapshot)?;
    let is_output = facts.entity == Entity::Output;
    let reference = is_output.then(|| Reference::read(&json)).transpose()?;
    let id = id_text(facts.entity, record.id);
    let path = format!("/{}/{id}", facts.route);
    let lists = beginnings(facts, row, &id, snapshot, call.limits())?;
    let page = RecordPage {
        citation: reference.as_ref().map(|reference| Citation::new(reference, &path)),
        ..layout(facts, id, &Preview::parse(&json), lists, call)?
    };
    let links = reference.and_then(|reference| citation::link_header(&reference, &path));
    Ok(html::reply(&page, call)?.with_headers(links.into_iter().collect()))
}

/// A record's value.
pub fn value_of(entity: Entity, row: u32, snapshot: &Snapshot) -> Result<Preview, ReadError> {
    Ok(Preview::parse(&json_of(entity, row, snapshot)?))
}

fn json_of(entity: Entity, row: u32, snapshot: &Snapshot) -> Result<Vec<u8>, ReadError> {
    let mut writer = JsonWriter::new(snapshot, Shape::Single);
    snapshot.fetch_page(entity, &[row], Shape::Single, Snapshot::render)?;
    snapshot.render(entity, row, &mut writer)?;
    Ok(writer.out)
}

fn layout(
    facts: &'static Facts,
    id: String,
    value: &Preview,
    lists: Vec<Beginning>,
    call: &Call<'_>,
) -> Result<RecordPage, ReadError> {
    let (name, declared) = (Node::Text(list_rows::name_of(value)), declaration(facts.entity));
    let shown =
        LabelledMember::without_dead_links(members(declared, value), call.snapshot)?.into_iter();
    // A title is most often the name.
    let shown =
        shown.filter(|member| !HEADING.contains(&member.name.as_str()) && member.node != name);
    let (texts, shown): (Vec<LabelledMember>, Vec<LabelledMember>) =
        shown.partition(|member| TEXTS.contains(&member.name.as_str()));
    let by_year = chart::by_year(value.get(BY_YEAR));
    let shown = shown.into_iter().filter(|member| member.name != BY_YEAR);
    let is_section = |member: &LabelledMember| {
        matches!(member.node, Node::Entries(..) | Node::Members(_) | Node::Paragraph(_))
    };
    let (sections, line): (Vec<LabelledMember>, Vec<LabelledMember>) = shown.partition(is_section);
    Ok(RecordPage {
        frame: Frame {
            title: list_rows::name_of(value),
            searched: String::new(),
            entity: Some(facts.entity),
            others: call.site.other_pages(),
        },
        kind: facts.label,
        name: list_rows::name_html(value),
        lead: list_rows::lead(facts.entity, value, call.snapshot)?,
        texts,
        by_year,
        facts: line,
        sections,
        lists,
        json: format!("/{}/{id}", facts.route),
        citation: None,
        id,
    })
}

/// The beginnings of all lists that a record leads to, in the time of one list.
fn beginnings(
    facts: &Facts,
    row: u32,
    id: &str,
    snapshot: &Snapshot,
    limits: WorkLimits,
) -> Result<Vec<Beginning>, QueryError> {
    limits.run(|deadline| {
        let mut found = Vec::new();
        for (heading, entity, key) in tables::lists_from(facts.entity) {
            let mut query = Query::new(entity);
            // The keys of the table take ids, and the id is one.
            let Ok(()) = query.add_filter(&format!("{key}:{id}")) else { continue };
            let href = Address::new(&query).page_url();
            (query.page, query.per_page) = (NonZeroU32::MIN, BEGINNING);
            let answer = query.execute(snapshot, deadline)?;
            let unresolved = match heading {
                tables::REFERENCES => {
                    let listed = snapshot.references(facts.entity, row)?.len() as u64;
                    listed.saturating_sub(answer.count)
                }
                _ => 0,
            };
            if answer.count == 0 && unresolved == 0 {
                continue;
            }
            let rows = list_rows::rows(entity, &answer.rows, snapshot)?;
            found.push(Beginning {
                heading,
                count: thousands(i64::try_from(answer.count).unwrap_or(i64::MAX)),
                has_more: answer.count > rows.len() as u64,
                unresolved: (unresolved > 0).then(|| thousands(unresolved as i64)),
                href,
                rows,
            });
        }
        Ok(found)
    })
}
