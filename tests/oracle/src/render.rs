//! Renders a record of the dump as a single record of the interface.
//!
//! Each entity has one function with its members in the interface's order, so that a reader can compare
//! the function with the interface's table. Outputs, the taxonomy and lists have files of their own.

use std::cell::Cell;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::entity::{ALL, Entity, prefixed};
use crate::outputs::{best_oa_venue, charge, keyword_ids, raw_orcids, raw_types, unless_empty};
use crate::query::fold::fold;
use crate::settle::{Record, Records};
use crate::taxonomy::{self, Below, Sums, sum_outputs};
use crate::values::{
    coded, count, flag, fraction, id_text, length, list, object, object_or_null, objects, orcid_id,
    text, texts, timestamp, words, year,
};

/// Renders records and looks up the records that they refer to.
pub struct Renderer<'a> {
    pub(crate) records: &'a Records,
    /// Sums of outputs and citations by the primary topic and its parents.
    pub(crate) sums: Sums,
    pub(crate) below: Below,
    /// Rendered references to ids without a record, since the last `take_dangling`.
    dangling: Cell<u64>,
}

impl<'a> Renderer<'a> {
    pub fn new(records: &'a Records) -> Self {
        Renderer {
            records,
            sums: sum_outputs(records),
            below: taxonomy::below(records),
            dangling: Cell::new(0),
        }
    }

    /// The number of dangling references since the last call.
    pub fn take_dangling(&self) -> u64 {
        self.dangling.take()
    }

    /// Renders the record as its own route shows it.
    pub fn single(&self, entity: Entity, number: u64, record: &Record) -> Value {
        let id = entity.own_id(number);
        let dump = &record.object;
        match entity {
            Entity::Outputs => self.output(id, dump),
            Entity::Authors => self.author(id, dump),
            Entity::Sources => self.source(number, id, dump),
            Entity::Institutions => self.institution(number, id, dump),
            Entity::Publishers => self.publisher(number, id, dump),
            Entity::Funders => self.funder(number, id, dump),
            Entity::Topics => self.topic(number, id, record),
            Entity::Domains | Entity::Fields | Entity::Subfields => {
                self.level(entity, number, id, record)
            }
        }
    }

    /// The members that no reply shows, as members of the single record.
    pub fn unshown(&self, entity: Entity, record: &Record) -> Value {
        let dump = &record.object;
        match entity {
            Entity::Outputs => object([
                (
                    "ids",
                    object([
                        ("pmid", last_part(&dump["ids"]["pmid"])),
                        ("pmcid", last_part(&dump["ids"]["pmcid"])),
                    ]),
                ),
                ("best_oa_venue", best_oa_venue(dump)),
                (
                    "authors",
                    objects(&dump["authorships"], |authorship| {
                        object([("raw_author_name", text(&authorship["raw_author_name"]))])
                    }),
                ),
                ("is_xpac", Value::from(dump["is_xpac"] == true)),
                ("apc_list", charge(&dump["apc_list"])),
                ("keyword_ids", keyword_ids(&dump["keywords"])),
                ("type_crossref", text(&dump["type_crossref"])),
                ("fulltext_origin", text(&dump["fulltext_origin"])),
                (
                    "has_content",
                    object_or_null(&dump["has_content"], |has| {
                        object([
                            ("pdf", flag(&has["pdf"])),
                            ("grobid_xml", flag(&has["grobid_xml"])),
                        ])
                    }),
                ),
                (
                    "concepts_count",
                    either(count(&dump["concepts_count"]), || length(&dump["concepts"])),
                ),
                (
                    "datasets",
                    unless_empty(list(&dump["datasets"], |given| {
                        prefixed('W', given).map_or(Value::Null, Value::from)
                    })),
                ),
                (
                    "institution_assertions",
                    unless_empty(
                        self.references(Entity::Institutions, &dump["institution_assertions"]),
                    ),
                ),
                ("raw_orcids", raw_orcids(&dump["authorships"])),
                (
                    "sustainable_development_goals",
                    objects(&dump["sustainable_development_goals"], |goal| {
                        object([("score", fraction(&goal["score"]))])
                    }),
                ),
                (
                    "primary_venue",
                    object([("raw_type", text(&dump["primary_location"]["raw_type"]))]),
                ),
                ("additional_venues", raw_types(dump)),
                ("references", self.outputs_referred_to(dump)),
            ]),
            Entity::Authors => object([
                ("ids", object([("scopus", scopus(&dump["ids"]["scopus"]))])),
                ("name_parts", name_parts(dump)),
            ]),
            Entity::Sources => object([
                ("host_organization", self.host_id(&dump["host_organization"])),
                ("ids", ids(dump, &["wikidata"])),
                ("concepts", concepts(&dump["x_concepts"])),
            ]),
            Entity::Institutions => object([
                ("is_super_system", flag(&dump["is_super_system"])),
                ("concepts", concepts(&dump["x_concepts"])),
                (
                    "lineage",
                    list(&dump["lineage"], |given| self.ancestor_of_institution(given, dump)),
                ),
                ("ids", ids(dump, &["wikidata", "mag"])),
            ]),
            Entity::Funders => object([("ids", ids(dump, &["wikidata"]))]),
            _ => object([]),
        }
    }

