//! Tests that `pull --objects` links fetched objects into the published root hash or publishes nothing.

use std::{collections::BTreeSet, fs, path::Path};

use pinakes_format::storage::publication::{PUBLICATION, Publication};
use pinakes_tests::{files_below, write_files};
use serde_json::Value;

use crate::mirror::setup::{Edition, Run, Setup, run};
use pinakes_tests::server::make_writable;
use pinakes_tests::static_host::Host;

/// Publishes an edition with its objects.
fn with_objects(edition: Edition) -> Setup {
    let setup = Setup::new();
    setup.publish(edition, &["--objects", edition.objects().to_str().unwrap()]);
    setup
}

fn pull(setup: &Setup, host: &Host, more: &[&str]) -> Run {
    let objects = setup.path().join("objects");
    setup.pull(&host.url(), &[&["--objects", objects.to_str().unwrap()], more].concat())
}

/// Number of distinct object files that were requested.
fn requested_objects(host: &Host) -> usize {
    let asked = host.asked().into_iter().map(|asked| asked.path);
    asked.filter(|path| path.ends_with(".object")).collect::<BTreeSet<_>>().len()
}

/// Asserts the number of fetched objects in the log of a pull.
fn assert_fetched(pulled: &Run, fetched: usize, all: usize) {
    let expected = format!("objects {fetched} of {all} were missing");
    assert!(pulled.stderr.contains(&expected), "{}", pulled.stderr);
}

#[test]
fn objects_link_to_the_published_snapshot_and_only_new_ones_are_fetched() {
    let setup = with_objects(Edition::Old);
    let host = setup.host();
    let pulled = pull(&setup, &host, &[]);
    setup.assert_current(Edition::Old, &pulled);
    let objects = setup.path().join("objects");
    assert!(files_below(&objects) == files_below(&Edition::Old.objects()), "other objects");
    let all = files_below(&objects).len();
    assert_fetched(&pulled, all, all);
    assert_eq!(requested_objects(&host), all);
    host.take_sent_bytes();

    setup.publish(Edition::New, &["--objects", Edition::New.objects().to_str().unwrap()]);
    let pulled = pull(&setup, &host, &[]);
    setup.assert_current(Edition::New, &pulled);
    assert_fetched(&pulled, 1, all);
    let states = files_below(&setup.out().join(".linked")).into_keys();
    let states = states.filter(|name| name.ends_with(".state")).count();
    assert_eq!(states, 2, "each link keeps what the next takes over");

    // A damaged local object is fetched again. The directory also has an object of the older edition.
    let mut names = files_below(&Edition::New.objects()).into_keys();
    let damaged = names.find(|name| name.ends_with(".object")).unwrap();
    let mut bytes = fs::read(objects.join(&damaged)).unwrap();
    bytes[10] ^= 1;
    fs::write(objects.join(&damaged), bytes).unwrap();
    make_writable(&setup.out());
    fs::remove_dir_all(setup.out()).unwrap();
    let pulled = pull(&setup, &host, &[]);
    setup.assert_current(Edition::New, &pulled);
    assert_fetched(&pulled, 1, all);
}

