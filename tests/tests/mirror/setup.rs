//! The directories of a test: a publisher's snapshots, tree and keys, and a mirror's directory.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use minisign::{SecretKey, SecretKeyBox};
use pinakes_format::storage::publication::{PUBLICATION, Publication};
use pinakes_tests::{
    SeededRng, TINY_DUMP, compiler_with_hangups, files_below, program, shared_directory,
    write_files,
};

use pinakes_tests::server::make_writable;
use pinakes_tests::static_host::Host;

/// A run of the compiler.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The compiler with arguments, without the proxies of the environment.
pub fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = compiler_with_hangups();
    command.args(args).env("RUST_BACKTRACE", "0");
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
    {
        command.env_remove(name);
    }
    command
}

pub fn run<A: AsRef<OsStr>>(args: &[A]) -> Run {
    let output = command(args).output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A publisher and a mirror in a temporary directory.
pub struct Setup(tempfile::TempDir);

impl Drop for Setup {
    fn drop(&mut self) {
        make_writable(self.0.path());
    }
}

/// 400 works with long random titles, so that files have many chunks. A title is the name too. The work
/// with the number `changed` has another title and a date in the future, which blocks no publication.
fn works(changed: Option<usize>) -> String {
    let mut rng = SeededRng(7);
    (0..400).fold(String::new(), |lines, number| {
        let digits = (0..12_000).map(|_| char::from(b'a' + rng.below(26) as u8));
        let mut title: String = digits.collect();
        let mut day = "2026-01-10";
        if changed == Some(number) {
            title = title.to_uppercase();
            day = "2098-01-11";
        }
        let id = 1_000 + number;
        lines
            + &format!(
                "{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"{title}\",\"updated_date\":\"{day}\"}}\n"
            )
    })
}

/// 1,500 authors with long names, for files of several chunks.
fn authors() -> String {
    let author = |id: u32| {
        let name = format!("Author {id} of the {}", "very ".repeat(20));
        format!("{{\"id\":\"https://openalex.org/A{id}\",\"display_name\":\"{name}\"}}\n")
    };
    (10_000..11_500).map(author).collect()
}

/// Builds the snapshots of all editions with their objects, in a directory that all tests share.
fn built() -> PathBuf {
    let made_of = [program("pinakes-compiler"), std::env::current_exe().unwrap()];
    let name = format!("editions of {}", made_of[0].display());
    shared_directory(&name, &made_of, |directory| {
        let dumps = tempfile::tempdir().unwrap();
        let at = |name: &str| dumps.path().join(name);
        write_files(&at("tiny"), TINY_DUMP);
        for (name, works) in [("old", works(None)), ("new", works(Some(200)))] {
            let files = [("works/part_000.jsonl", works), ("authors/part_000.jsonl", authors())];
            write_files(&at(name), files);
        }
        let inputs = [vec![at("tiny")], vec![at("tiny"), at("old")], vec![at("tiny"), at("new")]];
        for (number, inputs) in inputs.iter().enumerate() {
            let objects = directory.join(format!("objects-{number}"));
            let more = ["--quiet", "--objects", objects.to_str().unwrap()];
            pinakes_tests::build(inputs, &directory.join(format!("snapshots-{number}")), &more);
        }
    })
}

/// A snapshot that tests publish.
#[derive(Clone, Copy, Debug)]
pub enum Edition {
    /// The records of `TINY_DUMP`: every file is one chunk.
    Tiny,
    /// Files of many chunks.
    Old,
    /// `Old` with one newer record.
    New,
}

impl Edition {
    pub fn snapshot(self) -> PathBuf {
        let snapshots = built().join(format!("snapshots-{}", self as usize));
        snapshots.join(fs::read_link(snapshots.join("current")).unwrap())
    }

    pub fn objects(self) -> PathBuf {
        built().join(format!("objects-{}", self as usize))
    }

    pub fn id(self) -> String {
        self.snapshot().file_name().unwrap().to_str().unwrap().to_owned()
    }
}

impl Setup {
    /// Makes two pairs of keys and publishes nothing.
    pub fn new() -> Setup {
        let setup = Setup(tempfile::tempdir().unwrap());
        for name in ["ours", "other"] {
            let (key, pubkey) = (setup.key(name), setup.pubkey(name));
            let made = run(&[
                "keygen".as_ref(),
                "--key".as_ref(),
                key.as_os_str(),
                "--pubkey".as_ref(),
                pubkey.as_os_str(),
            ]);
            assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
        }
        setup
    }

    /// Publishes an edition, signed with the key `ours`.
    pub fn with(edition: Edition) -> Setup {
        let setup = Setup::new();
        setup.publish(edition, &[]);
        setup
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn tree(&self) -> PathBuf {
        self.path().join("tree")
    }

    pub fn out(&self) -> PathBuf {
        self.path().join("out")
    }

    pub fn key(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.key"))
    }

    pub fn pubkey(&self, name: &str) -> PathBuf {
        self.path().join(format!("{name}.pub"))
    }

    pub fn secret(&self, name: &str) -> SecretKey {
        let text = fs::read_to_string(self.key(name)).unwrap();
        SecretKeyBox::from_string(&text).unwrap().into_unencrypted_secret_key().unwrap()
    }

    pub fn try_publish(&self, edition: Edition, more: &[&str]) -> Run {
        let (snapshot, tree, key) = (edition.snapshot(), self.tree(), self.key("ours"));
        let mut args: Vec<&OsStr> = vec!["publish".as_ref(), snapshot.as_os_str()];
        args.extend(["--to".as_ref(), tree.as_os_str(), "--key".as_ref(), key.as_os_str()]);
        args.push("--quiet".as_ref());
        args.extend(more.iter().map(|arg| OsStr::new(*arg)));
        run(&args)
    }

    #[track_caller]
    pub fn publish(&self, edition: Edition, more: &[&str]) {
        let published = self.try_publish(edition, more);
        assert_eq!((published.code, published.stderr.as_str()), (Some(0), ""));
    }

    /// Every file of the tree except the lock file, which names the last writer.
    pub fn published(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = files_below(&self.tree());
        files.remove(".lock");
        files
    }

    /// Starts an honest host of the tree.
    pub fn host(&self) -> Host {
        Host::new(self.tree())
    }

    pub fn pull_command(&self, url: &str, more: &[&str]) -> Command {
        let out = self.out();
        let mut args: Vec<&OsStr> = vec!["pull".as_ref(), url.as_ref()];
        args.extend(["--out".as_ref(), out.as_os_str()]);
        args.extend(more.iter().map(|arg| OsStr::new(*arg)));
        command(&args)
    }

    /// Pulls with the public key `ours`.
    pub fn pull(&self, url: &str, more: &[&str]) -> Run {
        let pubkey = self.pubkey("ours");
        let mut args = vec!["--pubkey", pubkey.to_str().unwrap()];
        args.extend(more);
        self.pull_with(url, &args)
    }

    /// Pulls without the public key `ours`.
    pub fn pull_with(&self, url: &str, more: &[&str]) -> Run {
        let output = self.pull_command(url, more).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Changes the publication of the tree and signs it with the key `ours`.
    pub fn edit(&self, change: impl FnOnce(&mut Publication)) {
        let mut publication = self.publication();
        change(&mut publication);
        self.sign(&publication.text());
    }

    /// What is published.
    pub fn publication(&self) -> Publication {
        let text = fs::read(self.tree().join(PUBLICATION)).unwrap();
        Publication::read(&text).unwrap()
    }

    /// Publishes a text, signed with the key `ours`.
    pub fn sign(&self, text: &[u8]) {
        let signature = minisign::sign(None, &self.secret("ours"), text, Some("of a test"), None);
        let signature = signature.unwrap().to_string();
        let files = [(PUBLICATION, text), ("publication.json.minisig", signature.as_bytes())];
        write_files(&self.tree(), files);
    }

    /// Asserts that the current snapshot of the mirror equals an edition byte for byte.
    #[track_caller]
    pub fn assert_current(&self, edition: Edition, pulled: &Run) {
        let setup = self.out().join(edition.id());
        let expected = format!("{}\n", setup.display());
        assert_eq!(
            (pulled.code, pulled.stdout.as_str()),
            (Some(0), &*expected),
            "{}",
            pulled.stderr
        );
        assert_eq!(fs::read_link(self.out().join("current")).unwrap(), Path::new(&edition.id()));
        assert!(files_below(&setup) == files_below(&edition.snapshot()), "the bytes differ");
        for name in ["", "manifest.json", "outputs", "outputs/records"] {
            let mode = fs::metadata(setup.join(name)).unwrap().permissions().mode() & 0o777;
            let is_directory = setup.join(name).is_dir();
            assert_eq!(mode, if is_directory { 0o555 } else { 0o444 }, "{name}");
        }
        let left: Vec<String> = fs::read_dir(self.out())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".tmp-") || name.starts_with(".pull-"))
            .collect();
        assert_eq!(left, [""; 0]);
    }

    /// Asserts that a pull failed with an error and published nothing.
    #[track_caller]
    pub fn assert_rejected(&self, pulled: &Run, code: i32, error: &str) {
        let last = pulled.stderr.lines().last().unwrap_or_default();
        assert_eq!(
            (pulled.code, last),
            (Some(code), &*format!("error: {error}")),
            "{}",
            pulled.stderr
        );
        assert_eq!(pulled.stdout, "");
        assert!(!self.out().join("current").exists(), "`current` exists");
    }
}
