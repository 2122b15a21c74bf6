#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn occurrences_are_read_as_they_were_written() {
    for (postings, forms) in [(1, 1), (5, 2), (128, 1), (128, 7), (100, 300)] {
        let has_forms = forms > 1;
        let of = |posting: usize| -> Vec<Occurrence> {
            let mut all = Vec::new();
            for field in 0..FIELDS as u8 {
                let count = (posting * 7 + usize::from(field) * 3) % 5
                    * usize::from(posting.is_multiple_of(usize::from(field) + 1));
                for at in 0..count {
                    let position = (posting * 31 % 50 + at * at * 3) as u32;
                    all.push(Occurrence { field, position, form: (at % forms) as u16 });
                }
            }
            all
        };
        let mut builder = PositionsBuilder::default();
        (0..postings).for_each(|posting| builder.push(&of(posting)));
        let mut bytes = Vec::new();
        builder.write(has_forms, &mut bytes);
        let read_all = |bytes: &[u8]| -> Result<Vec<Vec<Occurrence>>, ReadError> {
            let mut read = BlockPositions::default();
            read.open(bytes, postings, has_forms)?;
            let mut of = |posting: usize| {
                let mut all = Vec::new();
                for field in 0..FIELDS as u8 {
                    let before = all.len();
                    read.each(posting, field.into(), |position, form| {
                        all.push(Occurrence { field, position, form });
                    })?;
                    let positions = all[before..].iter().map(|of| of.position);
                    let field = Field::ALL[usize::from(field)];
                    if read.has(posting, field) {
                        assert!(read.positions(posting, field).eq(positions), "{posting}");
                    } else {
                        assert_eq!(positions.len(), 0, "{posting}");
                    }
                }
                Ok(all)
            };
            // Descending, and then ascending: each posting is found from any other.
            (0..postings).rev().map(&mut of).collect::<Result<Vec<_>, _>>()?;
            (0..postings).map(&mut of).collect()
        };
        let expected: Vec<Vec<Occurrence>> = (0..postings).map(of).collect();
        assert_eq!(read_all(&bytes).unwrap(), expected, "{postings} postings, {forms} forms");
        // Copied in pieces, with other numbers of forms.
        let later = |of: Occurrence| Occurrence { form: of.form + 1, ..of };
        for posting in &expected {
            builder.push(&posting.iter().copied().map(later).collect::<Vec<_>>());
        }
        let mut renumbered = Vec::new();
        builder.write(has_forms, &mut renumbered);
        let numbers: Vec<u16> = (1..=forms as u16).collect();
        for step in [1, 3, 64, postings] {
            let mut block = BlockPositions::default();
            block.open(&bytes, postings, has_forms).unwrap();
            for from in (0..postings).step_by(step) {
                let range = from..(from + step).min(postings);
                builder.copy(&block, range, &numbers).unwrap();
            }
            let mut copied = Vec::new();
            builder.write(has_forms, &mut copied);
            assert_eq!(copied, renumbered, "{postings} postings, {forms} forms, {step} at once");
        }
        for length in 0..bytes.len() {
            assert!(read_all(&bytes[..length]).is_err(), "{length}");
        }
    }
}
