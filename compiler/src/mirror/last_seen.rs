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
pub struct SeenVersions(BTreeMap<String, PublicationTime>);

/// Version and publication time of an accepted publication.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicationTime {
    version: String,
    created: String,
}

impl PublicationTime {
    fn new(publication: &Publication) -> PublicationTime {
        PublicationTime {
            version: publication.version.clone(),
            created: publication.created.clone(),
        }
    }

    /// Sort key, the newest greatest: first the version, then the publication time.
    fn age(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        let at = |text: &str| moment(text).unwrap_or(DateTime::UNIX_EPOCH);
        (at(&self.version), at(&self.created))
    }
}

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
        let offered = PublicationTime::new(publication);
        let newest =
            names.iter().filter_map(|name| self.0.get(name)).max_by_key(|last| last.age())?;
        (newest.age() > offered.age()).then(|| {
            format!(
                "version {} published {} is older than version {} published {}, which was accepted \
                 before; if this is intended, pass `--allow-rollback`",
                offered.version, offered.created, newest.version, newest.created
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
            self.0.insert(name.clone(), PublicationTime::new(publication));
        }
        let directory = snapshots.join(PUBLICATIONS);
        make_directory(&directory)?;
        let mut text =
            serde_json::to_vec_pretty(&self).map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        write_atomically(&directory.join(SEEN), &text)
    }
}
