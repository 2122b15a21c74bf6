//! The commands `publish`, `pull` and `keygen`.

use std::{
    io,
    io::Write,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use chrono::{DateTime, Utc};
use clap::Args;

use crate::cli::options::{flag, parse_bytes, parse_memory};
use crate::cli::run::use_threads;
use crate::cli::transfer::TransferArgs;
use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::mirror::options::PublishOptions;
use crate::mirror::pull::PullOptions;
use crate::mirror::run::MirrorRun;
use crate::mirror::{publish, pull, signature};
use crate::report::file::ReportFiles;
use crate::terminal::progress::Progress;

/// The value of `--site` without a directory: the files that a package installed.
const INSTALLED_SITE: &str = "installed";
/// Their place, beside the directory of the program.
const SITE_FILES: &str = "share/pinakes/site";

/// Options of both `publish` and `pull`.
#[derive(Args, Debug)]
struct MirrorArgs {
    /// The largest manifest or list of objects that a mirror accepts.
    #[arg(long, value_name = "BYTES", default_value = "1M", env = "PINAKES_MAX_MANIFEST",
          value_parser = parse_bytes)]
    max_manifest: u64,

    /// Memory for linking objects, as `512M` or `2G`. At least 256M.
    #[arg(long, default_value = "2G", value_parser = parse_memory, env = "PINAKES_MEMORY")]
    memory: u64,

    /// Number of threads; 0 means one per processor.
    #[arg(long, default_value_t = 0, env = "PINAKES_THREADS")]
    threads: usize,

    /// Print only errors, warnings and the result.
    #[arg(long, env = "PINAKES_QUIET", value_parser = flag())]
    quiet: bool,

    /// Write the run's report to this file as JSON, when the run begins and when it ends.
    #[arg(long, value_name = "FILE", env = "PINAKES_REPORT")]
    report: Option<PathBuf>,

    /// Write the run's metrics to this file when the run ends, for the textfile collector of Prometheus'
    /// node_exporter.
    #[arg(long, value_name = "FILE", env = "PINAKES_TEXTFILE")]
    textfile: Option<PathBuf>,
}

impl MirrorArgs {
    fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }

    fn begin(&self, command: &'static str) -> MirrorRun {
        let files = ReportFiles { report: self.report.clone(), textfile: self.textfile.clone() };
        MirrorRun::new(command, files, Progress::detect(self.quiet))
    }
}

#[derive(Args, Debug)]
pub(crate) struct PublishTreeArgs {
    /// A directory of snapshots, whose current one is published, or one snapshot.
    snapshots: PathBuf,

    /// The directory of the tree, which a web server serves as static files.
    #[arg(long, value_name = "DIR", env = "PINAKES_TO")]
    to: PathBuf,

    /// Sign with this secret key of minisign or `keygen`. The password comes from
    /// `PINAKES_KEY_PASSWORD`, or from the terminal.
    #[arg(long, value_name = "FILE", env = "PINAKES_KEY")]
    key: Option<PathBuf>,

    /// Also publish the objects that the snapshot was linked from, out of this directory. They are first
    /// linked again, and must give the same root hash.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: Option<PathBuf>,

    /// Make the tree a website that answers in the reader's browser, without a server: add the page, the service worker
    /// and the module. Packages install them with the program; DIR has others, which `make site` wrote. The worker accepts
    /// publications signed with the key of `--key`.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = INSTALLED_SITE,
          env = "PINAKES_SITE", conflicts_with = "activate_at")]
    site: Option<PathBuf>,

    /// Days until the publication expires; afterwards mirrors call it stale.
    #[arg(long, value_name = "DAYS", default_value_t = 60, env = "PINAKES_VALID_DAYS",
          value_parser = clap::value_parser!(u32).range(1..=36_500))]
    valid_days: u32,

    /// When the servers of all mirrors switch to the snapshot, as `2026-12-01T06:00:00Z`. Mirrors pull it
    /// before. [default: as soon as a mirror has pulled]
    #[arg(long, value_name = "TIME", env = "PINAKES_ACTIVATE_AT", value_parser = parse_time)]
    activate_at: Option<DateTime<Utc>>,

    /// The licence of the data, as `CC0-1.0`.
    #[arg(long, value_name = "TEXT", env = "PINAKES_LICENCE")]
    licence: Option<String>,

    /// Number of publications that the tree keeps, including this one. A mirror that is fetching a removed
    /// publication must start again.
    #[arg(long, value_name = "N", default_value_t = 2, env = "PINAKES_KEEP_PUBLISHED",
          value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,

    #[command(flatten)]
    mirror: MirrorArgs,
}

#[derive(Args, Debug)]
pub(crate) struct PullArgs {
    /// Address of a tree that `publish` wrote: `http://…`, `https://…` or `s3://BUCKET/PREFIX`. A bucket uses
    /// `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`.
    url: String,

