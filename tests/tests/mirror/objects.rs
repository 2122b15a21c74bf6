//! Snapshots linked from fetched objects: the same root hash, or nothing.

use std::{collections::BTreeSet, fs, path::Path};

use pinakes_format::storage::publication::{PUBLICATION, Publication};
use pinakes_tests::{files_below, write_files};
use serde_json::Value;

use crate::host::Host;
use crate::place::{Edition, Place, Run, run};
use pinakes_tests::server::make_writable;

/// With an edition's objects published too.
fn with_objects(edition: Edition) -> Place {
    let place = Place::new();
    place.publish(edition, &["--objects", edition.objects().to_str().unwrap()]);
    place
}

fn pull(place: &Place, host: &Host, more: &[&str]) -> Run {
    let objects = place.path().join("objects");
    place.pull(&host.url(), &[&["--objects", objects.to_str().unwrap()], more].concat())
}

/// The files of objects that were asked for.
fn asked(host: &Host) -> usize {
    let asked = host.asked().into_iter().map(|asked| asked.path);
    asked.filter(|path| path.ends_with(".object")).collect::<BTreeSet<_>>().len()
}

/// Demands that a pull says how many objects it had to fetch.
fn demand_fetched(pulled: &Run, fetched: usize, all: usize) {
    let expected = format!("objects {fetched} of {all} were not here");
    assert!(pulled.stderr.contains(&expected), "{}", pulled.stderr);
}

#[test]
fn objects_link_to_the_published_snapshot_and_only_new_ones_are_fetched() {
    let place = with_objects(Edition::Old);
    let host = place.host();
    let pulled = pull(&place, &host, &[]);
    place.demand(Edition::Old, &pulled);
    let objects = place.path().join("objects");
    assert!(files_below(&objects) == files_below(&Edition::Old.objects()), "other objects");
    let all = files_below(&objects).len();
    demand_fetched(&pulled, all, all);
    assert_eq!(asked(&host), all);
    host.take_sent_bytes();

    place.publish(Edition::New, &["--objects", Edition::New.objects().to_str().unwrap()]);
    let pulled = pull(&place, &host, &[]);
    place.demand(Edition::New, &pulled);
    demand_fetched(&pulled, 1, all);

    // One that is damaged here is fetched again.
    let damaged = files_below(&objects).into_keys().next().unwrap();
    let mut bytes = fs::read(objects.join(&damaged)).unwrap();
    bytes[10] ^= 1;
    fs::write(objects.join(&damaged), bytes).unwrap();
    make_writable(&place.out());
    fs::remove_dir_all(place.out()).unwrap();
    let pulled = pull(&place, &host, &[]);
    place.demand(Edition::New, &pulled);
    demand_fetched(&pulled, 1, all);
}

#[test]
fn a_subset_is_linked_with_the_filters_of_its_manifest() {
    let place = Place::new();
    let (objects, out) = (Edition::Tiny.objects(), place.path().join("part"));
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
        let (tree, key) = (place.tree(), place.key("ours"));
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
        let host = place.host();
        let pulled = pull(&place, &host, &["--allow-rollback"]);
        assert_eq!(pulled.code, Some(0), "{}", pulled.stderr);
        let place_of = |of: &Path| fs::canonicalize(of.join("current")).unwrap();
        let (found, expected) = (place_of(&place.out()), place_of(&out));
        assert_eq!(found.file_name(), expected.file_name());
        assert!(files_below(&found) == files_below(&expected), "{filters:?}");
        make_writable(&out);
    }
}

