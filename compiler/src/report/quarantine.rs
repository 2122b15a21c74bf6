//! The records set aside, where a person finds them: a list of their places, and their lines.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::object::part_report::EXCERPT_BYTES_MAX;

/// The list: one JSON object a line.
const LIST: &str = "bad-records.jsonl";
/// Their lines as they were read, in the order of the list.
const LINES: &str = "bad-lines";

/// One record set aside.
#[derive(Clone, Debug)]
pub struct BadRecord<'a> {
    /// The part it is in, as it is shown.
    pub file: &'a str,
    /// The number of its line, from 1.
    pub line: u64,
    /// Where that begins in the uncompressed part.
    pub byte_offset: u64,
    /// Why.
    pub code: &'a str,
    /// The id it gives itself, where that much could be read.
    pub id: Option<&'a str>,
    /// The beginning of its line.
    pub raw: Vec<u8>,
}

/// A record as it is listed.
#[derive(Serialize)]
struct Listed<'a> {
    file: &'a str,
    line: u64,
    byte_offset: u64,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    excerpt: &'a str,
}

/// What was listed, and where.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Quarantine {
    /// The list: file, line, byte offset, code, id and excerpt of each; `null` where there is none.
    pub list: Option<PathBuf>,
    /// Their lines, in the order of the list, the first 64 KiB of each.
    pub lines: Option<PathBuf>,
    /// How many are listed: of each part the first 10,000.
    pub listed: u64,
    /// The first of each code, as `file:line:byte_offset`.
    pub first: BTreeMap<String, String>,
}

/// Writes the list and the lines into `directory`, each in one step; removes those of the run
/// before where there is nothing to list.
///
/// # Errors
///
/// Where they cannot be written.
pub fn write<'a>(
    directory: &Path,
    records: impl Iterator<Item = BadRecord<'a>>,
) -> Result<Quarantine> {
    let mut records = records.peekable();
    let (list, lines) = (directory.join(LIST), directory.join(LINES));
    if records.peek().is_none() {
        for path in [&list, &lines] {
            match fs::remove_file(path) {
                Err(error) if !is_absent(&error) => return Err(Error::output(path)(error)),
                _ => {}
            }
        }
        return Ok(Quarantine::default());
    }
    fs::create_dir_all(directory).map_err(Error::output(directory))?;
    let mut listing = Fresh::create(&list)?;
    let mut quarantined = Fresh::create(&lines)?;
    let mut quarantine = Quarantine::default();
    for record in records {
        let BadRecord { file, line, byte_offset, code, id, raw } = record;
        let (id, excerpt) = (id.map(excerpt_of), String::from_utf8_lossy(&raw));
        let excerpt = excerpt_of(&excerpt);
        let text = serde_json::to_vec(&Listed { file, line, byte_offset, code, id, excerpt })
            .map_err(|error| Error::Internal(error.to_string()))?;
        listing.write_line(&text)?;
        quarantined.write_line(&raw)?;
        quarantine.listed += 1;
        if !quarantine.first.contains_key(code) {
            quarantine.first.insert(code.into(), format!("{file}:{line}:{byte_offset}"));
        }
    }
    quarantined.finish(&lines)?;
    listing.finish(&list)?;
    (quarantine.list, quarantine.lines) = (Some(list), Some(lines));
    Ok(quarantine)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The first bytes of a text that are whole characters.
fn excerpt_of(text: &str) -> &str {
    &text[..text.floor_char_boundary(EXCERPT_BYTES_MAX)]
}

/// A file being written beside its place; removed if it never gets there.
struct Fresh {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Fresh {
    fn create(place: &Path) -> Result<Fresh> {
        let path = place.with_extension(format!("{}.tmp", std::process::id()));
        let file = File::create(&path).map_err(Error::output(&path))?;
        Ok(Fresh { path, out: BufWriter::new(file) })
    }

    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        let written = self.out.write_all(line).and_then(|()| self.out.write_all(b"\n"));
        written.map_err(Error::output(&self.path))
    }

    fn finish(mut self, place: &Path) -> Result<()> {
        self.out.flush().map_err(Error::output(&self.path))?;
        fs::rename(&self.path, place).map_err(Error::output(place))
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // After finish there is none.
        let _ = fs::remove_file(&self.path);
    }
}
