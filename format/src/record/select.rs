//! [`Select`] for records and for the leaf values of records.

use rkyv::{
    primitive::{ArchivedF64, ArchivedI32, ArchivedI64, ArchivedU64},
    string::ArchivedString,
};

use crate::entity::{Entity, with_record};
use crate::json::render::{CurrentRecord, Shape};
use crate::json::select::{
    PathStep, Select, SelectError, SelectedValue, Selection, SelectionWriter,
};
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

impl SelectionWriter<'_, '_> {
    /// Writes selected members of the record in a row; `null` if the row has no record.
    ///
    /// Cost: validates the whole record, however small the selection is.
    ///
    /// # Errors
    ///
    /// As [`Select::select`].
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
        self.resolver.before_record(self.page.out.len())?;
        let bytes = store.record(entity, row)?;
        let outer = self.page.swap_record(CurrentRecord::new(bytes));
        self.page.open_object();
        with_record!(entity, R => {
            let record = record::access_stored::<R>(bytes.archived)?;
            for selected in &selection.0 {
                self.page.key(&selected.key);
                self.resolver.enter(PathStep::Field(&selected.key));
                match selected.value {
                    SelectedValue::Resolved(number) => {
                        self.resolver.write_resolved(number, (entity, row), self.page)?;
                    }
                    ref value => record.select_value(value, self)?,
                }
                self.resolver.leave();
            }
        });
        self.page.close_object();
        self.page.swap_record(outer);
        Ok(())
    }
}

/// Values without selectable members: written whole.
macro_rules! whole {
    ($([$($parameter:tt)*] $type:ty;)*) => {
        $(impl<$($parameter)*> Select for $type {
            fn select(
                &self,
                _: &Selection,
                writer: &mut SelectionWriter<'_, '_>,
            ) -> Result<(), SelectError> {
                Ok(writer.page.value(self)?)
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

/// Wrappers whose form in single records is the form of the inner value, and in lists has no members.
macro_rules! inner {
    ($($type:ty),*) => {
        $(impl Select for $type {
            fn select(
                &self,
                selection: &Selection,
                writer: &mut SelectionWriter<'_, '_>,
            ) -> Result<(), SelectError> {
                match writer.page.shape() {
                    Shape::Single => self.0.select(selection, writer),
                    Shape::List => Ok(writer.page.value(self)?),
                }
            }
        })*
    };
}

inner!(ArchivedAuthorOrcid, ArchivedYearPrices);

impl<const E: u8> Select for ArchivedRef<E> {
    fn select_value(
        &self,
        value: &SelectedValue,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        reference((entity(E), self.0.to_native()), false, value, writer)
    }
}

impl<const E: u8> Select for ArchivedParentRef<E> {
    fn select_value(
        &self,
        value: &SelectedValue,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        reference((entity(E), self.0.to_native()), true, value, writer)
    }
}

fn reference(
    (entity, row): (Entity, u32),
    id_as_text: bool,
    value: &SelectedValue,
    writer: &mut SelectionWriter<'_, '_>,
) -> Result<(), SelectError> {
    let page = &mut *writer.page;
    match value {
        SelectedValue::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
        SelectedValue::Id => page.reference_id(entity, row, id_as_text)?,
        SelectedValue::Name => page.reference_name(entity, row)?,
        SelectedValue::Record(selection) => writer.record(entity, row, selection)?,
        _ => return Err(ReadError::Internal("a selected reference has no such member").into()),
    }
    Ok(())
}

impl<const E: u8> Select for ArchivedNamed<E> {
    fn select_value(
        &self,
        value: &SelectedValue,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        let (page, code) = (&mut *writer.page, self.0.to_native());
        match value {
            SelectedValue::Constant(json) => page.out.extend_from_slice(json.as_bytes()),
            SelectedValue::Code => page.code(code)?,
            SelectedValue::Name => page.code_name(code)?,
            _ => return Err(ReadError::Internal("a selected code has no such member").into()),
        }
        Ok(())
    }
}
