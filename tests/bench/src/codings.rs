//! Measures the cost and the ratio of compressing replies by coding and level, next to the cost of rendering.

use std::{
    hint::black_box,
    path::Path,
    time::{Duration, Instant},
};

use http::{
    HeaderMap,
    header::{ACCEPT_ENCODING, IF_NONE_MATCH},
};
use pinakes_answer::parts::{AcceptedCodings, CODED_BYTES_MIN, encode_at, level};
use pinakes_answer::{Coding, SnapshotHeaders};
use pinakes_format::autocomplete::{Completion, ENTITIES, render};
use pinakes_format::entity::{CATALOG, Facts};
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::Deadline;
use pinakes_format::snapshot::Snapshot;

use crate::Result;

/// Records of each entity, evenly spaced.
const RECORDS: u32 = 100;
/// Rows in a page.
const PAGE_ROWS: u32 = 100;
/// Pages of each entity, evenly spaced.
const PAGES: u32 = 8;
/// Minimum duration of a measurement.
const MEASURE_TIME: Duration = Duration::from_millis(400);
/// Repetitions in a measurement of header parsing, and number of measurements.
const REPEATS: u32 = 200;
/// Ceiling of parsing both headers, in microseconds.
const CEILING_MICROS: f64 = 1_000.0;
/// Autocompletion queries.
const PREFIXES: [&str; 12] =
    ["a", "ma", "un", "learning", "ins", "che", "data", "s", "bio", "jo", "res", "can"];
/// The measured levels of each coding.
const LEVELS: [(Coding, &[u8]); 3] = [
    (Coding::Zstd, &[1, 2, 3, 4]),
    (Coding::Brotli, &[0, 1, 2, 3, 4]),
    (Coding::Gzip, &[1, 2, 3, 4, 6]),
];

/// A rendered body, and the closure that renders it.
struct Sample<'s> {
    body: Vec<u8>,
    render: Box<dyn Fn() -> Result<Vec<u8>> + 's>,
}

/// Measures replies of a snapshot and prints medians.
pub fn run(snapshots: &Path) -> Result<()> {
    let snapshot = Snapshot::open(&snapshots.join("current").canonicalize()?)?;
    let (mut records, mut pages) = (Vec::new(), Vec::new());
    for facts in CATALOG.iter().filter(|facts| facts.has_single) {
        let count = snapshot.count(facts.entity);
        for row in evenly_spaced(count, RECORDS) {
            records.push(rows(&snapshot, facts, row..row + 1, Shape::Single)?);
        }
        for row in evenly_spaced(count.saturating_sub(PAGE_ROWS), PAGES) {
            pages.push(rows(&snapshot, facts, row..row + PAGE_ROWS, Shape::List)?);
        }
    }
    let autocompletions = PREFIXES.map(|text| candidates(&snapshot, text));
    measure("records", records)?;
    measure("autocomplete", autocompletions.into_iter().collect::<Result<Vec<_>>>()?)?;
    measure(&format!("pages of {PAGE_ROWS} rows"), pages)?;
    measure_headers()
}

/// Prints the cost of parsing `Accept-Encoding` and `If-None-Match`.
fn measure_headers() -> Result<()> {
    let items = |item: &str, count: usize| vec![item; count].join(",");
    println!("\nparsing headers, ceiling {CEILING_MICROS:.0} µs");
    for (what, accepted, tags) in [
        ("neither", None, None),
        ("a browser's Accept-Encoding", Some("gzip, deflate, br, zstd".to_owned()), None),
        ("1,000 items", Some(items("zstd;q=0.001", 1_000)), None),
        ("1,000 items and 8 KB of tags", Some(items("*;q=0", 1_000)), Some(items("\"x\"", 2_048))),
    ] {
        let mut headers = HeaderMap::new();
        for (name, value) in [(ACCEPT_ENCODING, accepted), (IF_NONE_MATCH, tags)] {
            if let Some(value) = value {
                headers.insert(name, value.parse()?);
            }
        }
        let snapshot_headers = SnapshotHeaders::new("0123456789abcdef");
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let begun = Instant::now();
                for _ in 0..REPEATS {
                    black_box((
                        AcceptedCodings::from_headers(black_box(&headers)),
                        snapshot_headers.matching_coding(&headers),
                    ));
                }
                begun.elapsed().as_secs_f64() / f64::from(REPEATS) * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let mark = if median > CEILING_MICROS { " OVER" } else { "" };
        println!("  {what:<30} {median:>8.3} µs{mark}");
    }
    Ok(())
}

