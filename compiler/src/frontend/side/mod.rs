//! Side tables: lists of journals, people and organisations that add members to records.
//!
//! Reading a row yields a value and the keys that join it: ISSN, ORCID iD or ROR id. Both go into
//! the part's object; the linker finds the records with those keys.
//!
//! To add a table, write its module with a [`SideTable`] and add it to [`SIDE_TABLES`].

pub(crate) mod abdc;
pub(crate) mod cell;
pub(crate) mod detect;
pub(crate) mod doaj;
pub(crate) mod header;
pub(crate) mod join_keys;
pub(crate) mod journal_list;
pub(crate) mod keys;
pub(crate) mod orcid;
pub(crate) mod read;
pub(crate) mod ror;
pub(crate) mod scopus;
pub(crate) mod table;
pub(crate) mod web_of_science;

use crate::frontend::side::table::SideTable;

/// Every side table. A file is of the first table that accepts its header or first record.
pub static SIDE_TABLES: [&SideTable; 7] = [
    &doaj::TABLE,
    &scopus::SCIMAGO_TABLE,
    &scopus::SCOPUS_TABLE,
    &web_of_science::TABLE,
    &abdc::TABLE,
    &ror::TABLE,
    &orcid::TABLE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_has_its_own_name() {
        for table in SIDE_TABLES {
            assert_eq!(SIDE_TABLES.iter().filter(|other| **other == table).count(), 1, "{table:?}");
        }
    }
}