    /// The id of a source's host.
    fn host_id(&self, host: &Value) -> Value {
        let found = ALL.into_iter().find(|entity| entity.number(host).is_some());
        found.map_or(Value::Null, |entity| self.id_and_name(entity, host).0)
    }

    /// The outputs that an output refers to, merges followed, each once; and their number.
    fn outputs_referred_to(&self, dump: &Value) -> Value {
        let given = dump["referenced_works"].as_array().into_iter().flatten();
        let numbers: BTreeSet<u64> =
            given.filter_map(|id| self.records.target(Entity::Outputs, id)).collect();
        let ids = numbers.iter().map(|number| Entity::Outputs.route_id(*number).into());
        object([("id", Value::Array(ids.collect())), ("count", numbers.len().into())])
    }

    fn author(&self, id: Value, dump: &Value) -> Value {
        let orcid = orcid_id(&dump["orcid"]).map_or(Value::Null, |id| {
            object([
                ("id", id.into()),
                ("name", Value::Null),
                ("biography", Value::Null),
                ("emails", Value::Null),
                ("externalIdentifiers", Value::Null),
                ("websites", Value::Null),
                ("outputs_count", Value::Null),
            ])
        });
        let last_known = self.references(Entity::Institutions, &dump["last_known_institutions"]);
        object([
            ("id", id),
            ("orcid", orcid),
            ("name", text(&dump["display_name"])),
            ("full_name", either(text(&dump["full_name"]), || text(&dump["longest_name"]))),
            ("outputs_count", count(&dump["works_count"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            (
                "last_known_institutions",
                either(last_known, || {
                    one_item(self.reference(Entity::Institutions, &dump["last_known_institution"]))
                }),
            ),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
            (
                "affiliations",
                objects(&dump["affiliations"], |affiliation| {
                    let (id, name) =
                        self.id_and_name(Entity::Institutions, &affiliation["institution"]);
                    let years = list(&affiliation["years"], year);
                    object([("id", id), ("name", name), ("years", years)])
                }),
            ),
            ("summary_stats", summary_stats(dump)),
            ("topics", self.shared_topics(dump)),
            ("counts_by_year", counts_by_year(dump)),
            ("display_name_alternatives", texts(&dump["display_name_alternatives"])),
        ])
    }

    fn source(&self, number: u64, id: Value, dump: &Value) -> Value {
        object([
            ("id", id),
            ("issn_l", text(&dump["issn_l"])),
            ("issn", texts(&dump["issn"])),
            ("name", text(&dump["display_name"])),
            (
                "host_organization_name",
                either(text(&dump["host_organization_name"]), || {
                    self.host_name(&dump["host_organization"])
                }),
            ),
            ("outputs_count", count(&dump["works_count"])),
            ("oa_outputs_count", count(&dump["oa_works_count"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            ("summary_stats", summary_stats(dump)),
            ("is_oa", flag(&dump["is_oa"])),
            ("is_in_doaj", flag(&dump["is_in_doaj"])),
            ("is_high_oa_rate", flag(&dump["is_high_oa_rate"])),
            ("is_in_scielo", flag(&dump["is_in_scielo"])),
            ("is_ojs", flag(&dump["is_ojs"])),
            ("is_preprint_repository", flag(&dump["is_preprint_repository"])),
            ("is_core", flag(&dump["is_core"])),
            ("is_in_doaj_since_year", year(&dump["is_in_doaj_since_year"])),
            ("is_high_oa_rate_since_year", year(&dump["is_high_oa_rate_since_year"])),
            ("oa_flip_year", year(&dump["oa_flip_year"])),
            ("first_publication_year", year(&dump["first_publication_year"])),
            ("last_publication_year", year(&dump["last_publication_year"])),
            ("homepage_url", text(&dump["homepage_url"])),
            (
                "apc_prices",
                objects(&dump["apc_prices"], |price| {
                    object([
                        ("price", count(&price["price"])),
                        ("currency", text(&price["currency"])),
                    ])
                }),
            ),
            ("apc_usd", count(&dump["apc_usd"])),
            ("apc_usd_by_year", prices_by_year(&dump["apc_usd_by_year"])),
            ("country", coded(&dump["country_code"])),
            (
                "societies",
                objects(&dump["societies"], |society| {
                    object([
                        ("url", text(&society["url"])),
                        ("organization", text(&society["organization"])),
                    ])
                }),
            ),
            ("alternate_titles", texts(&dump["alternate_titles"])),
            ("type", text(&dump["type"])),
            ("counts_by_year", counts_by_year(dump)),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
            (
                "ids",
                object([
                    ("mag", id_text(&dump["ids"]["mag"])),
                    ("openalex", record_url(Entity::Sources, number)),
                ]),
            ),
            ("topics", self.shared_topics(dump)),
            ("metrics", Value::Null),
            ("doaj", Value::Null),
        ])
    }

    fn host_name(&self, host: &Value) -> Value {
        [Entity::Publishers, Entity::Institutions]
            .into_iter()
            .filter_map(|entity| {
                let number = self.records.target(entity, host)?;
                self.records.by_id.get(&(entity, number))
            })
            .map(|record| text(&record.object["display_name"]))
            .next()
            .unwrap_or(Value::Null)
    }

    fn institution(&self, number: u64, id: Value, dump: &Value) -> Value {
        object([
            ("id", id),
            ("ror", text(&dump["ror"])),
            ("name", text(&dump["display_name"])),
            ("country", coded(&dump["country_code"])),
            ("type", text(&dump["type"])),
            ("homepage_url", text(&dump["homepage_url"])),
            ("image_url", text(&dump["image_url"])),
            ("image_thumbnail_url", text(&dump["image_thumbnail_url"])),
            ("display_name_acronyms", texts(&dump["display_name_acronyms"])),
            ("display_name_alternatives", texts(&dump["display_name_alternatives"])),
            ("repositories", self.references(Entity::Sources, &dump["repositories"])),
            ("outputs_count", count(&dump["works_count"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            ("summary_stats", summary_stats(dump)),
            (
                "associated_institutions",
                objects(&dump["associated_institutions"], |associated| {
                    let (id, name) = self.id_and_name(Entity::Institutions, associated);
                    let relationship = text(&associated["relationship"]);
                    object([("id", id), ("name", name), ("relationship", relationship)])
                }),
            ),
            ("counts_by_year", counts_by_year(dump)),
            ("roles", self.roles(dump)),
            (
                "geo",
                object_or_null(&dump["geo"], |geo| {
                    object([
                        ("city", text(&geo["city"])),
                        ("geonames_city_id", text(&geo["geonames_city_id"])),
                        ("region", text(&geo["region"])),
                        ("country_code", text(&geo["country_code"])),
                        ("country", text(&geo["country"])),
                        ("latitude", fraction(&geo["latitude"])),
                        ("longitude", fraction(&geo["longitude"])),
                    ])
                }),
            ),
            (
                "international",
                object_or_null(&dump["international"], |international| {
                    let names = object_or_null(&international["display_name"], names_by_language);
                    object([("display_name", names)])
                }),
            ),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
            (
                "ids",
                object([
                    ("grid", id_text(&dump["ids"]["grid"])),
                    ("wikipedia", id_text(&dump["ids"]["wikipedia"])),
                    ("openalex", record_url(Entity::Institutions, number)),
                ]),
            ),
            ("topics", self.shared_topics(dump)),
        ])
    }

    fn publisher(&self, number: u64, id: Value, dump: &Value) -> Value {
        object([
            ("id", id),
            ("name", text(&dump["display_name"])),
            ("alternate_titles", texts(&dump["alternate_titles"])),
            ("hierarchy_level", count(&dump["hierarchy_level"])),
            ("parent_publisher", self.reference(Entity::Publishers, &dump["parent_publisher"])),
            ("lineage", list(&dump["lineage"], |given| self.ancestor(given, dump))),
            ("countries", list(&dump["country_codes"], coded)),
            ("homepage_url", text(&dump["homepage_url"])),
            ("image_url", text(&dump["image_url"])),
            ("image_thumbnail_url", text(&dump["image_thumbnail_url"])),
            ("outputs_count", count(&dump["works_count"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            ("summary_stats", summary_stats(dump)),
            (
                "ids",
                object([
                    ("openalex", record_url(Entity::Publishers, number)),
                    ("ror", id_text(&dump["ids"]["ror"])),
                    ("wikidata", id_text(&dump["ids"]["wikidata"])),
                ]),
            ),
            ("counts_by_year", counts_by_year(dump)),
            ("roles", self.roles(dump)),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
        ])
    }

    fn funder(&self, number: u64, id: Value, dump: &Value) -> Value {
        object([
            ("id", id),
            ("name", text(&dump["display_name"])),
            ("alternate_titles", texts(&dump["alternate_titles"])),
            ("country", coded(&dump["country_code"])),
            ("description", text(&dump["description"])),
            ("homepage_url", text(&dump["homepage_url"])),
            ("image_url", text(&dump["image_url"])),
            ("image_thumbnail_url", text(&dump["image_thumbnail_url"])),
            ("grants_count", count(&dump["grants_count"])),
            ("awards_count", count(&dump["awards_count"])),
            ("outputs_count", count(&dump["works_count"])),
            ("cited_by_count", count(&dump["cited_by_count"])),
            ("summary_stats", summary_stats(dump)),
            ("roles", self.roles(dump)),
            (
                "ids",
                object([
                    ("doi", id_text(&dump["ids"]["doi"])),
                    ("ror", id_text(&dump["ids"]["ror"])),
                    ("openalex", record_url(Entity::Funders, number)),
                    ("crossref", id_text(&dump["ids"]["crossref"])),
                ]),
            ),
            ("counts_by_year", counts_by_year(dump)),
            ("updated_date", timestamp(&dump["updated_date"])),
            ("created_date", timestamp(&dump["created_date"])),
        ])
    }

    fn roles(&self, dump: &Value) -> Value {
        objects(&dump["roles"], |role| {
            let found = [Entity::Institutions, Entity::Publishers, Entity::Funders]
                .into_iter()
                .find(|entity| entity.number(&role["id"]).is_some());
            let id = found.map_or(Value::Null, |entity| self.id_and_name(entity, &role["id"]).0);
            object([
                ("role", text(&role["role"])),
                ("id", id),
                ("outputs_count", count(&role["works_count"])),
            ])
        })
    }

    /// Topics with their own count and with the share of the same id in `topic_share`.
    fn shared_topics(&self, dump: &Value) -> Value {
        objects(&dump["topics"], |topic| {
            let (id, name) = self.id_and_name(Entity::Topics, topic);
            let number_of = |topic: &Value| Entity::Topics.number(&topic["id"]);
            let shares = dump["topic_share"].as_array();
            let share = shares
                .into_iter()
                .flatten()
                .find(|share| number_of(share).is_some() && number_of(share) == number_of(topic));
            object([
                ("id", id),
                ("name", name),
                ("count", count(&topic["count"])),
                ("share", share.map_or(Value::Null, |share| fraction(&share["value"]))),
            ])
        })
    }

    /// Writes {id, name} for an object or a plain id; `null` for anything else.
    pub(crate) fn reference(&self, entity: Entity, given: &Value) -> Value {
        match given {
            Value::Object(_) | Value::String(_) | Value::Number(_) => {
                let (id, name) = self.id_and_name(entity, given);
                object([("id", id), ("name", name)])
            }
            _ => Value::Null,
        }
    }

    pub(crate) fn references(&self, entity: Entity, given: &Value) -> Value {
        list(given, |given| self.reference(entity, given))
    }

    /// A publisher in a lineage; the parent's name is in `parent_publisher`.
    fn ancestor(&self, given: &Value, dump: &Value) -> Value {
        let parent = &dump["parent_publisher"];
        let number = |of| self.records.target(Entity::Publishers, of);
        let is_parent = number(given).is_some() && number(given) == number(parent);
        self.reference(Entity::Publishers, if is_parent { parent } else { given })
    }

    /// An institution in a lineage; `associated_institutions` may have its name.
    fn ancestor_of_institution(&self, given: &Value, dump: &Value) -> Value {
        let number = Entity::Institutions.number(given);
        let mut associated = dump["associated_institutions"].as_array().into_iter().flatten();
        let named = associated.find(|named| Entity::Institutions.number(&named["id"]) == number);
        match number {
            Some(_) => self.reference(Entity::Institutions, named.unwrap_or(given)),
            None => Value::Null,
        }
    }

    pub(crate) fn id_and_name(&self, entity: Entity, given: &Value) -> (Value, Value) {
        let own_name = text(&given["display_name"]);
        let Some(number) = self.records.target(entity, given) else {
            return (Value::Null, own_name);
        };
        let name = match self.records.by_id.get(&(entity, number)) {
            Some(record) => text(&record.object["display_name"]),
            None => {
                self.dangling.set(self.dangling.get() + 1);
                own_name
            }
        };
        (entity.own_id(number), name)
    }
}

/// The first value unless it is `null`, else the second.
pub(crate) fn either(first: Value, second: impl FnOnce() -> Value) -> Value {
    if first.is_null() { second() } else { first }
}

/// A list of this one item; `null` if the item is.
pub(crate) fn one_item(item: Value) -> Value {
    match item {
        Value::Null => Value::Null,
        item => vec![item].into(),
    }
}

fn summary_stats(dump: &Value) -> Value {
    object_or_null(&dump["summary_stats"], |stats| {
        object([
            ("2yr_mean_citedness", fraction(&stats["2yr_mean_citedness"])),
            ("h_index", count(&stats["h_index"])),
            ("i10_index", count(&stats["i10_index"])),
        ])
    })
}

fn counts_by_year(dump: &Value) -> Value {
    objects(&dump["counts_by_year"], |counts| {
        object([
            ("year", year(&counts["year"])),
            ("outputs_count", count(&counts["works_count"])),
            ("oa_outputs_count", count(&counts["oa_works_count"])),
            ("cited_by_count", count(&counts["cited_by_count"])),
        ])
    })
}

/// Prices as a list of {year, price}, from such a list or from an object year → price.
fn prices_by_year(given: &Value) -> Value {
    match given {
        Value::Object(prices) => prices
            .iter()
            .map(|(of, price)| {
                object([("year", year(&of.as_str().into())), ("price", count(price))])
            })
            .collect(),
        list => objects(list, |price| {
            object([("year", year(&price["year"])), ("price", count(&price["price"]))])
        }),
    }
}

fn names_by_language(names: &Value) -> Value {
    let names = names.as_object().into_iter().flatten();
    Value::Object(names.map(|(language, name)| (language.replace('\0', ""), text(name))).collect())
}

fn record_url(entity: Entity, number: u64) -> Value {
    let letter = entity.letter().map(String::from).unwrap_or_default();
    format!("https://openalex.org/{letter}{number}").into()
}

/// These members of `ids`.
fn ids(dump: &Value, names: &[&'static str]) -> Value {
    object(names.iter().map(|name| (*name, id_text(&dump["ids"][*name]))))
}

/// The number in the URL of an author in Scopus.
fn scopus(given: &Value) -> Value {
    let Some(url) = words(given) else { return Value::Null };
    let number = url.split(['?', '&']).find_map(|part| part.strip_prefix("authorID="));
    number.unwrap_or(&url).into()
}

/// The last part of the path of a URL.
fn last_part(given: &Value) -> Value {
    match id_text(given) {
        Value::String(text) => text.rsplit('/').next().unwrap_or_default().into(),
        other => other,
    }
}

/// The numbers of concepts, which stand behind the `C` of their ids.
fn concepts(given: &Value) -> Value {
    objects(given, |concept| {
        let id = words(&concept["id"]).unwrap_or_default();
        let digits = id.rsplit('/').next().unwrap_or_default().trim_start_matches(['C', 'c']);
        digits.parse::<u64>().map_or(Value::Null, Value::from)
    })
}

/// The parts of the longest name as lines give them; null where they are its first and last word and those between.
fn name_parts(dump: &Value) -> Value {
    object_or_null(&dump["parsed_longest_name"], |parts| {
        let given: Vec<String> = ["first", "middle", "last", "suffix"]
            .iter()
            .map(|part| words(&parts[*part]).unwrap_or_default())
            .collect();
        let name = words(&dump["full_name"]).or_else(|| words(&dump["longest_name"]));
        let whole: Vec<String> =
            name.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let by_name = match &whole[..] {
            [] => [String::new(), String::new(), String::new()],
            [first] => [first.clone(), String::new(), String::new()],
            [first, middle @ .., last] => [first.clone(), middle.join(" "), last.clone()],
        };
        let is_same = given[3].is_empty()
            && given.iter().zip(&by_name).all(|(one, other)| fold(one) == fold(other));
        let named = ["first", "middle", "last", "suffix"].into_iter().zip(given);
        object(named.map(|(name, part)| {
            let is_known = !(is_same && !whole.is_empty() || part.is_empty());
            (name, if is_known { part.into() } else { Value::Null })
        }))
    })
}
