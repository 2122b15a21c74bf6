//! The options of `pinakes-server`.
//!
//! Imports `admission`, `http`, `net`, `ops`, `run`, `serve`, `snapshots`, `upstream`.

mod graphql;
mod parse;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::{FalseyValueParser, NonEmptyStringValueParser};
use ipnet::IpNet;
use pinakes_answer::{Collection, Settings};
use pinakes_format::index::kept_sets::KeptSets;
use pinakes_format::storage::LoadMode;
use pinakes_remote::host::{Host, RetryPolicy};
use pinakes_remote::signature::read_public;
use pinakes_store::error::StoreError;

use crate::admission::gate::Gate;
use crate::admission::limits::{CLIENTS_MAX, Limits, RateLimiter, SystemClock};
use crate::admission::reply_memory::held_bytes_max;
use crate::http::client_address::{ClientResolver, ForwardingHeader};
use crate::net::connection::{ConnectionSettings, Preface, Timeouts};
use crate::net::tls::{Certificate, TlsError};
use crate::ops::admin::AdminHosts;
use crate::ops::log::LogFormat;
use crate::options::graphql::GraphqlOptions;
use crate::options::parse::{
    parse_address, parse_base_path, parse_cache, parse_memory, parse_network, parse_seconds,
    parse_share, parse_store,
};
use crate::run::ListenOptions;
use crate::serve::ServiceSettings;
use crate::serve::threads::default_disk_reads;
use crate::snapshots::manager::SnapshotSource;
use crate::upstream::cache::Room;
use crate::upstream::follow::{Upkeep, Upstream};
use crate::upstream::hosts::Hosts;
use crate::upstream::transfers::Transfers;

/// The name of the server in its requests to mirrors.
const AGENT: &str = concat!("pinakes-server/", env!("CARGO_PKG_VERSION"));

/// Name of the group of options that name the snapshot, of which the server needs exactly one.
pub(crate) const SOURCE: &str = "source";

/// Options of the server.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new(SOURCE).required(true))]
pub struct Options {
    /// Directory of published snapshots. The server follows its link `current`.
    #[arg(long, value_name = "DIR", env = "PINAKES_SNAPSHOTS", group = "source")]
    snapshots: Option<PathBuf>,

    /// Directory of one snapshot, which the server serves until it ends.
    #[arg(long, value_name = "DIR", env = "PINAKES_SNAPSHOT", group = "source")]
    snapshot: Option<PathBuf>,

