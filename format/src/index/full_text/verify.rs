//! Verifies full-text indexes.

use std::ops::Range;

use crate::index::check::{CheckError, ensure};
use crate::index::full_text::layout::{HAS_TITLES, TITLE_WORDS_MAX};
use crate::index::full_text::postings::{NO_ROW, Place};
use crate::index::full_text::{
    FullText, IMPACT_MAX, PositionsPlace, TITLE_END, Term, VALUE_GAP, read_stems,
};
use crate::schema::texts::{FIELDS, Field};
use crate::storage::header::HEADER_BYTES;

/// The words of a record's titles before one is found.
const NO_WORDS: u32 = u32::MAX;

/// Where the next list and the next positions have to begin.
struct Contiguous {
    postings: usize,
    positions: usize,
}

impl FullText {
    /// Checks the whole file. All rows lie in `rows`.
    pub(crate) fn verify(&self, rows: Range<u32>) -> Result<(), CheckError> {
        let mut next = Contiguous { postings: HEADER_BYTES, positions: self.positions_from };
        // Each form of a term leads back to the term: both sums have the same pairs.
        let mut pairs = 0u64;
        self.terms.verify(&self.archive, |stem, bytes| {
            let term = self.read_term(bytes)?;
            let forms = term.forms(stem.as_bytes())?;
            ensure(forms.is_sorted(), "the forms of a term do not ascend")?;
            if stem == TITLE_END {
                self.verify_title_words(term)?;
            }
            for (number, form) in (0u16..).zip(&forms) {
                pairs = pairs.wrapping_add(hash_of_pair(form, stem.as_bytes(), number));
            }
            verify_term(term, &rows, &mut next)
        })?;
        ensure(next.postings == self.positions_from, "the positions do not follow the postings")?;
        ensure(
            next.positions == self.title_words_from,
            "the title words do not follow the positions",
        )?;
        self.forms.verify(&self.archive, |form, bytes| {
            let stems = read_stems(form.as_bytes(), bytes)?;
            ensure(stems.is_sorted(), "the terms of a form do not ascend")?;
            for of in &stems {
                pairs = pairs.wrapping_sub(hash_of_pair(
                    form.as_bytes(),
                    of.stem.as_bytes(),
                    of.number,
                ));
            }
            Ok(())
        })?;
        ensure(pairs == 0, "the forms differ from the forms of the terms")
    }
}

impl FullText {
    /// Compares the title words of each row with the ends of its titles.
    fn verify_title_words(&self, title_end: Term<'_>) -> Result<(), CheckError> {
        let mut postings = title_end.postings()?;
        for row in 0..(self.terms.from() - self.title_words_from) as u32 {
            let (mut begin, mut words, mut titles) = (0, NO_WORDS, 0);
            if postings.row() == row {
                postings.each_occurrence(Field::Title, |end, _| {
                    words = words.min(end.saturating_sub(begin).min(TITLE_WORDS_MAX.into()));
                    titles += 1;
                    begin = end + VALUE_GAP;
                })?;
                postings.advance()?;
            }
            let words = if words == NO_WORDS { 0 } else { words };
            let has_titles = if titles > 1 { HAS_TITLES } else { 0 };
            let is_equal = u32::from(self.title_byte(row)?) == words | u32::from(has_titles);
            ensure(is_equal, "the words of a title are miscounted")?;
        }
        ensure(postings.row() == NO_ROW, "a row with a title has no title words")
    }
}

