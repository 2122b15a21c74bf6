//! The host of a published tree: asking it for bytes, no more than are expected and for no longer than
//! it is worth waiting for.

use std::{
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use ureq::{
    Agent, BodyReader, Error as Refusal,
    http::{HeaderMap, Response, StatusCode, header},
    tls::{PemItem, RootCerts, TlsConfig, parse_pem},
};

use crate::error::{Error, Result};

/// Redirects that are followed.
const REDIRECTS_MAX: u32 = 5;
/// Bytes of a reply's head that are read.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long the first pause between two tries is; each is twice the one before.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(8);
/// How long a signed address of a bucket is good for.
const SIGNED_FOR: Duration = Duration::from_secs(3_600);

/// How long a host is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// To connect, for the head of a reply, and for each next byte.
    pub timeout: Duration,
    /// Bytes a second below which a body is given up, once the timeout is over.
    pub speed_bytes_min: u64,
    /// How often the same is asked for before the host is given up.
    pub tries: u32,
}

/// A host, and what was taken from it so far.
pub struct Host {
    agent: Agent,
    place: Place,
    patience: Patience,
    ignores_ranges: AtomicBool,
    fetched_bytes: AtomicU64,
    requests: AtomicU64,
}

/// Where the tree is.
enum Place {
    /// Below an address.
    Below(String),
    /// Below a prefix in a bucket, which ends in `/` where it is not empty.
    Bucket { bucket: Box<Bucket>, credentials: Option<Credentials>, prefix: String },
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Part {
    /// A file of so many bytes.
    Whole(u64),
    /// A file of at most so many bytes.
    UpTo(u64),
    /// Bytes of a file that has so many.
    Range(Range<u64>, u64),
}

/// Why a try failed.
#[derive(Debug)]
pub enum Fault {
    /// Another may not.
    Again(String),
    /// The host has no such file.
    Absent,
    /// Others will too.
    Refused(String),
    /// What came is not what was published.
    Wrong(String),
    /// What came could not be kept.
    Kept(Error),
}

/// A reply, before its body is read.
pub struct Answer {
    /// Whether it is the part that was asked for; else it is the whole file.
    pub is_part: bool,
    body: BodyReader<'static>,
    read_bytes: u64,
}

impl Host {
    /// The host of an address: `http://…`, `https://…` or `s3://BUCKET/PREFIX`, trusted by the web's
    /// certificates or by those in a file.
    ///
    /// # Errors
    ///
    /// Where the address is none, or the certificates cannot be read.
    pub fn new(url: &str, patience: Patience, tls_ca: Option<&Path>) -> Result<Host> {
        let place = Place::of(url)?;
        let mut tls = TlsConfig::builder();
        if let Some(path) = tls_ca {
            tls = tls.root_certs(read_roots(path)?);
        }
        let wait = Some(patience.timeout);
        let agent = Agent::config_builder()
            .tls_config(tls.build())
            // An address that says `https` is not led to one that does not.
            .https_only(place.address("").starts_with("https:"))
            .http_status_as_error(false)
            .max_redirects(REDIRECTS_MAX)
            .max_response_header_size(HEAD_BYTES_MAX)
            .max_idle_connections_per_host(usize::from(u8::MAX))
            .max_idle_connections(usize::from(u8::MAX))
            .timeout_resolve(wait)
            .timeout_connect(wait)
            .timeout_recv_response(wait)
            .timeout_per_read(wait)
            .timeout_per_write(wait)
            .user_agent(concat!("pinakes-compiler/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .build()
            .new_agent();
        Ok(Host {
            agent,
            place,
            patience,
            ignores_ranges: AtomicBool::new(false),
            fetched_bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        })
    }

    /// The address of a path as it is shown: never with what signs it.
    pub fn shown(&self, path: &str) -> String {
        match &self.place {
            Place::Below(base) => format!("{base}/{path}"),
            Place::Bucket { bucket, prefix, .. } => {
                format!("s3://{}/{prefix}{path}", bucket.name())
            }
        }
    }

    /// Bytes of bodies that came, and how many requests there were.
    pub fn fetched(&self) -> (u64, u64) {
        (self.fetched_bytes.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    /// Whether it once sent a whole file where a part was asked for.
    pub fn ignores_ranges(&self) -> bool {
        self.ignores_ranges.load(Ordering::Relaxed)
    }

    /// Asks once.
    ///
    /// # Errors
    ///
    /// Where there is no reply, or none with the bytes that are expected.
    pub fn ask(&self, path: &str, part: &Part) -> std::result::Result<Answer, Fault> {
        let (Part::Whole(bytes) | Part::UpTo(bytes)) = *part else {
            return self.ask_part(path, part);
        };
        let answer = self.send(path, None, bytes)?;
        if answer.status() != StatusCode::OK {
            return Err(Fault::Refused(format!("{}, expected 200", answer.status())));
        }
        let declared = length(answer.headers());
        let is_right = match part {
            Part::UpTo(_) => declared.is_none_or(|declared| declared <= bytes),
            _ => declared.is_none_or(|declared| declared == bytes),
        };
        if !is_right {
            let bound = if matches!(part, Part::UpTo(_)) { "at most " } else { "" };
            let declared = declared.unwrap_or_default();
            return Err(Fault::Wrong(format!("{declared} bytes, expected {bound}{bytes}")));
        }
        Ok(Answer::of(answer, false))
    }

    fn ask_part(&self, path: &str, part: &Part) -> std::result::Result<Answer, Fault> {
        let Part::Range(range, size) = part else {
            return Err(Fault::Refused("is asked for whole".into()));
        };
        let bytes = range.end - range.start;
        let answer = self.send(path, Some(range), bytes)?;
        if answer.status() == StatusCode::OK {
            self.ignores_ranges.store(true, Ordering::Relaxed);
            return Ok(Answer::of(answer, false));
        }
        let expected = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        let found = answer.headers().get(header::CONTENT_RANGE);
        let found = found.and_then(|value| value.to_str().ok()).unwrap_or_default();
        if found != expected {
            return Err(Fault::Wrong(format!("sends `{found}`, expected `{expected}`")));
        }
        if let Some(declared) = length(answer.headers()).filter(|declared| *declared != bytes) {
            return Err(Fault::Wrong(format!("sends {declared} bytes, expected {bytes}")));
        }
        Ok(Answer::of(answer, true))
    }

    /// Sends a request; the reply to it where it is 200 or 206.
    fn send(
        &self,
        path: &str,
        range: Option<&Range<u64>>,
        bytes: u64,
    ) -> std::result::Result<Response<ureq::Body>, Fault> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let Patience { timeout, speed_bytes_min, .. } = self.patience;
        let body_time = timeout + Duration::from_secs(bytes / speed_bytes_min.max(1));
        let request = self
            .agent
            .get(self.place.address(path))
            .config()
            .timeout_recv_body(Some(body_time))
            .build()
            .header(header::CACHE_CONTROL, "no-cache");
        let request = match range {
            Some(range) => {
                request.header(header::RANGE, format!("bytes={}-{}", range.start, range.end - 1))
            }
            None => request,
        };
        let answer = request.call().map_err(|error| self.fault(error))?;
        let status = answer.status();
        match status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            StatusCode::NOT_FOUND | StatusCode::GONE => return Err(Fault::Absent),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                return Err(Fault::Again(status.to_string()));
            }
            _ if status.is_server_error() => return Err(Fault::Again(status.to_string())),
            _ => return Err(Fault::Refused(status.to_string())),
        }
        if let Some(coding) = answer.headers().get(header::CONTENT_ENCODING)
            && coding != "identity"
        {
            let coding = coding.to_str().unwrap_or("?");
            let reason = format!("comes coded as `{coding}`; have the host send files as they are");
            return Err(Fault::Refused(reason));
        }
        Ok(answer)
    }

    /// What an error of the transport means.
    fn fault(&self, error: Refusal) -> Fault {
        let Patience { timeout, speed_bytes_min, .. } = self.patience;
        match error {
            Refusal::Timeout(ureq::Timeout::RecvBody) => Fault::Again(format!(
                "slower than {speed_bytes_min} bytes a second (`--min-speed`)"
            )),
            Refusal::Timeout(_) => {
                Fault::Again(format!("no byte in {} s (`--timeout`)", timeout.as_secs()))
            }
            Refusal::TooManyRedirects => {
                Fault::Refused(format!("more than {REDIRECTS_MAX} redirects"))
            }
            // Certificates that are not trusted are not trusted the next time either.
            Refusal::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                Fault::Refused(error.to_string())
            }
            Refusal::Io(_)
            | Refusal::HostNotFound
            | Refusal::ConnectionFailed
            | Refusal::Protocol(_) => Fault::Again(error.to_string()),
            _ => Fault::Refused(error.to_string()),
        }
    }

