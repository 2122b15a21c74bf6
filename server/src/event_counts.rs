//! Counters of rare events, by reason, for the whole process.
//!
//! Any folder may count; [`crate::ops::metrics`] reads the counters.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pinakes_answer::GraphqlOutcome;

/// A closed set of reasons, with their names in metrics.
pub trait Reason: Copy + 'static {
    /// Names of all reasons, by number.
    const NAMES: &'static [&'static str];

    /// Index of this reason in [`Reason::NAMES`].
    fn number(self) -> usize;
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $of:ident { $($(#[$why:meta])* $reason:ident = $name:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $of { $($(#[$why])* $reason,)* }

        impl Reason for $of {
            const NAMES: &'static [&'static str] = &[$($name,)*];

            fn number(self) -> usize {
                self as usize
            }
        }
    )*};
}

reasons! {
    /// Why a request got 503, or its reply was cut off, although the server is ready.
    Overload {
        /// No work permit within 5 s.
        Concurrency = "turn",
        /// No permit to read from disk within 5 s.
        Disk = "disk",
        /// No memory for a reply within 5 s, or too many replies wait for memory.
        UnsentReplies = "room",
        /// The limiter of long heads is full.
        LongHeads = "head",
        /// The query exceeded its timeout.
        Deadline = "deadline",
        /// No mirror sent a chunk within --fetch-timeout.
        Upstream = "mirror",
    }
    /// The action that a client did not finish in time.
    SlowClient {
        /// Sending a head, or finishing a handshake.
        Head = "head",
        /// Reading a reply.
        Reply = "reply",
        /// Sending another request over HTTP/2.
        Idle = "idle",
        /// Reading a reply while the memory for replies was used up, or asking again while connections were
        /// short.
        Evicted = "evicted",
    }
    /// What a client did too often.
    Excess {
        /// Beginning TLS handshakes.
        Handshakes = "handshakes",
        /// Sending HTTP/2 frames that carry neither requests nor bodies.
        Frames = "frames",
    }
    /// Outcome of opening a snapshot to serve.
    Load {
        Opened = "opened",
        Refused = "refused",
    }
    /// Why the server stopped answering from a snapshot.
    Poison {
        /// Bytes do not match their hash.
        Damage = "damage",
        /// A file is unreadable or changed its size.
        Fault = "fault",
        /// Bytes that match their hash are not a valid record.
        Content = "content",
    }
}

impl Reason for GraphqlOutcome {
    const NAMES: &'static [&'static str] = &GraphqlOutcome::NAMES;

    fn number(self) -> usize {
        self as usize
    }
}

/// One counter for each reason of a set.
#[derive(Debug)]
pub struct EventCounts<const N: usize>([AtomicU64; N]);

impl<const N: usize> EventCounts<N> {
    const fn new() -> EventCounts<N> {
        EventCounts([const { AtomicU64::new(0) }; N])
    }

    /// Counts one event.
    pub fn count<R: Reason>(&self, reason: R) {
        // The table has one counter for each reason.
        if let Some(count) = self.0.get(reason.number()) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Names and counts of all reasons.
    pub fn samples<R: Reason>(&self) -> impl Iterator<Item = (&'static str, u64)> {
        R::NAMES.iter().copied().zip(self.0.iter().map(|count| count.load(Relaxed)))
    }
}

/// Requests answered 503.
pub static OVERLOADS: EventCounts<{ Overload::NAMES.len() }> = EventCounts::new();
/// Clients whose connection was closed after a timeout.
pub static SLOW_CLIENTS: EventCounts<{ SlowClient::NAMES.len() }> = EventCounts::new();
/// Connections closed because a client did something too often.
pub static EXCESSES: EventCounts<{ Excess::NAMES.len() }> = EventCounts::new();
/// GraphQL requests by outcome.
pub static GRAPHQL_OUTCOMES: EventCounts<{ <GraphqlOutcome as Reason>::NAMES.len() }> =
    EventCounts::new();
/// Snapshots opened or refused.
pub static LOADS: EventCounts<{ Load::NAMES.len() }> = EventCounts::new();
/// Snapshots that proved damaged.
pub static POISONED: EventCounts<{ Poison::NAMES.len() }> = EventCounts::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_counted_under_its_name() {
        let counts = EventCounts::<{ Overload::NAMES.len() }>::new();
        for reason in [Overload::UnsentReplies, Overload::Deadline, Overload::UnsentReplies] {
            counts.count(reason);
        }
        let found: Vec<_> = counts.samples::<Overload>().collect();
        assert_eq!(
            found,
            [("turn", 0), ("disk", 0), ("room", 2), ("head", 0), ("deadline", 1), ("mirror", 0),]
        );
    }
}
