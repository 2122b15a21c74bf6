//! Whether a publication is to be believed: who signed it, how old it is, and what was seen before.

use std::{thread, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use minisign::PublicKey;
use pinakes_format::storage::publication::{PUBLICATION, PUBLICATION_BYTES_MAX, Publication};

use crate::error::{Error, Result};
use crate::mirror::SIGNATURE;
use crate::mirror::host::{Fault, Host, Part};
use crate::mirror::signature::{SIGNATURE_BYTES_MAX, Unsigned, verify};
use crate::terminal::escape::shown_text;

/// The first pause between two tries; each is twice the one before.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// How far in the future a publication may be, in days: clocks differ.
const AHEAD_DAYS_MAX: i64 = 1;

/// A publication as it was fetched.
pub struct Fetched {
    /// Its text.
    pub text: Vec<u8>,
    /// The publication.
    pub publication: Publication,
    /// The id of the key that signed it; `None` where no key was asked for.
    pub signer: Option<String>,
}

/// Fetches the publication of a host. With keys it must be signed by one of them. A publication and a
/// signature that do not belong together are asked for again until the host's patience is over: one of them
/// may be uploaded, and the other not yet.
///
/// # Errors
///
/// Where it cannot be fetched, is none, or is not signed.
pub fn fetch(host: &Host, keys: &[PublicKey]) -> Result<Fetched> {
    let untrusted = |reason: String| Error::Untrusted { url: host.shown(PUBLICATION), reason };
    let whole = |path, bytes_max| host.whole(path, &Part::UpTo(bytes_max));
    let patience = host.timeout();
    let (mut pause, mut waited) = (PAUSE_FIRST, Duration::ZERO);
    loop {
        let text = whole(PUBLICATION, PUBLICATION_BYTES_MAX)
            .map_err(|fault| host.error(PUBLICATION, fault))?;
        if keys.is_empty() {
            return Ok(Fetched { publication: read(host, &text)?, text, signer: None });
        }
        let signature = match whole(SIGNATURE, SIGNATURE_BYTES_MAX) {
            Ok(signature) => signature,
            Err(Fault::Absent) => {
                return Err(untrusted(format!("it is not signed: there is no `{SIGNATURE}`")));
            }
            Err(fault) => return Err(host.error(SIGNATURE, fault)),
        };
        match verify(keys, &text, &signature) {
            Ok(signer) => {
                return Ok(Fetched { publication: read(host, &text)?, text, signer: Some(signer) });
            }
            Err(Unsigned::ByAnother(reason)) => return Err(untrusted(reason)),
            Err(Unsigned::Apart(reason)) if waited >= patience => {
                let seconds = patience.as_secs();
                return Err(untrusted(format!(
                    "{reason}, asked for {seconds} s; or an upload is under way: run again when it is done"
                )));
            }
            Err(Unsigned::Apart(_)) => {}
        }
        let next = pause.min(patience - waited);
        thread::sleep(next);
        waited += next;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn read(host: &Host, text: &[u8]) -> Result<Publication> {
    Publication::read(text).map_err(|error| Error::Damaged {
        path: host.shown(PUBLICATION).into(),
        reason: shown_text(&error.to_string()),
    })
}

/// Whether a publication has expired, as far as it may have.
///
/// # Errors
///
/// Where it is of the future, or has expired and must not have.
pub fn check_age(
    publication: &Publication,
    url: &str,
    now: DateTime<Utc>,
    require_fresh: bool,
) -> Result<bool> {
    let untrusted = |reason: String| Error::Untrusted { url: url.to_owned(), reason };
    let latest = now + TimeDelta::days(AHEAD_DAYS_MAX);
    for (what, text, at) in [
        ("version", &publication.version, publication.version_at()),
        ("created", &publication.created, publication.created_at()),
    ] {
        if at > latest {
            return Err(untrusted(format!(
                "its `{what}` {text} is more than a day from now; if the clock here is right, nothing \
                 newer could ever follow it"
            )));
        }
    }
    let is_stale = publication.expires_at() <= now;
    if is_stale && require_fresh {
        return Err(untrusted(format!(
            "it expired {}, and `--require-fresh` takes none that has; a newer one may be kept from us",
            publication.expires
        )));
    }
    Ok(is_stale)
}
