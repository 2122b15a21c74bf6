//! The gate before the routes: identifies the client of a request and applies the rate limits.

use std::{
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    sync::{Mutex, Once, PoisonError},
};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, request::Parts};

use crate::admission::limits::{ClockReading, QuotaClass, Quotas, RateLimiter, Usage, Verdict};
use crate::http::client_address::{Client, ClientResolver};

/// Rate-limit headers of replies, spelled as in `Access-Control-Expose-Headers`.
pub const LIMIT_HEADERS: [&str; 5] = [
    "X-RateLimit-IP-Limit",
    "X-RateLimit-IP-Remaining",
    "X-RateLimit-IP-Reset-Seconds",
    "X-RateLimit-Daily-Limit",
    "X-RateLimit-Daily-Remaining",
];

/// Records of a stream for each request that it counts as: a page has as many.
pub const RECORDS_PER_REQUEST: u64 = 100;

/// The peer of a request's connection, in the extensions of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The peer, or the client that a PROXY header named. A trusted proxy may name the client in the
    /// request.
    Known(IpAddr),
    /// A proxy whose PROXY header named no client. The requests' headers do not count.
    Unknown {
        /// Address of the proxy.
        proxy: IpAddr,
    },
}

/// The limits that a request counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Nothing: OPTIONS, and the request for the limits themselves.
    None,
    /// One request of the minute of free requests.
    Free,
    /// One request of the minute.
    Minute,
    /// One request of the minute and one of the day.
    Daily(QuotaClass),
}

/// Identifies clients and applies the rate limits.
pub struct Gate {
    clients: ClientResolver,
    /// `None` without limits.
    limiter: Option<RateLimiter>,
    /// File that keeps the counts while the server is down; the lock serialises writes.
    file: Option<Mutex<PathBuf>>,
    /// Runs when a client of this machine first meets a limit.
    local_refusal: Once,
}

/// The gate's decision on a request.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    pub client: Client,
    /// The client's quotas after the request; `None` for an exempt client or without limits.
    pub quotas: Option<Quotas>,
    /// The decision that refuses the request; `None` admits it.
    pub refusal: Option<Verdict>,
    /// The pool that counts the request, and when it began to.
    pooled: Option<(QuotaClass, ClockReading)>,
}

/// The requests that a stream of a whole list counts as, and the decision on them.
#[derive(Clone, Copy, Debug)]
pub struct StreamCharge {
    /// Records of the list.
    records: u64,
    /// Requests of the day besides the admitted one.
    more: u64,
    class: QuotaClass,
    pub verdict: Verdict,
}

impl StreamCharge {
    /// The message of a refusal.
    pub fn message(&self) -> String {
        let what = format!("A stream of {} records", self.records);
        self.verdict.message_of_many(self.more + 1, &what).unwrap_or_default()
    }
}

impl Gate {
    /// Makes a gate, and loads the counts from the file if there is one.
    pub fn new(
        clients: ClientResolver,
        limiter: Option<RateLimiter>,
        file: Option<PathBuf>,
    ) -> Gate {
        if let (Some(limiter), Some(file)) = (&limiter, &file) {
            match limiter.load(file) {
                Ok(clients) => {
                    tracing::info!(clients, file = %file.display(), "loaded the rate-limit counts")
                }
                Err(error) => tracing::warn!(%error, "rate-limit counts start at zero"),
            }
        }
        Gate { clients, limiter, file: file.map(Mutex::new), local_refusal: Once::new() }
    }

    /// Makes the system provide memory for the counts.
    pub fn provide_pages(&self) {
        if let Some(limiter) = &self.limiter {
            limiter.provide_pages();
        }
    }

    /// Writes the counts to the file, if there is one.
    pub fn save(&self) {
        let (Some(limiter), Some(file)) = (&self.limiter, &self.file) else { return };
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = limiter.save(&file) {
            tracing::error!(%error, "cannot keep the rate-limit counts");
        }
    }

    /// Tells trusted proxies and exempt clients from others.
    pub fn clients(&self) -> &ClientResolver {
        &self.clients
    }

    /// How much of the limits is in use; `None` without limits.
    pub fn usage(&self) -> Option<Usage> {
        self.limiter.as_ref().map(RateLimiter::usage)
    }

    /// Which limits are on, in words for the log.
    pub fn limits_in_words(&self) -> String {
        match &self.limiter {
            Some(limiter) => limiter.in_words(),
            None => "limits are off (--no-limits)".to_owned(),
        }
    }

