//! Tests that `pull` fetches only missing chunks and keeps fetched chunks after an interruption.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::mirror::setup::{Edition, Setup};
use pinakes_format::storage::CHUNK_BYTES;
use pinakes_tests::server::make_writable;
use pinakes_tests::static_host::{Behaviour, Host};

/// Total size in bytes of all files of the published snapshot except the manifest.
fn bytes_of(setup: &Setup) -> u64 {
    crate::mirror::manifests::read(setup).files.iter().map(|entry| entry.size_bytes).sum()
}

/// Number of requests for a snapshot: the publication, its signature, the manifest, and one per 4 MiB of
/// each file.
fn request_count(setup: &Setup) -> usize {
    let files = crate::mirror::manifests::read(setup).files;
    3 + files.iter().map(|entry| entry.size_bytes.div_ceil(4 << 20) as usize).sum::<usize>()
}

/// Bytes from the log of a pull: fetched, fetched by an earlier run, copied.
fn transfer_stats(stderr: &str) -> [u64; 3] {
    let line = stderr.lines().find(|line| line.trim_start().starts_with("fetched ")).unwrap();
    let numbers: Vec<u64> = line.split([' ', ';']).filter_map(|word| word.parse().ok()).collect();
    [numbers[0], numbers[2], numbers[3]]
}

