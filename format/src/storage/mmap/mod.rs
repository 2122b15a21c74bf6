//! The one place that maps files, and so the one place with `unsafe`.
//!
//! The promise behind it: published files are never changed, only renamed and unlinked, and both
//! leave a mapping whole. Whoever truncates a mapped file, or reads it from a disk that fails, gets
//! SIGBUS. A process that called [`survive_faults`] lives on: from the moment of the fault on all of the
//! file reads as zeros, and its [`Map`] says so. Whatever was made of it since is to be thrown away.
//!
//! That all of it does, and not the page at fault alone, is so that a record is never half of one and
//! half of the other, and that a file of a terabyte costs one mapping more and not a million.

#![allow(unsafe_code)]

mod regions;

use std::{
    fs::{self, File},
    io::{self, Read},
    ops::Deref,
    os::unix::fs::MetadataExt,
    path::Path,
    ptr,
    sync::{Mutex, OnceLock, PoisonError},
};

use libc::{c_int, c_void, siginfo_t};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::storage::mmap::regions::{REGIONS, Region};

/// A file's bytes, to be read. An empty file is an empty slice without a mapping.
pub struct Map {
    // Let go before the mapping is: another may come to lie where it was.
    region: Option<Region>,
    bytes: Option<memmap2::Mmap>,
    /// The file as it was when it was last looked at; `None` where it does not matter any more.
    file: Option<Mutex<Identity>>,
}

/// How the bytes of a file are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The file is mapped: its pages come and go with need.
    Mapped,
    /// They are copied into memory and locked there, if the system lets them be: whatever becomes of the
    /// file changes nothing. Pages of a mapped file that are locked would go with the file's end.
    Pinned,
}

/// What tells a file from another, and from itself after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size_bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

/// What has become of a mapped file since it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that is known of.
    None,
    /// It was written to, or touched.
    Written,
    /// It has another size.
    Resized {
        /// What it was mapped with.
        expected: u64,
        /// What it has.
        found: u64,
    },
}

