//! Writing a snapshot: merged, resolved, where a part is asked for reduced to it, then file by file.

pub(crate) mod records;
pub(crate) mod snapshot_manifest;

use std::{collections::BTreeMap, fs::File, io, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::schema::layout::schema_hash;
use pinakes_format::snapshot::archive_path;
use pinakes_format::storage::header::{HEADER_BYTES, Header, Kind};
use pinakes_format::storage::manifest;
use pinakes_format::storage::manifest::Counts;

use crate::error::{Error, Result};
use crate::link::merge::Rows;
use crate::link::publish::Published;
use crate::link::resolve::levels::Merged;
use crate::link::select::subset::Part;
use crate::link::selection::Selection;
use crate::link::write::records::{Plan, write_strings};
use crate::link::write::snapshot_manifest::Accounting;
use crate::link::{Linker, Tally};

/// The code of the warning that counts ids to be withheld which the dump does not have.
const UNKNOWN_IDS: &str = "suppressed_unknown";
/// The accounting by entity, and warnings by code.
type Tallies = (BTreeMap<String, Tally>, BTreeMap<String, u64>);

impl Linker<'_> {
    /// Writes everything of a snapshot into a directory.
    pub(crate) fn write_snapshot(
        &self,
        selection: Option<&Selection>,
        directory: &Path,
    ) -> Result<Published> {
        let segments: Vec<_> = Entity::all().map(|entity| self.segments(entity)).collect();
        let Merged { mut rows, sums, newest, orphans } = self.merge_all(&segments)?;

        let bar =
            self.progress.begin("resolve", "segments", segments.iter().flatten().count() as u64, 0);
        let mut side = self.side_tables(&segments, &rows)?;
        let mut resolved = self.resolve(&segments, &rows, side.codes()?)?;
        bar.end();

        let (mut type_sums, mut withheld_kinds) = (BTreeMap::new(), BTreeMap::new());
        let (mut tree, mut unknown_ids) = (None, 0);
        let mut suppressed = BTreeMap::new();
        if let Some(selection) = selection {
            let mut whole = Plan::new(&segments, &rows, &resolved, &side, &sums, newest);
            whole.read_tree()?;
            whole.read_source_kinds()?;
            let total: u64 = rows.iter().map(|rows| rows.order.len() as u64).sum();
            let bar = self.progress.begin("select", "records", total, total);
            let Part { kept, type_sums: sums, withheld_kinds: kinds, unknown_ids: unknown } =
                self.reach(selection, &whole)?;
            (type_sums, withheld_kinds, unknown_ids) = (sums, kinds, unknown);
            suppressed = kept.suppressed();
            tree = kept.has_nameless().then(|| whole.tree.in_part(&kept));
            (rows, resolved) = self.reduce(rows, resolved, kept, &segments)?;
            // What it knows of rows is of those before.
            side = self.side_tables(&segments, &rows)?;
            bar.end();
        }

        let total: u64 = rows.iter().map(|rows| rows.order.len() as u64).sum();
        let bar = self.progress.begin("write", "records", total, total);
        let mut plan = Plan::new(&segments, &rows, &resolved, &side, &sums, newest);
        plan.is_part = selection.is_some();
        (plan.type_sums, plan.withheld_kinds) = (type_sums, withheld_kinds);
        match tree {
            // What is withheld stands in it, though no record tells where.
            Some(tree) => plan.tree = tree,
            None => plan.read_tree()?,
        }
        let mut files = Vec::new();
        // Venues show their source's type, and types sum up their institutions.
        let sources_first = std::iter::once(Entity::Source)
            .chain(Entity::all().filter(|entity| *entity != Entity::Source));
        for entity in sources_first {
            files.extend(plan.write(entity, directory)?);
        }
        files.push(write_strings(&resolved, directory)?);
        let dangling = plan.dangling;
        bar.end();
        let counts = self.counts(directory)?;
        files.extend(self.write_indexes(directory, counts.clone())?);
        let (entities, mut warnings) = self.tallies(&rows, &dangling, &counts)?;
        if unknown_ids > 0 {
            warnings.insert(UNKNOWN_IDS.to_owned(), unknown_ids);
        }
        let side_tables = side.tallies(self.objects)?;
        let chosen = selection.filter(|selection| selection.has_queries());
        let selection = chosen.map(|selection| manifest::Selection {
            filters: selection.filters(),
            excluded: entities.iter().map(|(name, tally)| (name.clone(), tally.excluded)).collect(),
        });
        let accounting = Accounting { entities, side_tables, warnings };
        let left_out = (selection, suppressed);
        let mut finished = self.seal(directory, files, newest, counts, left_out, accounting)?;
        finished.orphans = orphans;
        Ok(finished)
    }

    /// Rows of each entity, as the headers of its files say them.
    fn counts(&self, directory: &Path) -> Result<BTreeMap<String, Counts>> {
        let header_of = |kind, entity| {
            let name = archive_path(kind, Some(entity));
            let path = directory.join(name);
            let mut bytes = [0; HEADER_BYTES];
            File::open(&path)
                .and_then(|mut file| io::Read::read_exact(&mut file, &mut bytes))
                .map_err(Error::output(&path))?;
            Header::decode(&bytes, kind, Some(entity), schema_hash()).map_err(Error::self_check)
        };
        Entity::all()
            .map(|entity| {
                let ids = header_of(Kind::Ids, entity)?;
                let redirects = header_of(Kind::Redirects, entity)?;
                let counts =
                    Counts { published: ids.published, rows: ids.rows, redirects: redirects.rows };
                Ok((entity.facts().plural.to_string(), counts))
            })
            .collect()
    }

    /// The accounting of every entity, which must close.
    fn tallies(
        &self,
        rows: &[Rows],
        dangling: &[u64],
        counts: &BTreeMap<String, Counts>,
    ) -> Result<Tallies> {
        let mut tallies = BTreeMap::new();
        let mut warnings = BTreeMap::new();
        for object in self.objects {
            for (code, count) in &object.report().warnings {
                *warnings.entry(code.clone()).or_default() += count;
            }
        }
        for entity in Entity::all() {
            let name = entity.facts().plural;
            for (code, count) in rows[entity as usize].redirect_warnings() {
                *warnings.entry(code.to_string()).or_default() += count;
            }
            let mut tally = rows[entity as usize].tally;
            tally.dangling = dangling[entity as usize];
            let published = counts.get(name).map_or(0, |counts| counts.published);
            // Of institution types with one code one is published.
            let same = tally.published_from_input.saturating_sub(published);
            tally.superseded += same;
            tally.published_from_input -= same;
            tally.derived = published.saturating_sub(tally.published_from_input);
            for object in self.objects {
                let report = object.report();
                tally.read += report.read.get(name).copied().unwrap_or(0);
                tally.quarantined += report.quarantined.get(name).copied().unwrap_or(0);
            }
            if !tally.closes() {
                return Err(Error::Internal(format!(
                    "the accounting of {name} does not close: {tally:?}"
                )));
            }
            tallies.insert(name.to_string(), tally);
        }
        Ok((tallies, warnings))
    }
}
