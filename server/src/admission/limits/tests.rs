//! Tests of the limiter.
#![allow(clippy::unwrap_used)]

use std::{
    future::Future,
    ops::Deref,
    pin::pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll, Waker},
};

use super::*;
use crate::admission::limits::clock::manual::{ManualClock, START_MILLIS};
use crate::admission::limits::local::SET_BACK_MILLIS;
use crate::admission::limits::verdict::in_words;
use crate::http::client_address::client_key;

const LIMITS: Limits = Limits {
    minute: 30,
    pages: 60,
    free: 1_200,
    daily: [500, 50, 6_000],
    pool: [10_000, 1_000, 120_000],
    network_pool: [10_000, 1_000, 120_000],
    clients_max: 1_000,
};

/// A limiter of one server, whose futures are ready at once.
pub struct Counters(RateLimiter);

impl Deref for Counters {
    type Target = RateLimiter;

    fn deref(&self) -> &RateLimiter {
        &self.0
    }
}

impl Counters {
    pub fn new(limits: Limits, clock: &ManualClock) -> Counters {
        Counters(RateLimiter::new(limits, Box::new(clock.clone())))
    }

    pub fn count(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        ready(self.0.count(client, daily))
    }

    pub fn count_free(&self, client: u64) -> Verdict {
        ready(self.0.count_free(client))
    }

    pub fn count_completion(&self, client: u64) -> Verdict {
        ready(self.0.count_completion(client))
    }

    pub fn count_work(&self, client: u64, daily: Option<QuotaClass>) -> Verdict {
        ready(self.0.count_work(client, daily))
    }

    pub fn count_more(
        &self,
        client: u64,
        daily: QuotaClass,
        more: u64,
        admitted: ClockReading,
    ) -> Verdict {
        ready(self.0.count_more(client, daily, more, admitted))
    }

    pub fn client_quotas(&self, client: u64) -> Quotas {
        ready(self.0.client_quotas(client))
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the counts of one server wait for nothing"),
    }
}

fn counters(limits: Limits) -> (Counters, ManualClock) {
    let clock = ManualClock::new();
    (Counters::new(limits, &clock), clock)
}

#[test]
fn thirty_requests_pass_per_minute_from_the_first_request_on() {
    let (counters, clock) = counters(LIMITS);
    assert_eq!(
        counters.client_quotas(1).minute,
        Quota { limit: 30, remaining: 30, reset_millis: 60_000 }
    );
    for at in 1..=30 {
        let verdict = counters.count(1, None);
        assert_eq!((verdict.refusal, verdict.quotas.minute.remaining), (None, 30 - at));
        clock.advance(1_000);
    }
    let refused = counters.count(1, Some(QuotaClass::List));
    assert_eq!(refused.refusal, Some(Refusal::Minute));
    assert_eq!(refused.quotas.minute, Quota { limit: 30, remaining: 0, reset_millis: 30_000 });
    assert_eq!(
        refused.message().unwrap(),
        "IP rate limit exceeded (max 30 requests per minute). Please try again in 30 seconds \
         (at 20:49:01 UTC)."
    );
    assert_eq!(refused.quotas.daily[0].remaining, 500, "a refused request is not counted");
    assert_eq!(counters.count(2, None).refusal, None, "other clients are not refused");
    clock.advance(29_999);
    assert_eq!(counters.count(1, None).quotas.minute.reset_seconds(), 1);
    assert_eq!(counters.count(1, None).refusal, Some(Refusal::Minute));
    clock.advance(1);
    let again = counters.count(1, None);
    assert_eq!((again.refusal, again.quotas.minute.reset_seconds()), (None, 60));
}

#[test]
fn lists_and_searches_have_separate_daily_quotas() {
    let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
    for _ in 0..500 {
        assert_eq!(counters.count(1, Some(QuotaClass::List)).refusal, None);
    }
    let refused = counters.count(1, Some(QuotaClass::List));
    assert_eq!(refused.refusal, Some(Refusal::Day(QuotaClass::List)));
    assert_eq!(
        refused.quotas.minute.remaining, 499,
        "a request that the day refuses counts for the minute"
    );
    assert_eq!(
        refused.message().unwrap(),
        "Your daily quota for List/Filter requests has been exceeded. Please try again in \
         3 hours 12 minutes (at 00:00:00 UTC)."
    );
    assert_eq!(refused.reset_seconds(), 3 * 3_600 + 12 * 60);
    assert_eq!(refused.reset_at() % 86_400, 0);
    assert_eq!(counters.count(1, None).refusal, None, "records have no daily quota");
    for _ in 0..50 {
        assert_eq!(counters.count(1, Some(QuotaClass::Search)).refusal, None);
    }
    let refused = counters.count(1, Some(QuotaClass::Search));
    assert_eq!(refused.refusal, Some(Refusal::Day(QuotaClass::Search)));
    assert!(refused.message().unwrap().starts_with("Your daily quota for Search requests"));
    // The quota lasts to the last millisecond of the day.
    clock.advance(DAY_MILLIS - START_MILLIS % DAY_MILLIS - 1);
    assert_eq!(
        counters.count(1, Some(QuotaClass::List)).refusal,
        Some(Refusal::Day(QuotaClass::List))
    );
    assert_eq!(counters.count(1, Some(QuotaClass::List)).reset_seconds(), 1);
    clock.advance(1);
    assert_eq!(counters.count(1, Some(QuotaClass::List)).quotas.daily[0].remaining, 499);
}

