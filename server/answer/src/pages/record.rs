//! The page of a record: what identifies it, its lists and counts, and in a closed part all else.

use askama::Template;
use http::StatusCode;
use pinakes_format::entity::{Entity, Facts, IdFormat};
use pinakes_format::formats;
use pinakes_format::formats::reference::Reference;
use pinakes_format::formats::rich::Rich;
use pinakes_format::json::render::Shape;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::{Answer, Call, Cost, Planned, Planning};
use crate::pages::beginnings::Beginnings;
use crate::pages::chart::ByYear;
use crate::pages::citation::Citation;
use crate::pages::groups::id_text;
use crate::pages::html::Frame;
use crate::pages::list_rows::LEAD_ITEMS_MAX;
use crate::pages::members::{LabelledMember, Node, declaration, members, record_name};
use crate::pages::preview::Preview;
use crate::pages::profile::Profile;
use crate::pages::referred::Referred;
use crate::pages::{chart, citation, error, html, list_rows, tables};
use crate::record::single::{CURRENT, NamedRecord, Variant, find, lists_of, parse_id};
use crate::reply::{Reply, truncate};

/// The paths of pages of records.
const PAGES: Variant =
    Variant { root: "/browse", spelling: IdFormat::CURRENT, render: Snapshot::render };
/// Members that stand above the others, as texts.
const TEXTS: [&str; 2] = ["abstract", "description"];
/// The member that is drawn.
const BY_YEAR: &str = "counts_by_year";
/// Members that a page shows elsewhere, or that repeat another.
const HIDDEN: [&str; 5] = ["id", "name", BY_YEAR, "venues_count", "image_thumbnail_url"];
/// Bytes of the description that search engines show.
const DESCRIPTION_BYTES: usize = 300;

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
    profile: Profile,
    texts: Vec<LabelledMember>,
    by_year: Option<ByYear>,
    /// Members that stand on the page.
    sections: Vec<LabelledMember>,
    /// Members of the closed part.
    rest: Vec<LabelledMember>,
    beginnings: Beginnings,
    json: String,
    /// Parts for reference managers; of outputs alone.
    citation: Option<Citation>,
}

/// Plans the page of a record.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    let (facts, segment) = (planning.facts(), planning.segment);
    let id = parse_id(&CURRENT, facts, planning.segment())?;
    Ok(Planned::work(Cost::Large, move |call| {
        answer(NamedRecord { facts, id, raw_id: segment.text_in(call.path) }, call)
    }))
}

/// The reference to an output, with printed names where none is linked.
fn reference(row: u32, snapshot: &Snapshot) -> Result<Reference, ReadError> {
    let mut writer = formats::PAGE_REFERENCE_MEMBERS.writer(snapshot);
    formats::PAGE_REFERENCE_MEMBERS.render(row, &mut writer)?;
    Reference::read(&writer.out)
}

/// Makes the page.
fn answer(record: NamedRecord<'_>, call: &Call<'_>) -> Answer {
    let (facts, snapshot) = (record.facts, call.snapshot);
    let row = match find(&PAGES, record, "", call)? {
        Ok(row) => row,
        Err(reply) if reply.status == StatusCode::NOT_FOUND => {
            let lists = lists_of(record, call)?;
            // A suppressed id has no lists, and shows no name.
            let name = match lists.is_empty() {
                true => None,
                false => record_name(facts.entity, record.id, snapshot)?,
            };
            return Ok(error::without_record(reply, &lists, name, call.settings.other_pages()));
        }
        Err(reply) => return Ok(reply),
    };
    if let Some(reply) = html::not_modified(call) {
        return Ok(reply);
    }
    // On a mirror, the record and the lists that it leads to are fetched together.
    let id = id_text(facts.entity, record.id);
    let beginnings = Beginnings::find(facts, row, &id, snapshot, call.limits());
    let beginnings = snapshot.or_noted(beginnings)?;
    let referred = Referred::new(snapshot);
    let json = json_of(facts.entity, row, &referred)?;
    let is_output = facts.entity == Entity::Output;
    let reference = is_output.then(|| reference(row, snapshot)).transpose()?;
    let path = format!("/{}/{id}", facts.route);
    let value = Preview::parse(&json);
    let page = layout(facts, id, &value, reference.as_ref(), beginnings, &referred, call);
    let links = reference.and_then(|reference| citation::link_header(&reference, &path));
    Ok(html::reply(&page, call)?.with_headers(links.into_iter().collect()))
}

