//! The side tables whose rows an object may hold.

/// A side table: rows that add members to records of other inputs.
///
/// An object stores the discriminant, so a new table goes to the end. `frontend::side` registers
/// how each table is detected and read.
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

impl SideTable {
    const ALL: [SideTable; 7] = [
        SideTable::Doaj,
        SideTable::Scimago,
        SideTable::Scopus,
        SideTable::Jcr,
        SideTable::Abdc,
        SideTable::Ror,
        SideTable::Orcid,
    ];

    pub fn all() -> impl Iterator<Item = SideTable> {
        SideTable::ALL.into_iter()
    }

    /// The table with a discriminant; `None` where no table has it.
    pub fn from_index(index: u8) -> Option<SideTable> {
        SideTable::ALL.get(usize::from(index)).copied()
    }
}
