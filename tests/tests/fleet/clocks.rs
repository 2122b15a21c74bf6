//! Servers whose clocks differ: the store's clock decides windows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use pinakes_answer::QuotaClass;
use pinakes_server::parts::{Clock, ClockReading, Limits, RateLimiter, StoreClient};
use pinakes_tests::client::REPLY_TIMEOUT;
use tokio::task::JoinSet;

use crate::fleet::store::Store;

const DAY_MILLIS: u64 = 86_400_000;
const LIMITS: Limits = Limits {
    minute: 300,
    pages: 60,
    free: 1_200,
    daily: [100, 50, 1_200],
    pool: [10_000, 1_000, 120_000],
    network_pool: [10_000, 1_000, 120_000],
    clients_max: 1_000,
};

/// A clock that is wrong by some milliseconds, and that a test moves.
#[derive(Clone)]
struct WrongClock {
    begun: Instant,
    utc: u64,
    moved: Arc<AtomicU64>,
}

impl WrongClock {
    fn new(utc: u64) -> WrongClock {
        WrongClock { begun: Instant::now(), utc, moved: Arc::default() }
    }
}

impl Clock for WrongClock {
    fn now(&self) -> ClockReading {
        let passed = self.begun.elapsed().as_millis() as u64 + self.moved.load(Relaxed);
        ClockReading { monotonic: 86_400_000 + passed, utc: self.utc + passed }
    }
}

fn utc_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Starts a limiter and waits until it reaches the store.
async fn limiter(store: &Store, clock: &WrongClock) -> Arc<RateLimiter> {
    let client = StoreClient::open(store.url()).unwrap();
    let timeout = Duration::from_secs(9);
    let limiter = RateLimiter::of_fleet(LIMITS, Box::new(clock.clone()), client, 2, timeout);
    let limiter = Arc::new(limiter);
    let kept = Arc::clone(limiter.fleet().unwrap());
    let fleet = Arc::clone(&kept);
    tokio::spawn(async move { kept.keep_store().await });
    let begun = Instant::now();
    while fleet.is_alone() {
        assert!(begun.elapsed() < REPLY_TIMEOUT);
        tokio::task::yield_now().await;
    }
    limiter
}

#[tokio::test]
async fn the_clock_of_the_store_decides_days_and_their_ends() {
    let Some(store) = Store::start("the_clock_of_the_store_decides_days_and_their_ends") else {
        return;
    };
    let now = utc_now();
    let clocks = [now - 3 * DAY_MILLIS, now + 10 * 3_600_000].map(WrongClock::new);
    let limiters = [limiter(&store, &clocks[0]).await, limiter(&store, &clocks[1]).await];
    let mut passed = 0;
    for at in 0..120 {
        let verdict = limiters[at % 2].count(7, Some(QuotaClass::List)).await;
        passed += u32::from(verdict.refusal.is_none());
        let ends = verdict.at.utc + verdict.quotas.daily[0].reset_millis;
        let off = ends.abs_diff((utc_now() / DAY_MILLIS + 1) * DAY_MILLIS);
        assert!(off == 0 || off == DAY_MILLIS, "the day ends {off} ms off");
    }
    assert_eq!(passed, 100);
    // A server whose clock goes fast finds the window of the store still open.
    clocks[1].moved.store(DAY_MILLIS, Relaxed);
    let verdict = limiters[1].count(7, Some(QuotaClass::List)).await;
    assert!(verdict.refusal.is_some());
    clocks[0].moved.store(50_000, Relaxed);
    let verdict = limiters[0].count(7, None).await;
    assert_eq!((verdict.refusal, verdict.quotas.daily[0].remaining), (None, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_at_two_servers_pass_exactly_to_the_limit() {
    let Some(store) = Store::start("concurrent_requests_at_two_servers_pass_exactly_to_the_limit")
    else {
        return;
    };
    let clock = WrongClock::new(utc_now());
    let limiters = [limiter(&store, &clock).await, limiter(&store, &clock).await];
    let mut tasks = JoinSet::new();
    for at in 0..1_000 {
        let limiter = Arc::clone(&limiters[at % 2]);
        tasks.spawn(async move { limiter.count(7, None).await.refusal.is_none() });
    }
    let passed = tasks.join_all().await.into_iter().filter(|passed| *passed).count();
    // One of them may hold a lease of 300 / 16 = 18.
    assert!((282..=300).contains(&passed), "{passed}");
}