/// Whether a list has one item, which stands above it: other names that are the name.
fn is_list_of(node: &Node, title: &Node) -> bool {
    matches!(node, Node::Line(items, 0) | Node::Entries(items, 0) if items.iter().all(|item| item == title))
}

/// A record's value.
pub fn value_of(entity: Entity, row: u32, snapshot: &Snapshot) -> Result<Preview, ReadError> {
    Ok(Preview::parse(&json_of(entity, row, &Referred::new(snapshot))?))
}

fn json_of(entity: Entity, row: u32, referred: &Referred<'_>) -> Result<Vec<u8>, ReadError> {
    referred.snapshot.fetch_page(entity, &[row], Shape::Single, Snapshot::render)?;
    referred.render(entity, row, Shape::Single)
}

fn layout(
    facts: &'static Facts,
    id: String,
    value: &Preview,
    reference: Option<&Reference>,
    beginnings: Beginnings,
    referred: &Referred<'_>,
    call: &Call<'_>,
) -> RecordPage {
    let (entity, shown) = (facts.entity, tables::of(facts.entity));
    let name = list_rows::name_of(value);
    let plain = Rich::of(&name).text();
    let profile = Profile::new(entity, value, reference, &beginnings, referred);
    // A title is most often the name.
    let title = Node::Text(name.clone());
    let mut found = members(declaration(entity), value);
    found.retain(|member| {
        let name = member.name.as_str();
        let is_above = HIDDEN.contains(&name)
            || shown.lead == Some(name)
            || shown.about.contains(&name)
            || shown.links.iter().any(|(path, _)| *path == name)
            || shown.numbers.iter().any(|(path, ..)| *path == name);
        !is_above && member.node != title && !is_list_of(&member.node, &title)
    });
    let found = LabelledMember::without_dead_links(found, referred).into_iter();
    let (texts, found): (Vec<LabelledMember>, Vec<LabelledMember>) =
        found.partition(|member| TEXTS.contains(&member.name.as_str()));
    let (mut sections, rest): (Vec<LabelledMember>, Vec<LabelledMember>) =
        found.into_iter().partition(|member| shown.sections.contains(&member.name.as_str()));
    sections.sort_by_key(|member| shown.sections.iter().position(|name| *name == member.name));
    let path = format!("/{}/{id}", facts.route);
    RecordPage {
        frame: Frame {
            description: description(facts, &plain, &texts, &profile),
            canonical: Some(format!("/browse{path}")),
            entity: Some(entity),
            ..Frame::new(&plain, call.settings.other_pages())
        },
        kind: facts.label,
        name: list_rows::name_html(value),
        lead: list_rows::lead(entity, value, 3 * LEAD_ITEMS_MAX, referred),
        profile,
        texts,
        by_year: chart::by_year(value.get(BY_YEAR), running_year(call.snapshot)),
        sections,
        rest,
        beginnings,
        citation: reference.map(|reference| Citation::new(reference, &path)),
        json: path,
        id,
    }
}

/// The year of the newest record: its counts still grow.
fn running_year(snapshot: &Snapshot) -> Option<i64> {
    snapshot.manifest().source.newest_updated_date.as_deref()?.get(..4)?.parse().ok()
}

/// The description of a page: the beginning of the record's text, or its kind and what it is about.
fn description(facts: &Facts, name: &str, texts: &[LabelledMember], profile: &Profile) -> String {
    let text = texts.iter().find_map(|member| match &member.node {
        Node::Text(text) | Node::Paragraph(text) => Some(Rich::of(text).text()),
        _ => None,
    });
    let about = || {
        let numbers = profile.numbers.iter().map(|of| format!("{} {}", of.number, of.words));
        let numbers: Vec<String> = numbers.collect();
        format!("{}: {name}. {}", facts.label, numbers.join(", "))
    };
    truncate(&text.unwrap_or_else(about), DESCRIPTION_BYTES)
}
