//! The units of systemd: what a service that was broken into could do is little, as systemd counts it,
//! and what they set is an option of their program.

#![allow(clippy::unwrap_used, missing_docs)]

use std::{collections::BTreeSet, fs, process::Command};

/// The most a unit may be exposed, in tenths of systemd's measure from 0 to 10.
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
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Overall exposure level"), "{unit}: {output:?}");
        // It fails where the exposure is over the threshold.
        assert!(output.status.success(), "{unit}: {said}");
    }
}

#[test]
fn programs_read_every_environment_variable_of_their_units() {
    let programs: [(&str, &[&str]); 2] =
        [("pinakes-server", &["--help"]), ("pinakes-compiler", &["build", "--help"])];
    for (unit, (program, help)) in UNITS.into_iter().zip(programs) {
        let output = Command::new(pinakes_tests::program(program)).args(help).output().unwrap();
        // On one line, wherever it is broken.
        let help = String::from_utf8(output.stdout).unwrap();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = fs::read_to_string(pinakes_tests::root().join(unit)).unwrap();
        let words = text.split(|char: char| !(char.is_ascii_uppercase() || char == '_'));
        let names: BTreeSet<&str> = words.filter(|word| word.starts_with("PINAKES_")).collect();
        assert!(!names.is_empty(), "{unit}");
        for name in names {
            // The inputs are arguments: the unit's own, and passed on by it.
            let is_passed_on = name == "PINAKES_INPUTS" && text.contains("build $PINAKES_INPUTS ");
            let is_read = help.contains(&format!("[env: {name}="));
            assert!(is_read || is_passed_on, "{unit}: {program} does not read {name}");
        }
    }
}
