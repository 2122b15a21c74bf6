//! Trees: what they hold, who may write them, and that readers find a whole publication at any time.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pinakes_tests::files_below;

use crate::{
    place::{Edition, Place, run},
    server::make_writable,
};

#[test]
fn a_tree_holds_what_it_publishes_and_no_more_publications_than_are_kept() {
    let place = Place::with(Edition::Old);
    let objects = Edition::Old.objects();
    place.publish(Edition::Old, &["--objects", objects.to_str().unwrap()]);
    let ids = |place: &Place| -> BTreeSet<String> {
        let entries = fs::read_dir(place.tree().join("snapshots")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let set = |editions: &[Edition]| editions.iter().map(|edition| edition.id()).collect();
    let count = |place: &Place| fs::read_dir(place.tree().join("objects")).unwrap().count();
    assert_eq!(ids(&place), set(&[Edition::Old]));
    // The objects, their list and its hashes.
    let all = fs::read_dir(&objects).unwrap().count() + 2;
    assert_eq!(count(&place), all);
    place.publish(Edition::New, &[]);
    assert_eq!((ids(&place), count(&place)), (set(&[Edition::Old, Edition::New]), all));
    assert_eq!(place.try_publish(Edition::Tiny, &["--keep", "1"]).code, Some(0));
    assert_eq!((ids(&place), count(&place)), (set(&[Edition::Tiny]), 0));

    let files = files_below(&place.tree());
    let mut expected: BTreeSet<String> = files_below(&Edition::Tiny.snapshot())
        .into_keys()
        .map(|name| format!("snapshots/{}/{name}", Edition::Tiny.id()))
        .collect();
    expected.extend(["publication.json", "publication.json.minisig", ".lock"].map(String::from));
    expected.insert(format!("publications/{}.json", Edition::Tiny.id()));
    assert_eq!(files.into_keys().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn a_mirror_keeps_as_many_snapshots_as_it_is_asked_to() {
    let place = Place::new();
    let host = place.host();
    let there = || {
        [Edition::Tiny, Edition::Old, Edition::New]
            .map(|edition| place.out().join(edition.id()).exists())
    };
    for (edition, more, expected) in [
        (Edition::Tiny, &[][..], [true, false, false]),
        (Edition::Old, &[], [true, true, false]),
        (Edition::New, &["--keep", "2"], [false, true, true]),
        // It is here already.
        (Edition::New, &["--keep", "1"], [false, false, true]),
    ] {
        place.publish(edition, &[]);
        let pulled = place.pull(&host.url(), more);
        place.demand(edition, &pulled);
        assert_eq!(there(), expected, "{edition:?} {more:?}");
    }
}

#[test]
fn a_snapshot_that_is_damaged_is_not_published() {
    let place = Place::with(Edition::Tiny);
    let before = place.published();
    let copy = place.path().join("copy");
    pinakes_tests::write_files(&copy, files_below(&Edition::Old.snapshot()));
    let records = copy.join("outputs/records");
    let mut bytes = fs::read(&records).unwrap();
    bytes[100_000] ^= 1;
    fs::write(&records, &bytes).unwrap();
    let (tree, key) = (place.tree(), place.key("ours"));
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
    assert!(place.published() == before);
}

#[test]
fn directories_that_others_may_write_are_refused() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let shared = |mode: u32| {
        let directory = place.path().join(format!("shared-{mode:o}"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(mode)).unwrap();
        directory
    };
    let may = "may be written by others than its owner, who could exchange what was verified; give \
               another, or make it yours (`chmod go-w`)";
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
    // Where only the owner of a directory may put another in its place, as in /tmp, it may stand.
    let out = shared(0o1777).join("below");
    let pulled = run(&["pull", &host.url(), "--out", out.to_str().unwrap(), "--quiet"]);
    assert_eq!(pulled.code, Some(0), "{}", pulled.stderr);
    // What a link leads to is not written.
    let link = place.path().join("link");
    symlink(&out, &link).unwrap();
    let pulled = run(&["pull", &host.url(), "--out", link.to_str().unwrap(), "--quiet"]);
    assert_eq!(pulled.code, Some(2), "{}", pulled.stderr);
}

#[test]
fn links_in_the_way_of_what_is_fetched_are_not_followed() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let outside = place.path().join("outside");
    fs::write(&outside, "as it was").unwrap();
    let root = crate::manifests::read(&place).root;
    let fetched = place.out().join(format!(".pull-{}", &root[..32]));
    fs::create_dir_all(fetched.join("outputs")).unwrap();
    symlink(&outside, fetched.join("outputs/records")).unwrap();
    let pulled = place.pull(&host.url(), &["--quiet"]);
    assert_eq!(pulled.code, Some(6), "{}", pulled.stderr);
    fs::remove_file(fetched.join("outputs/records")).unwrap();
    // Small files are put in place of whatever stands there.
    for name in ["manifest.json", "hashes"] {
        let _ = fs::remove_file(fetched.join(name));
        symlink(&outside, fetched.join(name)).unwrap();
    }
    place.demand(Edition::Tiny, &place.pull(&host.url(), &["--quiet"]));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was");
}

#[test]
fn readers_find_a_whole_publication_while_others_are_published() {
    let place = Place::with(Edition::Tiny);
    let host = place.host();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let publishing = scope.spawn(|| {
            let mut published = 0;
            while !is_done.load(Relaxed) {
                for edition in [Edition::Old, Edition::Tiny] {
                    let run = place.try_publish(edition, &["--keep", "3"]);
                    assert_eq!(run.code, Some(0), "{}", run.stderr);
                    published += 1;
                }
            }
            published
        });
        for at in 0..12 {
            let pulled = place.pull(&host.url(), &["--quiet", "--allow-rollback"]);
            if pulled.code != Some(0) {
                is_done.store(true, Relaxed);
            }
            assert_eq!(pulled.code, Some(0), "pull {at}: {}", pulled.stderr);
            make_writable(&place.out());
            fs::remove_dir_all(place.out()).unwrap();
        }
        is_done.store(true, Relaxed);
        assert!(publishing.join().unwrap() > 4);
    });
}
