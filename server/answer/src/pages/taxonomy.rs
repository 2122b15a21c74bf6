//! The taxonomy as a tree: domains, their fields, and the subfields of these. The page of a subfield has
//! its topics.

use askama::Template;
use pinakes_format::entity::Entity;
use pinakes_format::query::{PAGE_SIZES, Query, QueryError};
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::ReadError;

use crate::define::{Answer, Call, Planned, Planning};
use crate::pages::html;
use crate::pages::html::Frame;
use crate::pages::labels::thousands;
use crate::pages::list_rows::name_of;
use crate::pages::members::record_path;
use crate::pages::preview::Preview;
use crate::pages::record::value_of;
use crate::reply::Reply;

/// Width of the bar of the largest field, in units of the drawing.
const BAR_WIDTH: u64 = 200;

/// A node of the tree.
pub struct Branch {
    href: String,
    name: String,
    /// Number of outputs, in words; empty where it is not known.
    outputs: String,
    /// Width of its bar, which the largest field fills.
    width: u64,
    count: u64,
    /// Nodes below.
    below: Vec<Branch>,
}

#[derive(Template)]
#[template(path = "browse/taxonomy.html")]
struct TaxonomyPage {
    frame: Frame,
    domains: Vec<Branch>,
}

/// Plans the page of the taxonomy.
pub fn plan(planning: &Planning<'_>) -> Result<Planned, Reply> {
    Ok(html::unless_current(&planning.call, answer))
}

/// Makes the page.
///
/// Cost: the records of at most 100 domains, and of at most 100 fields of each.
fn answer(call: &Call<'_>) -> Answer {
    let snapshot = call.snapshot;
    let mut domains = call.limits().run(|deadline| {
        let mut query = Query::new(Entity::Domain);
        query.per_page = PAGE_SIZES[PAGE_SIZES.len() - 1];
        let rows = query.execute(snapshot, deadline)?.rows;
        let mut domains = Vec::new();
        for row in rows {
            let domain = value_of(Entity::Domain, row, snapshot)?;
            let mut fields = Vec::new();
            for field in domain.get("fields").items() {
                deadline.check()?;
                fields.extend(field_branch(field, snapshot)?);
            }
            domains.push(branch(Entity::Domain, &domain, fields));
        }
        Ok::<Vec<Branch>, QueryError>(domains)
    })?;
    // The bars of all domains have one scale, so fields can be compared across domains.
    let fields = domains.iter().flat_map(|domain| &domain.below);
    let largest = fields.map(|field| field.count).max().unwrap_or(0).max(1);
    for field in domains.iter_mut().flat_map(|domain| &mut domain.below) {
        field.width = field.count.saturating_mul(BAR_WIDTH).div_ceil(largest);
    }
    let frame = Frame {
        description: "Domains, fields and subfields of scholarship, with their numbers of outputs"
            .to_owned(),
        canonical: Some("/browse/taxonomy".to_owned()),
        ..Frame::new("Taxonomy", call.settings.other_pages())
    };
    html::reply(&TaxonomyPage { frame, domains }, call)
}

/// The branch of a field that a domain refers to; `None` where the field has no record.
fn field_branch(field: &Preview, snapshot: &Snapshot) -> Result<Option<Branch>, ReadError> {
    let Some(id) = field.get("id").integer().and_then(|id| u64::try_from(id).ok()) else {
        return Ok(None);
    };
    let LookupResult::Row(row) = snapshot.find(Entity::Field, id)? else { return Ok(None) };
    let field = value_of(Entity::Field, row, snapshot)?;
    let subfields = field.get("subfields").items().iter();
    let below = subfields.map(|of| branch(Entity::Subfield, of, Vec::new())).collect();
    Ok(Some(branch(Entity::Field, &field, below)))
}

fn branch(entity: Entity, value: &Preview, below: Vec<Branch>) -> Branch {
    let count = value.get("outputs_count").integer();
    Branch {
        href: record_path(entity, &value.get("id").text().unwrap_or_default()),
        name: name_of(value),
        outputs: count.map(thousands).unwrap_or_default(),
        width: 0,
        count: count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0),
        below,
    }
}
