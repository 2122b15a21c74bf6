//! The newest publication accepted so far, so that `pull` detects an older one.
//!
//! The file `publications/seen.json` beside the snapshots holds the newest accepted publication by
//! address and by signing key.

use std::{collections::BTreeMap, fs, io, path::Path};

use chrono::{DateTime, Utc};
use pinakes_format::storage::publication::{PUBLICATIONS, Publication, moment};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::store::files::{make_directory, write_atomically};

/// Name of the file, in [`PUBLICATIONS`].
const SEEN: &str = "seen.json";

/// The newest accepted version by address and by key.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeenVersions(BTreeMap<String, String>);

impl SeenVersions {
    /// Reads the file in a directory of snapshots; no file means that nothing was accepted yet.
    ///
    /// # Errors
    ///
    /// The file is corrupt. Only the operator may decide to forget the accepted versions.
    pub fn read(snapshots: &Path) -> Result<SeenVersions> {
        let path = snapshots.join(PUBLICATIONS).join(SEEN);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(SeenVersions::default());
            }
            Err(error) => return Err(Error::input(path)(error)),
        };
        serde_json::from_slice(&text).map_err(|error| Error::Input {
            path,
            reason: format!("{error}; remove it to forget which versions were seen"),
        })
    }

    /// Explains why a publication is older than one accepted from its address or key; `None` otherwise.
    pub fn rollback_reason(&self, names: &[String], publication: &Publication) -> Option<String> {
        let known = names.iter().filter_map(|name| self.0.get(name));
        let newest = known.max_by_key(|version| time_of(version))?;
        (time_of(newest) > publication.version_at()).then(|| {
            format!(
                "version {} is older than version {newest}, which was accepted before; if this is \
                 intended, pass `--allow-rollback`",
                publication.version
            )
        })
    }

    /// Records an accepted publication under its address and key, and writes the file.
    pub fn remember(
        mut self,
        snapshots: &Path,
        names: &[String],
        publication: &Publication,
    ) -> Result<()> {
        for name in names {
            self.0.insert(name.clone(), publication.version.clone());
        }
        let directory = snapshots.join(PUBLICATIONS);
        make_directory(&directory)?;
        let mut text =
            serde_json::to_vec_pretty(&self).map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        write_atomically(&directory.join(SEEN), &text)
    }
}

fn time_of(version: &str) -> DateTime<Utc> {
    moment(version).unwrap_or(DateTime::UNIX_EPOCH)
}
