//! The questions that the gate asks for every request, of the counters of one server or of a fleet.

use std::future::Future;

use crate::admission::limits::{QuotaClass, Quotas, Verdict};

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
}
