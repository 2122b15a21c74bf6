//! Where a text has a name: whole, in order, abbreviated, or in another order.

use std::ops::Range;

use crate::matching::institutions::affiliation::{Affiliation, Token};
use crate::matching::institutions::vocabulary::{
    UNIVERSITY, common, is_between, is_faculty, is_hospital, split,
};
use crate::matching::institutions::{BITS_PLACED, BITS_RARE};
use crate::matching::words::{Word, abbreviates, likeness};

/// How well a name agrees that begins within a segment and goes on in the next: "Northumbria Univ, Newcastle Upon Tyne" has no
/// University of Newcastle. Too little to be sure.
const QUALITY_ACROSS: f32 = 0.5;
/// Words between a university and its school: `harvard t h chan school`.
const DONOR_WORDS_MAX: usize = 3;

/// A place of a name in a text.
pub(super) struct Place {
    /// The words of the text.
    pub span: Range<usize>,
    /// Bits that the words tell, times how well they agree.
    pub bits: f32,
    /// How well the words agree, at most 1.
    pub quality: f32,
}

/// A word of a name.
pub(super) struct NameWord {
    pub word: Word,
    /// Whether a word such as `of` stands before.
    is_after_between: bool,
}

/// The words of a folded name that say something.
pub(super) fn words_of_name(folded: &str) -> Vec<NameWord> {
    let mut words = Vec::new();
    let mut is_after_between = true;
    for word in split(folded) {
        let is_between = is_between(word);
        if !is_between {
            words.push(NameWord { word: Word::new(common(word)), is_after_between });
        }
        is_after_between = is_between;
    }
    words
}

