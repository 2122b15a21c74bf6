//! The command lines of both programs: the configuration file, versions, completions and manual pages.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use pinakes_format::storage::header::FORMAT_VERSION;
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

const PROGRAMS: [&str; 2] = ["pinakes-server", "pinakes-compiler"];

/// Prepares a program without the variables of the environment that the program reads.
fn program(name: &str) -> Command {
    let mut command = Command::new(pinakes_tests::program(name));
    let variables = std::env::vars_os().map(|(variable, _)| variable);
    for variable in
        variables.filter(|variable| variable.as_encoded_bytes().starts_with(b"PINAKES_"))
    {
        command.env_remove(variable);
    }
    command
}

fn run<A: AsRef<OsStr>>(name: &str, args: &[A]) -> Output {
    program(name).args(args).output().unwrap()
}

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A directory with a configuration file.
struct Configured {
    _directory: tempfile::TempDir,
    file: PathBuf,
}

impl Configured {
    fn new(text: &str) -> Configured {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("server.toml");
        fs::write(&file, text).unwrap();
        Configured { _directory: directory, file }
    }

    /// Runs `pinakes-server config` with the file.
    fn effective(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = program("pinakes-server");
        command.arg("config").arg("--config").arg(&self.file).args(args);
        command.envs(env.iter().copied()).output().unwrap()
    }

