//! The mark of a posting in the word dictionary: where in a name the word stands.

use crate::index::prefix_stats::Tier;

/// Where in a record's names a word stands. Where several apply, the dictionary keeps the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum NamePart {
    /// The word is the record's whole own name.
    Whole = 0,
    /// The word is the first of the record's own name.
    First = 1,
    /// The word is the first of an alternative name.
    FirstOfAlternative = 2,
    /// The word stands anywhere else.
    Other = 3,
}

impl NamePart {
    /// Decodes a mark. An unknown mark counts as [`NamePart::Other`].
    pub fn from_mark(mark: u8) -> NamePart {
        match mark {
            0 => NamePart::Whole,
            1 => NamePart::First,
            2 => NamePart::FirstOfAlternative,
            _ => NamePart::Other,
        }
    }

    /// The tier of a record with a word in this place, for a search text that is the word
    /// (`is_word`) or the word's beginning.
    pub fn tier(self, is_word: bool) -> Tier {
        match self {
            NamePart::Whole if is_word => Tier::Equals,
            NamePart::Whole | NamePart::First => Tier::Begins,
            NamePart::FirstOfAlternative => Tier::Alternative,
            NamePart::Other => Tier::Words,
        }
    }
}
