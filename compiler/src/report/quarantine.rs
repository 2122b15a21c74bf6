//! The quarantine: a list of the bad records, and a file with their lines.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::object::part_report::excerpt_of;
use crate::object::unfinished::{UnfinishedFile, remove_abandoned};

/// Name of the list, which has one JSON object a line.
const LIST: &str = "bad-records.jsonl";
/// Name of the file with the original lines, in the order of the list.
const LINES: &str = "bad-lines";

#[derive(Clone, Debug)]
pub struct BadRecord<'a> {
    /// Escaped path of the part.
    pub file: &'a str,
    /// Number of the line, from 1.
    pub line: u64,
    /// Offset of the line in the uncompressed part.
    pub byte_offset: u64,
    /// Why the record is bad.
    pub code: &'a str,
    /// The record's id, if it could be read.
    pub id: Option<&'a str>,
    /// The first bytes of the line.
    pub raw: Vec<u8>,
}

/// One line of the list.
#[derive(Serialize)]
struct ListLine<'a> {
    file: &'a str,
    line: u64,
    byte_offset: u64,
    code: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    excerpt: &'a str,
}

/// The written list, for the report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Quarantine {
    /// Path of the list: file, line, byte offset, code, id and excerpt of each record; `null` without one.
    pub list: Option<PathBuf>,
    /// Path of the file with the first 64 KiB of each line, in the order of the list.
    pub lines: Option<PathBuf>,
    /// Number of listed records: at most the first 10,000 of each part.
    pub listed: u64,
    /// Place of the first record of each code, as `file:line:byte_offset`.
    pub first: BTreeMap<String, String>,
}

/// Writes the list and the lines into `directory`, each in one step. Without bad records, removes the
/// files of the previous run.
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
    remove_abandoned(directory)?;
    let mut listing = LineFile::create(&list)?;
    let mut quarantined = LineFile::create(&lines)?;
    let mut quarantine = Quarantine::default();
    for record in records {
        let BadRecord { file, line, byte_offset, code, id, raw } = record;
        let (id, excerpt) = (id.map(excerpt_of), String::from_utf8_lossy(&raw));
        let excerpt = excerpt_of(&excerpt);
        let text = serde_json::to_vec(&ListLine { file, line, byte_offset, code, id, excerpt })
            .map_err(|error| Error::Internal(error.to_string()))?;
        listing.write_line(&text)?;
        quarantined.write_line(&raw)?;
        quarantine.listed += 1;
        if !quarantine.first.contains_key(code) {
            quarantine.first.insert(code.into(), format!("{file}:{line}:{byte_offset}"));
        }
    }
    // The list appears last, so the lines that it names are there.
    quarantined.finish(&lines)?;
    listing.finish(&list)?;
    (quarantine.list, quarantine.lines) = (Some(list), Some(lines));
    Ok(quarantine)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// One of the two files while it is written.
struct LineFile(BufWriter<UnfinishedFile>);

impl LineFile {
    fn create(place: &Path) -> Result<LineFile> {
        Ok(LineFile(BufWriter::new(UnfinishedFile::create_private(place)?)))
    }

    fn write_line(&mut self, line: &[u8]) -> Result<()> {
        let written = self.0.write_all(line).and_then(|()| self.0.write_all(b"\n"));
        written.map_err(|error| Error::output(self.0.get_ref().path())(error))
    }

    fn finish(mut self, place: &Path) -> Result<()> {
        let written = self.0.flush().and_then(|()| Ok(self.0.into_inner()?));
        written.map_err(Error::output(place))?.finish()
    }
}
