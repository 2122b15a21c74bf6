//! Side tables at the link: which rows belong to a record, and what the record becomes with them.
//!
//! The keys of all rows of a table are sorted once, on disk. Each record looks its own keys up as
//! it is written, so nothing grows with the dump; what a row gives is read from the mapped object.
//! Of the rows of one record in one table the newest are taken, and combined in an order that
//! depends on them alone.

pub(crate) mod institution;
pub(crate) mod joinable;
pub(crate) mod source;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufWriter, Seek},
};

use pinakes_format::entity::Entity;
use pinakes_format::record;
use pinakes_format::record::value::Table;
use pinakes_format::record::{
    ArchivedAuthor, ArchivedInstitution, ArchivedSource, Author, Institution, Record, Source,
};
use pinakes_format::snapshot::split_blob;
use pinakes_format::storage::blobs::unnamed_file;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::frontend::side::SideValue;
use crate::frontend::side::keys;
use crate::frontend::side::ror::Organisation;
use crate::link::enrich::joinable::Joinable;
use crate::link::external_sort::{Sorter, Spill};
use crate::link::merge::Rows;
use crate::link::resolve::unresolved::Strays;
use crate::link::{Column, IdRow, Linker, Segments, broken};
use crate::object::side::SideSegment;
use crate::object::side_table::SideTable;

/// The accounting of one side table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SideTally {
    /// Rows read.
    pub read: u64,
    /// Of those, rows that belong to a published record.
    pub joined: u64,
    /// Rows that belong to none.
    pub unmatched: u64,
    /// Rows set aside as bad.
    pub quarantined: u64,
}

impl SideTally {
    /// Whether every row read is accounted for.
    pub fn closes(&self) -> bool {
        self.read == self.joined + self.unmatched + self.quarantined
    }
}

/// Every side table of a run.
pub(crate) struct SideTables<'o> {
    tables: BTreeMap<SideTable, Joinable<'o>>,
    /// ROR ids of institutions and their rows, where there is a ROR table.
    by_ror: Option<Column>,
}

impl<'o> Linker<'o> {
    /// Sorts the keys of every side table.
    pub(crate) fn side_tables(
        &self,
        segments: &[Segments<'_>],
        rows: &[Rows],
    ) -> Result<SideTables<'o>> {
        let mut tables = BTreeMap::new();
        for table in SideTable::all() {
            let of_table: Vec<SideSegment<'o>> =
                self.objects.iter().flat_map(|object| object.sides_of(table)).collect();
            if !of_table.is_empty() {
                tables.insert(table, self.joinable(of_table)?);
            }
        }
        let has_ror = tables.contains_key(&SideTable::Ror);
        let by_ror = has_ror.then(|| self.institutions_by_ror(segments, rows)).transpose()?;
        Ok(SideTables { tables, by_ror })
    }

    fn write_sorted<T: Spill>(&self, sorter: Sorter<T>, width: usize) -> io::Result<Column> {
        let mut file = BufWriter::with_capacity(1 << 18, unnamed_file(&self.scratch)?);
        for value in sorter.finish()? {
            value?.write(&mut file)?;
        }
        let mut file = file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        Column::new(file, width)
    }

