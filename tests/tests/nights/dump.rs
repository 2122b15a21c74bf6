//! A dump that changes from night to night, at random.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use pinakes_generate::{Entity, Plan, record};
use pinakes_tests::compiler_run::gzip;
use pinakes_tests::values::pick;
use pinakes_tests::{SeededRng, write_files};
use serde_json::{Value, json};

/// Folders of the entities whose records change.
pub const WORKS: &str = "works";
pub const AUTHORS: &str = "authors";
pub const SOURCES: &str = "sources";
const INSTITUTIONS: &str = "institutions";
const TOPICS: &str = "topics";
/// Words of new names. Some share prefixes, and one is of a script without spaces.
const WORDS: [&str; 8] =
    ["alpha", "alphabet", "beta", "graph", "graphs", "théorie", "東京大学", "Zeta"];
/// Codes of types and languages, some of which no record has at first.
const CODES: [&str; 6] = ["article", "aa", "zz", "book", "mm", "journal"];
/// Words of new abstracts: several forms of one stem, compounds, and stems that differ by language.
const ABSTRACT_WORDS: [&str; 16] = [
    "Graph",
    "graphs,",
    "graphed",
    "graphing",
    "study",
    "studies",
    "Studien",
    "études",
    "COVID-19",
    "covid19",
    "l'état",
    "α-synuclein",
    "the",
    "of",
    "学习方法",
    "<i>in vitro</i>",
];
const LANGUAGES: [&str; 5] = ["en", "de", "fr", "tr", "zh"];

/// A kind of change.
type Change = fn(&mut Dump, &mut SeededRng);

/// Every kind of change, with its name in messages.
pub const CHANGES: [(&str, Change); 21] = [
    ("citations", |dump, rng| {
        let count = json!(rng.below(3_000));
        dump.pick(WORKS, rng)["cited_by_count"] = count;
    }),
    ("title", |dump, rng| {
        let title = json!(name(rng));
        let work = dump.pick(WORKS, rng);
        work["display_name"] = title.clone();
        work["title"] = title;
    }),
    ("another title than the name", |dump, rng| {
        let title = json!(name(rng));
        dump.pick(WORKS, rng)["title"] = title;
    }),
    ("abstract", |dump, rng| {
        let text = abstract_index(rng);
        dump.pick(WORKS, rng)["abstract_inverted_index"] = text;
    }),
    ("language", |dump, rng| {
        let code = if rng.below(4) == 0 { Value::Null } else { json!(pick(rng, &LANGUAGES)) };
        dump.pick(WORKS, rng)["language"] = code;
    }),
    ("volume and pages", |dump, rng| {
        let biblio = json!({"volume": rng.below(9).to_string(), "first_page": "271-280"});
        dump.pick(WORKS, rng)["biblio"] = biblio;
    }),
    ("year and type", |dump, rng| {
        let (year, kind) = (json!(1_990 + rng.below(40)), json!(pick(rng, &CODES)));
        let work = dump.pick(WORKS, rng);
        work["publication_year"] = year;
        work["type"] = kind;
    }),
    ("references", |dump, rng| {
        let cited: Vec<Value> =
            (0..rng.below(6)).map(|_| dump.pick(WORKS, rng)["id"].clone()).collect();
        dump.pick(WORKS, rng)["referenced_works"] = Value::Array(cited);
    }),
    ("author of a work", |dump, rng| {
        let author = dump.pick(AUTHORS, rng)["id"].clone();
        let author = json!({"id": author, "display_name": name(rng)});
        dump.set_author(author, rng);
    }),
    ("author without a record", |dump, rng| {
        let id = format!("https://openalex.org/A59999990{}", rng.below(4));
        let id = if rng.below(2) == 0 { Value::Null } else { json!(id) };
        dump.set_author(json!({"id": id, "display_name": name(rng)}), rng);
    }),
    ("remove a record", |dump, rng| {
        let folder = *pick(rng, &[WORKS, AUTHORS, SOURCES]);
        let id = dump.pick(folder, rng)["id"].to_string();
        let record = dump.records.get_mut(folder).unwrap().remove(&id).unwrap();
        dump.removed.push((folder, record));
    }),
    ("add a record", |dump, rng| {
        if dump.removed.is_empty() {
            return;
        }
        let at = rng.below(dump.removed.len());
        let (folder, record) = dump.removed.swap_remove(at);
        dump.records.get_mut(folder).unwrap().insert(record["id"].to_string(), record);
    }),
    ("rename", |dump, rng| {
        let folder = *pick(rng, &[AUTHORS, SOURCES, INSTITUTIONS, TOPICS]);
        let name = json!(name(rng));
        dump.pick(folder, rng)["display_name"] = name;
    }),
    ("counts of a record referred to", |dump, rng| {
        let folder = *pick(rng, &[AUTHORS, SOURCES, INSTITUTIONS]);
        let count = json!(rng.below(5_000));
        let record = dump.pick(folder, rng);
        record["cited_by_count"] = count.clone();
        record["works_count"] = count;
    }),
    ("alternative names", |dump, rng| {
        let names = json!([name(rng), name(rng)]);
        dump.pick(AUTHORS, rng)["display_name_alternatives"] = names;
    }),
    ("type of a source", |dump, rng| {
        let kind = json!(pick(rng, &CODES));
        dump.pick(SOURCES, rng)["type"] = kind;
    }),
    ("move a topic", |dump, rng| {
        let other = dump.pick(TOPICS, rng).clone();
        let topic = dump.pick(TOPICS, rng);
        for member in ["subfield", "field", "domain"] {
            topic[member] = other[member].clone();
        }
    }),
    ("ROR ids", |dump, rng| {
        let other = dump.pick(INSTITUTIONS, rng)["ror"].clone();
        dump.pick(INSTITUTIONS, rng)["ror"] = other;
    }),
    ("merge", |dump, rng| {
        let folder = *pick(rng, &[WORKS, AUTHORS, SOURCES]);
        let ids = [0; 2].map(|_| dump.pick(folder, rng)["id"].as_str().unwrap().to_owned());
        if ids[0] != ids[1] {
            dump.merges.insert((folder, ids[0].clone()), ids[1].clone());
        }
    }),
    ("undo a merge", |dump, _| _ = dump.merges.pop_first()),
    ("delete", |dump, rng| {
        let id = dump.pick(WORKS, rng)["id"].as_str().unwrap().to_owned();
        dump.deleted.insert(id);
    }),
];

