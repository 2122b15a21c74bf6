//! Codes from records: the rows that they refer to; of texts, each new one gets the next number.

use crate::index::encoding::index_entry;
use crate::query::groups::source::{IdentifiersSource, NULL, RecordsSource};
use crate::record::Gathered;
use crate::schema::Scheme;
use crate::snapshot::RecordLookup;
use crate::storage::ReadError;

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

impl IdentifiersSource<'_> {
    pub(super) fn each(&mut self, row: u32, visit: impl FnMut(u64)) -> Result<(), ReadError> {
        let mut found: Vec<u64> = Vec::new();
        let (numbers, texts) = (&mut self.numbers, &mut self.texts);
        let (keys, lists, scheme) = (self.keys, self.lists, self.scheme);
        let mut outcome = Ok(());
        let snapshot = self.snapshot;
        let gathered = snapshot.gather(self.entity, row, &self.tree, &mut |end, value| {
            let Gathered::Text(text) = value else { return };
            let part = &keys.ends[end].target;
            match index_entry(keys.lists[lists].terms, part, value, snapshot) {
                Err(error) => outcome = Err(error),
                Ok(_) => {
                    let number = *numbers.entry(scheme.normal(text)).or_insert_with(|| {
                        texts.push(match scheme {
                            // Records print an ORCID iD with its address.
                            Scheme::Orcid => format!("https://orcid.org/{text}"),
                            _ => text.to_owned(),
                        });
                        texts.len() as u64 - 1
                    });
                    found.push(number);
                }
            }
        });
        snapshot.or_noted(gathered)?;
        outcome?;
        visit_distinct(found, visit);
        Ok(())
    }
}