    /// Address or host name, and port, to listen on. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "PINAKES_LISTEN",
          value_parser = parse_address)]
    pub listen: SocketAddr,

    /// Address and port that speak OpenAlex's dialect alone, with its paths at the root, for clients that know only a
    /// host. The dialect is also at /openalex. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR", env = "PINAKES_OPENALEX_LISTEN", value_parser = parse_address,
          conflicts_with = "no_openalex")]
    pub openalex_listen: Option<SocketAddr>,

    /// Address and port of the admin interface: /metrics for Prometheus, /health and /ready, over plain
    /// HTTP. Only the operator should reach this address. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR", env = "PINAKES_ADMIN", value_parser = parse_address)]
    pub admin: Option<SocketAddr>,

    /// Host name under which clients address the admin interface, besides IP addresses and `localhost`. May be
    /// repeated.
    #[arg(long, value_name = "NAME", env = "PINAKES_ADMIN_HOST", value_delimiter = ',')]
    pub admin_host: Vec<String>,

    /// Verify every byte and every record of a snapshot before serving it. Without this option the server
    /// verifies each 4 KiB chunk when a request first reads it.
    #[arg(long, env = "PINAKES_VERIFY", value_parser = FalseyValueParser::new())]
    pub verify: bool,

    /// Copy the snapshot into memory and lock it there, as far as `ulimit -l` permits. The server then
    /// survives the loss of its files and disk. Needs memory of the snapshot's size, and of both snapshots
    /// while one replaces another.
    #[arg(long, env = "PINAKES_PIN", value_parser = FalseyValueParser::new())]
    pub pin: bool,

    /// Number of earlier snapshots that stay open besides the current one: `/@{snapshot}/…` answers from them.
    /// With --pin each needs memory of its size.
    #[arg(long, value_name = "K", default_value = "0", env = "PINAKES_KEEP_OPEN",
          value_parser = clap::value_parser!(u8).range(0..=64))]
    pub keep_open: u8,

    /// Declare that a content delivery network stands before the server. Replies below `/@{snapshot}/…` then
    /// name the snapshot in `Surrogate-Key`, may be kept there for a year, and have no headers about the limits
    /// of one client. Purge that key when the suppression list changes.
    #[arg(long, env = "PINAKES_BEHIND_CDN", value_parser = FalseyValueParser::new())]
    pub behind_cdn: bool,

    /// File of records to suppress, one id per line: the server replies 404 for them, and no list, count or
    /// suggestion contains them. The server reloads the file when it changes and on SIGHUP. An invalid file
    /// prevents the start; later it leaves the last valid list in force.
    #[arg(long, value_name = "FILE", env = "PINAKES_SUPPRESS")]
    pub suppress: Option<PathBuf>,

    /// Timeout of one list, autocomplete or GraphQL request, without the time in which the system gives the
    /// server no processor. The server replies 503 to a request that takes longer.
    #[arg(long, value_name = "SECONDS", default_value = "5", env = "PINAKES_LIST_TIMEOUT",
          value_parser = parse_seconds)]
    pub list_timeout: Duration,

    /// Largest processor time of one list or autocomplete request, without the verification of chunks. The
    /// server replies 503 to a request that takes more. Writing a reply may take more: each further time like
    /// this counts as a request of the client's minute.
    #[arg(long, value_name = "MILLISECONDS", default_value = "1000", env = "PINAKES_LIST_CPU",
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub list_cpu: u64,

    /// Records and autocompletions that read from disk concurrently, of which one client may have about three
    /// quarters. Further ones wait their turn [default: 8 for each core]
    #[arg(long, value_name = "N", env = "PINAKES_DISK_READS",
          value_parser = clap::value_parser!(u16).range(1..=400))]
    disk_reads: Option<u16>,

    /// Memory of the server, as `256M` or `1G`, besides the mapped files. A quarter holds replies that clients
    /// have not taken yet, and a quarter the rows of recent filters, for their next pages.
    #[arg(long = "memory", value_name = "SIZE", default_value = "256M", env = "PINAKES_MEMORY",
          value_parser = parse_memory)]
    pub memory_bytes: usize,

    /// Format of the log on standard error. The log has one line for each request;
    /// PINAKES_LOG=info,access=off omits these lines.
    #[arg(long, value_enum, default_value = "text", env = "PINAKES_LOG_FORMAT")]
    pub log_format: LogFormat,

    /// Log lines per second of refused requests (status 400 and above) and of requests that no limit counts.
    /// Further lines are left out and counted; the log says every minute how many.
    #[arg(long, value_name = "N", default_value = "20", env = "PINAKES_REFUSED_LINES")]
    pub refused_lines: u32,

    /// Licence of the data that `/` and `/health` state: an SPDX identifier or a few words. OpenAlex, ROR and
    /// ORCID publish under CC0; compiled journal tables may have another licence.
    /// [default: the licence in the publication the snapshot was pulled by, else CC0-1.0]
    #[arg(long, value_name = "TEXT", env = "PINAKES_DATA_LICENCE",
          value_parser = NonEmptyStringValueParser::new())]
    pub data_licence: Option<String>,

    /// Name of the collection, which the first page for people states.
    #[arg(long, value_name = "TEXT", env = "PINAKES_COLLECTION_NAME",
          value_parser = NonEmptyStringValueParser::new())]
    pub collection_name: Option<String>,

    /// A sentence about the records of the collection, which the first page for people shows.
    #[arg(long, value_name = "TEXT", env = "PINAKES_COLLECTION_ABOUT",
          value_parser = NonEmptyStringValueParser::new())]
    pub collection_about: Option<String>,

    /// Address of mail or URL for questions about the collection, which the first page for people shows.
    #[arg(long, value_name = "ADDRESS", env = "PINAKES_COLLECTION_CONTACT",
          value_parser = NonEmptyStringValueParser::new())]
    pub collection_contact: Option<String>,

    /// Path below which a proxy serves this server, as `/pinakes`. The proxy removes it from requests; links of
    /// pages and redirects begin with it.
    #[arg(long, value_name = "PATH", env = "PINAKES_BASE_PATH",
          value_parser = parse_base_path)]
    pub base_path: Option<String>,

    /// Disable the documentation page at /docs. /openapi.json stays.
    #[arg(long, env = "PINAKES_NO_DOCS", value_parser = FalseyValueParser::new())]
    pub no_docs: bool,

    /// Disable the pages for people at /browse. `/` then answers browsers with JSON, as it answers others.
    #[arg(long, env = "PINAKES_NO_BROWSE", value_parser = FalseyValueParser::new())]
    pub no_browse: bool,

    /// Disable the Model Context Protocol at /mcp.
    #[arg(long, env = "PINAKES_NO_MCP", value_parser = FalseyValueParser::new())]
    pub no_mcp: bool,

    /// Disable OpenAlex's dialect at /openalex.
    #[arg(long, env = "PINAKES_NO_OPENALEX", value_parser = FalseyValueParser::new())]
    pub no_openalex: bool,

    /// Mirrors that send what is not here.
    #[command(flatten)]
    pub upstream: UpstreamOptions,

    /// Rate limits.
    #[command(flatten)]
    pub limits: LimitOptions,

    /// Connections and TLS.
    #[command(flatten)]
    pub connections: ConnectionOptions,

    /// GraphQL.
    #[command(flatten)]
    pub graphql: GraphqlOptions,
}