/// Records by folder and id, merges, deletions and a side table.
#[derive(Clone)]
pub struct Dump {
    records: BTreeMap<&'static str, BTreeMap<String, Value>>,
    removed: Vec<(&'static str, Value)>,
    pub merges: BTreeMap<(&'static str, String), String>,
    deleted: BTreeSet<String>,
    pub has_side_table: bool,
    touched: u32,
}

fn name(rng: &mut SeededRng) -> String {
    let words: Vec<&str> = (0..1 + rng.below(3)).map(|_| *pick(rng, &WORDS)).collect();
    words.join(" ")
}

/// A text of up to 40 words as an inverted index; null now and then. Some words are of this abstract alone.
fn abstract_index(rng: &mut SeededRng) -> Value {
    if rng.below(5) == 0 {
        return Value::Null;
    }
    let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for position in 0..1 + rng.below(40) {
        let word = match rng.below(8) {
            0 => format!("word{}", rng.below(1_000_000)),
            _ => (*pick(rng, &ABSTRACT_WORDS)).to_owned(),
        };
        words.entry(word).or_default().push(position);
    }
    json!(words)
}

impl Dump {
    pub fn new(outputs: u64, seed: u64) -> Dump {
        let plan = Plan::new(outputs, seed);
        let mut records: BTreeMap<&'static str, BTreeMap<String, Value>> = BTreeMap::new();
        for entity in Entity::ALL {
            let of_entity = records.entry(entity.folder()).or_default();
            for ordinal in 0..plan.count(entity) {
                let mut line = Vec::new();
                record(&plan, entity, ordinal, &mut line);
                let record: Value = serde_json::from_slice(&line).unwrap();
                of_entity.insert(record["id"].to_string(), record);
            }
        }
        Dump {
            records,
            removed: Vec::new(),
            merges: BTreeMap::new(),
            deleted: BTreeSet::new(),
            has_side_table: false,
            touched: 0,
        }
    }

    /// The records of a folder, ascending by id.
    pub fn all(&mut self, folder: &str) -> Vec<&mut Value> {
        self.records.get_mut(folder).unwrap().values_mut().collect()
    }

    /// Removes records of a folder.
    pub fn remove(&mut self, folder: &str, ids: &[String]) {
        let records = self.records.get_mut(folder).unwrap();
        ids.iter().for_each(|id| _ = records.remove(id));
    }

    /// Picks a record of a folder.
    fn pick(&mut self, folder: &str, rng: &mut SeededRng) -> &mut Value {
        let of_folder = self.records.get_mut(folder).unwrap();
        let at = rng.below(of_folder.len());
        of_folder.values_mut().nth(at).unwrap()
    }

    fn set_author(&mut self, author: Value, rng: &mut SeededRng) {
        let work = self.pick(WORKS, rng);
        if let Some(first) = work["authorships"].as_array_mut().and_then(|all| all.first_mut()) {
            first["author"] = author;
        }
    }

    /// Changes a work, so that two nights always differ.
    pub fn touch(&mut self) {
        self.touched += 1;
        let work = self.records.get_mut(WORKS).unwrap().values_mut().next().unwrap();
        work["fwci"] = json!(self.touched);
    }

    /// Changes every second work, so that a link from scratch is the better plan.
    pub fn change_most(&mut self) {
        for work in self.records.get_mut(WORKS).unwrap().values_mut().step_by(2) {
            let count = work["cited_by_count"].as_u64().unwrap_or_default();
            work["cited_by_count"] = json!(count + 1);
        }
    }

    /// Writes the dump, with four parts for each entity.
    pub fn write(&self, to: &Path) {
        let _ = fs::remove_dir_all(to);
        let mut files = Vec::new();
        for (folder, records) in &self.records {
            let records: Vec<&Value> = records.values().collect();
            for (number, part) in records.chunks(records.len().div_ceil(4).max(1)).enumerate() {
                let path =
                    format!("data/jsonl/{folder}/updated_date=2026-01-01/part_{number:04}.gz");
                let lines: String = part.iter().map(|record| format!("{record}\n")).collect();
                files.push((path, gzip(lines.as_bytes())));
            }
        }
        let number = |id: &str| id.rsplit('/').next().unwrap().to_owned();
        let mut merges: BTreeMap<&str, String> = BTreeMap::new();
        for ((folder, from), to) in &self.merges {
            let line = format!("2026-12-01,{},{}\n", number(from), number(to));
            merges.entry(folder).or_default().push_str(&line);
        }
        for (folder, lines) in merges {
            let text = format!("merge_date,id,merge_into_id\n{lines}");
            let path = format!("data/merged_ids/{folder}/2026-12-01.csv");
            files.push((path, text.into_bytes()));
        }
        if !self.deleted.is_empty() {
            let lines: String =
                self.deleted.iter().map(|id| format!("{},2026-12-01\n", number(id))).collect();
            let text = format!("work_id,deleted_date\n{lines}");
            let path = "data/jsonl/works/deleted_ids.csv".to_owned();
            files.push((path, text.into_bytes()));
        }
        if self.has_side_table {
            files.push(("doaj.csv".to_owned(), self.side_table().into_bytes()));
        }
        write_files(to, files);
    }

    /// A list of the journals that have an ISSN.
    fn side_table(&self) -> String {
        let mut text = concat!(
            "Journal title,Journal URL,URL in DOAJ,Journal ISSN (print version),",
            "Journal EISSN (online version),",
            "When did the journal start to publish all content using an open license?\n",
        )
        .to_owned();
        for source in self.records[SOURCES].values().take(40) {
            if let Some(issn) = source["issn_l"].as_str() {
                text.push_str(&format!("Journal,https://j.example,,{issn},,2015\n"));
            }
        }
        text
    }
}
