//! The publications of a mirror: each fetched snapshot has its own, and the newest that were seen keep a host from going back.
//!
//! ```text
//! publications/4c….json    the publication of a snapshot as the host signed it
//! publications/seen.json   the newest accepted version by address and by signing key
//! ```

use std::{collections::BTreeMap, fs, io, path::Path};

use chrono::{DateTime, Utc};
use pinakes_format::storage::publication::{
    PUBLICATION, PUBLICATIONS, Publication, kept_path, moment,
};
use pinakes_remote::error::RemoteError;
use pinakes_remote::host::Host;
use pinakes_remote::trust::FetchedPublication;
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::files::{is_temporary_name, make_directory, write_atomically};

/// Name of the file of seen versions, in [`PUBLICATIONS`].
const SEEN: &str = "seen.json";

/// The newest accepted version by address and by key.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct SeenVersions(BTreeMap<String, String>);

/// Accepts a publication of a host and remembers its version, by the host's address and by the key that signed it.
///
/// `at_least` is one more publication that must not be newer; `allows_older` accepts an older publication.
///
/// # Errors
///
/// The publication is older than an accepted one, or `publications/seen.json` is corrupt: only the operator may decide to
/// forget the accepted versions.
pub fn accept(
    snapshots: &Path,
    host: &Host,
    fetched: &FetchedPublication,
    at_least: Option<&Publication>,
    allows_older: bool,
) -> Result<()> {
    let publication = &fetched.publication;
    let address = host.display("");
    // An address may change its key, and a key its address: each alone remembers the version.
    let mut names = vec![format!("address {}", address.trim_end_matches('/'))];
    names.extend(fetched.signer.as_ref().map(|signer| format!("key {signer}")));
    let seen = SeenVersions::read(snapshots)?;
    let known = names.iter().filter_map(|name| seen.0.get(name));
    let known = known.chain(at_least.map(|known| &known.version));
    let newest = known.max_by_key(|version| time_of(version));
    if let Some(newest) = newest
        && time_of(newest) > publication.version_at()
        && !allows_older
    {
        let reason = format!(
            "version {} is older than version {newest}, which was accepted before; if this is intended, pass \
             `--allow-rollback` to `pull`",
            publication.version
        );
        return Err(RemoteError::Untrusted { url: host.display(PUBLICATION), reason }.into());
    }
    // An older version that the operator allows replaces the newer one.
    let mut now = seen.clone();
    now.0.extend(names.into_iter().map(|name| (name, publication.version.clone())));
    if now == seen { Ok(()) } else { now.write(snapshots) }
}

impl SeenVersions {
    /// Reads the file in a directory of snapshots; no file means that nothing was accepted yet.
    fn read(snapshots: &Path) -> Result<SeenVersions> {
        let path = snapshots.join(PUBLICATIONS).join(SEEN);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(SeenVersions::default());
            }
            Err(error) => return Err(StoreError::read(path)(error)),
        };
        serde_json::from_slice(&text).map_err(|error| StoreError::Content {
            path,
            reason: format!("{error}; remove it to forget which versions were seen"),
        })
    }

    fn write(&self, snapshots: &Path) -> Result<()> {
        let directory = snapshots.join(PUBLICATIONS);
        make_directory(&directory)?;
        let path = directory.join(SEEN);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let mut text = text.map_err(StoreError::write(&path))?;
        text.push(b'\n');
        write_atomically(&path, &text)
    }
}

fn time_of(version: &str) -> DateTime<Utc> {
    moment(version).unwrap_or(DateTime::UNIX_EPOCH)
}

/// Keeps the publication of a snapshot, for servers, which read its expiry and its licence.
///
/// # Errors
///
/// The file cannot be written.
pub fn keep(snapshots: &Path, fetched: &FetchedPublication) -> Result<()> {
    make_directory(&snapshots.join(PUBLICATIONS))?;
    write_atomically(&kept_path(snapshots, &fetched.publication.snapshot.id), &fetched.text)
}

/// Removes publications of removed snapshots, and temporary files of killed runs.
pub fn remove_stale(snapshots: &Path) {
    let entries = fs::read_dir(snapshots.join(PUBLICATIONS)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_suffix(".json").filter(|id| id.len() == 16);
        if is_temporary_name(&name) || id.is_some_and(|id| !snapshots.join(id).is_dir()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
