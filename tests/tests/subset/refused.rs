//! Tests of rejected `--where` filters and empty subsets.

use super::*;

/// Runs `build` with these options; returns the exit code and stderr.
fn run(inputs: &Path, out: &Path, more: &[&str]) -> (i32, String) {
    let mut args: Vec<&OsStr> = vec!["build".as_ref(), inputs.as_os_str()];
    args.extend(["--quiet".as_ref(), "--out".as_ref(), out.as_os_str()]);
    args.extend(more.iter().map(OsStr::new));
    let output = compiler(&args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), errors)
}

#[test]
fn an_invalid_where_filter_ends_the_run_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let check = |wheres: &[&str], expected: &str| {
        let more: Vec<&str> = wheres.iter().flat_map(|text| ["--where", *text]).collect();
        // The input path does not exist: the filter is rejected before the input is opened.
        let (code, stderr) = run(&directory.path().join("absent"), &out, &more);
        let first = "error: cannot parse what to publish; no input was read\n";
        assert_eq!((code, stderr), (2, format!("{first}{expected}\n")), "{wheres:?}");
        assert!(!out.exists(), "{wheres:?}");
    };
    check(
        &["outputs:yaer:2020"],
        "  --where outputs:yaer:2020\n    `yaer`: is no filter key of /outputs; did you mean `year`?",
    );
    check(
        &["outputs:year:2020-x", "works:year:2020"],
        "  --where outputs:year:2020-x\n    `year:2020-x`: `2020-x` must be an integer of at most 64 \
         bits, a range such as `1-5`, `1-` or `-5`, a comparison such as `>5`, or `null`\n  \
         --where works:year:2020\n    `works`: is no entity; did you mean `outputs`?",
    );
    check(
        &["institution-types:id:1"],
        "  --where institution-types:id:1\n    `id`: /references/institution-types takes no filter",
    );
    let many = format!("outputs:{}", vec!["year:2020"; 30].join(","));
    let half = vec!["year:2020"; 30].join(",");
    check(
        &[&many, &many],
        &format!(
            "  --where {many}\n    `{half}`: makes more than 50 expressions, searches among them"
        ),
    );
}

#[test]
fn an_empty_subset_is_published_only_if_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let full = build(&[sample()], &out, &["--quiet"]);
    let nothing = ["--where", "outputs:year:3000"];
    let (code, stderr) = run(&sample(), &out, &nothing);
    let expected = "error: no record matches any `--where`; nothing was published. Try the filters on \
                    a server's lists, or pass `--allow-empty`\n";
    assert_eq!((code, stderr.as_str()), (4, expected));
    assert_eq!(out.join("current").canonicalize().unwrap(), full.canonicalize().unwrap());

    let (code, stderr) = run(&sample(), &out, &[&nothing[..], &["--allow-empty"]].concat());
    assert_eq!((code, stderr.as_str()), (0, ""));
    let subset = Snapshot::open(&out.join("current").canonicalize().unwrap()).unwrap();
    subset.verify().unwrap();
    let counts = Entity::all().map(|entity| subset.count(entity)).collect::<Vec<_>>();
    assert_eq!(counts, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0]);
}