impl Identity {
    fn of(metadata: &fs::Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl Map {
    /// No bytes.
    pub fn empty() -> Map {
        Map { region: None, bytes: None, file: None }
    }

    /// Maps the whole of `file`.
    ///
    /// # Errors
    ///
    /// Where the system refuses.
    pub fn open(file: &File) -> io::Result<Map> {
        let identity = Identity::of(&file.metadata()?);
        if identity.size_bytes == 0 {
            return Ok(Map::empty());
        }
        // SAFETY: the bytes are only read, and by the promise above nobody changes them meanwhile.
        let map = unsafe { memmap2::Mmap::map(file)? };
        let region = REGIONS.enter(map.as_ptr().expose_provenance(), map.len());
        let region = region.ok_or_else(|| io::Error::other("too many files are mapped already"))?;
        Ok(Map { region: Some(region), bytes: Some(map), file: Some(Mutex::new(identity)) })
    }

    /// Has the whole of `file` one way or the other.
    ///
    /// # Errors
    ///
    /// Where the system refuses, or the file ends before it should.
    pub fn hold(file: &File, hold: Hold) -> io::Result<Map> {
        match hold {
            Hold::Mapped => Map::open(file),
            Hold::Pinned => Map::pin(file),
        }
    }

    fn pin(mut file: &File) -> io::Result<Map> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if bytes == 0 {
            return Ok(Map::empty());
        }
        let mut copy = memmap2::MmapMut::map_anon(bytes)?;
        file.read_exact(&mut copy)?;
        let copy = copy.make_read_only()?;
        // A system that does not let it be locked may swap it out, and takes it back in when it is read.
        let _ = copy.lock();
        Ok(Map { region: None, bytes: Some(copy), file: None })
    }

    /// Where in it a fault was taken first, since when all of it reads as zeros; `None` where none was.
    pub fn fault(&self) -> Option<usize> {
        self.region.as_ref().and_then(Region::fault)
    }

    /// What has become of the file, which was at this path, since it was last asked.
    ///
    /// Where there is none at the path any more, or another, nothing has: what is mapped is whole.
    pub fn look(&self, path: &Path) -> Change {
        let Some(file) = &self.file else { return Change::None };
        let Ok(metadata) = fs::symlink_metadata(path) else { return Change::None };
        let found = Identity::of(&metadata);
        let mut known = file.lock().unwrap_or_else(PoisonError::into_inner);
        if (found.device, found.inode) != (known.device, known.inode) || found == *known {
            return Change::None;
        }
        let expected = known.size_bytes;
        *known = Identity { size_bytes: expected, ..found };
        match found.size_bytes {
            same if same == expected => Change::Written,
            found => Change::Resized { expected, found },
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

/// Mapped files that a fault was taken in, ever.
pub fn faults() -> u64 {
    REGIONS.faults()
}

/// What was done about SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Has this process outlive faults in mapped files, as the module says. All others are treated as they
/// were before. Once is enough.
///
/// # Errors
///
/// Where the system refuses.
pub fn survive_faults() -> io::Result<()> {
    if BEFORE.get().is_some() {
        return Ok(());
    }
    let (mut before, mut handler) = (no_action(), no_action());
    // SAFETY: both are whole; the first is only written to.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // Known before there is one to ask for it.
    let _ = BEFORE.set(before);
    handler.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
    // On the stack that Rust's threads have for signals: what overflowed may be the other.
    handler.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler has the form that these flags call for, and does nothing in it that a signal
    // handler may not: it reads atomics and makes system calls.
    if unsafe { libc::sigaction(libc::SIGBUS, &handler, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// What the system does by itself.
fn no_action() -> libc::sigaction {
    // SAFETY: all zeros are a value of it: no flags, no signals held back, SIG_DFL.
    unsafe { std::mem::zeroed() }
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system calls this with what it knows of the signal; the address is that of the fault
    // where the code is one of its own, above zero.
    let (address, is_fault) = unsafe { ((*info).si_addr().addr(), (*info).si_code > 0) };
    let found = if is_fault { REGIONS.find(address) } else { None };
    if let Some(found) = found {
        REGIONS.note_fault(found, address);
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let from = ptr::with_exposed_provenance_mut(found.from);
        // SAFETY: a file of ours is mapped there, for as long as whoever took the fault reads it; it is
        // bytes before and bytes after, all of them zero.
        let zeros = unsafe { mmap_anonymous(from, found.bytes, ProtFlags::READ, flags) };
        if zeros.is_ok() {
            return;
        }
    }
    pass_on(signal, info, context);
}

/// Treats a fault as it was treated before.
fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let before = BEFORE.get().copied().unwrap_or_else(no_action);
    let is_function = !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
    if is_function && before.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
        // SAFETY: whoever put it there said by this flag that it has this form.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(before.sa_sigaction) };
        return handler(signal, info, context);
    }
    // What took the fault takes it again, and the system ends the process as it would have.
    // SAFETY: the action is whole.
    unsafe { libc::sigaction(signal, &no_action(), ptr::null_mut()) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{fs::OpenOptions, io::Write};

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
    fn a_file_that_is_cut_reads_as_zeros_and_says_where() {
        survive_faults().unwrap();
        let (file, other) = (file_of(&[7; 3 << 20]), file_of(&[8; 3 << 20]));
        let map = Map::open(file.as_file()).unwrap();
        let whole = Map::open(other.as_file()).unwrap();
        let before = faults();
        assert_eq!((map[2 << 20], map.fault()), (7, None));
        cut(&file, 1 << 20);
        // By threads at once, each at a page of its own.
        std::thread::scope(|scope| {
            for at in 0..8 {
                let map = &map;
                scope.spawn(move || assert_eq!(map[(2 << 20) + at * 4_096], 0));
            }
        });
        assert!((2 << 20..(2 << 20) + 8 * 4_096).contains(&map.fault().unwrap()));
        assert_eq!(map.iter().filter(|byte| **byte != 0).count(), 0, "no half of each");
        assert!(faults() > before);
        assert!(whole.fault().is_none() && whole.iter().all(|byte| *byte == 8));
        // What comes to lie in its place is another.
        drop(map);
        let next = Map::open(other.as_file()).unwrap();
        assert!(next.fault().is_none() && next.iter().all(|byte| *byte == 8));
    }

    #[test]
    fn what_is_pinned_stays_whatever_becomes_of_its_file() {
        let file = file_of(b"as it was");
        let map = Map::hold(file.as_file(), Hold::Mapped).unwrap();
        assert_eq!(&*map, b"as it was");
        let reopened = File::open(file.path()).unwrap();
        let pinned = Map::hold(&reopened, Hold::Pinned).unwrap();
        cut(&file, 0);
        assert_eq!(&*pinned, b"as it was");
        assert_eq!((pinned.fault(), pinned.look(file.path())), (None, Change::None));
        assert!(Map::hold(&File::open(file.path()).unwrap(), Hold::Pinned).unwrap().is_empty());
    }

    #[test]
    fn a_change_is_told_once_and_what_takes_a_files_place_is_none() {
        let mut file = file_of(b"12345678");
        let map = Map::open(file.as_file()).unwrap();
        assert_eq!(map.look(file.path()), Change::None);
        let touched = std::time::SystemTime::UNIX_EPOCH;
        file.as_file().set_modified(touched).unwrap();
        assert_eq!(map.look(file.path()), Change::Written);
        assert_eq!(map.look(file.path()), Change::None);
        file.write_all(b"9").unwrap();
        assert_eq!(map.look(file.path()), Change::Resized { expected: 8, found: 9 });
        let other = file_of(b"x");
        assert_eq!(map.look(other.path()), Change::None);
        assert_eq!(map.look(&file.path().join("absent")), Change::None);
    }
}
