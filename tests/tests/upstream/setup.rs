//! Shared by the tests: two signed publications, mirrors of them, and requests with the answers of the complete
//! snapshot.

use std::{
    ffi::OsStr,
    fs, io,
    net::SocketAddr,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
    time::Instant,
};

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::integrity::CHUNK_BYTES;
use pinakes_generate::Plan;
use pinakes_tests::client::{Connection, REPLY_TIMEOUT, Response, request};
use pinakes_tests::compiler_run::size_from_env;
use pinakes_tests::server::{Server, command};
use pinakes_tests::{
    build, compiler, files_below, make_writable, program, shared_directory, write_files,
};

/// Outputs of the dump, so that the large files have several thousand chunks and three levels of hashes. `PINAKES_OUTPUTS`
/// sets another number, to count rounds of a larger snapshot.
pub fn outputs() -> u64 {
    size_from_env("PINAKES_OUTPUTS", 4_000)
}

/// A snapshot that is published.
#[derive(Clone, Copy, Debug)]
pub enum Edition {
    Old,
    /// `Old` with one newer record.
    New,
}

impl Edition {
    fn name(self) -> &'static str {
        match self {
            Edition::Old => "old",
            Edition::New => "new",
        }
    }

    /// The directory that `build` made.
    pub fn snapshots(self) -> PathBuf {
        published().join(format!("snapshots-{}", self.name()))
    }

    pub fn id(self) -> String {
        let current = fs::read_link(self.snapshots().join("current")).unwrap();
        current.to_str().unwrap().to_owned()
    }

    pub fn snapshot(self) -> PathBuf {
        self.snapshots().join(self.id())
    }

    /// The published tree. The tree of `New` has both snapshots.
    pub fn tree(self) -> PathBuf {
        published().join(format!("tree-{}", self.name()))
    }
}

/// Runs the compiler, which must succeed.
#[track_caller]
pub fn run<A: AsRef<OsStr>>(args: &[A]) -> Output {
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    output
}

/// The public key of the publisher.
pub fn pubkey() -> PathBuf {
    published().join("ours.pub")
}

/// Makes the publications once for all tests.
fn published() -> PathBuf {
    let made_of = [program("pinakes-compiler"), std::env::current_exe().unwrap()];
    let name = format!("publications of {} outputs of {}", outputs(), made_of[0].display());
    shared_directory(&name, &made_of, |directory| {
        let at = |name: &str| directory.join(name);
        let [key, pubkey] = ["ours.key", "ours.pub"].map(at);
        run(&[
            "keygen".as_ref(),
            "--key".as_ref(),
            key.as_os_str(),
            "--pubkey".as_ref(),
            pubkey.as_os_str(),
        ]);
        let dumps = tempfile::tempdir().unwrap();
        let [dump, awards, more] = ["dump", "awards", "more"].map(|name| dumps.path().join(name));
        pinakes_generate::write_dump(&Plan::new(outputs(), 49), &dump, 2).unwrap();
        // Generated dumps have no awards.
        let award = |number: u32| {
            format!(
                "{{\"id\":\"https://openalex.org/G{number}\",\"display_name\":\"Award {number}\",\"updated_date\":\"2026-01-10\"}}\n"
            )
        };
        write_files(&awards, [("awards/part_000.jsonl", (1..=40).map(award).collect::<String>())]);
        let work = r#"{"id":"https://openalex.org/W9999999999","title":"One more","updated_date":"2026-12-31"}"#;
        write_files(&more, [("works/part_000.jsonl", work)]);
        let old = vec![dump, awards];
        let new = [old.as_slice(), &[more]].concat();
        for (edition, inputs) in [("old", old), ("new", new)] {
            let snapshot = build(&inputs, &at(&format!("snapshots-{edition}")), &["--quiet"]);
            // The newer tree has both.
            let trees = if edition == "old" { &["old", "new"][..] } else { &["new"] };
            for tree in trees {
                publish(&snapshot, &at(&format!("tree-{tree}")), &key, &[]);
            }
        }
    })
}

