//! The commands that publish snapshots to others and pull theirs.

use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

use clap::Args;

use crate::cli::build::use_threads;
use crate::cli::options::{flag, parse_bytes, parse_memory};
use crate::error::Result;
use crate::mirror::host::Patience;
use crate::mirror::publish::Publish;
use crate::mirror::pull::Pull;
use crate::mirror::run::MirrorRun;
use crate::mirror::{publish, pull, signature};
use crate::report::file::ReportFiles;
use crate::terminal::progress::Progress;

/// Options of both.
#[derive(Args, Debug)]
struct MirrorArgs {
    /// The largest manifest, or list of objects, that a mirror takes.
    #[arg(long, value_name = "BYTES", default_value = "1M", env = "PINAKES_MAX_MANIFEST",
          value_parser = parse_bytes)]
    max_manifest: u64,

    /// Memory to link objects in, as `512M` or `2G`. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_memory, env = "PINAKES_MEMORY")]
    memory: u64,

    /// Threads; 0 for as many as there are processors.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    threads: usize,

    /// Show nothing but errors, warnings and the result.
    #[arg(long, env = "PINAKES_QUIET", value_parser = flag())]
    quiet: bool,

    /// Write the run's report to this file, as JSON: as it begins, and what came of it as it ends.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    report: Option<PathBuf>,

    /// Write what came of the run to this file, as the textfile collector of Prometheus' node_exporter
    /// reads it.
    #[arg(long, value_name = "FILE", env = "PINAKES_TEXTFILE")]
    textfile: Option<PathBuf>,
}

impl MirrorArgs {
    fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }

    fn begin(&self, command: &'static str) -> MirrorRun {
        let files = ReportFiles { report: self.report.clone(), textfile: self.textfile.clone() };
        MirrorRun::begin(command, files, Progress::detect(self.quiet))
    }
}

#[derive(Args, Debug)]
pub(crate) struct PublishTreeArgs {
    /// The directory of snapshots whose current one is published, or a snapshot.
    snapshots: PathBuf,

    /// The tree that a host serves as static files.
    #[arg(long, value_name = "DIR", env = "PINAKES_TO")]
    to: PathBuf,

    /// Sign with this secret key of minisign, or of `keygen`. A password is read from
    /// `PINAKES_KEY_PASSWORD`, or asked for.
    #[arg(long, value_name = "FILE", env = "PINAKES_KEY")]
    key: Option<PathBuf>,

    /// Publish the objects too that the snapshot was linked from, out of this directory. They are linked
    /// once more, and must give the same root hash.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: Option<PathBuf>,

    /// Days until what is published expires: from then on mirrors call it stale.
    #[arg(long, value_name = "DAYS", default_value_t = 60, env = "PINAKES_VALID_DAYS",
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    valid_days: u32,

    /// The licence of the data, as `CC0-1.0`.
    #[arg(long, value_name = "TEXT", env = "PINAKES_LICENCE")]
    licence: Option<String>,

    /// Publications the tree keeps, this one included; whoever reads an older one while it is removed has
    /// to begin anew.
    #[arg(long, value_name = "N", default_value_t = 2, env = "PINAKES_KEEP_PUBLISHED",
          value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,

    #[command(flatten)]
    mirror: MirrorArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PullArgs {
    /// The address of what `publish` wrote: `http://…`, `https://…`, or `s3://BUCKET/PREFIX` with what
    /// `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` say of it.
    url: String,

    /// Where snapshots are published here; `current` there leads to the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    out: PathBuf,

    /// Take only what the owner of this public key of minisign signed. May be given again: one of them is
    /// enough, while one takes another's place.
    #[arg(long = "pubkey", value_name = "FILE", env = "PINAKES_PUBKEY")]
    pubkeys: Vec<PathBuf>,

    /// Fetch the objects that are not in this directory, and link the snapshot from them.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: Option<PathBuf>,

    /// Take a publication that is older than one that was seen.
    #[arg(long, env = "PINAKES_ALLOW_ROLLBACK", value_parser = flag())]
    allow_rollback: bool,

    /// Refuse a publication that has expired.
    #[arg(long, env = "PINAKES_REQUIRE_FRESH", value_parser = flag())]
    require_fresh: bool,

    /// Keep so many snapshots, the new one among them, and remove older ones that nobody has open.
    /// [default: remove nothing]
    #[arg(long, value_name = "N", env = "PINAKES_KEEP")]
    keep: Option<NonZeroUsize>,

    /// Requests at a time.
    #[arg(long, value_name = "N", default_value_t = 8, env = "PINAKES_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..=128))]
    connections: u32,

    /// Seconds to wait for a connection, a reply, or its next byte; for a publication and a signature that
    /// belong together; and at most, each time, where the host says `Retry-After`.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, env = "PINAKES_TIMEOUT",
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,

    /// Bytes a second below which a host is given up, after that time.
    #[arg(long, value_name = "BYTES", default_value = "32K", env = "PINAKES_MIN_SPEED",
          value_parser = parse_bytes)]
    min_speed: u64,

    /// How often the same is asked for before the host is given up.
    #[arg(long, value_name = "N", default_value_t = 5, env = "PINAKES_TRIES",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    tries: u32,

    /// Trust the host by the certificates in this file, PEM, in place of the web's.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_CA")]
    tls_ca: Option<PathBuf>,

    #[command(flatten)]
    mirror: MirrorArgs,
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// Where the secret key is written, for `publish --key`. It gets the password in
    /// `PINAKES_KEY_PASSWORD`, or none.
    #[arg(long, value_name = "FILE", env = "PINAKES_KEY")]
    key: PathBuf,

    /// Where the public key is written, for `pull --pubkey`.
    #[arg(long, value_name = "FILE", env = "PINAKES_PUBKEY")]
    pubkey: PathBuf,
}

pub(crate) fn publish_tree(args: PublishTreeArgs) -> Result<()> {
    use_threads(args.mirror.threads)?;
    let mut run = args.mirror.begin("publish");
    let asked = Publish {
        memory_bytes: args.mirror.memory_bytes(),
        progress: Progress::detect(args.mirror.quiet),
        manifest_bytes_max: args.mirror.max_manifest,
        snapshots: args.snapshots,
        to: args.to,
        key: args.key,
        objects: args.objects,
        valid_days: args.valid_days,
        licence: args.licence,
        keep: args.keep as usize,
    };
    let outcome = publish::publish(&asked, &mut run);
    run.end(outcome)
}

pub(crate) fn pull(args: PullArgs) -> Result<()> {
    use_threads(args.mirror.threads)?;
    let mut run = args.mirror.begin("pull");
    let asked = Pull {
        memory_bytes: args.mirror.memory_bytes(),
        progress: Progress::detect(args.mirror.quiet),
        manifest_bytes_max: args.mirror.max_manifest,
        patience: Patience {
            timeout: Duration::from_secs(args.timeout),
            speed_bytes_min: args.min_speed,
            tries: args.tries,
        },
        connections: args.connections as usize,
        url: args.url,
        out: args.out,
        pubkeys: args.pubkeys,
        objects: args.objects,
        allow_rollback: args.allow_rollback,
        require_fresh: args.require_fresh,
        keep: args.keep,
        tls_ca: args.tls_ca,
    };
    let outcome = pull::pull(&asked, &mut run);
    run.end(outcome)
}

pub(crate) fn keygen(args: &KeygenArgs) -> Result<()> {
    signature::make_keys(&args.key, &args.pubkey)
}
