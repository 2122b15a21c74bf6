//! Exports the lean outputs of `lists` in every format: speed by processor time, and memory.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pinakes_generate::Plan;

use crate::{
    Result, build,
    process::{Cost, measure, sibling_program},
};

const MB: f64 = 1e6;

/// The measured exports: the name, more arguments, and the target in MB of JSON a second and core.
const EXPORTS: [(&str, &[&str], Option<f64>); 6] = [
    ("ndjson", &["--format", "ndjson"], Some(300.0)),
    ("ndjson, zstd", &["--format", "ndjson", "--compress", "zst"], None),
    ("csv", &["--format", "csv"], Some(300.0)),
    ("csv, 5 members", &["--format", "csv", "--select", "id,doi,year,title,authors.name"], None),
    ("parquet", &["--format", "parquet"], Some(200.0)),
    ("parquet, edges", &["--format", "parquet", "--edges"], None),
];

/// Most bytes of memory of an export to Parquet.
const MEMORY_BYTES_MAX: u64 = 256 << 20;

/// Builds the snapshot of a lean dump unless it exists, exports it and prints the measurements.
///
/// All speeds are in bytes of uncompressed native JSON lines of the same records.
pub fn run(outputs: u64, dir: &Path, memory: &str) -> Result<()> {
    let dump = dir.join(format!("lists-dump-{outputs}"));
    let snapshots = dir.join(format!("lists-snapshots-{outputs}"));
    if !snapshots.join("current").exists() {
        build::generate(&Plan::lean(outputs, 1), &dump)?;
        let (cost, _) = build::compile(&dump, &snapshots, memory, &dir.join("export.json"))?;
        build::print_cost("build", &cost);
    }
    let out = dir.join("export");
    println!("\n{outputs} lean outputs");
    println!(
        "{:<16}{:>8}{:>8}{:>10}{:>12}{:>10}",
        "export", "s", "CPU-s", "MB", "MB/CPU-s", "peak MB"
    );
    let mut json_bytes = 0;
    for (name, options, target) in EXPORTS {
        let (cost, bytes) = export(&snapshots, &out, options)?;
        if json_bytes == 0 {
            json_bytes = bytes;
        }
        let speed = json_bytes as f64 / MB / cost.cpu_seconds;
        let is_slow = target.is_some_and(|target| speed < target);
        let is_large = name.starts_with("parquet") && cost.anonymous_bytes_max > MEMORY_BYTES_MAX;
        println!(
            "{name:<16}{:>8.1}{:>8.1}{:>10.0}{speed:>12.0}{:>10.0}{}{}",
            cost.wall_seconds,
            cost.cpu_seconds,
            bytes as f64 / MB,
            cost.anonymous_bytes_max as f64 / MB,
            if is_slow { " SLOW" } else { "" },
            if is_large { " OVER" } else { "" },
        );
    }
    Ok(())
}

/// Runs an export of outputs; returns its cost and the size of its files, which are removed.
fn export(snapshots: &Path, out: &Path, options: &[&str]) -> Result<(Cost, u64)> {
    let _ = fs::remove_dir_all(out);
    fs::create_dir_all(out)?;
    let has_several = options.contains(&"--edges");
    let target: PathBuf = if has_several { out.to_path_buf() } else { out.join("outputs") };
    let cost = measure(
        Command::new(sibling_program("pinakes-compiler")?)
            .arg("export")
            .arg(snapshots)
            .args(["outputs", "--quiet", "--out"])
            .arg(&target)
            .args(options),
    )?;
    let mut bytes = 0;
    for entry in fs::read_dir(out)? {
        bytes += entry?.metadata()?.len();
    }
    fs::remove_dir_all(out)?;
    Ok((cost, bytes))
}
