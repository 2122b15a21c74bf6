//! The drift of a new snapshot: how far its members differ from the current snapshot.
//!
//! A dump may have the usual number of records, and wrong values in each record. `build` and `link` therefore compare before
//! they publish, and refuse a snapshot with a member that is past a limit.
//!
//! ```text
//! current snapshot   one of every k ids, at most 10,000 of each entity ──┐
//! new snapshot       the records of these ids ───────────────────────────┴─► shares of each member
//! posting lists of both ───────────────────────────────────────────────────► records of each type, year, language …
//! ```
//!
//! Cost: reads at most 10,000 records of each entity in both snapshots, and the lengths of posting lists. The size of the
//! dump does not matter. ARCHITECTURE.md says how the limits were chosen.
//!
//! Imports `error`, `link`, `terminal`.

mod groups;
mod identifiers;
pub(crate) mod limits;
mod members;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use std::path::Path;

use pinakes_format::entity::Entity;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::Manifest;
use pinakes_store::directory;
use serde::Serialize;

use crate::drift::groups::{distance, grouped_keys};
use crate::drift::limits::{AllowedMember, RECORDS_MIN, limit};
use crate::drift::sample::EntitySample;
use crate::error::{Error, Result};
use crate::link::context::unreadable;
use crate::link::take_over::TakeOver;
use crate::terminal::progress::Progress;

/// The result of a step that reads both snapshots. [`TakeOver::Impossible`] stands for damage of the current one.
type Compared<T> = std::result::Result<T, TakeOver>;

/// Examples of each share that is past its limit.
const EXAMPLES: usize = 5;

/// A way in which the values of a member differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Records with a value before and now: those with another value.
    Changed,
    /// Records with a value before: those without one now.
    Nulled,
    /// Records without a value before: those with one now.
    Filled,
    /// Records with a number before and now: those whose number is at least twice, or at most half, of before.
    Jumped,
    /// Records with an identifier before: those whose identifier another record has now.
    Moved,
    /// Records: the share without a record or a merge now.
    Gone,
    /// Items of a list in all records before: the share that is missing now.
    Fewer,
    /// Items of a list in all records now: the share that is more than before.
    More,
    /// The distance between the distributions of the values over all records.
    Distribution,
}

impl Kind {
    /// The name in reports and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Changed => "changed",
            Kind::Nulled => "nulled",
            Kind::Filled => "filled",
            Kind::Jumped => "jumped",
            Kind::Moved => "moved",
            Kind::Gone => "gone",
            Kind::Fewer => "fewer",
            Kind::More => "more",
            Kind::Distribution => "distribution",
        }
    }
}

/// The share of records in which a member differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// From 0 to 1.
    pub share: f64,
    /// The number of compared records.
    pub of: u64,
    /// The greatest share that is published; `null` if the share is not judged.
    pub limit: Option<f64>,
}

impl Share {
    fn is_excessive(self) -> bool {
        self.limit.is_some_and(|limit| self.share > limit)
    }
}

/// One record, or one value of a group, before and now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The id of the record, or the value of the group.
    pub id: String,
    /// The value in the current snapshot.
    pub before: String,
    /// The value in the new snapshot.
    pub now: String,
}

/// A share that is past its limit.
#[derive(Clone, Debug, Serialize)]
pub struct Excess {
    /// Name of the member, such as `outputs.title`.
    pub member: String,
    /// How the values differ.
    pub kind: Kind,
    /// The share and its limit.
    #[serde(flatten)]
    pub share: Share,
    /// Whether `--allow-drift` names the member.
    pub is_allowed: bool,
    /// At most five.
    pub examples: Vec<Example>,
}

impl fmt::Display for Excess {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Excess { member, kind, share: Share { share, of, limit }, .. } = self;
        let (share, limit) = (share * 100.0, limit.unwrap_or_default() * 100.0);
        match kind {
            Kind::Distribution => {
                write!(out, "{member}: {share:.1} % of all records moved to other values")?;
            }
            Kind::Fewer | Kind::More => {
                let what = if *kind == Kind::Fewer { "fewer" } else { "more" };
                write!(out, "{member}: {share:.1} % {what} items in {of} compared records")?;
            }
            kind => {
                let what = match kind {
                    Kind::Changed => "changed",
                    Kind::Nulled => "became null",
                    Kind::Filled => "ceased to be null",
                    Kind::Jumped => "at least doubled or halved",
                    Kind::Moved => "belongs to another record",
                    _ => "is neither there nor merged",
                };
                write!(out, "{member}: {what} in {share:.1} % of {of} compared records")?;
            }
        }
        write!(out, ", more than {limit:.1} %")
    }
}

/// The comparison of a new snapshot with the current one.
#[derive(Clone, Debug, Serialize)]
pub struct Drift {
    /// Id of the current snapshot.
    pub before: String,
    /// Why the snapshots could not be compared; otherwise `null`.
    pub not_compared: Option<String>,
    /// By member, the shares above 0.
    pub members: BTreeMap<String, BTreeMap<Kind, Share>>,
    /// The shares past their limits.
    pub excesses: Vec<Excess>,
}

