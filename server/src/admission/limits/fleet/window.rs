//! One window of one limit, as one server of a fleet knows it.
//!
//! A server *holds* requests that the store gave it, and *uses* them. All servers together never hold more than
//! the limit. A server therefore uses the requests that it holds without a question:
//!
//! ```text
//! limit 600: others hold 210, this server holds 64 and used 40
//! the next 24 requests pass without a round trip; 600 - 210 - 64 = 326 are left in the store
//! ```

/// The state of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Number of this server as a holder of the window; 0 before the first question. A server that forgot
    /// a window becomes another holder, and leaves the requests of the former holder unused.
    pub holder: u32,
    /// Start by the store's clock, in milliseconds since 1970; 0 if the store does not know the window.
    pub id: u64,
    /// End, in milliseconds of this server's monotonic clock.
    pub ends: u64,
    /// Requests that this server used. More than it holds, if the store was away.
    pub used: u32,
    /// Requests that the store gave this server.
    pub held: u32,
    /// Requests that the store gave other servers.
    pub others: u32,
    /// Requests that this server asks the store for at the moment.
    pub asking: u32,
}

/// The decision on a request, as far as a server knows it without a question to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The server holds enough.
    Passes,
    /// The limit is used up; the store would say the same.
    Refused,
    /// This server cannot decide without the store.
    Asks,
}

/// The store's answer for one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowReply {
    pub id: u64,
    pub left_millis: u64,
    pub held: u32,
    pub others: u32,
}

impl Window {
    /// Whether the window has begun and not ended.
    pub fn is_open(&self, now: u64) -> bool {
        self.ends > now
    }

    /// Milliseconds until the end; 0 if the window is not open.
    pub fn left_millis(&self, now: u64) -> u64 {
        self.ends.saturating_sub(now)
    }

    /// Requests of all servers, as far as this server knows.
    pub fn used_of_fleet(&self, now: u64) -> u32 {
        if self.is_open(now) { self.used.saturating_add(self.others) } else { 0 }
    }

    /// Decides on `need` further requests, as far as this server knows.
    pub fn known(&self, need: u64, limit: u32, now: u64) -> Known {
        let (used, limit) = (u64::from(self.used), u64::from(limit));
        if need > limit {
            return Known::Refused;
        }
        if need == 0 {
            return Known::Passes;
        }
        if !self.is_open(now) {
            return Known::Asks;
        }
        // Requests under way count on what the server holds.
        if used + u64::from(self.asking) + need <= self.held.into() {
            return Known::Passes;
        }
        let is_used_up =
            used + need > self.held.into() && used + u64::from(self.others) + need > limit;
        if is_used_up { Known::Refused } else { Known::Asks }
    }

    /// Whether the server holds enough for `need` further requests, once the store has answered.
    pub fn holds(&self, need: u64) -> bool {
        need == 0 || u64::from(self.used) + need <= self.held.into()
    }

    /// Whether `need` further requests pass while the store is away. Opens the window if it is not open.
    pub fn holds_alone(
        &mut self,
        need: u64,
        limit: u32,
        servers: u32,
        now: u64,
        left_millis: u64,
    ) -> bool {
        if need == 0 {
            return true;
        }
        if !self.is_open(now) {
            let Window { holder, asking, .. } = *self;
            *self = Window { holder, asking, ends: now + left_millis, ..Window::default() };
        }
        u64::from(self.used) + need <= self.alone_max(limit, servers).into()
    }

    /// Requests of the window that this server may use while the store is away: its share of the limit, unless
    /// others held more when the store last answered; in any case what it holds.
    fn alone_max(&self, limit: u32, servers: u32) -> u32 {
        // Rounded up, so that a small limit is not 0 everywhere.
        let share = limit.div_ceil(servers.max(1));
        share.min(limit.saturating_sub(self.others)).max(self.held)
    }