/// Mirrors that send what is not here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mirror")]
pub struct UpstreamOptions {
    /// Published tree, as `https://…`, `http://…` or `s3://BUCKET/PREFIX`, from which the server fetches what requests
    /// touch and --snapshots lacks, and what is damaged there. The directory may be empty. May be repeated: the fastest
    /// is asked first.
    #[arg(long, value_name = "URL", env = "PINAKES_FROM", value_delimiter = ',', requires = "snapshots",
          conflicts_with_all = ["pin", "verify"])]
    from: Vec<String>,

    /// Public key file (minisign) of the publisher. May be repeated; one of the keys must have signed. Without a key,
    /// the publisher is unknown.
    #[arg(long, value_name = "FILE", env = "PINAKES_PUBKEY", value_delimiter = ',')]
    pubkey: Vec<PathBuf>,

    /// Fetch the rest too, while no request fetches, until the snapshot is as one that `pull` made.
    #[arg(long, env = "PINAKES_FILL", value_parser = FalseyValueParser::new(), requires = "from")]
    fill: bool,

    /// Most disk space of what was fetched, as `20G`: what was not used for longest is removed. At least 1M. Requests may
    /// fetch 4 MiB beyond it; the hash tree, 1/128 of the snapshot, is not removed.
    #[arg(long, value_name = "SIZE", env = "PINAKES_CACHE", requires = "from", conflicts_with = "fill",
          value_parser = parse_cache)]
    cache: Option<usize>,

    /// How long a request waits for a mirror. A longer one gets 503, and what it asked for is fetched for the next.
    #[arg(long, value_name = "SECONDS", default_value = "10", env = "PINAKES_FETCH_TIMEOUT",
          value_parser = parse_seconds)]
    fetch_timeout: Duration,

    /// How often the server looks for a newer publication.
    #[arg(long, value_name = "SECONDS", default_value = "300", env = "PINAKES_FROM_INTERVAL",
          value_parser = parse_seconds)]
    from_interval: Duration,

    /// PEM file with the root certificates of the mirrors.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_CA")]
    tls_ca: Option<PathBuf>,
}

impl UpstreamOptions {
    /// Opens the mirrors, and makes their snapshot current in `snapshots`; `None` without mirrors.
    ///
    /// # Errors
    ///
    /// An option is invalid, or the mirrors cannot be used and nothing is here.
    pub fn open(&self, snapshots: &Path) -> Result<Option<Upstream>, StoreError> {
        if self.from.is_empty() {
            return Ok(None);
        }
        let keys = self.pubkey.iter().map(|path| read_public(path));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        // A request asks another host rather than the same again, and each has a part of the time.
        let timeout = self.fetch_timeout / self.from.len() as u32;
        let policy = RetryPolicy { timeout, attempts_max: 1, ..RetryPolicy::default() };
        let hosts =
            self.from.iter().map(|url| Host::new(url, AGENT, policy, self.tls_ca.as_deref()));
        let hosts = Hosts::new(hosts.collect::<Result<_, _>>()?);
        if keys.is_empty() {
            tracing::warn!(
                "without --pubkey the publisher is unknown: what is fetched matches the hashes that the mirror lists, and \
                 nothing proves who wrote that list"
            );
        }
        let cache_bytes = self.cache.map(|bytes| bytes as u64);
        let transfers = Transfers::new(hosts, self.fetch_timeout, Room::new(cache_bytes));
        let transfers = transfers.map_err(StoreError::write(snapshots))?;
        let upkeep = Upkeep { interval: self.from_interval, fills: self.fill, cache_bytes };
        Upstream::open(snapshots, transfers, keys, upkeep).map(Some)
    }
}

