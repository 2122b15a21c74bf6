//! Institution types: the list for dumps without one, and provisional ids until linking.

/// A type of the fixed list. The id is the position in [`FIXED`], from 1.
pub struct FixedType {
    pub code: &'static str,
    pub description: &'static str,
}

/// The fixed list, in the order of the ids.
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

/// The smallest provisional id. The linker replaces provisional ids.
pub const PROVISIONAL_FROM: u64 = 1 << 62;

/// The provisional id of a code: a hash, so that every part derives the same id.
pub fn provisional_id(code: &str) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(code.as_bytes()).as_bytes()[..8]);
    PROVISIONAL_FROM | (u64::from_le_bytes(first) & (PROVISIONAL_FROM - 1))
}

/// Converts the first letter of a code to upper case.
pub fn capitalised(code: &str) -> String {
    let mut letters = code.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
