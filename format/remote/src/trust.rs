//! Trust in a publication: its signature and its age.

use std::{thread, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use minisign::PublicKey;
use pinakes_format::storage::publication::{
    PUBLICATION, PUBLICATION_BYTES_MAX, PUBLICATIONS, Publication,
};

use crate::error::{RemoteError, Result};
use crate::escape::escape_text;
use crate::host::{Extent, Failure, Host};
use crate::signature::{SIGNATURE, SIGNATURE_BYTES_MAX, SignatureError, verify};

/// First pause between two attempts; each later pause doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
/// Longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// How many days in the future a publication may be, because clocks differ.
const AHEAD_DAYS_MAX: i64 = 1;

/// A fetched publication whose signature was verified, if keys were given.
pub struct FetchedPublication {
    /// The bytes as received, which the signature covers.
    pub text: Vec<u8>,
    /// The publication parsed from `text`.
    pub publication: Publication,
    /// Id of the key that signed it; `None` without keys.
    pub signer: Option<String>,
}

/// Fetches the publication of a host. With keys, one of them must have signed it.
///
/// Fetches a publication and a signature that do not match again until the timeout: the host may be
/// replacing both. A signature in `publications/` that matches does, too.
pub fn fetch(host: &Host, keys: &[PublicKey]) -> Result<FetchedPublication> {
    let untrusted =
        |reason: String| RemoteError::Untrusted { url: host.display(PUBLICATION), reason };
    let read_file = |path, bytes_max| host.read_file(path, &Extent::UpTo(bytes_max));
    let timeout = host.timeout();
    let (mut pause, mut waited) = (PAUSE_FIRST, Duration::ZERO);
    loop {
        let text = read_file(PUBLICATION, PUBLICATION_BYTES_MAX)
            .map_err(|failure| host.error(PUBLICATION, failure))?;
        if keys.is_empty() {
            return Ok(FetchedPublication { publication: read(host, &text)?, text, signer: None });
        }
        let signature = match read_file(SIGNATURE, SIGNATURE_BYTES_MAX) {
            Ok(signature) => signature,
            Err(Failure::NotFound) => {
                return Err(untrusted(format!("it is not signed: the host has no `{SIGNATURE}`")));
            }
            Err(failure) => return Err(host.error(SIGNATURE, failure)),
        };
        match verify(keys, &text, &signature) {
            Ok(signer) => {
                let publication = read(host, &text)?;
                return Ok(FetchedPublication { publication, text, signer: Some(signer) });
            }
            Err(SignatureError::UnknownKey(reason)) => return Err(untrusted(reason)),
            // A run of `publish` that ended between the two files left the signature beside the kept publication.
            Err(SignatureError::Mismatch(_))
                if let Some(signer) = signer_beside(host, keys, &text) =>
            {
                let publication = read(host, &text)?;
                return Ok(FetchedPublication { publication, text, signer: Some(signer) });
            }
            Err(SignatureError::Mismatch(reason)) if waited >= timeout => {
                let seconds = timeout.as_secs();
                return Err(untrusted(format!(
                    "{reason} (tried for {seconds} s); if the host is publishing, run again later"
                )));
            }
            Err(SignatureError::Mismatch(_)) => {}
        }
        let next = pause.min(timeout - waited);
        thread::sleep(next);
        waited += next;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// The signer of a publication by the signature that the host keeps with it.
fn signer_beside(host: &Host, keys: &[PublicKey], text: &[u8]) -> Option<String> {
    let id = Publication::read(text).ok()?.snapshot.id;
    let extent = Extent::UpTo(SIGNATURE_BYTES_MAX);
    let signature = host.read_file(&kept_signature(&id), &extent).ok()?;
    verify(keys, text, &signature).ok()
}

/// The path in a tree of the signature that is written before a publication takes effect.
pub fn kept_signature(id: &str) -> String {
    format!("{PUBLICATIONS}/{id}.json.minisig")
}

fn read(host: &Host, text: &[u8]) -> Result<Publication> {
    Publication::read(text).map_err(|error| RemoteError::Damaged {
        url: host.display(PUBLICATION),
        reason: escape_text(&error.to_string()),
    })
}

/// Returns whether a publication has expired.
///
/// # Errors
///
/// The publication is from the future, or has expired, unless `allow_stale` is set.
pub fn check_age(
    publication: &Publication,
    url: &str,
    now: DateTime<Utc>,
    allow_stale: bool,
) -> Result<bool> {
    let untrusted = |reason: String| RemoteError::Untrusted { url: url.to_owned(), reason };
    let latest = now + TimeDelta::days(AHEAD_DAYS_MAX);
    if publication.version_at() > latest {
        return Err(untrusted(format!(
            "its `version` {} is more than a day in the future; check this machine's clock. A \
             publication with this version would block all later ones",
            publication.version
        )));
    }
    let is_stale = publication.expires_at() <= now;
    if is_stale && !allow_stale {
        return Err(untrusted(format!(
            "it expired {}; the host may be hiding a newer one; to accept it, pass `--allow-stale`",
            publication.expires
        )));
    }
    Ok(is_stale)
}