    /// The ROR ids of institutions, as keys, and their rows.
    fn institutions_by_ror(&self, segments: &[Segments<'_>], rows: &[Rows]) -> Result<Column> {
        let (segments, rows) =
            (&segments[Entity::Institution as usize], &rows[Entity::Institution as usize]);
        let mut sorter = Sorter::new(&self.scratch, self.sorter_bytes());
        for row in 0..rows.order.len() {
            let (_, segment, key) = rows.place(row, segments).ok_or_else(broken)?;
            let blob = segment.blob(&key).ok_or_else(broken)?;
            let (archived, _) = split_blob(blob).ok_or_else(broken)?;
            let institution = record::access::<Institution>(archived).ok_or_else(broken)?;
            let row = u32::try_from(row).map_err(|_| broken())?;
            for id in institution.side_keys() {
                self.spilled(sorter.push(IdRow { id, row }))?;
            }
        }
        self.spilled(self.write_sorted(sorter, 12))
    }
}

/// Records that side tables add to.
trait Sided {
    /// What their rows are joined by.
    fn side_keys(&self) -> Vec<u64>;
}

impl Sided for ArchivedSource {
    fn side_keys(&self) -> Vec<u64> {
        let all = self.issn.iter().flat_map(|all| all.iter());
        let texts = self.issn_l.iter().chain(all).map(|issn| issn.as_str());
        texts.filter_map(keys::parse_issn).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl Sided for ArchivedAuthor {
    fn side_keys(&self) -> Vec<u64> {
        self.orcid.iter().filter_map(|orcid| keys::parse_orcid(&orcid.0.id)).collect()
    }
}

impl Sided for ArchivedInstitution {
    fn side_keys(&self) -> Vec<u64> {
        self.ror.iter().filter_map(|ror| keys::parse_ror(ror)).collect()
    }
}

impl SideTables<'_> {
    /// Whether any table adds to records of an entity.
    fn has(&self, entity: Entity) -> bool {
        self.tables.keys().any(|table| table.entity() == entity)
    }

    /// What a table's rows with any of these keys give.
    fn take<V: SideValue>(&self, table: SideTable, keys: &[u64]) -> Result<Vec<V>> {
        self.tables.get(&table).map_or(Ok(Vec::new()), |table| table.take(keys))
    }

    /// The linked blob of a record with what side tables add to it; `None` where they add nothing.
    pub(crate) fn complete(
        &self,
        entity: Entity,
        blob: &[u8],
        strays: &Strays,
    ) -> Result<Option<Vec<u8>>> {
        if !self.has(entity) {
            return Ok(None);
        }
        let (archived, _) = split_blob(blob).ok_or_else(broken)?;
        match entity {
            Entity::Source => {
                let source = record::access::<Source>(archived).ok_or_else(broken)?;
                let metrics = self.metrics(&source.side_keys())?;
                let doaj = self.doaj(&source.side_keys())?;
                changed::<Source>(blob, |source| source::fill(source, metrics, doaj))
            }
            Entity::Author => {
                let author = record::access::<Author>(archived).ok_or_else(broken)?;
                let profiles = self.take(SideTable::Orcid, &author.side_keys())?;
                changed::<Author>(blob, |author| fill_profile(author, profiles.into_iter().next()))
            }
            Entity::Institution => {
                let institution = record::access::<Institution>(archived).ok_or_else(broken)?;
                let found = self.take(SideTable::Ror, &institution.side_keys())?;
                let Some(organisation) = found.first() else { return Ok(None) };
                let addition = institution::Addition { organisation, tables: self, strays };
                changed::<Institution>(blob, |institution| addition.fill(institution))
            }
            _ => Ok(None),
        }
    }

    /// The row of the institution with a ROR id.
    fn institution_row(&self, key: u64) -> Option<u32> {
        let by_ror = self.by_ror.as_ref()?;
        let pair = by_ror.get(by_ror.find(key)?)?;
        pair.get(8..12)?.try_into().ok().map(u32::from_le_bytes)
    }

    /// The codes that rows joined to institutions may bring along, which the dump may not have.
    pub(crate) fn codes(&self) -> Result<BTreeSet<(u8, String)>> {
        let mut codes = BTreeSet::new();
        let Some(table) = self.tables.get(&SideTable::Ror) else { return Ok(codes) };
        for segment in &table.segments {
            for at in 0..segment.count() {
                let entry = segment.entry(at).ok_or_else(broken)?;
                if self.institution_row(entry.key).is_none() {
                    continue;
                }
                let value = segment.value(&entry).ok_or_else(broken)?;
                let organisation = Organisation::decode(value).ok_or_else(broken)?;
                let country = organisation.location.and_then(|place| place.country_code);
                codes.extend(country.map(|code| (Table::Country as u8, code)));
                let relations = organisation.relations.into_iter();
                let known = relations.filter(|of| self.institution_row(of.key).is_some());
                codes.extend(known.map(|of| (Table::Relationship as u8, of.kind)));
            }
        }
        Ok(codes)
    }

    /// The accounting of every table, which must close.
    pub(crate) fn tallies(
        &self,
        objects: &[&crate::object::Object],
    ) -> Result<BTreeMap<String, SideTally>> {
        let mut tallies = BTreeMap::new();
        for table in SideTable::all() {
            let name = table.name();
            let mut tally = SideTally::default();
            for object in objects {
                let report = object.report();
                tally.read += report.read.get(name).copied().unwrap_or(0);
                tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
            }
            if let Some(rows) = self.tables.get(&table) {
                tally.joined = rows.joined_count();
                tally.unmatched = rows.count() - tally.joined;
            }
            if !tally.closes() {
                return Err(Error::Internal(format!(
                    "the accounting of {name} does not close: {tally:?}"
                )));
            }
            if tally != SideTally::default() {
                tallies.insert(name.to_string(), tally);
            }
        }
        Ok(tallies)
    }
}

/// Gives an author's ORCID what the profile says, the dump's own where that says nothing.
fn fill_profile(author: &mut Author, profile: Option<record::OrcidProfile>) -> bool {
    let (Some(orcid), Some(profile)) = (&mut author.orcid, profile) else { return false };
    let own = std::mem::take(&mut orcid.0);
    orcid.0 = record::OrcidProfile {
        id: own.id,
        name: profile.name.or(own.name),
        biography: profile.biography.or(own.biography),
        emails: profile.emails.or(own.emails),
        external_identifiers: profile.external_identifiers.or(own.external_identifiers),
        websites: profile.websites.or(own.websites),
        outputs_count: profile.outputs_count.or(own.outputs_count),
    };
    true
}

/// A blob whose record `change` has changed; `None` where it says that it has not.
fn changed<R: Record>(blob: &[u8], change: impl FnOnce(&mut R) -> bool) -> Result<Option<Vec<u8>>>
where
    R::Archived: rkyv::Deserialize<R, rkyv::api::high::HighDeserializer<rkyv::rancor::Error>>,
{
    let (archived, cold) = split_blob(blob).ok_or_else(broken)?;
    let archived = record::access::<R>(archived).ok_or_else(broken)?;
    let mut whole = rkyv::deserialize::<R, rkyv::rancor::Error>(archived).map_err(|_| broken())?;
    if !change(&mut whole) {
        return Ok(None);
    }
    let mut arena = rkyv::ser::allocator::Arena::new();
    let archived = record::archive(&whole, &mut arena, vec![0; 4]).map_err(|_| broken())?;
    let mut blob = crate::link::resolve::taxonomy::frame(archived)?;
    blob.extend_from_slice(cold);
    Ok(Some(blob))
}
