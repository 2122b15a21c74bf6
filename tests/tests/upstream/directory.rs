//! The directory of a mirror: who may write there, what suppression leaves out, and a disk that is full.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pinakes_tests::compiler;
use pinakes_tests::skip;
use pinakes_tests::static_host::Host;

use crate::upstream::setup::{
    Ask, Edition, Mirror, all_kinds, answers, assert_unavailable, output, pubkey, wait_until,
};

#[test]
fn a_directory_has_one_writer() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let server = mirror.start(&host.url(), &[]);
    let second = mirror.command_from(&[&host.url()], &[]).output().unwrap();
    let errors = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{errors}");
    assert!(errors.contains("is locked by another run (pid "), "{errors}");

    let (out, pubkey, url) = (mirror.path(), pubkey(), host.url());
    let args: [&OsStr; 6] = [
        "pull".as_ref(),
        url.as_ref(),
        "--out".as_ref(),
        out.as_os_str(),
        "--pubkey".as_ref(),
        pubkey.as_os_str(),
    ];
    let pulled = compiler(&args);
    let errors = String::from_utf8_lossy(&pulled.stderr);
    assert!(!pulled.status.success() && errors.contains("is locked by another run"), "{errors}");
    all_kinds()[0].assert_right(&server);
    server.end(&[]);
}

#[test]
fn a_suppressed_record_is_not_fetched() {
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::empty();
    let lists = tempfile::tempdir().unwrap();
    let list = lists.path().join("suppressed.txt");
    let target = output(2_000);
    fs::write(&list, target.rsplit("HX_").next().unwrap()).unwrap();
    let server = mirror.start(&host.url(), &["--suppress", list.to_str().unwrap()]);
    // Completions leave the title out, which the start reads.
    let start = host.asked().len();
    assert_eq!(server.get(&target).status, 404);
    assert_eq!(server.get(&format!("{target}/references")).status, 404);
    let asked = host.asked();
    let records: Vec<_> =
        asked[start..].iter().filter(|asked| asked.path.ends_with("outputs/records")).collect();
    assert!(records.is_empty(), "{records:?}");
    // Its neighbour is another record.
    let [neighbour] = &answers(Edition::Old, vec![Ask::get(output(2_001))])[..] else {
        panic!("one answer")
    };
    let reply = neighbour.ask.send(server.address());
    assert_eq!((reply.status, reply.body), (200, neighbour.right.body.clone()));
    server.end(&[]);
}

/// A small file system that is mounted until it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// Mounts an empty file system of 16 MiB; prints a skip message and returns `None` where that is not allowed.
    fn mount(kind: &str, test: &str) -> Option<SmallDisk> {
        let disk = SmallDisk(tempfile::tempdir().unwrap());
        let image = disk.0.path().join("image");
        fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let place = disk.path();
        fs::create_dir(&place).unwrap();
        let run = |name: &str, args: &[&str], paths: &[&Path]| {
            let ran = Command::new(name).args(args).args(paths).output();
            ran.is_ok_and(|of| of.status.success())
        };
        let is_mounted = match kind {
            "tmpfs" => run("mount", &["-t", "tmpfs", "-o", "size=16m", "tmpfs"], &[&place]),
            _ => {
                run("mkfs.ext4", &["-q"], &[&image])
                    && run("mount", &["-o", "loop"], &[&image, &place])
            }
        };
        if !is_mounted {
            skip(test, "nobody may mount a file system here");
        }
        is_mounted.then_some(disk)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("mounted")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

/// Writes until the disk is full.
fn take_all_space(disk: &Path) -> PathBuf {
    let path = disk.join("taken");
    let mut bytes = 1 << 20;
    let mut file = fs::File::create(&path).unwrap();
    while bytes > 0 {
        match std::io::Write::write(&mut file, &vec![7; bytes]) {
            Ok(_) => {}
            Err(_) => bytes /= 2,
        }
    }
    path
}

#[test]
fn a_full_disk_makes_only_what_is_absent_unavailable() {
    fill_and_free("ext4", "a_full_disk_makes_only_what_is_absent_unavailable");
}

#[test]
fn a_full_tmpfs_makes_only_what_is_absent_unavailable() {
    fill_and_free("tmpfs", "a_full_tmpfs_makes_only_what_is_absent_unavailable");
}

fn fill_and_free(kind: &str, test: &str) {
    let Some(disk) = SmallDisk::mount(kind, test) else { return };
    let host = Host::new(Edition::Old.tree());
    let mirror = Mirror::at(disk.path().join("mirror"));
    let server = mirror.start(&host.url(), &["--fetch-timeout", "2"]);
    let (here, absent) = all_kinds().split_at(4);
    here.iter().for_each(|asked| asked.assert_right(&server));
    let taken = take_all_space(&disk.path());
    let [record] = &answers(Edition::Old, vec![Ask::get(output(3_500))])[..] else {
        panic!("one answer")
    };
    assert_unavailable(&record.ask.send(server.address()));
    assert!(absent.iter().any(|asked| !asked.assert_right_or_unavailable(&server)));
    here.iter().for_each(|asked| asked.assert_right(&server));
    assert_eq!(server.get("/health").json()["troubles"].to_string(), "[\"disk_refused\"]");
    fs::remove_file(taken).unwrap();
    wait_until("the record is right", || record.assert_right_or_unavailable(&server));
    assert_eq!(server.get("/health").json()["troubles"].to_string(), "[]");
    absent[0].assert_right(&server);
    server.end(&["cannot keep a fetched chunk"]);
}
