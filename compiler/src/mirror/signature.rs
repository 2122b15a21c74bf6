//! Secret keys in minisign's format, and signing. Mirrors verify with `pinakes_remote::signature`.

use std::{
    env::VarError,
    fs,
    io::{self, ErrorKind, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use blake2::{Blake2b256, Digest};
use minisign::{KeyPair, PublicKey, SecretKey, SecretKeyBox};
use pinakes_remote::signature::format_key_id;

use crate::error::{Error, Result};

/// Environment variable with the password of a secret key.
pub const PASSWORD: &str = "PINAKES_KEY_PASSWORD";
/// Bytes of an encoded secret key: three algorithms (2 bytes each), password data (48), key id (8),
/// key (64) and checksum (32).
const KEY_BYTES: usize = 6 + 48 + 8 + 64 + 32;

/// Reads a secret key in minisign's format. Takes its password from [`PASSWORD`] or from the terminal.
pub fn read_secret(path: &Path) -> Result<SecretKey> {
    let refused = |reason: String| Error::Input { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(Error::input(path))?;
    let key = || SecretKeyBox::from_string(&text);
    let unlocked = key().and_then(SecretKeyBox::into_unencrypted_secret_key).ok();
    if let Some(key) = unlocked.or_else(|| read_without_checksum(&text)) {
        return Ok(key);
    }
    let password = password()?;
    if password.is_none() && !io::stdin().is_terminal() {
        let reason = format!(
            "is not a minisign secret key, or has a password; set the password in `{PASSWORD}`"
        );
        return Err(refused(reason));
    }
    let unlocked = key().and_then(|key| key.into_secret_key(password));
    unlocked.map_err(|error| refused(format!("is not a readable minisign secret key: {error}")))
}

/// Returns the password in [`PASSWORD`]; `None` if the variable is not set.
fn password() -> Result<Option<String>> {
    match std::env::var(PASSWORD) {
        Ok(password) => Ok(Some(password)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Error::Usage(format!("`{PASSWORD}` is not UTF-8; choose a password in UTF-8")))
        }
    }
}

/// Reads a secret key written by `minisign -G -W`: without a password, and with zeros for its checksum.
/// Computes the checksum; a damaged key fails when it signs.
fn read_without_checksum(text: &str) -> Option<SecretKey> {
    let digits = text.lines().nth(1)?.trim();
    let mut bytes: [u8; KEY_BYTES] = BASE64_STANDARD.decode(digits).ok()?.try_into().ok()?;
    let (sealed, checksum) = bytes.split_at_mut(KEY_BYTES - 32);
    let has_password = sealed[2..4] != [0, 0];
    if has_password || checksum.iter().any(|byte| *byte != 0) {
        return None;
    }
    // The checksum covers the algorithm, the key id and the key.
    let mut hasher = Blake2b256::new();
    hasher.update(&sealed[..2]);
    hasher.update(&sealed[KEY_BYTES - 32 - 72..]);
    checksum.copy_from_slice(&hasher.finalize());
    SecretKey::from_bytes(&bytes).ok()
}

/// Makes a key pair, and returns the public key in base64. Only the owner can read the secret key; it gets the password in
/// [`PASSWORD`], or none.
pub fn make_keys(secret: &Path, public: &Path) -> Result<String> {
    for path in [secret, public] {
        if fs::symlink_metadata(path).is_ok() {
            let reason = "the file exists, and overwriting it would destroy a key; give another path, or \
                          move the file";
            return Err(Error::output(path)(io::Error::new(ErrorKind::AlreadyExists, reason)));
        }
    }
    let internal = |error: minisign::PError| Error::Internal(format!("key pair: {error}"));
    let pair = match password()? {
        Some(password) => KeyPair::generate_encrypted_keypair(Some(password)),
        None => KeyPair::generate_unencrypted_keypair(),
    };
    let pair = pair.map_err(internal)?;
    let comment = format!("minisign secret key {}", format_key_id(pair.pk.keynum()));
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
        // A secret key alone is useless and would block the next `keygen`.
        let _ = fs::remove_file(secret);
    })?;
    Ok(pair.pk.to_base64())
}

/// Signs a text together with a trusted comment.
pub fn sign(key: &SecretKey, text: &[u8], comment: &str) -> Result<Vec<u8>> {
    let public = PublicKey::from_secret_key(key).ok();
    minisign::sign(public.as_ref(), key, text, Some(comment), Some("signature of publication.json"))
        .map(|signature| signature.to_string().into_bytes())
        .map_err(|error| Error::Internal(format!("signing: {error}")))
}
