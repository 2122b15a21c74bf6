//! minisign's own program: what it signs is taken, and it takes what is signed here.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use pinakes_format::storage::publication::PUBLICATION;

use crate::place::{Edition, Place, command};

/// Runs it; `None`, said by name, where it is not installed.
fn minisign(test: &str, args: &[&Path]) -> Option<Output> {
    let output = Command::new("minisign").args(args).stdin(Stdio::null()).output();
    if output.is_err() {
        eprintln!("skipped: {test}: no minisign; .ci/run installs it");
    }
    output.ok()
}

fn demand(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn minisign_verifies_a_published_signature() {
    let place = Place::with(Edition::Tiny);
    let (text, pubkey) = (place.tree().join(PUBLICATION), place.pubkey("ours"));
    let args = ["-V".as_ref(), "-m".as_ref(), &*text, "-p".as_ref(), &*pubkey];
    let Some(verified) = minisign("minisign_verifies_a_published_signature", &args) else { return };
    demand(&verified);
    let said = String::from_utf8(verified.stdout).unwrap();
    let comment = format!(
        "Trusted comment: pinakes publication\tversion:2026-01-10T08:15:30.123456Z\tsnapshot:{}",
        Edition::Tiny.id()
    );
    assert!(said.contains(&comment), "{said}");
    fs::write(&text, "{}").unwrap();
    let args = ["-V".as_ref(), "-m".as_ref(), &*text, "-p".as_ref(), &*pubkey];
    assert!(!minisign("", &args).unwrap().status.success());
}

#[test]
fn a_signature_by_minisign_is_accepted() {
    let test = "a_signature_by_minisign_is_accepted";
    let place = Place::new();
    let (key, pubkey) = (place.path().join("their.key"), place.path().join("their.pub"));
    let args = ["-G".as_ref(), "-W".as_ref(), "-s".as_ref(), &*key, "-p".as_ref(), &*pubkey];
    let Some(made) = minisign(test, &args) else { return };
    demand(&made);
    // With its key here, and with ours there.
    let (tree, snapshot) = (place.tree(), Edition::Tiny.snapshot());
    let args = ["publish".as_ref(), snapshot.as_os_str(), "--to".as_ref(), tree.as_os_str()];
    let published = command(&args).arg("--key").arg(&key).output().unwrap();
    demand(&published);
    let host = place.host();
    let pull = |pubkey: &Path| {
        place.pull_from_anybody(&host.url(), &["--pubkey", pubkey.to_str().unwrap()])
    };
    place.demand(Edition::Tiny, &pull(&pubkey));

    demand(&command(&args).output().unwrap());
    assert_eq!(pull(&place.pubkey("ours")).code, Some(9));
    let (text, ours) = (tree.join(PUBLICATION), place.key("ours"));
    let args = ["-S".as_ref(), "-m".as_ref(), &*text, "-s".as_ref(), &*ours];
    demand(&minisign(test, &args).unwrap());
    place.demand(Edition::Tiny, &pull(&place.pubkey("ours")));
}

#[test]
fn a_key_with_a_password_signs_only_with_the_password() {
    let place = Place::new();
    let (key, pubkey) = (place.path().join("locked.key"), place.path().join("locked.pub"));
    let word = "PINAKES_KEY_PASSWORD";
    let args = [
        "keygen".as_ref(),
        "--key".as_ref(),
        key.as_os_str(),
        "--pubkey".as_ref(),
        pubkey.as_os_str(),
    ];
    demand(&command(&args).env(word, "a word").output().unwrap());
    // Nothing is made without the password that was meant.
    let (unmade, unread) = (place.path().join("unmade.key"), OsStr::from_bytes(b"a\xff"));
    let made = command(&["keygen"])
        .args([OsStr::new("--key"), unmade.as_os_str(), "--pubkey".as_ref()])
        .arg(place.path().join("unmade.pub"))
        .env(word, unread)
        .output()
        .unwrap();
    let error = "error: `PINAKES_KEY_PASSWORD` is not UTF-8; give a password that is\n";
    assert_eq!((made.status.code(), &*String::from_utf8_lossy(&made.stderr)), (Some(2), error));
    assert!(!unmade.exists(), "a key was made");
    let again = command(&args).env(word, "a word").output().unwrap();
    assert_eq!(again.status.code(), Some(6), "a key was written over");
    let (tree, snapshot) = (place.tree(), Edition::Tiny.snapshot());
    let publish = |password: Option<&str>| {
        let args = ["publish".as_ref(), snapshot.as_os_str(), "--to".as_ref(), tree.as_os_str()];
        let mut command = command(&args);
        command.args(["--quiet", "--key"]).arg(&key).stdin(Stdio::null());
        password.map(|password| command.env(word, password));
        command.output().unwrap()
    };
    for (password, code) in [(None, 3), (Some("another"), 3), (Some("a word"), 0)] {
        let published = publish(password);
        let errors = String::from_utf8_lossy(&published.stderr).into_owned();
        assert_eq!(published.status.code(), Some(code), "{password:?}: {errors}");
        assert!(!errors.contains("another"), "{errors}");
    }
    let pulled =
        place.pull_from_anybody(&place.host().url(), &["--pubkey", pubkey.to_str().unwrap()]);
    place.demand(Edition::Tiny, &pulled);
}
