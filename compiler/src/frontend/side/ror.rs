//! ROR's organisations, schema 2: what an institution's record may lack.

use serde::{Deserialize, Serialize};

use crate::frontend::openalex::BadRecord;
use crate::frontend::side::cell::Cell;
use crate::frontend::side::keys;
use crate::frontend::side::read::Keyed;
use crate::read::lenient::{IdText, List, Number, Object, Text};
use crate::read::strict;

/// What a ROR record gives: all of it to be filled in only where the dump is silent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Organisation {
    /// Acronyms.
    pub acronyms: Vec<String>,
    /// The name it shows, then its other labels and aliases.
    pub alternatives: Vec<String>,
    /// Labels by language, in the order of the record.
    pub labels: Vec<(String, String)>,
    /// Where it is.
    pub place: Option<Place>,
    /// What it is related to.
    pub relations: Vec<Relation>,
}

/// Where an organisation is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// City.
    pub city: Option<String>,
    /// GeoNames number of the city.
    pub geonames_id: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Country code.
    pub country_code: Option<String>,
    /// Country.
    pub country: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
}

/// Another organisation and what it is to this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// The other's ROR id, as a key.
    pub key: u64,
    /// parent, child, related, predecessor or successor.
    pub kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawOrganisation<'a> {
    id: IdText<'a>,
    names: List<Object<RawName<'a>>>,
    locations: List<Object<RawLocation<'a>>>,
    relationships: List<Object<RawRelation<'a>>>,
    admin: Object<RawAdmin<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawName<'a> {
    value: Text<'a>,
    types: List<Text<'a>>,
    lang: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawLocation<'a> {
    geonames_id: IdText<'a>,
    geonames_details: Object<RawDetails<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawDetails<'a> {
    name: Text<'a>,
    country_subdivision_name: Text<'a>,
    country_code: Text<'a>,
    country_name: Text<'a>,
    lat: Number,
    lng: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawRelation<'a> {
    id: IdText<'a>,
    r#type: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawAdmin<'a> {
    last_modified: Object<RawModified<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawModified<'a> {
    date: Text<'a>,
}

/// Reads one record.
///
/// # Errors
///
/// Why it is set aside.
pub fn read(text: &str) -> Result<Keyed<Organisation>, BadRecord> {
    let raw: RawOrganisation<'_> = strict::from_str_skipping_unread(text)?;
    let id = raw.id.0.as_str();
    let bad = |code| BadRecord::Quarantine { code, id: id.map(str::to_owned) };
    let key = keys::ror(id.ok_or(bad("no_id"))?).ok_or(bad("bad_id"))?;
    let modified = raw.admin.0.as_ref().and_then(|admin| admin.last_modified.0.as_ref());
    let modified = modified.and_then(|modified| modified.date.as_str());
    Ok(Keyed {
        keys: vec![key],
        vintage: modified.and_then(|text| Cell { text, has_decimal_comma: false }.vintage()),
        value: raw.value(),
    })
}

impl RawOrganisation<'_> {
    fn value(&self) -> Organisation {
        let mut organisation = Organisation::default();
        let is_of = |name: &RawName<'_>, kind: &str| {
            name.types.as_slice().iter().any(|of| of.as_str() == Some(kind))
        };
        let display = self.names.objects().find(|name| is_of(name, "ror_display"));
        organisation.alternatives.extend(display.and_then(|name| name.value.to_owned()));
        for name in self.names.objects() {
            let has = |kind: &str| is_of(name, kind);
            let Some(value) = name.value.to_owned() else { continue };
            if let Some(language) = name.lang.to_owned().filter(|_| has("label")) {
                let is_known = organisation.labels.iter().any(|(known, _)| *known == language);
                if !is_known {
                    organisation.labels.push((language, value.clone()));
                }
            }
            let list = match () {
                () if has("acronym") => &mut organisation.acronyms,
                () => &mut organisation.alternatives,
            };
            if !list.contains(&value) {
                list.push(value);
            }
        }
        organisation.place = self.locations.objects().next().map(RawLocation::value);
        organisation.relations =
            self.relationships.objects().filter_map(RawRelation::value).collect();
        organisation
    }
}

impl RawLocation<'_> {
    fn value(&self) -> Place {
        let geonames_id = self.geonames_id.0.to_owned();
        let Some(details) = &self.geonames_details.0 else {
            return Place { geonames_id, ..Place::default() };
        };
        Place {
            city: details.name.to_owned(),
            geonames_id,
            region: details.country_subdivision_name.to_owned(),
            country_code: details.country_code.to_owned(),
            country: details.country_name.to_owned(),
            latitude: details.lat.fraction(),
            longitude: details.lng.fraction(),
        }
    }
}

impl RawRelation<'_> {
    fn value(&self) -> Option<Relation> {
        let key = keys::ror(self.id.0.as_str()?)?;
        Some(Relation { key, kind: self.r#type.as_str()?.to_lowercase() })
    }
}
