//! What happens seldom, counted by its reason.
//!
//! It is counted for the process, as its memory is: nobody serves twice in one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Reasons, and how they are called where they are counted.
pub trait Reason: Copy + 'static {
    /// All there are, in the order of their numbers.
    const NAMES: &'static [&'static str];

    /// Which of them this is.
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
    /// Why a request was answered 503 that another time would have been answered.
    Overload {
        /// No turn to make a reply came in time.
        Turn = "turn",
        /// There was no room to hold its reply.
        Room = "room",
        /// There was no room for its long head.
        Head = "head",
        /// Its answer took longer than it may.
        Deadline = "deadline",
    }
    /// What a client took too long for.
    Late {
        /// The head of a request, or a handshake.
        Head = "head",
        /// To take a reply.
        Reply = "reply",
        /// To ask again over HTTP/2.
        Idle = "idle",
    }
    /// What became of a question of GraphQL.
    Asked {
        /// It was answered.
        Answered = "answered",
        /// It cannot be asked: it does not parse, or the schema knows nothing of it, or it is too deep.
        Invalid = "invalid",
        /// It asked for more than may be asked at once, and nothing was begun.
        Costly = "costly",
        /// Its answer came to more bytes or time of the processor than it may.
        Stopped = "stopped",
        /// It took longer than it may.
        Timeout = "timeout",
        /// Its client left before.
        Gone = "gone",
    }
    /// What became of a snapshot that was to be served.
    Load {
        /// It is served.
        Opened = "opened",
        /// It was refused.
        Refused = "refused",
    }
    /// Why nothing more is answered from a snapshot.
    Poison {
        /// Bytes do not have the hash that was promised for them.
        Damage = "damage",
        /// A file cannot be read any more, or has another size.
        Fault = "fault",
        /// Bytes with the right hash are no record.
        Content = "content",
    }
}

/// How often each of some reasons was met.
#[derive(Debug)]
pub struct Tally<const N: usize>([AtomicU64; N]);

impl<const N: usize> Tally<N> {
    const fn new() -> Tally<N> {
        Tally([const { AtomicU64::new(0) }; N])
    }

    /// Counts one more.
    pub fn count<R: Reason>(&self, reason: R) {
        // Tables are as long as their reasons are many.
        if let Some(count) = self.0.get(reason.number()) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub fn samples<R: Reason>(&self) -> impl Iterator<Item = (&'static str, u64)> {
        R::NAMES.iter().copied().zip(self.0.iter().map(|count| count.load(Relaxed)))
    }
}

/// Requests answered 503.
pub static OVERLOADS: Tally<{ Overload::NAMES.len() }> = Tally::new();
/// Clients not waited for.
pub static LATE: Tally<{ Late::NAMES.len() }> = Tally::new();
/// Questions of GraphQL.
pub static ASKED: Tally<{ Asked::NAMES.len() }> = Tally::new();
/// Snapshots that were to be served.
pub static LOADS: Tally<{ Load::NAMES.len() }> = Tally::new();
/// Snapshots nothing more is answered from.
pub static POISONED: Tally<{ Poison::NAMES.len() }> = Tally::new();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_counted_under_its_name() {
        let tally = Tally::<{ Overload::NAMES.len() }>::new();
        for reason in [Overload::Room, Overload::Deadline, Overload::Room] {
            tally.count(reason);
        }
        let found: Vec<_> = tally.samples::<Overload>().collect();
        assert_eq!(found, [("turn", 0), ("room", 2), ("head", 0), ("deadline", 1)]);
    }
}
