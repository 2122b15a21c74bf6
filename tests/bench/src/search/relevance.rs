//! Relevance on judged collections and known items: nDCG@10, recall@100, and how often the right record comes first.
//!
//! A directory of data has folders with `works.jsonl.gz`, `queries.tsv` (number, text) and `qrels.tsv` (query, work, grade),
//! and `known-items.tsv` (kind, query, id) about other works.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use super::engine::Engine;
use crate::{Result, build, dump::number};

/// Aims: nDCG@10 and recall@100 of a collection.
const COLLECTIONS: [(&str, f64, f64); 2] = [("cranfield", 0.37, 0.731), ("cacm", 0.52, 0.691)];
/// Aims: the right record first and among ten, of all items.
const KNOWN_ITEMS: (f64, f64) = (0.95, 0.985);
/// Aim: the right record first, of each kind of item.
const OF_KIND: f64 = 0.85;

/// Compiles the collections and prints the measurements.
pub fn run(data: &Path, works: &Path, dir: &Path, memory: &str) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    println!(
        "{:<12} {:>8} {:>9} {:>6} {:>11} {:>6}",
        "collection", "queries", "nDCG@10", "aim", "recall@100", "aim"
    );
    for (name, ndcg_aim, recall_aim) in COLLECTIONS {
        let folder = data.join(name);
        let engine = compile(&folder.join("works.jsonl.gz"), dir, memory)?;
        let judgements = read_judgements(&folder.join("qrels.tsv"))?;
        let (mut ndcg, mut recall, mut queries) = (0.0, 0.0, 0.0);
        for (query, text) in read_queries(&folder.join("queries.tsv"))? {
            let Some(judged) = judgements.get(&query) else { continue };
            let ids = search(&engine, &text, 100)?;
            ndcg += ndcg_of(&ids, judged);
            let relevant = judged.values().filter(|grade| **grade > 0).count();
            let found = ids.iter().filter(|id| judged.get(*id).is_some_and(|grade| *grade > 0));
            recall += found.count() as f64 / relevant.max(1) as f64;
            queries += 1.0;
        }
        let (ndcg, recall) = (ndcg / queries, recall / queries);
        println!(
            "{name:<12} {queries:>8} {ndcg:>9.3} {ndcg_aim:>6.2} {recall:>11.3} {recall_aim:>6.3}{}",
            mark(ndcg >= ndcg_aim && recall >= recall_aim)
        );
    }
    print_known_items(&data.join("known-items.tsv"), &compile(works, dir, memory)?)
}

fn print_known_items(file: &Path, engine: &Engine) -> Result<()> {
    let mut kinds: BTreeMap<String, Ranks> = BTreeMap::new();
    let mut all = Ranks::default();
    for [kind, query, id] in read_rows(file)? {
        let id = number(&id).cast_unsigned();
        let ids = search(engine, &query, 10)?;
        let ranks = kinds.entry(kind).or_default();
        for ranks in [ranks, &mut all] {
            ranks.items += 1;
            ranks.first += u32::from(ids.first() == Some(&id));
            ranks.among_ten += u32::from(ids.contains(&id));
        }
    }
    println!(
        "\n{:<12} {:>6} {:>7} {:>6} {:>10} {:>6}",
        "known items", "items", "first", "aim", "among ten", "aim"
    );
    for (kind, ranks) in &kinds {
        ranks.print(kind, OF_KIND, None);
    }
    all.print("all", KNOWN_ITEMS.0, Some(KNOWN_ITEMS.1));
    Ok(())
}

/// Where the right records came.
#[derive(Default)]
struct Ranks {
    items: u32,
    first: u32,
    among_ten: u32,
}

impl Ranks {
    fn print(&self, kind: &str, first_aim: f64, ten_aim: Option<f64>) {
        let share = |count: u32| f64::from(count) / f64::from(self.items);
        let (first, among_ten) = (share(self.first), share(self.among_ten));
        println!(
            "{kind:<12} {:>6} {first:>7.3} {first_aim:>6.2} {among_ten:>10.3} {:>6}{}",
            self.items,
            ten_aim.map_or("–".into(), |aim| format!("{aim:.3}")),
            mark(first >= first_aim && ten_aim.is_none_or(|aim| among_ten >= aim))
        );
    }
}

fn mark(is_reached: bool) -> &'static str {
    if is_reached { "" } else { "  MISSED" }
}

/// Builds a snapshot of works and opens it.
fn compile(works: &Path, dir: &Path, memory: &str) -> Result<Engine> {
    let snapshots: PathBuf = dir.join("relevance-snapshots");
    build::remove(&snapshots);
    build::compile(works, &snapshots, memory, &dir.join("relevance.json"))?;
    // The files stay mapped after their names are gone.
    let engine = Engine::open(&snapshots.join("current").canonicalize()?)?;
    build::remove(&snapshots);
    Ok(engine)
}

/// The ids of the best outputs.
fn search(engine: &Engine, text: &str, best: u32) -> Result<Vec<u64>> {
    let found = engine.search(text, "", best)?;
    found.rows.into_iter().map(|row| engine.id(row)).collect()
}

/// nDCG@10 with gains of 2^grade - 1.
fn ndcg_of(ids: &[u64], judged: &HashMap<u64, u32>) -> f64 {
    let gain = |grade: u32| f64::from((1u32 << grade.min(16)) - 1);
    let sum = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(10).enumerate().map(|(at, gain)| gain / (at as f64 + 2.0).log2()).sum()
    };
    let found = sum(&mut ids.iter().map(|id| gain(judged.get(id).copied().unwrap_or(0))));
    let mut grades: Vec<u32> = judged.values().copied().collect();
    grades.sort_unstable_by(|a, b| b.cmp(a));
    found / sum(&mut grades.into_iter().map(gain)).max(f64::MIN_POSITIVE)
}

fn read_rows<const N: usize>(file: &Path) -> Result<Vec<[String; N]>> {
    let text = std::fs::read_to_string(file)?;
    let row = |line: &str| {
        let columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        columns.try_into().map_err(|_| format!("{}: `{line}`", file.display()).into())
    };
    text.lines().map(row).collect()
}

fn read_queries(file: &Path) -> Result<Vec<(String, String)>> {
    Ok(read_rows(file)?.into_iter().map(|[number, text]| (number, text)).collect())
}

/// By query: the grades of works.
fn read_judgements(file: &Path) -> Result<HashMap<String, HashMap<u64, u32>>> {
    let mut judgements: HashMap<String, HashMap<u64, u32>> = HashMap::new();
    for [query, work, grade] in read_rows(file)? {
        let work = number(&work).cast_unsigned();
        judgements.entry(query).or_default().insert(work, grade.parse()?);
    }
    Ok(judgements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_order_has_1_and_others_less() {
        let judged = HashMap::from([(1, 3), (2, 1), (3, 0)]);
        let of = |ids: &[u64]| ndcg_of(ids, &judged);
        assert!((of(&[1, 2, 9]) - 1.0).abs() < 1e-12);
        assert!((of(&[1]) - 7.0 / (7.0 + 1.0 / 3f64.log2())).abs() < 1e-12);
        assert!(of(&[2, 1]) < 1.0 && of(&[3, 9]) == 0.0);
    }
}
