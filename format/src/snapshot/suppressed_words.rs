//! The words that the full-text index has of suppressed records, and that other records may lack.
//!
//! ```text
//! suppressed: output 7 "On zyzzyvas", author 3 "Ada Smith"
//! terms      en: on → on, zyzzyvas → zyzzyva        outputs   on 1, zyzzyva 1
//! names      ada → author 3, smith → author 3
//! ```
//!
//! The postings of all other words hold as the index has them. Cost: the text of each suppressed output, and the name of each
//! suppressed author, source and topic. The outputs that refer to suppressed names are not read here.

use std::collections::HashMap;

use crate::entity::Entity;
use crate::index::full_text::{WordPlaces, each_text};
use crate::record::Gathered;
use crate::schema::{Field, TextPaths, text_paths};
use crate::snapshot::suppressed::Suppressed;
use crate::snapshot::{RecordLookup, Snapshot};
use crate::storage::ReadError;
use crate::text::analyzer::Stemmer;

/// The words of suppressed records.
#[derive(Clone, Default)]
pub(crate) struct SuppressedWords {
    /// By language and form: the numbers of the terms of the forms in suppressed outputs.
    forms: HashMap<Stemmer, HashMap<Box<str>, u32>>,
    /// The number of each term.
    terms: HashMap<Box<str>, u32>,
    /// By number of a term: the suppressed outputs with the term, and the last of them.
    outputs: Vec<(u32, u32)>,
    /// By form: the suppressed rows with the form in their names.
    names: HashMap<Box<str>, Vec<(Entity, u32)>>,
}

impl SuppressedWords {
    /// Collects the words of suppressed rows. `plain` is the snapshot without suppression. The words of outputs that were
    /// suppressed `before` are taken over, if all of these still are.
    pub fn new<'r>(
        plain: &Snapshot,
        outputs: &[u32],
        rows: impl Fn(Entity) -> &'r [u32],
        before: &Suppressed,
    ) -> Result<SuppressedWords, ReadError> {
        let mut words = SuppressedWords::default();
        if plain.full_text(Entity::Output)?.is_none() {
            return Ok(words);
        }
        let Some(paths) = text_paths(Entity::Output) else { return Ok(words) };
        let known = before.rows(Entity::Output);
        let known = match known.iter().all(|row| outputs.binary_search(row).is_ok()) {
            true => {
                // The texts of outputs cost most, and are not read again. The names are collected again below.
                words = SuppressedWords { names: HashMap::new(), ..before.words().clone() };
                known
            }
            false => &[],
        };
        for row in outputs.iter().filter(|row| known.binary_search(row).is_err()) {
            words.add_output(plain, paths, *row)?;
        }
        // Two paths of venues lead to sources, whose names are added once.
        let mut entities: Vec<Entity> = paths.names.iter().map(|names| names.entity).collect();
        entities.sort_unstable();
        entities.dedup();
        for entity in entities {
            for row in rows(entity) {
                let name = plain.row_name(entity, *row)?.unwrap_or_default();
                words.add_name(entity, *row, name);
            }
        }
        Ok(words)
    }

    fn add_output(
        &mut self,
        plain: &Snapshot,
        paths: &TextPaths,
        row: u32,
    ) -> Result<(), ReadError> {
        let language = language_of(plain, paths, row)?;
        let stemmer = Stemmer::of_language(language);
        let SuppressedWords { forms, terms, outputs, .. } = self;
        let forms = forms.entry(stemmer).or_default();
        let mut places = WordPlaces::default();
        each_text(paths, plain.stored(Entity::Output, row)?, plain, |field, text| {
            places.each(field, text, |form, _| {
                let number = forms.get(form).copied().unwrap_or_else(|| {
                    let term = stemmer.term(form);
                    let number = terms.get(&*term).copied().unwrap_or_else(|| {
                        let number = outputs.len() as u32;
                        terms.insert(term.into(), number);
                        outputs.push((0, u32::MAX));
                        number
                    });
                    forms.insert(form.into(), number);
                    number
                });
                // An output counts once, in however many of its words the term occurs.
                let (count, last) = &mut outputs[number as usize];
                *count += u32::from(*last != row);
                *last = row;
            });
        })
    }

    fn add_name(&mut self, entity: Entity, row: u32, name: &str) {
        let names = &mut self.names;
        WordPlaces::default().each(Field::Authors, name, |form, _| {
            let rows = match names.get_mut(form) {
                Some(rows) => rows,
                None => names.entry(form.into()).or_default(),
            };
            if rows.last() != Some(&(entity, row)) {
                rows.push((entity, row));
            }
        });
    }

    /// Whether no name is suppressed.
    pub fn has_no_names(&self) -> bool {
        self.names.is_empty()
    }

    /// The suppressed rows with a form in their names.
    pub fn named(&self, form: &str) -> &[(Entity, u32)] {
        self.names.get(form).map_or(&[], Vec::as_slice)
    }

    /// The number of suppressed outputs that have a term.
    pub fn outputs(&self, term: &str) -> u32 {
        self.terms.get(term).map_or(0, |number| self.outputs[*number as usize].0)
    }

    /// Whether a suppressed record has a form, so that perhaps no other record has it.
    pub fn has(&self, form: &str) -> bool {
        self.names.contains_key(form) || self.forms.values().any(|forms| forms.contains_key(form))
    }
}

/// The code of the language of an output.
pub(crate) fn language_of<'s>(
    snapshot: &'s Snapshot,
    paths: &TextPaths,
    row: u32,
) -> Result<Option<&'s str>, ReadError> {
    let mut language = None;
    snapshot.gather(Entity::Output, row, &paths.language, &mut |_, value| {
        if let Gathered::Code(code) = value {
            language = Some(code);
        }
    })?;
    language.map(|code| snapshot.code(code)).transpose()
}
