//! The limits of drift, and the members that `--allow-drift` names.

use pinakes_format::entity::Entity;
use pinakes_format::query::nearest;

use crate::drift::Kind;
use crate::drift::groups::grouped_keys;
use crate::drift::identifiers::Identifiers;
use crate::drift::members::members_of;

/// The fewest records that a share is judged by.
pub(super) const RECORDS_MIN: u64 = 100;
/// The least limit of values that differ less than chance gives.
pub(super) const CHANGED_MIN: f64 = 0.05;

/// Members that a source computes again for each release, such as counts. `*` stands for every entity, and a name for all
/// members below.
const COMPUTED: [&str; 16] = [
    "*.cited_by_count",
    "*.outputs_count",
    "*.oa_outputs_count",
    "*.grants_count",
    "*.awards_count",
    "*.counts_by_year",
    "*.summary_stats",
    "*.roles.outputs_count",
    "*.metrics",
    "*.topics.count",
    "*.topics.share",
    "*.updated_date",
    "outputs.fwci",
    "outputs.citation_normalized_percentile.value",
    "outputs.primary_venue.source.metrics",
    "authors.orcid.outputs_count",
];

/// Members that differed in about one record in five, or more, between real releases. Some are lists that the linker makes
/// of other records, and types of venues repeat the type of the source's record.
const VOLATILE: [&str; 11] = [
    "*.created_date",
    "*.topics",
    "*.siblings",
    "outputs.authors",
    "outputs.primary_venue.pdf_url",
    "outputs.primary_venue.source.type",
    "outputs.additional_venues.source.type",
    "sources.host_organization",
    "sources.host_organization_name",
    "fields.subfields",
    "domains.fields",
];

/// Lists whose items are counted over all compared records: each record may change, and the sum stays.
const TOTALS: [&str; 4] =
    ["outputs.authors", "outputs.references", "outputs.additional_venues", "outputs.funders"];

/// Whether the values are computed anew for each release.
pub(super) fn is_computed(entity: Entity, path: &str) -> bool {
    is_listed(&COMPUTED, entity, path)
}

fn is_listed(names: &[&str], entity: Entity, path: &str) -> bool {
    names.iter().any(|name| {
        let listed =
            name.split_once('.').filter(|(of, _)| ["*", entity.facts().plural].contains(of));
        listed.is_some_and(|(_, listed)| is_below(path, listed))
    })
}

/// Whether a path is another, or lies below it.
fn is_below(path: &str, other: &str) -> bool {
    let rest = path.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The greatest share of a member that is published; `None` if the share is not judged.
///
/// The limits of [`Kind::Changed`] and [`Kind::Jumped`] are shares of the values that would differ by chance.
pub(super) fn limit(kind: Kind, entity: Entity, path: &str) -> Option<f64> {
    let is_computed = is_computed(entity, path);
    match kind {
        // A release that adds a member fills it in all records.
        Kind::Filled => None,
        Kind::Changed if is_computed => None,
        // The linker sums up the outputs of a taxonomy node, and a dump may have twice as many.
        Kind::Jumped if entity.facts().taxonomy_level.is_some() => None,
        Kind::Changed | Kind::Nulled if is_listed(&VOLATILE, entity, path) => Some(0.75),
        Kind::Changed | Kind::Nulled => Some(0.25),
        Kind::Jumped => Some(0.5),
        Kind::Moved => Some(0.05),
        // A dump without one of its parts.
        Kind::Gone => Some(0.1),
        Kind::Fewer if is_listed(&TOTALS, entity, path) => Some(0.1),
        // Twice as many.
        Kind::More if is_listed(&TOTALS, entity, path) => Some(0.5),
        Kind::Fewer | Kind::More => None,
        Kind::Distribution => Some(0.5),
    }
}

/// A name of `--allow-drift`: a member, or an object or entity and so all members below.
#[derive(Clone, Debug)]
pub(crate) struct AllowedMember(String);

impl AllowedMember {
    /// Stands for every member.
    const ALL: &str = "all";

    /// Parses a name.
    ///
    /// # Errors
    ///
    /// If there is no such member.
    pub(crate) fn parse(name: &str) -> Result<AllowedMember, String> {
        let allowed = AllowedMember(name.to_owned());
        let known: Vec<String> = Entity::all().flat_map(names).collect();
        if known.iter().any(|member| allowed.has(member)) {
            return Ok(allowed);
        }
        let nearest = nearest(name, known.iter().map(String::as_str));
        Err(match nearest {
            Some(nearest) => format!("names no member; did you mean `{nearest}`?"),
            None => "names no member; expected `all`, or names as in `outputs.title`".to_owned(),
        })
    }

    pub(super) fn has(&self, member: &str) -> bool {
        self.0 == Self::ALL || is_below(member, &self.0)
    }
}

/// The names of all members of an entity.
fn names(entity: Entity) -> impl Iterator<Item = String> {
    let members = members_of(entity).into_iter().map(|member| member.path);
    let identifiers: Vec<_> = Identifiers::of(entity).paths().map(str::to_owned).collect();
    let groups = grouped_keys(entity).map(|key| key.path.to_owned());
    let paths = members.chain(identifiers).chain(groups).chain(["id".to_owned()]);
    paths.map(move |path| format!("{}.{path}", entity.facts().plural))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_name_stands_for_all_members_below() {
        let check = |name: &str, member: &str, expected: Option<bool>| {
            let allowed = AllowedMember::parse(name).ok();
            assert_eq!(allowed.map(|allowed| allowed.has(member)), expected, "{name} {member}");
        };
        check("outputs.title", "outputs.title", Some(true));
        check("outputs.authors", "outputs.authors.orcid", Some(true));
        check("outputs", "outputs.authors.orcid", Some(true));
        check("all", "sources.issn", Some(true));
        check("outputs.id", "outputs.ids.mag", Some(false));
        check("outputs.primary_topic.field.id", "outputs.type", Some(false));
        check("outputs.titl", "outputs.title", None);
        check("title", "outputs.title", None);
        check("", "outputs.title", None);
        let error = AllowedMember::parse("outputs.titel").err();
        assert_eq!(error.as_deref(), Some("names no member; did you mean `outputs.title`?"));
    }
}
