//! The units of systemd: what a service that was broken into could do is little, as systemd counts it.

#![allow(clippy::unwrap_used, missing_docs)]

use std::process::Command;

/// The most a unit may be exposed, in tenths of systemd's measure from 0 to 10.
const EXPOSURE_TENTHS_MAX: u32 = 15;

const UNITS: [&str; 2] =
    ["server/systemd/pinakes-server.service", "compiler/systemd/pinakes-build.service"];

#[test]
fn the_units_are_hardened() {
    for unit in UNITS {
        let path = pinakes_tests::root().join(unit).canonicalize().unwrap();
        let mut analyze = Command::new("systemd-analyze");
        let threshold = format!("--threshold={EXPOSURE_TENTHS_MAX}");
        analyze.args(["security", "--no-pager", "--offline=true", &threshold]).arg(&path);
        let Ok(output) = analyze.output() else {
            eprintln!("skipped: the_units_are_hardened: systemd-analyze is not there");
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Overall exposure level"), "{unit}: {output:?}");
        // It fails where the exposure is over the threshold.
        assert!(output.status.success(), "{unit}: {said}");
    }
}
