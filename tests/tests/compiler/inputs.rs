//! Missing, unreadable, unknown and empty inputs.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
    process::Command,
};

use pinakes_tests::compiler_run::*;
use pinakes_tests::skip;
use pinakes_tests::{program, write_files};
use serde_json::json;

#[test]
fn missing_or_unknown_inputs_end_the_run_with_3_and_empty_inputs_with_4() {
    let workspace = Workspace::with_tiny_snapshot();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    let array = format!("[{}]\n", work(1).trim()).into_bytes();
    let unknown = "is of an unknown kind; expected an OpenAlex dump";
    let check = |what, name, bytes: &[u8], inputs: &[&str], code, phrase| {
        let files = vec![(name, bytes.to_vec())];
        check_refused(&workspace, &RefusedRun { what, files, inputs, options: &[], code, phrase });
    };
    let good = work(1).into_bytes();
    check("missing", "works.jsonl", &good, &["nowhere"], 3, "No such file");
    check("one of two missing", "works.jsonl", &good, &[".", "nowhere"], 3, "No such file");
    check("a picture", "picture.png", &png, &["picture.png"], 3, unknown);
    check("a text", "notes.txt", b"some notes\n", &["notes.txt"], 3, unknown);
    check("a file of nothing", "empty.txt", b"", &["empty.txt"], 3, unknown);
    check("a folder of pictures", "picture.png", &png, &["."], 3, "holds nothing to compile");
    check("a JSON array", "dump.json", &array, &["dump.json"], 3, "one object a line (`jq");
    let lines = format!("[\n{},\n{}]\n", work(1).trim(), work(2)).into_bytes();
    for (what, bytes) in [("an array in a folder", &array), ("an array of lines", &lines)] {
        check(what, "works.jsonl", bytes, &["."], 3, "one object a line (`jq");
    }
    check("empty works", "works.jsonl", b"", &["."], 4, "hold no record");
    check("blank lines", "works.jsonl", b"\n \r\n\n", &["."], 4, "hold no record");
    check("a BOM", "works.jsonl", b"\xef\xbb\xbf", &["."], 4, "hold no record");
}

#[test]
fn allow_empty_publishes_an_empty_dump() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", "")]);
    let snapshot =
        published_path(&build(&[&workspace.input()], &workspace.out(), &["--allow-empty"]));
    assert!(outputs(&snapshot).is_empty());
}

#[test]
fn an_entity_without_a_record_in_its_inputs_ends_the_run_with_4() {
    let beside = |bytes: &[u8]| {
        vec![("works.jsonl", work(1).into_bytes()), ("authors.jsonl", bytes.to_vec())]
    };
    let says = "the inputs hold no record of authors; check the paths";
    let one_of_two = vec![
        ("works/a.jsonl", work(1).into_bytes()),
        ("works/b.jsonl", Vec::new()),
        ("works/c.jsonl.gz", gzip(b"")),
    ];
    check(&[
        fails("empty", beside(b""), 4, says),
        fails("blank lines", beside(b"\n\r\n \n"), 4, says),
        fails("a byte order mark", beside(b"\xef\xbb\xbf"), 4, says),
        Case {
            options: &["--allow-empty"],
            warnings: &[("empty_part", 1)],
            ..succeeds("allowed", beside(b""))
        },
        Case { warnings: &[("empty_part", 2)], ..succeeds("some parts of several", one_of_two) },
    ]);
}

#[test]
fn unreadable_inputs_end_the_run_with_3() {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    let file = |name: &str| workspace.input().join(name);
    write_files(&workspace.input(), [("dump/works.jsonl", work(1)), ("fifo/works.jsonl", work(1))]);
    symlink("nowhere", file("dangling")).unwrap();
    fs::create_dir(file("link")).unwrap();
    symlink("nowhere", file("link/works.jsonl")).unwrap();
    let made = Command::new("mkfifo").arg(file("works.fifo")).status().unwrap();
    assert!(made.success());
    for (name, phrase) in [
        ("dangling", "No such file"),
        ("link", "No such file"),
        ("works.fifo", "is neither a file nor a directory"),
        ("dump/works.jsonl/x", "Not a directory"),
    ] {
        let run = build(&[&file(name)], &workspace.out(), &[]);
        assert_eq!(run.code, 3, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(phrase), "{name}: {}", run.stderr);
        assert_nothing_published(&workspace.out(), &before, &run, name);
    }
}

