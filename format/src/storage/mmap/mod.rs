//! Maps files into memory. The only module with `unsafe`.
//!
//! # What the safety of a mapping rests on
//!
//! [`Map`] hands out `&[u8]` into a mapped file. Rust assumes that such bytes never change while
//! they are borrowed; the system does not enforce this. Another process that writes to the file
//! changes the bytes under the reference, which Rust's aliasing rules call undefined behaviour. No
//! check in this program can prevent it.
//!
//! The program relies on its own discipline instead: a published file is never written to, only
//! renamed or unlinked, and both leave a mapping whole. The one exception is the module
//! [`absent`](crate::storage::absent): it writes over chunks that are not verified, whose bytes nobody uses.
//! Readers also take no byte for an index, a length or an enum before a check, and [`Map::check_file`] detects
//! a changed file afterwards.
//!
//! # A file that was cut
//!
//! Access to a page behind the new end of a cut file, or on a failing disk, raises SIGBUS. After
//! [`survive_faults`] the handler replaces the whole mapping of that file by zeros, under the
//! references that readers hold: a second deviation from the aliasing rules. [`Map::fault`] reports
//! the event, and the caller discards every answer that was read since.
//!
//! The handler replaces the whole mapping rather than one page: a record is then never half data
//! and half zeros, and a file of a terabyte costs one mapping rather than millions.
//!
//! A program that writes a snapshot must not go on with zeros. After [`stop_at_faults`] the thread of the failed access
//! waits forever in the handler, and another thread ends the process.
//!
//! # Reads from disk
//!
//! The server reads a few rows of large files. By default the system answers a page fault with 128
//! KiB or more around the page. [`LoadMode::Mapped`] therefore advises the system to read single
//! pages, and [`Map::fetch`] starts the reading of a range as one request.

#![allow(unsafe_code)]

mod holes;
mod regions;

use std::borrow::Cow;
use std::fs::File;
use std::io::{IoSliceMut, Read};
use std::ops::{Deref, Range};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::{fs, io, ptr};

use libc::{c_int, c_void, siginfo_t};
use memmap2::Advice;
use rustix::fs::fadvise;
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::storage::loading::{FileChange, LoadMode};
use crate::storage::mmap::regions::{REGIONS, Region};

/// The bytes of a file, read-only. An empty file has no mapping.
pub struct Map {
    // Dropped before `bytes`: after the unmapping, another file may occupy the addresses.
    region: Option<Region>,
    bytes: Option<memmap2::Mmap>,
    /// The file's identity at the last check; `None` where a change cannot matter.
    identity: Option<Mutex<Identity>>,
    /// The file of a [`LoadMode::Mapped`] or [`LoadMode::Sparse`] map; `None` of other maps.
    by_row: Option<File>,
    is_sparse: bool,
}

/// The unit in which the system reads a mapped file.
const PAGE_BYTES: usize = 4 << 10;

/// The most bytes of one advice: the system's default for reading ahead. Of a longer range it would read no more.
const READ_AHEAD_BYTES: usize = 128 << 10;

/// Distinguishes a file from every other, and from itself after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size_bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

