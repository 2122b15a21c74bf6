//! Inputs in a bucket: the files under a prefix, recognised as those of a directory.

use std::path::Path;

use rayon::prelude::*;

use crate::compile::input::detect::detect_file;
use crate::compile::input::part::{InputKind, Inputs, ManifestPolicy};
use crate::compile::input::{add_files, finish_directory};
use crate::error::{Error, Result};
use crate::read::part_file;
use crate::remote::bucket::{Bucket, split};
use crate::remote::file;
use crate::remote::file::RemoteFile;

/// Files whose first bytes are in memory at the same time.
const HEADS_MAX: usize = 64;

/// Finds the parts of the input `s3://BUCKET/KEY` or `s3://BUCKET/PREFIX`.
pub(super) fn find(
    path: &Path,
    kind: Option<InputKind>,
    policy: ManifestPolicy,
    found: &mut Inputs,
) -> Result<()> {
    let (name, key) = split(path)?;
    let bucket = Bucket::open(name)?;
    let prefix = key.trim_end_matches('/');
    if key == prefix
        && !key.is_empty()
        && let Some(listed) = bucket.find(key)?
    {
        let size_bytes = listed.size_bytes;
        let path = file::register(RemoteFile::new(&bucket, listed));
        let part = detect_file(&path, kind, size_bytes);
        check_transfer(&path)?;
        found.parts.push(part?);
        return Ok(());
    }
    let root = Path::new(&bucket.display(prefix)).to_path_buf();
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    let before = found.parts.len();
    let mut files = bucket.list(&prefix)?;
    // Some tools make an empty file for each folder.
    files.retain(|file| !file.key.ends_with('/'));
    if files.is_empty() {
        let reason = "holds no file; check the bucket and the prefix".into();
        return Err(Error::Input { path: root, reason });
    }
    let mut parts = Vec::with_capacity(files.len());
    for listed in files {
        let is_plain = listed.key.split('/').all(|name| !matches!(name, "" | "." | ".."));
        let size_bytes = listed.size_bytes;
        let path = file::register(RemoteFile::new(&bucket, listed));
        match is_plain {
            true => parts.push((path, size_bytes)),
            false => found.skipped.push(path),
        }
    }
    let mut manifests = Vec::new();
    for files in parts.chunks(HEADS_MAX) {
        files.par_iter().for_each(|(path, _)| {
            // A failure is kept, and returned below.
            let _ = file::find(path).map(|file| file.head());
        });
        manifests.extend(add_files(&root, files.to_vec(), found));
        for (path, _) in files {
            check_transfer(path)?;
            part_file::drop_pages(path);
        }
    }
    finish_directory(&root, kind, policy, before, &manifests, found)?;
    manifests.iter().try_for_each(|path| check_transfer(path))
}

/// Returns the error of a failed transfer. Readers see a failure only as a file of an unknown kind.
fn check_transfer(path: &Path) -> Result<()> {
    file::find(path).and_then(|file| file.take_failure()).map_or(Ok(()), Err)
}
