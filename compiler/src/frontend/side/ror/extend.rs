//! Adds members of a ROR record to an institution that the dump leaves null or empty.

use pinakes_format::record::value::{Code, Json, Named, Ref, Table};
use pinakes_format::record::{AssociatedInstitution, Geo, Institution};
use pinakes_format::text::json;

use crate::frontend::side::ror::{Location, Organisation};
use crate::link::enrich::tables::SideTables;
use crate::link::resolve::unresolved::UnresolvedSymbols;

/// A ROR record, and the tables that translate its codes and ids into those of the snapshot.
pub(crate) struct Addition<'a> {
    pub organisation: &'a Organisation,
    pub tables: &'a SideTables<'a>,
    pub codes: &'a UnresolvedSymbols,
}

impl Addition<'_> {
    /// Sets each member that is null or an empty list. Returns whether the record changed.
    pub(crate) fn fill(&self, institution: &mut Institution) -> bool {
        let before = institution.clone();
        let organisation = self.organisation;
        fill_list(&mut institution.display_name_acronyms, || organisation.acronyms.clone());
        fill_list(&mut institution.display_name_alternatives, || {
            let name = institution.name.as_deref();
            let others = organisation.alternatives.iter();
            others.filter(|other| Some(other.as_str()) != name).cloned().collect()
        });
        fill_list(&mut institution.associated_institutions, || self.associated());
        if institution.international.is_none() {
            institution.international = international(&organisation.labels);
        }
        if let Some(place) = &organisation.location {
            let country = place.country_code.as_deref().and_then(|code| self.country(code));
            institution.country = institution.country.or(country.map(Named));
            let known = institution.country.map(|Named(code)| code);
            let geo = institution.geo.get_or_insert_default();
            if is_same_place(geo, known, place, country) {
                fill_geo(geo, place, country);
            }
            if *geo == Geo::default() {
                institution.geo = None;
            }
        }
        *institution != before
    }

    fn country(&self, code: &str) -> Option<u32> {
        self.codes.code(Table::Country, code)
    }

    /// Lists the related organisations that have a record in the snapshot.
    fn associated(&self) -> Vec<AssociatedInstitution> {
        let relations = self.organisation.relations.iter();
        let known = relations.filter_map(|relation| {
            let row = self.tables.institution_row(relation.key)?;
            let relationship = self.codes.code(Table::Relationship, &relation.kind)?;
            Some(AssociatedInstitution {
                institution: Ref(row),
                relationship: Some(Code(relationship)),
            })
        });
        known.collect()
    }
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

/// `{"display_name":{language: label}}`.
fn international(labels: &[(String, String)]) -> Option<Json> {
    if labels.is_empty() {
        return None;
    }
    let mut text = b"{\"display_name\":{".to_vec();
    for (at, (language, label)) in labels.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        json::string(&mut text, language);
        text.push(b':');
        json::string(&mut text, label);
    }
    text.extend_from_slice(b"}}");
    Some(Json(String::from_utf8(text).expect("JSON made of strings is UTF-8")))
}
