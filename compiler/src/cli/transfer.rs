//! The options of transfers from and to other hosts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use pinakes_remote::host::RetryPolicy;
use tempfile::TempDir;

use crate::cli::options::parse_bytes;
use crate::error::{Error, Result};
use crate::object::ObjectStore;
use crate::remote::bucket;

/// How to wait for a host, and how often to try.
#[derive(Args, Debug)]
pub(crate) struct TransferArgs {
    /// Longest wait in seconds for a connection, a reply and the next byte. Also the longest pause that
    /// `Retry-After` causes, and the longest wait of `pull` for a signature that matches its publication.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, env = "PINAKES_TIMEOUT",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,

    /// Lowest average speed of a reply in bytes per second, after the timeout.
    #[arg(long, value_name = "BYTES", default_value = "32K", env = "PINAKES_MIN_SPEED",
          value_parser = parse_bytes)]
    min_speed: u64,

    /// Number of attempts for each request.
    #[arg(long, value_name = "N", default_value_t = 5, env = "PINAKES_TRIES",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    tries: u32,

    /// Trust the root certificates in this PEM file instead of the usual ones.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_CA")]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// Options of the commands that keep objects.
#[derive(Args, Debug)]
pub(crate) struct BucketArgs {
    /// Directory for the objects of a bucket that the run makes or links. [default: SNAPSHOTS/objects; for
    /// `compile --plan` a temporary directory]
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS_CACHE")]
    pub(crate) objects_cache: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

impl BucketArgs {
    /// Makes the cache of a run that needs one and was given none.
    pub(crate) fn temporary_cache(&self, objects: &Path) -> Result<Option<TempDir>> {
        if self.objects_cache.is_some() || !bucket::is_bucket(objects) {
            return Ok(None);
        }
        tempfile::tempdir().map(Some).map_err(Error::output(std::env::temp_dir()))
    }

    /// Returns the objects of a directory or a bucket. `cache` is the cache where no option gives one.
    pub(crate) fn store(&self, objects: &Path, cache: Option<PathBuf>) -> Result<ObjectStore> {
        if !bucket::is_bucket(objects) {
            return match self.objects_cache {
                None => Ok(ObjectStore::local(objects)),
                Some(_) => Err(Error::Usage(
                    "`--objects-cache` needs a bucket, as `--objects s3://BUCKET/PREFIX`".into(),
                )),
            };
        }
        let cache = self.objects_cache.clone().or(cache).ok_or_else(|| {
            let reason =
                "objects in a bucket also need a local directory; give `--objects-cache DIR`";
            Error::Usage(reason.into())
        })?;
        ObjectStore::in_bucket(objects, &cache)
    }
}

impl TransferArgs {
    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy {
            timeout: Duration::from_secs(self.timeout),
            speed_bytes_min: self.min_speed,
            attempts_max: self.tries,
        }
    }

    /// Asks the buckets of this run under these options.
    pub(crate) fn configure(&self) {
        bucket::configure(self.retry_policy(), self.tls_ca.clone());
    }
}
