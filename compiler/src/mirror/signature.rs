//! Signatures of publications, as minisign makes and reads them: ed25519 over the text, and over the
//! signature with its trusted comment.

use std::{
    env::VarError,
    fs,
    io::{self, Cursor, ErrorKind, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use blake2::{Blake2b256, Digest};
use minisign::{KeyPair, PublicKey, PublicKeyBox, SecretKey, SecretKeyBox, SignatureBox};

use crate::error::{Error, Result};

/// The largest signature that is read, in bytes.
pub const SIGNATURE_BYTES_MAX: u64 = 4 << 10;
/// The environment variable that a secret key's password is read from.
pub const PASSWORD: &str = "PINAKES_KEY_PASSWORD";
/// Bytes of a secret key as it is written: three algorithms, 48 of its password, its number, itself, and
/// a checksum.
const KEY_BYTES: usize = 6 + 48 + 8 + 64 + 32;
/// The base64 digits of a signature of 64 bytes.
const SIGNATURE_DIGITS: usize = 88;

/// A public key, as minisign writes it: a comment and the key, or the key alone.
///
/// # Errors
///
/// Where the file cannot be read, or holds none.
pub fn read_public(path: &Path) -> Result<PublicKey> {
    let text = fs::read_to_string(path).map_err(Error::input(path))?;
    let key = match text.trim().lines().count() {
        1 => PublicKey::from_base64(text.trim()),
        _ => PublicKeyBox::from_string(&text).and_then(PublicKeyBox::into_public_key),
    };
    key.map_err(|_| Error::Input {
        path: path.to_owned(),
        reason: "holds no public key of minisign; give the file that ends in `.pub`".into(),
    })
}

/// A secret key, as minisign writes it; the password, where it has one, is read from [`PASSWORD`] or
/// asked for.
///
/// # Errors
///
/// Where the file cannot be read, holds none, or the password is not its own.
pub fn read_secret(path: &Path) -> Result<SecretKey> {
    let refused = |reason: String| Error::Input { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(Error::input(path))?;
    let key = || SecretKeyBox::from_string(&text);
    let unlocked = key().and_then(SecretKeyBox::into_unencrypted_secret_key).ok();
    if let Some(key) = unlocked.or_else(|| read_unsealed(&text)) {
        return Ok(key);
    }
    let password = password()?;
    if password.is_none() && !io::stdin().is_terminal() {
        let reason = format!(
            "holds no secret key of minisign, or one with a password; give that in `{PASSWORD}`"
        );
        return Err(refused(reason));
    }
    let unlocked = key().and_then(|key| key.into_secret_key(password));
    unlocked.map_err(|error| refused(format!("no secret key of minisign: {error}")))
}

/// The password in [`PASSWORD`]; `None` where that is not set.
fn password() -> Result<Option<String>> {
    match std::env::var(PASSWORD) {
        Ok(password) => Ok(Some(password)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Error::Usage(format!("`{PASSWORD}` is not UTF-8; give a password that is")))
        }
    }
}

/// A secret key as `minisign -G -W` writes it: without a password, and with zeros for its checksum, which
/// is filled in here. That it is whole shows when it signs.
fn read_unsealed(text: &str) -> Option<SecretKey> {
    let digits = text.lines().nth(1)?.trim();
    let mut bytes: [u8; KEY_BYTES] = BASE64_STANDARD.decode(digits).ok()?.try_into().ok()?;
    let (sealed, checksum) = bytes.split_at_mut(KEY_BYTES - 32);
    let has_password = sealed[2..4] != [0, 0];
    if has_password || checksum.iter().any(|byte| *byte != 0) {
        return None;
    }
    // Of the algorithm, the number and the key itself.
    let mut hasher = Blake2b256::new();
    hasher.update(&sealed[..2]);
    hasher.update(&sealed[KEY_BYTES - 32 - 72..]);
    checksum.copy_from_slice(&hasher.finalize());
    SecretKey::from_bytes(&bytes).ok()
}

/// Makes a pair of keys: the secret one is its owner's alone to read, and has the password in
/// [`PASSWORD`], or none.
///
/// # Errors
///
/// Where a file is there already or cannot be written.
pub fn make_keys(secret: &Path, public: &Path) -> Result<()> {
    for path in [secret, public] {
        if fs::symlink_metadata(path).is_ok() {
            let reason = "it is there already, and a key that is replaced is lost; give another, or move \
                          it away";
            return Err(Error::output(path)(io::Error::new(ErrorKind::AlreadyExists, reason)));
        }
    }
    let internal = |error: minisign::PError| Error::Internal(format!("a pair of keys: {error}"));
    let pair = match password()? {
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password)),
        None => KeyPair::generate_unencrypted_keypair(),
    };
    let pair = pair.map_err(internal)?;
    let comment = format!("minisign secret key {}", shown(pair.pk.keynum()));
    let texts = (
        pair.sk.to_box(Some(&comment)).map_err(internal)?.to_bytes(),
        pair.pk.to_box().map_err(internal)?.to_bytes(),
    );
    let write = |path: &Path, mode: u32, text: &[u8]| {
        fs::File::options()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)
            .and_then(|mut file| file.write_all(text).and_then(|()| file.sync_all()))
            .map_err(Error::output(path))
    };
    write(secret, 0o600, &texts.0)?;
    write(public, 0o644, &texts.1).inspect_err(|_| {
        // Half a pair is of no use, and would stand in the way of the next.
        let _ = fs::remove_file(secret);
    })
}

