//! Evaluates a filter on one record, without the indexes.
//!
//! A predicate and the indexes agree: both get their values from
//! [`index::encoding`](crate::index::encoding). Where predicates are used:
//!
//! - the compiler, for `--where`, before there are indexes;
//! - `page/scan`, for keys that no index holds;
//! - `page/resolve`, for records whose references have suppressed names.
//!
//! ```text
//! filter         year:>2020,authors.name:ada          two conditions
//! paths          year, authors.name                   the predicate reads no others
//! record         year 2021, authors [Ada, Grace]
//! match states   year: matched   authors.name: matched   the filter is true of the record
//! ```

mod matcher;

use crate::entity::Entity;
use crate::index::encoding::{folded_term, index_entry, named_value, order_value};
use crate::index::full_text::each_text;
use crate::index::orders::sortable_integer;
use crate::index::term_lists::Term;
use crate::query::page::predicate::matcher::{Matcher, class_operands, code_operands};
use crate::query::parse::filter::Expression;
use crate::query::parse::operand::Operand;
use crate::query::parse::query::Query;
use crate::query::rows::versions::VersionKey;
use crate::query::search::RecordTexts;
use crate::record::{Gathered, PathTarget, PathTree};
use crate::schema::keys::PathUse;
use crate::schema::{Direction, Index, Keys, ScannedValues, Terms, Values, keys_of, text_paths};
use crate::snapshot::{RecordLookup, gather_texts};
use crate::storage::ReadError;
use crate::text::fold::{fold, has_word};

/// A filter, prepared for single records.
#[derive(Clone, Debug)]
pub struct Predicate {
    entity: Entity,
    keys: &'static Keys,
    conditions: Vec<Condition>,
    /// The paths that the conditions read.
    tree: PathTree,
    /// For each end of `keys`: the record that each referenced row leads on to. Empty for an end that
    /// no condition reads, or that leads no further.
    beyond: Vec<Vec<Option<(Entity, u32)>>>,
}

/// One expression, its operands prepared for comparison.
#[derive(Clone, Debug)]
struct Condition {
    index: Index,
    is_negated: bool,
    matchers: Vec<Matcher>,
    /// The paths of the names of the records that [`Index::ReferenceWords`] leads to.
    names: PathTree,
    /// The tests of the records that [`Index::Through`] leads to, by entity.
    beyond: Vec<Beyond>,
}

/// The tests of the records that a reference leads to.
#[derive(Clone, Debug)]
struct Beyond {
    entity: Entity,
    /// Whether a record matches one of the operands.
    matches: Predicate,
    /// Whether a record has a value.
    has_value: Predicate,
}

/// The state of a condition after some values of a record.
#[derive(Clone, Debug, Default)]
struct MatchState {
    has_value: bool,
    has_match: bool,
    /// For each matcher, which of its words occurred.
    words: Vec<Vec<bool>>,
}

impl Predicate {
    /// Prepares the filter of a query.
    ///
    /// Cost: one record read for each topic if a key leads through a topic to the taxonomy, and one for each record that a
    /// filter of versions names.
    pub fn new(query: &Query, lookup: &impl RecordLookup) -> Result<Predicate, ReadError> {
        let keys = query.keys;
        let conditions: Result<Vec<Condition>, ReadError> = query
            .filter
            .iter()
            .map(|expression| Condition::new(keys, expression, lookup))
            .collect();
        let conditions = conditions?;
        let is_read =
            |end: &usize| conditions.iter().any(|condition| condition.reads(&keys.ends[*end]));
        let beyond = keys.ends.iter().enumerate().map(|(at, end)| match is_read(&at) {
            true => referenced_beyond(end, lookup),
            false => Ok(Vec::new()),
        });
        let beyond: Result<Vec<_>, ReadError> = beyond.collect();
        let tree = keys.tree.pruned(&is_read);
        Ok(Predicate { entity: query.entity, keys, conditions, tree, beyond: beyond? })
    }