fn publish(snapshot: &Path, tree: &Path, key: &Path, more: &[&str]) {
    let mut args = vec!["publish".as_ref(), snapshot.as_os_str(), "--to".as_ref()];
    args.extend([tree.as_os_str(), "--key".as_ref(), key.as_os_str(), "--quiet".as_ref()]);
    args.extend(more.iter().map(OsStr::new));
    run(&args);
}

/// Publishes a snapshot into a tree, for servers that switch at a time.
pub fn publish_at(edition: Edition, tree: &Path, activates_at: &str) {
    let key = published().join("ours.key");
    publish(&edition.snapshot(), tree, &key, &["--activate-at", activates_at]);
}

/// A directory of snapshots, empty at first.
pub struct Mirror {
    path: PathBuf,
    /// The directory above, if the mirror has one of its own.
    _own: Option<tempfile::TempDir>,
}

impl Drop for Mirror {
    fn drop(&mut self) {
        make_writable(&self.path);
    }
}

impl Mirror {
    pub fn empty() -> Mirror {
        let own = tempfile::tempdir().unwrap();
        Mirror { path: own.path().join("mirror"), _own: Some(own) }
    }

    /// A mirror in a directory that is not there yet.
    pub fn at(path: PathBuf) -> Mirror {
        Mirror { path, _own: None }
    }

    /// Pulls the older snapshot, as a whole.
    pub fn pulled(url: &str) -> Mirror {
        let mirror = Mirror::empty();
        mirror.pull(url);
        mirror
    }

    pub fn pull(&self, url: &str) {
        let (out, pubkey) = (self.path(), pubkey());
        let args = [
            "pull",
            url,
            "--quiet",
            "--pubkey",
            pubkey.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ];
        run(&args);
    }

    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    pub fn snapshot(&self, edition: Edition) -> PathBuf {
        self.path().join(edition.id())
    }

    /// The server, without hosts.
    pub fn command(&self, more: &[&str]) -> Command {
        let path = self.path();
        command(&[&["--snapshots", path.to_str().unwrap()], more].concat())
    }

    /// The server with these hosts.
    pub fn command_from(&self, urls: &[&str], more: &[&str]) -> Command {
        let mut command = self.command(more);
        command.arg("--pubkey").arg(pubkey());
        for url in urls {
            command.args(["--from", url]);
        }
        command
    }

    pub fn start(&self, url: &str, more: &[&str]) -> Server {
        Server::start(&mut self.command_from(&[url], more))
    }