/// Runs the compiler as another user if the test runs as root, since root may read every file.
#[test]
fn an_input_without_read_permission_ends_the_run_with_3() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    const NOBODY: u32 = 65_534;
    let workspace = Workspace::new();
    write_files(
        &workspace.input(),
        [
            ("file/works.jsonl", work(1)),
            ("file/authors.jsonl", "{\"id\":\"A1\",\"display_name\":\"A\"}\n".into()),
            ("folder/works/part_0.jsonl", work(1)),
        ],
    );
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(workspace.0.path(), 0o755).unwrap();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = match is_root {
        false => vec![program("pinakes-compiler").into_os_string()],
        true => {
            let id = |name: &str| format!("--{name}={NOBODY}").into();
            vec!["setpriv".into(), id("reuid"), id("regid"), "--clear-groups".into()]
        }
    };
    if is_root {
        let found = Command::new("setpriv").arg("--version").output();
        if found.is_err() {
            return skip(
                "an_input_without_read_permission_ends_the_run_with_3",
                "`setpriv` is missing",
            );
        }
        command.push(program("pinakes-compiler").into_os_string());
    }
    for (input, closed) in [
        ("file", "file/works.jsonl"),
        ("file/works.jsonl", "file/works.jsonl"),
        ("folder", "folder/works"),
        ("folder/works", "folder/works"),
    ] {
        let out = workspace.0.path().join("mine");
        fs::create_dir(&out).unwrap();
        if is_root {
            chown(&out, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let closed = workspace.input().join(closed);
        mode(&closed, 0).unwrap();
        let output = Command::new(&command[0])
            .args(&command[1..])
            .args(["build".as_ref(), workspace.input().join(input).as_os_str()])
            .args(["--out".as_ref(), out.as_os_str()])
            .output()
            .unwrap();
        mode(&closed, 0o755).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{input}: {errors}");
        let error = errors.lines().find(|line| line.starts_with("error: ")).unwrap();
        assert!(error.contains(&format!("`{}`", closed.display())), "{input}: {error}");
        assert!(error.contains("Permission denied"), "{input}: {error}");
        assert!(!out.join("current").exists(), "{input}");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_part_that_changes_during_the_run_ends_it_with_5_and_a_removed_part_with_3() {
    let workspace = Workspace::with_tiny_snapshot();
    let before = state(&workspace.out());
    // Long enough to change the part before the compiler has read all of it.
    let text: String = (1..300_000).map(work).collect();
    type Change = fn(&Path);
    let changes: [(&str, Change, i32); 3] = [
        ("grows", |part| append(part, "\n"), 5),
        ("is replaced", |part| fs::rename(part.with_extension("other"), part).unwrap(), 5),
        ("goes", |part| fs::remove_file(part).unwrap(), 3),
    ];
    for (what, change, code) in changes {
        let part = workspace.input().join("works.jsonl");
        write_files(&workspace.input(), [("works.jsonl", &text), ("works.other", &text)]);
        let objects = workspace.0.path().join(format!("objects of what {what}"));
        let mut child = Command::new(program("pinakes-compiler"))
            .args(["build".as_ref(), part.as_os_str(), "--quiet".as_ref()])
            .args(["--out".as_ref(), workspace.out().as_os_str()])
            .args(["--objects".as_ref(), objects.as_os_str()])
            .stderr(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let is_begun = || {
            let names = fs::read_dir(&objects).into_iter().flatten().flatten();
            names.map(|entry| entry.file_name()).any(|name| name.as_bytes().ends_with(b".tmp"))
        };
        while !is_begun() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{what}: the build ended before the change"
            );
            pinakes_tests::pause();
        }
        change(&part);
        let run = read_outcome(&child.wait_with_output().unwrap(), Path::new("none"));
        assert_eq!(run.code, code, "{what}: {}", run.stderr);
        assert_nothing_published(&workspace.out(), &before, &run, what);
        assert_eq!(fs::read_dir(&objects).unwrap().count(), 0, "{what}: an object is left");
    }
}

fn append(part: &Path, text: &str) {
    use std::io::Write;
    let mut file = fs::File::options().append(true).open(part).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn file_names_that_are_not_utf8_are_read_and_printed_on_one_line() {
    let workspace = Workspace::new();
    let names: [(&[u8], &str); 4] = [
        (b"works a b.jsonl", "works a b.jsonl"),
        (b"works\n2.jsonl", "works\\n2.jsonl"),
        (b"works.\xff3.jsonl", "works.\\xff3.jsonl"),
        (b"works.\\4.jsonl", "works.\\\\4.jsonl"),
    ];
    let mut args = vec!["build".into()];
    for ((name, _), id) in names.iter().zip(1..) {
        let path = workspace.input().join(OsStr::from_bytes(name));
        write_files(
            &workspace.input(),
            [(OsStr::from_bytes(name), format!("{}no JSON\n", work(id)))],
        );
        args.push(path.into_os_string());
    }
    args.extend(["--out".into(), workspace.out().into(), "--max-bad".into(), "50%".into()]);
    let run = run(&args);
    assert_eq!(outputs(&published_path(&run)).len(), 4, "{}", run.stderr);
    let list = fs::read_to_string(workspace.out().join("quarantine/bad-records.jsonl")).unwrap();
    for (_, shown) in names {
        let file = workspace.input().join(shown).display().to_string();
        assert!(list.contains(&json!(file).to_string()), "{shown}: {list}");
    }
    assert_eq!(list.lines().count(), 4);
    // A folder with such a name.
    let workspace = Workspace::new();
    write_files(&workspace.input(), [(OsStr::from_bytes(b"works/part\xff.jsonl"), work(1))]);
    assert_eq!(
        outputs(&published_path(&build(&[&workspace.input()], &workspace.out(), &[]))).len(),
        1
    );
}

#[test]
fn an_output_inside_an_input_is_refused_at_the_start() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", work(1))]);
    let dump = workspace.input();
    let elsewhere = workspace.out();
    for (out, more) in [
        (dump.join("out"), vec![]),
        (dump.join("a/b/../out"), vec![]),
        (dump.clone(), vec![]),
        (elsewhere.clone(), vec!["--objects".to_owned(), dump.join("o").display().to_string()]),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let run = build(&[&dump], &out, &more);
        assert_eq!(run.code, 2, "{} {}", out.display(), run.stderr);
        assert!(run.stderr.contains("lies inside the input"), "{}", run.stderr);
    }
    assert_eq!(fs::read_dir(&dump).unwrap().count(), 1, "nothing was written");
    // A file beside the output is no directory around it.
    assert_eq!(build(&[&dump.join("works.jsonl")], &elsewhere, &[]).code, 0);
}

#[test]
fn a_link_that_leaves_a_dump_is_refused_unless_links_are_followed() {
    let workspace = Workspace::new();
    let outside = workspace.input().with_file_name("secret.jsonl");
    fs::create_dir_all(workspace.input().join("works")).unwrap();
    write_files(&workspace.input(), [("real/a.jsonl", work(1))]);
    fs::write(&outside, "root:x:0:0\n").unwrap();
    let link = workspace.input().join("works/part_0.jsonl");
    symlink(&outside, &link).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "100%"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("is a symbolic link that leaves the input"), "{}", run.stderr);
    fs::write(&outside, work(2)).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &["--follow-links"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // A link inside the dump is a part.
    fs::remove_file(&link).unwrap();
    symlink("../real/a.jsonl", &link).unwrap();
    let run = build(&[&workspace.input()], &workspace.out(), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn the_quarantine_is_readable_by_its_owner_alone() {
    let workspace = Workspace::new();
    write_files(&workspace.input(), [("works.jsonl", format!("{}not json\n", work(1)))]);
    let run = build(&[&workspace.input()], &workspace.out(), &["--max-bad", "50%"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in ["bad-records.jsonl", "bad-lines"] {
        let metadata = fs::metadata(workspace.out().join("quarantine").join(name)).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777, 0o600);
    }
}
