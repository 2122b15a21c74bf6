//! The sample of an entity's records, and the shares of them that differ.
//!
//! ```text
//! ids of the current snapshot, k = 4    1 3 4 8 | 9 12 13 17 | 20 21 22
//! one of every k, by a hash                 4         13            22
//! ```

use std::collections::VecDeque;

use pinakes_format::changes::{REFERENCES, add_all_references};
use pinakes_format::entity::Entity;
use pinakes_format::query::parse_select;
use pinakes_format::record::View;
use pinakes_format::snapshot::{LookupResult, Snapshot};
use pinakes_format::storage::ReadError;
use rayon::prelude::*;

use crate::drift::identifiers::{Identifier, Identifiers};
use crate::drift::limits::{CHANGED_MIN, RECORDS_MIN, limit};
use crate::drift::members::{Member, Value, Values, members_of};
use crate::drift::{Compared, EXAMPLES, Example, Kind, Share};
use crate::link::context::unreadable;
use crate::link::take_over::TakeOver;

/// Most records of an entity that are compared.
const SAMPLE_RECORDS: usize = 10_000;
/// Records that a thread reads together.
const UNIT_RECORDS: usize = 256;
/// Units that are read before their records are counted.
const UNITS_PER_WAVE: usize = 16;
/// A value is compared with the value of the record this many records before, to learn how many values differ by
/// chance.
const CHANCE_DISTANCE: usize = 16;

/// A record of the current snapshot, and what became of it.
struct SampledRecord {
    id: u64,
    before: u32,
    fate: Fate,
    /// The indices of its identifiers' keys.
    identified: Vec<usize>,
    /// Its identifiers that another record has now, each with the id of that record.
    moved: Vec<(Identifier, u64)>,
}

enum Fate {
    /// Has a row now. The values of both.
    Kept(u32, [Vec<Value>; 2]),
    Merged,
    Gone,
}

/// An example of a difference.
enum Shown {
    /// The id of a record, and its rows before and now.
    Rows(u64, [u32; 2]),
    /// The id of a record, and the numbers of its items before and now.
    Items(u64, [u32; 2]),
    Text(Example),
}

/// Counts compared records and those that differ.
#[derive(Default)]
struct Tally {
    of: u64,
    differ: u64,
    examples: Vec<Shown>,
}

impl Tally {
    fn add(&mut self, is_different: bool, example: impl FnOnce() -> Shown) {
        self.of += 1;
        if is_different {
            self.differ += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(example());
            }
        }
    }

    /// The limit that is this share of what chance gives. Few records do not show what chance gives.
    fn limit(&self, share: f64) -> f64 {
        let by_chance = self.share().filter(|_| self.of >= RECORDS_MIN).unwrap_or(1.0);
        (by_chance * share).max(CHANGED_MIN)
    }

    /// `None` if nothing was compared.
    fn share(&self) -> Option<f64> {
        (self.of > 0).then(|| self.differ as f64 / self.of as f64)
    }
}

/// The tallies of one member.
struct MemberTally {
    member: Member,
    changed: Tally,
    nulled: Tally,
    filled: Tally,
    jumped: Tally,
    /// The old values of the last records.
    recent: VecDeque<Value>,
    /// Records whose new value differs from an old value of another record.
    changed_by_chance: Tally,
    /// Records whose new number is at least twice, or at most half, of an old number of another record.
    jumped_by_chance: Tally,
    /// Of a list: the numbers of items in all records before and now, and records with fewer and with more.
    items: [u64; 2],
    fewer: Tally,
    more: Tally,
}

/// A share with the examples of it.
pub(super) struct Measured<'m> {
    pub path: &'m str,
    pub kind: Kind,
    pub share: Share,
    shown: &'m [Shown],
}

