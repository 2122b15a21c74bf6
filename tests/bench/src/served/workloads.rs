//! The requests of the benchmark: random paths of one kind each, from the contents of a snapshot.

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::text::fold::fold;

use crate::Result;

/// Requests of one kind.
pub struct Workload {
    pub name: &'static str,
    pub paths: Vec<String>,
}

/// Records in a page.
const PER_PAGE: u32 = 25;

/// A sequence of numbers that depends on nothing but its seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The remainder is below a number of 32 bits.
        ((mixed ^ (mixed >> 31)) % u64::from(end.max(1))) as u32
    }
}

/// Makes `count` requests of each kind.
pub fn all(snapshot: &Snapshot, count: usize) -> Result<Vec<Workload>> {
    let outputs = snapshot.count(Entity::Output);
    if outputs < 2 * PER_PAGE {
        return Err("the snapshot has too few outputs".into());
    }
    let mut numbers = Numbers(7);
    let mut workload = |name, path: &mut dyn FnMut(&mut Numbers) -> Result<String>| {
        let paths: Result<Vec<String>> = (0..count).map(|_| path(&mut numbers)).collect();
        paths.map(|paths| Workload { name, paths })
    };
    // About seven in ten generated outputs are articles, and each year has a few hundred pages of them.
    let article_pages = outputs / PER_PAGE / 2;
    let year_pages = (outputs / PER_PAGE / 80).clamp(1, 20);
    Ok(vec![
        workload("record", &mut |numbers| record(snapshot, numbers.below(outputs)))?,
        workload("list of two filters", &mut |numbers| {
            let (year, page) = (2_005 + numbers.below(18), 1 + numbers.below(year_pages));
            Ok(format!("/outputs?filter=year:{year},type:article&per_page={PER_PAGE}&page={page}"))
        })?,
        workload("page in rank order", &mut |numbers| {
            let page = 1 + numbers.below(outputs / PER_PAGE);
            Ok(format!("/outputs?per_page={PER_PAGE}&page={page}"))
        })?,
        workload("deep page of a filter", &mut |numbers| {
            let page = 1 + numbers.below(article_pages);
            Ok(format!("/outputs?filter=type:article&per_page={PER_PAGE}&page={page}"))
        })?,
        workload("filter, two sort keys", &mut |numbers| {
            let page = 1 + numbers.below(article_pages);
            Ok(format!(
                "/outputs?filter=type:article&sort=year:desc,fwci:desc&per_page={PER_PAGE}&page={page}"
            ))
        })?,
        workload("autocomplete, one word", &mut |numbers| words(snapshot, numbers, 1))?,
        workload("autocomplete, two words", &mut |numbers| words(snapshot, numbers, 2))?,
        workload("autocomplete, three words", &mut |numbers| words(snapshot, numbers, 3))?,
    ])
}

/// Makes `count` requests for random records.
pub fn records(snapshot: &Snapshot, count: usize) -> Result<Workload> {
    let (mut numbers, outputs) = (Numbers(7), snapshot.count(Entity::Output));
    let paths: Result<Vec<String>> =
        (0..count).map(|_| record(snapshot, numbers.below(outputs))).collect();
    Ok(Workload { name: "record", paths: paths? })
}

/// Makes `count` requests for records by Zipf's law: the output of rank N is asked for 1/N as often as the first.
pub fn popular_records(snapshot: &Snapshot, count: usize) -> Result<Workload> {
    let (mut numbers, outputs) = (Numbers(49), snapshot.count(Entity::Output));
    let paths = (0..count).map(|_| {
        let share = f64::from(numbers.below(u32::MAX)) / f64::from(u32::MAX);
        // The share of the requests for the first N is about ln(N) / ln(outputs).
        let rank = (f64::from(outputs) + 1.0).powf(share) as u32;
        record(snapshot, rank.clamp(1, outputs) - 1)
    });
    Ok(Workload { name: "record by popularity", paths: paths.collect::<Result<_>>()? })
}

/// Makes the requests for the first page of each of some years.
pub fn years(from: u32, count: u32) -> Workload {
    let path = |year| format!("/outputs?filter=year:{year}&per_page={PER_PAGE}");
    Workload { name: "page of one filter", paths: (from..from + count).map(path).collect() }
}

/// Makes the requests for the first pages of a filter by two sort keys.
pub fn first_pages(count: u32) -> Workload {
    let path = |page| {
        format!(
            "/outputs?filter=type:article&sort=year:desc,fwci:desc&per_page={PER_PAGE}&page={page}"
        )
    };
    Workload { name: "the same, first pages", paths: (1..=count).map(path).collect() }
}

/// The path of the output in a row.
fn record(snapshot: &Snapshot, row: u32) -> Result<String> {
    let mut path = b"/outputs/".to_vec();
    Entity::Output.write_id(snapshot.row_id(Entity::Output, row)?, &mut path);
    Ok(String::from_utf8(path)?)
}

/// Asks for an author by the beginnings of as many words of a name: three to five letters of each.
fn words(snapshot: &Snapshot, numbers: &mut Numbers, count: usize) -> Result<String> {
    let authors = snapshot.count(Entity::Author);
    for _ in 0..10_000 {
        let Some(name) = snapshot.name(Entity::Author, numbers.below(authors))? else { continue };
        let folded = fold(name);
        let words: Vec<&str> = folded
            .split(' ')
            .filter(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
            .take(count)
            .collect();
        if words.len() == count {
            let mut begin =
                |word: &&str| word[..word.len().min(3 + numbers.below(3) as usize)].to_owned();
            let words: Vec<String> = words.iter().map(&mut begin).collect();
            return Ok(format!("/autocomplete/authors?query={}", words.join("+")));
        }
    }
    // Lean dumps have authors of two words.
    Err(format!("no author has a name of {count} words").into())
}