    /// Identifies the client of a request, and counts the request.
    pub fn admit(&self, head: &Parts, charge: Charge) -> Admission {
        let admission = self.decide(head, charge);
        if admission.refusal.is_some() && admission.client.address.is_loopback() {
            self.local_refusal.call_once(|| {
                tracing::info!(
                    "a client of this machine met a limit; on a server of your own, --no-limits turns the \
                     limits off"
                );
            });
        }
        admission
    }

    fn decide(&self, head: &Parts, charge: Charge) -> Admission {
        let client = match head.extensions.get() {
            Some(Peer::Known(peer)) => self.clients.client(*peer, &head.headers),
            Some(Peer::Unknown { proxy }) => Client::known(*proxy),
            // Connections always set the extension.
            None => Client::known(Ipv4Addr::UNSPECIFIED.into()),
        };
        let limiter = self.limiter.as_ref().filter(|_| !self.clients.is_exempt(client));
        let Some(limiter) = limiter else {
            return Admission { client, quotas: None, refusal: None, pooled: None };
        };
        let class = match charge {
            Charge::None => {
                let quotas = limiter.client_quotas(client.key());
                return Admission { client, quotas: Some(quotas), refusal: None, pooled: None };
            }
            Charge::Free => {
                let verdict = limiter.count_free(client.key());
                let refusal = verdict.refusal.is_some().then_some(verdict);
                return Admission { client, quotas: Some(verdict.quotas), refusal, pooled: None };
            }
            Charge::Minute => None,
            Charge::Daily(class) => Some(class),
        };
        let verdict = limiter.count(client.key(), class);
        let refusal = verdict.refusal.is_some().then_some(verdict);
        let pooled = class.filter(|_| refusal.is_none()).map(|class| (class, verdict.at));
        Admission { client, quotas: Some(verdict.quotas), refusal, pooled }
    }

    /// Counts an admitted request for a stream of a whole list as one request for each [`RECORDS_PER_REQUEST`]
    /// records begun, or refuses it. `None` for a client without limits.
    pub fn charge_stream(&self, admission: &Admission, records: u64) -> Option<StreamCharge> {
        let (limiter, (class, admitted)) = (self.limiter.as_ref()?, admission.pooled?);
        let more = records.div_ceil(RECORDS_PER_REQUEST).saturating_sub(1);
        let verdict = limiter.count_more(admission.client.key(), class, more, admitted);
        Some(StreamCharge { records, more, class, verdict })
    }

    /// Takes back what [`Gate::charge_stream`] counted, for a stream that could not begin.
    pub fn take_back(&self, admission: &Admission, charge: StreamCharge) {
        if let (Some(limiter), None) = (&self.limiter, charge.verdict.refusal) {
            let StreamCharge { more, class, verdict, .. } = charge;
            limiter.take_back(admission.client.key(), class, more, verdict.at);
        }
    }

    /// Takes a request back from its pool, unless its reply is that of a list or a search: 200, 304 or 503.
    pub fn settle(&self, admission: &Admission, status: StatusCode) {
        let did_work = matches!(
            status,
            StatusCode::OK | StatusCode::NOT_MODIFIED | StatusCode::SERVICE_UNAVAILABLE
        );
        if let (false, Some((class, at)), Some(limiter)) =
            (did_work, admission.pooled, &self.limiter)
        {
            limiter.refund(admission.client.key(), class, at);
        }
    }
}

impl Admission {
    /// Writes the rate-limit headers of the reply.
    pub fn write(&self, headers: &mut HeaderMap) {
        let Some(Quotas { minute, daily: [list, _] }) = self.quotas else { return };
        let numbers = [
            u64::from(minute.limit),
            u64::from(minute.remaining),
            minute.reset_seconds(),
            u64::from(list.limit),
            u64::from(list.remaining),
        ];
        for (name, number) in HEADER_NAMES.into_iter().zip(numbers) {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}

/// [`LIMIT_HEADERS`] in lower case.
const HEADER_NAMES: [HeaderName; 5] = [
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
    fn exposed_and_sent_headers_are_the_same() {
        for (exposed, sent) in LIMIT_HEADERS.into_iter().zip(HEADER_NAMES) {
            assert_eq!(exposed.to_ascii_lowercase(), sent.as_str());
        }
    }
}