/// Where the text has a name: the tokens, the bits that they tell, and how well they agree.
pub(super) fn place_of(
    name: &[NameWord],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<Place> {
    let tokens = &affiliation.tokens;
    let first = &name.first()?.word;
    let mut best: Option<Place> = None;
    // In order, one word after the other. A name of one word has no mistakes.
    let is_near = |at: &usize| {
        let word = &tokens[*at].word;
        word.text == first.text || name.len() > 1 && agreement(word, first) > 0.0
    };
    for start in (0..tokens.len()).filter(is_near) {
        let Some(run) = tokens.get(start..start + name.len()) else { break };
        let mut quality = 1.0_f32;
        let mut is_other_order = false;
        for (at, (token, of)) in run.iter().zip(name).enumerate() {
            let found = agreement(&token.word, &of.word);
            quality = if found > 0.0 { quality.min(found) } else { 0.0 };
            if quality == 0.0 {
                break;
            }
            // "Massey University Auckland" has no University of Auckland.
            let is_within = at > 0 && token.segment == run[at - 1].segment;
            is_other_order |=
                is_within && of.is_after_between && !token.is_after_between && at == 1;
        }
        let segment = run[0].segment;
        let is_cut = run.array_windows::<2>().any(|[a, b]| b.segment > a.segment + 1);
        if quality == 0.0 || is_cut {
            continue;
        }
        let begins = start == 0 || tokens[start - 1].segment != segment;
        if run.iter().any(|token| token.segment != segment) {
            quality *= if begins { 0.95 } else { QUALITY_ACROSS };
        }
        if is_other_order {
            quality *= if begins || run[0].is_after_between { 0.9 } else { 0.5 };
        }
        let span = start..start + name.len();
        if affiliation.is_part_of_other_name(&span) {
            quality *= 0.5;
        }
        let told = bits[span.clone()].iter().sum::<f32>() * quality;
        if best.as_ref().is_none_or(|known| told > known.bits) {
            best = Some(Place { span, bits: told, quality });
        }
    }
    if best.is_none() && name.len() > 1 { in_any_order(name, affiliation, bits) } else { best }
}

/// Where the text has the words of a name in another order, next to each other and within one segment: `university jena` and `jena
/// university`.
fn in_any_order(name: &[NameWord], affiliation: &Affiliation, bits: &[f32]) -> Option<Place> {
    let tokens = &affiliation.tokens;
    let first = &name.first()?.word;
    let mut best: Option<Place> = None;
    let mut at = Vec::with_capacity(name.len());
    let segment_of = |place: &usize| tokens[*place].segment;
    let places = affiliation.places.get(&first.text)?;
    for segment in places.iter().map(segment_of) {
        at.clear();
        for of in name {
            let places = affiliation.places.get(&of.word.text).into_iter().flatten();
            let free = |place: &&usize| segment_of(place) == segment && !at.contains(*place);
            match places.copied().find(|place| free(&place)) {
                Some(place) => at.push(place),
                None => break,
            }
        }
        if at.len() == name.len() {
            let told: f32 = at.iter().map(|at| bits[*at]).sum();
            let from = at.iter().copied().min()?;
            let to = at.iter().copied().max()? + 1;
            // Words between the words of the name make it another name.
            let density = name.len() as f32 / (to - from) as f32;
            let quality = 0.7 * density;
            let begins =
                from == 0 || tokens[from - 1].segment != segment || tokens[from].is_after_between;
            let ends =
                tokens.get(to).is_none_or(|next| next.segment != segment || next.is_after_between);
            if density < 1.0 || !(begins && ends) || affiliation.is_part_of_other_name(&(from..to))
            {
                continue;
            }
            best = Some(Place { span: from..to, bits: told * quality, quality });
        }
    }
    best
}

/// A segment that is a part of a longer name: `university jena` of `friedrich schiller university jena`.
pub(super) fn part_of(
    name: &[NameWord],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<(Range<usize>, f32)> {
    let tokens = &affiliation.tokens;
    let is_hospital_name = is_hospital(name.iter().map(|of| of.word.text.as_str()));
    let mut from = 0;
    while from < tokens.len() {
        let segment = tokens[from].segment;
        let to = tokens.partition_point(|token| token.segment <= segment);
        let has = |at: usize| name.iter().any(|of| of.word.text == tokens[at].word.text);
        let words = tokens[from..to].iter().map(|token| token.word.text.as_str());
        // "University of Nijmegen" is no part of the name of its medical center.
        let is_same_kind = || is_hospital(words.clone()) == is_hospital_name;
        let told: f32 = bits[from..to].iter().sum();
        let has_university = || (from..to).any(|at| tokens[at].word.text == UNIVERSITY);
        if to - from >= 2
            && told >= BITS_PLACED
            && has_university()
            && (from..to).all(has)
            && is_same_kind()
        {
            return Some((from..to, told));
        }
        from = to;
    }
    None
}

/// A school in place of its university: `emory school medicine` of `emory university`, and `harvard t h chan school public health`.
pub(super) fn school_of(
    name: &[NameWord],
    affiliation: &Affiliation,
    bits: &[f32],
) -> Option<(Range<usize>, f32)> {
    let tokens = &affiliation.tokens;
    let (last, own) = name.split_last()?;
    let first = own.first().filter(|_| last.word.text == UNIVERSITY)?;
    let starts = affiliation.places.get(&first.word.text)?;
    starts.iter().find_map(|start| {
        let is_inside = |token: &&Token| token.segment == tokens[*start].segment;
        let mut rest = tokens[*start..].iter().take_while(is_inside);
        let has_own =
            own.iter().all(|of| rest.next().is_some_and(|token| token.word.text == of.word.text));
        let is_faculty = |token: &Token| is_faculty(&token.folded) || token.folded == "medicine";
        let rest: Vec<&Token> = rest.collect();
        // A school that begins with its university may have the name of a donor.
        let begins = *start == 0 || tokens[start - 1].segment != tokens[*start].segment;
        let donor = rest.iter().position(|token| is_faculty(token)).unwrap_or(rest.len());
        let donor = if begins && donor <= DONOR_WORDS_MAX { donor } else { 0 };
        let faculty = rest[donor..].iter().take_while(|token| is_faculty(token));
        let faculty: Vec<&&Token> = faculty.collect();
        let is_school = |token: &&&Token| ["college", "school"].contains(&token.folded.as_str());
        let end = start + own.len();
        let told = bits.get(*start..end)?.iter().sum();
        (has_own && faculty.iter().any(is_school) && told >= BITS_RARE)
            .then_some((*start..end + donor + faculty.len(), told))
    })
}

/// How well a word of the text agrees with a word of a name.
fn agreement(word: &Word, of: &Word) -> f32 {
    if word.text == of.text {
        return 1.0;
    }
    let is_short = word.text.len() > 2 && word.text.len() < of.text.len();
    if is_short && of.text.starts_with(&word.text) && abbreviates(&word.text, &of.text) {
        return 0.85;
    }
    // Mistakes in the first letter are rare, and `northern` is not `southern`.
    let has_first = word.text.chars().next() == of.text.chars().next();
    if of.text.len() > 4 && has_first { 0.95 * likeness(word, of) } else { 0.0 }
}
