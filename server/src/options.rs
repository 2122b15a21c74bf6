//! The command line.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use clap::{
    Args, Parser,
    builder::{FalseyValueParser, NonEmptyStringValueParser},
};
use ipnet::IpNet;
use pinakes_format::storage::mmap::LoadMode;

use crate::admission::gate::Gate;
use crate::admission::limits::{CLIENTS_MAX, Counters, Limits, System};
use crate::graphql::options::GraphqlOptions;
use crate::http::client_address::{Clients, ForwardedBy};
use crate::net::connection::{Preface, Timeouts};
use crate::net::tls::{Certificate, TlsError};
use crate::ops::log::LogFormat;
use crate::run::Listening;
use crate::service::dispatch::Bounds;
use crate::snapshots::library::SnapshotSource;

/// Answers the interface from a snapshot that `pinakes-compiler` published.
#[derive(Debug, Parser)]
#[command(version, group = clap::ArgGroup::new("place").required(true))]
pub struct Options {
    /// The directory snapshots are published in; the one that `current` leads to is served.
    #[arg(long, value_name = "DIR", env = "PINAKES_SNAPSHOTS", group = "place")]
    snapshots: Option<PathBuf>,

    /// One snapshot's directory, served for as long as the server runs.
    #[arg(long, value_name = "DIR", env = "PINAKES_SNAPSHOT", group = "place")]
    snapshot: Option<PathBuf>,

    /// Address and port to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "PINAKES_LISTEN")]
    pub listen: SocketAddr,

    /// Address and port for whoever runs the server: /metrics for Prometheus, /health and /ready, over
    /// plain HTTP. Let nobody else reach it. Port 0 picks a free one.
    #[arg(long, value_name = "ADDR", env = "PINAKES_ADMIN")]
    pub admin: Option<SocketAddr>,

    /// Read every byte and every record of the snapshot before serving it. Takes a while on a large
    /// one; without it each part is checked when it is first touched.
    #[arg(long, env = "PINAKES_VERIFY", value_parser = FalseyValueParser::new())]
    pub verify: bool,

    /// Copy the snapshot into memory and lock it there, as far as the system lets it (`ulimit -l`).
    /// Whatever becomes of its files, disk or pages then changes nothing. Takes memory of the snapshot's
    /// size, and of two while one follows another.
    #[arg(long, env = "PINAKES_PIN", value_parser = FalseyValueParser::new())]
    pub pin: bool,

    /// Records to be withheld, an id a line: they are answered 404 and stand in no list, count or
    /// suggestion. Read again when the file changes and on SIGHUP; a list that is not understood is refused
    /// at the start, and later changes nothing.
    #[arg(long, value_name = "FILE", env = "PINAKES_SUPPRESS")]
    pub suppress: Option<PathBuf>,

    /// How long finding a page of a list, candidates of autocomplete, or an answer of GraphQL may take;
    /// what takes longer is answered 503.
    #[arg(long, value_name = "SECONDS", default_value = "5", env = "PINAKES_LIST_TIMEOUT",
          value_parser = parse_seconds)]
    pub list_timeout: Duration,

    /// How the log is written, to standard error. One line for each request is in it;
    /// PINAKES_LOG=info,access=off leaves those out.
    #[arg(long, value_enum, default_value = "text", env = "PINAKES_LOG_FORMAT")]
    pub log_format: LogFormat,

    /// What the data may be used under, as `/` and `/health` tell it; an SPDX identifier, or a few words.
    /// OpenAlex, ROR and ORCID publish under CC0; tables of journals that were compiled in may not.
    /// [default: what the publication says that it was pulled by, else CC0-1.0]
    #[arg(long, value_name = "TEXT", env = "PINAKES_DATA_LICENCE",
          value_parser = NonEmptyStringValueParser::new())]
    pub data_licence: Option<String>,

    /// No page of documentation at /docs; /openapi.json is there all the same.
    #[arg(long, env = "PINAKES_NO_DOCS", value_parser = FalseyValueParser::new())]
    pub no_docs: bool,

    /// How many requests are let through.
    #[command(flatten)]
    pub limits: LimitOptions,

    /// How connections are treated.
    #[command(flatten)]
    pub connections: ConnectionOptions,

    /// What GraphQL may be asked.
    #[command(flatten)]
    pub graphql: GraphqlOptions,
}