#[test]
fn a_subset_is_linked_with_the_filters_of_its_manifest() {
    let setup = Setup::new();
    let (objects, out) = (Edition::Tiny.objects(), setup.path().join("part"));
    let link = |filters: &[&str]| {
        let _ = fs::remove_dir_all(&out);
        let mut args = vec!["link", "--objects", objects.to_str().unwrap(), "--out"];
        args.extend([out.to_str().unwrap(), "--quiet"]);
        filters.iter().for_each(|filter| args.extend(["--where", filter]));
        let linked = run(&args);
        assert_eq!(linked.code, Some(0), "{}", linked.stderr);
    };
    for filters in [
        &["outputs:year:>2000,is_oa:true"][..],
        &["authors:name:\"Example, Ada\"|\"Ada Example\"", "fields:id:!null"][..1],
    ] {
        link(filters);
        let (tree, key) = (setup.tree(), setup.key("ours"));
        let published = run(&[
            "publish",
            out.to_str().unwrap(),
            "--to",
            tree.to_str().unwrap(),
            "--key",
            key.to_str().unwrap(),
            "--objects",
            objects.to_str().unwrap(),
            "--quiet",
        ]);
        assert_eq!((published.code, published.stderr.as_str()), (Some(0), ""));
        let host = setup.host();
        let pulled = pull(&setup, &host, &["--allow-rollback"]);
        assert_eq!(pulled.code, Some(0), "{}", pulled.stderr);
        let place_of = |of: &Path| fs::canonicalize(of.join("current")).unwrap();
        let (found, expected) = (place_of(&setup.out()), place_of(&out));
        assert_eq!(found.file_name(), expected.file_name());
        assert!(files_below(&found) == files_below(&expected), "{filters:?}");
        make_writable(&out);
    }
}

#[test]
fn objects_with_suppressed_records_are_not_published() {
    let setup = Setup::new();
    let (objects, out) = (Edition::Tiny.objects(), setup.path().join("suppressed"));
    write_files(setup.path(), [("suppressed.txt", "HX_W2\n")]);
    let [objects, out, list, tree] =
        [objects, out, setup.path().join("suppressed.txt"), setup.tree()]
            .map(|path| path.into_os_string().into_string().unwrap());
    let linked =
        run(&["link", "--objects", &objects, "--out", &out, "--suppress", &list, "--quiet"]);
    assert_eq!(linked.code, Some(0), "{}", linked.stderr);
    let published = run(&["publish", &out, "--to", &tree, "--objects", &objects, "--quiet"]);
    assert_eq!(published.code, Some(2), "{}", published.stderr);
    assert!(
        published.stderr.contains("`--suppress` left 1 records out of this snapshot"),
        "{}",
        published.stderr
    );
    assert!(!Path::new(&tree).exists(), "something was published");
    // An older publication in the tree still holds the suppressed record.
    setup.publish(Edition::Old, &[]);
    let warning = "warning: older publications in the tree may contain records that `--suppress` left \
                   out; `--keep 1` removes them\n";
    for (keep, expected) in [("2", warning), ("1", "")] {
        let published = run(&["publish", &out, "--to", &tree, "--keep", keep, "--quiet"]);
        assert_eq!(published.code, Some(0), "{}", published.stderr);
        assert_eq!(published.stderr.contains("older publications"), !expected.is_empty());
        assert!(published.stderr.ends_with(expected), "{}", published.stderr);
    }
    make_writable(Path::new(&out));
}

