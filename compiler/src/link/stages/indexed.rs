//! Indexed, and finished: the indexes of every entity, and the files that describe the others.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use pinakes_format::entity::Entity;
use pinakes_format::schema::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::{Counts, FileKind, HEADER_BYTES, Header, manifest};

use crate::error::{Error, Result};
use crate::link::index::unchanged::Earlier;
use crate::link::previous::state::NextState;
use crate::link::publish::Published;
use crate::link::selection::RecordSelection;
use crate::link::stages::accounting::Counted;
use crate::link::stages::written::Written;
use crate::link::write::manifest::ManifestFacts;
use crate::parallel::cost::Phase;

/// Every file but those that describe the others.
pub(super) struct Indexed<'l, 'o> {
    written: Written<'l, 'o>,
    /// By the plural name of the entity.
    counts: BTreeMap<String, Counts>,
    /// The records of each entity whose index entries were taken over.
    rows_reused: BTreeMap<String, u64>,
    /// The file of hashes and words for the next link, in the scratch directory; `None` of a subset.
    state: Option<PathBuf>,
}

impl<'l, 'o> Written<'l, 'o> {
    /// Indexes the written records. Takes the entries of unchanged records over from the previous snapshot.
    pub(super) fn index(mut self, directory: &Path) -> Result<Indexed<'l, 'o>> {
        let linker = self.linker;
        let counts = read_counts(directory)?;
        let earlier = self.earlier.take();
        let earlier = earlier.as_ref().map(|(previous, changes)| Earlier { previous, changes });
        let mut next_state = NextState::new(|entity| self.side_tables.has_table_of(entity));
        let mut rows_reused = BTreeMap::new();
        for indexed in linker.write_indexes(directory, counts.clone(), earlier)? {
            self.files.extend(indexed.files);
            next_state.words[indexed.entity as usize] = indexed.words;
            if indexed.reused > 0 {
                rows_reused.insert(indexed.entity.facts().plural.to_owned(), indexed.reused);
            }
        }
        let state = linker.scratch.join("state");
        let has_state = next_state.write(&self.rows, &state).map_err(Error::output(&state))?;
        Ok(Indexed { written: self, counts, rows_reused, state: has_state.then_some(state) })
    }
}

impl Indexed<'_, '_> {
    /// Closes the accounting, and writes the report, the hash tree and the manifest.
    pub(super) fn finish(
        self,
        selection: Option<&RecordSelection>,
        path: PathBuf,
    ) -> Result<Published> {
        let Indexed { written, counts, rows_reused, state } = self;
        let Written { linker, rows, side_tables, facts, kept, files, links, .. } = written;
        let accounting = linker.accounting(&Counted {
            rows: &rows,
            side_tables: &side_tables,
            links: &links,
            counts: &counts,
            unknown_ids: kept.unknown_ids,
        })?;
        let list = selection.map(RecordSelection::suppression).filter(|list| !list.is_empty());
        let with_queries = selection.filter(|selection| selection.has_queries());
        let excluded =
            || accounting.entities.iter().map(|(name, tally)| (name.clone(), tally.excluded));
        let facts_of_manifest = ManifestFacts {
            newest_micros: facts.newest_micros,
            counts,
            selection: with_queries.map(|selection| manifest::SubsetFilters {
                filters: selection.filters(),
                excluded: excluded().collect(),
            }),
            suppressed: kept.suppressed,
            suppression: list.map(|list| list.digits().to_string()),
        };
        // The manifest comes last: a directory with a manifest is complete.
        let bar =
            linker.progress.begin("sync", "files", files.len() as u64, 0).recorded(Phase::Link);
        let manifest = linker.write_manifest(&path, files, facts_of_manifest, &accounting)?;
        bar.end();
        Ok(Published {
            path,
            manifest,
            tallies: accounting.entities,
            side_tallies: accounting.side_tables,
            warnings: accounting.warnings,
            orphans: facts.orphans,
            rows_reused,
            not_taken_over: linker.not_taken_over.take(),
            state,
        })
    }
}

/// Reads the row counts of each entity from the headers of its files.
fn read_counts(directory: &Path) -> Result<BTreeMap<String, Counts>> {
    let header_of = |kind, entity| {
        let path = directory.join(archive_path(kind, Some(entity)));
        let mut bytes = [0; HEADER_BYTES];
        File::open(&path)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(Error::output(&path))?;
        Header::decode(&bytes, kind, Some(entity), schema_hash()).map_err(Error::self_check)
    };
    Entity::all()
        .map(|entity| {
            let ids = header_of(FileKind::Ids, entity)?;
            let redirects = header_of(FileKind::Redirects, entity)?;
            let counts =
                Counts { published: ids.published, rows: ids.rows, redirects: redirects.rows };
            Ok((entity.facts().plural.to_string(), counts))
        })
        .collect()
}