impl Drift {
    /// Refuses a snapshot with a member that is past a limit and not allowed.
    ///
    /// # Errors
    ///
    /// Names all such members, with examples.
    pub(crate) fn check(&self) -> Result<()> {
        let refused = || self.excesses.iter().filter(|excess| !excess.is_allowed);
        let mut listed = String::new();
        for excess in refused() {
            let _ = write!(listed, "\n  {excess}");
            for Example { id, before, now } in &excess.examples {
                let _ = write!(listed, "\n      {id}: {before} → {now}");
            }
        }
        if listed.is_empty() {
            return Ok(());
        }
        let names: BTreeSet<&str> = refused().map(|excess| excess.member.as_str()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(",");
        let before = self.before.clone();
        Err(Error::Drifted { before, listed, names })
    }

    fn add(&mut self, member: &str, kind: Kind, share: Share) {
        if share.share > 0.0 {
            self.members.entry(member.to_owned()).or_default().insert(kind, share);
        }
    }
}

/// The drift that is published whatever its limits.
#[derive(Clone, Copy)]
pub(crate) struct Allowed<'a> {
    pub members: &'a [AllowedMember],
    /// Whether records may be gone.
    pub shrinking: bool,
}

/// Compares a finished snapshot in the directory `new` with the current one of `snapshots`.
///
/// `None` if there is no other current snapshot, or if it has other `--where` filters.
pub(crate) fn compare(
    snapshots: &Path,
    new: (&Path, &Manifest),
    allowed: Allowed<'_>,
    progress: Progress,
) -> Result<Option<Drift>> {
    let Some(id) = directory::current(snapshots).filter(|id| *id != new.1.id) else {
        return Ok(None);
    };
    let now = Snapshot::open(new.0).map_err(Error::self_check)?;
    let mut drift =
        Drift { before: id, not_compared: None, members: BTreeMap::new(), excesses: Vec::new() };
    let before = match Snapshot::open(&snapshots.join(&drift.before)) {
        Ok(before) => before,
        // A damaged current snapshot must not refuse the new one; the report names the damage.
        Err(error) => {
            drift.not_compared = Some(error.to_string());
            return Ok(Some(drift));
        }
    };
    let filters =
        |of: &Snapshot| of.manifest().selection.clone().map(|selection| selection.filters);
    if filters(&before) != filters(&now) {
        return Ok(None);
    }
    let bar = progress.begin("compare", "entities", Entity::COUNT as u64, Entity::COUNT as u64);
    for entity in Entity::all() {
        let comparison = Comparison { entity, before: &before, now: &now, allowed };
        match comparison.add_to(&mut drift) {
            Ok(()) => bar.advance(1),
            Err(TakeOver::Failed(error)) => return Err(error),
            // The members that were compared before the damage stay in the report.
            Err(TakeOver::Impossible(reason)) => {
                drift.not_compared = Some(reason.to_string());
                break;
            }
        }
    }
    bar.end();
    Ok(Some(drift))
}

/// The comparison of one entity.
struct Comparison<'c> {
    entity: Entity,
    before: &'c Snapshot,
    now: &'c Snapshot,
    allowed: Allowed<'c>,
}

impl Comparison<'_> {
    fn add_to(&self, drift: &mut Drift) -> Compared<()> {
        let Comparison { entity, before, now, .. } = *self;
        let sample = EntitySample::compare(entity, before, now)?;
        for measured in sample.shares() {
            let name = self.name(measured.path);
            drift.add(&name, measured.kind, measured.share);
            if measured.share.is_excessive() {
                let examples = measured.examples(entity, before, now)?;
                drift.excesses.push(self.excess(name, measured.kind, measured.share, examples));
            }
        }
        // Groups are counted in the indexes, over all records instead of the sample.
        for key in grouped_keys(entity) {
            let counts_before =
                key.count(before, entity).map_err(TakeOver::at(entity, None::<u32>))?;
            let counts = key.count(now, entity);
            // Damage of the new snapshot ends the run, damage of the current one only the comparison.
            let counts =
                counts.map_err(|error| TakeOver::Failed(unreadable(entity, None::<u32>)(error)))?;
            let of = counts_before.values().sum::<u64>();
            let is_judged = of.min(counts.values().sum()) >= RECORDS_MIN;
            let limit = if is_judged { limit(Kind::Distribution, entity, key.path) } else { None };
            let share = Share { share: distance(&counts_before, &counts), of, limit };
            let name = self.name(key.path);
            drift.add(&name, Kind::Distribution, share);
            if share.is_excessive() {
                let examples = key.examples([before, now], [&counts_before, &counts], EXAMPLES);
                let examples = examples.map_err(TakeOver::at(entity, None::<u32>))?;
                drift.excesses.push(self.excess(name, Kind::Distribution, share, examples));
            }
        }
        Ok(())
    }

    fn name(&self, path: &str) -> String {
        format!("{}.{path}", self.entity.facts().plural)
    }

    fn excess(&self, member: String, kind: Kind, share: Share, examples: Vec<Example>) -> Excess {
        let Allowed { members, shrinking } = self.allowed;
        let is_allowed =
            members.iter().any(|allowed| allowed.has(&member)) || (shrinking && kind == Kind::Gone);
        Excess { member, kind, share, is_allowed, examples }
    }
}
