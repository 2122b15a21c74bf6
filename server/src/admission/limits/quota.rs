//! The limits, how much of them a client has left, and how much is in use.

/// A class of requests with a daily quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaClass {
    /// A page of a list.
    List = 0,
    /// Autocomplete.
    Search = 1,
}

impl QuotaClass {
    /// The name of the class in messages.
    pub fn name(self) -> &'static str {
        match self {
            QuotaClass::List => "List/Filter",
            QuotaClass::Search => "Search",
        }
    }
}

/// The numbers of requests per minute and per day, each an option of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests per minute and client.
    pub minute: u32,
    /// Requests per minute and client that count towards nothing else.
    pub free: u32,
    /// Lists and searches per day and client.
    pub daily: [u32; 2],
    /// Lists and searches per day of all clients together.
    pub pool: [u64; 2],
    /// The same of all clients in one network.
    pub network_pool: [u64; 2],
    /// Clients counted exactly; a new client beyond replaces the least recently seen.
    pub clients_max: u32,
}

impl Limits {
    /// The limits in words, for the log.
    pub(super) fn in_words(&self) -> String {
        let Limits { minute, daily: [lists, searches], pool: [all_lists, all_searches], .. } = self;
        format!(
            "limits are on, for clients of this machine too: each client gets {minute} requests a minute, and \
             {lists} lists and {searches} searches a day; all clients together get {all_lists} lists and \
             {all_searches} searches a day; --no-limits turns the limits off"
        )
    }
}

/// One limit of a client, after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    /// Requests left.
    pub remaining: u32,
    /// Milliseconds until the window ends.
    pub reset_millis: u64,
}

impl Quota {
    /// Seconds until the window ends, rounded up, at least 1.
    pub fn reset_seconds(&self) -> u64 {
        self.reset_millis.div_ceil(1_000).max(1)
    }
}

/// The limits of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    pub minute: Quota,
    /// Lists and searches of the day.
    pub daily: [Quota; 2],
}

/// How much of the limits is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Clients in the table.
    pub clients: u32,
    /// Capacity of the table.
    pub clients_max: u32,
    /// Clients that others replaced since the start.
    pub clients_replaced: u64,
    /// Lists and searches of all clients today.
    pub pool: [u64; 2],
    /// Limits of the pools.
    pub pool_max: [u64; 2],
}