impl Identity {
    fn new(metadata: &fs::Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    fn is_same_file(self, other: Identity) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Map {
    /// A map of no bytes.
    pub fn empty() -> Map {
        Map { region: None, bytes: None, identity: None, by_row: None, is_sparse: false }
    }

    /// Maps a whole file for a reader of all of it.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or 65,536 files are mapped already.
    pub fn open(file: &File) -> io::Result<Map> {
        let identity = Identity::new(&file.metadata()?);
        if identity.size_bytes == 0 {
            return Ok(Map::empty());
        }
        // SAFETY: this process only reads the bytes. That no other process writes to the file or
        // cuts it is a rule of operation, not a fact the compiler can rely on: see the module.
        let map = unsafe { memmap2::Mmap::map(file)? };
        let region = REGIONS.enter(map.as_ptr().expose_provenance(), map.len());
        let region = region.ok_or_else(|| io::Error::other("too many files are mapped already"))?;
        let identity = Some(Mutex::new(identity));
        Ok(Map { region: Some(region), bytes: Some(map), identity, ..Map::empty() })
    }

    /// Maps or copies a whole file.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or the file becomes shorter during the copy.
    pub fn load(file: File, mode: LoadMode) -> io::Result<Map> {
        let mut map = match mode {
            LoadMode::Scanned => return Map::open(&file),
            LoadMode::Pinned => return Map::pin(&file),
            LoadMode::Mapped | LoadMode::Sparse => Map::open(&file)?,
        };
        if map.bytes.is_some() {
            map.read_by_page();
            let _ = fadvise(&file, 0, None, rustix::fs::Advice::Random);
            map.by_row = Some(file);
            map.is_sparse = mode == LoadMode::Sparse;
        }
        Ok(map)
    }

    fn pin(mut file: &File) -> io::Result<Map> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if bytes == 0 {
            return Ok(Map::empty());
        }
        let mut copy = memmap2::MmapMut::map_anon(bytes)?;
        file.read_exact(&mut copy)?;
        let copy = copy.make_read_only()?;
        // Without a lock (RLIMIT_MEMLOCK) the system may swap the copy out, which costs time only.
        let _ = copy.lock();
        Ok(Map { bytes: Some(copy), ..Map::empty() })
    }

    /// From now on, lets the system read only the pages that are asked for.
    pub fn read_by_page(&self) {
        if let Some(bytes) = &self.bytes {
            // Without the advice every answer is the same, and costs larger reads.
            let _ = bytes.advise(Advice::Random);
        }
    }

    /// The bytes of a range that may lie in a hole, or behind the end of a file that was cut: zeros there.
    ///
    /// Where memory is the disk, the first access to a mapped hole takes memory, and raises SIGBUS if none is left. So a
    /// sparse file is read without its mapping.
    pub fn read(&self, range: Range<usize>) -> Cow<'_, [u8]> {
        match self.by_row.as_ref().filter(|_| self.is_sparse) {
            None => Cow::Borrowed(&self[range]),
            Some(file) => {
                let mut bytes = vec![0; range.len()];
                let mut read = 0;
                // After an error the bytes stay zeros, which do not have their hash.
                while let Ok(count @ 1..) =
                    file.read_at(&mut bytes[read..], (range.start + read) as u64)
                {
                    read += count;
                }
                Cow::Owned(bytes)
            }
        }
    }