    /// Tries until it works, or it is clear that it will not.
    ///
    /// # Errors
    ///
    /// The last try's.
    pub fn patiently<T>(
        &self,
        mut attempt: impl FnMut() -> std::result::Result<T, Fault>,
    ) -> std::result::Result<T, Fault> {
        let mut pause = PAUSE_FIRST;
        for _ in 1..self.patience.tries {
            match attempt() {
                Err(Fault::Again(_)) => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
        attempt()
    }

    /// The whole of a file that is there: at most so many bytes.
    ///
    /// # Errors
    ///
    /// As [`Host::ask`].
    pub fn whole(&self, path: &str, part: &Part) -> std::result::Result<Vec<u8>, Fault> {
        self.patiently(|| {
            let mut answer = self.ask(path, part)?;
            let mut text = Vec::new();
            match *part {
                Part::UpTo(bytes) => self.read_up_to(&mut answer, bytes, &mut text)?,
                Part::Whole(bytes) => {
                    // Memory only for what has come.
                    self.read_up_to(&mut answer, bytes, &mut text)?;
                    if (text.len() as u64) < bytes {
                        return Err(Fault::Again(cut(text.len() as u64)));
                    }
                }
                Part::Range(..) => return Err(Fault::Refused("is asked for whole".into())),
            }
            Ok(text)
        })
    }

    fn read_up_to(
        &self,
        answer: &mut Answer,
        bytes: u64,
        text: &mut Vec<u8>,
    ) -> std::result::Result<(), Fault> {
        let read = answer.body.by_ref().take(bytes + 1).read_to_end(text);
        self.fetched_bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
        read.map_err(|error| self.fault(error.into()))?;
        if text.len() as u64 > bytes { Err(Fault::Wrong(goes_on(bytes))) } else { Ok(()) }
    }

    /// Reads the next bytes of a reply, all that there is room for.
    ///
    /// # Errors
    ///
    /// Where fewer come.
    pub fn read(&self, answer: &mut Answer, room: &mut [u8]) -> std::result::Result<(), Fault> {
        let mut filled = 0;
        while filled < room.len() {
            match answer.body.read(&mut room[filled..]) {
                Ok(0) => return Err(Fault::Again(cut(answer.read_bytes))),
                Ok(count) => {
                    filled += count;
                    answer.read_bytes += count as u64;
                    self.fetched_bytes.fetch_add(count as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.fault(error.into())),
            }
        }
        Ok(())
    }

    /// Demands that a reply is at its end; its connection may then be used again.
    ///
    /// # Errors
    ///
    /// Where it goes on.
    pub fn end(&self, mut answer: Answer) -> std::result::Result<(), Fault> {
        match answer.body.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Fault::Wrong(goes_on(answer.read_bytes))),
            Err(error) => Err(self.fault(error.into())),
        }
    }

    /// What failed for good, as what stopped the run.
    pub fn error(&self, path: &str, fault: Fault) -> Error {
        let url = self.shown(path);
        match fault {
            Fault::Again(reason) => {
                let tries = self.patience.tries;
                Error::Fetch { url, reason: format!("{reason}, {tries} times; run again to go on") }
            }
            Fault::Absent => {
                let reason = "is not there; check the address, and run again if something was \
                              published meanwhile";
                Error::Fetch { url, reason: reason.into() }
            }
            Fault::Refused(reason) => Error::Fetch { url, reason },
            Fault::Wrong(reason) => Error::Damaged { path: PathBuf::from(url), reason },
            Fault::Kept(error) => error,
        }
    }
}

impl Answer {
    fn of(answer: Response<ureq::Body>, is_part: bool) -> Answer {
        Answer { is_part, body: answer.into_body().into_reader(), read_bytes: 0 }
    }
}

fn cut(bytes: u64) -> String {
    format!("the reply ends after {bytes} bytes")
}

fn goes_on(bytes: u64) -> String {
    format!("goes on after the {bytes} bytes that are expected")
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

impl Place {
    fn of(url: &str) -> Result<Place> {
        let refused = |reason: &str| Error::Usage(format!("the address `{url}` {reason}"));
        if url.contains(|c: char| c.is_whitespace() || c.is_control() || "?#\\".contains(c)) {
            return Err(refused("holds what the address of a directory has none of"));
        }
        let url = url.trim_end_matches('/');
        if let Some(rest) = url.strip_prefix("s3://") {
            let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            return Place::bucket(name, prefix).map_err(|reason| refused(&reason));
        }
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        let authority = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        match authority {
            "" => Err(refused("is none of a mirror; expected `http://…`, `https://…` or `s3://…`")),
            _ if authority.contains('@') => {
                Err(refused("holds a user name, which would stand in logs; ask without one"))
            }
            _ => Ok(Place::Below(url.to_owned())),
        }
    }

    /// A bucket, by the environment variables that other clients of buckets go by.
    fn bucket(name: &str, prefix: &str) -> std::result::Result<Place, String> {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let region = given("AWS_REGION").or_else(|| given("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = given("AWS_ENDPOINT_URL_S3").or_else(|| given("AWS_ENDPOINT_URL"));
        let (endpoint, style) = match endpoint {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            // A dot in its name fits no certificate of a host named by it.
            None if name.contains('.') => {
                (format!("https://s3.{region}.amazonaws.com"), UrlStyle::Path)
            }
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let url = endpoint.parse().map_err(|error| format!("asks `{endpoint}`: {error}"))?;
        let bucket = Bucket::new(url, style, name.to_owned(), region)
            .map_err(|error| format!("is none of a bucket: {error}"))?;
        if prefix.split('/').any(|part| matches!(part, "." | "..")) {
            return Err("leads out of itself".into());
        }
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Ok(Place::Bucket { bucket: Box::new(bucket), credentials: Credentials::from_env(), prefix })
    }

    /// The address to ask.
    fn address(&self, path: &str) -> String {
        match self {
            Place::Below(base) => format!("{base}/{path}"),
            Place::Bucket { bucket, credentials, prefix } => {
                let key = format!("{prefix}{path}");
                bucket.get_object(credentials.as_ref(), &key).sign(SIGNED_FOR).into()
            }
        }
    }
}

fn read_roots(path: &Path) -> Result<RootCerts> {
    let text = std::fs::read(path).map_err(Error::input(path))?;
    let mut roots = Vec::new();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => roots.push(certificate),
            Ok(_) => {}
            Err(error) => {
                return Err(Error::Input { path: path.into(), reason: error.to_string() });
            }
        }
    }
    if roots.is_empty() {
        let reason = "holds no certificate; expected PEM".into();
        return Err(Error::Input { path: path.into(), reason });
    }
    Ok(RootCerts::new_with_certs(&roots))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_none_of_a_mirror_are_refused() {
        let check = |url: &str, expected: &str| {
            let error = Place::of(url).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{url}");
            assert_eq!(error.to_string(), format!("the address `{url}` {expected}"));
        };
        let none = "is none of a mirror; expected `http://…`, `https://…` or `s3://…`";
        for url in
            ["", "mirror", "ftp://a/b", "/srv/mirror", "file:///srv", "http://", "https:///a"]
        {
            check(url, none);
        }
        let more = "holds what the address of a directory has none of";
        for url in
            ["http://a/b?c=d", "http://a/#b", "http://a /b", "http://a\r\nX: y", "http://a\\b"]
        {
            check(url, more);
        }
        check(
            "https://user:word@a/b",
            "holds a user name, which would stand in logs; ask without one",
        );
        check("s3://bucket/../other", "leads out of itself");
    }

    #[test]
    fn paths_are_asked_for_below_the_address() {
        let address = |url: &str| Place::of(url).unwrap().address("publication.json");
        assert_eq!(address("http://a/b//"), "http://a/b/publication.json");
        assert_eq!(address("https://a:8443"), "https://a:8443/publication.json");
    }
}
