//! Builds again, and compares with the first, whole build: after nothing changed, after one part in a hundred changed,
//! and after every part was written anew and one record in a hundred changed.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use flate2::{Compression, bufread::MultiGzDecoder, write::GzEncoder};
use pinakes_compiler::stages::{ManifestPolicy, find};
use pinakes_generate::Plan;
use rayon::prelude::*;
use serde_json::Value;

use crate::{
    Result,
    build::{compile, generate, print_cost, remove},
    process::{Cost, sibling_program},
    served::{
        cold::files_of,
        nginx::{self, Nginx},
    },
};

/// One part in this number changes, or one record in this number.
const PER_CHANGED: usize = 100;
/// Ceilings of a build's duration, as fractions of the whole build: nothing changed, some parts, all parts.
const SHARES_MAX: [f64; 3] = [0.05, 0.15, 0.3];
/// Ceiling of the bytes that a mirror fetches after some parts changed, as a fraction of the snapshot.
const FETCHED_MAX: f64 = 0.05;
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

/// The member that changes in a record. The default order of works is by citations, so that the first moves rows.
#[derive(Clone, Copy)]
pub enum Changed {
    Citations,
    Locations,
}

/// Generates a dump, and builds it before and after it changes.
pub fn run(outputs: u64, dir: &Path, memory: &str, changed: Changed) -> Result<()> {
    let dump = dir.join(format!("nightly-dump-{outputs}"));
    generate(&Plan::new(outputs, 1).with_part_records(PART_RECORDS), &dump)?;
    let snapshots = dir.join(format!("nightly-snapshots-{outputs}"));
    remove(&snapshots);
    let build = |dump: &Path| compile(dump, &snapshots, memory, &dir.join("nightly.json"));
    let (whole, first) = build(&dump)?;
    println!("\n{outputs} outputs, {} parts", first["parts"]);
    print_cost("whole build", &whole);
    print_stages(&first);
    let compare = |what: &str, (cost, report): (Cost, Value), parsed: usize, ceiling: f64| {
        let found = report["parts_parsed"].as_u64().unwrap_or_default();
        if found != parsed as u64 {
            return Err(format!("{found} parts were parsed, but {parsed} parts changed"));
        }
        print_cost(&format!("{what}, {parsed} of {} parts parsed", report["parts"]), &cost);
        print_stages(&report);
        let wall = cost.wall_seconds / whole.wall_seconds;
        let cpu = cost.cpu_seconds / whole.cpu_seconds;
        let over = if wall > ceiling { " OVER" } else { "" };
        println!("  {wall:.2} of the whole build, {cpu:.2} of its CPU-s, ceiling {ceiling}{over}");
        Ok(())
    };
    compare("nothing changed", build(&dump)?, 0, SHARES_MAX[0])?;
    let mirror = Mirror::begin(&dir.join(format!("nightly-mirror-{outputs}")))?;
    let pull =
        |is_first| mirror.as_ref().map_or(Ok(()), |mirror| mirror.pull(&snapshots, is_first));
    pull(true)?;
    let (edits, parts) = edit_parts(&dump, changed)?;
    compare("some parts changed", build(&dump)?, parts, SHARES_MAX[1])?;
    pull(false)?;
    drop((edits, mirror));
    let rewritten = dir.join(format!("nightly-rewritten-{outputs}"));
    let parts = rewrite(&dump, &rewritten, changed)?;
    compare("all parts written anew", build(&rewritten)?, parts, SHARES_MAX[2])?;
    remove(&snapshots);
    Ok(fs::remove_dir_all(&rewritten)?)
}

/// A publication, and two mirrors of it: one fetches the files of the snapshot, the other objects to link.
struct Mirror {
    dir: PathBuf,
    host: Nginx,
}

impl Mirror {
    /// Serves an empty publication; `None` where nginx is not installed.
    fn begin(dir: &Path) -> Result<Option<Mirror>> {
        remove(dir);
        let tree = dir.join("tree");
        fs::create_dir_all(&tree)?;
        if !nginx::is_installed() {
            println!("  mirrors: skipped, because nginx is not installed");
            return Ok(None);
        }
        Ok(Some(Mirror { host: Nginx::start(&tree, dir)?, dir: dir.to_path_buf() }))
    }

