//! Builds again after one part in a hundred changed, and compares with the first, whole build.

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

/// One part in this number changes.
const PARTS_PER_CHANGED: usize = 100;
/// Ceiling of the second build's duration, as a fraction of the whole build.
const SHARE_MAX: f64 = 0.2;
/// Records in a part; small parts make one part in a hundred several parts.
const PART_RECORDS: u64 = 2_500;

/// An edited file; dropping this restores the file's former content.
struct TemporaryEdit {
    path: PathBuf,
    original: Vec<u8>,
}

impl TemporaryEdit {
    fn new(path: &Path, content: &[u8]) -> Result<TemporaryEdit> {
        let original = fs::read(path)?;
        fs::write(path, content)?;
        Ok(TemporaryEdit { path: path.to_path_buf(), original })
    }
}

impl Drop for TemporaryEdit {
    fn drop(&mut self) {
        // If the write fails, the dump stays valid, with raised citation counts.
        let _ = fs::write(&self.path, &self.original);
    }
}

/// Generates a dump, builds, edits parts, builds again and prints the measurements.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let dump = dir.join(format!("nightly-dump-{outputs}"));
    generate(&Plan::new(outputs, 1).with_part_records(PART_RECORDS), &dump)?;
    let snapshots = dir.join(format!("nightly-snapshots-{outputs}"));
    remove(&snapshots);
    let (whole, first) = compile(&dump, &snapshots, memory, &dir.join("whole.json"))?;
    let (edits, parts) = edit_parts(&dump)?;
    let (again, second) = compile(&dump, &snapshots, memory, &dir.join("again.json"))?;
    let count = second["parts_parsed"].as_u64().unwrap_or_default();
    if count != parts as u64 {
        return Err(format!("{count} parts were parsed, but {parts} parts changed").into());
    }
    drop(edits);
    println!("\n{outputs} outputs, {} parts, {parts} of them changed", second["parts"]);
    print_cost("whole build", &whole);
    print_stages(&first);
    print_cost("build after the change", &again);
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

/// Prints the seconds, utilisation and written bytes of each stage, and the share of linking.
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
        let percent = stage["utilisation"].as_f64().unwrap_or_default() * 100.0;
        line.push_str(&format!(
            " {name} {seconds:.1} s at {percent:.0} % and {megabytes:.0} MB written;"
        ));
    }
    let whole = report["seconds"].as_f64().unwrap_or_default();
    println!(" {line} linking {:.2} of the total", linking / whole);
}

/// Raises the citations of every record in one part of [`PARTS_PER_CHANGED`], and updates the manifests.
///
/// Returns the edits, which restore parts and manifests when dropped, and the number of edited parts.
fn edit_parts(dump: &Path) -> Result<(Vec<TemporaryEdit>, usize)> {
    let parts = find(&[dump], ManifestPolicy::default())?.parts;
    let chosen: Vec<&Path> = parts
        .iter()
        .skip(PARTS_PER_CHANGED / 2)
        .step_by(PARTS_PER_CHANGED)
        .map(|part| part.path.as_path())
        .collect();
    let mut edits = Vec::new();
    let mut manifests = vec![dump.join("data/jsonl/manifest.json")];
    let mut sizes = Vec::new();
    for path in &chosen {
        let bytes = raise_citations(&fs::read(path)?)?;
        sizes.push((path.strip_prefix(dump)?.to_path_buf(), bytes.len()));
        let entity =
            path.ancestors().nth(2).ok_or("a part is not in a partition folder of an entity")?;
        manifests.push(entity.join("manifest.json"));
        edits.push(TemporaryEdit::new(path, &bytes)?);
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
        edits.push(TemporaryEdit::new(&path, &serde_json::to_vec(&manifest)?)?);
    }
    Ok((edits, chosen.len()))
}

/// Adds 1 to the citation count of every record of a part.
fn raise_citations(part: &[u8]) -> Result<Vec<u8>> {
    const MEMBER: &str = "\"cited_by_count\":";
    let mut text = String::new();
    MultiGzDecoder::new(part).read_to_string(&mut text)?;
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for line in text.lines() {
        // The first count belongs to the record or to one of its years; either edit changes the record.
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
