//! Renders an output as the interface shows it, from dumps of every vintage.

use serde_json::Value;

use crate::entity::{Entity, prefixed};
use crate::render::{Renderer, either, one_item};
use crate::values::{
    abstract_text, coded, count, date, flag, fraction, id_text, length, list, object,
    object_or_null, objects, orcid_url, text, texts, timestamp, words, year,
};

impl Renderer<'_> {
    pub(crate) fn output(&self, id: Value, dump: &Value) -> Value {
        object([
            ("id", id),
            ("doi", text(&dump["doi"])),
            ("title", text(&dump["title"])),
            ("name", either(text(&dump["display_name"]), || text(&dump["title"]))),
            ("year", year(&dump["publication_year"])),
            ("date", date(&dump["publication_date"])),
            ("ids", object([("mag", id_text(&dump["ids"]["mag"]))])),
            ("language", coded(&dump["language"])),
            ("primary_venue", self.primary_venue(dump)),
            ("additional_venues", self.additional_venues(dump)),
            (
                "venues_count",
                either(count(&dump["locations_count"]), || length(&dump["locations"])),
            ),
            ("type", text(&dump["type"])),
            ("indexed_in", texts(&dump["indexed_in"])),
            (
                "open_access",
                object_or_null(&dump["open_access"], |access| {
                    object([
                        ("is_oa", flag(&access["is_oa"])),
                        ("oa_status", text(&access["oa_status"])),
                        ("oa_url", text(&access["oa_url"])),
                    ])
                }),
            ),
            ("authors", objects(&dump["authorships"], |authorship| self.authorship(authorship))),
            ("fwci", fraction(&dump["fwci"])),
            ("has_fulltext", flag(&dump["has_fulltext"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            (
                "cites",
                either(count(&dump["referenced_works_count"]), || {
                    length(&dump["referenced_works"])
                }),
            ),
            (
                "citation_normalized_percentile",
                object_or_null(&dump["citation_normalized_percentile"], |percentile| {
                    object([
                        ("value", fraction(&percentile["value"])),
                        ("is_in_top_1_percent", flag(&percentile["is_in_top_1_percent"])),
                        ("is_in_top_10_percent", flag(&percentile["is_in_top_10_percent"])),
                    ])
                }),
            ),
            (
                "cited_by_percentile_year",
                object_or_null(&dump["cited_by_percentile_year"], |percentile| {
                    object([("min", count(&percentile["min"])), ("max", count(&percentile["max"]))])
                }),
            ),
            (
                "biblio",
                object_or_null(&dump["biblio"], |biblio| {
                    object([
                        ("volume", text(&biblio["volume"])),
                        ("issue", text(&biblio["issue"])),
                        ("first_page", text(&biblio["first_page"])),
                        ("last_page", text(&biblio["last_page"])),
                    ])
                }),
            ),
            ("is_retracted", flag(&dump["is_retracted"])),
            ("is_paratext", flag(&dump["is_paratext"])),
            ("apc_paid", charge(&dump["apc_paid"])),
            ("primary_topic", self.reference(Entity::Topics, &dump["primary_topic"])),
            ("topics", self.references(Entity::Topics, &dump["topics"])),
            (
                "sustainable_development_goals",
                objects(&dump["sustainable_development_goals"], |goal| {
                    object([("id", goal_id(&goal["id"])), ("name", text(&goal["display_name"]))])
                }),
            ),
            ("funders", self.output_funders(dump)),
            (
                "counts_by_year",
                objects(&dump["counts_by_year"], |counts| {
                    object([
                        ("year", year(&counts["year"])),
                        ("cited_by_count", count(&counts["cited_by_count"])),
                    ])
                }),
            ),
            ("keywords", list(&dump["keywords"], keyword)),
            ("abstract", abstract_text(&dump["abstract_inverted_index"])),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
        ])
    }

    fn primary_venue(&self, dump: &Value) -> Value {
        if has_value(&dump["primary_location"]) {
            return self.venue(&dump["primary_location"], true);
        }
        let location = location_of(&dump["host_venue"]);
        if has_value(&location) { self.venue(&location, true) } else { Value::Null }
    }

    fn additional_venues(&self, dump: &Value) -> Value {
        match additional_locations(dump) {
            Some(locations) => {
                locations.into_iter().map(|location| self.venue(location, false)).collect()
            }
            None => objects(&dump["alternate_host_venues"], |venue| {
                let location = location_of(venue);
                if has_value(&location) { self.venue(&location, false) } else { Value::Null }
            }),
        }
    }

    fn venue(&self, location: &Value, is_primary: bool) -> Value {
        object([
            ("id", text(&location["id"])),
            ("is_oa", flag(&location["is_oa"])),
            ("landing_page_url", text(&location["landing_page_url"])),
            ("pdf_url", text(&location["pdf_url"])),
            ("license", text(&location["license"])),
            ("version", text(&location["version"])),
            ("is_accepted", flag(&location["is_accepted"])),
            ("is_published", flag(&location["is_published"])),
            ("source", self.venue_source(&location["source"], is_primary)),
        ])
    }

    fn venue_source(&self, source: &Value, is_primary: bool) -> Value {
        let mut shown = self.reference(Entity::Sources, source);
        let record = self
            .records
            .target(Entity::Sources, source)
            .and_then(|number| self.records.by_id.get(&(Entity::Sources, number)));
        if let Value::Object(members) = &mut shown {
            let own = record.map_or(Value::Null, |record| text(&record.object["type"]));
            members.insert("type".to_owned(), either(own, || text(&source["type"])));
            if is_primary {
                members.insert("metrics".to_owned(), Value::Null);
            }
        }
        shown
    }

    fn authorship(&self, authorship: &Value) -> Value {
        let author = &authorship["author"];
        let (id, name) = self.id_and_name(Entity::Authors, author);
        object([
            ("author_position", text(&authorship["author_position"])),
            ("id", id),
            ("name", name),
            ("orcid", orcid_url(&author["orcid"])),
            (
                "affiliations",
                objects(&authorship["institutions"], |institution| {
                    let shown = self.reference(Entity::Institutions, institution);
                    if has_value(&shown) { shown } else { Value::Null }
                }),
            ),
            ("countries", list(&authorship["countries"], coded)),
            ("is_corresponding", flag(&authorship["is_corresponding"])),
            (
                "raw_affiliation_strings",
                either(texts(&authorship["raw_affiliation_strings"]), || {
                    one_item(text(&authorship["raw_affiliation_string"]))
                }),
            ),
        ])
    }

    /// Joins `funders` with `awards`. The awards of `grants` fill funders without awards; in dumps without
    /// `funders`, grants give the funders too.
    fn output_funders(&self, dump: &Value) -> Value {
        let funder = |funder: &Value, awards: Value| {
            let (id, name) = self.id_and_name(Entity::Funders, funder);
            object([("id", id), ("name", name), ("awards", awards)])
        };
        let granted = grants_by_funder(&dump["grants"]);
        if dump["funders"].is_array() {
            return objects(&dump["funders"], |given| {
                let number = Entity::Funders.number(&given["id"]);
                let awards = objects(&dump["awards"], |award| {
                    match Entity::Funders.number(&award["funder_id"]) {
                        of if of.is_some() && of == number => award_of(award),
                        _ => Value::Null,
                    }
                });
                let of_funder = granted.iter().find(|(other, _)| is_same_funder(other, given));
                match of_funder {
                    Some((_, numbers))
                        if !numbers.is_empty() && awards.as_array().is_none_or(Vec::is_empty) =>
                    {
                        funder(given, numbers.clone().into())
                    }
                    _ => funder(given, awards),
                }
            });
        }
        if !dump["grants"].is_array() {
            return Value::Null;
        }
        granted.into_iter().map(|(given, awards)| funder(&given, awards.into())).collect()
    }
}

/// Whether two references name one funder: by id, or by name if neither has an id.
fn is_same_funder(one: &Value, other: &Value) -> bool {
    match (Entity::Funders.number(&one["id"]), Entity::Funders.number(&other["id"])) {
        (None, None) => text(&one["display_name"]) == text(&other["display_name"]),
        (one, other) => one == other,
    }
}

/// The funders of grants, each with the awards of its grants.
fn grants_by_funder(grants: &Value) -> Vec<(Value, Vec<Value>)> {
    let mut gathered: Vec<(Value, Vec<Value>)> = Vec::new();
    let grants = grants.as_array().into_iter().flatten();
    for grant in grants.filter(|grant| grant.is_object()) {
        let given = object([
            ("id", grant["funder"].clone()),
            ("display_name", grant["funder_display_name"].clone()),
        ]);
        let known = gathered.iter().position(|(other, _)| is_same_funder(other, &given));
        let at = known.unwrap_or_else(|| {
            gathered.push((given, Vec::new()));
            gathered.len() - 1
        });
        let awards = words(&grant["award_id"]).unwrap_or_default();
        let awards = awards.split(", ").map(Value::from);
        gathered[at].1.extend(
            awards
                .filter(|award| words(award).is_some())
                .map(|award| award_of(&object([("funder_award_id", award)]))),
        );
    }
    gathered
}

/// A host venue, in dumps before 2023, as the location it became. Its source `V1` is `S1`.
fn location_of(venue: &Value) -> Value {
    object_or_null(venue, |venue| {
        let mut source = venue.clone();
        if let Some(id) = words(&venue["id"]) {
            let (path, name) = id.rsplit_once('/').unwrap_or(("", &id));
            if let Some(digits) = name.strip_prefix(['V', 'v']) {
                source["id"] = format!("{path}/S{digits}").into();
            }
        }
        let is_nameless = venue["id"].is_null() && venue["display_name"].is_null();
        object([
            ("is_oa", venue["is_oa"].clone()),
            ("landing_page_url", venue["url"].clone()),
            ("license", venue["license"].clone()),
            ("version", venue["version"].clone()),
            ("source", if is_nameless { Value::Null } else { source }),
        ])
    })
}

/// Whether an object has a member that is not null, at any depth.
fn has_value(object: &Value) -> bool {
    let is_known = |value: &Value| has_value(value) || !(value.is_null() || value.is_object());
    object.as_object().is_some_and(|members| members.values().any(is_known))
}

/// The locations without the primary one; `None` in dumps without locations.
fn additional_locations(dump: &Value) -> Option<Vec<&Value>> {
    let locations = dump["locations"].as_array()?;
    let mut locations: Vec<&Value> =
        locations.iter().filter(|location| location.is_object()).collect();
    let primary = &dump["primary_location"];
    if has_value(primary) && !locations.is_empty() {
        let same_id = |location: &&Value| {
            words(&primary["id"]).is_some_and(|id| words(&location["id"]) == Some(id))
        };
        let have_ids = words(&primary["id"]).and(words(&locations[0]["id"])).is_some();
        let first = (!have_ids).then_some(0);
        if let Some(at) = locations.iter().position(same_id).or(first) {
            locations.remove(at);
        }
    }
    locations.retain(|location| has_value(location));
    Some(locations)
}

/// The place of the best open-access location among the venues: 0 is the primary one.
pub(crate) fn best_oa_venue(dump: &Value) -> Value {
    let best = &dump["best_oa_location"];
    let is_best = |location: &&Value| match (words(&best["id"]), words(&location["id"])) {
        (Some(best), Some(id)) => best == id,
        _ => {
            let members = "id is_oa landing_page_url pdf_url license version is_accepted is_published raw_type";
            let of_source = ["id", "display_name", "type"];
            members.split(' ').all(|member| best[member] == location[member])
                && of_source
                    .iter()
                    .all(|member| best["source"][member] == location["source"][member])
        }
    };
    if !has_value(best) {
        return Value::Null;
    }
    let primary = Some(&dump["primary_location"]).filter(|primary| has_value(primary));
    if primary.as_ref().is_some_and(is_best) {
        return 0.into();
    }
    let additional = additional_locations(dump).unwrap_or_default();
    additional.iter().position(is_best).map_or(Value::Null, |at| (at + 1).into())
}

/// The types of the additional venues as locations print them.
pub(crate) fn raw_types(dump: &Value) -> Value {
    let raw_type = |location: &Value| object([("raw_type", text(&location["raw_type"]))]);
    match additional_locations(dump) {
        Some(locations) => locations.into_iter().map(raw_type).collect(),
        None => objects(&dump["alternate_host_venues"], |venue| {
            let location = location_of(venue);
            if has_value(&location) { raw_type(&location) } else { Value::Null }
        }),
    }
}

/// A list, or null for one without elements.
pub(crate) fn unless_empty(list: Value) -> Value {
    if list.as_array().is_some_and(Vec::is_empty) { Value::Null } else { list }
}

/// The ORCID iDs that authorships print, by the number of the author; without the iD of the author.
pub(crate) fn raw_orcids(authorships: &Value) -> Value {
    let authorships = authorships.as_array().into_iter().flatten();
    let authorships = authorships.filter(|authorship| authorship.is_object());
    let printed = authorships.enumerate().filter_map(|(at, authorship)| {
        let printed = orcid_url(&authorship["raw_orcid"]);
        let is_same = printed == orcid_url(&authorship["author"]["orcid"]);
        let own = if is_same { Value::Null } else { printed.clone() };
        (!printed.is_null()).then(|| object([("author", at.into()), ("orcid", own)]))
    });
    unless_empty(printed.collect())
}

pub(crate) fn charge(charge: &Value) -> Value {
    object_or_null(charge, |charge| {
        object([
            ("value", count(&charge["value"])),
            ("currency", text(&charge["currency"])),
            ("value_usd", count(&charge["value_usd"])),
            ("provenance", text(&charge["provenance"])),
        ])
    })
}

/// The ids of the keywords, if one of them does not follow from its name.
pub(crate) fn keyword_ids(keywords: &Value) -> Value {
    let mut has_other = false;
    let ids = objects(keywords, |given| {
        let Some(name) = words(&keyword(given)) else { return Value::Null };
        let name = name.to_lowercase();
        let bare = match name.rsplit_once(" (") {
            Some((bare, rest)) if rest.ends_with(')') => bare,
            _ => &name,
        };
        let bare = bare.replace([',', '<', '>'], "");
        let by_name = bare.split_whitespace().collect::<Vec<_>>().join("-");
        let id = words(&given["id"]).map(|id| id.replace("https://openalex.org/keywords/", ""));
        let id = id.unwrap_or_else(|| by_name.clone());
        has_other |= id != by_name;
        id.into()
    });
    if has_other { ids } else { Value::Null }
}

fn award_of(award: &Value) -> Value {
    object([
        ("id", prefixed('G', &award["id"]).map_or(Value::Null, Value::from)),
        ("name", text(&award["display_name"])),
        ("funder_award_id", text(&award["funder_award_id"])),
        ("doi", text(&award["doi"])),
    ])
}

fn keyword(keyword: &Value) -> Value {
    match keyword {
        Value::Object(_) => either(text(&keyword["display_name"]), || text(&keyword["keyword"])),
        plain => text(plain),
    }
}

/// The last path part of a goal's URL, or a plain number.
fn goal_id(id: &Value) -> Value {
    match id {
        Value::String(url) => count(&url.rsplit('/').next().into()),
        plain => count(plain),
    }
}
