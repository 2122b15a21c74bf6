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

use chrono::{DateTime, Utc};
use ureq::{
    Agent, BodyReader, Error as Refusal,
    http::{HeaderMap, Response, StatusCode, header},
    tls::TlsConfig,
};

use crate::error::{Error, Result};
use crate::mirror::address::{Address, read_roots};
use crate::terminal::escape::shown_text;

/// Redirects that are followed.
const REDIRECTS_MAX: u32 = 5;
/// Bytes of a reply's head that are read.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long the first pause between two tries is; each is twice the one before.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(8);

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
    address: Address,
    patience: Patience,
    ignores_ranges: AtomicBool,
    fetched_bytes: AtomicU64,
    requests: AtomicU64,
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
    /// Another may not, after so long as the host asks for.
    Later(String, Duration),
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
        let address = Address::of(url)?;
        let mut tls = TlsConfig::builder();
        if let Some(path) = tls_ca {
            tls = tls.root_certs(read_roots(path)?);
        }
        let wait = Some(patience.timeout);
        let agent = Agent::config_builder()
            .tls_config(tls.build())
            // An address that says `https` is not led to one that does not.
            .https_only(address.to_ask("").starts_with("https:"))
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
            address,
            patience,
            ignores_ranges: AtomicBool::new(false),
            fetched_bytes: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        })
    }

    /// The address of a path as it is shown: never with what signs it.
    pub fn shown(&self, path: &str) -> String {
        self.address.shown(path)
    }

    /// Bytes of bodies that came, and how many requests there were.
    pub fn fetched(&self) -> (u64, u64) {
        (self.fetched_bytes.load(Ordering::Relaxed), self.requests.load(Ordering::Relaxed))
    }

    /// How long it is waited for.
    pub fn timeout(&self) -> Duration {
        self.patience.timeout
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
            let found = shown_text(found);
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
            .get(self.address.to_ask(path))
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
            _ if status.is_server_error()
                || status == StatusCode::REQUEST_TIMEOUT
                || status == StatusCode::TOO_MANY_REQUESTS =>
            {
                let reason = status.to_string();
                return Err(match retry_after(answer.headers(), Utc::now()) {
                    Some(pause) => Fault::Later(reason, pause),
                    None => Fault::Again(reason),
                });
            }
            _ => return Err(Fault::Refused(status.to_string())),
        }
        if let Some(coding) = answer.headers().get(header::CONTENT_ENCODING)
            && coding != "identity"
        {
            let coding = shown_text(coding.to_str().unwrap_or("?"));
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
                Fault::Refused(shown_text(&error.to_string()))
            }
            Refusal::Io(_)
            | Refusal::HostNotFound
            | Refusal::ConnectionFailed
            | Refusal::Protocol(_) => Fault::Again(shown_text(&error.to_string())),
            _ => Fault::Refused(shown_text(&error.to_string())),
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
                Err(fault @ (Fault::Again(_) | Fault::Later(..))) => {
                    let asked = match fault {
                        Fault::Later(_, asked) => asked.min(self.patience.timeout),
                        _ => Duration::ZERO,
                    };
                    thread::sleep(pause.max(asked));
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
            Fault::Again(reason) | Fault::Later(reason, _) => {
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

/// How long a host asks to be left alone: seconds, or until a moment.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = DateTime::parse_from_rfc2822(text).ok()?;
    Some(moment.signed_duration_since(now).to_std().unwrap_or_default())
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_asks_to_be_left_alone_in_seconds_or_until_a_moment() {
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
