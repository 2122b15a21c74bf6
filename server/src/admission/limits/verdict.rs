//! The decision on a request, and the messages to clients that a limit refuses.

use pinakes_answer::{Quota, QuotaClass, Quotas, Reply};

use crate::admission::limits::clock::ClockReading;

/// Which limit refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client's minute.
    Minute,
    /// The client's day.
    Day(QuotaClass),
    /// The day of all clients together, or of the client's network.
    Pool(QuotaClass),
    /// The client's minute of pages for people.
    Pages(Quota),
    /// The client's minute of requests that count towards nothing else.
    Free(Quota),
}

/// The limiter's decision on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The limit that refuses the request; `None` admits it.
    pub refusal: Option<Refusal>,
    /// The client's limits after the request.
    pub quotas: Quotas,
    /// When the limiter decided.
    pub at: ClockReading,
}

impl Verdict {
    /// The quota that refused the request.
    fn exhausted(&self) -> Option<Quota> {
        Some(match self.refusal? {
            Refusal::Minute => self.quotas.minute,
            Refusal::Pages(quota) | Refusal::Free(quota) => quota,
            // The days of clients and of pools end at the same time.
            Refusal::Day(_) | Refusal::Pool(_) => self.quotas.daily[QuotaClass::List as usize],
        })
    }

    /// Milliseconds until the client may repeat the refused request; 0 if admitted.
    pub fn reset_millis(&self) -> u64 {
        self.exhausted().map_or(0, |left| left.reset_millis)
    }

    /// Seconds until the client may repeat the refused request, rounded up; 0 if admitted.
    pub fn reset_seconds(&self) -> u64 {
        self.exhausted().map_or(0, |left| left.reset_seconds())
    }

    /// The same moment in seconds since 1970, rounded up.
    pub fn reset_at(&self) -> u64 {
        (self.at.utc + self.reset_millis()).div_ceil(1_000)
    }

    /// The reply 429 to the refused client.
    pub fn reply(&self) -> Reply {
        self.reply_saying(self.message().unwrap_or_default())
    }

    /// The reply 429 with another message.
    pub fn reply_saying(&self, message: String) -> Reply {
        let minute = (self.refusal == Some(Refusal::Minute)).then_some(self.quotas.minute.limit);
        Reply::too_many(message, self.reset_seconds(), self.reset_at(), minute)
    }

    /// The message to the refused client.
    pub fn message(&self) -> Option<String> {
        Some(match self.refusal? {
            Refusal::Minute | Refusal::Pages(_) | Refusal::Free(_) => {
                let what = if matches!(self.refusal, Some(Refusal::Pages(_))) {
                    "pages"
                } else {
                    "requests"
                };
                let limit = self.exhausted().map_or(0, |quota| quota.limit);
                let seconds = self.reset_seconds();
                let at = self.reset_at() % 86_400;
                let (hour, minute, second) = (at / 3_600, at / 60 % 60, at % 60);
                format!(
                    "IP rate limit exceeded (max {limit} {what} per minute). Please try again in \
                     {seconds} seconds (at {hour:02}:{minute:02}:{second:02} UTC)."
                )
            }
            Refusal::Day(daily) => format!(
                "Your daily quota for {} requests has been exceeded. Please try again in {} (at \
                 00:00:00 UTC).",
                daily.name(),
                in_words(self.reset_seconds())
            ),
            Refusal::Pool(daily) => format!(
                "The service's daily pool for {} requests has been used up. Please try again in {} \
                 (at 00:00:00 UTC).",
                daily.name(),
                in_words(self.reset_seconds())
            ),
        })
    }

    /// The message to a client whose request would count as many.
    pub fn message_of_many(&self, requests: u64, what: &str) -> Option<String> {
        let (class, whose) = match self.refusal? {
            Refusal::Day(class) => {
                let Quota { limit, remaining, .. } = self.quotas.daily[class as usize];
                (class, format!("your daily quota has {remaining} left of {limit}"))
            }
            Refusal::Pool(class) => (class, "the service's daily pool has fewer left".to_owned()),
            Refusal::Minute | Refusal::Pages(_) | Refusal::Free(_) => return self.message(),
        };
        Some(format!(
            "{what} counts as {requests} {} requests, but {whose}. Please narrow the list, or try again in {} \
             (at 00:00:00 UTC).",
            class.name(),
            in_words(self.reset_seconds())
        ))
    }
}

/// Formats a duration in its two largest units that are not zero: `3 hours 12 minutes`.
pub(super) fn in_words(seconds: u64) -> String {
    let units =
        [(seconds / 3_600, "hour"), (seconds / 60 % 60, "minute"), (seconds % 60, "second")];
    let parts = units.into_iter().filter(|(count, _)| *count > 0).take(2).map(|(count, unit)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {unit}{plural}")
    });
    parts.collect::<Vec<_>>().join(" ")
}
