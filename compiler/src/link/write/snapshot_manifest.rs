//! The last files of a snapshot: its report, its hashes and, when all else is there, its manifest.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
};

use pinakes_format::storage::header::{FORMAT_VERSION, Written, append_levels};
use pinakes_format::storage::manifest;
use pinakes_format::storage::manifest::{
    Counts, FileEntry, HASHES, MANIFEST, Manifest, REPORT, SourceParts,
};
use pinakes_format::text::time;

use crate::error::{Error, Result};
use crate::link::merge::orphans::Orphans;
use crate::link::publish::Published;
use crate::link::write::records::WrittenFile;
use crate::link::{Linker, SideTally, Tally};

/// The report of a snapshot. A type of its own, since the order of a `serde_json::Value`'s members
/// depends on the features that other crates of a build ask for, and these are bytes of the snapshot.
#[derive(serde::Serialize)]
pub(crate) struct Accounting {
    pub entities: BTreeMap<String, Tally>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub side_tables: BTreeMap<String, SideTally>,
    pub warnings: BTreeMap<String, u64>,
}

impl Linker<'_> {
    /// Writes the report, the hashes and, last, the manifest.
    pub(crate) fn seal(
        &self,
        directory: &Path,
        mut files: Vec<WrittenFile>,
        newest: Option<i64>,
        counts: BTreeMap<String, Counts>,
        (selection, suppressed): (Option<manifest::Selection>, BTreeMap<String, u64>),
        accounting: Accounting,
    ) -> Result<Published> {
        let mut text = serde_json::to_vec_pretty(&accounting)
            .map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        let report = write_whole(&directory.join(REPORT), &text)?;
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = vec![FileEntry {
            path: REPORT.into(),
            size_bytes: text.len() as u64,
            blake3: report.to_hex().to_string(),
        }];
        entries.extend(files.iter().map(|(path, written)| FileEntry {
            path: path.clone(),
            size_bytes: written.size_bytes,
            blake3: written.root.to_hex().to_string(),
        }));
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.push(write_hashes(directory, &entries, files)?);
        entries.sort_by(|a, b| a.path.cmp(&b.path));

        let mut parts: Vec<String> =
            self.objects.iter().map(|object| object.part().to_owned()).collect();
        parts.sort();
        parts.dedup();
        let mut manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            source: SourceParts { newest_updated_date: newest.and_then(moment_text), parts },
            selection,
            suppressed,
            counts,
            files: entries,
        };
        manifest.seal();
        write_whole(&directory.join(MANIFEST), &manifest.text())?;
        Ok(Published {
            path: directory.to_path_buf(),
            manifest,
            tallies: accounting.entities,
            side_tallies: accounting.side_tables,
            warnings: accounting.warnings,
            orphans: Orphans::default(),
        })
    }
}

fn moment_text(micros: i64) -> Option<String> {
    let mut text = Vec::new();
    let digits = if micros.rem_euclid(1_000_000) == 0 { 0 } else { 6 };
    time::write_moment(&mut text, micros, digits)?;
    String::from_utf8(text).ok()
}

/// Writes a small file and makes it durable.
fn write_whole(path: &Path, text: &[u8]) -> Result<blake3::Hash> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(text)?;
        file.sync_all()
    };
    write().map_err(Error::output(path))?;
    Ok(blake3::hash(text))
}

/// Gathers every file's levels, in the order of the manifest. The report is one chunk or has its
/// levels made here.
fn write_hashes(
    directory: &Path,
    entries: &[FileEntry],
    files: Vec<WrittenFile>,
) -> Result<FileEntry> {
    let path = directory.join(HASHES);
    let mut written: BTreeMap<String, Written> = files.into_iter().collect();
    let mut write = || -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 18, File::create_new(&path)?);
        for entry in entries {
            match written.remove(&entry.path) {
                Some(written) => append_levels(written, &mut out)?,
                None => {
                    let text = fs::read(directory.join(&entry.path))?;
                    let levels = pinakes_format::storage::integrity::levels_of(&text);
                    out.write_all(&levels)?;
                }
            }
        }
        out.into_inner().map_err(|error| error.into_error())?.sync_all()
    };
    write().map_err(Error::output(&path))?;
    let file = File::open(&path).map_err(Error::output(&path))?;
    let size_bytes = file.metadata().map_err(Error::output(&path))?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::output(&path))?;
    let blake3 = hasher.finalize().to_hex().to_string();
    Ok(FileEntry { path: HASHES.into(), size_bytes, blake3 })
}
