//! Tests with a disk whose reads fail on demand: a FUSE file system of the test over a snapshot.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry,
    Request,
};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::skip;

use crate::operations::faults::{answers, judge, targets};

/// Time for which the kernel may cache attributes.
const ATTRIBUTES_TTL: Duration = Duration::from_secs(3_600);

/// The file system: the paths that were looked up, by inode number from 1, and the control of failures.
struct Failing {
    paths: Arc<Mutex<Vec<PathBuf>>>,
    is_failing: Arc<AtomicBool>,
    reads: Arc<Reads>,
}

/// The number of reads so far, and the number of reads that succeed.
struct Reads {
    count: AtomicUsize,
    max: AtomicUsize,
}

/// A disk that is mounted until it is dropped.
struct Disk {
    session: BackgroundSession,
    mounted: tempfile::TempDir,
    paths: Arc<Mutex<Vec<PathBuf>>>,
    is_failing: Arc<AtomicBool>,
    reads: Arc<Reads>,
}

impl Disk {
    /// Mounts a disk with the content of a directory; prints a skip message and returns `None` if mounting is
    /// not allowed.
    fn of(directory: &Path, test: &str) -> Option<Disk> {
        let mounted = tempfile::tempdir().unwrap();
        let paths = Arc::new(Mutex::new(vec![directory.to_owned()]));
        let is_failing = Arc::new(AtomicBool::new(false));
        let reads = Reads { count: AtomicUsize::new(0), max: AtomicUsize::new(usize::MAX) };
        let reads = Arc::new(reads);
        let failing = Failing {
            paths: Arc::clone(&paths),
            is_failing: Arc::clone(&is_failing),
            reads: Arc::clone(&reads),
        };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("failing".into())];
        let Ok(session) = fuser::spawn_mount(failing, mounted.path(), &config) else {
            skip(test, "nobody may mount a file system here");
            return None;
        };
        Some(Disk { session, mounted, paths, is_failing, reads })
    }

    /// Lets this number of reads succeed from now on; returns the number of reads so far.
    fn fail_after(&self, reads: usize) -> usize {
        self.reads.max.store(reads, SeqCst);
        self.reads.count.swap(0, SeqCst)
    }

    fn unmount(self) {
        self.session.umount_and_join().unwrap();
    }

    /// Makes all reads fail from now on, and drops cached bytes.
    fn fail(&self) {
        self.is_failing.store(true, SeqCst);
        let count = self.paths.lock().unwrap().len() as u64;
        for number in 2..=count {
            // A directory has no cached bytes, so an error is expected.
            let _ = self.session.notifier().inval_inode(INodeNo(number), 0, 0);
        }
    }
}

impl Failing {
    fn path(&self, number: INodeNo) -> Option<PathBuf> {
        self.paths.lock().unwrap().get(number.0 as usize - 1).cloned()
    }

    fn number(&self, path: PathBuf) -> INodeNo {
        let mut paths = self.paths.lock().unwrap();
        let known = paths.iter().position(|known| *known == path);
        let at = known.unwrap_or_else(|| {
            paths.push(path);
            paths.len() - 1
        });
        INodeNo(at as u64 + 1)
    }

    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let metadata = fs::metadata(self.path(number)?).ok()?;
        let modified = metadata.modified().ok()?;
        Some(FileAttr {
            ino: number,
            size: metadata.len(),
            blocks: metadata.blocks(),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind: if metadata.is_dir() { FileType::Directory } else { FileType::RegularFile },
            perm: if metadata.is_dir() { 0o555 } else { 0o444 },
            nlink: 1,
            uid: metadata.uid(),
            gid: metadata.gid(),
            rdev: 0,
            blksize: 4_096,
            flags: 0,
        })
    }
}

impl Filesystem for Failing {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let path = self.path(parent).map(|parent| parent.join(name)).filter(|path| path.exists());
        let number = path.map(|path| self.number(path));
        match number.and_then(|number| self.attributes(number)) {
            Some(attributes) => reply.entry(&ATTRIBUTES_TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&ATTRIBUTES_TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = self.path(number).and_then(|path| fs::read_dir(path).ok());
        for (entry, next) in entries.into_iter().flatten().flatten().zip(1..).skip(offset as usize)
        {
            let is_directory = entry.path().is_dir();
            let kind = if is_directory { FileType::Directory } else { FileType::RegularFile };
            if reply.add(self.number(entry.path()), next, kind, entry.file_name()) {
                break;
            }
        }
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = self.path(number).and_then(|path| File::open(path).ok());
        let is_past = self.reads.count.fetch_add(1, SeqCst) >= self.reads.max.load(SeqCst);
        let Some(file) = file.filter(|_| !is_past && !self.is_failing.load(SeqCst)) else {
            return reply.error(Errno::EIO);
        };
        let mut bytes = vec![0; size as usize];
        let mut filled = 0;
        while let Ok(count @ 1..) = file.read_at(&mut bytes[filled..], offset + filled as u64) {
            filled += count;
        }
        reply.data(&bytes[..filled]);
    }
}

#[test]
fn a_failing_disk_causes_no_wrong_answer_and_no_crash() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    let test = "a_failing_disk_causes_no_wrong_answer_and_no_crash";
    let Some(disk) = Disk::of(&path, test) else { return };
    let targets = targets(&snapshots.open());
    let known = answers(&path, &targets);
    let server = Server::serve_one(disk.mounted.path());
    let mut connection = server.connect();
    targets.iter().for_each(|target| assert!(judge(&known, target, &connection.get(target))));
    disk.fail();
    // Verified bytes are read again, and the reads fail.
    let refused =
        targets.iter().filter(|target| !judge(&known, target, &connection.get(target))).count();
    assert!(refused > 0, "no request reads the disk");
    for target in &targets {
        assert_eq!(connection.get(target).status, 503, "{target}");
    }
    assert_eq!(connection.get("/health").status, 200);
    server.await_log(&["ERROR", "snapshot poisoned", "cannot be read at byte"]);
    drop(connection);
    server.end(&["cannot answer", "snapshot poisoned", "no other snapshot"]);
    disk.unmount();
}

