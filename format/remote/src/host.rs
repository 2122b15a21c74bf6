//! The HTTP client for the host of a published tree: size limits, timeouts and retries.

use std::{
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use chrono::{DateTime, Utc};
use rusty_s3::{Bucket, Credentials};
use ureq::{
    Agent, BodyReader, Error as TransportError,
    http::{HeaderMap, Response, StatusCode, header},
    tls::TlsConfig,
    unversioned::{resolver::DefaultResolver, transport::DefaultConnector},
};

use crate::address::{Address, read_roots};
use crate::error::{RemoteError, Result};
use crate::escape::escape_text;
use crate::resolver::OriginResolver;

/// Most redirects that a request follows.
const REDIRECTS_MAX: u32 = 5;
/// Largest head of a reply, in bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// First pause between two attempts; each later pause doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// Longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// How long to wait for a host, and how often to try.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Longest wait for a connection, for the head of a reply, and for each next byte.
    pub timeout: Duration,
    /// Lowest average speed of a body in bytes per second, after the timeout.
    pub speed_bytes_min: u64,
    /// Number of attempts.
    pub attempts_max: u32,
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy { timeout: Duration::from_secs(30), speed_bytes_min: 32 << 10, attempts_max: 5 }
    }
}

/// A client for one host, which counts requests and bytes.
pub struct Host {
    pub(crate) agent: Agent,
    address: Address,
    retry_policy: RetryPolicy,
    ignores_ranges: AtomicBool,
    fetched_bytes: AtomicU64,
    pub(crate) requests: AtomicU64,
}

/// The bytes to request of a file.
#[derive(Clone, Debug)]
pub enum Extent {
    /// The whole file, which has exactly this many bytes.
    Whole(u64),
    /// The whole file, which has at most this many bytes.
    UpTo(u64),
    /// A byte range, and the size of the file.
    Range(Range<u64>, u64),
}

/// Why an attempt failed.
#[derive(Debug)]
pub enum Failure {
    /// Another attempt may succeed.
    Temporary(String),
    /// Another attempt may succeed after the pause in `Retry-After`.
    RetryAfter(String, Duration),
    /// The host has no such file.
    NotFound,
    /// The host has another version of the file.
    Changed,
    /// Every attempt will fail.
    Permanent(String),
    /// The bucket is in this region, and another was asked.
    OtherRegion(String),
    /// The received bytes are not the published ones.
    Mismatch(String),
    /// The received bytes could not be written.
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

impl Failure {
    /// Makes a [`Failure::Write`] for `path`.
    pub fn write(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        move |source| Failure::Write { path: path.to_owned(), source }
    }
}

/// A reply whose body is being read.
pub struct Reply {
    /// Whether the body is the requested range; otherwise it is the whole file.
    pub is_range: bool,
    body: BodyReader<'static>,
    read_bytes: u64,
}

impl Host {
    /// Makes a client for `http://…`, `https://…` or `s3://BUCKET/PREFIX`. Requests name the program by `user_agent`,
    /// such as `pinakes-compiler/0.1.0`. The PEM file `tls_ca` replaces the usual root certificates.
    ///
    /// # Errors
    ///
    /// The address is invalid, or the certificates cannot be read.
    pub fn new(
        url: &str,
        user_agent: &str,
        retry_policy: RetryPolicy,
        tls_ca: Option<&Path>,
    ) -> Result<Host> {
        let address = Address::parse(url)?;
        let mut tls = TlsConfig::builder();
        if let Some(path) = tls_ca {
            tls = tls.root_certs(read_roots(path)?);
        }
        // The limit is for each step, so a large file may take longer while its bytes arrive.
        let wait = Some(retry_policy.timeout);
        let agent = Agent::config_builder()
            .tls_config(tls.build())
            // Refuses a redirect from `https` to `http`.
            .https_only(address.request_url("").starts_with("https:"))
            // Callers handle statuses, such as `404` of an absent file.
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
            .user_agent(user_agent)
            // Lengths, ranges and hashes are those of the stored bytes.
            .accept_encoding("identity")
            .build();
        let resolver = OriginResolver::new(DefaultResolver::default());
        let agent = Agent::with_parts(agent, DefaultConnector::default(), resolver);
        Ok(Host {
            agent,
            address,
            retry_policy,
            ignores_ranges: AtomicBool::new(false),
            fetched_bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        })
    }

