//! Tests of the systemd units: systemd accepts them and rates their exposure as low, their programs know every
//! variable that they set, and their installation leaves out nothing that they need.

use std::{collections::BTreeSet, fs, process::Command};

use pinakes_tests::skip;

/// Maximum exposure of a unit, in tenths of systemd's scale from 0 to 10.
const EXPOSURE_TENTHS_MAX: u32 = 15;

const UNITS: [&str; 3] = [
    "server/systemd/pinakes-server.service",
    "compiler/systemd/pinakes-build.service",
    "compiler/systemd/pinakes-pull.service",
];
const TIMERS: [&str; 2] =
    ["compiler/systemd/pinakes-build.timer", "compiler/systemd/pinakes-pull.timer"];

fn read(unit: &str) -> String {
    fs::read_to_string(pinakes_tests::root().join(unit)).unwrap()
}

/// Lists the words of a unit's settings with a name, in all their lines.
fn words_of<'u>(text: &'u str, name: &str) -> Vec<&'u str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).collect()
}

/// Lists the files that the commands in a unit's comment install.
fn installed_files(text: &str) -> Vec<String> {
    let commands = text.lines().filter_map(|line| line.strip_prefix("#   install "));
    let words = commands.map(|command| command.split_whitespace().collect::<Vec<_>>());
    words
        .flat_map(|words| {
            let (to, from) = (words[words.len() - 1], words[words.len() - 2]);
            // `unit.{service,timer}` names two files.
            let (stem, ends) = from.split_once('{').unwrap_or((from, "}"));
            let ends = ends.trim_end_matches('}').split(',');
            let names = ends.map(move |end| format!("{}{end}", stem.rsplit('/').next().unwrap()));
            names
                .map(move |name| if to.ends_with('/') { format!("{to}{name}") } else { to.into() })
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn systemd_rates_the_units_as_hardened() {
    for unit in UNITS {
        let path = pinakes_tests::root().join(unit).canonicalize().unwrap();
        let mut analyze = Command::new("systemd-analyze");
        let threshold = format!("--threshold={EXPOSURE_TENTHS_MAX}");
        analyze.args(["security", "--no-pager", "--offline=true", &threshold]).arg(&path);
        let Ok(output) = analyze.output() else {
            skip("systemd_rates_the_units_as_hardened", "systemd-analyze is not there");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("Overall exposure level"), "{unit}: {output:?}");
        // systemd-analyze fails if the exposure exceeds the threshold.
        assert!(output.status.success(), "{unit}: {text}");
    }
}

#[test]
fn programs_read_every_environment_variable_of_their_units() {
    let programs: [(&str, &[&str]); 3] = [
        ("pinakes-server", &["--help"]),
        ("pinakes-compiler", &["build", "--help"]),
        ("pinakes-compiler", &["pull", "--help"]),
    ];
    for (unit, (program, help)) in UNITS.into_iter().zip(programs) {
        let output = Command::new(pinakes_tests::program(program)).args(help).output().unwrap();
        // Join the lines of the help, since a description may be broken anywhere.
        let help = String::from_utf8(output.stdout).unwrap();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = read(unit);
        let words = text.split(|char: char| !(char.is_ascii_uppercase() || char == '_'));
        let names: BTreeSet<&str> = words.filter(|word| word.starts_with("PINAKES_")).collect();
        assert!(!names.is_empty(), "{unit}");
        for name in names {
            // The unit passes the inputs, or the address, as arguments.
            let is_passed_on = words_of(&text, "ExecStart").contains(&&*format!("${name}"));
            let is_read = help.contains(&format!("[env: {name}]"));
            assert!(is_read || is_passed_on, "{unit}: {program} does not read {name}");
        }
    }
}

#[test]
fn systemd_accepts_the_units_and_the_timers() {
    let directory = tempfile::tempdir().unwrap();
    for unit in UNITS.into_iter().chain(TIMERS) {
        let programs = pinakes_tests::program("pinakes-server");
        let programs = programs.parent().unwrap().to_str().unwrap();
        let text = read(unit).replace("/usr/local/bin", programs);
        fs::write(directory.path().join(unit.rsplit('/').next().unwrap()), text).unwrap();
    }
    for unit in UNITS.into_iter().chain(TIMERS) {
        let name = unit.rsplit('/').next().unwrap();
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["verify", "--man=no"]).arg(directory.path().join(name));
        let Ok(output) = analyze.output() else {
            return skip(
                "systemd_accepts_the_units_and_the_timers",
                "systemd-analyze is not there",
            );
        };
        let errors = String::from_utf8_lossy(&output.stderr);
        // systemd-analyze also names units of the machine, which are no concern of this test.
        let own: Vec<&str> = errors.lines().filter(|line| line.contains("pinakes")).collect();
        assert!(own.is_empty(), "{unit}: {own:?}");
    }
}

#[test]
fn the_files_that_a_unit_needs_are_those_that_its_comment_installs() {
    for unit in UNITS {
        let text = read(unit);
        let installed = installed_files(&text);
        let documents = words_of(&text, "Documentation").into_iter();
        let needed = documents.map(|document| document.strip_prefix("file://").unwrap());
        // The program, and files that are its arguments.
        let command = words_of(&text, "ExecStart");
        let command = command.into_iter().filter(|word| word.starts_with('/'));
        let service = format!("/etc/systemd/system/{}", unit.rsplit('/').next().unwrap());
        for file in needed.chain(command).chain([&*service]) {
            assert!(installed.iter().any(|name| name == file), "{unit}: {file} of {installed:?}");
        }
        let user = words_of(&text, "User")[0];
        let is_made = |line: &str| line.starts_with("#   useradd ") && line.ends_with(user);
        assert!(text.lines().any(is_made), "{unit}: who makes the user {user}?");
    }
    for timer in TIMERS {
        let installed = installed_files(&read(&timer.replace(".timer", ".service")));
        let timer = format!("/etc/systemd/system/{}", timer.rsplit('/').next().unwrap());
        assert!(installed.contains(&timer), "{timer} of {installed:?}");
    }
}

#[test]
fn the_server_unit_starts_before_the_first_build_and_keeps_trying() {
    let text = read(UNITS[0]);
    for path in words_of(&text, "ReadOnlyPaths") {
        assert!(path.starts_with('-'), "the unit fails where {path} is absent");
    }
    // By default, systemd gives up after five failed starts in ten seconds.
    assert_eq!(words_of(&text, "StartLimitIntervalSec"), ["0"]);
}

#[test]
fn the_smallest_mirror_of_the_guide_is_a_configuration_that_its_unit_allows() {
    let guide = read("server/MIRROR.md");
    let (_, smallest) = guide.split_once("## The smallest mirror").unwrap();
    let (_, written) = smallest.split_once("/etc/pinakes/server.toml <<END\n").unwrap();
    let (written, _) = written.split_once("END\n").unwrap();
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    fs::write(file.path(), written).unwrap();
    let mut command = Command::new(pinakes_tests::program("pinakes-server"));
    let output = command.args(["config", "--config"]).arg(file.path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    for line in written.lines() {
        assert!(printed.contains(line), "{line}: {printed}");
    }
    // The server writes into the unit's directory of state alone.
    let unit = read("server/systemd/pinakes-server.service");
    let [state] = words_of(&unit, "StateDirectory")[..] else { panic!("{unit}") };
    let state = format!("/var/lib/{state}/");
    for key in ["snapshots", "limits-file"] {
        let line = written.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(line.contains(&state), "{line}");
    }
}
