//! Adds members of a ROR record to an institution that the dump leaves null or empty.

use pinakes_format::record::{AssociatedInstitution, Code, Geo, Institution, Named, Ref, Table};

use crate::frontend::international::names_json;
use crate::frontend::side::ror::{Location, Organisation};
use crate::frontend::side::table::{InstitutionRow, JoinedRows, SideValue};

/// Lists the codes that an organisation needs: of its country, and of the relationships to
/// institutions of the snapshot.
pub fn codes(value: &[u8], institution_row: InstitutionRow<'_>) -> Option<Vec<(Table, String)>> {
    let organisation = Organisation::decode(value)?;
    let country = organisation.location.and_then(|location| location.country_code);
    let relations = organisation.relations.into_iter();
    let known = relations.filter(|relation| institution_row(relation.key).is_some());
    let kinds = known.map(|relation| (Table::Relationship, relation.kind));
    Some(kinds.chain(country.map(|code| (Table::Country, code))).collect())
}

/// Sets each member that is null or an empty list. Returns whether the record changed.
pub fn add(
    institution: &mut Institution,
    organisation: &Organisation,
    rows: &JoinedRows<'_>,
) -> bool {
    let before = institution.clone();
    fill_list(&mut institution.display_name_acronyms, || organisation.acronyms.clone());
    fill_list(&mut institution.display_name_alternatives, || {
        // ROR may list the dump's name as an alternative.
        let name = institution.name.as_deref();
        let others = organisation.alternatives.iter();
        others.filter(|other| Some(other.as_str()) != name).cloned().collect()
    });
    fill_list(&mut institution.associated_institutions, || associated(organisation, rows));
    if institution.international.is_none() {
        let labels = &organisation.labels;
        institution.international = (!labels.is_empty()).then(|| {
            names_json(labels.iter().map(|(language, label)| (&**language, Some(&**label))))
        });
    }
    if let Some(place) = &organisation.location {
        let country = place.country_code.as_deref();
        let country = country.and_then(|code| (rows.code)(Table::Country, code));
        institution.country = institution.country.or(country.map(Named));
        let known = institution.country.map(|Named(code)| code);
        let geo = institution.geo.get_or_insert_default();
        if is_same_place(geo, known, place, country) {
            fill_geo(geo, place, country);
        }
        // Nothing was known of the place: an empty object would be a change.
        if *geo == Geo::default() {
            institution.geo = None;
        }
    }
    *institution != before
}

/// Lists the related organisations that have a record in the snapshot.
fn associated(organisation: &Organisation, rows: &JoinedRows<'_>) -> Vec<AssociatedInstitution> {
    let known = organisation.relations.iter().filter_map(|relation| {
        let row = (rows.institution_row)(relation.key)?;
        let relationship = (rows.code)(Table::Relationship, &relation.kind)?;
        Some(AssociatedInstitution {
            institution: Ref(row),
            relationship: Some(Code(relationship)),
        })
    });
    known.collect()
}

fn fill_list<T>(list: &mut Option<Vec<T>>, with: impl FnOnce() -> Vec<T>) {
    if list.as_ref().is_none_or(Vec::is_empty) {
        let with = with();
        if !with.is_empty() {
            *list = Some(with);
        }
    }
}

/// Whether ROR's place may complete the dump's: the dump's place has no city, region or coordinates,
/// or names the same city. Otherwise the record could mix one city with another city's coordinates.
fn is_same_place(geo: &Geo, known: Option<u32>, place: &Location, country: Option<u32>) -> bool {
    let own_country = geo.country_code.map(|Code(code)| code).or(known);
    if own_country.zip(country).is_some_and(|(own, given)| own != given) {
        return false;
    }
    let agree = |own: &Option<String>, given: &Option<String>| own.is_some() && own == given;
    let is_silent = geo.city.is_none()
        && geo.geonames_city_id.is_none()
        && geo.region.is_none()
        && geo.latitude.is_none()
        && geo.longitude.is_none();
    is_silent || agree(&geo.city, &place.city) || agree(&geo.geonames_city_id, &place.geonames_id)
}

fn fill_geo(geo: &mut Geo, place: &Location, country: Option<u32>) {
    geo.country_code = geo.country_code.or(country.map(Code));
    if geo.latitude.is_none() && geo.longitude.is_none() {
        (geo.latitude, geo.longitude) = (place.latitude, place.longitude);
    }
    for (own, given) in [
        (&mut geo.city, &place.city),
        (&mut geo.geonames_city_id, &place.geonames_id),
        (&mut geo.region, &place.region),
        (&mut geo.country, &place.country),
    ] {
        if own.is_none() {
            own.clone_from(given);
        }
    }
}
