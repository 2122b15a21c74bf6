//! What was seen of publications before, so that an older one is known for what it is.
//!
//! `publications/seen.json` beside the snapshots: by address, and by the key that signed, the newest
//! publication that was accepted.

use std::{collections::BTreeMap, fs, io, path::Path};

use chrono::{DateTime, Utc};
use pinakes_format::storage::publication::{PUBLICATIONS, Publication, moment};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::store::files::{make_directory, put};

/// The file's name, in [`PUBLICATIONS`].
const SEEN: &str = "seen.json";

/// The publications seen.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seen(BTreeMap<String, Last>);

/// One publication.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    version: String,
    created: String,
}

impl Last {
    fn of(publication: &Publication) -> Last {
        Last { version: publication.version.clone(), created: publication.created.clone() }
    }

    /// What is newer is greater: by what it holds, then by when it was published.
    fn age(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        let at = |text: &str| moment(text).unwrap_or(DateTime::UNIX_EPOCH);
        (at(&self.version), at(&self.created))
    }
}

impl Seen {
    /// What was seen by those who wrote into a directory of snapshots.
    ///
    /// # Errors
    ///
    /// Where it is not what was written there: forgetting it must be somebody's decision.
    pub fn read(snapshots: &Path) -> Result<Seen> {
        let path = snapshots.join(PUBLICATIONS).join(SEEN);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seen::default()),
            Err(error) => return Err(Error::input(path)(error)),
        };
        serde_json::from_slice(&text).map_err(|error| Error::Input {
            path,
            reason: format!("{error}; remove it to forget which versions were seen"),
        })
    }

    /// Why a publication is older than what was seen from its address or by its key; `None` where it is
    /// not.
    pub fn is_newer_than(&self, names: &[String], publication: &Publication) -> Option<String> {
        let offered = Last::of(publication);
        let newest =
            names.iter().filter_map(|name| self.0.get(name)).max_by_key(|last| last.age())?;
        (newest.age() > offered.age()).then(|| {
            format!(
                "version {} published {} is older than version {} published {}, which was seen \
                 before; if that is right, allow it with `--allow-rollback`",
                offered.version, offered.created, newest.version, newest.created
            )
        })
    }

    /// Remembers a publication that was accepted.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn remember(
        mut self,
        snapshots: &Path,
        names: &[String],
        publication: &Publication,
    ) -> Result<()> {
        for name in names {
            self.0.insert(name.clone(), Last::of(publication));
        }
        let directory = snapshots.join(PUBLICATIONS);
        make_directory(&directory)?;
        let mut text =
            serde_json::to_vec_pretty(&self).map_err(|error| Error::Internal(error.to_string()))?;
        text.push(b'\n');
        put(&directory.join(SEEN), &text)
    }
}
