//! The metrics of a source that are shown with a venue.

use crate::entity::Entity;
use crate::json::record_reader::RecordReader;
use crate::json::render::{CurrentRecord, JsonWriter, RecordBytes, RecordStore, Render};
use crate::json::select::{MemberSelection, Select, SelectError, SelectedValue, SelectionWriter};
use crate::record::columns::{Column, Columns, OTHER_MEMBERS, fill_from};
use crate::record::declare::object;
use crate::record::schema::{Describe, Schema};
use crate::record::shared::*;
use crate::record::slot::{Slot, SlotNumber};
use crate::record::source::*;
use crate::record::stored::{Stored, StoredObject};
use crate::record::value::*;
use crate::record::writer::RecordWriter;
use crate::storage::ReadError;

/// Selected metrics of a venue's source, read from the source's record when rendered.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VenueMetrics(pub Ref<SOURCE>);

impl Describe for VenueMetrics {
    fn schema() -> Schema {
        Schema::Nullable(Box::new(MetricsCut::schema()))
    }
}

impl Stored for VenueMetrics {
    fn write(&self, to: &mut RecordWriter) {
        self.0.write(to);
    }

    fn read(from: &mut RecordReader<'_>) -> Result<Self, ReadError> {
        Ref::read(from).map(VenueMetrics)
    }

    fn skip(from: &mut RecordReader<'_>) -> Result<(), ReadError> {
        Ref::<SOURCE>::skip(from)
    }

    fn slots(
        from: &mut RecordReader<'_>,
        visit: &mut dyn FnMut(Slot<SlotNumber>),
    ) -> Result<(), ReadError> {
        visit(Slot::Copy(Entity::Source, SlotNumber::reference(from)?));
        Ok(())
    }
}

/// The record of the source in a row, and the place of its metrics; `None` if the row has no record or the
/// record has no metrics.
fn metrics_in(
    store: &dyn RecordStore,
    row: u32,
) -> Result<Option<(RecordBytes<'_>, RecordReader<'_>)>, ReadError> {
    if !store.has_record(Entity::Source, row) {
        return Ok(None);
    }
    let source = store.record(Entity::Source, row)?;
    let at = const { Source::index_of("metrics") };
    let mut from = RecordReader::new(source.packed)?;
    if !Source::has_member(from, at)? {
        return Ok(None);
    }
    Ok(Some((source, Source::locate(&mut from)?[at])))
}

impl Columns for VenueMetrics {
    fn put<C: Column>(
        from: &mut RecordReader<'_>,
        column: &mut C,
        writer: &mut JsonWriter<'_>,
    ) -> Result<(), ReadError> {
        match metrics_in(writer.store(), from.reference()?)? {
            Some((_, mut metrics)) => <Option<MetricsView>>::put(&mut metrics, column, writer),
            None => {
                column.null();
                Ok(())
            }
        }
    }
}

impl Render for VenueMetrics {
    fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        match metrics_in(writer.store(), from.reference()?)? {
            Some((_, mut metrics)) => <Option<MetricsView>>::render(&mut metrics, writer),
            None => {
                writer.null();
                Ok(())
            }
        }
    }
}

impl Select for VenueMetrics {
    fn select(
        from: &mut RecordReader<'_>,
        selection: &MemberSelection,
        writer: &mut SelectionWriter<'_, '_>,
    ) -> Result<(), SelectError> {
        let Some((source, mut metrics)) = metrics_in(writer.json.store(), from.reference()?)?
        else {
            writer.json.null();
            return Ok(());
        };
        let outer = writer.json.swap_record(CurrentRecord::new(source));
        <Option<MetricsView>>::select(&mut metrics, selection, writer)?;
        writer.json.swap_record(outer);
        Ok(())
    }
}

object! {
    /// Source metrics shown with a venue.
    MetricsCut {
        /// Scopus.
        scopus: Option<ScopusCut>,
        /// Web of Science.
        web_of_science: Option<WebOfScienceCut>,
        /// ABDC journal quality list.
        abdc: Option<Abdc>,
    }

    /// Scopus metrics shown with a venue.
    ScopusCut {
        /// Source normalized impact per paper.
        snip: Option<f64>,
        /// SCImago journal rank.
        sjr: Option<f64>,
        /// CiteScore.
        citescore: Option<f64>,
        /// Quartile.
        quartile: Option<String>,
    }

    /// Web of Science metrics shown with a venue.
    WebOfScienceCut {
        /// Journal impact factor.
        jif: Option<f64>,
        /// Five-year impact factor.
        five_year_jif: Option<f64>,
        /// Quartile.
        quartile: Option<String>,
        /// Indexes.
        indexes: Option<Vec<NamedIndex>>,
    }
}

/// Declares `$view`, which renders members of `$whole` in the order of the declaration of another
/// object.
macro_rules! view {
    ($view:ident of $whole:ident { $($key:literal: $member:ident: $type:ty,)* }) => {
        struct $view;

        impl Render for $view {
            fn render(from: &mut RecordReader<'_>, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
                let members = $whole::locate(from)?;
                let object = writer.begin_object();
                $(
                    writer.member(concat!(",\"", $key, "\":"));
                    let at = const { $whole::index_of(stringify!($member)) };
                    <$type>::render(&mut members[at].clone(), writer)?;
                )*
                writer.end_object(object);
                Ok(())
            }
        }

        impl Columns for $view {
            fn put<C: Column>(
                from: &mut RecordReader<'_>,
                column: &mut C,
                writer: &mut JsonWriter<'_>,
            ) -> Result<(), ReadError> {
                let members = $whole::locate(from)?;
                let mut columns = column.object().iter_mut();
                $(
                    let at = const { $whole::index_of(stringify!($member)) };
                    let column = columns.next().ok_or(OTHER_MEMBERS)?;
                    fill_from::<$type, C>(members[at], column, writer)?;
                )*
                Ok(())
            }
        }

        impl Select for $view {
            fn select(
                from: &mut RecordReader<'_>,
                selection: &MemberSelection,
                writer: &mut SelectionWriter<'_, '_>,
            ) -> Result<(), SelectError> {
                let members = $whole::locate(from)?;
                writer.object(selection, |value, writer| {
                    let (member, below) = match value {
                        SelectedValue::Member(member, below) => (*member, below),
                        SelectedValue::Constant(json) => {
                            writer.json.out.extend_from_slice(json.as_bytes());
                            return Ok(());
                        }
                        _ => return Err(ReadError::Internal("the selected member has no members of its own").into()),
                    };
                    let mut number = 0;
                    $(
                        if member == number {
                            let at = const { $whole::index_of(stringify!($member)) };
                            return <$type>::select(&mut members[at].clone(), below, writer);
                        }
                        number += 1;
                    )*
                    let _ = number;
                    Err(ReadError::Internal("the member has no such value").into())
                })
            }
        }
    };
}

view! {
    MetricsView of Metrics {
        "scopus": scopus: Option<ScopusView>,
        "web_of_science": web_of_science: Option<WebOfScienceView>,
        "abdc": abdc: Option<Abdc>,
    }
}

view! {
    ScopusView of Scopus {
        "snip": snip: Option<f64>,
        "sjr": sjr: Option<f64>,
        "citescore": citescore: Option<f64>,
        "quartile": quartile: Option<String>,
    }
}

view! {
    WebOfScienceView of WebOfScience {
        "jif": jif: Option<f64>,
        "five_year_jif": five_year_jif: Option<f64>,
        "quartile": quartile: Option<String>,
        "indexes": index: Option<Vec<NamedIndex>>,
    }
}