/// A hash of a form, its term and its number.
fn hash_of_pair(form: &[u8], stem: &[u8], number: u16) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(form).update(&[0]).update(stem).update(&number.to_le_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// Checks the list and the positions of a term.
fn verify_term(term: Term<'_>, rows: &Range<u32>, next: &mut Contiguous) -> Result<(), CheckError> {
    // In regions without gaps each byte is of a term, and is checked.
    if let Place::Region { from, entries_from, entries, .. } = term.list.place {
        ensure(from == next.postings, "the posting lists are not contiguous")?;
        next.postings = entries_from + entries.as_flattened().len();
    }
    if let PositionsPlace::Region { from, to, .. } = term.positions {
        ensure(from == next.positions, "the positions are not contiguous")?;
        next.positions = to;
    }
    let mut postings = term.postings()?;
    let mut last = None;
    for _ in 0..term.count() {
        let row = postings.row();
        ensure(rows.contains(&row), "a posting has a row beyond its entity's rows")?;
        ensure(last < Some(row), "the rows of a term do not ascend")?;
        last = Some(row);
        // A search passes over blocks by these bounds, so a bound that is too low would lose records.
        let (bound, to) = postings.bound(row);
        let impact = postings.impact();
        ensure((1..=u32::from(IMPACT_MAX)).contains(&impact), "an impact is out of range")?;
        ensure(impact <= bound && row <= to, "an entry does not bound its block")?;
        let mut has_occurrence = false;
        for field in Field::ALL {
            let mut occurrences = Vec::new();
            postings.each_occurrence(field, |position, form| occurrences.push((position, form)))?;
            has_occurrence |= !occurrences.is_empty();
            ensure(occurrences.is_sorted(), "the positions of a term do not ascend")?;
            let is_form = |form: u16| usize::from(form) < term.form_count();
            ensure(occurrences.iter().all(|(_, form)| is_form(*form)), "a position has no form")?;
        }
        ensure(has_occurrence, "a posting has no position")?;
        postings.advance()?;
    }
    ensure(postings.row() == NO_ROW, "a term has more postings than its count")?;
    // The occurrences of a field that `ALL` lacks would not be checked.
    const { assert!(FIELDS == Field::ALL.len()) };
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::entity::Entity;
    use crate::index::check::archive;
    use crate::index::full_text::{FormsWriter, FullTextWriter, Occurrence, TermEncoder};
    use crate::schema::layout::schema_hash;
    use crate::storage::header::{FileKind, Header};

    const ROWS: u32 = 40_000;

    /// The rows of a term: every `step`-th.
    fn rows_of(step: u32) -> impl Iterator<Item = u32> {
        (step / 2..ROWS).step_by(step as usize)
    }

    fn occurrences(row: u32, forms: u16) -> Vec<Occurrence> {
        let of = |field: u8| Occurrence { field, position: row % 97, form: row as u16 % forms };
        match row % 3 {
            0 => vec![of(0)],
            1 => vec![of(1), Occurrence { position: 200, ..of(1) }],
            _ => vec![of(0), of(4)],
        }
    }

    const TERMS: [(&str, u32, &[&str]); 5] = [
        ("all", 1, &["all"]),
        ("frequent", 3, &["frequent", "frequently"]),
        ("network", 310, &["network", "networks", "networking"]),
        ("rare", 15_000, &["rare"]),
        ("whole", 313, &["whole"]),
    ];

    fn write(path: &Path) {
        let header = Header {
            kind: FileKind::FullText,
            entity: Some(Entity::Field),
            published: ROWS.into(),
            rows: ROWS.into(),
            schema_hash: schema_hash(),
        };
        let mut writer = FullTextWriter::create(path, header).unwrap();
        let mut term = TermEncoder::default();
        let mut forms: Vec<(Vec<u8>, &str, u16)> = Vec::new();
        for (stem, step, of_term) in TERMS {
            let mut of_term: Vec<Vec<u8>> =
                of_term.iter().map(|form| form.as_bytes().to_vec()).collect();
            of_term.sort();
            term.begin(stem.as_bytes(), of_term.len());
            for row in rows_of(step) {
                let occurrences = occurrences(row, of_term.len() as u16);
                term.push(row, 1 + (row % 31) as u8, &occurrences);
                // Terms may be written in pieces.
                if stem == "frequent" && row % 1_000 == 0 {
                    writer.write_begun(&mut term).unwrap();
                }
            }
            let term = term.end(stem.as_bytes(), &of_term).unwrap();
            writer.push_term(stem.as_bytes(), term).unwrap();
            forms.extend((0..).zip(of_term).map(|(number, form)| (form, stem, number)));
        }
        forms.sort();
        let mut forms_writer = FormsWriter::new(path.parent().unwrap()).unwrap();
        for (form, stem, number) in forms {
            forms_writer.push(&form, [(stem.as_bytes(), number)]).unwrap();
        }
        writer.end_terms().unwrap().finish(forms_writer).unwrap();
    }

    fn open(path: &Path) -> Result<FullText, CheckError> {
        FullText::open(archive(path, FileKind::FullText))
            .map_err(|_| CheckError::Violation("the file does not open"))
    }

    #[test]
    fn an_index_returns_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("full_text");
        write(&path);
        let index = open(&path).unwrap();
        index.verify(0..ROWS).unwrap();
        assert!(index.verify(0..ROWS - 1).is_err());
        for (stem, step, of_term) in TERMS {
            let term = index.term(stem).unwrap().unwrap();
            let mut postings = term.postings().unwrap();
            for row in rows_of(step) {
                assert_eq!(postings.row(), row, "{stem}");
                assert_eq!(postings.impact(), 1 + row % 31, "{stem}");
                let found: Vec<Occurrence> = Field::ALL
                    .iter()
                    .flat_map(|field| {
                        let mut all = Vec::new();
                        let visit = |position, form| {
                            all.push(Occurrence { field: *field as u8, position, form });
                        };
                        postings.each_occurrence(*field, visit).unwrap();
                        all
                    })
                    .collect();
                assert_eq!(found, occurrences(row, of_term.len() as u16), "{stem} {row}");
                postings.advance().unwrap();
            }
            assert_eq!(postings.row(), NO_ROW);
            // Every distance of a seek, within blocks and across them.
            for distance in [1, 2, 100, 129, 5_000, 39_000] {
                let mut postings = term.postings().unwrap();
                let mut target = 0;
                while target < ROWS + distance {
                    postings.seek(target).unwrap();
                    let expected = rows_of(step).find(|row| *row >= target).unwrap_or(NO_ROW);
                    assert_eq!(postings.row(), expected, "{stem} {target}");
                    target += distance;
                }
            }
        }
        assert!(index.term("networks").unwrap().is_none());
        let form = index.form("networks").unwrap();
        assert_eq!(form, [crate::index::full_text::FormOf { stem: "network".into(), number: 2 }]);
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_without_panic() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("full_text");
        write(&path);
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        let places = (HEADER_BYTES..whole.len()).step_by(whole.len() / 100);
        for at in places.clone() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            std::fs::write(&path, damaged).unwrap();
            refused += usize::from(open(&path).and_then(|index| index.verify(0..ROWS)).is_err());
        }
        // A change of an impact or a position may leave a valid file, which the hash tree refuses.
        assert!(refused * 5 > places.count(), "{refused}");
    }
}