#[test]
fn objects_that_link_to_another_root_hash_publish_nothing() {
    let setup = with_objects(Edition::Tiny);
    let host = setup.host();
    let publication = fs::read(setup.tree().join(PUBLICATION)).unwrap();
    let published = Publication::read(&publication).unwrap().objects.unwrap();
    let list =
        fs::read(setup.tree().join(format!("objects/{}.json", published.list_blake3))).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let read = |object: &Value| {
        let blake3 = object["blake3"].as_str().unwrap();
        fs::read(setup.tree().join(format!("objects/{blake3}.object"))).unwrap()
    };
    let publish = |list: &Value, hashes: &[u8]| {
        let mut list = list.clone();
        let blake3 = blake3::hash(hashes).to_hex().to_string();
        write_files(&setup.tree(), [(format!("objects/{blake3}.hashes"), hashes)]);
        list["hashes_blake3"] = blake3.into();
        let text = serde_json::to_vec(&list).unwrap();
        let blake3 = blake3::hash(&text).to_hex().to_string();
        write_files(&setup.tree(), [(format!("objects/{blake3}.json"), &text)]);
        setup.edit(|publication| {
            let objects = publication.objects.as_mut().unwrap();
            objects.list_bytes = text.len() as u64;
            objects.list_blake3 = blake3;
        });
        let _ = fs::remove_dir_all(setup.path().join("objects"));
        pull(&setup, &host, &["--quiet"])
    };
    let hashes_of = |list: &Value| -> Vec<u8> {
        let objects = list["objects"].as_array().unwrap();
        objects
            .iter()
            .flat_map(|object| pinakes_format::storage::integrity::levels_of(&read(object)))
            .collect()
    };

    // One object is missing from the list.
    let mut fewer = list.clone();
    fewer["objects"].as_array_mut().unwrap().remove(0);
    let refused = publish(&fewer, &hashes_of(&fewer));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(8), ""), "{}", refused.stderr);
    let error =
        "error: the finished snapshot failed its self-check: the objects link to root hash ";
    assert!(refused.stderr.starts_with(error), "{}", refused.stderr);
    assert!(!setup.out().join("current").exists());

    // One file is not an object, under its correct hash.
    let mut other = list.clone();
    let blake3 = blake3::hash(b"no object").to_hex().to_string();
    write_files(&setup.tree(), [(format!("objects/{blake3}.object"), "no object")]);
    other["objects"][0]["blake3"] = blake3.into();
    other["objects"][0]["size_bytes"] = 9.into();
    let refused = publish(&other, &hashes_of(&other));
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(refused.stderr.contains("it is not an object of this version"), "{}", refused.stderr);

    // An object name with a foreign path, and an unknown object version.
    let url = |host: &Host| {
        let publication = fs::read(setup.tree().join(PUBLICATION)).unwrap();
        let objects = Publication::read(&publication).unwrap().objects.unwrap();
        format!("{}/objects/{}.json", host.url(), objects.list_blake3)
    };
    let mut out = list.clone();
    out["objects"][0]["name"] = "../../../etc/x".into();
    let refused = publish(&out, &hashes_of(&list));
    let reason = "`../../../etc/x` is not an object's name; expected 32 hex digits";
    setup.assert_rejected(&refused, 5, &format!("`{}` is damaged: {reason}", url(&host)));
    let mut newer = list.clone();
    newer["object_version"] = 1_000.into();
    let refused = publish(&newer, &hashes_of(&list));
    assert!(
        refused.stderr.contains("the objects have version 1000, this program links "),
        "{}",
        refused.stderr
    );

    // A publication without objects.
    setup.publish(Edition::Tiny, &[]);
    let refused = pull(&setup, &host, &["--quiet"]);
    let reason = "the publication has no objects; pull the snapshot itself, without `--objects`";
    setup.assert_rejected(&refused, 3, &format!("`{}/{PUBLICATION}`: {reason}", host.url()));
}

#[test]
fn objects_that_differ_from_the_snapshot_are_not_published() {
    let setup = Setup::with(Edition::Tiny);
    let before = setup.published();
    let copy = setup.path().join("copy");
    let check = |code: i32, phrase: &str| {
        let published = setup.try_publish(Edition::Tiny, &["--objects", copy.to_str().unwrap()]);
        assert_eq!((published.code, published.stdout.as_str()), (Some(code), ""));
        assert!(published.stderr.contains(phrase), "{}", published.stderr);
        assert!(setup.published() == before, "the tree changed");
    };
    let objects = files_below(&Edition::Tiny.objects());
    write_files(&copy, &objects);
    // Objects of other snapshots in the directory are ignored.
    write_files(&copy, files_below(&Edition::Old.objects()));
    let (first, bytes) = objects.iter().next().unwrap();
    write_files(&copy, [("f".repeat(32) + ".object", bytes)]);
    check(3, "contains two objects of part ");
    fs::remove_file(copy.join("f".repeat(32) + ".object")).unwrap();
    fs::remove_file(copy.join(first)).unwrap();
    check(3, "contains no object of part ");
}