#[test]
fn a_failing_disk_ends_a_link_with_the_name_of_the_file() {
    let test = "a_failing_disk_ends_a_link_with_the_name_of_the_file";
    let own = tempfile::tempdir().unwrap();
    let [plan, objects, out] = ["plan.jsonl", "objects", "out"].map(|name| own.path().join(name));
    let sample = pinakes_tests::sample();
    let run = |args: &[&OsStr]| pinakes_tests::compiler(args);
    let (all, quiet) = (["--units".as_ref(), "1".as_ref(), "--out".as_ref()], "--quiet".as_ref());
    let planned =
        run(&[&["plan".as_ref(), sample.as_os_str()][..], &all, &[plan.as_os_str()]].concat());
    assert!(planned.status.success(), "{planned:?}");
    let of_plan = ["--plan".as_ref(), plan.as_os_str(), "--objects".as_ref()];
    let unit = [objects.as_os_str(), "--unit".as_ref(), "0".as_ref(), quiet];
    let compiled = run(&[&["compile".as_ref()], &of_plan[..], &unit].concat());
    assert!(compiled.status.success(), "{compiled:?}");
    let Some(disk) = Disk::of(&objects, test) else { return };
    let to = [disk.mounted.path().as_os_str(), "--out".as_ref(), out.as_os_str(), quiet];
    let link = || run(&[&["link".as_ref()], &of_plan[..], &to].concat());
    let linked = link();
    assert!(linked.status.success(), "{linked:?}");
    let current = fs::read_link(out.join("current")).unwrap();
    fs::remove_dir_all(out.join(".linked")).unwrap();
    let (reads, mut stopped) = (disk.fail_after(usize::MAX), 0);
    for max in (0..8).map(|eighth| reads * eighth / 8) {
        disk.fail_after(max);
        let failed = link();
        let errors = String::from_utf8_lossy(&failed.stderr);
        let what = format!("{max} of {reads} reads: {errors}");
        // A file that cannot be opened or read by a system call is a missing input.
        assert!([Some(3), Some(6)].contains(&failed.status.code()), "{what}");
        assert!(failed.stdout.is_empty(), "{what}");
        assert_eq!(fs::read_link(out.join("current")).unwrap(), current, "{what}");
        let error = format!("error: cannot read `{}/", disk.mounted.path().display());
        if errors.starts_with(&error) {
            stopped += 1;
            assert_eq!(failed.status.code(), Some(6), "{what}");
            assert!(
                errors.ends_with("; nothing was published, finished objects are kept\n"),
                "{what}"
            );
        }
    }
    assert!(stopped > 2, "{stopped} of {reads} reads");
    disk.unmount();
}

#[test]
fn a_failing_disk_ends_the_compiler_with_an_error() {
    let snapshots = Snapshots::from_sample();
    let path = fs::canonicalize(snapshots.path().join("current")).unwrap();
    let test = "a_failing_disk_ends_the_compiler_with_an_error";
    let Some(disk) = Disk::of(&path, test) else { return };
    let own = tempfile::tempdir().unwrap();
    let out = own.path().join("export");
    let snapshot = disk.mounted.path().as_os_str();
    let export =
        ["export".as_ref(), snapshot, "--quiet".as_ref(), "--out".as_ref(), out.as_os_str()];
    let commands: [&[&OsStr]; 3] =
        [&["verify".as_ref(), snapshot], &["inspect".as_ref(), snapshot], &export];
    for command in commands {
        disk.fail_after(usize::MAX);
        let succeeded = pinakes_tests::compiler(command);
        assert!(succeeded.status.success(), "{succeeded:?}");
        let _ = fs::remove_dir_all(&out);
        let reads = disk.fail_after(usize::MAX);
        assert!(reads > 4, "{command:?} reads {reads} times");
        for max in [0, reads / 4, reads / 2, reads * 3 / 4, reads - 1] {
            disk.fail_after(max);
            let failed = pinakes_tests::compiler(command);
            let errors = String::from_utf8_lossy(&failed.stderr);
            let what = format!("{command:?}, {max} of {reads} reads: {errors}");
            assert_eq!(failed.status.code(), Some(8), "{what}");
            assert!(failed.stdout.is_empty(), "{what}");
            // A read that fails while the file is opened gives zeros, which have another hash.
            let causes = ["cannot be read at byte", "Input/output error", "is damaged: chunk "];
            let is_expected = |line: &str| {
                let is_error = line.starts_with("error: snapshot `");
                is_error && causes.iter().any(|cause| line.contains(cause))
            };
            assert!(errors.lines().any(is_expected), "{what}");
            assert!(!out.exists() || fs::read_dir(&out).unwrap().next().is_none(), "{what}");
        }
    }
    disk.unmount();
}