/// The compared records of one entity.
pub(super) struct EntitySample {
    entity: Entity,
    members: Vec<MemberTally>,
    gone: Tally,
    moved: Vec<(&'static str, Tally)>,
}

/// The ranks of the sampled records among `count` ids.
fn sampled_ranks(count: usize) -> impl Iterator<Item = usize> {
    let step = count.div_ceil(SAMPLE_RECORDS).max(1);
    (0..count).step_by(step).map(move |from| {
        // Ids that a source gives out in a pattern shall not all lie at the same place of their step.
        let mixed = (from as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        from + mixed as usize % step.min(count - from)
    })
}

impl EntitySample {
    pub(super) fn compare(
        entity: Entity,
        before: &Snapshot,
        now: &Snapshot,
    ) -> Compared<EntitySample> {
        let identifiers = Identifiers::of(entity);
        let mut sample = EntitySample {
            entity,
            members: members_of(entity).into_iter().map(MemberTally::new).collect(),
            gone: Tally::default(),
            moved: identifiers.paths().map(|path| (path, Tally::default())).collect(),
        };
        let ranks: Vec<usize> = sampled_ranks(before.ids(entity).published()).collect();
        let reader = Reader { entity, before, now, identifiers };
        for wave in ranks.chunks(UNIT_RECORDS * UNITS_PER_WAVE) {
            let units: Compared<Vec<Vec<SampledRecord>>> =
                wave.par_chunks(UNIT_RECORDS).map(|unit| reader.read(unit)).collect();
            units?.iter().flatten().for_each(|record| sample.add(record));
        }
        Ok(sample)
    }

    fn add(&mut self, record: &SampledRecord) {
        let entity = self.entity;
        let SampledRecord { id, before, fate, identified, moved } = record;
        let text = |before: String, now: String| {
            Shown::Text(Example { id: entity.id_text(*id), before, now })
        };
        self.gone.add(matches!(fate, Fate::Gone), || text("a record".into(), "none".into()));
        for at in identified {
            let moved = moved.iter().find(|((key, _), _)| key == at);
            self.moved[*at].1.add(moved.is_some(), || {
                let (identifier, owner) = moved.map_or(("", 0), |((_, text), id)| (text, *id));
                text(identifier.to_owned(), format!("of {}", entity.id_text(owner)))
            });
        }
        if let Fate::Kept(now, [old, new]) = fate {
            for ((tally, old), new) in self.members.iter_mut().zip(old).zip(new) {
                tally.add(*old, *new, (*id, [*before, *now]));
            }
        }
    }

    /// Every share of at least one record.
    pub(super) fn shares(&self) -> impl Iterator<Item = Measured<'_>> {
        let limit = |kind, path: &str| limit(kind, self.entity, path);
        let gone = Measured::of("id", Kind::Gone, &self.gone, limit(Kind::Gone, "id"));
        let of_members = self.members.iter().flat_map(move |tally| tally.shares(limit));
        let moved = self.moved.iter().filter_map(move |(path, tally)| {
            Measured::of(path, Kind::Moved, tally, limit(Kind::Moved, path))
        });
        gone.into_iter().chain(of_members).chain(moved)
    }
}

impl MemberTally {
    fn new(member: Member) -> MemberTally {
        MemberTally {
            member,
            changed: Tally::default(),
            nulled: Tally::default(),
            filled: Tally::default(),
            jumped: Tally::default(),
            recent: VecDeque::with_capacity(CHANCE_DISTANCE),
            changed_by_chance: Tally::default(),
            jumped_by_chance: Tally::default(),
            items: [0; 2],
            fewer: Tally::default(),
            more: Tally::default(),
        }
    }

    /// Adds the values of one record before and now.
    fn add(&mut self, old: Value, new: Value, (id, rows): (u64, [u32; 2])) {
        let rows = || Shown::Rows(id, rows);
        // The value belongs to the remaining record, not to the one that was merged.
        if old.is_beside_merged {
            return;
        }
        if self.member.is_list {
            self.items[0] += u64::from(old.count);
            self.items[1] += u64::from(new.count);
            let items = || Shown::Items(id, [old.count, new.count]);
            self.fewer.add(new.count < old.count, items);
            self.more.add(new.count > old.count, items);
        }
        if old.is_null() {
            return self.filled.add(!new.is_null(), rows);
        }
        self.nulled.add(new.is_null(), rows);
        if new.is_null() {
            return;
        }
        let is_measured =
            |old: Value| self.member.jump_min.is_some_and(|least| old.sum.max(new.sum) >= least);
        self.changed.add(old.hash != new.hash, rows);
        if is_measured(old) {
            self.jumped.add(old.jumps_to(new), rows);
        }
        // A limit is a share of the differences by chance, so each new value is also compared with another record's old
        // value.
        if self.recent.len() == CHANCE_DISTANCE
            && let Some(other) = self.recent.pop_front()
        {
            self.changed_by_chance.add(other.hash != new.hash, rows);
            if is_measured(other) {
                self.jumped_by_chance.add(other.jumps_to(new), rows);
            }
        }
        self.recent.push_back(old);
    }