    /// Evaluates the filter for the record in a row. Cost: one walk down the paths of the filter, and another if it is by
    /// versions. A title that many outputs have is compared as any other.
    pub fn is_true_of(&self, lookup: &impl RecordLookup, row: u32) -> Result<bool, ReadError> {
        let mut states: Vec<MatchState> =
            self.conditions.iter().map(Condition::initial_state).collect();
        let mut outcome = Ok(());
        let mut update = |end, value: Gathered<'_>| {
            if outcome.is_ok() {
                outcome = self.update(lookup, end, value, &mut states);
            }
        };
        let is_scanned = |condition: &Condition| matches!(condition.index, Index::Scanned { .. });
        match self.conditions.iter().any(is_scanned) {
            true => gather_texts(lookup, self.entity, row, &self.tree, &mut update)?,
            false => lookup.gather(self.entity, row, &self.tree, &mut update)?,
        }
        outcome?;
        self.match_texts(lookup, row, &mut states)?;
        let id = lookup.row_id(self.entity, row)?;
        if self.conditions.iter().any(|condition| condition.reads_references(self.keys)) {
            let references = lookup.references(self.entity, row)?;
            for (condition, state) in self.conditions.iter().zip(&mut states) {
                condition.update_references(self.keys, id, &references, state);
                if condition.index == Index::Citations(Direction::References) {
                    state.has_value = lookup.is_cited(self.entity, row)?;
                }
            }
        }
        let is_of_versions =
            |condition: &Condition| matches!(condition.index, Index::Versions { .. });
        if self.conditions.iter().any(is_of_versions)
            && let Some(key) = VersionKey::read(lookup, row)?
        {
            for (condition, state) in self.conditions.iter().zip(&mut states) {
                state.has_match |= condition.is_version(id, &key);
            }
        }
        Ok(self
            .conditions
            .iter()
            .zip(&states)
            .all(|(condition, state)| condition.is_true(id, state)))
    }

    /// Whether the filter, which is by ids alone, names an id.
    fn has_id(&self, id: u64) -> bool {
        self.conditions.iter().all(|condition| condition.is_true(id, &condition.initial_state()))
    }

    /// Evaluates the full-text searches. Costs the words of the record's texts, if there are searches.
    fn match_texts(
        &self,
        lookup: &impl RecordLookup,
        row: u32,
        states: &mut [MatchState],
    ) -> Result<(), ReadError> {
        let is_search = |condition: &Condition| matches!(condition.index, Index::FullText(_));
        let Some(paths) = text_paths(self.entity) else { return Ok(()) };
        if !self.conditions.iter().any(is_search) {
            return Ok(());
        }
        // The language is read before the texts, because it tells the stems of their words.
        let mut texts = RecordTexts::new(None);
        // The visitor returns nothing, so an error leaves the walk in `outcome`.
        let mut outcome = Ok(());
        lookup.gather(self.entity, row, &paths.language, &mut |_, value| {
            if let Gathered::Code(code) = value {
                match lookup.code_text(code) {
                    Ok(language) => texts = RecordTexts::new(Some(language)),
                    Err(error) => outcome = Err(error),
                }
            }
        })?;
        outcome?;
        lookup.record_bytes(self.entity, row, &mut |record| {
            each_text(paths, record, lookup, |field, text| texts.add(field, text))
        })?;
        for (condition, state) in self.conditions.iter().zip(states) {
            state.has_match |= condition.matchers.iter().any(|matcher| match matcher {
                Matcher::Search(search) => search.matches(&texts),
                _ => false,
            });
        }
        Ok(())
    }

    /// Shows the value at an end to the conditions that read the end.
    fn update(
        &self,
        lookup: &impl RecordLookup,
        number: usize,
        value: Gathered<'_>,
        states: &mut [MatchState],
    ) -> Result<(), ReadError> {
        let end = &self.keys.ends[number];
        let (part, value) = match (&end.beyond, value) {
            (Some(_), Gathered::Reference(_, row)) => {
                match self.beyond[number].get(row as usize).copied().flatten() {
                    Some((entity, row)) => (&PathTarget::Id, Gathered::Reference(entity, row)),
                    None => return Ok(()),
                }
            }
            _ => match named_value(value, lookup)? {
                Some(value) => (&end.target, value),
                None => return Ok(()),
            },
        };
        let readers = self.conditions.iter().zip(states).filter(|(reader, _)| reader.reads(end));
        for (condition, state) in readers {
            condition.update(condition.index, (self.keys, end), (part, value), lookup, state)?;
        }
        Ok(())
    }
}

/// Reads where each record that an end refers to leads on to; nothing if the end leads no further.
fn referenced_beyond(
    end: &PathUse,
    lookup: &impl RecordLookup,
) -> Result<Vec<Option<(Entity, u32)>>, ReadError> {
    let Some((target, tree)) = &end.beyond else { return Ok(Vec::new()) };
    let of_row = |row| {
        let mut reference = None;
        lookup.gather(*target, row, tree, &mut |_, value| {
            if let Gathered::Reference(entity, row) = value {
                reference = Some((entity, row));
            }
        })?;
        Ok(reference)
    };
    (0..lookup.count(*target)).map(of_row).collect()
}

