//! Counts the shares of a resource by holder: bytes of replies, permits, connections.

use std::collections::HashMap;

/// The shares of a resource. A holder is the key of a client or of a network.
#[derive(Debug, Default)]
pub struct Shares {
    total: usize,
    /// Holders with nothing have no entry.
    holders: HashMap<u64, usize>,
}

impl Shares {
    /// The sum of all shares.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The share of a holder.
    pub fn of(&self, holder: u64) -> usize {
        self.holders.get(&holder).copied().unwrap_or_default()
    }

    /// Gives an amount to a holder, if the holder then has at most `max`; returns whether it does.
    pub fn give(&mut self, holder: u64, amount: usize, max: usize) -> bool {
        if amount > max.saturating_sub(self.of(holder)) {
            return false;
        }
        if amount > 0 {
            *self.holders.entry(holder).or_default() += amount;
            self.total += amount;
        }
        true
    }

    /// Takes an amount back from a holder that has at least this amount.
    pub fn take_back(&mut self, holder: u64, amount: usize) {
        let Some(held) = self.holders.get_mut(&holder) else { return };
        let amount = amount.min(*held);
        *held -= amount;
        self.total -= amount;
        if *held == 0 {
            self.holders.remove(&holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_has_at_most_its_share_and_leaves_nothing_behind() {
        let mut shares = Shares::default();
        assert!(shares.give(1, 3, 4) && shares.give(2, 4, 4));
        assert!(!shares.give(1, 2, 4), "3 + 2 is more than 4");
        assert!(!shares.give(1, usize::MAX, 4));
        assert_eq!((shares.of(1), shares.of(3), shares.total()), (3, 0, 7));
        shares.take_back(1, 1);
        shares.take_back(3, 1);
        assert_eq!((shares.of(1), shares.total()), (2, 6));
        shares.take_back(1, 9);
        shares.take_back(2, 4);
        assert_eq!(shares.total(), 0);
        assert!(shares.holders.is_empty());
    }
}
