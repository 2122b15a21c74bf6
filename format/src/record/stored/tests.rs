//! Tests of the packed form: round trips, copies with other numbers, and damage.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::record::slot::RenumberedCopy;
use crate::record::value::{Date, NO_CODE, Ref, Timestamp};
use crate::record::{
    Authorship, Output, PrimaryVenue, PrimaryVenueSource, SourceKind, VenueMetrics, pack, read,
    visit_slots,
};

fn packed<T: Stored>(value: &T) -> Vec<u8> {
    let (mut writer, mut packed) = (RecordWriter::default(), Vec::new());
    value.write(&mut writer);
    writer.finish(&mut packed);
    packed
}

fn check<T: Stored + PartialEq + std::fmt::Debug>(value: T) {
    let packed = packed(&value);
    let mut from = RecordReader::new(&packed).unwrap();
    assert_eq!(T::read(&mut from).unwrap(), value);
    assert!(from.is_at_end(), "{value:?}");
    let mut from = RecordReader::new(&packed).unwrap();
    T::skip(&mut from).unwrap();
    assert!(from.is_at_end(), "{value:?}");
}

#[test]
fn values_are_read_as_they_were_written() {
    check(vec![0, 1, -1, 63, 64, -65, i64::MAX, i64::MIN]);
    check(vec![0, 127, 128, 1 << 53, u64::MAX]);
    check(vec![i32::MAX, i32::MIN, 2020, -44]);
    check(vec![
        0.0,
        0.5,
        -4.142,
        1e-17,
        1e300,
        f64::MAX,
        f64::MIN_POSITIVE,
        0.1 + 0.2,
        1e15,
        f64::from(0.41f32),
        f64::from(-0.1f32),
        f64::from(f32::MAX),
    ]);
    check(vec![Date { year: 9999, month: 12, day: 31 }, Date::default()]);
    let times = [(0, 0), (-1, 6), (1_769_990_145_819_873, 6), (1_769_990_145_000_000, 0), (1, 0)];
    let times = times.into_iter().chain([(i64::MAX, 6), (i64::MIN, 0), (5, 9)]);
    check(
        times
            .map(|(micros, fraction_digits)| Timestamp { micros, fraction_digits })
            .collect::<Vec<_>>(),
    );
    check(
        ["", "a", "same text", "same text", "é".repeat(200).as_str()].map(str::to_owned).to_vec(),
    );
    check([7, 7, 8, 0, 0].map(Ref::<0>).to_vec());
}

#[test]
fn a_negative_zero_keeps_its_sign() {
    let packed = packed(&-0.0);
    let number = f64::read(&mut RecordReader::new(&packed).unwrap()).unwrap();
    assert_eq!(number.to_bits(), (-0.0f64).to_bits());
}

#[test]
fn equal_texts_and_references_are_written_once() {
    let once = packed(&vec!["https://doi.org/10.1/a".to_owned()]);
    let twice = packed(&vec!["https://doi.org/10.1/a".to_owned(); 2]);
    assert_eq!(twice.len(), once.len() + 2);
    assert_eq!(
        packed(&vec![Ref::<0>(1 << 20); 3]).len(),
        packed(&vec![Ref::<0>(1 << 20)]).len() + 2
    );
}

fn output() -> Output {
    let source = PrimaryVenueSource {
        source: Ref(4),
        kind: SourceKind { source: 4, code: NO_CODE },
        metrics: VenueMetrics(Ref(4)),
    };
    Output {
        title: Some("A title of some length".into()),
        name: Some("A title of some length".into()),
        is_retracted: Some(false),
        fwci: Some(1.25),
        primary_venue: Some(PrimaryVenue { source: Some(source), ..PrimaryVenue::default() }),
        authors: Some(vec![Authorship { author: Ref(9), ..Authorship::default() }; 3]),
        ..Output::default()
    }
}

#[test]
fn the_writer_returns_the_slots_that_a_reader_visits() {
    let (mut writer, mut packed, mut visited) = (RecordWriter::default(), Vec::new(), Vec::new());
    output().write(&mut writer);
    let written: Vec<_> = writer.finish(&mut packed).collect();
    visit_slots::<Output>(&packed, &mut |slot| match slot {
        Slot::Reference(_, slot) | Slot::Code(slot) | Slot::Copy(_, slot) => visited.push(slot),
        Slot::SourceType { source, code } => visited.extend([source, code]),
    })
    .unwrap();
    assert!(written.len() > 5);
    assert_eq!(written, visited);
    assert_eq!(writer.finish(&mut Vec::new()).count(), 0);
}

#[test]
fn a_copy_has_the_new_numbers_and_nothing_else_changes() {
    let packed = pack(&output(), &mut RecordWriter::default());
    let mut copy = RenumberedCopy::new(&packed).unwrap();
    visit_slots::<Output>(&packed, &mut |slot| match slot {
        Slot::Reference(_, slot) | Slot::Code(slot) | Slot::Copy(_, slot) => {
            copy.put(slot, slot.number() * 1_000);
        }
        Slot::SourceType { source, code } => {
            copy.put(source, source.number() * 1_000);
            copy.put(code, 300);
        }
    })
    .unwrap();
    let mut renumbered = Vec::new();
    copy.finish(&mut renumbered);
    let mut expected = output();
    expected.authors.iter_mut().flatten().for_each(|author| author.author = Ref(9_000));
    expected.primary_venue.as_mut().unwrap().source = Some(PrimaryVenueSource {
        source: Ref(4_000),
        kind: SourceKind { source: 4_000, code: 300 },
        metrics: VenueMetrics(Ref(4_000)),
    });
    assert_eq!(read::<Output>(&renumbered).unwrap(), expected);
    assert_eq!(renumbered, pack(&expected, &mut RecordWriter::default()));
}

#[test]
fn no_changed_byte_leads_outside_the_record() {
    let packed = pack(&output(), &mut RecordWriter::default());
    let mut refused = 0;
    for at in 0..packed.len() {
        for bit in 0..8 {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << bit;
            refused += u32::from(read::<Output>(&damaged).is_err());
        }
        assert!(read::<Output>(&packed[..at]).is_err(), "{at}");
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn texts_that_repeat_too_often_are_refused() {
    let text = "x".repeat(100);
    let mut writer = RecordWriter::default();
    writer.number(60);
    writer.text(&text);
    (1..60).for_each(|_| {
        writer.number(1);
        writer.number(100);
    });
    let mut packed = Vec::new();
    writer.finish(&mut packed);
    let mut from = RecordReader::new(&packed).unwrap();
    assert!(matches!(Vec::<String>::read(&mut from), Err(ReadError::Corrupt { .. })));
    // The writer stops to repeat before.
    check(vec![text; 60]);
}