    /// Whether chunks of a snapshot may be absent.
    pub fn is_partial(&self, edition: Edition) -> bool {
        self.snapshot(edition).join("partial").exists()
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < REPLY_TIMEOUT, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Files below a directory, with their modes.
pub fn files_and_modes(directory: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mode =
        |name: &str| fs::metadata(directory.join(name)).unwrap().permissions().mode() & 0o777;
    files_below(directory)
        .into_iter()
        .map(|(name, bytes)| (name.clone(), mode(&name), bytes))
        .collect()
}

/// Asserts that the chunks of a partial snapshot's large files are those of the older snapshot, or were never written.
#[track_caller]
pub fn assert_only_right_chunks(place: &Path) {
    for file in ["outputs/records", "authors/records", "outputs/ids"] {
        let [is, was] =
            [place, &Edition::Old.snapshot()].map(|at| fs::read(at.join(file)).unwrap());
        let chunks = is.chunks(CHUNK_BYTES).zip(was.chunks(CHUNK_BYTES));
        let wrong = chunks.filter(|(is, was)| is != was && is.iter().any(|byte| *byte != 0));
        assert_eq!((is.len(), wrong.count()), (was.len(), 0), "{file}");
    }
}

/// A request that a test sends.
#[derive(Clone, Debug)]
pub struct Ask {
    pub target: String,
    /// The type of a posted body, and the body.
    pub body: Option<(&'static str, String)>,
}

impl Ask {
    pub fn get(target: impl Into<String>) -> Ask {
        Ask { target: target.into(), body: None }
    }

    pub fn post(target: &str, of: &'static str, body: impl Into<String>) -> Ask {
        Ask { target: target.to_owned(), body: Some((of, body.into())) }
    }

    /// Sends the request on a new connection.
    #[track_caller]
    pub fn send(&self, server: SocketAddr) -> Response {
        self.try_send(server).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// Sends the request on a new connection. Fails where the server ends meanwhile.
    pub fn try_send(&self, server: SocketAddr) -> io::Result<Response> {
        let (method, raw) = match &self.body {
            None => ("GET", request("GET", &self.target, &[])),
            Some((of, body)) => {
                let (of, length) =
                    (format!("Content-Type: {of}"), format!("Content-Length: {}", body.len()));
                ("POST", request("POST", &self.target, &[&of, &length]) + body)
            }
        };
        let mut connection = Connection::try_open(server)?;
        connection.send(raw.as_bytes())?;
        connection.receive_to(method)
    }
}

/// A request and its right answer.
pub struct Asked {
    pub ask: Ask,
    pub right: Response,
}

impl Asked {
    /// Asserts that a server gives the right answer.
    #[track_caller]
    pub fn assert_right(&self, server: &Server) {
        let reply = self.ask.try_send(server.address());
        let reply =
            reply.unwrap_or_else(|error| panic!("{:?}: {error}\n{}", self.ask, server.log()));
        assert!(
            self.is_right(&reply),
            "{:?}: {}\n{}",
            self.ask,
            self.difference(&reply),
            server.log()
        );
    }

    pub fn is_right(&self, reply: &Response) -> bool {
        (reply.status, &reply.body) == (self.right.status, &self.right.body)
            && reply.headers_without_date() == self.right.headers_without_date()
    }

    fn difference(&self, reply: &Response) -> String {
        let shown = |of: &Response| {
            let text = String::from_utf8_lossy(&of.body).into_owned();
            let end = text.char_indices().nth(300).map_or(text.len(), |(at, _)| at);
            format!("{} {:?}, {} bytes: {}", of.status, of.headers, text.len(), &text[..end])
        };
        format!("\n{}\ninstead of\n{}", shown(reply), shown(&self.right))
    }

    /// Asserts that a server gives the right answer, or 503 with the time of another try, or cuts a stream off. Returns
    /// whether the answer is right.
    #[track_caller]
    pub fn assert_right_or_unavailable(&self, server: &Server) -> bool {
        let Ok(reply) = self.ask.try_send(server.address()) else { return false };
        if reply.status == 503 {
            assert_unavailable(&reply);
            return false;
        }
        assert!(self.is_right(&reply), "{:?}: {}", self.ask, self.difference(&reply));
        true
    }
}

/// Asserts that a reply says when to try again.
#[track_caller]
pub fn assert_unavailable(reply: &Response) {
    assert_eq!(reply.status, 503, "{}", reply.text());
    let seconds: u32 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 0);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

/// The target of an output of the older snapshot, by its place in the default order.
pub fn output(row: u32) -> String {
    static SNAPSHOT: OnceLock<Snapshot> = OnceLock::new();
    let snapshot = SNAPSHOT.get_or_init(|| Snapshot::open(&Edition::Old.snapshot()).unwrap());
    format!("/outputs/HX_W{}", snapshot.row_id(Entity::Output, row).unwrap())
}

/// Answers of the complete snapshot.
pub fn answers(edition: Edition, asks: Vec<Ask>) -> Vec<Asked> {
    let server = Server::serve_one(&edition.snapshot());
    asks.into_iter().map(|ask| Asked { right: ask.send(server.address()), ask }).collect()
}

/// Requests of all kinds with the answers of the older snapshot.
pub fn all_kinds() -> &'static [Asked] {
    static ALL: OnceLock<Vec<Asked>> = OnceLock::new();
    ALL.get_or_init(|| {
        let asked = answers(Edition::Old, asks());
        let refused = asked.iter().filter(|asked| !matches!(asked.right.status, 200 | 303));
        let refused: Vec<_> = refused.map(|asked| (&asked.ask, asked.right.text())).collect();
        assert!(refused.is_empty(), "{refused:?}");
        asked
    })
}

/// Three words of the title of an output.
pub fn three_words() -> String {
    let page = answers(Edition::Old, vec![Ask::get("/outputs?page=40&select=name")]);
    let words_of = |name: &str| -> Vec<String> {
        let words = name.split(|sign: char| !sign.is_alphabetic());
        words.filter(|word| word.len() > 3 && word.is_ascii()).map(str::to_owned).collect()
    };
    let results = page[0].right.json()["results"].as_array().unwrap().clone();
    let words = results.iter().map(|record| words_of(record["name"].as_str().unwrap_or_default()));
    words.into_iter().find(|words| words.len() >= 3).expect("a title has three words")[..3]
        .join("+")
}

fn asks() -> Vec<Ask> {
    let words = three_words();
    let id = output(1_000).rsplit('/').next().unwrap().to_owned();
    let mut asks: Vec<Ask> = [
        "/outputs",
        "/outputs?page=40",
        "/outputs?filter=is_oa:true,year:2000-2015&sort=cites:desc",
        "/outputs?filter=type:article|review&sort=year:desc,name&per_page=50",
        "/outputs?filter=year:>2010&group_by=type",
        "/outputs?sample=10&seed=4",
        "/outputs?select=id,name&page=7",
        "/outputs?filter=year:2012&format=bibtex",
        "/outputs?format=ndjson&filter=is_oa:true",
        "/authors?format=ndjson",
        "/authors?search=ma",
        "/authors?sort=cited_by_count:desc&page=3",
        "/institutions?filter=country.code:us",
        "/institutions?group_by=country.code",
        "/sources?sort=name",
        "/topics?page=2",
        "/funders",
        "/publishers",
        "/domains",
        "/fields",
        "/subfields",
        "/references/institution-types",
        "/statistics/outputs",
        "/statistics/authors",
        "/autocomplete?query=uni",
        "/autocomplete/authors?query=ma",
        "/match/institutions?text=University",
        "/legacy/topics",
        "/browse",
        "/browse/outputs",
        "/sitemap.xml",
    ]
    .map(Ask::get)
    .into();
    for row in [0, 17, 1_000, outputs() as u32 - 1] {
        let target = output(row);
        asks.extend([Ask::get(target.clone()), Ask::get(format!("{target}/references"))]);
        asks.extend([
            Ask::get(format!("{target}/citations")),
            Ask::get(format!("/browse{target}")),
        ]);
    }
    asks.extend([
        Ask::get(format!("/outputs?search={words}")),
        Ask::get(format!("/outputs?search={}*", &words[..4])),
        Ask::get(format!("/match/outputs?text={words}")),
        Ask::get(format!("/resolve/{id}")),
        Ask::get(format!("/openalex/works/{}", id.trim_start_matches("HX_"))),
        Ask::post(
            "/graphql",
            "application/json",
            r#"{"query":"{ outputs(per_page: 10) { results { id name } } }"}"#,
        ),
        Ask::post(
            "/match/outputs",
            "application/x-ndjson",
            format!(r#"{{"key":1,"text":"{}"}}"#, words.replace('+', " ")),
        ),
    ]);
    asks
}

/// A tree that a host may serve, and that becomes another.
pub struct ChangingTree(tempfile::TempDir);

impl ChangingTree {
    pub fn of(edition: Edition) -> ChangingTree {
        let tree = ChangingTree(tempfile::tempdir().unwrap());
        tree.becomes(edition);
        tree
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("tree")
    }

    pub fn becomes(&self, edition: Edition) {
        self.leads_to(&edition.tree());
    }

    pub fn leads_to(&self, tree: &Path) {
        let fresh = self.0.path().join("fresh");
        symlink(tree, &fresh).unwrap();
        fs::rename(fresh, self.path()).unwrap();
    }
}
