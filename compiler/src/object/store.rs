//! Where objects lie: a directory, and a bucket that several hosts share.
//!
//! The linker maps objects, so every object that is used lies in the directory. With a bucket, the directory
//! is a cache of it: files that are missing there are fetched, and finished files are put into the bucket.
//! Names depend on contents alone, so it does no harm if two hosts put the same file.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::error::{Error, Result};
use crate::object::unfinished::{UnfinishedFile, remove_abandoned};
use crate::object::{Check, Object};
use crate::remote::bucket::BucketPrefix;
use crate::remote::file::{RemoteFile, RemoteReader};
use crate::terminal::escape::escape_text;

/// Largest file that is no object, in bytes. The file of a unit has 35 bytes for each part.
const SMALL_BYTES_MAX: u64 = 64 << 20;

/// A directory of objects, which may be the cache of a bucket.
#[derive(Clone)]
pub struct ObjectStore {
    directory: PathBuf,
    bucket: Option<BucketPrefix>,
    /// Whether parts are read again although their version is known.
    is_paranoid: bool,
}

/// The outcome of [`ObjectStore::open`].
pub(crate) enum Lookup {
    Found(Box<Object>),
    /// There is no object, or that in the directory fails its check.
    Missing,
    /// The content of the bucket's object does not match its hash.
    DamagedInBucket,
}

impl Lookup {
    pub(crate) fn object(self) -> Option<Object> {
        match self {
            Lookup::Found(object) => Some(*object),
            Lookup::Missing | Lookup::DamagedInBucket => None,
        }
    }
}

impl ObjectStore {
    /// The objects of a directory.
    pub fn local(directory: &Path) -> ObjectStore {
        ObjectStore { directory: directory.to_path_buf(), bucket: None, is_paranoid: false }
    }

    /// The objects of the bucket `s3://BUCKET/PREFIX`, with a cache.
    pub(crate) fn in_bucket(address: &Path, cache: &Path) -> Result<ObjectStore> {
        let bucket = Some(BucketPrefix::parse(address)?);
        Ok(ObjectStore { directory: cache.to_path_buf(), bucket, is_paranoid: false })
    }

    /// Knows no hash of a part if `is_paranoid`.
    pub(crate) fn paranoid(self, is_paranoid: bool) -> ObjectStore {
        ObjectStore { is_paranoid, ..self }
    }

    /// The check of an object that may be put into the bucket: all its bytes, or else `check`.
    pub(crate) fn check_before_sharing(&self, check: Check) -> Check {
        if self.bucket.is_some() { Check::Whole } else { check }
    }

    /// The directory, or the cache of the bucket.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the objects of all hosts lie, for messages.
    pub(crate) fn place(&self) -> PathBuf {
        match &self.bucket {
            Some(bucket) => bucket.display("").into(),
            None => self.directory.clone(),
        }
    }

    /// Makes the directory, and removes what killed runs left.
    pub(crate) fn prepare(&self) -> Result<()> {
        fs::create_dir_all(&self.directory).map_err(Error::output(&self.directory))?;
        remove_abandoned(&self.directory)
    }

    /// Prepares the directory if it is the cache of a bucket.
    pub(crate) fn prepare_cache(&self) -> Result<()> {
        if self.bucket.is_some() { self.prepare() } else { Ok(()) }
    }

    pub(crate) fn object_path(&self, name: &str) -> PathBuf {
        self.directory.join(object_file(name))
    }

