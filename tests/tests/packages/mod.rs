//! The parts of packages that need no package: licences, metadata, and example configurations.
//!
//! `make packages-test` installs the packages themselves.

use std::{fs, path::Path, process::Command};

use pinakes_tests::certificates::LOCALHOST;
use pinakes_tests::skip;
use serde_json::Value;

fn root() -> std::path::PathBuf {
    pinakes_tests::root().canonicalize().unwrap()
}

#[test]
fn the_notice_has_the_licence_of_every_linked_crate() {
    let mut command = Command::new(root().join(".packages/licences"));
    let Ok(output) = command.arg("x86_64-unknown-linux-musl").output() else {
        return skip("the_notice_has_the_licence_of_every_linked_crate", "no python3");
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let notice = String::from_utf8(output.stdout).unwrap();
    // Crates, C libraries in crates, and pages in the server.
    for part in [
        "zstd-sys ",
        "tikv-jemalloc-sys ",
        "libmimalloc-sys ",
        "hyper ",
        "ring ",
        "Swagger UI",
        "GraphiQL",
    ] {
        assert!(notice.lines().any(|line| line.starts_with(part)), "no licence of {part}");
    }
    // Crates of tests, and macros, are not in the programs.
    for part in ["fuser ", "rusqlite ", "serde_derive ", "pinakes-"] {
        assert!(!notice.lines().any(|line| line.starts_with(part)), "{part} is not in a program");
    }
}

#[test]
fn the_licence_file_has_both_texts() {
    let text = fs::read_to_string(root().join("LICENSE")).unwrap();
    for part in [
        "Permission is hereby granted, free of charge",
        "THE SOFTWARE IS PROVIDED \"AS IS\"",
        "Version 2.0, January 2004",
        "END OF TERMS AND CONDITIONS",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn the_published_crates_have_complete_metadata() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for name in ["pinakes-format", "pinakes-answer", "pinakes-compiler", "pinakes-server"] {
        let packages = found["packages"].as_array().unwrap();
        let package = packages.iter().find(|package| package["name"] == name).unwrap();
        for member in ["description", "license", "readme", "rust_version"] {
            assert!(package[member].is_string(), "{name}: no {member}");
        }
        for member in ["keywords", "categories"] {
            let count = package[member].as_array().unwrap().len();
            assert!((1..=5).contains(&count), "{name}: {count} {member}");
        }
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        assert!(folder.join(package["readme"].as_str().unwrap()).is_file(), "{name}");
    }
}

/// Runs a program that checks a configuration; `None` if it is missing.
fn check(program: &str, args: &[&str]) -> Option<(bool, String)> {
    let programs = [program.to_owned(), format!("/usr/sbin/{program}")];
    let output =
        programs.iter().find_map(|program| Command::new(program).args(args).output().ok())?;
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn nginx_accepts_its_examples() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    fs::write(at("fullchain.pem"), LOCALHOST.certificate).unwrap();
    fs::write(at("privkey.pem"), LOCALHOST.key).unwrap();
    for name in ["nginx.conf", "nginx-compose.conf"] {
        let text = fs::read_to_string(root().join("server/deploy").join(name)).unwrap();
        let text = text.replace("/etc/ssl/pinakes", &directory.path().display().to_string());
        // Another host than `server`, which only Compose knows.
        let text = text.replace("http://server:", "http://127.0.0.1:");
        let whole = format!(
            "error_log {};\npid {};\nevents {{}}\nhttp {{\naccess_log off;\n{text}\n}}\n",
            at("error.log"),
            at("pid")
        );
        fs::write(at(name), whole).unwrap();
        let Some((is_valid, said)) = check("nginx", &["-t", "-q", "-c", &at(name)]) else {
            return skip("nginx_accepts_its_examples", "no nginx; .ci/run installs it");
        };
        assert!(is_valid && !said.contains("[warn]"), "{name}: {said}");
    }
}

#[test]
fn caddy_accepts_its_example() {
    let example = root().join("server/deploy/Caddyfile");
    let example = example.to_str().unwrap();
    let args = ["validate", "--adapter", "caddyfile", "--config", example];
    let Some((is_valid, said)) = check("caddy", &args) else {
        return skip("caddy_accepts_its_example", "no caddy; .ci/run installs it");
    };
    assert!(is_valid, "{said}");
}
