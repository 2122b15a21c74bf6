//! Writes the expected replies for a dump as JSON lines.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use pinakes_oracle::{Library, Tallies};
use serde_json::{Map, Value, json};

/// Reads OpenAlex dumps and writes the replies that the server must give.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Directories or files: JSON lines (plain or gzip), merged-ids tables, the taxonomy CSV.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Output directory for <entity>.single.jsonl, <entity>.list.jsonl, institution-types.jsonl,
    /// redirects.jsonl and tallies.json.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let library = pinakes_oracle::read(&arguments.inputs)?;
    for path in &library.skipped {
        eprintln!("skipped `{}`", path.display());
    }
    fs::create_dir_all(&arguments.out)?;
    write(&arguments.out, &library)?;
    Ok(())
}

fn write(out: &Path, library: &Library) -> std::io::Result<()> {
    for (entity, entries) in &library.entities {
        let singles = entries.iter().map(|entry| &entry.single);
        write_lines(&out.join(format!("{entity}.single.jsonl")), singles)?;
        let items = entries.iter().map(|entry| &entry.list);
        write_lines(&out.join(format!("{entity}.list.jsonl")), items)?;
    }
    write_lines(&out.join("institution-types.jsonl"), &library.institution_types)?;
    let redirects: Vec<Value> = library
        .redirects
        .iter()
        .map(
            |redirect| json!({"entity": redirect.entity, "from": redirect.from, "to": redirect.to}),
        )
        .collect();
    write_lines(&out.join("redirects.jsonl"), &redirects)?;
    let tally = |(entity, tallies): (&&str, &Tallies)| ((*entity).to_owned(), tallies.to_json());
    let tallies: Map<String, Value> = library.tallies.iter().map(tally).collect();
    let tallies = serde_json::to_string_pretty(&tallies)?;
    fs::write(out.join("tallies.json"), tallies + "\n")
}

fn write_lines<'a>(
    path: &Path,
    values: impl IntoIterator<Item = &'a Value>,
) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for value in values {
        serde_json::to_writer(&mut file, value)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
