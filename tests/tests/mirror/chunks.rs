//! Only the chunks that are not here are fetched, and what was fetched outlasts the run that fetched it.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::host::{Does, Host};
use crate::place::{Edition, Place};
use pinakes_tests::server::make_writable;

/// Bytes of all files of what is published but for the manifest.
fn bytes_of(place: &Place) -> u64 {
    crate::manifests::read(place).files.iter().map(|entry| entry.size_bytes).sum()
}

/// Requests that a snapshot takes: the publication, its signature, the manifest, and one for each 4 MiB
/// of a file.
fn asked_for(place: &Place) -> usize {
    let files = crate::manifests::read(place).files;
    3 + files.iter().map(|entry| entry.size_bytes.div_ceil(4 << 20) as usize).sum::<usize>()
}

/// Three numbers: fetched, fetched before, copied.
fn gains(stderr: &str) -> [u64; 3] {
    let line = stderr.lines().find(|line| line.trim_start().starts_with("fetched ")).unwrap();
    let numbers: Vec<u64> = line.split([' ', ';']).filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[2], numbers[3]]
}

/// Where files are fetched in the mirror's directory.
fn fetched_in(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.out()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_it = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(".pull-");
    paths.into_iter().find(is_it).unwrap()
}

#[test]
fn only_chunks_that_no_local_snapshot_holds_are_fetched() {
    let place = Place::with(Edition::Old);
    let host = place.host();
    let first = place.pull(&host.url(), &[]);
    place.demand(Edition::Old, &first);
    let all = bytes_of(&place);
    assert_eq!(gains(&first.stderr)[1..], [0, 0]);
    assert!(host.take_sent_bytes() > all);

    place.publish(Edition::New, &[]);
    let second = place.pull(&host.url(), &[]);
    place.demand(Edition::New, &second);
    let [fetched, kept, copied] = gains(&second.stderr);
    let sent = host.take_sent_bytes();
    assert_eq!((fetched, kept), (sent, 0));
    let hashes = fs::metadata(place.out().join("current/hashes")).unwrap().len();
    assert!(copied > bytes_of(&place) / 2, "{copied} copied, {fetched} fetched of {all}");
    assert!(
        fetched < all / 2 && fetched + copied >= all + hashes - 65_536,
        "{fetched} {copied} {all}"
    );

    // And of one that is here nothing.
    place.demand(Edition::New, &place.pull(&host.url(), &[]));
    let asked: Vec<String> = host.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(asked, ["publication.json", "publication.json.minisig"]);
}

#[test]
fn adjacent_chunks_are_fetched_in_one_request() {
    let place = Place::with(Edition::Old);
    let host = place.host();
    place.demand(Edition::Old, &place.pull(&host.url(), &[]));
    let asked = host.asked();
    assert_eq!(asked.len(), asked_for(&place));
    let mut ranges: Vec<(usize, usize)> = asked.iter().filter_map(|asked| asked.range).collect();
    ranges.sort_unstable();
    let files = crate::manifests::read(&place).files;
    let largest = files.iter().map(|entry| entry.size_bytes).max().unwrap() as usize;
    assert_eq!(ranges, [(0, (4 << 20) - 1), (4 << 20, largest - 1)]);
}

#[test]
fn a_killed_pull_is_resumed() {
    let place = Place::with(Edition::Old);
    let largest = {
        let manifest = crate::manifests::read(&place);
        let entry = manifest.files.iter().max_by_key(|entry| entry.size_bytes).unwrap();
        format!("snapshots/{}/{}", manifest.id, entry.path)
    };
    let all = bytes_of(&place);
    // Of every part of the largest file one chunk and a half comes.
    let stalling = Host::that(place.tree(), move |asked| {
        if asked.path == largest { Does::Stalls(100_000) } else { Does::Serves }
    });
    let (pubkey, url) = (place.pubkey("ours"), stalling.url());
    let mut pulling =
        place.pull_command(&url, &["--pubkey", pubkey.to_str().unwrap()]).spawn().unwrap();
    // Until every file was asked for, and nothing more comes.
    let expected = asked_for(&place);
    let begun = Instant::now();
    let mut last = (0, Instant::now());
    while stalling.asked().len() < expected || last.1.elapsed() < Duration::from_secs(1) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is fetched");
        std::thread::sleep(Duration::from_millis(20));
        if stalling.sent_bytes() != last.0 {
            last = (stalling.sent_bytes(), Instant::now());
        }
    }
    pulling.kill().unwrap();
    pulling.wait().unwrap();
    assert!(!place.out().join("current").exists());

    // What lies there is not believed: one chunk of it is damaged meanwhile.
    let records = fetched_in(&place).join("outputs/ids");
    let mut bytes = fs::read(&records).unwrap();
    assert!(bytes.iter().any(|byte| *byte != 0), "nothing of it was fetched");
    bytes[100] ^= 1;
    fs::write(&records, &bytes).unwrap();

    // Nor is anything else that was begun there.
    let begun = [
        fetched_in(&place).join("manifest.json.tmp-77"),
        place.out().join("publications/seen.json.tmp-77"),
    ];
    begun.iter().for_each(|path| fs::write(path, "half").unwrap());

    let host = place.host();
    let second = place.pull(&host.url(), &[]);
    place.demand(Edition::Old, &second);
    let files = pinakes_tests::files_below(&place.out());
    assert!(files.keys().all(|path| !path.contains(".tmp-")), "{:?}", files.keys());
    let [fetched, kept, copied] = gains(&second.stderr);
    let beside: u64 = ["publication.json", "publication.json.minisig"]
        .iter()
        .map(|name| fs::metadata(place.tree().join(name)).unwrap().len())
        .sum::<u64>()
        + fs::metadata(place.out().join("current/manifest.json")).unwrap().len();
    let hashes = fs::metadata(place.out().join("current/hashes")).unwrap().len();
    assert_eq!((fetched, copied), (host.sent_bytes(), 0));
    // The hashes are here, whole.
    assert_eq!(fetched + kept, all - hashes + beside);
    // One chunk of either part of the largest file, and all of the others but one chunk.
    assert!(kept >= 2 * 65_536, "{kept} bytes were kept of {all}");
    let damaged =
        host.asked().into_iter().filter(|asked| asked.path.ends_with("outputs/ids")).count();
    assert_eq!(damaged, 1);
}