    /// Returns the address of a path for messages, without the signature.
    pub fn display(&self, path: &str) -> String {
        self.address.display(path)
    }

    /// Returns the number of received body bytes and of requests.
    pub fn fetched(&self) -> (u64, u64) {
        (self.fetched_bytes.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    /// The timeout of [`RetryPolicy`].
    pub fn timeout(&self) -> Duration {
        self.retry_policy.timeout
    }

    /// Whether the host once answered a range request with the whole file.
    pub fn ignores_ranges(&self) -> bool {
        self.ignores_ranges.load(Ordering::Relaxed)
    }

    /// Sends one request and checks the status and declared length of the reply.
    pub fn request(&self, path: &str, extent: &Extent) -> std::result::Result<Reply, Failure> {
        let (Extent::Whole(bytes) | Extent::UpTo(bytes)) = *extent else {
            return self.request_range(path, extent, None);
        };
        let reply = self.send(path, None, None, bytes)?;
        if reply.status() != StatusCode::OK {
            return Err(Failure::Permanent(format!("{}, expected 200", reply.status())));
        }
        let declared = content_length(reply.headers());
        let is_right = match extent {
            Extent::UpTo(_) => declared.is_none_or(|declared| declared <= bytes),
            _ => declared.is_none_or(|declared| declared == bytes),
        };
        if !is_right {
            let bound = if matches!(extent, Extent::UpTo(_)) { "at most " } else { "" };
            let declared = declared.unwrap_or_default();
            return Err(Failure::Mismatch(format!("{declared} bytes, expected {bound}{bytes}")));
        }
        Ok(Reply::new(reply, false))
    }

    /// Requests a range of the version of a file that has this ETag.
    pub fn request_version(
        &self,
        path: &str,
        range: Range<u64>,
        size_bytes: u64,
        etag: &str,
    ) -> std::result::Result<Reply, Failure> {
        self.request_only_range(path, range, size_bytes, Some(etag))
    }

    /// Reads a range of a file into memory, in one attempt. `range` is not empty, and `size_bytes` is the size of
    /// the file. A body that continues after the range is read for one more byte.
    ///
    /// # Errors
    ///
    /// Also a host that sends the whole file. Its body is not read.
    pub fn read_range(
        &self,
        path: &str,
        range: Range<u64>,
        size_bytes: u64,
    ) -> std::result::Result<Vec<u8>, Failure> {
        let bytes = range.end - range.start;
        let reply = self.request_only_range(path, range, size_bytes, None)?;
        self.read_exactly(reply, bytes)
    }

    /// Requests a range, and refuses a reply with the whole file.
    fn request_only_range(
        &self,
        path: &str,
        range: Range<u64>,
        size_bytes: u64,
        etag: Option<&str>,
    ) -> std::result::Result<Reply, Failure> {
        let reply = self.request_range(path, &Extent::Range(range, size_bytes), etag)?;
        match reply.is_range {
            true => Ok(reply),
            false => Err(Failure::Permanent("the host ignores ranges".into())),
        }
    }

    fn request_range(
        &self,
        path: &str,
        extent: &Extent,
        etag: Option<&str>,
    ) -> std::result::Result<Reply, Failure> {
        let Extent::Range(range, size) = extent else {
            return Err(Failure::Permanent("the whole file was requested as a range".into()));
        };
        let bytes = range.end - range.start;
        let reply = self.send(path, Some(range), etag, bytes)?;
        if reply.status() == StatusCode::OK {
            self.ignores_ranges.store(true, Ordering::Relaxed);
            return Ok(Reply::new(reply, false));
        }
        let expected = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        let found = reply.headers().get(header::CONTENT_RANGE);
        let found = found.and_then(|value| value.to_str().ok()).unwrap_or_default();
        if found != expected {
            let found = escape_text(found);
            return Err(Failure::Mismatch(format!("sends `{found}`, expected `{expected}`")));
        }
        let declared = content_length(reply.headers()).filter(|declared| *declared != bytes);
        if let Some(declared) = declared {
            return Err(Failure::Mismatch(format!("sends {declared} bytes, expected {bytes}")));
        }
        Ok(Reply::new(reply, true))
    }

    /// Sends a GET request and returns a reply with status 200 or 206.
    fn send(
        &self,
        path: &str,
        range: Option<&Range<u64>>,
        etag: Option<&str>,
        bytes: u64,
    ) -> std::result::Result<Response<ureq::Body>, Failure> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let RetryPolicy { timeout, speed_bytes_min, .. } = self.retry_policy;
        let body_time = timeout + Duration::from_secs(bytes / speed_bytes_min.max(1));
        let request = self
            .agent
            .get(self.address.request_url(path))
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
        let request = match etag {
            Some(etag) => request.header(header::IF_MATCH, etag),
            None => request,
        };
        let reply = request.call().map_err(|error| self.transport_failure(error))?;
        let status = reply.status();
        match status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => {}
            StatusCode::NOT_FOUND | StatusCode::GONE => return Err(Failure::NotFound),
            StatusCode::PRECONDITION_FAILED if etag.is_some() => return Err(Failure::Changed),
            _ => {
                let temporary = temporary_failure(status, reply.headers());
                return Err(temporary.unwrap_or_else(|| Failure::Permanent(status.to_string())));
            }
        }
        // A store may know no conditions.
        let found = reply.headers().get(header::ETAG).and_then(|found| found.to_str().ok());
        if let (Some(asked), Some(found)) = (etag, found)
            && bare_etag(asked) != bare_etag(found)
        {
            return Err(Failure::Changed);
        }
        if let Some(coding) = reply.headers().get(header::CONTENT_ENCODING)
            && coding != "identity"
        {
            let coding = escape_text(coding.to_str().unwrap_or("?"));
            let reason = format!(
                "sends content coding `{coding}`; configure the host to send files as stored"
            );
            return Err(Failure::Permanent(reason));
        }
        Ok(reply)
    }

