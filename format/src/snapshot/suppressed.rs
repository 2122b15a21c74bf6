//! The records of a snapshot that are withheld: a list's ids, resolved to rows once.
//!
//! A withheld record is answered as if it had none: no id leads to it, and what refers to it refers to
//! a row with an id and without a name. Its row stays where it is, so that indexes hold as they are;
//! whoever asks them leaves it out. What autocomplete knows beforehand of many names is put right here,
//! so that one word stays a look-up.

use std::{collections::BTreeMap, sync::Arc};

use crate::autocomplete::answer_without;
use crate::entity::Entity;
use crate::index::prefix_stats::PrefixSummary;
use crate::query::{AnswerError, Library};
use crate::record::gather::Gathered;
use crate::schema::keys::keys_of;
use crate::snapshot::suppression_list::Suppression;
use crate::snapshot::{Found, Snapshot};
use crate::storage::error::ReadError;
use crate::text::fold::{fold, words};

/// What is withheld of a snapshot, by entity; nothing, to begin with.
#[derive(Clone, Default)]
pub struct Suppressed {
    of: Arc<Vec<Withheld>>,
    /// What tells the list from others.
    digits: Option<Arc<str>>,
    unknown: usize,
}

/// What is withheld of an entity.
#[derive(Default)]
struct Withheld {
    /// Rows, ascending: those with records first, since strays come after them.
    rows: Vec<u32>,
    /// How many of them have records.
    records: usize,
    /// Of those beginnings of words that have an answer, and that names withheld have too: the answer
    /// without them.
    answers: BTreeMap<Box<[u8]>, PrefixSummary>,
}

impl Suppressed {
    fn of(&self, entity: Entity) -> Option<&Withheld> {
        self.of.get(entity as usize)
    }

    /// The rows of records that are withheld, ascending.
    pub fn rows(&self, entity: Entity) -> &[u32] {
        self.of(entity).map_or(&[], |of| &of.rows[..of.records])
    }

    /// The rows that are withheld, strays among them, ascending.
    pub fn rows_and_strays(&self, entity: Entity) -> &[u32] {
        self.of(entity).map_or(&[], |of| &of.rows)
    }

    /// Whether a row is withheld, a stray's or not.
    #[inline]
    pub fn has(&self, entity: Entity, row: u32) -> bool {
        self.of(entity).is_some_and(|of| of.rows.binary_search(&row).is_ok())
    }

    /// What to say of the beginning of a word in place of what the snapshot does; `None` where that
    /// holds.
    pub fn answer(&self, entity: Entity, prefix: &[u8]) -> Option<&PrefixSummary> {
        self.of(entity)?.answers.get(prefix)
    }

    /// How many records are withheld.
    pub fn records(&self) -> usize {
        self.of.iter().map(|of| of.records).sum()
    }

    /// How many ids of the list lead to nothing in the snapshot, a record or a reference.
    pub fn unknown(&self) -> usize {
        self.unknown
    }
}

impl Snapshot {
    /// The same snapshot without the records of a list. It shares all that is mapped and verified.
    ///
    /// # Errors
    ///
    /// Where the bytes are damaged. Cost: of each id a look-up and its record's names; where one is
    /// among the ten best that are known beforehand of a beginning of a word, ten others are found.
    pub fn without(&self, list: &Suppression) -> Result<Snapshot, ReadError> {
        let whole =
            Snapshot { mapped: Arc::clone(&self.mapped), suppressed: Suppressed::default() };
        if list.is_empty() {
            return Ok(whole);
        }
        let mut unknown = 0;
        let mut of = Vec::with_capacity(Entity::COUNT);
        for entity in Entity::all() {
            of.push(whole.withheld(entity, list, &mut unknown)?);
        }
        let digits = Some(Arc::clone(list.digits()));
        let suppressed = Suppressed { of: Arc::new(of), digits: digits.clone(), unknown };
        let rows = Snapshot { mapped: Arc::clone(&self.mapped), suppressed };
        let answers: Result<Vec<_>, ReadError> =
            Entity::all().map(|entity| rows.answers(&whole, entity)).collect();
        let answers = answers?;
        let mut of = Arc::into_inner(rows.suppressed.of).unwrap_or_default();
        of.iter_mut().zip(answers).for_each(|(of, answers)| of.answers = answers);
        let suppressed = Suppressed { of: Arc::new(of), digits, unknown };
        Ok(Snapshot { mapped: whole.mapped, suppressed })
    }

    /// What tells its answers from those of others: its id, and what is that of the list where records
    /// are withheld.
    pub fn edition(&self) -> String {
        let id = &self.manifest().id;
        match &self.suppressed.digits {
            Some(digits) => format!("{id}-{digits}"),
            None => id.clone(),
        }
    }

