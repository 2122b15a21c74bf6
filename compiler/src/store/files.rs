//! Directories that mirrors write into: whose they must be, and files put there whole.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::error::{Error, Result};
use crate::terminal::escape::shown;

/// What stands between the name of a file and the number of the process that writes it.
const UNFINISHED: &str = ".tmp-";
/// The bit by which only its owner may rename and remove what is in a directory.
const STICKY: u32 = 0o1000;

/// Refuses a directory that others than its owner may write, or that stands in one where others may
/// put another in its place: what is verified could be exchanged before it counts. Of a link both what it
/// leads to and where it stands are looked at.
///
/// # Errors
///
/// A usage error naming the directory; one that cannot be read.
pub fn refuse_open(directory: &Path) -> Result<()> {
    let absolute = std::path::absolute(directory).map_err(Error::output(directory))?;
    // Without a slash at its end, which would have a link followed.
    let absolute: PathBuf = absolute.components().collect();
    let led_to = fs::canonicalize(&absolute).ok();
    for place in led_to.iter().chain([&absolute]) {
        refuse_written(place, false)?;
        // Of what is yet to be made the first that is there may let others in.
        if let Some(parent) = place.ancestors().skip(1).find(|parent| parent.exists()) {
            refuse_written(parent, true)?;
        }
    }
    Ok(())
}

/// Refuses what stands in a directory in place of directories of its own, and those that others may write.
///
/// # Errors
///
/// As [`refuse_open`].
pub fn refuse_open_inside(directory: &Path, names: &[&str]) -> Result<()> {
    for place in names.iter().map(|name| directory.join(name)) {
        if fs::symlink_metadata(&place).is_ok_and(|metadata| !metadata.is_dir()) {
            let place = shown(&place);
            return Err(Error::Usage(format!(
                "`{place}` is no directory; remove it and run again"
            )));
        }
        refuse_written(&place, false)?;
    }
    Ok(())
}

fn refuse_written(place: &Path, is_parent: bool) -> Result<()> {
    let Ok(metadata) = fs::symlink_metadata(place) else { return Ok(()) };
    let mode = metadata.mode();
    let is_open = metadata.is_dir() && mode & 0o022 != 0;
    if !is_open || is_parent && mode & STICKY != 0 {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "`{}` may be written by others than its owner, who could exchange what was verified; give another, \
         or make it yours (`chmod go-w`)",
        shown(place)
    )))
}

/// Refuses what a directory's disk has no room for. Of the files that are to be filled, what they take
/// already is not asked for again.
///
/// # Errors
///
/// Where there is less room than bytes to come.
pub fn demand_room(directory: &Path, bytes: u64, filled: &[&Path]) -> Result<()> {
    let taken: u64 = filled
        .iter()
        .filter_map(|path| fs::symlink_metadata(path).ok())
        // Blocks are of 512 bytes, whatever the file system's are.
        .map(|metadata| metadata.blocks().saturating_mul(512))
        .fold(0, u64::saturating_add);
    let free = rustix::fs::statvfs(directory)
        .map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
        .map_err(|error| Error::output(directory)(error.into()))?;
    let wanted = bytes.saturating_sub(taken);
    if wanted <= free {
        return Ok(());
    }
    let reason = format!("{wanted} bytes more are wanted, and there is room for {free}");
    Err(Error::output(directory)(io::Error::new(io::ErrorKind::StorageFull, reason)))
}

/// Makes a directory that everybody may read, whatever the umask; one that is there stays as it is.
///
/// # Errors
///
/// Where the system refuses.
pub fn make_directory(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(Error::output(path))
}

/// Puts a small file in its place: a reader finds the one before or this one, whole.
///
/// # Errors
///
/// Where the system refuses; what stood there stands.
pub fn put(path: &Path, text: &[u8]) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("{UNFINISHED}{}", std::process::id()));
    let fresh = Path::new(&name);
    let write = || -> io::Result<()> {
        // What a run that died left under this name; a link there is removed, not followed.
        let _ = fs::remove_file(fresh);
        let mut file = File::options().write(true).create_new(true).mode(0o644).open(fresh)?;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(fresh, path)?;
        sync_directory(path.parent().unwrap_or(Path::new(".")))
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written.map_err(Error::output(path))
}

/// Whether a name is one that [`put`] gives a file until it is whole.
pub fn is_unfinished(name: &str) -> bool {
    let process = name.rsplit_once(UNFINISHED).map_or("", |(_, process)| process);
    !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
}

/// Makes what was renamed within a directory durable.
///
/// # Errors
///
/// Where the system refuses.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Opens a regular file for reading, and nothing that a link leads to.
///
/// # Errors
///
/// Where it is none, or the system refuses.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    // The bits of flags are an int of the system's, whatever type they are kept in.
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("is no regular file")) }
}