#[test]
fn a_newer_pull_removes_files_of_an_abandoned_one() {
    let place = Place::with(Edition::Old);
    let broken = Host::that(place.tree(), |asked| {
        if asked.path.ends_with("outputs/records") { Does::Cuts(0) } else { Does::Serves }
    });
    assert_eq!(place.pull(&broken.url(), &["--tries", "1"]).code, Some(3));
    fetched_in(&place);
    place.publish(Edition::New, &[]);
    place.demand(Edition::New, &place.pull(&place.host().url(), &[]));
}

#[test]
fn a_damaged_local_snapshot_is_repaired_by_its_damaged_chunks() {
    let place = Place::with(Edition::Old);
    let host = place.host();
    place.demand(Edition::Old, &place.pull(&host.url(), &[]));
    let there = place.out().join(Edition::Old.id());
    let paths = ["outputs/records", "outputs/ids", "strings"].map(|path| there.join(path));
    let flip = |path: &PathBuf, at: usize| {
        let mut bytes = fs::read(path).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let chunk = 65_536;
    let beside = ["publication.json", "publication.json.minisig"]
        .map(|name| fs::metadata(place.tree().join(name)).unwrap().len());
    let beside: u64 =
        beside.iter().sum::<u64>() + fs::metadata(there.join("manifest.json")).unwrap().len();
    let cases: [(&str, &dyn Fn(), u64); 5] = [
        ("one chunk", &|| flip(&paths[0], 3 * chunk + 7), chunk as u64),
        ("two", &|| (flip(&paths[0], 0), flip(&paths[0], 2 * chunk)).0, 2 * chunk as u64),
        (
            "cut short",
            &|| fs::write(&paths[1], "x").unwrap(),
            fs::metadata(&paths[1]).unwrap().len(),
        ),
        ("gone", &|| fs::remove_file(&paths[2]).unwrap(), fs::metadata(&paths[2]).unwrap().len()),
        ("no manifest", &|| fs::write(there.join("manifest.json"), "{}").unwrap(), u64::MAX),
    ];
    for (what, damage, fetched_bytes) in cases {
        make_writable(&there);
        damage();
        host.take_sent_bytes();
        let pulled = place.pull(&host.url(), &[]);
        place.demand(Edition::Old, &pulled);
        let says = format!("`{}` was damaged; it is made anew\n", there.display());
        assert!(pulled.stderr.contains(&says), "{what}: {}", pulled.stderr);
        let levels = fs::metadata(there.join("hashes")).unwrap().len();
        if fetched_bytes < u64::MAX {
            assert_eq!(host.sent_bytes(), fetched_bytes + levels + beside, "{what}");
        }
        pinakes_format::snapshot::Snapshot::open(&there).unwrap().verify().unwrap();
    }
    // Another snapshot in its place is somebody's to look at.
    let manifest = fs::read_to_string(there.join("manifest.json")).unwrap();
    make_writable(&there);
    let mut other: pinakes_format::storage::manifest::Manifest =
        serde_json::from_str(&manifest).unwrap();
    other.files[0].size_bytes += 1;
    other.set_root();
    fs::write(there.join("manifest.json"), other.text()).unwrap();
    let refused = place.pull(&host.url(), &["--quiet"]);
    let error = format!(
        "error: `{0}` has root hash {1}, expected {2}; remove `{0}` and pull again\n",
        there.display(),
        other.root,
        crate::manifests::read(&place).root
    );
    assert_eq!((refused.code, refused.stderr), (Some(8), error));
}
