//! The limits, how much of them a client has left, and how much is in use.

/// A class of requests with a daily quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaClass {
    /// A page of a list.
    List = 0,
    /// Autocomplete.
    Search = 1,
    /// Pages for people, and the completions of their search box.
    Browse = 2,
}

impl QuotaClass {
    /// Number of classes, the length of arrays by class.
    pub const COUNT: usize = 3;
    /// All classes, in the order of arrays by class.
    pub const ALL: [QuotaClass; QuotaClass::COUNT] =
        [QuotaClass::List, QuotaClass::Search, QuotaClass::Browse];

    /// Units that a request of the class takes from the windows of a day. A completion of the search box takes 1
    /// unit of [`QuotaClass::Browse`], so that 10 completions count as one page.
    pub const fn units(self) -> u32 {
        match self {
            QuotaClass::List | QuotaClass::Search => 1,
            QuotaClass::Browse => 10,
        }
    }

    /// The label of the class in metrics, and in the keys of a fleet's store.
    pub const fn label(self) -> &'static str {
        match self {
            QuotaClass::List => "list",
            QuotaClass::Search => "search",
            QuotaClass::Browse => "browse",
        }
    }

    /// The name of the class in messages.
    pub fn name(self) -> &'static str {
        match self {
            QuotaClass::List => "List/Filter",
            QuotaClass::Search => "Search",
            QuotaClass::Browse => "Browse",
        }
    }
}

/// The numbers of requests per minute and per day, each an option of the server. Arrays are by [`QuotaClass`], in
/// [units](QuotaClass::units).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests per minute and client.
    pub minute: u32,
    /// Requests per minute and client that count towards nothing else.
    pub free: u32,
    /// Units per day and client.
    pub daily: [u32; QuotaClass::COUNT],
    /// Units per day of all clients together.
    pub pool: [u64; QuotaClass::COUNT],
    /// Units per day of all clients in one network.
    pub network_pool: [u64; QuotaClass::COUNT],
    /// Clients counted exactly; a new client beyond replaces the least recently seen.
    pub clients_max: u32,
}

impl Limits {
    /// Converts limits in requests to limits in [units](QuotaClass::units).
    pub fn in_units(mut self) -> Limits {
        for class in QuotaClass::ALL {
            let (at, units) = (class as usize, class.units());
            self.daily[at] = self.daily[at].saturating_mul(units);
            for pool in [&mut self.pool, &mut self.network_pool] {
                pool[at] = pool[at].saturating_mul(units.into());
            }
        }
        self
    }

    /// The limits in words, for the log.
    pub(super) fn in_words(&self) -> String {
        let of_day = |units: [u64; QuotaClass::COUNT]| {
            let [lists, searches, pages] =
                QuotaClass::ALL.map(|class| units[class as usize] / u64::from(class.units()));
            format!("{lists} lists, {searches} searches and {pages} pages for people a day")
        };
        format!(
            "limits are on, for clients of this machine too: each client gets {} requests a minute, and {}; all \
             clients together get {}; --no-limits turns the limits off",
            self.minute,
            of_day(self.daily.map(u64::from)),
            of_day(self.pool)
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
    /// The day by [`QuotaClass`], in [units](QuotaClass::units).
    pub daily: [Quota; QuotaClass::COUNT],
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
    /// Use of the pools by all clients today, by [`QuotaClass`], in [units](QuotaClass::units).
    pub pool: [u64; QuotaClass::COUNT],
    /// Limits of the pools.
    pub pool_max: [u64; QuotaClass::COUNT],
}
