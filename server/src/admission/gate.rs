//! What stands before the routes: who asks, what it counts as, and whether it is let through.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};

use crate::admission::limits::{Counters, Daily, Standing, Usage, Verdict};
use crate::http::client_address::{Clients, key};

/// The headers that tell a client how it stands, as CORS exposes them.
pub const LIMIT_HEADERS: [&str; 5] = [
    "X-RateLimit-IP-Limit",
    "X-RateLimit-IP-Remaining",
    "X-RateLimit-IP-Reset-Seconds",
    "X-RateLimit-Daily-Limit",
    "X-RateLimit-Daily-Remaining",
];

/// Whose a request's connection is, in its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The peer's, or whose a proxy said before it began; what its requests say counts where that is a
    /// trusted proxy.
    Named(IpAddr),
    /// A proxy's that did not say whose it is. What the requests say is anybody's word.
    Unnamed(IpAddr),
}

/// What a request counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Nothing.
    Free,
    /// One of the minute.
    Minute,
    /// One of the minute and one of the day.
    Daily(Daily),
}

/// What stands before the routes.
pub struct Gate {
    clients: Clients,
    /// `None` where there are no limits.
    counters: Option<Counters>,
    /// Where they are kept while the server is down; locked by whoever writes it.
    file: Option<Mutex<PathBuf>>,
}

/// What the gate found of a request.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// Who asks.
    pub client: IpAddr,
    /// How it stands; `None` where no limit is for it.
    pub standing: Option<Standing>,
    /// Why it is refused.
    pub refusal: Option<Verdict>,
}

impl Gate {
    /// A gate with these limits, or none, going on from what a file holds.
    pub fn new(clients: Clients, counters: Option<Counters>, file: Option<PathBuf>) -> Gate {
        if let (Some(counters), Some(file)) = (&counters, &file) {
            match counters.load(file) {
                Ok(clients) => {
                    tracing::info!(clients, file = %file.display(), "counts of limits read")
                }
                Err(error) => tracing::warn!(%error, "limits are counted from zero"),
            }
        }
        Gate { clients, counters, file: file.map(Mutex::new) }
    }

    /// Writes what is counted to the file, if there is one.
    pub fn save(&self) {
        let (Some(counters), Some(file)) = (&self.counters, &self.file) else { return };
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = counters.save(&file) {
            tracing::error!(%error, "counts of limits are not kept");
        }
    }

    /// Whose word is taken on who asks.
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    /// How full the limits are; `None` where there are none.
    pub fn usage(&self) -> Option<Usage> {
        self.counters.as_ref().map(Counters::usage)
    }

    /// Looks at a request, and counts it.
    pub fn admit(&self, head: &Parts, charge: Charge) -> Admission {
        let client = match head.extensions.get() {
            Some(Peer::Named(peer)) => self.clients.address(*peer, &head.headers),
            Some(Peer::Unnamed(proxy)) => proxy.to_canonical(),
            // Every request comes over a connection; one that did not has no address of its own.
            None => Ipv4Addr::UNSPECIFIED.into(),
        };
        let counters = self.counters.as_ref().filter(|_| !self.clients.is_exempt(client));
        let Some(counters) = counters else {
            return Admission { client, standing: None, refusal: None };
        };
        let daily = match charge {
            Charge::Free => {
                let standing = counters.look(key(client));
                return Admission { client, standing: Some(standing), refusal: None };
            }
            Charge::Minute => None,
            Charge::Daily(daily) => Some(daily),
        };
        let verdict = counters.count(key(client), daily);
        let refusal = verdict.refusal.is_some().then_some(verdict);
        Admission { client, standing: Some(verdict.standing), refusal }
    }
}

impl Admission {
    /// Tells the client how it stands.
    pub fn write(&self, headers: &mut HeaderMap) {
        let Some(Standing { minute, daily: [list, _] }) = self.standing else { return };
        let numbers = [
            u64::from(minute.limit),
            u64::from(minute.remaining),
            minute.reset_seconds(),
            u64::from(list.limit),
            u64::from(list.remaining),
        ];
        for (name, number) in NAMES.into_iter().zip(numbers) {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}

/// The same headers, as they are sent.
const NAMES: [HeaderName; 5] = [
    HeaderName::from_static("x-ratelimit-ip-limit"),
    HeaderName::from_static("x-ratelimit-ip-remaining"),
    HeaderName::from_static("x-ratelimit-ip-reset-seconds"),
    HeaderName::from_static("x-ratelimit-daily-limit"),
    HeaderName::from_static("x-ratelimit-daily-remaining"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_exposed_are_the_headers_sent() {
        for (exposed, sent) in LIMIT_HEADERS.into_iter().zip(NAMES) {
            assert_eq!(exposed.to_ascii_lowercase(), sent.as_str());
        }
    }
}