    /// The error of a run, without the directory of the file.
    #[track_caller]
    fn error(&self, args: &[&str]) -> String {
        let output = self.effective(args, &[]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        text.replace(self.file.to_str().unwrap(), "FILE").trim_end().to_owned()
    }
}

/// Lists the values of an effective configuration with their origins.
fn values(text: &str) -> BTreeMap<String, (String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let values = lines.map(|line| {
        let (key, rest) = line.split_once(" = ").unwrap();
        let (value, origin) = rest.rsplit_once("  # ").unwrap();
        (key.to_owned(), (value.to_owned(), origin.to_owned()))
    });
    values.collect()
}

#[test]
fn the_command_line_wins_over_the_environment_and_the_environment_over_the_file() {
    let configured = Configured::new(
        "snapshots = \"/srv/a\"\nlisten = \"127.0.0.1:1\"\nminute-limit = 7\nlist-timeout = 2.5\n\
         trusted-proxy = [\"10.0.0.0/8\", \"::1\"]\nverify = true\npin = false\n",
    );
    let check = |args: &[&str], env: &[(&str, &str)], expected: &[(&str, &str, &str)]| {
        let found = values(&printed(&configured.effective(args, env)));
        for (key, value, origin) in expected {
            let origin = if *origin == "file" { configured.file.to_str().unwrap() } else { origin };
            assert_eq!(found[*key], ((*value).to_owned(), origin.to_owned()), "{key}");
        }
    };
    check(
        &[],
        &[],
        &[
            ("snapshots", "\"/srv/a\"", "file"),
            ("listen", "\"127.0.0.1:1\"", "file"),
            ("minute-limit", "7", "file"),
            ("list-timeout", "\"2.5\"", "file"),
            ("trusted-proxy", "[\"10.0.0.0/8\", \"::1\"]", "file"),
            ("verify", "true", "file"),
            ("pin", "false", "default"),
            ("free-limit", "1200", "default"),
        ],
    );
    check(
        &["--minute-limit", "9"],
        &[
            ("PINAKES_LISTEN", "127.0.0.1:2"),
            ("PINAKES_MINUTE_LIMIT", "8"),
            ("PINAKES_TRUSTED_PROXY", "192.0.2.1,192.0.2.2"),
            ("PINAKES_VERIFY", "no"),
        ],
        &[
            ("snapshots", "\"/srv/a\"", "file"),
            ("listen", "\"127.0.0.1:2\"", "PINAKES_LISTEN"),
            ("minute-limit", "9", "command line"),
            ("trusted-proxy", "[\"192.0.2.1\", \"192.0.2.2\"]", "PINAKES_TRUSTED_PROXY"),
            ("verify", "false", "PINAKES_VERIFY"),
        ],
    );
}

#[test]
fn a_snapshot_on_the_command_line_replaces_the_snapshots_of_the_file() {
    let configured = Configured::new("snapshots = \"/srv/a\"\n");
    let found = values(&printed(&configured.effective(&["--snapshot", "/srv/b"], &[])));
    assert_eq!(found["snapshot"].0, "\"/srv/b\"");
    assert!(!found.contains_key("snapshots"));
}

#[test]
fn a_wrong_configuration_file_is_refused_with_its_line_and_a_remedy() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Configured::new(text).error(&[]), format!("error: {expected}"), "{text}");
    };
    check(
        "# limits\nminute-limits = 7\n",
        "unknown key `minute-limits` in the configuration file `FILE`, line 2; did you mean `minute-limit`?",
    );
    check(
        "listen = \"127.0.0.1:0\"\nminute_limit = 7\n",
        "unknown key `minute_limit` in the configuration file `FILE`, line 2; did you mean `minute-limit`?",
    );
    check(
        "database = \"x\"\n",
        "unknown key `database` in the configuration file `FILE`, line 1; `pinakes-server config` prints all keys",
    );
    check(
        "config = \"other.toml\"\n",
        "unknown key `config` in the configuration file `FILE`, line 1; `pinakes-server config` prints all keys",
    );
    check(
        "\n\nverify = \"yes\"\n",
        "wrong type of `verify` in the configuration file `FILE`, line 3: expected true or false, found string",
    );
    check(
        "listen = [\"127.0.0.1:0\"]\n",
        "wrong type of `listen` in the configuration file `FILE`, line 1: expected a string or a number, found array",
    );
    check(
        "[database]\nminute-limit = 7\n",
        "unknown key `database` in the configuration file `FILE`, line 1; `pinakes-server config` prints all keys",
    );
    check(
        "minute-limit = 0\n",
        "configuration file `FILE`: invalid value '0' for '--minute-limit <N>': 0 is not in 1..=4294967295",
    );
    let syntax = Configured::new("listen = \"a\"\nlisten 5\n").error(&[]);
    assert!(
        syntax.starts_with("error: the configuration file is not TOML: `FILE`, line 2: "),
        "{syntax}"
    );
    let missing = run("pinakes-server", &["config", "--config", "/nowhere.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    let text = String::from_utf8(missing.stderr).unwrap();
    assert!(
        text.starts_with("error: cannot read the configuration file `/nowhere.toml`: "),
        "{text}"
    );
}

#[test]
fn an_error_of_the_command_line_does_not_blame_the_file() {
    let configured = Configured::new("minute-limit = 7\n");
    let error = configured.error(&["--free-limit", "0"]);
    assert!(error.starts_with("error: invalid value '0' for '--free-limit <N>'"), "{error}");
    let error = configured.error(&["--minute-limits", "0"]);
    assert!(error.starts_with("error: unexpected argument '--minute-limits' found"), "{error}");
}

#[test]
fn the_effective_configuration_is_a_configuration_file() {
    let configured = Configured::new("snapshots = \"/srv/a \\\"b\\\"\"\nexempt = [\"::1\"]\n");
    let first = printed(&configured.effective(&["--no-docs", "--pool-share", "10%"], &[]));
    let second = printed(&Configured::new(&first).effective(&[], &[]));
    let without_origins = |text: &str| {
        let values = values(text).into_iter();
        values.map(|(key, (value, _))| (key, value)).collect::<Vec<_>>()
    };
    assert_eq!(without_origins(&first), without_origins(&second));
    assert!(first.contains("\nno-docs = true  # command line\n"), "{first}");
    // Every option of the help is a key, set or not.
    let help = printed(&run("pinakes-server", &["config", "--help"]));
    let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
    let names = options.filter(|name| {
        name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())
            && !["config", "help", "version"].contains(name)
    });
    let mut count = 0;
    for name in names {
        let is_key = |line: &str| line.trim_start_matches("# ").starts_with(&format!("{name} = "));
        assert!(first.lines().any(is_key), "{name} in {first}");
        count += 1;
    }
    assert!(count > 40, "{count} options");
}

#[test]
fn the_server_serves_by_its_configuration_file() {
    let snapshots = Snapshots::from_sample();
    let configured = Configured::new(&format!(
        "snapshots = {:?}\nlisten = \"127.0.0.1:0\"\nno-docs = true\n",
        snapshots.path()
    ));
    let server = Server::start(program("pinakes-server").env("PINAKES_CONFIG", &configured.file));
    assert_eq!(server.get("/outputs?per_page=10").status, 200);
    assert_eq!(server.get("/docs").status, 404);
    server.end(&[]);
}

#[test]
fn the_version_names_the_commit_and_the_format() {
    for name in PROGRAMS {
        let text = printed(&run(name, &["--version"]));
        let version =
            text.trim_end().strip_prefix(&format!("{name} {} (commit ", env!("CARGO_PKG_VERSION")));
        let commit =
            version.and_then(|rest| rest.strip_suffix(&format!(", format {FORMAT_VERSION})")));
        let commit = commit.unwrap_or_else(|| panic!("{text}"));
        let is_hash = commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(is_hash || commit == "unknown", "{text}");
    }
}

