//! Values of filter keys that follow from several members of a record, or from the records that it refers to.
//!
//! A value stands under the name of its key: `{"authors.count": 3, "country.continent": ["asia"]}`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::Entry;

/// Countries by continent, without those of few records.
#[rustfmt::skip]
const CONTINENTS: [(&str, &str); 7] = [
    ("africa", "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG ER ET GA GH GM GN GW KE LR LS LY MA MG ML MR MU MW MZ NA NE NG RE \
                RW SC SD SL SN SO SS SZ TD TG TN TZ UG ZA ZM ZW"),
    ("antarctica", "AQ"),
    ("asia", "AE AF AM AZ BD BH BN BT CN CY GE HK ID IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY NP OM \
              PH PK PS QA SA SG SY TH TJ TL TM TR TW UZ VN YE"),
    ("europe", "AD AL AT BA BE BG BY CH CZ DE DK EE ES FI FO FR GB GI GR HR HU IE IS IT LI LT LU LV MC MD ME MK MT NL NO \
                PL PT RO RS RU SE SI SK SM UA VA XK"),
    ("north-america", "AG AW BB BM BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MQ MX NI PA PR SV TT US VC"),
    ("oceania", "AU FJ FM GU KI MH NC NR NZ PF PG PW SB TO TV VU WS"),
    ("south-america", "AR BO BR CL CO EC FK GF GY PE PY SR UY VE"),
];
/// The countries of the Global South.
#[rustfmt::skip]
const SOUTH: &str = "AE AF AG AO AR BA BB BD BF BH BI BJ BN BO BR BS BT BW BZ CD CF CG CI CL CM CN CO CR CU CV DJ DM DO DZ \
    EC EG ER ET FJ FM GA GD GH GM GN GQ GT GW GY HN HT ID IN IQ IR JM JO KE KH KI KM KN KP KW LA LB LC LK LR LS LY MA MG MH \
    ML MM MN MR MU MV MW MY MZ NA NE NG NI NP NR OM PA PE PG PH PK PS PY QA RW SA SB SC SD SG SL SN SO SR SS ST SV SY SZ TD \
    TG TH TJ TL TM TN TO TT TZ UG UY VC VE VN VU WS YE ZA ZM ZW";

/// Gives each record the values that follow from others.
pub fn add(entities: &mut BTreeMap<&'static str, Vec<Entry>>) {
    let lineages: BTreeMap<String, Value> = entities["publishers"]
        .iter()
        .map(|of| {
            let lineage = list(&of.single["lineage"]).into_iter();
            (of.id.clone(), lineage.map(|of| of["id"].clone()).collect())
        })
        .collect();
    let countries: BTreeMap<String, Value> = entities["institutions"]
        .iter()
        .map(|of| (of.id.clone(), of.single["country"]["code"].clone()))
        .collect();
    for (route, entries) in entities {
        for entry in entries {
            let made = match *route {
                "outputs" => output(entry),
                "authors" => {
                    let known = list(&entry.single["last_known_institutions"]).into_iter();
                    let codes = known
                        .filter_map(|known| countries.get(known["id"].as_str()?).cloned())
                        .collect();
                    let mut made = of_countries("last_known_institutions", codes);
                    made.extend(parts_of_name(entry));
                    made
                }
                "sources" => {
                    let mut made =
                        of_countries("country", vec![entry.single["country"]["code"].clone()]);
                    let host = entry.unshown["host_organization"].as_str().unwrap_or_default();
                    // The lineage of an institution is the institution alone.
                    let lineage = match host.starts_with("HX_I") {
                        true => json!([host]),
                        false => lineages.get(host).cloned().unwrap_or_default(),
                    };
                    made.insert("host_organization.lineage".into(), lineage);
                    let has_issn = !list(&entry.single["issn"]).is_empty();
                    made.insert("has_issn".into(), has_issn.into());
                    made
                }
                "institutions" | "funders" => {
                    of_countries("country", vec![entry.single["country"]["code"].clone()])
                }
                "publishers" => {
                    let codes = list(&entry.single["countries"]).into_iter();
                    of_countries(
                        "countries",
                        codes.map(|country| country["code"].clone()).collect(),
                    )
                }
                _ => Map::new(),
            };
            entry.derived = made.into();
        }
    }
}

/// The parts of an author's longest name.
fn parts_of_name(entry: &Entry) -> Map<String, Value> {
    let given = &entry.unshown["name_parts"];
    if given.is_null() {
        return Map::new();
    }
    let name = entry.single["full_name"].as_str().unwrap_or_default();
    let whole: Vec<&str> = name.split_whitespace().collect();
    let members = ["first", "middle", "last", "suffix"];
    let by_name = match &whole[..] {
        _ if members.iter().any(|member| !given[*member].is_null()) => {
            members.iter().map(|member| given[*member].clone()).collect()
        }
        [] => Vec::new(),
        [first] => vec![json!(first)],
        [first, middle @ .., last] => vec![json!(first), json!(middle.join(" ")), json!(last)],
    };
    let named = members.into_iter().zip(by_name);
    named
        .filter(|(_, part)| !part.is_null() && *part != "")
        .map(|(name, part)| (format!("full_name.{name}"), part))
        .collect()
}

