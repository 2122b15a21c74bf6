//! Side tables: lists of journals, people and organisations that add members to records.
//!
//! Reading a row yields a value and the keys that join it: ISSN, ORCID iD or ROR id. Both go into
//! the part's object; the linker finds the records with those keys.
//!
//! To add a table, write its module with a [`SideTableSpec`], add the spec to [`SIDE_TABLES`], and
//! add a variant to [`SideTable`].

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
pub(crate) mod spec;
pub(crate) mod value;
pub(crate) mod web_of_science;

use pinakes_format::entity::Entity;

pub use crate::frontend::side::journal_list::CombineRows;
pub use crate::frontend::side::scopus::fill as fill_scopus;
pub use crate::frontend::side::value::SideValue;

use crate::frontend::side::spec::SideTableSpec;
use crate::object::side_table::SideTable;

/// Every side table, at the position of its discriminant.
pub static SIDE_TABLES: [&SideTableSpec; 7] = [
    &doaj::SPEC,
    &scopus::SCIMAGO_SPEC,
    &scopus::SCOPUS_SPEC,
    &web_of_science::SPEC,
    &abdc::SPEC,
    &ror::SPEC,
    &orcid::SPEC,
];

impl SideTable {
    pub fn spec(self) -> &'static SideTableSpec {
        SIDE_TABLES[self as usize]
    }

    /// The prefix on the command line and the name in reports.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The entity whose records the table extends.
    pub fn entity(self) -> Entity {
        self.spec().entity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_registered_at_its_discriminant() {
        assert_eq!(SideTable::all().count(), SIDE_TABLES.len());
        for (index, table) in SideTable::all().enumerate() {
            assert_eq!(table as usize, index);
            assert_eq!(SideTable::from_index(table as u8), Some(table));
            assert_eq!(table.spec().table, table);
            let same_name = SIDE_TABLES.iter().filter(|spec| spec.name == table.name());
            assert_eq!(same_name.count(), 1);
        }
    }
}
