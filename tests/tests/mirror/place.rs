//! Where tests of mirrors work: a publisher's snapshots, tree and keys, and a mirror's directory.

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
use pinakes_tests::{SeededRng, TINY_DUMP, files_below, program, shared_directory, write_files};

use crate::host::Host;
use pinakes_tests::server::make_writable;

/// A run of the compiler.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The compiler with arguments, and nothing of the environment's.
pub fn command<A: AsRef<OsStr>>(args: &[A]) -> Command {
    let mut command = Command::new(program("pinakes-compiler"));
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

/// A publisher and a mirror, in a directory that goes with the test.
pub struct Place(tempfile::TempDir);

impl Drop for Place {
    fn drop(&mut self) {
        make_writable(self.0.path());
    }
}

/// Works whose titles are long and alike in nothing, so that files have many chunks; one of them, by its
/// number, is of another version.
fn works(changed: Option<usize>) -> String {
    let mut rng = SeededRng(7);
    (0..400).fold(String::new(), |lines, number| {
        let digits = (0..12_000).map(|_| char::from(b'a' + rng.below(26) as u8));
        let mut title: String = digits.collect();
        let mut day = "2026-01-10";
        if changed == Some(number) {
            title = title.to_uppercase();
            day = "2026-01-11";
        }
        let id = 1_000 + number;
        lines
            + &format!(
                "{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"{title}\",\"updated_date\":\"{day}\"}}\n"
            )
    })
}

/// Authors enough for files of some chunks.
fn authors() -> String {
    let author = |id: u32| {
        let name = format!("Author {id} of the {}", "very ".repeat(20));
        format!("{{\"id\":\"https://openalex.org/A{id}\",\"display_name\":\"{name}\"}}\n")
    };
    (10_000..11_500).map(author).collect()
}

/// The snapshots that tests publish, each with its objects, in a directory that all tests share.
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

/// Which snapshot is published.
#[derive(Clone, Copy, Debug)]
pub enum Edition {
    /// A handful of records: every file is one chunk.
    Tiny,
    /// Files of many chunks.
    Old,
    /// The same but for one record, which is newer.
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

impl Place {
    /// With two pairs of keys, and nothing published.
    pub fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for name in ["ours", "other"] {
            let (key, pubkey) = (place.key(name), place.pubkey(name));
            let made = run(&[
                "keygen".as_ref(),
                "--key".as_ref(),
                key.as_os_str(),
                "--pubkey".as_ref(),
                pubkey.as_os_str(),
            ]);
            assert_eq!((made.code, made.stderr.as_str()), (Some(0), ""));
        }
        place
    }

    /// With an edition published and signed with our key.
    pub fn with(edition: Edition) -> Place {
        let place = Place::new();
        place.publish(edition, &[]);
        place
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

    /// Every file of the tree; who wrote it last is none of what it publishes.
    pub fn published(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = files_below(&self.tree());
        files.remove(".lock");
        files
    }

    /// An honest host of the tree.
    pub fn host(&self) -> Host {
        Host::of(self.tree())
    }

    pub fn pull_command(&self, url: &str, more: &[&str]) -> Command {
        let out = self.out();
        let mut args: Vec<&OsStr> = vec!["pull".as_ref(), url.as_ref()];
        args.extend(["--out".as_ref(), out.as_os_str()]);
        args.extend(more.iter().map(|arg| OsStr::new(*arg)));
        command(&args)
    }

    /// Pulls what our key signed.
    pub fn pull(&self, url: &str, more: &[&str]) -> Run {
        let pubkey = self.pubkey("ours");
        let mut args = vec!["--pubkey", pubkey.to_str().unwrap()];
        args.extend(more);
        self.pull_from_anybody(url, &args)
    }

    /// Pulls whoever signed it.
    pub fn pull_from_anybody(&self, url: &str, more: &[&str]) -> Run {
        let output = self.pull_command(url, more).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Changes what the tree publishes, and signs it anew with our key.
    pub fn edit(&self, change: impl FnOnce(&mut Publication)) {
        let path = self.tree().join(PUBLICATION);
        let mut publication = Publication::read(&fs::read(&path).unwrap()).unwrap();
        change(&mut publication);
        self.sign(&publication.text());
    }

    /// Publishes a text, signed with our key.
    pub fn sign(&self, text: &[u8]) {
        let signature = minisign::sign(None, &self.secret("ours"), text, Some("of a test"), None);
        let signature = signature.unwrap().to_string();
        let files = [(PUBLICATION, text), ("publication.json.minisig", signature.as_bytes())];
        write_files(&self.tree(), files);
    }

    /// Demands that an edition is what is current in the mirror, byte for byte.
    #[track_caller]
    pub fn demand(&self, edition: Edition, pulled: &Run) {
        let place = self.out().join(edition.id());
        let expected = format!("{}\n", place.display());
        assert_eq!(
            (pulled.code, pulled.stdout.as_str()),
            (Some(0), &*expected),
            "{}",
            pulled.stderr
        );
        assert_eq!(fs::read_link(self.out().join("current")).unwrap(), Path::new(&edition.id()));
        assert!(files_below(&place) == files_below(&edition.snapshot()), "the bytes differ");
        for name in ["", "manifest.json", "outputs", "outputs/records"] {
            let mode = fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
            let is_directory = place.join(name).is_dir();
            assert_eq!(mode, if is_directory { 0o555 } else { 0o444 }, "{name}");
        }
        let left: Vec<String> = fs::read_dir(self.out())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".tmp-") || name.starts_with(".pull-"))
            .collect();
        assert_eq!(left, [""; 0]);
    }

    /// Demands that a pull was refused, and that nothing was published.
    #[track_caller]
    pub fn demand_refusal(&self, pulled: &Run, code: i32, error: &str) {
        let last = pulled.stderr.lines().last().unwrap_or_default();
        assert_eq!(
            (pulled.code, last),
            (Some(code), &*format!("error: {error}")),
            "{}",
            pulled.stderr
        );
        assert_eq!(pulled.stdout, "");
        assert!(!self.out().join("current").exists(), "something is current");
    }
}