fn list(value: &Value) -> Vec<&Value> {
    value.as_array().into_iter().flatten().collect()
}

fn of_countries(path: &str, codes: Vec<Value>) -> Map<String, Value> {
    let codes: Vec<&str> = codes.iter().filter_map(Value::as_str).collect();
    let named = |names: &str, code: &str| names.split(' ').any(|known| known == code);
    let continents: BTreeSet<&str> = codes
        .iter()
        .flat_map(|code| CONTINENTS.iter().filter(|(_, of)| named(of, code)))
        .map(|(continent, _)| *continent)
        .collect();
    let is_south = codes.iter().any(|code| named(SOUTH, code));
    Map::from_iter([
        (format!("{path}.continent"), json!(continents)),
        (format!("{path}.is_global_south"), is_south.into()),
    ])
}

fn output(entry: &Entry) -> Map<String, Value> {
    let (single, unshown) = (&entry.single, &entry.unshown);
    let authors = list(&single["authors"]);
    let corresponding = || authors.iter().filter(|author| author["is_corresponding"] == true);
    let different = |member: &str, of: &[&str]| -> usize {
        let all = authors.iter().flat_map(|author| list(&author[member]));
        let texts: BTreeSet<String> =
            all.map(|item| of.iter().map(|name| item[*name].to_string()).collect()).collect();
        texts.len()
    };
    let primary = Some(&single["primary_venue"]).filter(|venue| !venue.is_null());
    let venues: Vec<&Value> =
        primary.into_iter().chain(list(&single["additional_venues"])).collect();
    let open: Vec<&Value> = venues.iter().filter(|venue| venue["is_oa"] == true).copied().collect();
    let best = match unshown["best_oa_venue"].as_u64() {
        Some(0) => single["primary_venue"].clone(),
        Some(at) => single["additional_venues"][at as usize - 1].clone(),
        None => Value::Null,
    };
    let best_unshown = match unshown["best_oa_venue"].as_u64() {
        Some(0) => &unshown["primary_venue"],
        Some(at) => &unshown["additional_venues"][at as usize - 1],
        None => &Value::Null,
    };
    let codes: Vec<Value> = authors
        .iter()
        .flat_map(|author| list(&author["countries"]))
        .map(|country| country["code"].clone())
        .collect();
    let versions: Vec<&Value> = open.iter().map(|venue| &venue["version"]).collect();
    let types: Vec<&Value> = open.iter().map(|venue| &venue["source"]["type"]).collect();
    let is_known = |count: usize, of: &Value| if of.is_null() { Value::Null } else { count.into() };
    let mut keywords: Vec<Value> = list(&single["keywords"]).into_iter().cloned().collect();
    keywords.extend(list(&unshown["keyword_ids"]).into_iter().cloned());
    let mut made = of_countries("authors.countries", codes);
    let more = json!({
        "keywords": keywords,
        "keywords.id": keywords,
        "authors.count": is_known(authors.len(), &single["authors"]),
        "authors.affiliations.count":
            is_known(different("affiliations", &["id", "name"]), &single["authors"]),
        "authors.countries.count": is_known(different("countries", &["code"]), &single["authors"]),
        "topics.count": is_known(list(&single["topics"]).len(), &single["topics"]),
        "corresponding_authors.id": corresponding().map(|author| &author["id"]).collect::<Vec<_>>(),
        "corresponding_institutions.id": corresponding()
            .flat_map(|author| list(&author["affiliations"]))
            .map(|institution| &institution["id"])
            .collect::<Vec<_>>(),
        "has_references": single["cites"].as_u64().is_some_and(|count| count > 0),
        "has_pdf_url": venues.iter().any(|venue| !venue["pdf_url"].is_null()),
        "has_raw_affiliation_strings":
            authors.iter().any(|author| !list(&author["raw_affiliation_strings"]).is_empty()),
        "open_venues.version": versions,
        "open_venues.source.type": types,
        "has_submitted_version": versions.iter().any(|version| **version == "submittedVersion"),
        "has_accepted_or_published_version": versions
            .iter()
            .any(|version| **version == "acceptedVersion" || **version == "publishedVersion"),
        "is_in_open_repository": types.iter().any(|of| **of == "repository"),
        "best_oa_venue.landing_page_url": best["landing_page_url"],
        "best_oa_venue.raw_type": best_unshown["raw_type"],
        "authors.raw_orcid": list(&unshown["raw_orcids"])
            .into_iter()
            .map(|printed| match &printed["orcid"] {
                Value::Null => &authors[printed["author"].as_u64().unwrap_or_default() as usize]["orcid"],
                own => own,
            })
            .collect::<Vec<_>>(),
        "best_oa_venue.source.id": best["source"]["id"],
        "best_oa_venue.source.type": best["source"]["type"],
        "best_oa_venue.license": best["license"],
        "best_oa_venue.version": best["version"],
        "best_oa_venue.is_oa": best["is_oa"],
        "best_oa_venue.is_accepted": best["is_accepted"],
        "best_oa_venue.is_published": best["is_published"],
    });
    if let Value::Object(more) = more {
        made.extend(more);
    }
    made
}
