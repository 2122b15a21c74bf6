//! The limits that requests count towards. The host counts the requests and has the limits.

/// Records of a stream for each request that it counts as: a page has as many.
pub const RECORDS_PER_REQUEST: u64 = 100;

/// The limits that a request counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// Nothing: OPTIONS, and the request for the limits themselves.
    None,
    /// One request of the minute of free requests.
    Free,
    /// One request of the minute.
    Minute,
    /// One request of the minute and one of the day.
    Daily(QuotaClass),
    /// A completion of the pages' search box: 10 requests of the free minute, and a tenth of a page of the day.
    Completion,
}

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

/// One limit of a client, after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Requests of the whole window.
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
    /// Requests of the minute that the client began.
    pub minute: Quota,
    /// The day by [`QuotaClass`], in [units](QuotaClass::units).
    pub daily: [Quota; QuotaClass::COUNT],
}
