//! Codes from records: the rows that they refer to; of texts, each new one gets the next number.

use crate::index::encoding::named_value;
use crate::query::groups::source::{NULL, RecordsSource, TextsSource};
use crate::query::groups::value::GroupValue;
use crate::query::page::scan::{LONG_TEXTS_NANOS, RECORD_NANOS};
use crate::query::parse::grouping::TextForm;
use crate::query::rows::deadline::QueryError;
use crate::record::Gathered;
use crate::schema::Scheme;
use crate::snapshot::{RecordLookup, gather_texts};
use crate::storage::ReadError;
use crate::text::fold::fold;

/// Visits each code of a row once, or null if the row has none.
fn visit_distinct(mut codes: Vec<u64>, mut visit: impl FnMut(u64)) {
    if codes.is_empty() {
        visit(NULL);
    }
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().for_each(visit);
}

impl RecordsSource<'_> {
    pub(super) fn each(&self, row: u32, visit: impl FnMut(u64)) -> Result<(), ReadError> {
        let RecordsSource { snapshot, entity, target, tree } = self;
        let (mut found, mut outcome) = (Vec::new(), Ok(()));
        let gathered = snapshot.gather(*entity, row, tree, &mut |_, value| {
            if let Gathered::Reference(_, row) = value {
                match snapshot.or_noted(snapshot.first_row_of_id(*target, row)) {
                    Ok(first) => found.extend(first.map(u64::from)),
                    Err(error) => outcome = Err(error),
                }
            }
        });
        snapshot.or_noted(gathered)?;
        outcome?;
        visit_distinct(found, visit);
        Ok(())
    }
}

/// The most bytes that the texts of one key take in memory.
const TEXT_BYTES_MAX: usize = 64 << 20;
impl TextsSource<'_> {
    /// The time that the values of a row take, on average.
    pub(super) fn nanos_per_row(&self) -> f64 {
        if self.form == TextForm::FoldedLong { LONG_TEXTS_NANOS } else { RECORD_NANOS }
    }

    /// The value of a code.
    pub(super) fn value(&self, code: u64) -> Option<GroupValue> {
        let text = self.found.text(code)?;
        match self.form {
            TextForm::Integer => text.parse().ok().map(GroupValue::Integer),
            _ => Some(GroupValue::Text(text.to_owned())),
        }
    }

    pub(super) fn each(&mut self, row: u32, visit: impl FnMut(u64)) -> Result<(), QueryError> {
        let (mut codes, mut is_full) = (Vec::new(), false);
        let (form, found, snapshot) = (self.form, &mut self.found, self.snapshot);
        let mut add = |text: &str| {
            let (normal, shown) = match form {
                // Records print an ORCID iD with its address.
                TextForm::Identifier(Scheme::Orcid) => {
                    (Scheme::Orcid.normal(text), format!("https://orcid.org/{text}"))
                }
                TextForm::Identifier(scheme) => (scheme.normal(text), text.to_owned()),
                TextForm::Folded | TextForm::FoldedLong => (fold(text), text.to_owned()),
                TextForm::Integer => (text.to_owned(), text.to_owned()),
            };
            match found.code(&normal, || shown, TEXT_BYTES_MAX) {
                Some(code) => codes.push(code),
                None => is_full = true,
            }
        };
        let mut outcome = Ok(());
        let gathered =
            gather_texts(snapshot, self.entity, row, &self.tree, &mut |_, value| match snapshot
                .or_noted(named_value(value, snapshot))
            {
                Ok(Some(Gathered::Text(text))) => add(text),
                Ok(Some(Gathered::Integer(number))) => add(&number.to_string()),
                Ok(_) => {}
                Err(error) => outcome = Err(error),
            });
        snapshot.or_noted(gathered)?;
        outcome?;
        if is_full {
            let reason = format!(
                "counts texts of more than {} MiB; narrow `filter` to fewer records",
                TEXT_BYTES_MAX >> 20
            );
            return Err(QueryError::refused("group_by", "", reason));
        }
        visit_distinct(codes, visit);
        Ok(())
    }
}
