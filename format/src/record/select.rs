//! [`Select`] for records, and for the members of references and codes.

use crate::entity::{Entity, with_record};
use crate::json::record_reader::RecordReader;
use crate::json::render::{CurrentRecord, Render, Shape};
use crate::json::select::{
    MemberSelection, PathStep, Select, SelectError, SelectedValue, SelectionWriter,
};
use crate::record::stored::StoredObject;
use crate::record::{AuthorOrcid, OrcidProfile, YearPrice, YearPrices};
use crate::storage::ReadError;

/// Objects whose members can be selected.
pub trait SelectMember: StoredObject {
    /// Writes one selected value of an object, given the places of its members.
    ///
    /// # Errors
    ///
    /// As [`Select::select`], and if the object has no such value.
    fn select_member(
        members: &Self::Members<'_>,
        value: &SelectedValue,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError>;
}

impl SelectionWriter<'_, '_> {
    /// Writes selected members of the record in a row; `null` if the row has no record.
    ///
    /// Cost: passes over the whole record, however small the selection is.
    pub fn record(
        &mut self,
        entity: Entity,
        row: u32,
        selection: &MemberSelection,
    ) -> Result<(), SelectError> {
        let store = self.json.store();
        if !store.has_record(entity, row) {
            self.json.null();
            return Ok(());
        }
        self.resolver.before_record(self.json.out.len())?;
        let bytes = store.record(entity, row)?;
        let outer = self.json.swap_record(CurrentRecord::new(bytes));
        self.json.open_object();
        with_record!(entity, R => {
            let members = R::locate(&mut RecordReader::new(bytes.packed)?)?;
            for selected in &selection.0 {
                self.json.key(&selected.key);
                self.resolver.enter(PathStep::Field(&selected.key));
                match selected.value {
                    SelectedValue::Resolved(number) => {
                        self.resolver.write_resolved(number, entity, row, self.json)?;
                    }
                    ref value => R::select_member(&members, value, self)?,
                }
                self.resolver.leave();
            }
        });
        self.json.close_object();
        self.json.swap_record(outer);
        Ok(())
    }
}

/// Wrappers whose form in single records is the form of the inner value, and in lists has no members.
macro_rules! inner {
    ($($type:ty as $inner:ty;)*) => {
        $(impl Select for $type {
            fn select(
                from: &mut RecordReader<'_>,
                selection: &MemberSelection,
                writer: &mut SelectionWriter<'_, '_>,
            ) -> Result<(), SelectError> {
                match writer.json.shape() {
                    Shape::Single => <$inner>::select(from, selection, writer),
                    Shape::List => Ok(<$type>::render(from, writer.json)?),
                }
            }
        })*
    };
}

inner! {
    AuthorOrcid as OrcidProfile;
    YearPrices as Vec<YearPrice>;
}

pub(super) fn select_reference(
    entity: Entity,
    row: u32,
    id_as_text: bool,
    value: &SelectedValue,
    writer: &mut SelectionWriter<'_, '_>,
) -> Result<(), SelectError> {
    let target = &mut *writer.json;
    match value {
        SelectedValue::Constant(json) => target.out.extend_from_slice(json.as_bytes()),
        SelectedValue::Id => target.reference_id(entity, row, id_as_text)?,
        SelectedValue::Name => target.reference_name(entity, row)?,
        SelectedValue::Record(selection) => writer.record(entity, row, selection)?,
        _ => return Err(ReadError::Internal("a selected reference has no such member").into()),
    }
    Ok(())
}

pub(super) fn select_named(
    code: u32,
    value: &SelectedValue,
    writer: &mut SelectionWriter<'_, '_>,
) -> Result<(), SelectError> {
    let target = &mut *writer.json;
    match value {
        SelectedValue::Constant(json) => target.out.extend_from_slice(json.as_bytes()),
        SelectedValue::Code => target.code(code)?,
        SelectedValue::Name => target.code_name(code)?,
        _ => return Err(ReadError::Internal("a selected code has no such member").into()),
    }
    Ok(())
}
