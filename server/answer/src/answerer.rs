//! The calls of a host, in this order, for each request.
//!
//! ```text
//! find, charge    the row of the table, and what the request counts towards
//! plan            a reply, or work and how much it is
//! call, Work::run the work on a thread of the host, as often as it takes: a reply, or why there is none
//! readable        errors in the form of the path, links below the snapshot that the path names
//! attempt         all of these but the last, in a host that limits nothing
//! response        status, headers and body; a body in pieces is taken out of the reply before
//! ```

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use pinakes_format::storage::absent::{FetchedStretches, Missing};

use crate::changes::not_open;
use crate::define::route::Matched;
use crate::define::served::ServedSnapshot;
use crate::define::settings::Settings;
use crate::define::{Answer, Asked, Call, Failure, Host, Planned, Planning, Reader, Thread};
use crate::pages;
use crate::reply::Reply;
use crate::request::named_snapshot::{NamedSnapshot, keep_below};
use crate::request::path::URI_BYTES_MAX;
use crate::table::{self, Table};

/// The end of an attempt at an answer.
pub enum Attempt {
    /// The reply in the form of its path, coded as the client asks.
    Reply(Box<Reply>),
    /// The chunks that the reply lacks. Once they are here, the next attempt goes further.
    Missing(Vec<Missing>),
}

/// Makes the answers of one host.
#[derive(Clone, Copy)]
pub struct Answerer<'a> {
    /// Options of the host.
    pub settings: &'a Settings,
    /// The program that the answers are made in.
    pub host: &'a dyn Host,
}

impl<'a> Answerer<'a> {
    /// The request over one snapshot, for work on a thread.
    pub fn call(
        self,
        asked: Asked<'a>,
        served: &'a Arc<ServedSnapshot>,
        thread: Thread,
    ) -> Call<'a> {
        Call::new(asked, self.settings, self.host, &Table, served, thread)
    }

    /// Checks a request, and finishes the reply to one that needs no work. Reads no file of the snapshot, so that every
    /// thread may plan.
    ///
    /// # Errors
    ///
    /// The reply to an invalid request.
    pub fn plan(
        self,
        asked: Asked<'_>,
        matched: Option<Matched>,
        served: &Arc<ServedSnapshot>,
    ) -> Result<Planned, Reply> {
        let call = self.call(asked, served, Thread::Shared);
        if call.uri_bytes > URI_BYTES_MAX {
            let message = format!("URI exceeds {URI_BYTES_MAX} bytes");
            return Err(Reply::error(StatusCode::URI_TOO_LONG, message));
        }
        let Matched { route, segment } = matched.ok_or_else(|| call.not_found())?;
        let endpoint = route.endpoint;
        match call.method {
            &Method::OPTIONS => return Ok(Planned::Reply(Reply::options(endpoint.methods))),
            method if !endpoint.takes(method) => {
                return Err(Reply::method_not_allowed(endpoint.methods));
            }
            _ => {}
        }
        if endpoint.needs_snapshot && served.is_poisoned() {
            return Err(Reply::unavailable());
        }
        (endpoint.plan)(&Planning { call, path: &route.path, segment })
    }

    /// Attempts an answer in a host that limits no work, from the chunks of the snapshot that are here. `fetched` has what
    /// earlier attempts at this request lacked.
    ///
    /// # Errors
    ///
    /// Damage, or a limit of the settings.
    pub fn attempt(
        self,
        asked: Asked<'_>,
        served: &Arc<ServedSnapshot>,
        fetched: &mut FetchedStretches,
    ) -> Result<Attempt, Failure> {
        let (named, path) = NamedSnapshot::split(asked.path);
        let matched = table::find(path);
        let readable = |reply| Box::new(self.readable(reply, asked, matched));
        let named = match named.map(|named| self.host.named(named.id).ok_or(named.id)) {
            Some(Err(id)) => {
                return Ok(Attempt::Reply(readable(not_open(StatusCode::GONE, id))));
            }
            Some(Ok(named)) => Some(named),
            None => None,
        };
        let served = named.as_ref().unwrap_or(served);
        let work = match self.plan(asked, matched, served) {
            Ok(Planned::Work(work)) => work,
            Ok(Planned::Reply(reply)) | Err(reply) => return Ok(Attempt::Reply(readable(reply))),
        };
        let work = |call: &Call<'_>| -> Answer {
            match (work.run)(call) {
                Ok(reply) => Ok(readable(reply).coded(asked.headers)),
                Err(Failure::Refused(reply)) => Ok(*readable(*reply)),
                Err(failure) => Err(failure),
            }
        };
        let call = || self.call(asked, served, Thread::Own);
        match work(&call()) {
            Err(Failure::Absent) => {}
            Ok(reply) => return Ok(Attempt::Reply(Box::new(reply))),
            Err(failure) => return Err(failure),
        }
        let wanted = Arc::default();
        let call = call();
        let snapshot = call.snapshot.collecting(&wanted);
        // With chunks missing, the reply may lack names.
        match work(&call.with_snapshot(&snapshot)) {
            Ok(reply) if wanted.is_empty() => Ok(Attempt::Reply(Box::new(reply))),
            _ => Ok(Attempt::Missing(wanted.take(fetched))),
        }
    }

    /// The reply as a client of its path reads it: an error in the form of the path, and links below the snapshot that the
    /// path names.
    pub fn readable(self, reply: Reply, asked: Asked<'_>, matched: Option<Matched>) -> Reply {
        let (named, path) = NamedSnapshot::split(asked.path);
        let form = match matched {
            Some(matched) => matched.route.endpoint.errors,
            None if pages::is_below(path) => pages::as_page,
            None => |reply, _: &Reader<'_>| reply,
        };
        let Asked { method, posted, .. } = asked;
        let reply = form(reply, &Reader { method, posted, settings: self.settings });
        let named = named.map_or("", NamedSnapshot::prefix);
        match [self.settings.base_path.as_deref().unwrap_or_default(), named].concat() {
            prefix if prefix.is_empty() => reply,
            prefix => keep_below(&prefix, reply),
        }
    }

    /// The response with a readable reply from one snapshot.
    pub fn response(
        self,
        reply: Reply,
        asked: Asked<'_>,
        served: &ServedSnapshot,
    ) -> Response<Bytes> {
        let mut response = reply.into_response(asked.method, served.reply_headers());
        if let (Some(named), _) = NamedSnapshot::split(asked.path) {
            named.make_immutable(response.headers_mut(), self.settings.is_behind_network);
        }
        response
    }
}
