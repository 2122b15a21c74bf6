//! Real clients, unchanged, ask a mirror what their documentation asks of OpenAlex.
//!
//! Their addresses are fixed in their code, so each runs where `/etc/hosts` names the mirror api.openalex.org, and
//! trusts the mirror's certificate. `.ci/run` installs them into `target/openalex`. Only root can listen on port 443 and
//! give a program another `/etc/hosts`; elsewhere the tests are skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use pinakes_tests::certificates::OPENALEX;
use pinakes_tests::server::{Server, Snapshots, command};
use pinakes_tests::skip;

/// The address of the mirror, which other programs do not listen on.
const ADDRESS: &str = "127.77.69.83";
/// One mirror at a time has the address.
static ONE: Mutex<()> = Mutex::new(());

/// Gives a program another `/etc/hosts`: the arguments are the file, the program and its arguments.
const WITH_HOSTS: &str = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";

/// A mirror of real records under the name of OpenAlex.
struct Mirror {
    server: Server,
    /// The same records by the interface, without TLS.
    plain: Server,
    certificate: PathBuf,
    hosts: PathBuf,
    _folder: tempfile::TempDir,
    _snapshots: Snapshots,
}

impl Mirror {
    /// Starts the mirror; `None` if this machine does not let it.
    fn start(test: &str) -> Option<Mirror> {
        let large = pinakes_tests::real_data("large/openalex", test)?;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let certificate = file("certificate.pem", OPENALEX.certificate);
        let key = file("key.pem", OPENALEX.key);
        let hosts = file("hosts", &format!("127.0.0.1 localhost\n{ADDRESS} api.openalex.org\n"));
        let tried = in_hosts(&hosts, Path::new("true")).output();
        if !tried.is_ok_and(|tried| tried.status.success()) {
            skip(test, "only root can give a program another /etc/hosts");
            return None;
        }
        let snapshots = Snapshots::from_inputs(&[large]);
        let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
        command.arg("--openalex-listen").arg(format!("{ADDRESS}:443"));
        command.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(key);
        let server = Server::start(&mut command);
        let plain = Server::serve(&snapshots);
        Some(Mirror { server, plain, certificate, hosts, _folder: folder, _snapshots: snapshots })
    }

    /// Runs a program that takes the mirror for OpenAlex.
    #[track_caller]
    fn run(&self, program: &Path, args: &[&str]) -> String {
        let mut command = in_hosts(&self.hosts, program);
        command.args(args).env("PINAKES", format!("http://{}", self.plain.address()));
        for name in ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"] {
            command.env(name, &self.certificate);
        }
        let Output { status, stdout, stderr } = command.output().unwrap();
        let (printed, errors) =
            (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{program:?} {args:?}\n{printed}{errors}");
        printed.into_owned()
    }

    fn end(self) {
        self.server.end(&[]);
        self.plain.end(&[]);
    }
}

/// Runs a program where another file is `/etc/hosts`.
fn in_hosts(hosts: &Path, program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", WITH_HOSTS, "sh"]).arg(hosts).arg(program);
    command
}

/// A program of `target/openalex`, if this import succeeds.
fn installed(program: &str, import: &str, test: &str) -> Option<PathBuf> {
    let folder = pinakes_tests::root().join("target/openalex/bin");
    let found = Command::new(folder.join("python")).args(["-c", import]).output();
    if found.is_ok_and(|found| found.status.success()) {
        return Some(folder.join(program));
    }
    skip(test, format!("target/openalex lacks what `{import}` needs; .ci/run installs it"));
    None
}

/// Runs a script of this folder.
fn run_script(name: &str, import: &str, test: &str) {
    let Some(python) = installed("python", import, test) else { return };
    let _one = ONE.lock();
    let Some(mirror) = Mirror::start(test) else { return };
    let script = pinakes_tests::root().join("tests/tests/openalex/clients").join(name);
    let printed = mirror.run(&python, &[script.to_str().unwrap()]);
    assert!(printed.contains("works"), "{printed}");
    mirror.end();
}

#[test]
fn pyalex_reads_the_mirror() {
    run_script("pyalex_readme.py", "import pyalex", "pyalex_reads_the_mirror");
}

#[test]
fn pyopenalex_reads_the_mirror() {
    run_script("pyopenalex_readme.py", "import pyopenalex", "pyopenalex_reads_the_mirror");
}

#[test]
fn the_client_of_paper_qa_reads_the_mirror() {
    let test = "the_client_of_paper_qa_reads_the_mirror";
    run_script("paperqa_client.py", "import paperqa.clients.openalex", test);
}

#[test]
fn a_server_of_tools_for_language_models_searches_the_mirror() {
    let test = "a_server_of_tools_for_language_models_searches_the_mirror";
    run_script("paper_search_mcp.py", "import paper_search_mcp.server", test);
}

#[test]
fn the_command_line_program_of_openalex_downloads_from_the_mirror() {
    let test = "the_command_line_program_of_openalex_downloads_from_the_mirror";
    let Some(program) = installed("openalex", "import openalex_cli", test) else { return };
    let _one = ONE.lock();
    let Some(mirror) = Mirror::start(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let filter = ["--api-key", "none", "--output", out, "--filter", "publication_year:2004"];
    mirror.run(&program, &[&["download"], &filter[..]].concat());
    let downloaded = fs::read_dir(folder.path()).unwrap();
    let works = downloaded.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with('W')
    });
    let list = mirror.plain.get("/outputs?filter=year:2004").json();
    assert_eq!(list["meta"]["count"], works.count());
    mirror.end();
}
