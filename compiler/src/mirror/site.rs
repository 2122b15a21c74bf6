//! `publish --site`: adds to a tree the page, the service worker and the module that answer from it in a browser.
//!
//! ```text
//! index.html, 404.html   load the module and start the worker, at any address
//! start.js               their program
//! worker.js              answers the addresses of the interface from the tree; names the module and the keys
//! pinakes-….wasm.br, .gz the module, by its hash
//! docs/…, graphiql/…     programs of the pages at these addresses
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
};

use minisign::PublicKey;
use pinakes_format::storage::manifest::FileEntry;
use pinakes_store::files::{make_directory, write_atomically};

use crate::error::{Error, Result};
use crate::terminal::escape::escape_path;

/// The largest file that the module reads: its addresses have 32 bits.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;
/// The files that begin a visit, in the order in which they are replaced: after all that they name.
const FIRST: [&str; 4] = ["worker.js", "start.js", "404.html", "index.html"];
/// The line of the worker that names the keys.
const KEYS: &str = "const KEYS = [];";
/// The directories of a site.
const DIRECTORIES: [&str; 2] = ["docs", "graphiql"];

/// The files of a site, by their paths in the tree.
pub struct Site(Vec<(String, Vec<u8>)>);

impl Site {
    /// Reads the files that `make site` wrote, for a publication that one key signs.
    ///
    /// # Errors
    ///
    /// A file is missing or is of another version.
    pub fn read(directory: &Path, key: Option<&PublicKey>) -> Result<Site> {
        let mut files = files_in(directory, "")?;
        for name in DIRECTORIES {
            files.extend(files_in(&directory.join(name), &format!("{name}/"))?);
        }
        let place = |name: &str| FIRST.iter().position(|first| *first == name);
        files.sort_by_key(|(name, _)| place(name));
        let refused = |reason: &str| {
            Error::Refused(format!("`{}` {reason}; run `make site` again", escape_path(directory)))
        };
        let modules = files.iter().filter(|(name, _)| is_module(name)).count();
        let worker = files.iter_mut().rev().nth(FIRST.len() - 1);
        let worker = worker.filter(|(name, _)| name == FIRST[0] && modules > 0);
        let (_, worker) = worker.ok_or_else(|| refused("is no complete site"))?;
        if let Some(key) = key {
            let text = String::from_utf8_lossy(worker);
            if !text.contains(KEYS) {
                return Err(refused("has a worker of another version"));
            }
            let keys = format!("const KEYS = [\"{}\"];", key.to_base64());
            *worker = text.replacen(KEYS, &keys, 1).into_bytes();
        }
        Ok(Site(files))
    }

    /// Writes the files into a tree, and removes older modules.
    ///
    /// # Errors
    ///
    /// A file cannot be written, or an older module cannot be removed.
    pub fn write(&self, tree: &Path) -> Result<()> {
        for name in DIRECTORIES {
            make_directory(&tree.join(name))?;
        }
        for (name, bytes) in &self.0 {
            write_atomically(&tree.join(name), bytes)?;
        }
        let is_older = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            is_module(name) && !self.0.iter().any(|(known, _)| known == name)
        };
        let files = fs::read_dir(tree).map_err(Error::output(tree))?;
        for path in files.flatten().map(|entry| entry.path()).filter(is_older) {
            fs::remove_file(&path).map_err(Error::output(&path))?;
        }
        Ok(())
    }
}

/// The files in a directory, with their names after `prefix`.
fn files_in(directory: &Path, prefix: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::input(directory))? {
        let path = entry.map_err(Error::input(directory))?.path();
        if let Some(name) =
            path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_file())
        {
            files.push((format!("{prefix}{name}"), fs::read(&path).map_err(Error::input(&path))?));
        }
    }
    Ok(files)
}

/// Refuses a snapshot with a file that a browser cannot address.
///
/// # Errors
///
/// The first such file.
pub fn refuse_large_files(files: &[FileEntry]) -> Result<()> {
    match files.iter().find(|entry| entry.size_bytes > FILE_BYTES_MAX) {
        None => Ok(()),
        Some(entry) => Err(Error::Usage(format!(
            "`{}` has {} bytes; in a browser, a file has at most {FILE_BYTES_MAX}. Publish without `--site`, or link \
             fewer records with `--where`",
            entry.path, entry.size_bytes
        ))),
    }
}

fn is_module(name: &str) -> bool {
    name.starts_with("pinakes-") && (name.ends_with(".wasm.br") || name.ends_with(".wasm.gz"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use minisign::KeyPair;

    use super::*;

    #[test]
    fn a_file_of_4_gib_is_refused() {
        let file = |size_bytes| {
            let (path, blake3) = ("outputs/records".into(), String::new());
            [FileEntry { path, size_bytes, blake3, published: None, rows: None }]
        };
        refuse_large_files(&file((4 << 30) - 1)).unwrap();
        let refused = refuse_large_files(&file(4 << 30)).unwrap_err().to_string();
        assert!(refused.contains("`outputs/records` has 4294967296 bytes"), "{refused}");
    }

    #[test]
    fn a_site_has_the_key_and_one_module() {
        let (made, tree) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = KeyPair::generate_unencrypted_keypair().unwrap().pk;
        for name in DIRECTORIES {
            fs::create_dir(made.path().join(name)).unwrap();
            fs::write(made.path().join(name).join("page.js"), name).unwrap();
        }
        for name in FIRST {
            assert!(Site::read(made.path(), Some(&key)).is_err(), "before {name}");
            fs::write(made.path().join(name), format!("// {name}\n{KEYS}\n")).unwrap();
        }
        assert!(Site::read(made.path(), Some(&key)).is_err(), "there is no module");
        fs::write(made.path().join("pinakes-1.wasm.br"), "new").unwrap();
        fs::write(tree.path().join("pinakes-0.wasm.gz"), "old").unwrap();
        Site::read(made.path(), Some(&key)).unwrap().write(tree.path()).unwrap();
        let mut names: Vec<_> =
            files_in(tree.path(), "").unwrap().into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert_eq!(names, ["404.html", "index.html", "pinakes-1.wasm.br", "start.js", "worker.js"]);
        let read = |name: &str| fs::read_to_string(tree.path().join(name)).unwrap();
        assert_eq!(read("graphiql/page.js"), "graphiql");
        assert!(read("worker.js").contains(&format!("const KEYS = [\"{}\"];", key.to_base64())));
        assert!(read("start.js").contains(KEYS));
    }
}