/// How much a client may ask.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// No limits: nothing is counted, replies have no headers of limits.
    #[arg(long, env = "PINAKES_NO_LIMITS", value_parser = FalseyValueParser::new())]
    no_limits: bool,

    /// Requests a minute for each client.
    #[arg(long, value_name = "N", default_value = "30", env = "PINAKES_MINUTE_LIMIT",
          value_parser = clap::value_parser!(u32).range(1..))]
    minute_limit: u32,

    /// Pages of lists a day for each client.
    #[arg(long, value_name = "N", default_value = "500", env = "PINAKES_DAILY_LIST")]
    daily_list: u32,

    /// Requests of autocomplete a day for each client.
    #[arg(long, value_name = "N", default_value = "50", env = "PINAKES_DAILY_SEARCH")]
    daily_search: u32,

    /// Pages of lists a day for all clients together.
    #[arg(long, value_name = "N", default_value = "10000", env = "PINAKES_POOL_LIST")]
    pool_list: u64,

    /// Requests of autocomplete a day for all clients together.
    #[arg(long, value_name = "N", default_value = "1000", env = "PINAKES_POOL_SEARCH")]
    pool_search: u64,

    /// Clients that are counted exactly, 50 bytes each; beyond, the one seen longest ago is forgotten.
    #[arg(long, value_name = "N", default_value = "1000000", env = "PINAKES_CLIENTS_MAX",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(CLIENTS_MAX)))]
    clients_max: u32,

    /// Where counts are kept while the server is down: read at the start, written every minute and at
    /// the end. It holds addresses, so its mode is 0600.
    #[arg(long, value_name = "FILE", env = "PINAKES_LIMITS_FILE")]
    limits_file: Option<PathBuf>,

    /// A proxy, or a network of them, whose word on its clients is taken. May be given again.
    #[arg(long, value_name = "CIDR", env = "PINAKES_TRUSTED_PROXY", value_delimiter = ',',
          value_parser = parse_network)]
    trusted_proxy: Vec<IpNet>,

    /// The header trusted proxies name their clients in.
    #[arg(long, value_enum, default_value = "x-forwarded-for", env = "PINAKES_FORWARDED_BY")]
    forwarded_by: ForwardedBy,

    /// Clients that no limit is for, such as a health check of one's own. May be given again.
    #[arg(long, value_name = "CIDR", env = "PINAKES_EXEMPT", value_delimiter = ',',
          value_parser = parse_network)]
    exempt: Vec<IpNet>,
}

/// How connections are treated.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub struct ConnectionOptions {
    /// A certificate and those that vouch for it, PEM; with it, HTTPS alone is spoken, HTTP/1.1 and
    /// HTTP/2. Read again on SIGHUP.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's private key, PEM.
    #[arg(long, value_name = "FILE", env = "PINAKES_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Every connection is a trusted proxy's and begins with a PROXY header, version 1 or 2.
    #[arg(long, env = "PINAKES_PROXY_PROTOCOL", value_parser = FalseyValueParser::new(),
          requires = "trusted_proxy")]
    proxy_protocol: bool,

    /// Connections at a time; fewer where the limit of open files is lower.
    #[arg(long, value_name = "N", default_value = "8192", env = "PINAKES_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,

    /// Connections at a time for each client, by address or IPv6 /64; not for trusted proxies and the
    /// exempt.
    #[arg(long, value_name = "N", default_value = "64", env = "PINAKES_CLIENT_CONNECTIONS",
          value_parser = clap::value_parser!(u32).range(1..))]
    client_connections: u32,

    /// How long a client may take to send the head of a request, counted from the last reply on.
    #[arg(long, value_name = "SECONDS", default_value = "8", env = "PINAKES_HEAD_TIMEOUT",
          value_parser = parse_seconds)]
    head_timeout: Duration,

    /// How long a client may take to read 16 KiB of a reply.
    #[arg(long, value_name = "SECONDS", default_value = "10", env = "PINAKES_WRITE_TIMEOUT",
          value_parser = parse_seconds)]
    write_timeout: Duration,

    /// How long an HTTP/2 connection may be without a request.
    #[arg(long, value_name = "SECONDS", default_value = "12", env = "PINAKES_IDLE_TIMEOUT",
          value_parser = parse_seconds)]
    idle_timeout: Duration,
}