#[test]
fn readers_and_programs_do_not_starve_each_other() {
    let limits = Limits { minute: 10_000, pages: 10_000, free: 100_000, ..LIMITS };
    let (counters, _) = counters(limits);
    let pass = |class| counters.count(1, Some(class)).refusal;
    for _ in 0..599 {
        assert_eq!(pass(QuotaClass::Browse), None);
    }
    let left = |counters: &Counters| counters.client_quotas(1).daily.map(|quota| quota.remaining);
    assert_eq!(left(&counters), [500, 50, 10], "pages are neither lists nor searches");
    // Ten completions count as one page.
    for _ in 0..10 {
        assert_eq!(counters.count_completion(1).refusal, None);
    }
    assert_eq!(counters.client_quotas(1).minute.remaining, 10_000);
    let refusal = Some(Refusal::Day(QuotaClass::Browse));
    assert_eq!(counters.count_completion(1).refusal, refusal);
    let refused = counters.count(1, Some(QuotaClass::Browse));
    assert_eq!(refused.refusal, refusal);
    let message = refused.message().unwrap();
    assert!(
        message.starts_with("Your daily quota for Browse requests has been exceeded."),
        "{message}"
    );
    assert_eq!((pass(QuotaClass::List), pass(QuotaClass::Search)), (None, None));
    assert_eq!(left(&counters), [499, 49, 0]);
    assert_eq!(counters.usage().pool, [1, 1, 6_000]);
}

#[test]
fn pages_have_a_minute_of_their_own() {
    let (counters, clock) = counters(Limits { pages: 2, ..LIMITS });
    let page = || counters.count(1, Some(QuotaClass::Browse));
    assert_eq!([page().refusal, page().refusal], [None, None]);
    let refused = page();
    let message = refused.message().unwrap();
    assert!(message.starts_with("IP rate limit exceeded (max 2 pages per minute)."), "{message}");
    assert_eq!((refused.reset_seconds(), refused.quotas.minute.remaining), (60, 30));
    // Further work of a page counts towards the same minute.
    assert!(counters.count_work(1, Some(QuotaClass::Browse)).refusal.is_some());
    assert_eq!(counters.count_work(1, None).refusal, None);
    assert_eq!(counters.count(2, Some(QuotaClass::Browse)).refusal, None, "another client");
    clock.advance(60_000);
    assert_eq!(page().refusal, None);
}

#[test]
fn a_page_needs_a_whole_page_of_the_pool_and_is_given_back_whole() {
    let limits = Limits { pool: [40, 3, 25], network_pool: [40, 3, 25], ..LIMITS };
    let (counters, _) = counters(limits);
    let page = |client| counters.count(client, Some(QuotaClass::Browse));
    let (first, second) = (page(1), page(2));
    assert_eq!((first.refusal, second.refusal), (None, None));
    assert_eq!(page(3).refusal, Some(Refusal::Pool(QuotaClass::Browse)));
    let completion = counters.count_completion(3);
    assert_eq!((completion.refusal, counters.usage().pool[2]), (None, 21));
    counters.refund(3, QuotaClass::Browse, 1, completion.at);
    counters.refund(2, QuotaClass::Browse, QuotaClass::Browse.units(), second.at);
    assert_eq!(counters.usage().pool, [0, 0, 10]);
    assert_eq!(page(3).refusal, None);
}

#[test]
fn completions_have_a_minute_apart_from_other_requests() {
    let (counters, clock) = counters(Limits { free: 30, ..LIMITS });
    for _ in 0..3 {
        assert_eq!(counters.count_completion(1).refusal, None);
    }
    let refused = counters.count_completion(1);
    assert!(matches!(refused.refusal, Some(Refusal::Free(_))), "{refused:?}");
    let quotas = counters.client_quotas(1);
    assert_eq!((quotas.minute.remaining, quotas.daily[2].remaining), (30, 6_000 - 3));
    clock.advance(60_000);
    assert_eq!(counters.count_completion(1).refusal, None);
}

