//! ROR's organisations, schema 2, which fill gaps in the records of institutions.

pub(crate) mod extend;

use pinakes_format::record::Institution;
use serde::{Deserialize, Serialize};

use crate::frontend::reader::BadRecord;
use crate::frontend::side::cell::TableCell;
use crate::frontend::side::keys;
use crate::frontend::side::read::{KeyedRow, read_elements};
use crate::frontend::side::table::{Extend, JoinedRows, RecordShape, SideTable, SideValue};
use crate::read::{
    Diagnostics, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, lenient, members,
};

pub static TABLE: SideTable = SideTable {
    name: "ror",
    expected: "ROR records of schema 2, as JSON lines or one JSON array",
    is_header: |_| false,
    is_record: |shape| is_ror(shape) && shape.names.is_some(),
    read: |path, limits, diagnostics, object| {
        read_elements(&TABLE, read, path, limits, diagnostics, object)
    },
    extend: Extend::Institution { add, codes: extend::codes },
};

fn add(institution: &mut Institution, rows: &JoinedRows<'_>) -> Option<bool> {
    let organisation = rows.values(&TABLE)?.into_iter().next();
    Some(organisation.is_some_and(|found| extend::add(institution, &found, rows)))
}

/// Whether a JSON object is a ROR record of schema 1, which has a `name` instead of `names`.
pub fn is_schema_1(shape: &RecordShape<'_>) -> bool {
    is_ror(shape) && shape.names.is_none()
}

fn is_ror(shape: &RecordShape<'_>) -> bool {
    let id = shape.id.0.as_str().unwrap_or_default();
    id.contains("ror.org/") && keys::parse_ror(id).is_some()
}

members! {
    struct RawOrganisation<'a> {
        id: MaybeId<'a>,
        names: MaybeList<MaybeObject<RawName<'a>>>,
        locations: MaybeList<MaybeObject<RawLocation<'a>>>,
        relationships: MaybeList<MaybeObject<RawRelation<'a>>>,
        admin: MaybeObject<RawAdmin<'a>>,
    }

    struct RawName<'a> {
        value: MaybeText<'a>,
        types: MaybeList<MaybeText<'a>>,
        lang: MaybeText<'a>,
    }

    struct RawLocation<'a> {
        geonames_id: MaybeId<'a>,
        geonames_details: MaybeObject<RawDetails<'a>>,
    }

    struct RawDetails<'a> {
        name: MaybeText<'a>,
        country_subdivision_name: MaybeText<'a>,
        country_code: MaybeText<'a>,
        country_name: MaybeText<'a>,
        lat: MaybeNumber,
        lng: MaybeNumber,
    }

    struct RawRelation<'a> {
        id: MaybeId<'a>,
        kind as "type": MaybeText<'a>,
    }

    struct RawAdmin<'a> {
        last_modified: MaybeObject<RawModified<'a>>,
    }

    struct RawModified<'a> {
        date: MaybeText<'a>,
    }
}

fn read(text: &str, diagnostics: &Diagnostics) -> Result<KeyedRow<Organisation>, BadRecord> {
    let raw: RawOrganisation<'_> = lenient::from_str_skipping_unread(text, diagnostics)?;
    let id = raw.id.0.as_str();
    let bad = |code| BadRecord::Quarantine { code, id: id.map(str::to_owned) };
    let key = keys::parse_ror(id.ok_or(bad("no_id"))?).ok_or(bad("bad_id"))?;
    let modified = raw.admin.0.as_ref().and_then(|admin| admin.last_modified.0.as_ref());
    let modified = modified.and_then(|modified| modified.date.as_str());
    Ok(KeyedRow {
        keys: vec![key],
        vintage: modified
            .and_then(|text| TableCell { text, has_decimal_comma: false, diagnostics }.vintage()),
        value: raw.build(),
    })
}

impl RawOrganisation<'_> {
    fn build(&self) -> Organisation {
        let mut organisation = Organisation::default();
        let is_of = |name: &RawName<'_>, kind: &str| {
            name.types.as_slice().iter().any(|name_type| name_type.as_str() == Some(kind))
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
        organisation.location = self.locations.objects().next().map(RawLocation::build);
        organisation.relations =
            self.relationships.objects().filter_map(RawRelation::build).collect();
        organisation
    }
}

impl RawLocation<'_> {
    fn build(&self) -> Location {
        let geonames_id = self.geonames_id.0.to_owned();
        let Some(details) = &self.geonames_details.0 else {
            return Location { geonames_id, ..Location::default() };
        };
        Location {
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
    fn build(&self) -> Option<Relation> {
        let key = keys::parse_ror(self.id.0.as_str()?)?;
        Some(Relation { key, kind: self.kind.as_str()?.to_lowercase() })
    }
}

/// The members of a ROR record. Linking uses a member only where the dump has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Organisation {
    pub acronyms: Vec<String>,
    /// The display name, then the other labels and aliases.
    pub alternatives: Vec<String>,
    /// Language and label, in the order of the record.
    pub labels: Vec<(String, String)>,
    pub location: Option<Location>,
    pub relations: Vec<Relation>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Location {
    pub city: Option<String>,
    /// The GeoNames number of the city.
    pub geonames_id: Option<String>,
    pub region: Option<String>,
    pub country_code: Option<String>,
    pub country: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
}

/// A relation to another organisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relation {
    /// The ROR id of the other organisation, as a key.
    pub key: u64,
    /// `parent`, `child`, `related`, `predecessor` or `successor`.
    pub kind: String,
}

/// No record has these members, so an object keeps them as JSON.
impl SideValue for Organisation {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("the members are texts, lists and finite numbers")
    }

    fn decode(bytes: &[u8]) -> Option<Organisation> {
        serde_json::from_slice(bytes).ok()
    }
}