    fn shares(
        &self,
        limit: impl Fn(Kind, &str) -> Option<f64>,
    ) -> impl Iterator<Item = Measured<'_>> {
        let path = self.member.path.as_str();
        let [changed, jumped] =
            [(Kind::Changed, &self.changed_by_chance), (Kind::Jumped, &self.jumped_by_chance)]
                .map(|(kind, by_chance)| limit(kind, path).map(|share| by_chance.limit(share)));
        let [before, now] = self.items.map(|items| items as f64);
        let total = |kind, tally, lost: f64, of: f64| {
            let measured = Measured::of(path, kind, tally, limit(kind, path))?;
            let share = if lost > 0.0 { lost / of } else { 0.0 };
            Some(Measured { share: Share { share, ..measured.share }, ..measured })
        };
        [
            Measured::of(path, Kind::Changed, &self.changed, changed),
            Measured::of(path, Kind::Nulled, &self.nulled, limit(Kind::Nulled, path)),
            Measured::of(path, Kind::Filled, &self.filled, limit(Kind::Filled, path)),
            Measured::of(path, Kind::Jumped, &self.jumped, jumped),
            total(Kind::Fewer, &self.fewer, before - now, before),
            total(Kind::More, &self.more, now - before, now),
        ]
        .into_iter()
        .flatten()
    }
}

impl<'m> Measured<'m> {
    /// `None` if no record was compared.
    fn of(path: &'m str, kind: Kind, tally: &'m Tally, limit: Option<f64>) -> Option<Measured<'m>> {
        let limit = limit.filter(|_| tally.of >= RECORDS_MIN);
        let share = Share { share: tally.share()?, of: tally.of, limit };
        Some(Measured { path, kind, share, shown: &tally.examples })
    }

    /// The examples, rendered.
    pub(super) fn examples(
        &self,
        entity: Entity,
        before: &Snapshot,
        now: &Snapshot,
    ) -> Compared<Vec<Example>> {
        let example = |shown: &Shown| -> Compared<Example> {
            Ok(match shown {
                Shown::Text(example) => example.clone(),
                Shown::Items(id, counts) => {
                    let [before, now] = counts.map(|count| format!("{count} items"));
                    Example { id: entity.id_text(*id), before, now }
                }
                Shown::Rows(id, [old, new]) => Example {
                    id: entity.id_text(*id),
                    before: example(before, entity, self.path, *old)
                        .map_err(TakeOver::at(entity, *old))?,
                    now: example(now, entity, self.path, *new).map_err(new_row(entity, *new))?,
                },
            })
        };
        self.shown.iter().map(example).collect()
    }
}

/// The error for a row of the new snapshot, which this program has just written.
fn new_row(entity: Entity, row: impl Into<Option<u32>>) -> impl FnOnce(ReadError) -> TakeOver {
    let name = unreadable(entity, row);
    move |source| TakeOver::Failed(name(source))
}

/// Reads sampled records.
struct Reader<'r> {
    entity: Entity,
    before: &'r Snapshot,
    now: &'r Snapshot,
    identifiers: Identifiers,
}