/// Rate limits, and how the server identifies clients.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Disable the rate limits and their headers.
    #[arg(long, env = "PINAKES_NO_LIMITS", value_parser = FalseyValueParser::new())]
    no_limits: bool,

    /// Requests per minute of each client.
    #[arg(long, value_name = "N", default_value = "30", env = "PINAKES_MINUTE_LIMIT",
          value_parser = clap::value_parser!(u32).range(1..))]
    minute_limit: u32,

    /// Requests per minute of each client that count towards no other limit: `/`, `/health`, `/ready`,
    /// documentation and schemas.
    #[arg(long, value_name = "N", default_value = "1200", env = "PINAKES_FREE_LIMIT",
          value_parser = clap::value_parser!(u32).range(1..))]
    free_limit: u32,

    /// List pages per day of each client.
    #[arg(long, value_name = "N", default_value = "500", env = "PINAKES_DAILY_LIST")]
    daily_list: u32,

    /// Autocomplete requests per day of each client.
    #[arg(long, value_name = "N", default_value = "50", env = "PINAKES_DAILY_SEARCH")]
    daily_search: u32,

    /// Pages for people per minute of each client, which count towards no other minute.
    #[arg(long, value_name = "N", default_value = "60", env = "PINAKES_BROWSE_MINUTE",
          value_parser = clap::value_parser!(u32).range(1..))]
    browse_minute: u32,

    /// Pages for people per day of each client: `/browse` and below. 10 completions of their search box count as one.
    #[arg(long, value_name = "N", default_value = "600", env = "PINAKES_BROWSE_LIMIT")]
    browse_limit: u32,

    /// List pages per day of all clients together.
    #[arg(long, value_name = "N", default_value = "10000", env = "PINAKES_POOL_LIST")]
    pool_list: u64,

    /// Autocomplete requests per day of all clients together.
    #[arg(long, value_name = "N", default_value = "1000", env = "PINAKES_POOL_SEARCH")]
    pool_search: u64,

    /// Pages for people per day of all clients together.
    #[arg(long, value_name = "N", default_value = "12000", env = "PINAKES_POOL_BROWSE")]
    pool_browse: u64,

    /// Largest share of the three pools that the clients of one network take, as `25%` or `0.25`. A network is
    /// an IPv4 /24 or an IPv6 /48.
    #[arg(long, value_name = "SHARE", default_value = "25%", env = "PINAKES_POOL_SHARE",
          value_parser = parse_share)]
    pool_share: f64,

    /// Clients counted exactly: 8 to 16 bytes each, and 48 for each that was seen. A new client beyond replaces the least
    /// recently seen.
    #[arg(long, value_name = "N", default_value = "1000000", env = "PINAKES_CLIENTS_MAX",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    clients_max: u32,

    /// File that keeps the counts while the server is down: read at the start, written every minute and at
    /// the end. The file contains client addresses, so its mode is 0600.
    #[arg(long, value_name = "FILE", env = "PINAKES_LIMITS_FILE")]
    limits_file: Option<PathBuf>,

    /// Store of the counts, for servers that share their limits: redis://, rediss:// or unix:, with user, password
    /// and database as usual. Redis 7 or later, or Valkey. While the store is away, each server counts alone, and
    /// each limit is divided by --fleet-size. The store then holds client addresses until their day ends.
    #[arg(long, value_name = "URL", env = "PINAKES_COUNTERS", hide_env_values = true,
          conflicts_with = "limits_file", value_parser = parse_store)]
    counters: Option<redis::Client>,

    /// Servers that share the limits by --counters.
    #[arg(long, value_name = "N", default_value = "2", env = "PINAKES_FLEET_SIZE",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    fleet_size: u32,

    /// How long a request waits for the store of the counts. A later answer lets the server decide alone.
    #[arg(long, value_name = "MILLISECONDS", default_value = "5", env = "PINAKES_COUNTERS_TIMEOUT",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    counters_timeout: u64,

    /// Address or network of proxies whose forwarding header the server trusts. May be repeated.
    #[arg(long, value_name = "CIDR", env = "PINAKES_TRUSTED_PROXY", value_delimiter = ',',
          value_parser = parse_network)]
    trusted_proxy: Vec<IpNet>,

    /// Header in which trusted proxies name their clients.
    #[arg(long, value_enum, default_value = "x-forwarded-for", env = "PINAKES_FORWARDED_BY")]
    forwarded_by: ForwardingHeader,

    /// Address or network of clients without limits, such as a health check. May be repeated.
    #[arg(long, value_name = "CIDR", env = "PINAKES_EXEMPT", value_delimiter = ',',
          value_parser = parse_network)]
    exempt: Vec<IpNet>,
}

