//! Exchanges directories while the compiler reads them: the result is one of the two snapshots or an error.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::publication::{PUBLICATION, Publication};
use pinakes_tests::{files_below, write_files};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::mirror::setup::{Edition, Setup, run};

/// Exchanges two paths repeatedly while `work` runs.
fn exchanging<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        let worked = work();
        is_done.store(true, Relaxed);
        worked
    })
}

/// Copies two snapshots to paths of equal length, and adds a symlink to the second.
fn copies(setup: &Setup) -> [PathBuf; 3] {
    let [old, new, link] = ["old", "new", "link"].map(|name| setup.path().join(name));
    write_files(&old, files_below(&Edition::Old.snapshot()));
    write_files(&new, files_below(&Edition::New.snapshot()));
    symlink(&new, &link).unwrap();
    [old, new, link]
}

#[test]
fn opening_a_directory_during_an_exchange_gives_one_snapshot_or_an_error() {
    let setup = Setup::new();
    let [old, new, link] = copies(&setup);
    let roots = [&old, &new].map(|path| Snapshot::open(path).unwrap().manifest().root.clone());
    for other in [&new, &link] {
        let intact = exchanging(&old, other, || {
            let mut intact = 0;
            for _ in 0..100 {
                let Ok(snapshot) = Snapshot::open(&old) else { continue };
                assert!(roots.contains(&snapshot.manifest().root));
                // `verify` detects every byte that differs from the manifest.
                intact += usize::from(snapshot.verify().is_ok());
            }
            intact
        });
        println!("{intact} of 100 were intact");
    }
}

#[test]
fn publishing_a_directory_during_an_exchange_never_mixes_two_snapshots() {
    let setup = Setup::new();
    let [old, new, link] = copies(&setup);
    let (tree, mut published) = (setup.tree(), 0);
    for other in [&new, &link] {
        for _ in 0..10 {
            let args = ["publish".as_ref(), old.as_os_str(), "--to".as_ref(), tree.as_os_str()];
            let ran = exchanging(&old, other, || run(&[&args[..], &["--quiet".as_ref()]].concat()));
            assert!(matches!(ran.code, Some(0 | 3 | 8)), "{:?}: {}", ran.code, ran.stderr);
            published += usize::from(ran.code == Some(0));
            let Ok(text) = fs::read(tree.join(PUBLICATION)) else { continue };
            let id = Publication::read(&text).unwrap().snapshot.id;
            let has_id = |edition: &Edition| edition.id() == id;
            let edition = [Edition::Old, Edition::New].into_iter().find(has_id).unwrap();
            let found = files_below(&tree.join("snapshots").join(&id));
            assert!(found == files_below(&edition.snapshot()), "{id} mixes two snapshots");
        }
    }
    println!("{published} of 20 were published");
}
