//! Parses the members that `select` names.

use crate::entity::Entity;
use crate::query::parse::error::{ParamError, unknown_member};
use crate::query::parse::grammar::trim;
use crate::record::{Member, Members, View};

/// Wrong members that are reported.
const ERRORS_MAX: usize = 10;

/// Parses members separated by commas, each a path such as `authors.name`, into a selection in the order
/// of the interface. A member stands for everything below it, also where it is named besides.
///
/// # Errors
///
/// One error for each wrong member, at most 10.
pub fn parse_select(entity: Entity, view: View, text: &str) -> Result<Members, Vec<ParamError>> {
    let all = Members::all(entity, view);
    let mut paths: Vec<Vec<usize>> = Vec::new();
    let mut errors = Vec::new();
    for name in text.split(',').map(trim) {
        match parse_path(all, view, name) {
            Err(error) => errors.push(error),
            Ok(path) if paths.contains(&path) => {
                errors.push(ParamError::new(name, "is selected a second time; name it once"));
            }
            Ok(path) => paths.push(path),
        }
        if errors.len() >= ERRORS_MAX {
            break;
        }
    }
    if errors.is_empty() { Ok(all.select(&paths)) } else { Err(errors) }
}

fn parse_path(all: &Members, view: View, name: &str) -> Result<Vec<usize>, ParamError> {
    if name.is_empty() {
        return Err(ParamError::new(
            name,
            "lacks a member; write one or more, with one comma between two",
        ));
    }
    if let Some(path) = find(all.members(), name) {
        return Ok(path);
    }
    let single = Members::all(all.entity, View::Single);
    if view == View::List && find(single.members(), name).is_some() {
        return Err(ParamError::new(
            name,
            "is shown by single records and streams (`format`) only, not by pages of lists",
        ));
    }
    Err(unknown_member(all.entity.facts().route, name, &member_names(all.entity, view)))
}

/// The paths of all members that can be selected.
pub fn member_names(entity: Entity, view: View) -> Vec<String> {
    let mut names = Vec::new();
    add_paths(Members::all(entity, view).members(), "", &mut names);
    names
}

/// Finds the indices on a dotted path.
fn find(members: &[Member], path: &str) -> Option<Vec<usize>> {
    let (mut members, mut found) = (members, Vec::new());
    for name in path.split('.') {
        let at = members.iter().position(|member| member.name == name)?;
        found.push(at);
        members = &members[at].members;
    }
    Some(found)
}

fn add_paths(members: &[Member], prefix: &str, names: &mut Vec<String>) {
    for member in members {
        let path = format!("{prefix}{}", member.name);
        names.push(path.clone());
        add_paths(&member.members, &format!("{path}."), names);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::csv::CsvTable;

    fn columns(entity: Entity, view: View, text: &str) -> Result<String, String> {
        let parsed = parse_select(entity, view, text);
        let errors = |errors: Vec<ParamError>| {
            errors.into_iter().map(|error| format!("{}: {}", error.text, error.reason)).collect()
        };
        let join = |errors: Vec<String>| errors.join("\n");
        parsed
            .map(|members| CsvTable::new(&members).names().join(","))
            .map_err(|found| join(errors(found)))
    }

    #[test]
    fn selected_members_have_the_order_of_the_interface() {
        let check = |entity, view, text: &str, expected: &str| {
            assert_eq!(columns(entity, view, text).unwrap(), expected, "{text}");
        };
        check(Entity::Output, View::List, "year,id", "id,year");
        check(Entity::Output, View::List, "language.name,language", "language.code,language.name");
        check(
            Entity::Output,
            View::List,
            " doi , authors.name,authors.id",
            "doi,authors.id,authors.name",
        );
        check(Entity::Output, View::List, "language", "language.code,language.name");
        check(
            Entity::Output,
            View::List,
            "primary_venue.source",
            "primary_venue.source.id,primary_venue.source.name,primary_venue.source.type",
        );
        check(Entity::Output, View::Single, "ids", "ids.mag");
        check(Entity::Output, View::Export, "is_xpac,ids", "ids.mag,ids.pmid,ids.pmcid,is_xpac");
        check(Entity::Author, View::List, "orcid", "orcid");
        check(Entity::Author, View::Single, "orcid.id", "orcid.id");
        check(
            Entity::Source,
            View::List,
            "oa_flip_year,is_core,is_in_doaj_since_year,is_oa",
            "is_oa,is_in_doaj_since_year,is_core,oa_flip_year",
        );
        check(
            Entity::Source,
            View::Single,
            "oa_flip_year,is_core,is_in_doaj_since_year,is_oa",
            "is_oa,is_core,is_in_doaj_since_year,oa_flip_year",
        );
        check(Entity::Source, View::List, "apc_usd_by_year", "apc_usd_by_year");
        check(
            Entity::Source,
            View::Single,
            "apc_usd_by_year",
            "apc_usd_by_year.year,apc_usd_by_year.price",
        );
    }

    #[test]
    fn a_wrong_member_is_refused_with_the_nearest() {
        let check = |text: &str, expected: &str| {
            assert_eq!(columns(Entity::Output, View::List, text).unwrap_err(), expected, "{text}");
        };
        check("titel", "titel: is no member of the records of /outputs; did you mean `title`?");
        check(
            "authors.nam",
            "authors.nam: is no member of the records of /outputs; did you mean `authors.name`?",
        );
        check(
            "display_name",
            "display_name: is no member of the records of /outputs; did you mean `name`?",
        );
        check(
            "abstract",
            "abstract: is shown by single records and streams (`format`) only, not by pages of lists",
        );
        check("id,,year", ": lacks a member; write one or more, with one comma between two");
        check("id,id", "id: is selected a second time; name it once");
        let many = (0..1_000).map(|at| format!("m{at}")).collect::<Vec<String>>().join(",");
        assert_eq!(columns(Entity::Output, View::List, &many).unwrap_err().lines().count(), 10);
    }
}