/// At most `most` of the numbers below `count`, evenly spaced.
fn evenly_spaced(count: u32, most: u32) -> impl Iterator<Item = u32> {
    (0..count).step_by((count / most).max(1) as usize).take(most as usize)
}

fn rows<'s>(
    snapshot: &'s Snapshot,
    facts: &'static Facts,
    rows: std::ops::Range<u32>,
    shape: Shape,
) -> Result<Sample<'s>> {
    sample(move || {
        let mut page = JsonWriter::new(snapshot, shape);
        for row in rows.clone() {
            snapshot.render(facts.entity, row, &mut page)?;
        }
        Ok(page.out)
    })
}

fn candidates<'s>(snapshot: &'s Snapshot, text: &'static str) -> Result<Sample<'s>> {
    sample(move || {
        let mut body = Vec::new();
        let deadline = Deadline::at(Instant::now() + Duration::from_secs(5));
        let completion = Completion::new(ENTITIES.to_vec(), text);
        for candidate in &completion.execute(snapshot, deadline)?.best {
            render(snapshot, candidate.entity, candidate.row, &mut body)?;
        }
        Ok(body)
    })
}

fn sample<'s>(render: impl Fn() -> Result<Vec<u8>> + 's) -> Result<Sample<'s>> {
    Ok(Sample { body: render()?, render: Box::new(render) })
}

/// Prints the mean cost of the replies of one kind that are long enough to be compressed.
fn measure(what: &str, mut replies: Vec<Sample<'_>>) -> Result<()> {
    let all = replies.len();
    replies.retain(|reply| reply.body.len() >= CODED_BYTES_MIN);
    let bytes: usize = replies.iter().map(|reply| reply.body.len()).sum();
    if replies.is_empty() {
        println!("\n{what}: no reply is long enough to be compressed");
        return Ok(());
    }
    println!(
        "\n{what}: {} of {all} have {CODED_BYTES_MIN} bytes or more, {} on average",
        replies.len(),
        bytes / replies.len()
    );
    let print = |name: &str, (seconds, coded_bytes): (f64, usize)| {
        println!(
            "  {name:<12} {:>9.1} µs {:>7.0} MB/s {:>6.3} of the bytes",
            seconds / replies.len() as f64 * 1e6,
            bytes as f64 / 1e6 / seconds,
            coded_bytes as f64 / bytes as f64
        );
    };
    print("rendering", time_pass(&replies, |reply| (reply.render)())?);
    for (coding, levels) in LEVELS {
        for tried in levels {
            let chosen =
                replies.iter().filter(|reply| level(coding, reply.body.len()) == *tried).count();
            let mark = if chosen * 2 > replies.len() { " *" } else { "" };
            let name = format!("{} {tried}{mark}", coding.name());
            print(&name, time_pass(&replies, |reply| Ok(encode_at(coding, *tried, &reply.body)?))?);
        }
    }
    Ok(())
}

/// Times passes over all replies; the median seconds of a pass, and the bytes that one pass makes.
fn time_pass(
    replies: &[Sample<'_>],
    work: impl Fn(&Sample<'_>) -> Result<Vec<u8>>,
) -> Result<(f64, usize)> {
    let (mut passes, mut bytes) = (Vec::new(), 0);
    let begun = Instant::now();
    while passes.len() < 3 || begun.elapsed() < MEASURE_TIME {
        let started = Instant::now();
        bytes = 0;
        for reply in replies {
            bytes += work(reply)?.len();
        }
        passes.push(started.elapsed().as_secs_f64());
    }
    passes.sort_by(f64::total_cmp);
    Ok((passes[passes.len() / 2], bytes))
}