/// Connections, timeouts and TLS.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionOptions {
    /// Certificate chain in PEM. The server then speaks only HTTPS, with HTTP/1.1 and HTTP/2, and reloads
    /// certificate and key on SIGHUP.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// How long browsers that got a reply over the server's own TLS use no plain HTTP for its host name, as
    /// `Strict-Transport-Security` says. 0 ends this at the next reply.
    #[arg(long, value_name = "SECONDS", default_value = "31536000", env = "PINAKES_HSTS")]
    hsts: u32,

    /// Require every connection to come from a trusted proxy and to start with a PROXY header, version 1 or
    /// 2.
    #[arg(long, env = "PINAKES_PROXY_PROTOCOL", value_parser = FalseyValueParser::new(),
          requires = "trusted_proxy")]
    proxy_protocol: bool,

    /// Most open connections. A lower limit of open files lowers this number.
    #[arg(long, value_name = "N", default_value = "8192", env = "PINAKES_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,

    /// Most open connections of each client, by IPv4 address or IPv6 /64. Does not apply to trusted proxies
    /// and exempt clients.
    #[arg(long, value_name = "N", default_value = "64", env = "PINAKES_CLIENT_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..))]
    client_connections: u32,

    /// TLS handshakes per second, of which one network (IPv4 /24 or IPv6 /48) may do a quarter. Further ones
    /// wait their turn.
    #[arg(long, value_name = "N", default_value = "200", env = "PINAKES_HANDSHAKES",
          value_parser = clap::value_parser!(u32).range(1..))]
    handshakes: u32,

    /// HTTP/2 frames per second of each connection, besides requests and bodies. A client may send those of ten
    /// seconds at once, and one more for each KiB it receives. The server closes the connection beyond.
    #[arg(long, value_name = "N", default_value = "100", env = "PINAKES_CONTROL_FRAMES",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    control_frames: u32,

    /// How long a client may take to send the head of a request, from the last reply on.
    #[arg(long, value_name = "SECONDS", default_value = "8", env = "PINAKES_HEAD_TIMEOUT",
          value_parser = parse_seconds)]
    head_timeout: Duration,

    /// How long a client may take to read 16 KiB of a reply.
    #[arg(long, value_name = "SECONDS", default_value = "10", env = "PINAKES_WRITE_TIMEOUT",
          value_parser = parse_seconds)]
    write_timeout: Duration,

    /// How long a client may take to read a whole reply, or a piece of 256 KiB of a stream of a whole list.
    #[arg(long, value_name = "SECONDS", default_value = "600", env = "PINAKES_REPLY_TIMEOUT",
          value_parser = parse_seconds)]
    reply_timeout: Duration,

    /// How long an HTTP/2 connection may stay open without a request.
    #[arg(long, value_name = "SECONDS", default_value = "12", env = "PINAKES_IDLE_TIMEOUT",
          value_parser = parse_seconds)]
    idle_timeout: Duration,
}

impl ConnectionOptions {
    /// Makes the listen options; fails if the certificate cannot be read.
    fn listen_options(
        &self,
        address: SocketAddr,
        admin: Option<SocketAddr>,
        admin_hosts: AdminHosts,
    ) -> Result<ListenOptions, TlsError> {
        let certificate = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Arc::new(Certificate::open(certificate, key)?)),
            _ => None,
        };
        let (head, write, idle) = (self.head_timeout, self.write_timeout, self.idle_timeout);
        Ok(ListenOptions {
            address,
            openalex: None,
            admin,
            admin_hosts,
            connections: self.connections,
            client_connections: self.client_connections,
            settings: ConnectionSettings {
                timeouts: Timeouts { head, write, idle },
                preface: if self.proxy_protocol { Preface::Proxy } else { Preface::None },
                control_frames: self.control_frames,
            },
            handshakes: self.handshakes,
            hsts_seconds: self.hsts,
            certificate,
        })
    }
}