impl Condition {
    fn new(
        keys: &Keys,
        expression: &Expression,
        lookup: &impl RecordLookup,
    ) -> Result<Condition, ReadError> {
        let index = expression.index;
        let mut matchers = Vec::with_capacity(expression.operands.len());
        for operand in &expression.operands {
            matchers.extend(Matcher::from_operand(keys, index, operand, lookup)?);
        }
        let names = match index {
            Index::ReferenceWords { entity, .. } => {
                let Keys { tree, ends, .. } = keys_of(entity);
                tree.pruned(&|end: &usize| ends[*end].names.is_some())
            }
            _ => PathTree::default(),
        };
        let mut beyond = Vec::new();
        let null = (true, vec![Operand::Null]);
        add_beyond(index, &expression.operands, &null, lookup, &mut beyond)?;
        Ok(Condition { index, is_negated: expression.is_negated, matchers, names, beyond })
    }

    /// Whether the condition depends on the values at an end.
    fn reads(&self, end: &PathUse) -> bool {
        reads(self.index, end)
    }

    /// Whether the condition depends on the references of the record.
    fn reads_references(&self, keys: &Keys) -> bool {
        match self.index {
            Index::Citations(_) => true,
            Index::Order(order) => keys.orders[order].counts_references,
            _ => false,
        }
    }

    /// Shows the ascending ids that a record refers to, and its own id.
    fn update_references(&self, keys: &Keys, id: u64, references: &[u64], state: &mut MatchState) {
        if !self.reads_references(keys) {
            return;
        }
        let Index::Citations(direction) = self.index else {
            state.has_value = true;
            let count = Term::from(sortable_integer(references.len() as i64));
            state.has_match = self.matches(count);
            return;
        };
        state.has_value = !references.is_empty();
        state.has_match = self.matchers.iter().any(|matcher| match (matcher, direction) {
            (Matcher::Linked(ids), Direction::References) => ids.binary_search(&id).is_ok(),
            (Matcher::Linked(ids), Direction::Citations) => {
                ids.iter().any(|id| references.binary_search(id).is_ok())
            }
            _ => false,
        });
    }

    /// Whether the record with this id and key is another version of a named record.
    fn is_version(&self, id: u64, key: &VersionKey) -> bool {
        self.matchers.iter().any(|matcher| match matcher {
            Matcher::Version(named, of) => *named != id && of.is_version_of(key),
            _ => false,
        })
    }

    fn initial_state(&self) -> MatchState {
        let words = |matcher: &Matcher| match matcher {
            Matcher::Words(words) => vec![false; words.len()],
            _ => Vec::new(),
        };
        let words = match self.index {
            Index::Words | Index::Prefixes(_) | Index::ReferenceWords { .. } => {
                self.matchers.iter().map(words).collect()
            }
            _ => Vec::new(),
        };
        MatchState { words, ..MatchState::default() }
    }

