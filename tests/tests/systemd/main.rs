//! Tests of the systemd units: systemd rates their exposure as low, and their programs know every variable
//! that they set.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{collections::BTreeSet, fs, process::Command};

/// Maximum exposure of a unit, in tenths of systemd's scale from 0 to 10.
const EXPOSURE_TENTHS_MAX: u32 = 15;

const UNITS: [&str; 2] =
    ["server/systemd/pinakes-server.service", "compiler/systemd/pinakes-build.service"];

#[test]
fn systemd_rates_the_units_as_hardened() {
    for unit in UNITS {
        let path = pinakes_tests::root().join(unit).canonicalize().unwrap();
        let mut analyze = Command::new("systemd-analyze");
        let threshold = format!("--threshold={EXPOSURE_TENTHS_MAX}");
        analyze.args(["security", "--no-pager", "--offline=true", &threshold]).arg(&path);
        let Ok(output) = analyze.output() else {
            eprintln!("skipped: systemd_rates_the_units_as_hardened: systemd-analyze is not there");
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
    let programs: [(&str, &[&str]); 2] =
        [("pinakes-server", &["--help"]), ("pinakes-compiler", &["build", "--help"])];
    for (unit, (program, help)) in UNITS.into_iter().zip(programs) {
        let output = Command::new(pinakes_tests::program(program)).args(help).output().unwrap();
        // Join the lines of the help, since a description may be broken anywhere.
        let help = String::from_utf8(output.stdout).unwrap();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = fs::read_to_string(pinakes_tests::root().join(unit)).unwrap();
        let words = text.split(|char: char| !(char.is_ascii_uppercase() || char == '_'));
        let names: BTreeSet<&str> = words.filter(|word| word.starts_with("PINAKES_")).collect();
        assert!(!names.is_empty(), "{unit}");
        for name in names {
            // The unit passes the inputs as arguments.
            let is_passed_on = name == "PINAKES_INPUTS" && text.contains("build $PINAKES_INPUTS ");
            let is_read = help.contains(&format!("[env: {name}="));
            assert!(is_read || is_passed_on, "{unit}: {program} does not read {name}");
        }
    }
}
