//! Tests that signatures are compatible with the program minisign in both directions.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Output, Stdio},
};

use pinakes_format::storage::publication::PUBLICATION;
use pinakes_tests::skip;

use crate::mirror::setup::{Edition, Setup, command};

/// Runs minisign; prints a skip message and returns `None` if minisign is not installed.
fn minisign(test: &str, args: &[&Path]) -> Option<Output> {
    let output = Command::new("minisign").args(args).stdin(Stdio::null()).output();
    if output.is_err() {
        skip(test, "no minisign; .ci/run installs it");
    }
    output.ok()
}

fn assert_success(output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn minisign_verifies_a_published_signature() {
    let setup = Setup::with(Edition::Tiny);
    let (text, pubkey) = (setup.tree().join(PUBLICATION), setup.pubkey("ours"));
    let args = ["-V".as_ref(), "-m".as_ref(), &*text, "-p".as_ref(), &*pubkey];
    let Some(verified) = minisign("minisign_verifies_a_published_signature", &args) else { return };
    assert_success(&verified);
    let stdout = String::from_utf8(verified.stdout).unwrap();
    let comment = format!(
        "Trusted comment: pinakes publication\tversion:{}\tsnapshot:{}",
        setup.publication().version,
        Edition::Tiny.id()
    );
    assert!(stdout.contains(&comment), "{stdout}");
    fs::write(&text, "{}").unwrap();
    let args = ["-V".as_ref(), "-m".as_ref(), &*text, "-p".as_ref(), &*pubkey];
    assert!(!minisign("", &args).unwrap().status.success());
}

#[test]
fn a_signature_by_minisign_is_accepted() {
    let test = "a_signature_by_minisign_is_accepted";
    let setup = Setup::new();
    let (key, pubkey) = (setup.path().join("their.key"), setup.path().join("their.pub"));
    let args = ["-G".as_ref(), "-W".as_ref(), "-s".as_ref(), &*key, "-p".as_ref(), &*pubkey];
    let Some(made) = minisign(test, &args) else { return };
    assert_success(&made);
    // `publish` signs with a key of minisign; below, minisign signs with a key of `keygen`.
    let (tree, snapshot) = (setup.tree(), Edition::Tiny.snapshot());
    let args = ["publish".as_ref(), snapshot.as_os_str(), "--to".as_ref(), tree.as_os_str()];
    let published = command(&args).arg("--key").arg(&key).output().unwrap();
    assert_success(&published);
    let host = setup.host();
    let pull =
        |pubkey: &Path| setup.pull_with(&host.url(), &["--pubkey", pubkey.to_str().unwrap()]);
    setup.assert_current(Edition::Tiny, &pull(&pubkey));

    assert_success(&command(&args).output().unwrap());
    assert_eq!(pull(&setup.pubkey("ours")).code, Some(9));
    let (text, ours) = (tree.join(PUBLICATION), setup.key("ours"));
    let args = ["-S".as_ref(), "-m".as_ref(), &*text, "-s".as_ref(), &*ours];
    assert_success(&minisign(test, &args).unwrap());
    setup.assert_current(Edition::Tiny, &pull(&setup.pubkey("ours")));
}

#[test]
fn a_key_with_a_password_signs_only_with_the_password() {
    let setup = Setup::new();
    let (key, pubkey) = (setup.path().join("locked.key"), setup.path().join("locked.pub"));
    let word = "PINAKES_KEY_PASSWORD";
    let args = [
        "keygen".as_ref(),
        "--key".as_ref(),
        key.as_os_str(),
        "--pubkey".as_ref(),
        pubkey.as_os_str(),
    ];
    assert_success(&command(&args).env(word, "a word").output().unwrap());
    // `keygen` writes no key if the password is not UTF-8.
    let (unmade, unread) = (setup.path().join("unmade.key"), OsStr::from_bytes(b"a\xff"));
    let made = command(&["keygen"])
        .args([OsStr::new("--key"), unmade.as_os_str(), "--pubkey".as_ref()])
        .arg(setup.path().join("unmade.pub"))
        .env(word, unread)
        .output()
        .unwrap();
    let error = "error: `PINAKES_KEY_PASSWORD` is not UTF-8; choose a password in UTF-8\n";
    assert_eq!((made.status.code(), &*String::from_utf8_lossy(&made.stderr)), (Some(2), error));
    assert!(!unmade.exists(), "keygen wrote a key");
    let again = command(&args).env(word, "a word").output().unwrap();
    assert_eq!(again.status.code(), Some(6), "keygen replaced a key");
    let (tree, snapshot) = (setup.tree(), Edition::Tiny.snapshot());
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
    let pulled = setup.pull_with(&setup.host().url(), &["--pubkey", pubkey.to_str().unwrap()]);
    setup.assert_current(Edition::Tiny, &pulled);
}