impl LimitOptions {
    /// Makes the gate; loads the counts file.
    pub fn gate(&self) -> Gate {
        let clients = ClientResolver {
            trusted: self.trusted_proxy.clone(),
            header: self.forwarded_by,
            exempt: self.exempt.clone(),
        };
        let pool = [self.pool_list, self.pool_search, self.pool_browse];
        // At least one request, whatever the share.
        let of_network = |pool: u64| ((pool as f64 * self.pool_share) as u64).max(1);
        let limits = Limits {
            minute: self.minute_limit,
            pages: self.browse_minute,
            free: self.free_limit,
            daily: [self.daily_list, self.daily_search, self.browse_limit],
            pool,
            network_pool: pool.map(of_network),
            clients_max: self.clients_max,
        }
        .in_units();
        let clock = Box::new(SystemClock::new());
        if let Some(store) = self.counters.as_ref().filter(|_| !self.no_limits) {
            let timeout = Duration::from_millis(self.counters_timeout);
            let (store, servers) = (store.clone(), self.fleet_size);
            let limiter = RateLimiter::of_fleet(limits, clock, store, servers, timeout);
            return Gate::new(clients, Some(limiter), None);
        }
        let limiter = (!self.no_limits).then(|| RateLimiter::new(limits, clock));
        Gate::new(clients, limiter, self.limits_file.clone())
    }
}

/// The share of the memory that holds replies: one of this many.
const REPLY_SHARE: usize = 4;

/// The share of the memory that holds sets of recent filters: one of this many.
const KEPT_SETS_SHARE: usize = 4;

impl Options {
    /// The settings of the service.
    pub fn service_settings(&self) -> ServiceSettings {
        ServiceSettings {
            answers: Settings {
                list_timeout: self.list_timeout,
                list_cpu: Duration::from_millis(self.list_cpu),
                held_bytes_max: held_bytes_max(self.memory_bytes / REPLY_SHARE),
                graphql: self.graphql.settings(),
                has_docs: !self.no_docs,
                has_browse: !self.no_browse,
                has_mcp: !self.no_mcp,
                has_openalex: !self.no_openalex,
                is_https: self.connections.tls_cert.is_some(),
                is_behind_network: self.behind_cdn,
                base_path: self.base_path.as_deref().map(Arc::from),
                collection: Some(Arc::new(Collection {
                    name: self.collection_name.clone(),
                    about: self.collection_about.clone(),
                    contact: self.collection_contact.clone(),
                })),
                data_licence: self.data_licence.as_deref().map(Arc::from),
            },
            disk_reads: self.disk_reads.map_or_else(default_disk_reads, usize::from),
            reply_memory_bytes: self.memory_bytes / REPLY_SHARE,
            reply_timeout: self.connections.reply_timeout,
            refused_lines: self.refused_lines,
        }
    }

    /// Addresses, limits and TLS.
    ///
    /// # Errors
    ///
    /// The certificate or its key cannot be read.
    pub fn listen_options(&self) -> Result<ListenOptions, TlsError> {
        let admin_hosts = AdminHosts(self.admin_host.clone());
        let listen_options =
            self.connections.listen_options(self.listen, self.admin, admin_hosts)?;
        Ok(ListenOptions { openalex: self.openalex_listen, ..listen_options })
    }

    /// How the server loads snapshots.
    pub fn load_mode(&self) -> LoadMode {
        if self.pin { LoadMode::Pinned } else { LoadMode::Mapped }
    }

    /// Memory for the sets of recent filters.
    pub fn kept_sets(&self) -> Arc<KeptSets> {
        KeptSets::new(self.memory_bytes / KEPT_SETS_SHARE)
    }

    /// The snapshot to serve.
    pub fn snapshot_source(&self) -> SnapshotSource {
        match (&self.snapshots, &self.snapshot) {
            (Some(snapshots), _) => SnapshotSource::Current(snapshots.clone()),
            (None, Some(snapshot)) => SnapshotSource::Fixed(snapshot.clone()),
            // clap requires one of the two.
            (None, None) => SnapshotSource::Fixed(PathBuf::new()),
        }
    }
}
