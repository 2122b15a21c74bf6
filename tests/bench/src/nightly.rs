//! Building again after a night in which one part in a hundred changed, against a whole build.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use pinakes_compiler::stages::{ManifestPolicy, find};
use pinakes_generate::Plan;
use serde_json::Value;

use crate::{
    Result,
    build::{compile, generate, print_cost},
};

/// Of so many parts one changes.
const PARTS_PER_CHANGED: usize = 100;
/// The most that building again may cost, of a whole build.
const SHARE_MAX: f64 = 0.2;
/// Records in a part: enough parts that a hundredth of them is some.
const PART_RECORDS: u64 = 2_500;

/// A file changed for as long as it is measured.
struct Changed {
    path: PathBuf,
    before: Vec<u8>,
}

impl Changed {
    fn new(path: &Path, now: &[u8]) -> Result<Changed> {
        let before = fs::read(path)?;
        fs::write(path, now)?;
        Ok(Changed { path: path.to_path_buf(), before })
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // Where that fails the dump is still one, with records that were cited once more.
        let _ = fs::write(&self.path, &self.before);
    }
}

/// Generates, builds, changes, builds again and prints.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let dump = dir.join(format!("nightly-dump-{outputs}"));
    generate(&Plan::new(outputs, 1).with_part_records(PART_RECORDS), &dump)?;
    let snapshots = dir.join(format!("nightly-snapshots-{outputs}"));
    remove(&snapshots);
    let (whole, first) = compile(&dump, &snapshots, memory, &dir.join("whole.json"))?;
    let (changed, parts) = change(&dump)?;
    let (again, second) = compile(&dump, &snapshots, memory, &dir.join("again.json"))?;
    let count = second["parts_parsed"].as_u64().unwrap_or_default();
    if count != parts as u64 {
        return Err(format!("{count} parts were parsed of {parts} that changed").into());
    }
    drop(changed);
    println!("\n{outputs} outputs, {} parts, {parts} of them changed", second["parts"]);
    print_cost("whole build", &whole);
    print_stages(&first);
    print_cost("build after a night", &again);
    print_stages(&second);
    let wall = again.wall_seconds / whole.wall_seconds;
    let cpu = again.cpu_seconds / whole.cpu_seconds;
    let over = if wall > SHARE_MAX { " OVER" } else { "" };
    println!("  {wall:.2} of the whole build, {cpu:.2} of its CPU-s, ceiling {SHARE_MAX}{over}");
    remove(&snapshots);
    Ok(())
}

fn remove(snapshots: &Path) {
    let _ = Command::new("chmod")
        .args(["-R", "u+w"])
        .arg(snapshots)
        .stderr(std::process::Stdio::null())
        .status();
    let _ = fs::remove_dir_all(snapshots);
}

/// Seconds and written bytes of each stage, and the share of linking.
fn print_stages(report: &Value) {
    let mut linking = 0.0;
    let mut line = String::new();
    for stage in report["stages"].as_array().into_iter().flatten() {
        let seconds = stage["seconds"].as_f64().unwrap_or_default();
        let name = stage["stage"].as_str().unwrap_or_default();
        if name != "compile" {
            linking += seconds;
        }
        let megabytes = stage["written_bytes"].as_f64().unwrap_or_default() / 1e6;
        line.push_str(&format!(" {name} {seconds:.1} s and {megabytes:.0} MB written;"));
    }
    let whole = report["seconds"].as_f64().unwrap_or_default();
    println!(" {line} linking {:.2} of it", linking / whole);
}

/// Has one part in so many changed: each of its records is cited once more. Those parts as they were, and
/// their manifests; how many parts.
fn change(dump: &Path) -> Result<(Vec<Changed>, usize)> {
    let parts = find(&[dump], ManifestPolicy::default())?.parts;
    let chosen: Vec<&Path> = parts
        .iter()
        .skip(PARTS_PER_CHANGED / 2)
        .step_by(PARTS_PER_CHANGED)
        .map(|part| part.path.as_path())
        .collect();
    let mut changed = Vec::new();
    let mut manifests = vec![dump.join("data/jsonl/manifest.json")];
    let mut sizes = Vec::new();
    for path in &chosen {
        let bytes = cited_once_more(&fs::read(path)?)?;
        sizes.push((path.strip_prefix(dump)?.to_path_buf(), bytes.len()));
        let entity = path.ancestors().nth(2).ok_or("a part lies in a partition of an entity")?;
        manifests.push(entity.join("manifest.json"));
        changed.push(Changed::new(path, &bytes)?);
    }
    manifests.sort();
    manifests.dedup();
    for path in manifests {
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path)?)?;
        for entry in manifest["entries"].as_array_mut().into_iter().flatten() {
            let url = entry["url"].as_str().unwrap_or_default().to_owned();
            let size = sizes.iter().find(|(part, _)| url.ends_with(&*part.to_string_lossy()));
            if let Some((_, size)) = size {
                entry["meta"]["content_length"] = (*size).into();
            }
        }
        changed.push(Changed::new(&path, &serde_json::to_vec(&manifest)?)?);
    }
    Ok((changed, chosen.len()))
}

/// A part in which every record was cited once more.
fn cited_once_more(part: &[u8]) -> Result<Vec<u8>> {
    const MEMBER: &str = "\"cited_by_count\":";
    let mut text = String::new();
    MultiGzDecoder::new(part).read_to_string(&mut text)?;
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for line in text.lines() {
        // The first is the record's own or a year's; either makes another record of it.
        let Some(at) = line.find(MEMBER) else {
            writeln!(out, "{line} ")?;
            continue;
        };
        let (before, after) = line.split_at(at + MEMBER.len());
        let digits = after.find(|char: char| !char.is_ascii_digit()).unwrap_or(after.len());
        let count: u64 = after[..digits].parse()?;
        writeln!(out, "{before}{}{}", count + 1, &after[digits..])?;
    }
    Ok(out.finish()?)
}