    /// The bucket of the address, and its credentials.
    ///
    /// # Panics
    ///
    /// Where the address is not a bucket's.
    pub fn bucket(&self) -> (&Bucket, Option<&Credentials>) {
        match &self.address {
            Address::Bucket { bucket, credentials, .. } => (bucket, credentials.as_ref()),
            Address::Http(url) => unreachable!("{url} is no bucket"),
        }
    }

    /// The number of attempts of [`RetryPolicy`].
    pub fn attempts_max(&self) -> u32 {
        self.retry_policy.attempts_max
    }

    /// Classifies a transport error.
    pub(crate) fn transport_failure(&self, error: TransportError) -> Failure {
        let RetryPolicy { timeout, speed_bytes_min, .. } = self.retry_policy;
        match error {
            TransportError::Timeout(ureq::Timeout::RecvBody) => Failure::Temporary(format!(
                "slower than {speed_bytes_min} bytes a second (`--min-speed`)"
            )),
            TransportError::Timeout(_) => {
                Failure::Temporary(format!("no byte in {} s (`--timeout`)", timeout.as_secs()))
            }
            TransportError::TooManyRedirects => {
                Failure::Permanent(format!("more than {REDIRECTS_MAX} redirects"))
            }
            // Amazon redirects nowhere where a bucket is in another region.
            TransportError::Protocol(ref protocol) => {
                let region = self.other_region().map(Failure::OtherRegion);
                region.unwrap_or_else(|| Failure::Temporary(escape_text(&protocol.to_string())))
            }
            // An untrusted certificate stays untrusted, and a local address local.
            TransportError::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
                let mut reason = escape_text(&error.to_string());
                if reason.contains("UnknownIssuer") {
                    reason.push_str("; give the certificate of its issuer with `--tls-ca`");
                }
                Failure::Permanent(reason)
            }
            TransportError::Io(_)
            | TransportError::HostNotFound
            | TransportError::ConnectionFailed => {
                Failure::Temporary(escape_text(&error.to_string()))
            }
            _ => Failure::Permanent(escape_text(&error.to_string())),
        }
    }

