//! Selections of the leaf values of records, and of the records that they refer to.

use rkyv::{
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU64},
    string::ArchivedString,
};

use crate::entity::{Entity, with_record};
use crate::json::render::{RecordBytes, Render};
use crate::json::select::{Answering, Part, Select, SelectError, Selection};
use crate::record;
use crate::record::value::{
    ArchivedAnyRef, ArchivedCode, ArchivedDate, ArchivedId, ArchivedJson, ArchivedLongText,
    ArchivedNamed, ArchivedOrcid, ArchivedParentRef, ArchivedRef, ArchivedTimestamp,
    ArchivedUtcTimestamp, entity,
};
use crate::record::{
    ArchivedAuthorOrcid, ArchivedHostName, ArchivedSourceKind, ArchivedYearPrices,
};
use crate::storage::error::ReadError;

impl Answering<'_, '_> {
    /// Appends the JSON of what is asked of the record in a row; `null` where the row is a stray's.
    ///
    /// # Errors
    ///
    /// As [`Select::select`]. Cost: the whole record is validated, whatever is asked of it.
    pub fn record(
        &mut self,
        entity: Entity,
        row: u32,
        selection: &Selection,
    ) -> Result<(), SelectError> {
        let store = self.page.store();
        if !store.has_record(entity, row) {
            self.page.null();
            return Ok(());
        }
        self.beyond.record(self.page.out.len())?;
        let RecordBytes { archived, long_texts } = store.record(entity, row)?;
        let outer = self.page.swap_cold((long_texts, None));
        self.page.open_object();
        with_record!(entity, R => {
            let record = record::access::<R>(archived).ok_or(ReadError::corrupt("records", "an archived record does not validate"))?;
            for selected in &selection.0 {
                self.page.key(&selected.key);
                match selected.part {
                    Part::Question(number) => {
                        self.beyond.question(number, (entity, row), self.page)?;
                    }
                    ref part => record.part(part, self)?,
                }
            }
        });
        self.page.close_object();
        self.page.swap_cold(outer);
        Ok(())
    }
}

/// Values that are asked for whole.
macro_rules! whole {
    ($([$($parameter:tt)*] $type:ty;)*) => {
        $(impl<$($parameter)*> Select for $type {
            fn select(
                &self,
                _: &Selection,
                answering: &mut Answering<'_, '_>,
            ) -> Result<(), SelectError> {
                Ok(self.render(answering.page)?)
            }
        })*
    };
}

whole! {
    [] bool;
    [] ArchivedI32;
    [] ArchivedI64;
    [] ArchivedU64;
    [] ArchivedF64;
    [] ArchivedString;
    [] ArchivedLongText;
    [] ArchivedTimestamp;
    [] ArchivedUtcTimestamp;
    [] ArchivedDate;
    [] ArchivedOrcid;
    [] ArchivedJson;
    [] ArchivedAnyRef;
    [] ArchivedHostName;
    [] ArchivedSourceKind;
    [const E: u8] ArchivedId<E>;
    [const E: u8] ArchivedCode<E>;
}

/// Values whose shape in a single record is that of what they hold.
macro_rules! inner {
    ($($type:ty),*) => {
        $(impl Select for $type {
            fn select(
                &self,
                selection: &Selection,
                answering: &mut Answering<'_, '_>,
            ) -> Result<(), SelectError> {
                self.0.select(selection, answering)
            }
        })*
    };
}

inner!(ArchivedAuthorOrcid, ArchivedYearPrices);

impl<const E: u8> Select for ArchivedRef<E> {
    fn part(&self, part: &Part, answering: &mut Answering<'_, '_>) -> Result<(), SelectError> {
        reference((entity(E), self.0.to_native()), false, part, answering)
    }
}

impl<const E: u8> Select for ArchivedParentRef<E> {
    fn part(&self, part: &Part, answering: &mut Answering<'_, '_>) -> Result<(), SelectError> {
        reference((entity(E), self.0.to_native()), true, part, answering)
    }
}

fn reference(
    (entity, row): (Entity, u32),
    id_as_text: bool,
    part: &Part,
    answering: &mut Answering<'_, '_>,
) -> Result<(), SelectError> {
    let page = &mut *answering.page;
    match part {
        Part::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
        Part::Id => page.reference_id(entity, row, id_as_text)?,
        Part::Name => page.reference_name(entity, row)?,
        Part::Record(selection) => answering.record(entity, row, selection)?,
        _ => return Err(ReadError::Internal("a selected reference has no such member").into()),
    }
    Ok(())
}

impl<const E: u8> Select for ArchivedNamed<E> {
    fn part(&self, part: &Part, answering: &mut Answering<'_, '_>) -> Result<(), SelectError> {
        let (page, code) = (&mut *answering.page, self.0.to_native());
        match part {
            Part::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
            Part::Code => page.code(code)?,
            Part::Name => page.code_name(code)?,
            _ => return Err(ReadError::Internal("a selected code has no such member").into()),
        }
        Ok(())
    }
}