/// Signs a text; the comment is signed with it.
///
/// # Errors
///
/// Where there is no randomness, or the key is damaged.
pub fn sign(key: &SecretKey, text: &[u8], comment: &str) -> Result<Vec<u8>> {
    let public = PublicKey::from_secret_key(key).ok();
    minisign::sign(public.as_ref(), key, text, Some(comment), Some("signature of publication.json"))
        .map(|signature| signature.to_string().into_bytes())
        .map_err(|error| Error::Internal(format!("a signature: {error}")))
}

/// Why a text is not signed by one of the keys, in words.
#[derive(Debug, PartialEq, Eq)]
pub enum Unsigned {
    /// Another key signed it.
    ByAnother(String),
    /// The signature is none, or none of this text: one of the two may be older than the other.
    Apart(String),
}

/// Demands that a signature is one of the text by one of the keys, its comment included; the key's id.
///
/// # Errors
///
/// Why it is none.
pub fn verify(
    keys: &[PublicKey],
    text: &[u8],
    signature: &[u8],
) -> std::result::Result<String, Unsigned> {
    let signature = std::str::from_utf8(signature).ok().filter(|text| has_its_lines(text));
    let signature = signature.and_then(|text| SignatureBox::from_string(text).ok());
    let none = || Unsigned::Apart("its signature is none of minisign's".into());
    let signature = signature.ok_or_else(none)?;
    let signer = shown(signature.keynum());
    let Some(key) = keys.iter().find(|key| key.keynum() == signature.keynum()) else {
        let known: Vec<String> = keys.iter().map(|key| shown(key.keynum())).collect();
        let known = known.join(" or ");
        return Err(Unsigned::ByAnother(format!("signed by key {signer}, expected {known}")));
    };
    minisign::verify(key, &signature, Cursor::new(text), true, false, false)
        .map_err(|error| Unsigned::Apart(format!("key {signer} did not sign this: {error}")))?;
    Ok(signer)
}

/// Whether a signature has its four lines, and the last is as long as it is taken for when it is read.
fn has_its_lines(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    matches!(lines[..], [_, _, _, global] if global.trim().len() == SIGNATURE_DIGITS)
}

/// The id of a key as minisign shows it.
fn shown(keynum: &[u8]) -> String {
    keynum.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pair() -> KeyPair {
        KeyPair::generate_unencrypted_keypair().unwrap()
    }

    #[test]
    fn a_signature_holds_for_its_text_and_comment_and_no_flip_of_it_does() {
        let (ours, other) = (pair(), pair());
        let keys = [other.pk.clone(), ours.pk.clone()];
        let signature = sign(&ours.sk, b"text", "version 1").unwrap();
        assert_eq!(verify(&keys, b"text", &signature), Ok(shown(ours.pk.keynum())));
        assert!(verify(&keys, b"test", &signature).is_err());
        let second_line = signature.iter().position(|byte| *byte == b'\n').unwrap();
        // White space at the end alone is nothing to anybody.
        for at in second_line + 1..signature.len() - 1 {
            let mut changed = signature.clone();
            changed[at] ^= 1;
            assert!(verify(&keys, b"text", &changed).is_err(), "byte {at}");
        }
        for at in 0..signature.len() - 1 {
            assert!(verify(&keys, b"text", &signature[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn who_signed_in_whose_place_is_said() {
        let (ours, other) = (pair(), pair());
        let signature = sign(&other.sk, b"text", "").unwrap();
        let (found, expected) = (shown(other.pk.keynum()), shown(ours.pk.keynum()));
        assert_eq!(
            verify(std::slice::from_ref(&ours.pk), b"text", &signature),
            Err(Unsigned::ByAnother(format!("signed by key {found}, expected {expected}")))
        );
    }
}