#[test]
fn each_shell_has_a_completion_script() {
    for name in PROGRAMS {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = printed(&run(name, &["completions", shell]));
            let option = if name == PROGRAMS[0] { "minute-limit" } else { "max-bad-rows" };
            assert!(script.contains(option), "{name} {shell}");
        }
    }
}

#[test]
fn bash_completes_an_option_by_the_script() {
    for (name, words, expected) in [
        ("pinakes-server", "pinakes-server --minute", "--minute-limit"),
        ("pinakes-compiler", "pinakes-compiler build --max-bad-r", "--max-bad-rows"),
    ] {
        let script = printed(&run(name, &["completions", "bash"]));
        let function = script.split("complete -F ").nth(1).unwrap();
        let function = function.split(' ').next().unwrap();
        let asked = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             {function} {name} \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             echo \"${{COMPREPLY[@]}}\""
        );
        let Ok(output) = Command::new("bash").args(["-c", &asked]).output() else {
            return skip("bash_completes_an_option_by_the_script", "no bash");
        };
        assert_eq!(printed(&output).trim(), expected, "{output:?}");
    }
}

#[test]
fn manual_pages_describe_every_command() {
    let directory = tempfile::tempdir().unwrap();
    for name in PROGRAMS {
        printed(&run(name, &[OsStr::new("man"), directory.path().as_os_str()]));
    }
    let page = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let has = |page: &str, option: &str| page.contains(&option.replace('-', "\\-"));
    assert!(has(&page("pinakes-server.1"), "--minute-limit"));
    assert!(has(&page("pinakes-compiler-build.1"), "--max-bad-rows"));
    for entry in fs::read_dir(directory.path()).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(".TH "), "{}", path.display());
    }
    for name in PROGRAMS {
        let help = printed(&run(name, &["--help"]));
        assert!(help.lines().any(|line| line.trim_start().starts_with("man ")), "{name}: {help}");
    }
    let into_nothing = run("pinakes-server", &["man", "/nowhere"]);
    assert_eq!(into_nothing.status.code(), Some(1), "{into_nothing:?}");
    assert!(!Path::new("/nowhere").exists());
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_every_option() {
    for (name, args) in [
        ("pinakes-server", &["-h"][..]),
        ("pinakes-compiler", &["-h"]),
        ("pinakes-compiler", &["build", "-h"]),
        ("pinakes-compiler", &["export", "-h"]),
        ("pinakes-compiler", &["pull", "-h"]),
    ] {
        let help = printed(&run(name, args));
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(help.lines().count() <= 50 && widest <= Some(100), "{name} {args:?}: {help}");
        // Each option of the screen is among all options.
        let whole: Vec<&str> =
            args.iter().map(|arg| if *arg == "-h" { "--help" } else { arg }).collect();
        let whole = printed(&run(name, &whole));
        let options = |help: &str| -> Vec<String> {
            let words = help.lines().flat_map(|line| line.split_whitespace().take(2));
            words.filter(|word| word.starts_with("--")).map(str::to_owned).collect()
        };
        let (shown, all) = (options(&help), options(&whole));
        assert!(shown.iter().all(|option| all.contains(option)), "{name} {args:?}: {shown:?}");
        assert!(
            args.len() > 1 || name == "pinakes-compiler" || all.len() > 2 * shown.len(),
            "{all:?}"
        );
    }
}

#[test]
fn a_path_without_a_snapshot_is_named_with_the_command_to_run() {
    let error = |args: [&str; 2]| {
        let output = run("pinakes-server", &args);
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let sample = pinakes_tests::sample();
    let sample = sample.to_str().unwrap();
    let dump = error(["--snapshot", sample]);
    assert!(dump.contains(&format!("`{sample}` is a dump")), "{dump}");
    assert!(dump.contains(&format!("`pinakes-compiler build {sample} --out SNAPSHOTS`")), "{dump}");
    let nothing = error(["--snapshots", "/nonexist"]);
    assert!(nothing.contains("`/nonexist` does not exist"), "{nothing}");
    assert!(!nothing.contains("rollback") && !nothing.contains("suppressed"), "{nothing}");
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let found = error(["--snapshots", empty]);
    assert!(found.contains(&format!("`{empty}` holds no snapshot")), "{found}");
    let snapshots = Snapshots::from_sample();
    let current = snapshots.path().join("current");
    let (all, one) = (snapshots.path().to_str().unwrap(), current.to_str().unwrap());
    assert!(error(["--snapshot", all]).contains(&format!("write `--snapshots {all}`")));
    assert!(error(["--snapshots", one]).contains(&format!("write `--snapshot {one}`")));
}
