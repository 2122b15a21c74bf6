//! Tests of published trees: content, permissions, and consistency for readers during a publish.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pinakes_tests::{files_below, write_files};

use crate::mirror::setup::{Edition, Setup, run};
use pinakes_tests::server::make_writable;

#[test]
fn a_tree_holds_only_the_publications_that_keep_allows() {
    let setup = Setup::with(Edition::Old);
    let objects = Edition::Old.objects();
    setup.publish(Edition::Old, &["--objects", objects.to_str().unwrap()]);
    let ids = |setup: &Setup| -> BTreeSet<String> {
        let entries = fs::read_dir(setup.tree().join("snapshots")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let set = |editions: &[Edition]| editions.iter().map(|edition| edition.id()).collect();
    let count = |setup: &Setup| fs::read_dir(setup.tree().join("objects")).unwrap().count();
    assert_eq!(ids(&setup), set(&[Edition::Old]));
    // The objects, their list and the hashes of the list.
    let all = fs::read_dir(&objects).unwrap().count() + 2;
    assert_eq!(count(&setup), all);
    setup.publish(Edition::New, &[]);
    assert_eq!((ids(&setup), count(&setup)), (set(&[Edition::Old, Edition::New]), all));
    assert_eq!(setup.try_publish(Edition::Tiny, &["--keep", "1"]).code, Some(0));
    assert_eq!((ids(&setup), count(&setup)), (set(&[Edition::Tiny]), 0));

    let files = files_below(&setup.tree());
    let mut expected: BTreeSet<String> = files_below(&Edition::Tiny.snapshot())
        .into_keys()
        .map(|name| format!("snapshots/{}/{name}", Edition::Tiny.id()))
        .collect();
    expected.extend(["publication.json", "publication.json.minisig", ".lock"].map(String::from));
    expected.insert(format!("publications/{}.json", Edition::Tiny.id()));
    expected.insert(format!("publications/{}.json.minisig", Edition::Tiny.id()));
    assert_eq!(files.into_keys().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn files_of_a_killed_run_are_removed_and_foreign_files_kept() {
    let setup = Setup::with(Edition::Tiny);
    let tree = setup.tree();
    let expected = setup.published();
    let id = Edition::Tiny.id();
    let kept = fs::read(tree.join(format!("publications/{id}.json"))).unwrap();
    let hash = "0f".repeat(32);
    let left = [
        format!("publications/{id}.json.tmp-7"),
        "publication.json.tmp-7".into(),
        "publication.json.minisig.tmp-7".into(),
        format!("objects/{hash}.object.tmp"),
        format!("objects/{hash}.json.tmp-7"),
        format!("objects/{hash}.object"),
        // A snapshot that no publication names.
        "snapshots/0123456789abcdef/strings".into(),
    ];
    write_files(&tree, left.iter().map(|name| (name.clone(), &kept)));
    let others =
        ["objects/thesis.pdf", "objects/0f.object", "publications/notes", "snapshots/mine"];
    write_files(&tree, others.map(|name| (name, "another's")));
    setup.publish(Edition::Tiny, &["--keep", "1"]);
    let mut found = setup.published();
    for name in others {
        assert_eq!(found.remove(name).as_deref(), Some(&b"another's"[..]), "{name}");
    }
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected));
    setup.assert_current(Edition::Tiny, &setup.pull(&setup.host().url(), &[]));
}

#[test]
fn a_tree_cannot_be_in_a_directory_of_snapshots() {
    let setup = Setup::new();
    let snapshot = Edition::Tiny.snapshot();
    let snapshots = snapshot.parent().unwrap();
    for (given, to) in [(snapshots, snapshots), (&*snapshot, snapshots), (&*snapshot, &*snapshot)] {
        let published =
            run(&["publish".as_ref(), given.as_os_str(), "--to".as_ref(), to.as_os_str()]);
        let error = format!(
            "error: `{}` is a directory of snapshots; give `--to` another \
             directory\n",
            to.display()
        );
        assert_eq!((published.code, published.stderr), (Some(2), error));
    }
    let refused = setup.try_publish(Edition::Tiny, &["--licence", "a\nb"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(!setup.tree().exists(), "something was published");
}

#[test]
fn a_damaged_tree_is_repaired_by_publishing_again() {
    let setup = Setup::new();
    let objects = Edition::Tiny.objects();
    setup.publish(Edition::Tiny, &["--objects", objects.to_str().unwrap()]);
    let expected = setup.published();
    let there = setup.tree().join("snapshots").join(Edition::Tiny.id()).join("outputs/records");
    let object = expected.keys().find(|name| name.ends_with(".object")).unwrap();
    for damaged in [there, setup.tree().join(object)] {
        // The file may be a hard link to the source.
        fs::remove_file(&damaged).unwrap();
        fs::write(&damaged, "x").unwrap();
    }
    setup.publish(Edition::Tiny, &["--objects", objects.to_str().unwrap()]);
    let changes = ["publication.json", "publications/"];
    for (name, bytes) in setup.published() {
        let is_same = changes.iter().any(|of| name.starts_with(of)) || expected[&name] == bytes;
        assert!(is_same, "{name}");
    }
}

#[test]
fn a_mirror_keeps_the_requested_number_of_snapshots() {
    let setup = Setup::new();
    let host = setup.host();
    let there = || {
        [Edition::Tiny, Edition::Old, Edition::New]
            .map(|edition| setup.out().join(edition.id()).exists())
    };
    for (edition, more, expected) in [
        (Edition::Tiny, &[][..], [true, false, false]),
        (Edition::Old, &[], [true, true, false]),
        (Edition::New, &["--keep", "2"], [false, true, true]),
        // The snapshot is already in the mirror.
        (Edition::New, &["--keep", "1"], [false, false, true]),
    ] {
        setup.publish(edition, &[]);
        let pulled = setup.pull(&host.url(), more);
        setup.assert_current(edition, &pulled);
        assert_eq!(there(), expected, "{edition:?} {more:?}");
    }
}

#[test]
fn a_damaged_snapshot_is_not_published() {
    let setup = Setup::with(Edition::Tiny);
    let before = setup.published();
    let copy = setup.path().join("copy");
    write_files(&copy, files_below(&Edition::Old.snapshot()));
    let records = copy.join("outputs/records");
    let mut bytes = fs::read(&records).unwrap();
    bytes[100_000] ^= 1;
    fs::write(&records, &bytes).unwrap();
    let (tree, key) = (setup.tree(), setup.key("ours"));
    let published = run(&[
        "publish".as_ref(),
        copy.as_os_str(),
        "--to".as_ref(),
        tree.as_os_str(),
        "--key".as_ref(),
        key.as_os_str(),
        "--quiet".as_ref(),
    ]);
    assert_eq!((published.code, published.stdout.as_str()), (Some(8), ""));
    assert!(published.stderr.contains("records` has hash "), "{}", published.stderr);
    assert!(setup.published() == before);
}

#[test]
fn directories_writable_by_others_are_rejected() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let shared = |mode: u32| {
        let directory = setup.path().join(format!("shared-{mode:o}"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
        directory
    };
    let may = "may be written by other users, who could exchange verified files; give another \
               directory, or protect it (`chmod go-w`)";
    for mode in [0o775, 0o757, 0o777] {
        let directory = shared(mode);
        for out in [directory.clone(), directory.join("below")] {
            let out = out.to_str().unwrap();
            let pulled = run(&["pull", &host.url(), "--out", out, "--quiet"]);
            let published =
                run(&["publish", Edition::Tiny.snapshot().to_str().unwrap(), "--to", out]);
            for refused in [pulled, published] {
                let error = format!("error: `{}` {may}\n", directory.display());
                assert_eq!((refused.code, refused.stderr), (Some(2), error));
            }
        }
    }
    // A sticky directory such as /tmp is accepted: only the owner may replace an entry.
    let out = shared(0o1777).join("below");
    let pulled = run(&["pull", &host.url(), "--out", out.to_str().unwrap(), "--quiet"]);
    assert_eq!(pulled.code, Some(0), "{}", pulled.stderr);
    // The directory of objects must not be writable by others or contain a symlink `.pull`.
    let objects = shared(0o770);
    let mirror = setup.path().join("mirror");
    let pull = |objects: &Path| {
        let [out, objects] = [&*mirror, objects].map(|path| path.to_str().unwrap());
        run(&["pull", &host.url(), "--out", out, "--objects", objects, "--quiet"])
    };
    let refused = pull(&objects);
    let error = format!("error: `{}` {may}\n", objects.display());
    assert_eq!((refused.code, refused.stderr), (Some(2), error));
    fs::set_permissions(&objects, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(setup.path(), objects.join(".pull")).unwrap();
    let refused = pull(&objects);
    let place_of = objects.join(".pull");
    let error =
        format!("error: `{}` is not a directory; remove it and run again\n", place_of.display());
    assert_eq!((refused.code, refused.stderr), (Some(2), error));
    // A symlink to that directory is rejected as well.
    fs::remove_file(objects.join(".pull")).unwrap();
    let led_to = setup.path().join("led-to");
    symlink(&objects, &led_to).unwrap();
    fs::set_permissions(&objects, fs::Permissions::from_mode(0o770)).unwrap();
    let refused = pull(&led_to);
    let error = format!("error: `{}` {may}\n", objects.display());
    assert_eq!((refused.code, refused.stderr), (Some(2), error));
    // `--out` must not be a symlink.
    let link = setup.path().join("link");
    symlink(&out, &link).unwrap();
    let pulled = run(&["pull", &host.url(), "--out", link.to_str().unwrap(), "--quiet"]);
    assert_eq!(pulled.code, Some(2), "{}", pulled.stderr);
}

#[test]
fn inner_directories_writable_by_others_or_symlinked_are_rejected() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &[]));
    let outside = setup.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let [tree, out] = [setup.tree(), setup.out()];
    for (directory, name) in
        [(&out, "publications"), (&tree, "publications"), (&tree, "snapshots"), (&tree, "objects")]
    {
        let within = directory.join(name);
        let refuse = |reason: &str| {
            let refused = match directory == &out {
                true => setup.pull(&host.url(), &["--quiet"]),
                false => setup.try_publish(Edition::Tiny, &[]),
            };
            let error = format!("error: `{}` {reason}\n", within.display());
            assert_eq!((refused.code, refused.stderr), (Some(2), error));
        };
        for mode in [0o775, 0o757, 0o1777] {
            fs::set_permissions(&within, fs::Permissions::from_mode(mode)).unwrap();
            refuse(
                "may be written by other users, who could exchange verified files; give another \
                 directory, or protect it (`chmod go-w`)",
            );
        }
        let aside = setup.path().join("aside");
        fs::rename(&within, &aside).unwrap();
        symlink(&outside, &within).unwrap();
        refuse("is not a directory; remove it and run again");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(&within).unwrap();
        fs::rename(&aside, &within).unwrap();
        fs::set_permissions(&within, fs::Permissions::from_mode(0o755)).unwrap();
    }
    setup.publish(Edition::Tiny, &[]);
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--quiet"]));
}

#[test]
fn symlinks_at_the_paths_of_fetched_files_are_not_followed() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let outside = setup.path().join("outside");
    fs::write(&outside, "as it was").unwrap();
    let root = crate::mirror::manifests::read(&setup).root;
    let fetched = setup.out().join(format!(".pull-{}", &root[..32]));
    fs::create_dir_all(fetched.join("outputs")).unwrap();
    // Files replace any other entry.
    for name in ["outputs/records", "manifest.json", "hashes"] {
        symlink(&outside, fetched.join(name)).unwrap();
    }
    setup.assert_current(Edition::Tiny, &setup.pull(&host.url(), &["--quiet"]));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was");
}

#[test]
fn readers_always_find_a_complete_publication() {
    let setup = Setup::with(Edition::Tiny);
    let host = setup.host();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            let mut published = 0;
            while !is_done.load(Relaxed) {
                for edition in [Edition::Old, Edition::Tiny] {
                    let run = setup.try_publish(edition, &["--keep", "3"]);
                    assert_eq!(run.code, Some(0), "{}", run.stderr);
                    published += 1;
                }
            }
            published
        });
        for at in 0..12 {
            let pulled = setup.pull(&host.url(), &["--quiet", "--allow-rollback"]);
            if pulled.code != Some(0) {
                is_done.store(true, Relaxed);
            }
            assert_eq!(pulled.code, Some(0), "pull {at}: {}", pulled.stderr);
            make_writable(&setup.out());
            fs::remove_dir_all(setup.out()).unwrap();
        }
        is_done.store(true, Relaxed);
        assert!(publishing.join().unwrap() > 4);
    });
}