    /// Whether what is withheld of it is what a list holds.
    pub fn withholds(&self, list: &Suppression) -> bool {
        match &self.suppressed.digits {
            Some(digits) => digits == list.digits(),
            None => list.is_empty(),
        }
    }

    /// What is withheld of it.
    pub fn suppressed(&self) -> &Suppressed {
        &self.suppressed
    }

    /// How many records of an entity are shown: all but those withheld.
    pub fn shown(&self, entity: Entity) -> u32 {
        // At most its rows, a u32.
        self.count(entity) - self.suppressed.rows(entity).len() as u32
    }

    /// The first row of an entity's list whose record is shown; `None` where there is none.
    pub fn first_shown(&self, entity: Entity) -> Option<u32> {
        let withheld = self.suppressed.rows(entity);
        let first =
            (0..).zip(withheld).take_while(|(row, withheld)| row == *withheld).count() as u32;
        (first < self.count(entity)).then_some(first)
    }

    /// The rows of a list's ids, those of merged ids being the ones they live in.
    fn withheld(
        &self,
        entity: Entity,
        list: &Suppression,
        unknown: &mut usize,
    ) -> Result<Withheld, ReadError> {
        let mut rows = Vec::new();
        for id in list.ids(entity) {
            let held = match self.find(entity, id)? {
                Found::Row(row) => row..row + 1,
                Found::Merged(into) => self.rows_with(entity, into)?,
                Found::Absent => self.strays(entity, id)?,
            };
            *unknown += usize::from(held.is_empty());
            rows.extend(held);
        }
        rows.sort_unstable();
        rows.dedup();
        let count = self.count(entity);
        let records = rows.partition_point(|row| *row < count);
        Ok(Withheld { rows, records, answers: BTreeMap::new() })
    }

    /// The answers of an entity that names withheld have a part in, without them.
    fn answers(
        &self,
        whole: &Snapshot,
        entity: Entity,
    ) -> Result<BTreeMap<Box<[u8]>, PrefixSummary>, ReadError> {
        let mut answers = BTreeMap::new();
        if !keys_of(entity).has_names() {
            return Ok(answers);
        }
        for (prefix, rows) in whole.beginnings(entity, self.suppressed.rows(entity))? {
            let Some(mut answer) = self.prefixes(entity)?.summary(&prefix)? else { continue };
            let asked = std::str::from_utf8(&prefix)
                .map_err(|_| ReadError::corrupt("names", "a prefix of a name is not UTF-8"))?;
            answer.count = answer.count.checked_sub(rows).ok_or(ReadError::corrupt(
                "prefix_stats",
                "a prefix counts fewer rows than are suppressed",
            ))?;
            if answer.best.iter().any(|(_, row)| self.suppressed.has(entity, *row)) {
                answer.best = answer_without(self, entity, asked).map_err(|error| match error {
                    AnswerError::Damaged(error) => error,
                    // None was set.
                    AnswerError::Deadline => {
                        ReadError::Internal("a query without a deadline reached its deadline")
                    }
                })?;
            }
            answers.insert(prefix, answer);
        }
        Ok(answers)
    }

    /// The beginnings of the words in the names of some records, and how many of these have each.
    fn beginnings(
        &self,
        entity: Entity,
        rows: &[u32],
    ) -> Result<BTreeMap<Box<[u8]>, u32>, ReadError> {
        let keys = keys_of(entity);
        let tree = keys.tree.pruned(&|end: &usize| keys.ends[*end].names.is_some());
        let mut counted: BTreeMap<Box<[u8]>, (u32, u32)> = BTreeMap::new();
        for row in rows.iter().copied() {
            let mut names = Vec::new();
            self.gather(entity, row, &tree, &mut |end, value| {
                if let (Some(_), Gathered::Text(name)) = (keys.ends[end].names, value) {
                    names.push(fold(name));
                }
            })?;
            for word in names.iter().flat_map(|name| words(name)) {
                for (at, letter) in word.char_indices() {
                    let prefix = &word.as_bytes()[..at + letter.len_utf8()];
                    match counted.get_mut(prefix) {
                        // A record counts once, however many of its words begin so.
                        Some((last, _)) if *last == row => {}
                        Some((last, count)) => (*last, *count) = (row, *count + 1),
                        None => drop(counted.insert(prefix.into(), (row, 1))),
                    }
                }
            }
        }
        Ok(counted.into_iter().map(|(prefix, (_, count))| (prefix, count)).collect())
    }
}
