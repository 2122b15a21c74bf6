//! The last files of a snapshot: the report, the hash tree and, after all others, the manifest.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::{fs, io};

use pinakes_format::schema::{schema_digits, schema_hash};
use pinakes_format::snapshot::{archive_path, archives};
use pinakes_format::storage::manifest::{HASHES, REPORT, SourceParts};
use pinakes_format::storage::{
    Counts, FORMAT_VERSION, FileEntry, HEADER_BYTES, Header, MANIFEST, Manifest, Written,
    append_levels, manifest,
};
use pinakes_format::text::time;

use crate::error::{Error, Result};
use crate::link::context::{Linker, WrittenFile};
use crate::link::tally::{SideTally, Tally};

/// The report of a snapshot.
///
/// The report is part of the snapshot's bytes. A struct fixes the order of members, which
/// `serde_json::Value` would leave to the features that other crates enable.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Accounting {
    pub entities: BTreeMap<String, Tally>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub side_tables: BTreeMap<String, SideTally>,
    pub warnings: BTreeMap<String, u64>,
}

/// Facts that a manifest states besides its files.
pub(crate) struct ManifestFacts {
    /// The newest `updated_date`, in microseconds since 1970.
    pub newest_micros: Option<i64>,
    pub counts: BTreeMap<String, Counts>,
    pub selection: Option<manifest::SubsetFilters>,
    /// Suppressed records by entity.
    pub suppressed: BTreeMap<String, u64>,
    /// Identifies the set of ids of `--suppress`.
    pub suppression: Option<String>,
}

impl Linker<'_> {
    /// Writes the report, the hash tree and, last, the manifest.
    pub(crate) fn write_manifest(
        &self,
        directory: &Path,
        mut files: Vec<WrittenFile>,
        facts: ManifestFacts,
        accounting: &Accounting,
    ) -> Result<Manifest> {
        let mut text = serde_json::to_vec_pretty(accounting)
            .map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        let report = write_durably(&directory.join(REPORT), &text)?;
        // The hash tree has the levels of all files in the order of the manifest, its own excluded.
        files.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut entries = vec![FileEntry::new(REPORT, text.len() as u64, report, None)];
        for (path, written) in &files {
            let header = read_header(directory, path)?;
            entries.push(FileEntry::new(path, written.size_bytes, written.root, Some(header)));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        entries.push(write_hashes(directory, &entries, files)?);
        entries.sort_by(|a, b| a.path.cmp(&b.path));

        // Objects come in the order of the inputs, which must not show.
        let mut parts: Vec<String> =
            self.objects.iter().map(|object| object.part().to_owned()).collect();
        parts.sort();
        parts.dedup();
        let ManifestFacts { newest_micros, counts, selection, suppressed, suppression } = facts;
        let newest_updated_date = newest_micros.and_then(moment_text);
        let mut manifest = Manifest {
            format_version: FORMAT_VERSION,
            id: String::new(),
            root: String::new(),
            schema: schema_digits(),
            source: SourceParts { newest_updated_date, parts },
            selection,
            suppressed,
            suppression,
            counts,
            files: entries,
        };
        manifest.set_root();
        write_durably(&directory.join(MANIFEST), &manifest.text())?;
        Ok(manifest)
    }
}

fn moment_text(micros: i64) -> Option<String> {
    let mut text = Vec::new();
    let digits = if micros.rem_euclid(1_000_000) == 0 { 0 } else { 6 };
    time::write_moment(&mut text, micros, digits)?;
    String::from_utf8(text).ok()
}

/// Reads the header of an archive that this run wrote.
fn read_header(directory: &Path, name: &str) -> Result<Header> {
    let path = directory.join(name);
    let mut bytes = [0; HEADER_BYTES];
    let read = File::open(&path).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(Error::output(&path))?;
    let archive = archives().find(|(kind, entity)| archive_path(*kind, *entity) == name);
    let header = archive
        .map(|(kind, entity)| Header::decode(&bytes, kind, entity, schema_hash()))
        .ok_or_else(|| Error::Internal(format!("`{name}` is no archive")))?;
    header.map_err(|error| Error::Internal(error.to_string()))
}

/// Writes a small file and syncs it to disk.
fn write_durably(path: &Path, text: &[u8]) -> Result<blake3::Hash> {
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(text)?;
        file.sync_all()
    };
    write().map_err(Error::output(path))?;
    Ok(blake3::hash(text))
}

/// Writes the hash tree levels of every file, in the order of the manifest. The levels of the report
/// are computed here, those of other files while the files were written.
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
    Ok(FileEntry::new(HASHES, size_bytes, hasher.finalize(), None))
}
