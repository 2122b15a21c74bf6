//! A published snapshot, its host, and mirrors of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use pinakes_tests::slow_link::SlowLink;
use pinakes_tests::static_host::Host;

use crate::{
    Result, build,
    process::{measure, sibling_program},
    serve::Server,
    served::cold::files_of,
};

/// The time that a request takes on the way to the host and back.
const ROUND_TRIP: Duration = Duration::from_millis(50);
/// The seconds that a request waits for the host: the default of 10 is too short for some requests.
const FETCH_TIMEOUT: &str = "60";
/// 100 Mbit/s.
const BYTES_PER_SECOND: u64 = 12_500_000;

/// A published snapshot. Dropping this removes the tree and the mirror.
pub struct Published {
    pub snapshots: PathBuf,
    tree: PathBuf,
    key: PathBuf,
    mirror: PathBuf,
    pub host: Host,
}

impl Drop for Published {
    fn drop(&mut self) {
        // The files are those of the snapshot: their modes stay.
        let _ = fs::remove_dir_all(&self.tree);
        build::remove(&self.mirror);
        let _ = fs::remove_file(&self.key);
        let _ = fs::remove_file(self.pubkey());
    }
}

impl Published {
    /// Signs and publishes the current snapshot of a directory. The tree has hard links to the snapshot's files.
    pub fn publish(snapshots: &Path, dir: &Path) -> Result<Published> {
        let [tree, key, mirror] =
            ["mirrored-tree", "mirrored.key", "mirror"].map(|at| dir.join(at));
        let host = Host::new(tree.clone());
        let published = Published { snapshots: snapshots.to_owned(), tree, key, mirror, host };
        let Published { tree, key, .. } = &published;
        let _ = fs::remove_dir_all(tree);
        let _ = fs::remove_file(key);
        let _ = fs::remove_file(published.pubkey());
        let compiler = sibling_program("pinakes-compiler")?;
        let mut keygen = Command::new(&compiler);
        measure(keygen.args(["keygen", "--key"]).arg(key).arg("--pubkey").arg(published.pubkey()))?;
        let mut publish = Command::new(&compiler);
        measure(
            publish
                .args(["publish", "--quiet", "--to"])
                .args([tree, snapshots])
                .arg("--key")
                .arg(key),
        )?;
        Ok(published)
    }

    fn pubkey(&self) -> PathBuf {
        self.key.with_extension("pub")
    }

    /// Bytes of the snapshot's files.
    pub fn bytes(&self) -> Result<u64> {
        let files = files_of(&self.snapshots.join("current").canonicalize()?)?;
        let sizes = files.iter().map(|file| fs::metadata(file).map(|found| found.len()));
        Ok(sizes.sum::<std::io::Result<u64>>()?)
    }

    /// A link to the host, slow as a link over a distance.
    pub fn slow_link(&self) -> SlowLink {
        SlowLink::new(&self.host.url(), ROUND_TRIP, BYTES_PER_SECOND)
    }

    /// Starts a server with an empty disk, whose host is at a URL. Before, the mirror that started last must have ended.
    pub fn empty_mirror(&self, url: &str, arguments: &[&str]) -> Result<Server> {
        build::remove(&self.mirror);
        let pubkey = self.pubkey();
        let pubkey = pubkey.to_str().ok_or("the path of the key is not text")?;
        let own =
            ["--no-limits", "--from", url, "--pubkey", pubkey, "--fetch-timeout", FETCH_TIMEOUT];
        Server::pinakes_with(&self.mirror, &[&own, arguments].concat())
    }
}