impl Reader<'_> {
    /// Reads the records of some ranks of the current snapshot's ids.
    fn read(&self, ranks: &[usize]) -> Compared<Vec<SampledRecord>> {
        let Reader { entity, before, now, identifiers } = self;
        let entity = *entity;
        let mut old_values = Values::new(before, entity);
        let mut new_values = Values::new(now, entity);
        let mut read = |rank: &usize| -> Compared<SampledRecord> {
            let (id, row) =
                before.ids(entity).pair(*rank).map_err(TakeOver::at(entity, None::<u32>))?;
            let found = now.find(entity, id).map_err(new_row(entity, None::<u32>))?;
            // The record that has the identifiers of this one, if any.
            let (heir, fate) = match found {
                LookupResult::Row(new) => {
                    let mut old = old_values.read(row, None).map_err(TakeOver::at(entity, row))?;
                    let values = new_values.read(new, None).map_err(new_row(entity, new))?;
                    let is_same = |(old, new): (&Value, &Value)| old.hash == new.hash;
                    if !old.iter().zip(&values).all(is_same) {
                        let followed = old_values.read(row, Some(now));
                        old = followed.map_err(new_row(entity, None::<u32>))?;
                    }
                    (Some(new), Fate::Kept(new, [old, values]))
                }
                LookupResult::Merged(into) => {
                    let heir = now.find(entity, into).map_err(new_row(entity, None::<u32>))?;
                    (if let LookupResult::Row(row) = heir { Some(row) } else { None }, Fate::Merged)
                }
                LookupResult::Absent => (None, Fate::Gone),
            };
            let old = identifiers.read(before, row).map_err(TakeOver::at(entity, row))?;
            let moved = self.moved(&old, heir).map_err(new_row(entity, None::<u32>))?;
            let mut identified: Vec<usize> = old.into_iter().map(|(key, _)| key).collect();
            identified.dedup();
            Ok(SampledRecord { id, before: row, fate, identified, moved })
        };
        ranks.iter().map(&mut read).collect()
    }

    /// Finds the identifiers that a record has now which is not `heir`.
    fn moved(
        &self,
        old: &[Identifier],
        heir: Option<u32>,
    ) -> Result<Vec<(Identifier, u64)>, ReadError> {
        let Reader { entity, now, identifiers, .. } = self;
        let kept = heir.map_or_else(|| Ok(Vec::new()), |row| identifiers.read(now, row))?;
        let mut moved = Vec::new();
        for identifier in old.iter().filter(|identifier| !kept.contains(identifier)) {
            if let Some(owner) = identifiers.owner(now, identifier)? {
                moved.push((identifier.clone(), now.row_id(*entity, owner)?));
            }
        }
        Ok(moved)
    }
}

/// Most characters of a value.
const CHARS_MAX: usize = 80;

/// The value at a path of the record in a row, as JSON, shortened.
fn example(snapshot: &Snapshot, entity: Entity, path: &str, row: u32) -> Result<String, ReadError> {
    let mut json = Vec::new();
    if path == REFERENCES {
        json.extend_from_slice(b"{}");
        add_all_references(snapshot, entity, row, &mut json)?;
    } else {
        let members = parse_select(entity, View::Export, path);
        let members = members.map_err(|_| ReadError::Internal("a compared member has no path"))?;
        let mut writer = members.writer(snapshot);
        members.render(row, &mut writer)?;
        json = writer.out;
    }
    // The object has the outermost member alone.
    let json = String::from_utf8_lossy(&json);
    let value = json.split_once(':').map_or(&*json, |(_, value)| value);
    let value = value.strip_suffix('}').unwrap_or(value);
    let mut shown: String = value.chars().take(CHARS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_one_rank_of_each_step() {
        for count in [0, 1, 9_999, 10_000, 10_001, 1_000_003] {
            let ranks: Vec<usize> = sampled_ranks(count).collect();
            let step = count.div_ceil(SAMPLE_RECORDS).max(1);
            assert_eq!(ranks.len(), count.div_ceil(step), "{count}");
            assert!(ranks.len() <= SAMPLE_RECORDS, "{count}");
            assert!(ranks.iter().enumerate().all(|(at, rank)| rank / step == at), "{count}");
            assert!(ranks.iter().all(|rank| *rank < count), "{count}");
        }
    }

    #[test]
    fn values_of_a_member_are_told_apart() {
        let value = |hash, count, sum| Value { hash, count, sum, ..Value::default() };
        let mut tally =
            MemberTally::new(Member { path: "cites".into(), jump_min: Some(8.0), is_list: false });
        let null = Value::default();
        let pairs = [
            (null, null),
            (null, value(1, 1, 1.0)),
            (value(1, 1, 1.0), null),
            (value(2, 1, 20.0), value(2, 1, 20.0)),
            (value(2, 1, 20.0), value(3, 1, 39.0)),
            (value(2, 1, 20.0), value(4, 1, 40.0)),
            (value(2, 1, 20.0), value(5, 1, 10.0)),
        ];
        pairs.into_iter().for_each(|(old, new)| tally.add(old, new, (0, [0, 0])));
        let counts = |tally: &Tally| (tally.differ, tally.of);
        assert_eq!(counts(&tally.filled), (1, 2));
        assert_eq!(counts(&tally.nulled), (1, 5));
        assert_eq!(counts(&tally.changed), (3, 4));
        assert_eq!(counts(&tally.jumped), (2, 4));
    }
}
