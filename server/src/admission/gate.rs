//! The gate before the routes: identifies the client of a request and applies the rate limits.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, request::Parts};
use pinakes_answer::{Caller, Charge, LIMIT_HEADERS, QuotaClass, Quotas, RECORDS_PER_REQUEST};
use tokio::runtime::Handle;

use crate::admission::limits::fleet::FleetWindows;
use crate::admission::limits::{ClockReading, RateLimiter, Usage, Verdict};
use crate::http::client_address::{Client, ClientResolver};

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
    /// Whether a trusted proxy passed the request on, so that its forwarding headers count.
    pub is_proxied: bool,
    /// The client's quotas after the request; `None` for an exempt client or without limits.
    pub quotas: Option<Quotas>,
    /// The decision that refuses the request; `None` admits it.
    pub refusal: Option<Verdict>,
    /// The units of an admitted request in its pool; `None` if no pool counts the request.
    pooled: Option<Pooled>,
}

/// The units that an admitted request took from a pool, and the time.
#[derive(Clone, Copy, Debug)]
struct Pooled {
    class: QuotaClass,
    units: u32,
    at: ClockReading,
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

    /// The windows of the fleet, if the server counts together with others.
    pub fn fleet(&self) -> Option<&Arc<FleetWindows>> {
        self.limiter.as_ref()?.fleet()
    }

    /// Makes the system provide memory for the counts.
    pub fn provide_pages(&self) {
        self.limiter.iter().for_each(RateLimiter::provide_pages);
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
        let limiter = self.limiter.as_ref().map(RateLimiter::in_words);
        limiter.unwrap_or_else(|| "limits are off (--no-limits)".to_owned())
    }

    /// Identifies the client of a request, and counts the request. Without a fleet, the future is ready at once.
    pub async fn admit(&self, head: &Parts, charge: Charge) -> Admission {
        let client = self.client(head);
        let admission = match &self.limiter {
            Some(limiter) if !self.clients.is_exempt(client) => {
                decide(limiter, client, charge).await
            }
            _ => Admission::unlimited(client),
        };
        let is_proxied = match head.extensions.get() {
            Some(Peer::Known(peer)) => self.clients.is_trusted(*peer),
            _ => false,
        };
        let admission = Admission { is_proxied, ..admission };
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

    fn client(&self, head: &Parts) -> Client {
        match head.extensions.get() {
            Some(Peer::Known(peer)) => self.clients.client(*peer, &head.headers),
            Some(Peer::Unknown { proxy }) => Client::known(*proxy),
            // Connections always set the extension.
            None => Client::known(Ipv4Addr::UNSPECIFIED.into()),
        }
    }

    /// Counts an admitted request for a stream of a whole list as one request for each [`RECORDS_PER_REQUEST`]
    /// records begun, or refuses it; a record counts `weight` times. `None` for a client without limits. Waits for the
    /// store of a fleet, so that only a blocking thread may call this.
    pub fn charge_stream(
        &self,
        admission: &Admission,
        records: u64,
        weight: u64,
    ) -> Option<StreamCharge> {
        let (limiter, pooled) = (self.limiter.as_ref()?, admission.pooled?);
        let Pooled { class, at: admitted, .. } = pooled;
        let more = records.saturating_mul(weight).div_ceil(RECORDS_PER_REQUEST).saturating_sub(1);
        let counted = limiter.count_more(admission.client.key(), class, more, admitted);
        let verdict = Handle::current().block_on(counted);
        Some(StreamCharge { records, more, class, verdict })
    }

    /// Counts `more` requests of the client's minute for the work of an admitted request. Returns how many were counted
    /// before the minute was used up, and when the next minute begins if it was.
    pub async fn charge_work(&self, admission: &Admission, more: u32) -> (u32, Option<Duration>) {
        let (Some(limiter), Some(_)) = (&self.limiter, admission.quotas) else {
            return (more, None);
        };
        let class = admission.pooled.map(|pooled| pooled.class);
        for counted in 0..more {
            let verdict = limiter.count_work(admission.client.key(), class).await;
            if verdict.refusal.is_some() {
                let wait = Duration::from_millis(verdict.reset_millis());
                return (counted, Some(wait));
            }
        }
        (more, None)
    }

    /// Takes back what [`Gate::charge_stream`] counted, for a stream that could not begin.
    pub fn take_back(&self, admission: &Admission, charge: StreamCharge) {
        let StreamCharge { more, class, verdict, .. } = charge;
        if let (Some(limiter), None) = (&self.limiter, verdict.refusal) {
            limiter.take_back(admission.client.key(), class, more, verdict.at);
        }
    }

    /// Takes a request back from its pool, unless the request did the work of its class: 200, 304 or 503.
    pub fn settle(&self, admission: &Admission, status: StatusCode) {
        let did_work = matches!(
            status,
            StatusCode::OK | StatusCode::NOT_MODIFIED | StatusCode::SERVICE_UNAVAILABLE
        );
        let Some(pooled) = admission.pooled.filter(|_| !did_work) else { return };
        if let Some(limiter) = &self.limiter {
            let Pooled { class, units, at } = pooled;
            limiter.refund(admission.client.key(), class, units, at);
        }
    }
}

/// Counts a request of a client.
async fn decide(limiter: &RateLimiter, client: Client, charge: Charge) -> Admission {
    let class = match charge {
        Charge::None => {
            let quotas = Some(limiter.client_quotas(client.key()).await);
            return Admission { quotas, ..Admission::unlimited(client) };
        }
        Charge::Free => {
            let verdict = limiter.count_free(client.key()).await;
            return Admission::counted(client, verdict, None);
        }
        Charge::Completion => {
            let verdict = limiter.count_completion(client.key()).await;
            return Admission::counted(client, verdict, Some((QuotaClass::Browse, 1)));
        }
        Charge::Minute => None,
        Charge::Daily(class) => Some(class),
    };
    let verdict = limiter.count(client.key(), class).await;
    Admission::counted(client, verdict, class.map(|class| (class, class.units())))
}

impl Admission {
    /// The admission of a counted request, which took units of a class from the pool if it was admitted.
    fn counted(client: Client, verdict: Verdict, taken: Option<(QuotaClass, u32)>) -> Admission {
        let refusal = verdict.refusal.is_some().then_some(verdict);
        let taken = taken.filter(|_| refusal.is_none());
        let pooled = taken.map(|(class, units)| Pooled { class, units, at: verdict.at });
        Admission { client, is_proxied: false, quotas: Some(verdict.quotas), refusal, pooled }
    }

    /// Admits a request that no limit counts.
    fn unlimited(client: Client) -> Admission {
        Admission { client, is_proxied: false, quotas: None, refusal: None, pooled: None }
    }

    /// The client as answers see it.
    pub fn caller(&self) -> Caller {
        Caller { address: self.client.address, is_proxied: self.is_proxied, quotas: self.quotas }
    }

    /// Writes the rate-limit headers of the reply.
    pub fn write(&self, headers: &mut HeaderMap) {
        let Some(Quotas { minute, daily: [list, ..] }) = self.quotas else { return };
        let numbers = [
            u64::from(minute.limit),
            u64::from(minute.remaining),
            minute.reset_seconds(),
            u64::from(list.limit),
            u64::from(list.remaining),
        ];
        for (name, number) in HEADER_NAMES.iter().zip(numbers) {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}

/// [`LIMIT_HEADERS`] as names of headers.
static HEADER_NAMES: LazyLock<[HeaderName; 5]> = LazyLock::new(|| {
    LIMIT_HEADERS.map(|name| HeaderName::try_from(name).expect("a valid name of a header"))
});