/// The directory of the mirror that receives fetched files.
fn fetched_in(setup: &Setup) -> PathBuf {
    let entries = fs::read_dir(setup.out()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_partial =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(".pull-");
    paths.into_iter().find(is_partial).unwrap()
}

#[test]
fn only_chunks_that_no_local_snapshot_holds_are_fetched() {
    let setup = Setup::with(Edition::Old);
    let host = setup.host();
    let first = setup.pull(&host.url(), &[]);
    setup.assert_current(Edition::Old, &first);
    let all = bytes_of(&setup);
    assert_eq!(transfer_stats(&first.stderr)[1..], [0, 0]);
    assert!(host.take_sent_bytes() > all);

    setup.publish(Edition::New, &[]);
    let second = setup.pull(&host.url(), &[]);
    setup.assert_current(Edition::New, &second);
    let [fetched, kept, copied] = transfer_stats(&second.stderr);
    let sent = host.take_sent_bytes();
    assert_eq!((fetched, kept), (sent, 0));
    let hashes = fs::metadata(setup.out().join("current/hashes")).unwrap().len();
    assert!(copied > bytes_of(&setup) / 2, "{copied} copied, {fetched} fetched of {all}");
    assert!(
        fetched < all / 2 && fetched + copied >= all + hashes - 65_536,
        "{fetched} {copied} {all}"
    );

    // A second pull of the same snapshot fetches no chunk.
    setup.assert_current(Edition::New, &setup.pull(&host.url(), &[]));
    let asked: Vec<String> = host.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(asked, ["publication.json", "publication.json.minisig"]);
}

#[test]
fn adjacent_chunks_are_fetched_in_one_request() {
    let setup = Setup::with(Edition::Old);
    let host = setup.host();
    setup.assert_current(Edition::Old, &setup.pull(&host.url(), &[]));
    let asked = host.asked();
    assert_eq!(asked.len(), request_count(&setup));
    let mut ranges: Vec<(usize, usize)> = asked.iter().filter_map(|asked| asked.range).collect();
    ranges.sort_unstable();
    let files = crate::mirror::manifests::read(&setup).files;
    let largest = files.iter().map(|entry| entry.size_bytes).max().unwrap() as usize;
    assert_eq!(ranges, [(0, (4 << 20) - 1), (4 << 20, largest - 1)]);
}

#[test]
fn a_killed_pull_is_resumed() {
    let setup = Setup::with(Edition::Old);
    let largest = {
        let manifest = crate::mirror::manifests::read(&setup);
        let entry = manifest.files.iter().max_by_key(|entry| entry.size_bytes).unwrap();
        format!("snapshots/{}/{}", manifest.id, entry.path)
    };
    let all = bytes_of(&setup);
    // The host sends one chunk and a half for each range of the largest file.
    let stalling = Host::with_rule(setup.tree(), move |asked| {
        if asked.path == largest { Behaviour::Stalls(100_000) } else { Behaviour::Serves }
    });
    let (pubkey, url) = (setup.pubkey("ours"), stalling.url());
    let mut pulling =
        setup.pull_command(&url, &["--pubkey", pubkey.to_str().unwrap()]).spawn().unwrap();
    // Wait until every file was requested and no byte arrived for one second.
    let expected = request_count(&setup);
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
    assert!(!setup.out().join("current").exists());

    // The next run verifies the files: one chunk is damaged meanwhile.
    let records = fetched_in(&setup).join("outputs/ids");
    let mut bytes = fs::read(&records).unwrap();
    assert!(bytes.iter().any(|byte| *byte != 0), "the host sent nothing of this file");
    bytes[100] ^= 1;
    fs::write(&records, &bytes).unwrap();

    // The next run also removes unfinished files.
    let begun = [
        fetched_in(&setup).join("manifest.json.tmp-77"),
        setup.out().join("publications/seen.json.tmp-77"),
    ];
    begun.iter().for_each(|path| fs::write(path, "half").unwrap());

    let host = setup.host();
    let second = setup.pull(&host.url(), &[]);
    setup.assert_current(Edition::Old, &second);
    let files = pinakes_tests::files_below(&setup.out());
    assert!(files.keys().all(|path| !path.contains(".tmp-")), "{:?}", files.keys());
    let [fetched, kept, copied] = transfer_stats(&second.stderr);
    let beside: u64 = ["publication.json", "publication.json.minisig"]
        .iter()
        .map(|name| fs::metadata(setup.tree().join(name)).unwrap().len())
        .sum::<u64>()
        + fs::metadata(setup.out().join("current/manifest.json")).unwrap().len();
    let hashes = fs::metadata(setup.out().join("current/hashes")).unwrap().len();
    assert_eq!((fetched, copied), (host.sent_bytes(), 0));
    // The complete hashes were fetched by the first run.
    assert_eq!(fetched + kept, all - hashes + beside);
    // The first run kept one chunk of each range of the largest file, and all other files but one chunk.
    assert!(kept >= 2 * CHUNK_BYTES as u64, "{kept} bytes were kept of {all}");
    let damaged =
        host.asked().into_iter().filter(|asked| asked.path.ends_with("outputs/ids")).count();
    assert_eq!(damaged, 1);
}

#[test]
fn a_newer_pull_removes_files_of_an_abandoned_one() {
    let setup = Setup::with(Edition::Old);
    let broken = Host::with_rule(setup.tree(), |asked| {
        if asked.path.ends_with("outputs/records") { Behaviour::Cuts(0) } else { Behaviour::Serves }
    });
    assert_eq!(setup.pull(&broken.url(), &["--tries", "1"]).code, Some(3));
    fetched_in(&setup);
    setup.publish(Edition::New, &[]);
    setup.assert_current(Edition::New, &setup.pull(&setup.host().url(), &[]));
}

#[test]
fn a_damaged_local_snapshot_is_repaired_by_its_damaged_chunks() {
    let setup = Setup::with(Edition::Old);
    let host = setup.host();
    setup.assert_current(Edition::Old, &setup.pull(&host.url(), &[]));
    let there = setup.out().join(Edition::Old.id());
    let paths = ["outputs/records", "outputs/ids", "strings"].map(|path| there.join(path));
    let flip = |path: &PathBuf, at: usize| {
        let mut bytes = fs::read(path).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let chunk = CHUNK_BYTES;
    let beside = ["publication.json", "publication.json.minisig"]
        .map(|name| fs::metadata(setup.tree().join(name)).unwrap().len());
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
        let pulled = setup.pull(&host.url(), &[]);
        setup.assert_current(Edition::Old, &pulled);
        let says = format!("`{}` was damaged; this run replaces it\n", there.display());
        assert!(pulled.stderr.contains(&says), "{what}: {}", pulled.stderr);
        let levels = fs::metadata(there.join("hashes")).unwrap().len();
        if fetched_bytes < u64::MAX {
            assert_eq!(host.sent_bytes(), fetched_bytes + levels + beside, "{what}");
        }
        pinakes_format::snapshot::Snapshot::open(&there).unwrap().verify().unwrap();
    }
    // A directory with another root hash is an error.
    let manifest = fs::read_to_string(there.join("manifest.json")).unwrap();
    make_writable(&there);
    let mut other: pinakes_format::storage::manifest::Manifest =
        serde_json::from_str(&manifest).unwrap();
    other.files[0].size_bytes += 1;
    other.set_root();
    fs::write(there.join("manifest.json"), other.text()).unwrap();
    let refused = setup.pull(&host.url(), &["--quiet"]);
    let error = format!(
        "error: `{0}` has root hash {1}, expected {2}; remove `{0}` and pull again\n",
        there.display(),
        other.root,
        crate::mirror::manifests::read(&setup).root
    );
    assert_eq!((refused.code, refused.stderr), (Some(8), error));
}
