//! Measures matching: citations with and without mistakes, citations of works that are left out, affiliations and journals.
//!
//! ```text
//! right and sure   a sure record is the right one, of all texts
//! sure             any record is sure; of a work that is left out, each one is wrong
//! ```

mod organisations;
mod styles;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use pinakes_format::entity::Entity;
use pinakes_format::matching::{Question, find_matches};
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;
use serde_json::Value;

use crate::matching::styles::{Work, abbreviated, citations};
use crate::search::clock::micros_of;
use crate::{Result, build, dump::number};

/// Every tenth work is cited.
const EACH: usize = 10;

/// A text, and the number of the right record; `None` if the snapshot lacks the record.
struct Text {
    kind: String,
    text: String,
    right: Option<u64>,
}

/// Decisions about the texts of one kind.
#[derive(Default)]
struct Counts {
    texts: u32,
    sure: u32,
    right: u32,
    micros: f64,
}

/// Compiles the dumps and prints the table.
pub fn run(data: &Path, works: &Path, ror: &[PathBuf], dir: &Path, memory: &str) -> Result<()> {
    fs::create_dir_all(dir)?;
    println!(
        "{:<26} {:>7} {:>15} {:>7} {:>13} {:>8}",
        "texts", "number", "right and sure", "sure", "of sure right", "µs each"
    );
    let all = read_works(works)?;
    let snapshot = compile(works, dir, memory)?;
    let known = fs::read_to_string(data.join("known-items.tsv"))?;
    let known = known.lines().filter_map(|line| {
        let [kind, text, id] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        ["apa", "vancouver", "mla"].contains(&kind).then(|| Text {
            kind: format!("known {kind}"),
            text: text.to_owned(),
            right: Some(number(id).cast_unsigned()),
        })
    });
    print(&snapshot, Entity::Output, known)?;
    let cited = all.iter().filter(|(_, work)| work.is_citable()).step_by(EACH);
    print(&snapshot, Entity::Output, cited.flat_map(|(_, work)| texts_of(work, "", true)))?;
    print(&snapshot, Entity::Source, journals_of(&snapshot)?.into_iter())?;
    // Every second work is left out, and cited.
    let half = dir.join("match-half");
    fs::create_dir_all(half.join("works"))?;
    let file = File::create(half.join("works/works.jsonl.gz"))?;
    let mut file = GzEncoder::new(file, Compression::fast());
    for (line, _) in all.iter().step_by(2) {
        writeln!(file, "{line}")?;
    }
    file.finish()?.sync_all()?;
    let snapshot = compile(&half, dir, memory)?;
    let absent = all.iter().skip(1).step_by(2).filter(|(_, work)| work.is_citable());
    let absent = absent.step_by(EACH / 2).flat_map(|(_, work)| texts_of(work, "absent ", false));
    print(&snapshot, Entity::Output, absent)?;
    if !ror.is_empty() {
        let (dump, ids) = organisations::write_dump(ror, &dir.join("match-ror"))?;
        let snapshot = compile(&dump, dir, memory)?;
        let affiliations = fs::read_to_string(data.join("affiliations.tsv"))?;
        let texts = organisations::texts(&affiliations, &ids);
        print(&snapshot, Entity::Institution, texts.into_iter())?;
    }
    Ok(())
}

/// The citations of a work in each style, and with mistakes.
fn texts_of(work: &Work, of: &str, is_there: bool) -> Vec<Text> {
    let right = is_there.then_some(work.id);
    let text = |(kind, text): (&str, String)| Text { kind: format!("{of}{kind}"), text, right };
    citations(work).into_iter().map(text).collect()
}

/// The names of the journals that have a record, and abbreviations of the names.
fn journals_of(snapshot: &Snapshot) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    for row in 0..snapshot.count(Entity::Source) {
        let Some(name) = snapshot.name(Entity::Source, row)? else { continue };
        let right = Some(snapshot.row_id(Entity::Source, row)?);
        for (kind, text) in
            [("journal", name.to_owned()), ("journal abbreviated", abbreviated(name))]
        {
            texts.push(Text { kind: kind.to_owned(), text, right });
        }
    }
    Ok(texts)
}

fn print(snapshot: &Snapshot, entity: Entity, texts: impl Iterator<Item = Text>) -> Result<()> {
    let mut kinds: BTreeMap<String, Counts> = BTreeMap::new();
    for Text { kind, text, right } in texts {
        let mut question = Question::new(entity);
        if question.set("text", &text).is_err() || question.check().is_err() {
            continue;
        }
        let counts = kinds.entry(kind).or_default();
        let mut sure = Vec::new();
        counts.micros += micros_of(|| {
            let found = find_matches(snapshot, &question, Deadline::NEVER)?;
            sure = found.into_iter().filter(|candidate| candidate.is_match).collect();
            Ok(())
        })?;
        counts.texts += 1;
        counts.sure += u32::from(!sure.is_empty());
        for candidate in sure {
            counts.right += u32::from(Some(snapshot.row_id(entity, candidate.row)?) == right);
        }
    }
    for (kind, Counts { texts, sure, right, micros }) in kinds {
        let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
        println!(
            "{kind:<26} {texts:>7} {:>15.3} {:>7.4} {:>13.3} {:>8.0}",
            share(right, texts),
            share(sure, texts),
            share(right, sure),
            micros / f64::from(texts)
        );
    }
    Ok(())
}

/// The newest lines of the works of a dump, and what citations state of them.
fn read_works(works: &Path) -> Result<Vec<(String, Work)>> {
    let mut found = BTreeMap::new();
    let mut parts: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(works.join("works"))? {
        parts.push(entry?.path());
    }
    parts.retain(|part| part.extension().is_some_and(|end| end == "gz"));
    parts.sort();
    for part in parts {
        let lines = BufReader::new(MultiGzDecoder::new(BufReader::new(File::open(part)?)));
        for line in lines.lines() {
            let line = line?;
            let value: Value = serde_json::from_str(&line)?;
            let work = Work::read(&value);
            found.insert(work.id, (line, work));
        }
    }
    Ok(found.into_values().collect())
}

/// Builds a snapshot and opens it.
fn compile(dump: &Path, dir: &Path, memory: &str) -> Result<Snapshot> {
    let snapshots = dir.join("match-snapshots");
    build::remove(&snapshots);
    build::compile(dump, &snapshots, memory, &dir.join("match.json"))?;
    // The files stay mapped after their names are gone.
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    build::remove(&snapshots);
    Ok(snapshot)
}
