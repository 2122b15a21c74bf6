//! The limits, and how much of them is in use.

use pinakes_answer::QuotaClass;

/// The numbers of requests per minute and per day, each an option of the server. Arrays are by [`QuotaClass`], in
/// [units](QuotaClass::units).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests per minute and client.
    pub minute: u32,
    /// Pages for people per minute and client.
    pub pages: u32,
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
            "limits are on, for clients of this machine too: each client gets {} requests and {} pages for people a \
             minute, and {}; all clients together get {}; --no-limits turns the limits off",
            self.minute,
            self.pages,
            of_day(self.daily.map(u64::from)),
            of_day(self.pool)
        )
    }
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
