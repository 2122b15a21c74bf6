//! The version of a file on disk: what the system notes about a file whenever its content changes.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// Hexadecimal digits of a version's name.
const NAME_DIGITS: usize = 32;
/// Two changes within the resolution of a file system's clock give the same times. FAT's is the coarsest.
const RESOLUTION: Duration = Duration::from_secs(2);

/// Device, inode, size and times of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    size_bytes: u64,
    /// When the content was written, in seconds and nanoseconds since 1970. A program may set this time.
    modified: (i64, i64),
    /// When the file was changed in any way. Only the system sets this time.
    changed: (i64, i64),
}

impl FileVersion {
    pub(crate) fn of(file: &Metadata) -> FileVersion {
        FileVersion {
            device: file.dev(),
            inode: file.ino(),
            size_bytes: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }

    /// Whether a file still has the content of this version. Other changes, such as a further hard link, do not
    /// count.
    pub(crate) fn has_content_of(&self, now: &FileVersion) -> bool {
        let content = |of: &FileVersion| (of.device, of.inode, of.size_bytes, of.modified);
        content(self) == content(now)
    }

    /// Whether any later change of the file gives another version.
    pub(crate) fn is_settled(&self) -> bool {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = since_1970.map_or(0, |elapsed| elapsed.as_secs());
        let changed = u64::try_from(self.changed.0).unwrap_or(0);
        now.saturating_sub(changed) > RESOLUTION.as_secs()
    }

    /// A name of the version; any change gives another name.
    pub(crate) fn name(&self) -> String {
        digest(&format!("{self:?}"))
    }

    /// A name of the version that changes only as [`FileVersion::has_content_of`] says.
    pub(crate) fn content_name(&self) -> String {
        digest(&format!("{:?}", FileVersion { changed: (0, 0), ..self.clone() }))
    }
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..NAME_DIGITS].to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn every_change_of_a_file_gives_another_version() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("part");
        let version = || FileVersion::of(&fs::metadata(&path).unwrap());
        fs::write(&path, "one").unwrap();
        let first = version();
        assert!(!first.is_settled());
        assert_eq!(first.name(), version().name());

        fs::hard_link(&path, place.path().join("link")).unwrap();
        let linked = version();
        assert!(first.has_content_of(&linked));
        assert_ne!(first.name(), linked.name());
        assert_eq!(first.content_name(), linked.content_name());

        // Same size and same time of modification: the time of the change still differs.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let rewritten = version();
        assert!(first.has_content_of(&rewritten));
        assert_ne!(linked.name(), rewritten.name());

        fs::write(place.path().join("other"), "two").unwrap();
        fs::rename(place.path().join("other"), &path).unwrap();
        assert!(!first.has_content_of(&version()));
    }

    #[test]
    fn a_version_is_settled_once_the_clock_has_moved_on() {
        let place = tempfile::tempdir().unwrap();
        let mut version = FileVersion::of(&fs::metadata(place.path()).unwrap());
        for (seconds_ago, expected) in [(-100, false), (0, false), (2, false), (4, true)] {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
            version.changed.0 = i64::try_from(now).unwrap() - seconds_ago;
            assert_eq!(version.is_settled(), expected, "{seconds_ago}");
        }
    }
}