impl ConnectionOptions {
    /// Listening at an address as they say, and at one for metrics.
    ///
    /// # Errors
    ///
    /// Where there is no such certificate.
    fn listening(
        &self,
        address: SocketAddr,
        admin: Option<SocketAddr>,
    ) -> Result<Listening, TlsError> {
        let certificate = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Arc::new(Certificate::open(certificate, key)?)),
            _ => None,
        };
        let (head, write, idle) = (self.head_timeout, self.write_timeout, self.idle_timeout);
        Ok(Listening {
            address,
            admin,
            connections: self.connections,
            client_connections: self.client_connections,
            timeouts: Timeouts { head, write, idle },
            preface: if self.proxy_protocol { Preface::Proxy } else { Preface::None },
            certificate,
        })
    }
}

impl LimitOptions {
    /// The gate they describe.
    pub fn gate(&self) -> Gate {
        let clients = Clients {
            trusted: self.trusted_proxy.clone(),
            by: self.forwarded_by,
            exempt: self.exempt.clone(),
        };
        let limits = Limits {
            minute: self.minute_limit,
            daily: [self.daily_list, self.daily_search],
            pool: [self.pool_list, self.pool_search],
            clients_max: self.clients_max,
        };
        let counters = (!self.no_limits).then(|| Counters::new(limits, Box::new(System::new())));
        Gate::new(clients, counters, self.limits_file.clone())
    }
}

/// A network in CIDR notation, or one address.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network = text.parse::<IpNet>().ok().or_else(address);
    network.ok_or_else(|| "expected a network such as 10.0.0.0/8, or an address".to_owned())
}

/// What a timeout may be: from a microsecond to a day.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=86_400.0;

/// Seconds, whole or not.
fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| SECONDS.contains(seconds));
    let expected =
        || format!("expected a number of seconds from {} to {}", SECONDS.start(), SECONDS.end());
    seconds.map(Duration::from_secs_f64).ok_or_else(expected)
}

impl Options {
    /// How far answers may go.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            list_timeout: self.list_timeout,
            graphql: self.graphql.settings(),
            has_docs: !self.no_docs,
            data_licence: self.data_licence.as_deref().map(Arc::from),
        }
    }

    /// How the server listens.
    ///
    /// # Errors
    ///
    /// Where there is no such certificate.
    pub fn listening(&self) -> Result<Listening, TlsError> {
        self.connections.listening(self.listen, self.admin)
    }

    /// How the bytes of a snapshot are had.
    pub fn hold(&self) -> LoadMode {
        if self.pin { LoadMode::Pinned } else { LoadMode::Mapped }
    }

    /// Where the snapshot to serve is.
    pub fn place(&self) -> SnapshotSource {
        match (&self.snapshots, &self.snapshot) {
            (Some(snapshots), _) => SnapshotSource::Current(snapshots.clone()),
            (None, Some(snapshot)) => SnapshotSource::Fixed(snapshot.clone()),
            // The group above demands one of the two.
            (None, None) => SnapshotSource::Fixed(PathBuf::new()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_options_agree_with_one_another() {
        use clap::CommandFactory;
        Options::command().debug_assert();
    }

    #[test]
    fn a_place_is_named_once() {
        let place = |args: &[&str]| {
            let all = ["pinakes-server"].iter().chain(args);
            Options::try_parse_from(all).ok().map(|options| options.place())
        };
        let check = |args: &[&str], expected: Option<SnapshotSource>| {
            assert_eq!(place(args), expected, "{args:?}");
        };
        check(&["--snapshots", "a"], Some(SnapshotSource::Current("a".into())));
        check(&["--snapshot", "a"], Some(SnapshotSource::Fixed("a".into())));
        check(&["--snapshot", "a", "--listen", "[::1]:0"], Some(SnapshotSource::Fixed("a".into())));
        check(&["--snapshot", "a", "--snapshots", "b"], None);
        check(&["--snapshot", "a", "--listen", "8080"], None);
        check(&["--snapshot", "a", "--log-format", "xml"], None);
    }
}
