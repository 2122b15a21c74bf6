//! The store of a fleet's counts: a server of the Redis protocol, and one script.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, FromRedisValue, Script, cmd};
use tokio::{sync::Notify, time};

use crate::admission::limits::fleet::window::WindowReply;

/// Takes requests out of windows.
const TAKE: &str = include_str!("take.lua");
/// A key with a random value, which a store without its former memory does not have.
const MEMORY_KEY: &str = "pinakes:memory";
/// Timeout of what no request waits for: connecting, watching, and reporting counts.
const SLOW_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval at which the server looks whether the store answers.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// Answers in a row that come too late before the server counts alone.
const LATE_MAX: u32 = 3;

/// The question of a script call about one window; see `take.lua`.
#[derive(Clone, Debug)]
pub struct Question {
    pub key: String,
    pub numbers: [u64; 9],
}

/// The store's answer.
#[derive(Debug)]
pub struct Answer {
    /// The store's clock, in milliseconds since 1970.
    pub now: u64,
    /// One for each question.
    pub windows: Vec<WindowReply>,
}

/// Why the server counts alone.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store refused a command, or the connection ended.
    #[error("{0}")]
    Redis(#[from] redis::RedisError),
    /// The store did not answer in time.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// The script's answer has another form.
    #[error("the answer of the script has {0} numbers")]
    Form(usize),
}

/// Counts of calls to the store since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCalls {
    /// Calls for requests of clients.
    pub made: u64,
    /// Calls without an answer in time, among those made.
    pub failed: u64,
}

/// A connection to the store, shared by all requests.
pub struct Store {
    client: Client,
    /// `None` while the store is away.
    link: ArcSwapOption<MultiplexedConnection>,
    take: Script,
    /// First part of the server's fields in the hashes of the store.
    server: String,
    servers: u32,
    /// How long a request waits for the store.
    timeout: Duration,
    late: AtomicU32,
    made: AtomicU64,
    failed: AtomicU64,
    lost: Notify,
}

impl Store {
    /// Prepares a connection; [`Store::connect`] opens it.
    pub fn new(client: Client, server: u64, servers: u32, timeout: Duration) -> Store {
        Store {
            client,
            link: ArcSwapOption::empty(),
            take: Script::new(TAKE),
            server: format!("{server:016x}"),
            servers,
            timeout,
            late: AtomicU32::new(0),
            made: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            lost: Notify::new(),
        }
    }

    /// The address without user and password, for the log.
    pub fn address(&self) -> String {
        self.client.get_connection_info().addr().to_string()
    }

    /// Whether the store is away, so that the server counts alone.
    pub fn is_away(&self) -> bool {
        self.link.load().is_none()
    }

    /// Calls since the start.
    pub fn calls(&self) -> StoreCalls {
        StoreCalls { made: self.made.load(Relaxed), failed: self.failed.load(Relaxed) }
    }

    /// Asks for a request of a client; `None` if the store is away or does not answer in time.
    pub async fn ask(&self, questions: &[Question]) -> Option<Answer> {
        let mut link = self.link.load().as_deref()?.clone();
        self.made.fetch_add(1, Relaxed);
        let error = match time::timeout(self.timeout, self.call(&mut link, questions)).await {
            Ok(Ok(answer)) => {
                self.late.store(0, Relaxed);
                return Some(answer);
            }
            Ok(Err(error)) => error,
            Err(_) => StoreError::Late(self.timeout),
        };
        self.failed.fetch_add(1, Relaxed);
        let is_late = matches!(error, StoreError::Late(_));
        if !is_late || self.late.fetch_add(1, Relaxed) + 1 >= LATE_MAX {
            self.lose(&error);
        }
        None
    }

    /// Reports counts that no request waits for.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub async fn report(
        &self,
        link: &mut MultiplexedConnection,
        questions: &[Question],
    ) -> Result<Answer, StoreError> {
        slow(self.call(link, questions)).await
    }

    async fn call(
        &self,
        link: &mut MultiplexedConnection,
        questions: &[Question],
    ) -> Result<Answer, StoreError> {
        let mut call = self.take.prepare_invoke();
        call.arg(&self.server).arg(self.servers);
        for Question { key, numbers } in questions {
            call.key(key.as_str());
            call.arg(numbers.as_slice());
        }
        let numbers: Vec<i64> = call.invoke_async(link).await?;
        parse_answer(&numbers, questions.len()).ok_or(StoreError::Form(numbers.len()))
    }

    /// Connects; returns the connection and the value of the store's memory.
    ///
    /// # Errors
    ///
    /// The store does not answer, or refuses the server.
    pub async fn connect(
        &self,
        memory: &str,
    ) -> Result<(MultiplexedConnection, String), StoreError> {
        // Requests have a timeout of their own.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(SLOW_TIMEOUT))
            .set_response_timeout(None);
        let connecting = async {
            let mut link =
                self.client.get_multiplexed_async_connection_with_config(&config).await?;
            self.take.prepare_invoke().load_async(&mut link).await?;
            cmd("SET").arg(MEMORY_KEY).arg(memory).arg("NX").exec_async(&mut link).await?;
            let memory = cmd("GET").arg(MEMORY_KEY).query_async(&mut link).await?;
            Ok((link, memory))
        };
        slow(connecting).await
    }

    /// Lets requests ask the store.
    pub fn set_link(&self, link: MultiplexedConnection) {
        self.late.store(0, Relaxed);
        self.link.store(Some(Arc::new(link)));
    }

    /// Waits until the store is lost.
    pub async fn lost(&self) {
        loop {
            tokio::select! {
                () = self.lost.notified() => {}
                () = time::sleep(WATCH_INTERVAL) => {}
            }
            let Some(mut link) = self.link.load().as_deref().cloned() else { return };
            if let Err(error) = slow(async { query::<String>("PING", &mut link).await }).await {
                self.lose(&error);
                return;
            }
        }
    }

    fn lose(&self, error: &StoreError) {
        if self.link.swap(None).is_some() {
            tracing::error!(
                store = %self.address(),
                %error,
                "the store of counters is away; this server counts alone, each limit divided by --fleet-size"
            );
        }
        self.lost.notify_one();
    }
}

async fn query<T: FromRedisValue>(
    command: &str,
    link: &mut MultiplexedConnection,
) -> Result<T, StoreError> {
    Ok(cmd(command).query_async(link).await?)
}

/// Limits the time of what no request waits for.
async fn slow<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    time::timeout(SLOW_TIMEOUT, work).await.unwrap_or(Err(StoreError::Late(SLOW_TIMEOUT)))
}

/// Checks the numbers of the script's answer.
fn parse_answer(numbers: &[i64], questions: usize) -> Option<Answer> {
    let (now, windows) = numbers.split_first()?;
    let (windows, []) = windows.as_chunks::<4>() else { return None };
    let count = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
    let time = |number: i64| number.max(0).unsigned_abs();
    let windows: Vec<WindowReply> = windows
        .iter()
        .map(|[id, left, held, others]| WindowReply {
            id: time(*id),
            left_millis: time(*left),
            held: count(*held),
            others: count(*others),
        })
        .collect();
    (windows.len() == questions).then_some(Answer { now: time(*now), windows })
}
