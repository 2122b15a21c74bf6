//! Rows a second from Parquet against gzip JSON lines of the same works, in one run.
//!
//! The ceiling is decoding the columns that are read to Arrow arrays, on all cores.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use flate2::read::GzDecoder;
use parquet::{basic::Compression, file::properties::WriterProperties};
use pinakes_compiler::stages::{ManifestPolicy, Part, decode_only, find, parse_only};
use pinakes_generate::Plan;
use pinakes_generate::parquet::{Times, write};
use rayon::prelude::*;

use crate::{
    Result,
    build::{generate, print_cost},
    process::{measure, sibling_program},
};

const ROUNDS: usize = 3;

/// Generates works as JSON lines, converts them, and prints the speed of reading and compiling either.
pub fn run(outputs: u64, dir: &Path) -> Result<()> {
    let dump = dir.join(format!("dump-{outputs}"));
    generate(&Plan::new(outputs, 1), &dump)?;
    let (json, parquet) =
        (dump.join("data/jsonl/works"), dir.join(format!("parquet-{outputs}/works")));
    convert(&json, &parquet)?;
    let bytes = |parts: &[Part]| parts.iter().map(|part| part.size_bytes).sum::<u64>() as f64 / 1e6;
    let (lines, rows) = (parts_of(&json)?, parts_of(&parquet)?);
    println!(
        "{outputs} works: {:.1} MB of gzip JSON, {:.1} MB of Parquet",
        bytes(&lines),
        bytes(&rows)
    );
    let mut best = [f64::INFINITY; 3];
    for _ in 0..ROUNDS {
        let measured = [
            seconds(&lines, parse_only)?,
            seconds(&rows, parse_only)?,
            seconds(&rows, decode_only)?,
        ];
        best.iter_mut().zip(measured).for_each(|(best, measured)| *best = best.min(measured));
    }
    let [from_json, from_parquet, ceiling] = best.map(|seconds| outputs as f64 / seconds);
    println!("gunzip + parse: {from_json:.0} rows/s");
    println!(
        "Parquet: {from_parquet:.0} rows/s, {:.2} times; {:.2} of the ceiling: decoding to Arrow ({ceiling:.0} rows/s)",
        from_parquet / from_json,
        from_parquet / ceiling
    );
    for (what, input) in [("compile of JSON lines", &json), ("compile of Parquet", &parquet)] {
        let objects = tempfile_in(dir)?;
        let cost = measure(
            Command::new(sibling_program("pinakes-compiler")?)
                .args(["compile", "--quiet", "--objects"])
                .args([&objects, input]),
        );
        std::fs::remove_dir_all(&objects)?;
        let cost = cost?;
        print_cost(what, &cost);
        println!("  {:.0} rows/s", outputs as f64 / cost.wall_seconds);
    }
    Ok(())
}

fn tempfile_in(dir: &Path) -> Result<PathBuf> {
    let objects = dir.join("parquet-objects");
    let _ = std::fs::remove_dir_all(&objects);
    std::fs::create_dir_all(&objects)?;
    Ok(objects)
}

fn parts_of(folder: &Path) -> Result<Vec<Part>> {
    let mut parts = find(&[folder], ManifestPolicy::default())?.parts;
    parts.sort_by_key(|part| std::cmp::Reverse(part.size_bytes));
    Ok(parts)
}

fn seconds(
    parts: &[Part],
    read: impl Fn(&Part) -> std::result::Result<u64, pinakes_compiler::Error> + Sync,
) -> Result<f64> {
    let begun = Instant::now();
    parts.par_iter().try_for_each(|part| read(part).map(drop))?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Converts every part, unless all were converted before.
fn convert(json: &Path, parquet: &Path) -> Result<()> {
    if parquet.exists() {
        return Ok(());
    }
    let unfinished = parquet.with_extension("unfinished");
    let _ = std::fs::remove_dir_all(&unfinished);
    parts_of(json)?.par_iter().try_for_each(|part| -> Result<()> {
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&part.path)?).read_to_string(&mut text)?;
        let records = BufReader::new(text.as_bytes()).lines();
        let records = records
            .map(|line| Ok(serde_json::from_str(&line?)?))
            .collect::<Result<Vec<serde_json::Value>>>()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let file = write(&records, Times::Typed, properties.build())?;
        let place = unfinished.join(part.path.strip_prefix(json)?).with_extension("parquet");
        std::fs::create_dir_all(place.parent().unwrap_or(&unfinished))?;
        Ok(std::fs::write(place, file)?)
    })?;
    Ok(std::fs::rename(unfinished, parquet)?)
}