    /// Shows a value at an end, and the part of it that counts, to an index of the condition.
    fn update(
        &self,
        index: Index,
        (keys, end): (&Keys, &PathUse),
        (part, value): (&PathTarget, Gathered<'_>),
        lookup: &impl RecordLookup,
        state: &mut MatchState,
    ) -> Result<(), ReadError> {
        match index {
            Index::Any(indexes) => {
                for index in indexes.iter().filter(|index| reads(**index, end)) {
                    self.update(*index, (keys, end), (part, value), lookup, state)?;
                }
            }
            Index::OneOf { index, .. } => {
                self.update(*index, (keys, end), (part, value), lookup, state)?;
            }
            // A code of no class is no value.
            Index::Classes { index, classes } => {
                let mut found = MatchState::default();
                self.update(*index, (keys, end), (part, value), lookup, &mut found)?;
                state.has_match |= found.has_match;
                state.has_value |= match value {
                    Gathered::Code(code) => {
                        let code = lookup.code_text(code)?;
                        classes.iter().any(|class| class.has(code))
                    }
                    _ => found.has_value,
                };
            }
            // Also a reference without a record has an id.
            Index::Through { entity, index: Index::Ids, .. } => {
                let beyond = self.beyond.iter().find(|beyond| beyond.entity == entity);
                if let (Some(beyond), Gathered::Reference(of, row)) = (beyond, value)
                    && of == entity
                {
                    state.has_value = true;
                    state.has_match |= beyond.matches.has_id(lookup.row_id(entity, row)?);
                }
            }
            // Neither a suppressed record nor a reference without a record has values.
            Index::Through { entity, .. } => {
                let beyond = self.beyond.iter().find(|beyond| beyond.entity == entity);
                if let (Some(beyond), Gathered::Reference(of, row)) = (beyond, value)
                    && of == entity
                    && row < lookup.count(entity)
                    && !lookup.is_suppressed(entity, row)
                {
                    state.has_value |= beyond.has_value.is_true_of(lookup, row)?;
                    state.has_match |= beyond.matches.is_true_of(lookup, row)?;
                }
            }
            // `is_true_of` compares ids, references, versions and texts of the whole record.
            Index::Ids | Index::Citations(_) | Index::Versions { .. } | Index::FullText(_) => {}
            Index::Read { entity, .. } => {
                let listed = index_entry(Terms::Rows(entity), part, value, lookup)?;
                state.has_value |= listed.is_present;
                state.has_match |= listed.term.is_some_and(|term| self.matches(term));
            }
            Index::Lists(lists) | Index::Presence(lists) => {
                let listed = index_entry(keys.lists[lists].terms, part, value, lookup)?;
                state.has_value |= listed.is_present;
                state.has_match |= listed.term.is_some_and(|term| self.matches(term));
            }
            Index::Order(order) => {
                let number = order_value(keys.orders[order].values, value);
                state.has_value |= number.is_some();
                state.has_match |= number.is_some_and(|number| self.matches(Term::from(number)));
            }
            Index::Scanned { values: ScannedValues::Texts | ScannedValues::LongTexts, .. } => {
                let listed = index_entry(Terms::Texts, part, value, lookup)?;
                state.has_value |= listed.is_present;
                state.has_match |= listed.term.is_some_and(|term| self.matches(term));
            }
            Index::Scanned {
                values: values @ (ScannedValues::Integers | ScannedValues::Numbers),
                ..
            } => {
                let number = match values {
                    ScannedValues::Integers => order_value(Values::Integers, value),
                    _ => order_value(Values::Numbers, value),
                };
                state.has_value |= number.is_some();
                state.has_match |= number.is_some_and(|number| self.matches(Term::from(number)));
            }
            Index::Scanned { values: ScannedValues::Beginnings(scheme), .. } => {
                if let Gathered::Text(text) = value {
                    state.has_value = true;
                    let normal = scheme.normal(text);
                    state.has_match |= self.matchers.iter().any(|matcher| {
                        matches!(matcher, Matcher::Beginning(text) if normal.starts_with(&**text))
                    });
                }
            }
            // A reference without a record has a name, too, and a suppressed record has none.
            Index::Names { .. } | Index::NamesScanned { .. } => {
                state.has_value |=
                    index_entry(Terms::Presence, &PathTarget::Name, value, lookup)?.is_present;
                if let Gathered::Reference(entity, row) = value
                    && let Some(name) = lookup.row_name(entity, row)?
                {
                    state.has_match |=
                        folded_term(&fold(name)).is_some_and(|term| self.matches(term));
                }
            }
            // One reference must have all words, so the words of each are counted apart.
            Index::ReferenceWords { .. } => {
                if let Gathered::Reference(entity, row) = value {
                    self.update_reference_words(entity, row, lookup, state)?;
                }
            }
            Index::Words | Index::Prefixes(_) => {
                if let Gathered::Text(name) = value {
                    self.update_words(&fold(name), &mut state.words);
                }
            }
        }
        Ok(())
    }

    /// Whether a matcher accepts a term, or the number of an ordered value.
    fn matches(&self, term: Term) -> bool {
        self.matchers.iter().any(|matcher| match matcher {
            Matcher::Terms(terms) | Matcher::OneOf(terms, _) => terms.contains(&term),
            Matcher::Between(low, high) => (Term::from(*low)..=Term::from(*high)).contains(&term),
            _ => false,
        })
    }

    /// Tells whether one reference has all words of a matcher among its names.
    fn update_reference_words(
        &self,
        entity: Entity,
        row: u32,
        lookup: &impl RecordLookup,
        state: &mut MatchState,
    ) -> Result<(), ReadError> {
        let mut found = self.initial_state().words;
        if row < lookup.count(entity) && !lookup.is_suppressed(entity, row) {
            lookup.gather(entity, row, &self.names, &mut |_, value| {
                if let Gathered::Text(name) = value {
                    self.update_words(&fold(name), &mut found);
                }
            })?;
        } else if let Some(name) = lookup.row_name(entity, row)? {
            self.update_words(&fold(name), &mut found);
        }
        for (known, found) in state.words.iter_mut().zip(found) {
            if found.iter().all(|is_found| *is_found) {
                *known = found;
            }
        }
        Ok(())
    }

    fn update_words(&self, folded: &str, found: &mut [Vec<bool>]) {
        for (matcher, found) in self.matchers.iter().zip(found) {
            let Matcher::Words(words) = matcher else { continue };
            for (word, is_found) in words.iter().zip(found).filter(|(_, is_found)| !**is_found) {
                *is_found = has_word(folded, word);
            }
        }
    }

    /// Whether the condition is true of a record with this id, once `state` has seen all its values.
    fn is_true(&self, id: u64, state: &MatchState) -> bool {
        let is_match = self.matchers.iter().enumerate().any(|(at, matcher)| match matcher {
            Matcher::Null => !state.has_value,
            Matcher::Presence(is_present) => state.has_value == *is_present,
            Matcher::OneOf(_, is_one) => state.has_match == *is_one,
            Matcher::Terms(_)
            | Matcher::Between(..)
            | Matcher::Linked(_)
            | Matcher::Version(..)
            | Matcher::Search(_)
            | Matcher::Beginning(_) => state.has_match,
            Matcher::Id(wanted) => *wanted == id,
            Matcher::Words(_) => {
                state.words.get(at).is_some_and(|found| found.iter().all(|is_found| *is_found))
            }
        });
        is_match != self.is_negated
    }
}

/// Whether an index has values from an end.
fn reads(index: Index, end: &PathUse) -> bool {
    match index {
        Index::Ids => false,
        Index::Lists(lists) | Index::Presence(lists) => end.lists == Some(lists),
        Index::Order(order) => end.order == Some(order),
        Index::Names { named, .. } | Index::ReferenceWords { named, .. } => {
            end.lists == Some(named)
        }
        Index::Prefixes(lists) => end.prefixes == Some(lists),
        Index::NamesScanned { rows, .. } | Index::Through { rows, .. } => end.lists == Some(rows),
        Index::Words => end.names.is_some(),
        Index::Citations(_) | Index::Versions { .. } | Index::FullText(_) => false,
        Index::Read { read, .. } | Index::Scanned { read, .. } => end.read == Some(read),
        Index::Any(indexes) => indexes.iter().any(|index| reads(*index, end)),
        Index::OneOf { index, .. } | Index::Classes { index, .. } => reads(*index, end),
    }
}

/// Adds the tests of the records that an index leads to through references, one for each entity. `present` are the operands
/// of the test whether a record has a value, and whether these are negated.
fn add_beyond(
    index: Index,
    operands: &[Operand],
    present: &(bool, Vec<Operand>),
    lookup: &impl RecordLookup,
    beyond: &mut Vec<Beyond>,
) -> Result<(), ReadError> {
    match index {
        Index::Any(indexes) => indexes
            .iter()
            .try_for_each(|index| add_beyond(*index, operands, present, lookup, beyond)),
        Index::OneOf { index, codes } => {
            add_beyond(*index, &code_operands(codes), present, lookup, beyond)
        }
        Index::Classes { index, classes } => {
            let codes = classes.iter().flat_map(|class| code_operands(class.codes));
            let present = (false, codes.collect());
            add_beyond(*index, &class_operands(classes, operands), &present, lookup, beyond)
        }
        // Several indexes may lead to one entity; one test of its records serves all of them.
        Index::Through { entity, index, .. } if beyond.iter().all(|it| it.entity != entity) => {
            let test = |is_negated, operands: Vec<Operand>| {
                // The predicate reads the index alone: any key of the entity completes the expression.
                let Some(key) = keys_of(entity).keys.first() else {
                    return Err(ReadError::Internal("the entity has no keys"));
                };
                let text = String::new();
                let expression = Expression { key, index: *index, is_negated, operands, text };
                Predicate::new(&Query { filter: vec![expression], ..Query::new(entity) }, lookup)
            };
            // `null` asks for records without a value, which `has_value` finds.
            let given = operands.iter().filter(|operand| **operand != Operand::Null);
            let matches = test(false, given.cloned().collect())?;
            let has_value = match index.is_presence() {
                true => test(true, vec![Operand::Nothing])?,
                false => test(present.0, present.1.clone())?,
            };
            beyond.push(Beyond { entity, matches, has_value });
            Ok(())
        }
        _ => Ok(()),
    }
}