    /// Whether the directory has an object.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.object_path(name).exists()
    }

    /// Opens an object and checks it; fetches it where the directory lacks it.
    pub(crate) fn open(&self, name: &str, check: Check) -> Result<Lookup> {
        let path = self.object_path(name);
        let open = |check| Object::open(&path, check).map_err(Error::input(&path));
        if let Some(object) = open(check)? {
            return Ok(Lookup::Found(object.into()));
        }
        let Some(bucket) = &self.bucket else { return Ok(Lookup::Missing) };
        let file = object_file(name);
        let Some(listed) = bucket.bucket().find(&bucket.key(&file))? else {
            return Ok(Lookup::Missing);
        };
        fetch(RemoteFile::new(bucket.bucket(), listed), &path)?;
        if let Some(object) = open(Check::Whole)? {
            return Ok(Lookup::Found(object.into()));
        }
        fs::remove_file(&path).map_err(Error::output(&path))?;
        let address = escape_text(&bucket.display(&file));
        eprintln!("warning: `{address}` is damaged: its content does not match its hash");
        Ok(Lookup::DamagedInBucket)
    }

    /// Puts an object of the directory into the bucket. An object of the same size there stays, unless
    /// `replaces`.
    pub(crate) fn share(&self, name: &str, replaces: bool) -> Result<()> {
        let Some(bucket) = &self.bucket else { return Ok(()) };
        let (path, key) = (self.object_path(name), bucket.key(&object_file(name)));
        let size = fs::metadata(&path).map_err(Error::input(&path))?.len();
        let shared = if replaces { None } else { bucket.bucket().find(&key)? };
        match shared {
            Some(shared) if shared.size_bytes == size => Ok(()),
            // Every byte of an object depends on its name, so another size means damage.
            shared => bucket.bucket().upload(&key, &path, replaces || shared.is_some()),
        }
    }

    /// Reads a small file, such as that of a unit; fetches it where the directory lacks it.
    pub(crate) fn read(&self, file: &str) -> Result<Option<Vec<u8>>> {
        let path = self.directory.join(file);
        match (fs::read(&path), &self.bucket) {
            (Err(error), Some(bucket)) if error.kind() == io::ErrorKind::NotFound => {
                bucket.bucket().read_small(&bucket.key(file), SMALL_BYTES_MAX)
            }
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (read, _) => read.map(Some).map_err(Error::input(path)),
        }
    }

    /// Writes a small file to the directory and to the bucket, in which it replaces one of the same name.
    pub(crate) fn write(&self, file: &str, content: &[u8]) -> Result<()> {
        let path = self.directory.join(file);
        let mut unfinished = UnfinishedFile::create(&path)?;
        unfinished.write_all(content).map_err(Error::output(&path))?;
        unfinished.finish()?;
        match &self.bucket {
            Some(bucket) => bucket.bucket().put(&bucket.key(file), content, true),
            None => Ok(()),
        }
    }

    /// The objects in the directory alone: what this host knows of its own files concerns no other host.
    pub(crate) fn on_this_host(&self) -> ObjectStore {
        ObjectStore { bucket: None, ..self.clone() }
    }

    /// Returns the hash of a version of a part, if a run has read it before.
    pub(crate) fn known_hash(&self, version: &str) -> Result<Option<String>> {
        if self.is_paranoid {
            return Ok(None);
        }
        let text = self.read(&version_file(version))?;
        let text = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
        let hash = text.get(..blake3::OUT_LEN * 2).filter(|hash| text == checked(version, hash));
        Ok(hash.map(str::to_owned))
    }

    /// Remembers the hash of a version of a part.
    pub(crate) fn remember_hash(&self, version: &str, hash: &str) -> Result<()> {
        self.write(&version_file(version), checked(version, hash).as_bytes())
    }

    /// Whether there is no object yet. A bucket is never new: other hosts may put objects there at any time.
    pub(crate) fn is_new(&self) -> Result<bool> {
        Ok(self.bucket.is_none() && self.names()?.is_empty())
    }

    /// Names of all objects of the directory, or of the bucket.
    pub(crate) fn names(&self) -> Result<BTreeSet<String>> {
        let mut files: Vec<String> = Vec::new();
        if let Some(bucket) = &self.bucket {
            let prefix = bucket.key("");
            let listed = bucket.bucket().list(&prefix)?;
            let names = listed.iter().filter_map(|file| file.key.strip_prefix(&prefix));
            files.extend(names.map(str::to_owned));
        } else {
            let directory = &self.directory;
            let entries = match fs::read_dir(directory) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
                entries => entries.map_err(Error::input(directory))?,
            };
            for entry in entries {
                let name = entry.map_err(Error::input(directory))?.file_name();
                files.extend(name.into_string());
            }
        }
        let names = files.iter().filter_map(|file| file.strip_suffix(".object"));
        Ok(names.map(str::to_owned).collect())
    }
}

fn object_file(name: &str) -> String {
    format!("{name}.object")
}

/// The file that remembers the hash of a version.
fn version_file(version: &str) -> String {
    format!("{version}.hash")
}

/// A remembered hash, and a check of it: a damaged file is as good as none.
fn checked(version: &str, hash: &str) -> String {
    format!("{hash} {}", blake3::hash(format!("{version} {hash}").as_bytes()))
}

/// Copies a file of a bucket.
fn fetch(file: RemoteFile, path: &Path) -> Result<()> {
    let file = Arc::new(file);
    let mut unfinished = UnfinishedFile::create(path)?;
    let copied = io::copy(&mut RemoteReader::new(Arc::clone(&file)), &mut unfinished);
    if let Some(error) = file.take_failure() {
        return Err(error);
    }
    copied.map_err(Error::output(path))?;
    unfinished.finish()
}