    /// The bytes of a range within the file.
    #[inline]
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self[range]
    }

    /// Starts to read a range from disk, as one request, where the file is read by row. Returns
    /// before the bytes arrive.
    pub fn fetch(&self, range: Range<usize>) {
        if self.by_row.is_some() {
            self.read_ahead(range);
        }
    }

    /// Starts to read a range from disk. Returns before the bytes arrive.
    pub fn read_ahead(&self, range: Range<usize>) {
        let Some(bytes) = self.bytes.as_ref().filter(|bytes| range.end <= bytes.len()) else {
            return;
        };
        let mut from = range.start;
        while from < range.end {
            let to = (from / READ_AHEAD_BYTES + 1) * READ_AHEAD_BYTES;
            let to = to.min(range.end);
            // Without the advice the first access reads the pages.
            let _ = bytes.advise_range(Advice::WillNeed, from, to - from);
            from = to;
        }
    }

    /// Whether a range can be read without waiting for the disk. True where the system cannot tell.
    ///
    /// Asks by `preadv2` rather than `mincore`, which tells the truth only to the file's owner.
    /// Cost: one system call for each page.
    pub fn is_in_memory(&self, range: Range<usize>) -> bool {
        let Some(file) = &self.by_row else { return true };
        let is_here = |page: usize| {
            let (mut byte, at) = ([0; 1], (page * PAGE_BYTES) as u64);
            let read = preadv2(file, &mut [IoSliceMut::new(&mut byte)], at, ReadWriteFlags::NOWAIT);
            read != Err(Errno::AGAIN)
        };
        range.is_empty() || (range.start / PAGE_BYTES..=(range.end - 1) / PAGE_BYTES).all(is_here)
    }

    /// The offset of the first access that the system could not serve. Since then the whole map
    /// reads as zeros. `None` while every access succeeded.
    pub fn fault(&self) -> Option<usize> {
        self.region.as_ref().and_then(Region::fault)
    }

    /// Detects a change of the file since the last call; `path` is where the file was opened.
    ///
    /// The mapping keeps a removed or replaced file whole.
    pub fn check_file(&self, path: &Path) -> FileChange {
        let Some(identity) = &self.identity else { return FileChange::None };
        let mut known = identity.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return FileChange::Replaced,
            Err(_) => return FileChange::None,
        };
        let found = Identity::new(&metadata);
        if !found.is_same_file(*known) {
            return FileChange::Replaced;
        }
        if found == *known {
            return FileChange::None;
        }
        let expected = known.size_bytes;
        *known = Identity { size_bytes: expected, ..found };
        match found.size_bytes {
            same if same == expected => FileChange::Written,
            found => FileChange::Resized { expected, found },
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

/// The number of mapped files that the system failed to read, since the process started.
pub fn fault_count() -> u64 {
    REGIONS.fault_count()
}

/// The action for SIGBUS before this module's handler.
static PREVIOUS_ACTION: OnceLock<libc::sigaction> = OnceLock::new();

/// The pipe to which the handler writes the address of a failed access before its thread waits forever;
/// [`SURVIVES`] if the process survives.
static FAULTS: AtomicI32 = AtomicI32::new(SURVIVES);
const SURVIVES: i32 = -1;

/// Installs the SIGBUS handler, so that the process survives a failed access to a mapped file. A
/// SIGBUS elsewhere goes to the previous handler. Further calls do nothing.
pub fn survive_faults() -> io::Result<()> {
    FAULTS.store(SURVIVES, SeqCst);
    install_handler()
}

/// Installs the SIGBUS handler, so that the thread of a failed access to a mapped file stops for good. Then calls `end`
/// on a thread of its own, with the path of the file. `end` must end the process.
pub fn stop_at_faults(end: impl FnOnce(PathBuf) + Send + 'static) -> io::Result<()> {
    let (mut faults, pipe) = io::pipe()?;
    std::thread::Builder::new().spawn(move || {
        let mut address = [0; size_of::<usize>()];
        if faults.read_exact(&mut address).is_ok() {
            end(file_at(usize::from_ne_bytes(address)));
        }
    })?;
    FAULTS.store(pipe.into_raw_fd(), SeqCst);
    install_handler()
}

/// The path of the file that is mapped at an address, as the system spells it.
fn file_at(address: usize) -> PathBuf {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let path_of = |line: &str| {
        let (from, to) = line.split_once(' ')?.0.split_once('-')?;
        let number = |digits| usize::from_str_radix(digits, 16).ok();
        let is_here = (number(from)?..number(to)?).contains(&address);
        is_here.then(|| line.find('/').map(|at| PathBuf::from(&line[at..])))?
    };
    maps.lines().find_map(path_of).unwrap_or_else(|| "a mapped file".into())
}

fn install_handler() -> io::Result<()> {
    if PREVIOUS_ACTION.get().is_some() {
        return Ok(());
    }
    let (mut previous, mut handler) = (no_action(), no_action());
    // SAFETY: `previous` is a valid place for the old action; a null new action changes nothing.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Stored before the handler is installed, because the handler reads it.
    let _ = PREVIOUS_ACTION.set(previous);
    handler.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
    // Runs on the alternate signal stack: the thread's own stack may have overflowed.
    handler.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the signature that SA_SIGINFO calls for. It is async-signal-safe: it
    // reads and writes atomics, makes system calls, and takes no lock.
    if unsafe { libc::sigaction(libc::SIGBUS, &handler, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The default action.
fn no_action() -> libc::sigaction {
    // SAFETY: all zeros are a valid `sigaction`: no flags, an empty mask, SIG_DFL.
    unsafe { std::mem::zeroed() }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t`. Codes above zero are the kernel's own, and the
    // address is then that of the failed access.
    let (address, is_fault) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    let found = if is_fault { REGIONS.find(address) } else { None };
    if let Some(found) = found {
        REGIONS.note_fault(found, address);
        let pipe = FAULTS.load(SeqCst);
        if pipe != SURVIVES {
            let bytes = address.to_ne_bytes();
            // SAFETY: the bytes are valid for the length. Where the write fails, another thread has written before, or
            // the process cannot be told, and this thread must not return to the failed access.
            unsafe { libc::write(pipe, bytes.as_ptr().cast(), bytes.len()) };
            loop {
                // SAFETY: waits for a signal, and has no other effect.
                unsafe { libc::pause() };
            }
        }
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let from = ptr::with_exposed_provenance_mut(found.from);
        // SAFETY: the range is exactly one mapping of this module, and the reader that raised the
        // signal keeps that mapping alive. The range stays readable. Its bytes change to zeros
        // under shared references: the deviation that the module describes.
        let zeros = unsafe { mmap_anonymous(from, found.bytes, ProtFlags::READ, flags) };
        if zeros.is_ok() {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Passes a signal to the previous action.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS_ACTION.get().copied().unwrap_or_else(no_action);
    let is_function = !matches!(previous.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    if is_function && previous.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
        // SAFETY: the flag SA_SIGINFO states that the previous handler has this signature.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(previous.sa_sigaction) };
        return handler(signal, info, context);
    }
    // The failed access repeats after the return, and the default action ends the process.
    // SAFETY: the action is a valid `sigaction`.
    unsafe { libc::sigaction(signal, &no_action(), ptr::null_mut()) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs::OpenOptions, io::Write, time::SystemTime};

    use super::*;

    fn file_of(bytes: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn cut(file: &tempfile::NamedTempFile, bytes: u64) {
        OpenOptions::new().write(true).open(file.path()).unwrap().set_len(bytes).unwrap();
    }

    #[test]
    fn a_cut_file_reads_as_zeros_and_reports_the_offset() {
        survive_faults().unwrap();
        let (file, other) = (file_of(&[7; 3 << 20]), file_of(&[8; 3 << 20]));
        let map = Map::open(file.as_file()).unwrap();
        let whole = Map::open(other.as_file()).unwrap();
        let before = fault_count();
        assert_eq!((map[2 << 20], map.fault()), (7, None));
        cut(&file, 1 << 20);
        // Eight threads fail at once, each in a page of its own.
        std::thread::scope(|scope| {
            for at in 0..8 {
                let map = &map;
                scope.spawn(move || assert_eq!(map[(2 << 20) + at * 4_096], 0));
            }
        });
        assert!((2 << 20..(2 << 20) + 8 * 4_096).contains(&map.fault().unwrap()));
        assert_eq!(map.iter().filter(|byte| **byte != 0).count(), 0, "some bytes are not zero");
        assert!(fault_count() > before);
        assert!(whole.fault().is_none() && whole.iter().all(|byte| *byte == 8));
        // A later mapping of the same addresses has no fault.
        drop(map);
        let next = Map::open(other.as_file()).unwrap();
        assert!(next.fault().is_none() && next.iter().all(|byte| *byte == 8));
    }

    #[test]
    fn a_pinned_copy_survives_a_cut_of_its_file() {
        let file = file_of(b"as it was");
        let load = |mode| Map::load(File::open(file.path()).unwrap(), mode).unwrap();
        assert_eq!(&*load(LoadMode::Mapped), b"as it was");
        let pinned = load(LoadMode::Pinned);
        cut(&file, 0);
        assert_eq!(&*pinned, b"as it was");
        assert_eq!((pinned.fault(), pinned.check_file(file.path())), (None, FileChange::None));
        assert!(pinned.is_in_memory(0..9));
        assert!(load(LoadMode::Pinned).is_empty());
    }

    #[test]
    fn a_range_is_in_memory_once_it_was_read() {
        // On a disk: a file system in memory keeps every page.
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
        let mut file = tempfile::NamedTempFile::new_in(target).unwrap();
        file.write_all(&[7; 10 * PAGE_BYTES]).unwrap();
        let map = Map::load(File::open(file.path()).unwrap(), LoadMode::Mapped).unwrap();
        map.fetch(PAGE_BYTES..9 * PAGE_BYTES);
        map.fetch(0..11 * PAGE_BYTES);
        assert!(map.iter().all(|byte| *byte == 7));
        assert!(map.is_in_memory(0..map.len()) && map.is_in_memory(5..5));
        // Written pages are in memory until they are on disk, and only then can be dropped.
        file.as_file().sync_all().unwrap();
        drop(map);
        fadvise(file.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let map = Map::load(File::open(file.path()).unwrap(), LoadMode::Mapped).unwrap();
        if map.is_in_memory(3 * PAGE_BYTES..3 * PAGE_BYTES + 1) {
            // The file system keeps every page, or cannot tell.
            return;
        }
        assert_eq!(map[3 * PAGE_BYTES], 7);
        assert!(map.is_in_memory(3 * PAGE_BYTES..4 * PAGE_BYTES), "the page was read");
        assert!(!map.is_in_memory(3 * PAGE_BYTES..9 * PAGE_BYTES), "other pages were not");
    }

    #[test]
    fn a_change_is_reported_once_and_a_replaced_file_always() {
        let mut file = file_of(b"12345678");
        let map = Map::open(file.as_file()).unwrap();
        assert_eq!(map.check_file(file.path()), FileChange::None);
        let touched = SystemTime::UNIX_EPOCH;
        file.as_file().set_modified(touched).unwrap();
        assert_eq!(map.check_file(file.path()), FileChange::Written);
        assert_eq!(map.check_file(file.path()), FileChange::None);
        file.write_all(b"9").unwrap();
        assert_eq!(map.check_file(file.path()), FileChange::Resized { expected: 8, found: 9 });
        let other = file_of(b"x");
        assert_eq!(map.check_file(other.path()), FileChange::Replaced);
        assert_eq!(map.check_file(&file.path().with_extension("absent")), FileChange::Replaced);
    }

    #[test]
    fn a_write_of_this_process_is_no_change_and_hides_none() {
        let file = file_of(b"12345678");
        let map = Map::load(file.reopen().unwrap(), LoadMode::Sparse).unwrap();
        let write = |bytes: &'static [u8]| {
            let opened = OpenOptions::new().write(true).open(file.path()).unwrap();
            map.change_file(&opened, |file| file.write_all_at(bytes, 2)).unwrap();
        };
        let write_outside = || file.as_file().write_all_at(b"x", 0).unwrap();
        write(b"ab");
        assert_eq!(
            (map.check_file(file.path()), &*map.read(1..5)),
            (FileChange::None, &b"2ab5"[..])
        );
        for round in 0..100 {
            // Within one tick of the system's clock.
            write(b"cd");
            write_outside();
            assert_eq!(map.check_file(file.path()), FileChange::Written, "{round}");
            assert_eq!(map.check_file(file.path()), FileChange::None, "{round}");
            write_outside();
            write(b"ef");
            assert_eq!(map.check_file(file.path()), FileChange::Written, "{round}");
        }
        let other = file_of(b"12345678");
        map.change_file(other.as_file(), |_| Ok(())).unwrap_err();
        cut(&file, 3);
        assert_eq!(&*map.read(0..8), b"x2e\0\0\0\0\0");
    }
}