    /// Publishes the current snapshot, and prints the bytes that each mirror fetches.
    fn pull(&self, snapshots: &Path, is_first: bool) -> Result<()> {
        let run = |command: &mut Command| -> Result<()> {
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
            if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
        };
        let compiler = || sibling_program("pinakes-compiler").map(Command::new);
        let tree = self.dir.join("tree");
        run(compiler()?
            .arg("publish")
            .arg(snapshots)
            .arg("--to")
            .arg(&tree)
            .arg("--objects")
            .arg(snapshots.join("objects")))?;
        let bytes: u64 = files_of(&snapshots.join("current").canonicalize()?)?
            .iter()
            .map(|file| fs::metadata(file).map_or(0, |metadata| metadata.len()))
            .sum();
        for (what, has_objects) in [("files", false), ("objects", true)] {
            let (mirror, report) = (self.dir.join(what), self.dir.join("pull.json"));
            let mut command = compiler()?;
            command.args(["pull", &format!("http://{}/", self.host.address), "--out"]).arg(&mirror);
            command.arg("--report").arg(&report);
            if has_objects {
                command.arg("--objects").arg(mirror.join("objects"));
            }
            run(&mut command)?;
            let report: Value = serde_json::from_slice(&fs::read(report)?)?;
            let fetched = report["fetched_bytes"].as_f64().unwrap_or_default();
            let share = fetched / bytes as f64;
            let over = if !is_first && share > FETCHED_MAX { " OVER" } else { "" };
            let ceiling =
                if is_first { String::new() } else { format!(", ceiling {FETCHED_MAX}{over}") };
            println!(
                "  a mirror of {what} fetches {fetched} bytes, {share:.3} of the snapshot{ceiling}"
            );
        }
        Ok(())
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

/// Writes a dump with the records of another, in parts with other boundaries. One record in [`PER_CHANGED`] changes.
/// Returns the number of parts.
fn rewrite(dump: &Path, to: &Path, changed: Changed) -> Result<usize> {
    let parts = find(&[dump], ManifestPolicy::default())?.parts;
    let write = |at: usize| -> Result<()> {
        let lines = |at: usize| -> Result<Vec<String>> {
            let mut text = String::new();
            MultiGzDecoder::new(&*fs::read(&parts[at].path)?).read_to_string(&mut text)?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        // The second half of this part, and the first half of the next one in the same folder.
        let (mut mine, folder) = (lines(at)?, parts[at].path.parent());
        let is_next = parts.get(at + 1).is_some_and(|next| next.path.parent() == folder);
        let is_first = at == 0 || parts[at - 1].path.parent() != folder;
        if !is_first {
            mine.drain(..mine.len() / 2);
        }
        if is_next {
            let next = lines(at + 1)?;
            mine.extend_from_slice(&next[..next.len() / 2]);
        }
        let place = to.join(parts[at].path.strip_prefix(dump)?);
        fs::create_dir_all(place.parent().ok_or("a part has a folder")?)?;
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        for (number, line) in mine.iter().enumerate() {
            let line = if number % PER_CHANGED == 0 { raise(line, changed)? } else { line.clone() };
            writeln!(out, "{line}")?;
        }
        Ok(fs::write(place, out.finish()?)?)
    };
    (0..parts.len())
        .into_par_iter()
        .map(|at| write(at).map_err(|error| error.to_string()))
        .collect::<std::result::Result<(), String>>()?;
    Ok(parts.len())
}

/// Prints the seconds, utilisation and written bytes of each stage, and the share of linking.
fn print_stages(report: &Value) {
    let mut linking = 0.0;
    let mut line = String::new();
    for stage in report["stages"].as_array().into_iter().flatten() {
        let seconds = stage["seconds"].as_f64().unwrap_or_default();
        let name = stage["stage"].as_str().unwrap_or_default();
        if !matches!(name, "read" | "recall" | "compile") {
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
    if let Some(lines) = report["copied_lines"].as_u64().filter(|lines| *lines > 0) {
        println!("  {lines} lines copied from earlier objects");
    }
}

/// Changes every record in one part of [`PER_CHANGED`], and updates the manifests.
///
/// Returns the edits, which restore parts and manifests when dropped, and the number of edited parts.
fn edit_parts(dump: &Path, changed: Changed) -> Result<(Vec<TemporaryEdit>, usize)> {
    let parts = find(&[dump], ManifestPolicy::default())?.parts;
    let chosen: Vec<&Path> = parts
        .iter()
        .skip(PER_CHANGED / 2)
        .step_by(PER_CHANGED)
        .map(|part| part.path.as_path())
        .collect();
    let mut edits = Vec::new();
    let mut manifests = vec![dump.join("data/jsonl/manifest.json")];
    let mut sizes = Vec::new();
    for path in &chosen {
        let bytes = raise_all(&fs::read(path)?, changed)?;
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

/// Changes every record of a part.
fn raise_all(part: &[u8], changed: Changed) -> Result<Vec<u8>> {
    let mut text = String::new();
    MultiGzDecoder::new(part).read_to_string(&mut text)?;
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    for line in text.lines() {
        writeln!(out, "{}", raise(line, changed)?)?;
    }
    Ok(out.finish()?)
}

/// Adds 1 to a count of a record.
fn raise(line: &str, changed: Changed) -> Result<String> {
    const CITATIONS: &str = "\"cited_by_count\":";
    const LOCATIONS: &str = "\"locations_count\":";
    let member = match changed {
        // Works alone have locations, and no other entity is in the order of its citations.
        Changed::Locations if line.contains(LOCATIONS) => LOCATIONS,
        _ => CITATIONS,
    };
    // The first count belongs to the record or to one of its years; either edit changes the record.
    let Some(at) = line.find(member) else { return Ok(format!("{line} ")) };
    let (before, after) = line.split_at(at + member.len());
    let digits = after.find(|char: char| !char.is_ascii_digit()).unwrap_or(after.len());
    let count: u64 = after[..digits].parse()?;
    Ok(format!("{before}{}{}", count + 1, &after[digits..]))
}