    /// Requests left to a client of this server.
    pub fn remaining(&self, limit: u32, servers: u32, now: u64, is_alone: bool) -> u32 {
        let fleet = limit.saturating_sub(self.used_of_fleet(now));
        if !is_alone {
            return fleet;
        }
        let here = if self.is_open(now) { *self } else { Window::default() };
        fleet.min(here.alone_max(limit, servers).saturating_sub(here.used))
    }

    /// Takes over the store's answer to a question sent at a time of the monotonic clock.
    pub fn apply(&mut self, reply: WindowReply, sent: u64) {
        if reply.id == 0 {
            return;
        }
        if reply.id == self.id {
            // Answers may overtake each other, and within a window these numbers only grow.
            self.held = self.held.max(reply.held);
            self.others = self.others.max(reply.others);
        } else {
            // Requests that passed while the question was under way belong to a window opened here.
            let is_opened_here = self.id == 0 && self.is_open(sent);
            let used = if is_opened_here { self.used } else { 0 };
            let WindowReply { id, held, others, .. } = reply;
            *self = Window { id, used, held, others, ..*self };
        }
        self.ends = sent + reply.left_millis;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(id: u64, held: u32, others: u32) -> WindowReply {
        WindowReply { id, left_millis: 60_000, held, others }
    }

    #[test]
    fn a_server_asks_only_for_what_it_neither_holds_nor_knows_to_be_used_up() {
        let mut window = Window::default();
        assert_eq!(window.known(1, 30, 5), Known::Asks);
        window.apply(reply(9, 3, 20), 5);
        let mut check = |used, need, expected| {
            window.used = used;
            assert_eq!(window.known(need, 30, 6), expected, "{used} {need}");
        };
        check(0, 3, Known::Passes);
        check(2, 1, Known::Passes);
        check(3, 1, Known::Asks);
        check(3, 7, Known::Asks);
        check(3, 8, Known::Refused);
        check(0, 31, Known::Refused);
        check(0, 0, Known::Passes);
        window.asking = 2;
        window.used = 1;
        assert_eq!(window.known(1, 30, 6), Known::Asks, "two under way count on the rest");
        assert_eq!(window.known(1, 30, 60_005), Known::Asks, "the window has ended");
    }

    #[test]
    fn without_the_store_a_server_uses_its_share_of_the_limit() {
        let mut window = Window::default();
        window.apply(reply(9, 6, 10), 0);
        let passed = |window: &mut Window, now| {
            (0..100)
                .filter(|_| {
                    let passes = window.holds_alone(1, 30, 2, now, 60_000);
                    window.used += u32::from(passes);
                    passes
                })
                .count()
        };
        assert_eq!(passed(&mut window, 1), 15);
        assert_eq!(window.remaining(30, 2, 1, true), 0);
        assert_eq!(window.remaining(30, 2, 1, false), 5);
        // Others held 25; this server keeps what it holds.
        let check = |others, held, expected| {
            let mut window = Window::default();
            window.apply(reply(9, held, others), 0);
            assert_eq!(passed(&mut window, 1), expected, "{others} {held}");
        };
        check(25, 2, 5);
        check(25, 5, 5);
        check(30, 0, 0);
        check(0, 20, 20);
        // A window that begins meanwhile has half of the limit.
        assert_eq!(window.remaining(30, 2, 60_000, true), 15);
        assert_eq!(passed(&mut window, 60_000), 15);
        // The store returns, without a memory of the window.
        window.apply(reply(77, 15, 4), 70_000);
        assert_eq!((window.used, window.remaining(30, 2, 70_000, false)), (15, 11));
    }

    #[test]
    fn a_new_window_starts_at_zero_and_late_answers_change_nothing() {
        let mut window = Window::default();
        window.apply(reply(9, 3, 4), 0);
        window.used = 3;
        window.apply(reply(9, 2, 3), 0);
        assert_eq!((window.held, window.others, window.used), (3, 4, 3));
        window.apply(reply(10, 1, 0), 60_001);
        assert_eq!((window.held, window.others, window.used), (1, 0, 0));
        window.apply(WindowReply { id: 0, left_millis: 0, ..reply(0, 0, 0) }, 60_002);
        assert_eq!(window.held, 1);
    }
}