    /// The local directory of snapshots; `current` there points at the newest.
    #[arg(long, value_name = "SNAPSHOTS", env = "PINAKES_OUT")]
    out: PathBuf,

    /// Accept only publications signed with this minisign public key. Repeat the option to accept several
    /// keys, for example while one key replaces another.
    #[arg(long = "pubkey", value_name = "FILE", env = "PINAKES_PUBKEY")]
    pubkeys: Vec<PathBuf>,

    /// Fetch objects missing from this directory, and link the snapshot from the directory.
    #[arg(long, value_name = "DIR", env = "PINAKES_OBJECTS")]
    objects: Option<PathBuf>,

    /// Accept a publication that is older than one accepted before.
    #[arg(long, env = "PINAKES_ALLOW_ROLLBACK", value_parser = flag())]
    allow_rollback: bool,

    /// Accept a publication that has expired.
    #[arg(long, env = "PINAKES_ALLOW_STALE", value_parser = flag())]
    allow_stale: bool,

    /// Keep this many snapshots, including the new one, and remove older ones that no process has open.
    /// [default: remove nothing]
    #[arg(long, value_name = "N", env = "PINAKES_KEEP")]
    keep: Option<NonZeroUsize>,

    /// Most concurrent requests.
    #[arg(long, value_name = "N", default_value_t = 8, env = "PINAKES_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..=128))]
    connections: u32,

    #[command(flatten)]
    transfer: TransferArgs,

    #[command(flatten)]
    mirror: MirrorArgs,
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// File for the secret key, for `publish --key`. The key gets the password in
    /// `PINAKES_KEY_PASSWORD`, or none.
    #[arg(long, value_name = "FILE", env = "PINAKES_KEY")]
    key: PathBuf,

    /// File for the public key, for `pull --pubkey`.
    #[arg(long, value_name = "FILE", env = "PINAKES_PUBKEY")]
    pubkey: PathBuf,
}

/// Parses a time in RFC 3339.
fn parse_time(text: &str) -> std::result::Result<DateTime<Utc>, String> {
    DateTime::parse_from_rfc3339(text).map(|time| time.to_utc()).map_err(|error| {
        format!("{error}; expected a time with its zone, as `2026-12-01T06:00:00Z`")
    })
}

/// The directory of the files of a site: the given one, or that beside the program.
fn site_directory(given: PathBuf) -> Result<PathBuf> {
    if given != Path::new(INSTALLED_SITE) {
        return Ok(given);
    }
    let program = std::env::current_exe().map_err(Error::input("/proc/self/exe"))?;
    let directory = program.parent().and_then(Path::parent).map(|root| root.join(SITE_FILES));
    directory.filter(|directory| directory.is_dir()).ok_or_else(|| {
        let reason = "no files of a site were installed with the program; give `--site` the directory that `make site` wrote";
        Error::Usage(reason.into())
    })
}

pub(crate) fn publish_tree(args: PublishTreeArgs) -> Result<()> {
    use_threads(args.mirror.threads)?;
    let mut run = args.mirror.begin("publish");
    let options = PublishOptions {
        memory_bytes: args.mirror.memory_bytes(),
        progress: Progress::detect(args.mirror.quiet),
        manifest_bytes_max: args.mirror.max_manifest,
        snapshots: args.snapshots,
        to: args.to,
        key: args.key,
        objects: args.objects,
        site: args.site.map(site_directory).transpose()?,
        valid_days: args.valid_days,
        activate_at: args.activate_at,
        licence: args.licence,
        keep: args.keep as usize,
    };
    let outcome = publish::publish(&options, &mut run);
    run.end(outcome)
}

pub(crate) fn pull(args: PullArgs) -> Result<()> {
    use_threads(args.mirror.threads)?;
    let mut run = args.mirror.begin("pull");
    let options = PullOptions {
        memory_bytes: args.mirror.memory_bytes(),
        progress: Progress::detect(args.mirror.quiet),
        manifest_bytes_max: args.mirror.max_manifest,
        retry_policy: args.transfer.retry_policy(),
        connections: args.connections as usize,
        url: args.url,
        out: args.out,
        pubkeys: args.pubkeys,
        objects: args.objects,
        allow_rollback: args.allow_rollback,
        allow_stale: args.allow_stale,
        keep: args.keep,
        tls_ca: args.transfer.tls_ca,
    };
    let outcome = pull::pull(&options, &mut run);
    run.end(outcome)
}

pub(crate) fn keygen(args: &KeygenArgs) -> Result<()> {
    let public = signature::make_keys(&args.key, &args.pubkey)?;
    writeln!(io::stdout(), "{public}").map_err(Error::output(STANDARD_OUTPUT))
}