#[test]
fn objects_with_suppressed_records_are_not_published() {
    let place = Place::new();
    let (objects, out) = (Edition::Tiny.objects(), place.path().join("withheld"));
    write_files(place.path(), [("takedowns.txt", "HX_W2\n")]);
    let [objects, out, list, tree] =
        [objects, out, place.path().join("takedowns.txt"), place.tree()]
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
    // What is published beside an older publication, that holds it still.
    place.publish(Edition::Old, &[]);
    let warning = "warning: older publications in the tree may hold what `--suppress` left out; `--keep 1` \
                   removes them\n";
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
    let place = with_objects(Edition::Tiny);
    let host = place.host();
    let publication = fs::read(place.tree().join(PUBLICATION)).unwrap();
    let published = Publication::read(&publication).unwrap().objects.unwrap();
    let list =
        fs::read(place.tree().join(format!("objects/{}.json", published.list_blake3))).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let read = |object: &Value| {
        let blake3 = object["blake3"].as_str().unwrap();
        fs::read(place.tree().join(format!("objects/{blake3}.object"))).unwrap()
    };
    let publish = |list: &Value, hashes: &[u8]| {
        let mut list = list.clone();
        let blake3 = blake3::hash(hashes).to_hex().to_string();
        write_files(&place.tree(), [(format!("objects/{blake3}.hashes"), hashes)]);
        list["hashes_blake3"] = blake3.into();
        let text = serde_json::to_vec(&list).unwrap();
        let blake3 = blake3::hash(&text).to_hex().to_string();
        write_files(&place.tree(), [(format!("objects/{blake3}.json"), &text)]);
        place.edit(|publication| {
            let objects = publication.objects.as_mut().unwrap();
            objects.list_bytes = text.len() as u64;
            objects.list_blake3 = blake3;
        });
        let _ = fs::remove_dir_all(place.path().join("objects"));
        pull(&place, &host, &["--quiet"])
    };
    let hashes_of = |list: &Value| -> Vec<u8> {
        let objects = list["objects"].as_array().unwrap();
        objects
            .iter()
            .flat_map(|object| pinakes_format::storage::integrity::levels_of(&read(object)))
            .collect()
    };

    // All but one.
    let mut fewer = list.clone();
    fewer["objects"].as_array_mut().unwrap().remove(0);
    let refused = publish(&fewer, &hashes_of(&fewer));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(8), ""), "{}", refused.stderr);
    let error =
        "error: the finished snapshot failed its self-check: the objects link to root hash ";
    assert!(refused.stderr.starts_with(error), "{}", refused.stderr);
    assert!(!place.out().join("current").exists());

    // One that is none, under its own hash.
    let mut other = list.clone();
    let blake3 = blake3::hash(b"no object").to_hex().to_string();
    write_files(&place.tree(), [(format!("objects/{blake3}.object"), "no object")]);
    other["objects"][0]["blake3"] = blake3.into();
    other["objects"][0]["size_bytes"] = 9.into();
    let refused = publish(&other, &hashes_of(&other));
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(refused.stderr.contains("is no object of this program's"), "{}", refused.stderr);

    // Names that lead elsewhere, and a version that is not this program's.
    let url = |host: &Host| {
        let publication = fs::read(place.tree().join(PUBLICATION)).unwrap();
        let objects = Publication::read(&publication).unwrap().objects.unwrap();
        format!("{}/objects/{}.json", host.url(), objects.list_blake3)
    };
    let mut out = list.clone();
    out["objects"][0]["name"] = "../../../etc/x".into();
    let refused = publish(&out, &hashes_of(&list));
    let reason = "`../../../etc/x` is no object's name; expected 32 hex digits";
    place.demand_refusal(&refused, 5, &format!("`{}` is damaged: {reason}", url(&host)));
    let mut newer = list.clone();
    newer["object_version"] = 1_000.into();
    let refused = publish(&newer, &hashes_of(&list));
    assert!(
        refused.stderr.contains("objects of version 1000, this program links "),
        "{}",
        refused.stderr
    );

    // What is published without any.
    place.publish(Edition::Tiny, &[]);
    let refused = pull(&place, &host, &["--quiet"]);
    let reason = "publishes no objects; pull the snapshot itself, without `--objects`";
    place.demand_refusal(&refused, 3, &format!("`{}/{PUBLICATION}`: {reason}", host.url()));
}

#[test]
fn objects_that_differ_from_the_snapshot_are_not_published() {
    let place = Place::with(Edition::Tiny);
    let before = place.published();
    let copy = place.path().join("copy");
    let check = |code: i32, phrase: &str| {
        let published = place.try_publish(Edition::Tiny, &["--objects", copy.to_str().unwrap()]);
        assert_eq!((published.code, published.stdout.as_str()), (Some(code), ""));
        assert!(published.stderr.contains(phrase), "{}", published.stderr);
        assert!(place.published() == before, "the tree changed");
    };
    let objects = files_below(&Edition::Tiny.objects());
    write_files(&copy, &objects);
    // What others left beside them does no harm.
    write_files(&copy, files_below(&Edition::Old.objects()));
    let (first, bytes) = objects.iter().next().unwrap();
    write_files(&copy, [("f".repeat(32) + ".object", bytes)]);
    check(3, "holds two objects of part ");
    fs::remove_file(copy.join("f".repeat(32) + ".object")).unwrap();
    fs::remove_file(copy.join(first)).unwrap();
    check(3, "holds no object of part ");
}
