//! Public keys and signatures in minisign's format: ed25519 over the text, and over the signature with its
//! trusted comment.

use std::{fs, io::Cursor, path::Path};

use minisign::{PublicKey, PublicKeyBox, SignatureBox};

use crate::error::{RemoteError, Result};

/// Name of the signature file at the root of a tree.
pub const SIGNATURE: &str = "publication.json.minisig";
/// Largest signature file, in bytes.
pub const SIGNATURE_BYTES_MAX: u64 = 4 << 10;
/// Base64 digits of a 64-byte signature.
const SIGNATURE_DIGITS: usize = 88;

/// Reads a public key in minisign's format: a comment and the key, or only the key.
pub fn read_public(path: &Path) -> Result<PublicKey> {
    let text = fs::read_to_string(path).map_err(RemoteError::read(path))?;
    let key = match text.trim().lines().count() {
        1 => PublicKey::from_base64(text.trim()),
        _ => PublicKeyBox::from_string(&text).and_then(PublicKeyBox::into_public_key),
    };
    key.map_err(|_| RemoteError::Input {
        path: path.to_owned(),
        reason: "is not a minisign public key; give the file that ends in `.pub`".into(),
    })
}

/// Why a signature is refused, with the message.
#[derive(Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// An unknown key made the signature.
    UnknownKey(String),
    /// The signature is malformed or belongs to another text, possibly an older one.
    Mismatch(String),
}

/// Verifies that one of the keys signed the text and the trusted comment; returns the key's id.
pub fn verify(
    keys: &[PublicKey],
    text: &[u8],
    signature: &[u8],
) -> std::result::Result<String, SignatureError> {
    let signature = std::str::from_utf8(signature).ok().filter(|text| has_four_lines(text));
    let signature = signature.and_then(|text| SignatureBox::from_string(text).ok());
    let malformed = || SignatureError::Mismatch("its signature is not in minisign's format".into());
    let signature = signature.ok_or_else(malformed)?;
    let signer = format_key_id(signature.keynum());
    let Some(key) = keys.iter().find(|key| key.keynum() == signature.keynum()) else {
        let known: Vec<String> = keys.iter().map(|key| format_key_id(key.keynum())).collect();
        let known = known.join(" or ");
        let reason = format!("signed by key {signer}, expected {known}");
        return Err(SignatureError::UnknownKey(reason));
    };
    minisign::verify(key, &signature, Cursor::new(text), true, false, false).map_err(|error| {
        SignatureError::Mismatch(format!("the signature by key {signer} does not match: {error}"))
    })?;
    Ok(signer)
}

/// Whether a signature has four lines, the last of which has the length that `minisign` assumes.
fn has_four_lines(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    matches!(lines[..], [_, _, _, global] if global.trim().len() == SIGNATURE_DIGITS)
}

/// Formats a key's id as minisign does.
pub fn format_key_id(keynum: &[u8]) -> String {
    keynum.iter().rev().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use minisign::{KeyPair, SecretKey};

    use super::*;

    fn pair() -> KeyPair {
        KeyPair::generate_unencrypted_keypair().unwrap()
    }

    fn sign(key: &SecretKey, text: &[u8], comment: &str) -> Vec<u8> {
        let signature = minisign::sign(None, key, text, Some(comment), None).unwrap();
        signature.to_string().into_bytes()
    }

    #[test]
    fn a_signature_verifies_only_its_text_and_comment() {
        let (ours, other) = (pair(), pair());
        let keys = [other.pk.clone(), ours.pk.clone()];
        let signature = sign(&ours.sk, b"text", "version 1");
        assert_eq!(verify(&keys, b"text", &signature), Ok(format_key_id(ours.pk.keynum())));
        assert!(verify(&keys, b"test", &signature).is_err());
        let second_line = signature.iter().position(|byte| *byte == b'\n').unwrap();
        // Flips every byte from the second line on, except the final line feed, which has no meaning.
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
    fn an_unknown_key_is_named_beside_the_expected_one() {
        let (ours, other) = (pair(), pair());
        let signature = sign(&other.sk, b"text", "");
        let (found, expected) = (format_key_id(other.pk.keynum()), format_key_id(ours.pk.keynum()));
        assert_eq!(
            verify(std::slice::from_ref(&ours.pk), b"text", &signature),
            Err(SignatureError::UnknownKey(format!("signed by key {found}, expected {expected}")))
        );
    }
}