    /// The region that the store states for the bucket of the address, if it is another than the address has.
    fn other_region(&self) -> Option<String> {
        let Address::Bucket { bucket, .. } = &self.address else { return None };
        let asked = self.agent.get(bucket.base_url().as_str()).config();
        let asked = asked.max_redirects(0).max_redirects_will_error(false).build();
        let reply = asked.call().ok()?;
        let region = reply.headers().get("x-amz-bucket-region")?.to_str().ok()?;
        (region != bucket.region()).then(|| escape_text(region))
    }

    /// Repeats `attempt` after a temporary failure, with doubling pauses, at most `attempts_max` times.
    ///
    /// # Errors
    ///
    /// The failure of the last attempt.
    pub fn retry<T>(
        &self,
        mut attempt: impl FnMut() -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, Failure> {
        let mut pause = PAUSE_FIRST;
        for _ in 1..self.retry_policy.attempts_max {
            match attempt() {
                Err(failure @ (Failure::Temporary(_) | Failure::RetryAfter(..))) => {
                    let requested = match failure {
                        Failure::RetryAfter(_, pause) => pause.min(self.retry_policy.timeout),
                        _ => Duration::ZERO,
                    };
                    thread::sleep(pause.max(requested));
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                outcome => return outcome,
            }
        }
        attempt()
    }

    /// Reads a whole file into memory, with retries. `extent` bounds its size.
    pub fn read_file(&self, path: &str, extent: &Extent) -> std::result::Result<Vec<u8>, Failure> {
        self.retry(|| {
            let reply = self.request(path, extent)?;
            match *extent {
                Extent::UpTo(bytes) => self.read_up_to(reply, bytes),
                Extent::Whole(bytes) => self.read_exactly(reply, bytes),
                Extent::Range(..) => {
                    Err(Failure::Permanent("a whole file was requested as a range".into()))
                }
            }
        })
    }

    /// Reads a body of exactly `bytes` bytes.
    fn read_exactly(&self, reply: Reply, bytes: u64) -> std::result::Result<Vec<u8>, Failure> {
        let content = self.read_up_to(reply, bytes)?;
        let read = content.len() as u64;
        if read < bytes { Err(Failure::Temporary(cut_short(read))) } else { Ok(content) }
    }

    /// Reads a body of at most `bytes` bytes, to its end. Allocates memory only for received bytes.
    fn read_up_to(&self, reply: Reply, bytes: u64) -> std::result::Result<Vec<u8>, Failure> {
        let mut content = Vec::new();
        let read = reply.body.take(bytes + 1).read_to_end(&mut content);
        self.fetched_bytes.fetch_add(content.len() as u64, Ordering::Relaxed);
        read.map_err(|error| self.transport_failure(error.into()))?;
        match content.len() as u64 > bytes {
            true => Err(Failure::Mismatch(too_long(bytes))),
            false => Ok(content),
        }
    }

    /// Fills `buffer` with the next bytes of a reply.
    pub fn read(&self, reply: &mut Reply, buffer: &mut [u8]) -> std::result::Result<(), Failure> {
        let mut filled = 0;
        while filled < buffer.len() {
            filled += self.read_some(reply, &mut buffer[filled..])?;
        }
        Ok(())
    }

    /// Reads some of the next bytes of a reply into `buffer`, at least one.
    pub fn read_some(
        &self,
        reply: &mut Reply,
        buffer: &mut [u8],
    ) -> std::result::Result<usize, Failure> {
        loop {
            match reply.body.read(buffer) {
                Ok(0) => return Err(Failure::Temporary(cut_short(reply.read_bytes))),
                Ok(count) => {
                    reply.read_bytes += count as u64;
                    self.fetched_bytes.fetch_add(count as u64, Ordering::Relaxed);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.transport_failure(error.into())),
            }
        }
    }

    /// Checks that the body of a reply is at its end. The connection can then be reused.
    pub fn expect_end(&self, mut reply: Reply) -> std::result::Result<(), Failure> {
        match reply.body.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Failure::Mismatch(too_long(reply.read_bytes))),
            Err(error) => Err(self.transport_failure(error.into())),
        }
    }

