//! The reference list of institution types: the dump's own, or else the nine there are.

/// A type of the fixed list: its code, and what it means. Its id is its place, from 1.
pub struct FixedType {
    /// The code.
    pub code: &'static str,
    /// What it means.
    pub description: &'static str,
}

/// The fixed list, in the order of its ids.
pub static FIXED: [FixedType; 9] = [
    FixedType {
        code: "education",
        description: "Universities, colleges, schools and others that teach and award degrees",
    },
    FixedType {
        code: "healthcare",
        description: "Hospitals, clinics and others that care for patients",
    },
    FixedType { code: "company", description: "Companies and others that work for profit" },
    FixedType {
        code: "archive",
        description: "Libraries, museums and others that keep and show collections",
    },
    FixedType {
        code: "nonprofit",
        description: "Charities, societies, foundations and others that work for no profit",
    },
    FixedType {
        code: "government",
        description: "Ministries, agencies and others run by a state, region or city",
    },
    FixedType {
        code: "facility",
        description: "Laboratories, observatories and others built around research equipment",
    },
    FixedType { code: "funder", description: "Organisations whose work is to fund research" },
    FixedType { code: "other", description: "Institutions of no other type" },
];

/// From here up, ids stand in for types that have none until they are linked.
pub const PROVISIONAL_FROM: u64 = 1 << 62;

/// The id that stands for a code until it gets its place among all codes.
pub fn provisional_id(code: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(code.as_bytes()).as_bytes()[..8]);
    PROVISIONAL_FROM | (u64::from_le_bytes(first) & (PROVISIONAL_FROM - 1))
}

/// A code with its first letter in upper case.
pub fn capitalised(code: &str) -> String {
    let mut letters = code.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