#[test]
fn a_pool_counts_all_clients_together() {
    let (counters, clock) = counters(Limits { pool: [40, 3, 30], ..LIMITS });
    for client in 0..40 {
        assert_eq!(counters.count(client, Some(QuotaClass::List)).refusal, None);
    }
    let refused = counters.count(99, Some(QuotaClass::List));
    assert_eq!(refused.refusal, Some(Refusal::Pool(QuotaClass::List)));
    assert!(refused.message().unwrap().starts_with(
        "The service's daily pool for List/Filter requests has been used up. Please try again in "
    ));
    assert_eq!(refused.quotas.daily[0].remaining, 500);
    assert_eq!(counters.count(99, Some(QuotaClass::Search)).refusal, None);
    assert_eq!(counters.count(99, None).refusal, None);
    clock.advance(DAY_MILLIS);
    assert_eq!(counters.count(99, Some(QuotaClass::List)).refusal, None);
}

#[test]
fn one_network_takes_at_most_its_share_of_a_pool() {
    let limits = Limits { pool: [40, 3, 30], network_pool: [10, 1, 10], ..LIMITS };
    let (counters, clock) = counters(limits);
    let client = |network: u8, host: u8| client_key([192, 0, network, host].into());
    let lists = |network: u8| {
        (0..=255)
            .filter(|host| {
                counters.count(client(network, *host), Some(QuotaClass::List)).refusal.is_none()
            })
            .count()
    };
    assert_eq!(lists(1), 10);
    let refused = counters.count(client(1, 7), Some(QuotaClass::List)).refusal;
    assert_eq!(refused, Some(Refusal::Pool(QuotaClass::List)));
    assert_eq!(counters.count(client(1, 7), Some(QuotaClass::Search)).refusal, None);
    assert_eq!([lists(2), lists(3), lists(4), lists(5)], [10, 10, 10, 0]);
    clock.advance(DAY_MILLIS);
    assert_eq!(lists(1), 10);
}

#[test]
fn free_requests_have_a_minute_of_their_own() {
    let (counters, clock) = counters(Limits { free: 3, ..LIMITS });
    let refusals = || (0..5).map(|_| counters.count_free(1).refusal).collect::<Vec<_>>();
    clock.advance(500);
    let found = refusals();
    let quota = Quota { limit: 3, remaining: 0, reset_millis: 60_000 };
    assert_eq!(found[..3], [None; 3]);
    assert_eq!(found[3..], [Some(Refusal::Free(quota)); 2]);
    assert_eq!(counters.count_free(2).refusal, None);
    let verdict = counters.count(1, None);
    assert_eq!((verdict.refusal, verdict.quotas.minute.remaining), (None, 29));
    let message = counters.count_free(1).message().unwrap();
    assert!(message.starts_with("IP rate limit exceeded (max 3 requests per minute)."));
    clock.advance(60_000);
    assert_eq!(counters.count_free(1).refusal, None);
}

#[test]
fn a_refund_frees_the_pool_and_not_the_quota() {
    let (counters, clock) =
        counters(Limits { pool: [2, 1, 10], network_pool: [2, 1, 10], ..LIMITS });
    for _ in 0..20 {
        let verdict = counters.count(1, Some(QuotaClass::List));
        assert_eq!(verdict.refusal, None);
        counters.refund(1, QuotaClass::List, 1, verdict.at);
    }
    assert_eq!(counters.client_quotas(1).daily[0].remaining, 480);
    assert_eq!(counters.usage().pool, [0; 3]);
    let late = counters.count(1, Some(QuotaClass::List));
    clock.advance(DAY_MILLIS);
    counters.count(1, Some(QuotaClass::List));
    counters.refund(1, QuotaClass::List, 1, late.at);
    assert_eq!(counters.usage().pool, [1, 0, 0], "yesterday's request is not in today's pool");
}