    /// Converts the failure of the last attempt into the error that stops the run.
    pub fn error(&self, path: &str, failure: Failure) -> RemoteError {
        let url = self.display(path);
        match failure {
            Failure::Temporary(reason) | Failure::RetryAfter(reason, _) => {
                let attempts = self.retry_policy.attempts_max;
                let reason = format!("{reason}, in {attempts} attempts; run again to continue");
                RemoteError::Fetch { url, reason }
            }
            Failure::NotFound => {
                let reason =
                    "not found; check the address, and run again if the host is publishing";
                RemoteError::Fetch { url, reason: reason.into() }
            }
            Failure::Changed => {
                RemoteError::Fetch { url, reason: "the file changed; run again".into() }
            }
            Failure::Permanent(reason) => RemoteError::Fetch { url, reason },
            Failure::OtherRegion(region) => RemoteError::Fetch { url, reason: in_region(&region) },
            Failure::Mismatch(reason) => RemoteError::Damaged { url, reason },
            Failure::Write { path, source } => RemoteError::Write { path, source },
        }
    }
}

impl Reply {
    fn new(reply: Response<ureq::Body>, is_range: bool) -> Reply {
        Reply { is_range, body: reply.into_body().into_reader(), read_bytes: 0 }
    }
}

/// The failure of a reply after which another attempt may succeed; `None` for another status.
pub(crate) fn temporary_failure(status: StatusCode, headers: &HeaderMap) -> Option<Failure> {
    let is_temporary = status.is_server_error()
        || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
    let reason = status.to_string();
    is_temporary.then(|| match retry_after(headers, Utc::now()) {
        Some(pause) => Failure::RetryAfter(reason, pause),
        None => Failure::Temporary(reason),
    })
}

/// Parses the `Retry-After` header, which holds seconds or a date.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = DateTime::parse_from_rfc2822(text).ok()?;
    Some(moment.signed_duration_since(now).to_std().unwrap_or_default())
}

/// The version that an ETag names: stores differ in how they write it.
fn bare_etag(etag: &str) -> &str {
    etag.trim_start_matches("W/").trim_matches('"')
}

/// Says where a bucket is, and what to do.
pub fn in_region(region: &str) -> String {
    format!("the bucket is in the region `{region}`; set `AWS_REGION={region}`")
}

fn cut_short(bytes: u64) -> String {
    format!("the reply ends after {bytes} bytes")
}

fn too_long(bytes: u64) -> String {
    format!("the reply continues after the expected {bytes} bytes")
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{io::Write, net::TcpListener};

    use super::*;

    #[test]
    fn a_store_that_sends_another_version_than_asked_for_is_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4_096]);
                let head = "HTTP/1.1 206 Partial Content\r\nETag: \"b\"\r\nContent-Range: bytes 0-1/2\r\n\
                            Content-Length: 2\r\nConnection: close\r\n\r\nhi";
                stream.write_all(head.as_bytes()).unwrap();
            }
        });
        let host = Host::new(&url, "test", RetryPolicy::default(), None).unwrap();
        for (etag, is_same) in [("\"a\"", false), ("\"b\"", true), ("W/\"b\"", true), ("b", true)] {
            let reply = host.request_version("file", 0..2, 2, etag);
            match is_same {
                true => assert!(reply.is_ok(), "{etag}: {:?}", reply.err()),
                false => assert!(matches!(reply, Err(Failure::Changed)), "{etag}"),
            }
        }
    }

    #[test]
    fn retry_after_is_a_number_of_seconds_or_a_date() {
        let now = DateTime::parse_from_rfc3339("2026-02-03T10:00:00Z").unwrap().to_utc();
        for (text, expected) in [
            ("7", Some(7)),
            ("0", Some(0)),
            ("Tue, 03 Feb 2026 10:01:30 GMT", Some(90)),
            ("Tue, 03 Feb 2026 09:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]);
            let found = retry_after(&headers, now);
            assert_eq!(found, expected.map(Duration::from_secs), "{text}");
        }
    }
}
