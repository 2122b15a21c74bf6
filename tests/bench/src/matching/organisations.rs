//! Organisations of ROR as a dump of institutions, and affiliations that name them.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use serde_json::{Value, json};

use crate::Result;
use crate::matching::Text;

/// The number of each organisation in a dump, by ROR id.
pub type Numbers = BTreeMap<String, u64>;

/// Writes a dump of files of ROR in both schemas. Of equal ids the last counts; withdrawn records have another as successor, and are
/// left out.
pub fn write_dump(files: &[PathBuf], dump: &Path) -> Result<(PathBuf, Numbers)> {
    let mut found: BTreeMap<String, Value> = BTreeMap::new();
    for file in files {
        let lines = BufReader::new(MultiGzDecoder::new(BufReader::new(File::open(file)?)));
        for line in lines.lines() {
            let line: Value = serde_json::from_str(&line?)?;
            let id = line["id"].as_str().unwrap_or_default().to_owned();
            if line["status"] != "withdrawn" {
                found.insert(id, institution(&line));
            }
        }
    }
    let numbers: Numbers = found.keys().cloned().zip(1..).collect();
    fs::create_dir_all(dump.join("institutions"))?;
    let file = File::create(dump.join("institutions/institutions.jsonl.gz"))?;
    let mut file = GzEncoder::new(file, Compression::fast());
    let id = |ror: &Value| {
        let number = numbers.get(ror.as_str().unwrap_or_default())?;
        Some(Value::from(format!("https://openalex.org/I{number}")))
    };
    for (ror, mut institution) in found {
        institution["ror"] = ror.into();
        institution["id"] = id(&institution["ror"]).into();
        if let Some(related) = institution["associated_institutions"].as_array_mut() {
            related.retain_mut(|of| {
                of["id"] = id(&of["ror"]).into();
                !of["id"].is_null()
            });
        }
        writeln!(file, "{institution}")?;
    }
    file.finish()?.sync_all()?;
    Ok((dump.to_owned(), numbers))
}

/// An organisation as an institution without an id.
fn institution(line: &Value) -> Value {
    let (mut name, mut acronyms, mut others) = (Value::Null, Vec::new(), Vec::new());
    let names = |of: &str| line[of].as_array().cloned().unwrap_or_default();
    for of in names("names") {
        let is = |kind: &str| of["types"].as_array().is_some_and(|all| all.contains(&kind.into()));
        match () {
            () if is("ror_display") => name = of["value"].clone(),
            () if is("acronym") => acronyms.push(of["value"].clone()),
            () => others.push(of["value"].clone()),
        }
    }
    if name.is_null() {
        name = line["name"].clone();
        acronyms = names("acronyms");
        others = names("aliases");
        others.extend(names("labels").into_iter().map(|label| label["label"].clone()));
    }
    let place = &line["locations"][0]["geonames_details"];
    let (city, code) = match place.is_null() {
        true => (&line["addresses"][0]["city"], &line["country"]["country_code"]),
        false => (&place["name"], &place["country_code"]),
    };
    let related = names("relationships").into_iter().map(|of| {
        let relationship = of["type"].as_str().unwrap_or_default().to_lowercase();
        json!({ "ror": (of["id"]), "relationship": relationship })
    });
    let related: Vec<Value> = related.collect();
    json!({
        "associated_institutions": related,
        "display_name": name,
        "country_code": code,
        "display_name_acronyms": acronyms,
        "display_name_alternatives": others,
        "geo": { "city": city, "country_code": code },
        "updated_date": "2026-01-01",
    })
}

/// The affiliations of a file, with the number of the organisation that each names.
pub fn texts(affiliations: &str, numbers: &Numbers) -> Vec<Text> {
    let line = |line: &str| {
        let (text, ror) = line.split_once('\t')?;
        let right = numbers.get(ror).copied();
        Some(Text { kind: "affiliation".to_owned(), text: text.to_owned(), right })
    };
    affiliations.lines().filter_map(line).collect()
}