#[test]
fn a_request_that_counts_as_many_is_counted_whole_or_not_at_all() {
    let limits =
        Limits { daily: [10, 1, 10], pool: [12, 1, 10], network_pool: [12, 1, 10], ..LIMITS };
    let (counters, clock) = counters(limits);
    let stream = |client: u64, more: u64| {
        let admitted = counters.count(client, Some(QuotaClass::List));
        assert_eq!(admitted.refusal, None);
        let verdict = counters.count_more(client, QuotaClass::List, more, admitted.at);
        if verdict.refusal.is_some() {
            counters.refund(client, QuotaClass::List, 1, admitted.at);
        }
        (verdict.refusal, verdict.quotas.daily[0].remaining, counters.usage().pool[0])
    };
    assert_eq!(stream(1, 0), (None, 9, 1));
    assert_eq!(stream(1, 5), (None, 3, 7));
    assert_eq!(stream(1, 3), (Some(Refusal::Day(QuotaClass::List)), 3, 7));
    assert_eq!(stream(1, 2), (None, 0, 10));
    assert_eq!(stream(2, 2), (Some(Refusal::Pool(QuotaClass::List)), 10, 10));
    assert_eq!(stream(2, u64::MAX), (Some(Refusal::Day(QuotaClass::List)), 10, 10));
    assert_eq!(stream(2, 1), (None, 8, 12));
    assert_eq!(counters.client_quotas(2).minute.remaining, 27);
    let counted = counters.client_quotas(2);
    let at = counters.count_free(2).at;
    counters.take_back(2, QuotaClass::List, 1, at);
    assert_eq!((counters.client_quotas(2).daily[0].remaining, counters.usage().pool[0]), (9, 11));
    clock.advance(DAY_MILLIS);
    counters.take_back(2, QuotaClass::List, 1, at);
    assert_eq!(counters.client_quotas(2).daily[0].remaining, counted.daily[0].limit);
}

#[test]
fn days_follow_the_clock_but_for_a_step_of_less_than_an_hour() {
    let (counters, clock) = counters(Limits { minute: 1_000, ..LIMITS });
    let used = || 500 - counters.client_quotas(1).daily[0].remaining;
    for _ in 0..5 {
        counters.count(1, Some(QuotaClass::List));
    }
    // A jump ahead begins another day, and the way back the day of the clock.
    clock.set_utc(START_MILLIS + 30 * DAY_MILLIS);
    counters.count(1, Some(QuotaClass::List));
    assert_eq!(used(), 1);
    clock.set_utc(START_MILLIS);
    assert_eq!((used(), counters.usage().pool), (0, [0; 3]));
    let midnight = (START_MILLIS / DAY_MILLIS + 1) * DAY_MILLIS;
    clock.set_utc(midnight);
    counters.count(1, Some(QuotaClass::List));
    for (back_millis, expected) in [(1, 1), (SET_BACK_MILLIS, 1), (SET_BACK_MILLIS + 1, 0)] {
        clock.set_utc(midnight - back_millis);
        assert_eq!(used(), expected, "{back_millis}");
    }
    // The minute does not depend on UTC.
    assert_eq!(counters.client_quotas(1).minute.remaining, 1_000 - 7);
}

#[test]
fn a_thousand_concurrent_requests_admit_exactly_thirty() {
    for _ in 0..20 {
        let (counters, _) = counters(LIMITS);
        let passed = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..125 {
                        let is_through = counters.count(1, None).refusal.is_none();
                        passed.fetch_add(is_through.into(), Relaxed);
                    }
                });
            }
        });
        assert_eq!(passed.load(Relaxed), 30);
    }
}

#[test]
fn counts_stop_at_the_largest_integer() {
    let limits = Limits {
        minute: u32::MAX,
        pages: u32::MAX,
        free: u32::MAX,
        daily: [u32::MAX; QuotaClass::COUNT],
        pool: [u64::MAX; QuotaClass::COUNT],
        network_pool: [u64::MAX; QuotaClass::COUNT],
        ..LIMITS
    };
    let (counters, _) = counters(limits);
    counters.count(1, Some(QuotaClass::List));
    {
        let Windows::Local(windows) = &counters.0.0 else { panic!("one server counts") };
        let mut all = windows.lock();
        let (counts, _) = all.clients.touch(1);
        (counts.minute, counts.daily[QuotaClass::List as usize]) = (u32::MAX - 1, u32::MAX - 1);
    }
    let last = counters.count(1, Some(QuotaClass::List));
    let remaining =
        |verdict: &Verdict| (verdict.quotas.minute.remaining, verdict.quotas.daily[0].remaining);
    assert_eq!((last.refusal, remaining(&last)), (None, (0, 0)));
    for _ in 0..2 {
        let beyond = counters.count(1, Some(QuotaClass::List));
        assert_eq!((beyond.refusal, remaining(&beyond)), (Some(Refusal::Minute), (0, 0)));
    }
}

#[test]
fn a_duration_is_formatted_in_two_units() {
    let check = |seconds, expected: &str| assert_eq!(in_words(seconds), expected);
    check(1, "1 second");
    check(45, "45 seconds");
    check(65, "1 minute 5 seconds");
    check(120, "2 minutes");
    check(3_600, "1 hour");
    check(3_605, "1 hour 5 seconds");
    check(11_521, "3 hours 12 minutes");
    check(86_400, "24 hours");
}
