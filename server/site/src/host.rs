//! The module as a host of answers: one snapshot, one caller, no limits of requests.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response};
use pinakes_answer::{
    Answerer, Asked, Attempt, Caller, CodedPieces, Event, Failure, HealthIssue, Host, HostClock,
    PieceError, Posted, ServedSnapshot, Settings,
};
use pinakes_format::snapshot::Reads;
use pinakes_format::storage::ReadError;
use pinakes_format::storage::absent::{FetchedStretches, Missing};
use serde::Deserialize;

use crate::clock::CLOCK;
use crate::opened::Opened;

/// Attempts at a request, or at a piece of its body.
const ROUNDS_MAX: usize = 200;

impl Host for Opened {
    fn clock(&self) -> HostClock {
        CLOCK
    }

    fn is_disk_busy(&self) -> bool {
        false
    }

    fn named(&self, id: &str) -> Option<Arc<ServedSnapshot>> {
        (self.served.id() == id).then(|| Arc::clone(&self.served))
    }

    fn issues(&self, served: &ServedSnapshot) -> Vec<HealthIssue> {
        let expired = served.freshness.expired_at(CLOCK.now());
        expired.map(|_| HealthIssue::Stale).into_iter().collect()
    }

    fn count(&self, _: Event) {}
}

/// The head of a request, as JavaScript writes it.
#[derive(Deserialize)]
pub struct Head {
    method: String,
    /// Path and query.
    target: String,
    headers: Vec<(String, String)>,
    is_https: bool,
    /// The path below which the site lies; empty at the root.
    base_path: String,
}

/// A request that is answered in one attempt or more.
pub struct Asking {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Vec<u8>,
    settings: Settings,
    fetched: FetchedStretches,
    /// The ranges that the last attempt lacked.
    pub missing: Vec<Missing>,
    /// The body, if it comes in pieces.
    pieces: Option<CodedPieces>,
    rounds: usize,
}

/// The end of an attempt.
pub enum Outcome<T> {
    Done(T),
    /// Something is [missing](Asking::missing).
    Missing,
}

/// Status, headers and body; whether the body comes in pieces instead.
pub struct Answered {
    pub response: Response<Bytes>,
    pub is_in_pieces: bool,
}

impl Asking {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// A method or a header is none.
    pub fn new(head: Head, body: Vec<u8>) -> Result<Asking, String> {
        let method = Method::try_from(&*head.method)
            .map_err(|_| format!("`{}` is no method", head.method))?;
        let mut headers = HeaderMap::new();
        for (name, value) in head.headers {
            let refuse = |_| format!("`{name}: {value}` is no header");
            let known = HeaderName::try_from(&name).map_err(|_| refuse(()))?;
            headers.append(known, HeaderValue::try_from(&value).map_err(|_| refuse(()))?);
        }
        let base_path = Some(head.base_path).filter(|path| !path.is_empty()).map(Into::into);
        let settings = Settings { is_https: head.is_https, base_path, ..Settings::ALL };
        Ok(Asking {
            method,
            target: head.target,
            headers,
            body,
            settings,
            fetched: FetchedStretches::default(),
            missing: Vec::new(),
            pieces: None,
            rounds: 0,
        })
    }

    /// Attempts the answer. The body of a reply in pieces follows by [`Asking::piece`].
    ///
    /// # Errors
    ///
    /// In words for people.
    pub fn attempt(&mut self, opened: &Opened) -> Result<Outcome<Answered>, String> {
        let answerer = Answerer { settings: &self.settings, host: opened };
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let caller = Caller { address, is_proxied: false, quotas: None };
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let is_client_gone = AtomicBool::new(false);
        let posted = Posted { text: &self.body, is_client_gone: &is_client_gone };
        let asked = Asked {
            method: &self.method,
            path,
            query,
            uri_bytes: self.target.len(),
            headers: &self.headers,
            posted: (self.method == Method::POST).then_some(posted),
            caller: &caller,
        };
        match answerer.attempt(asked, &opened.served, &mut self.fetched) {
            Ok(Attempt::Reply(mut reply)) => {
                let pieces = reply.take_pieces();
                let response = answerer.response(*reply, asked, &opened.served);
                self.rounds = 0;
                self.pieces = pieces;
                Ok(Outcome::Done(Answered { response, is_in_pieces: self.pieces.is_some() }))
            }
            Ok(Attempt::Missing(missing)) => self.lacks(missing),
            Err(Failure::Damaged(error) | Failure::OtherDamaged(_, error)) => {
                Err(error.to_string())
            }
            Err(_) => Err("an answer without limits reached one".into()),
        }
    }

    /// Attempts the next piece of the body; `None` at its end.
    ///
    /// # Errors
    ///
    /// In words for people.
    pub fn piece(&mut self, opened: &Opened) -> Result<Outcome<Option<Bytes>>, String> {
        let Some(pieces) = &mut self.pieces else { return Ok(Outcome::Done(None)) };
        match pieces.next_piece(opened.served.waiting_handle(Reads::OneByOne), CLOCK).transpose() {
            Ok(piece) => {
                opened.take_lacking();
                self.rounds = 0;
                Ok(Outcome::Done(piece))
            }
            Err(PieceError::Damaged(ReadError::Absent { .. })) => self.lacks(opened.take_lacking()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn lacks<T>(&mut self, missing: Vec<Missing>) -> Result<Outcome<T>, String> {
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX {
            return Err(format!("the answer needs more than {ROUNDS_MAX} rounds of transfers"));
        }
        self.missing = missing;
        Ok(Outcome::Missing)
    }

    /// Takes bytes of a missing range, from a place of its file on. Bytes that are not those of the publication are refused.
    /// Returns whether a piece was proved and taken.
    ///
    /// # Errors
    ///
    /// In words for people.
    pub fn give(&self, index: usize, from: u64, bytes: &[u8]) -> Result<bool, String> {
        let missing = self.missing.get(index).ok_or("no such range is missing")?;
        let Some(part) = missing.within(from..from + bytes.len() as u64) else { return Ok(false) };
        let first = (part.range().start - from) as usize;
        let sent = part.accept(&bytes[first..]).map_err(|refused| refused.to_string())?;
        match sent.wrong.first() {
            None => Ok(sent.written > 0),
            Some(wrong) => {
                let (path, range) = (wrong.path(), wrong.range());
                Err(format!(
                    "the host sent other bytes than it published: `{path}`, {} to {}",
                    range.start, range.end
                ))
            }
        }
    }
}
