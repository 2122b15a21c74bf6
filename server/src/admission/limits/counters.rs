//! What the gate asks of counters, which count for one server or for a fleet.

use std::future::Future;

use crate::admission::limits::{ClockReading, QuotaClass, Quotas, Verdict};

/// Counts the requests of clients against the limits.
///
/// [`super::RateLimiter`] counts in the memory of one server, and its futures are ready at once.
/// [`super::fleet::FleetLimiter`] shares the counts of a fleet.
pub trait Counters {
    /// Counts a request of a client, or refuses it.
    fn count(&self, client: u64, daily: Option<QuotaClass>)
    -> impl Future<Output = Verdict> + Send;

    /// Counts a request that counts towards nothing else, or refuses it.
    fn count_free(&self, client: u64) -> impl Future<Output = Verdict> + Send;

    /// Returns the limits of a client without counting a request.
    fn client_quotas(&self, client: u64) -> impl Future<Output = Quotas> + Send;

    /// Counts `more` requests of the day for an admitted request, or refuses them. A refusal also takes the
    /// admitted request back from the client's day. The minute does not change.
    fn count_more(
        &self,
        client: u64,
        daily: QuotaClass,
        more: u64,
        admitted: ClockReading,
    ) -> impl Future<Output = Verdict> + Send;

    /// Takes requests that [`Counters::count_more`] counted back: their reply was not sent.
    fn take_back(&self, client: u64, daily: QuotaClass, more: u64, counted: ClockReading);

    /// Takes a request back from the pool: it did not do the work of a list or a search. The counts of the
    /// client stay.
    fn refund(&self, client: u64, daily: QuotaClass, admitted: ClockReading);
}
