//! Opens a publication by its text, its signature and its manifest.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::{TimeDelta, Utc};
use minisign_verify::{PublicKey, Signature};
use pinakes_answer::ServedSnapshot;
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::absent::{ChunkSource, Missing};
use pinakes_format::storage::publication::Publication;
use pinakes_format::storage::{Manifest, ReadError};

use crate::clock::CLOCK;

/// Bytes of the sets of recent filters that a snapshot keeps.
const KEPT_SETS_BYTES: usize = 16 << 20;
/// How many days in the future a publication may be, because clocks differ.
const AHEAD_DAYS_MAX: i64 = 1;

/// An open publication, whose chunks JavaScript gives.
pub struct Opened {
    /// The snapshot as answers read it.
    pub served: Arc<ServedSnapshot>,
    lacking: Arc<Lacking>,
}

/// Absent chunks of the pieces of a body. A read cannot wait for them here: the read fails, and leaves them in this list.
#[derive(Default)]
struct Lacking(Mutex<Vec<Missing>>);

impl ChunkSource for Lacking {
    fn fetch(&self, missing: Vec<Missing>) -> Result<(), ReadError> {
        let file = missing.first().map(|part| part.path().to_owned()).unwrap_or_default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(missing);
        Err(ReadError::Absent { file })
    }
}

/// Reads a publication, which one of the keys must have signed; without keys, any. Returns the publication.
///
/// # Errors
///
/// In words for people.
pub fn read_publication(
    text: &[u8],
    signature: &str,
    keys: &[String],
) -> Result<Publication, String> {
    let publication = Publication::read(text).map_err(|error| error.to_string())?;
    if !keys.is_empty() {
        let signature = Signature::decode(signature)
            .map_err(|error| format!("the signature of the publication is malformed: {error}"))?;
        let is_signed = |key: &String| {
            PublicKey::from_base64(key).is_ok_and(|key| key.verify(text, &signature, false).is_ok())
        };
        if !keys.iter().any(is_signed) {
            return Err("none of the keys of this site signed the publication".into());
        }
    }
    if publication.version_at() > now() + TimeDelta::days(AHEAD_DAYS_MAX) {
        return Err(format!(
            "the `version` {} of the publication is more than a day in the future; check the clock",
            publication.version
        ));
    }
    Ok(publication)
}

fn now() -> chrono::DateTime<Utc> {
    CLOCK.now()
}

impl Opened {
    /// Opens the snapshot of a publication by its manifest. Reads none of its files.
    ///
    /// # Errors
    ///
    /// In words for people.
    pub fn open(publication: Publication, manifest: &[u8]) -> Result<Opened, String> {
        let manifest = Manifest::read(manifest).map_err(|error| error.to_string())?;
        let (found, expected) = (&manifest.root, &publication.snapshot.root);
        if found != expected {
            return Err(format!("the manifest has root hash {found}, expected {expected}"));
        }
        let lacking: Arc<Lacking> = Arc::default();
        let snapshot = Snapshot::open_given(manifest, Arc::clone(&lacking) as _)
            .map_err(|error| error.to_string())?;
        let kept = KeptSets::new(KEPT_SETS_BYTES);
        let served = ServedSnapshot::new(snapshot.keeping(&kept));
        served.freshness.set(Some(publication));
        Ok(Opened { served: Arc::new(served), lacking })
    }

    /// Takes the chunks that the last piece lacked.
    pub fn take_lacking(&self) -> Vec<Missing> {
        std::mem::take(&mut self.lacking.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
