//! Side tables: lists of journals, people and organisations that add members to a dump's records.
//!
//! A row is read into what it gives and the keys it is joined by (ISSN, ORCID iD, ROR id); both
//! become rows of the part's object. Which record a row belongs to is the linker's to find out.

pub(crate) mod abdc;
pub(crate) mod cell;
pub(crate) mod detect;
pub(crate) mod doaj;
pub(crate) mod header;
pub(crate) mod journal_list;
pub(crate) mod keys;
pub(crate) mod orcid;
pub(crate) mod read;
pub(crate) mod ror;
pub(crate) mod scopus;
pub(crate) mod value;
pub(crate) mod web_of_science;

use pinakes_format::entity::Entity;

pub use crate::frontend::side::abdc::combine as combine_abdc;
pub use crate::frontend::side::detect::{Recognised, given, recognise};
pub use crate::frontend::side::doaj::combine as combine_doaj;
pub use crate::frontend::side::read::read;
pub use crate::frontend::side::scopus::{combine as combine_scopus, fill as fill_scopus};
pub use crate::frontend::side::value::SideValue;
pub use crate::frontend::side::web_of_science::combine as combine_web_of_science;

/// The side tables there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SideTable {
    /// DOAJ's list of open-access journals.
    Doaj,
    /// SCImago's journal ranking.
    Scimago,
    /// The Scopus source list, or its CiteScore table.
    Scopus,
    /// Journal Citation Reports.
    Jcr,
    /// The ABDC journal quality list.
    Abdc,
    /// ROR's organisations, schema 2.
    Ror,
    /// ORCID's summaries of people.
    Orcid,
}

/// What is known of a side table beside its rows.
struct Facts {
    table: SideTable,
    /// Its word on the command line and in reports.
    name: &'static str,
    /// Whose records it adds to.
    entity: Entity,
    /// What a file of it looks like, for the person whose file does not.
    expected: &'static str,
}

const FACTS: [Facts; 7] = [
    Facts {
        table: SideTable::Doaj,
        name: "doaj",
        entity: Entity::Source,
        expected: "a CSV with the columns `Journal title` and `Journal ISSN (print version)` or \
                   `Journal EISSN (online version)`",
    },
    Facts {
        table: SideTable::Scimago,
        name: "scimago",
        entity: Entity::Source,
        expected: "a CSV with the columns `Issn`, `SJR` and `SJR Best Quartile`",
    },
    Facts {
        table: SideTable::Scopus,
        name: "scopus",
        entity: Entity::Source,
        expected: "a CSV with an ISSN column and `Sourcerecord ID`, `Active or Inactive` or \
                   `CiteScore`",
    },
    Facts {
        table: SideTable::Jcr,
        name: "jcr",
        entity: Entity::Source,
        expected: "a CSV with the columns `ISSN` or `eISSN` and `Journal name`, and a JIF or an \
                   `Edition`",
    },
    Facts {
        table: SideTable::Abdc,
        name: "abdc",
        entity: Entity::Source,
        expected: "a CSV with the columns `ISSN` or `ISSN Online` and `rating`, as `2022 rating`",
    },
    Facts {
        table: SideTable::Ror,
        name: "ror",
        entity: Entity::Institution,
        expected: "ROR records of schema 2, as JSON lines or one JSON array",
    },
    Facts {
        table: SideTable::Orcid,
        name: "orcid",
        entity: Entity::Author,
        expected: "ORCID records as JSON lines, each with an `orcid-identifier` or an `orcid`",
    },
];

impl SideTable {
    /// Every side table.
    pub fn all() -> impl Iterator<Item = SideTable> {
        FACTS.iter().map(|facts| facts.table)
    }

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// Its word on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The table with this word.
    pub fn from_name(name: &str) -> Option<SideTable> {
        SideTable::all().find(|table| table.name() == name)
    }

    /// The table with this discriminant.
    pub fn from_index(index: u8) -> Option<SideTable> {
        FACTS.get(usize::from(index)).map(|facts| facts.table)
    }

    /// The entity whose records it adds to.
    pub fn entity(self) -> Entity {
        self.facts().entity
    }

    /// What a file of it looks like.
    pub fn expected(self) -> &'static str {
        self.facts().expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_stands_at_its_own_number() {
        for (at, facts) in FACTS.iter().enumerate() {
            assert_eq!(facts.table as usize, at);
            assert_eq!(SideTable::from_name(facts.name), Some(facts.table));
        }
    }
}
