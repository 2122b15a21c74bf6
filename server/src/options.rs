//! The command line.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum, builder::FalseyValueParser};

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

    /// Read every byte and every record of the snapshot before serving it. Takes a while on a large
    /// one; without it each part is checked when it is first touched.
    #[arg(long, env = "PINAKES_VERIFY", value_parser = FalseyValueParser::new())]
    pub verify: bool,

    /// How long finding a page of a list, or candidates of autocomplete, may take; what takes longer is
    /// answered 503.
    #[arg(long, value_name = "SECONDS", default_value = "5", env = "PINAKES_LIST_TIMEOUT",
          value_parser = parse_seconds)]
    pub list_timeout: Duration,

    /// How the log is written, to standard error.
    #[arg(long, value_enum, default_value = "text", env = "PINAKES_LOG_FORMAT")]
    pub log_format: LogFormat,
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

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line an event, for people.
    Text,
    /// A JSON object an event, for programs.
    Json,
}

/// Where the snapshot to serve is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Wherever `current` in this directory leads.
    Current(PathBuf),
    /// Here.
    Fixed(PathBuf),
}

impl Options {
    /// Where the snapshot to serve is.
    pub fn place(&self) -> Place {
        match (&self.snapshots, &self.snapshot) {
            (Some(snapshots), _) => Place::Current(snapshots.clone()),
            (None, Some(snapshot)) => Place::Fixed(snapshot.clone()),
            // The group above demands one of the two.
            (None, None) => Place::Fixed(PathBuf::new()),
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
        let check = |args: &[&str], expected: Option<Place>| {
            assert_eq!(place(args), expected, "{args:?}");
        };
        check(&["--snapshots", "a"], Some(Place::Current("a".into())));
        check(&["--snapshot", "a"], Some(Place::Fixed("a".into())));
        check(&["--snapshot", "a", "--listen", "[::1]:0"], Some(Place::Fixed("a".into())));
        check(&["--snapshot", "a", "--snapshots", "b"], None);
        check(&["--snapshot", "a", "--listen", "8080"], None);
        check(&["--snapshot", "a", "--log-format", "xml"], None);
    }
}
