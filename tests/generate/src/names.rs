//! Names of people and organisations, and the external identifiers with check digits.

pub(crate) mod words;

use crate::emit::{Emit, padded, put};
use crate::random::{Random, Stream};
use crate::text::{Script, put_capitalised, put_phrase};
use crate::{Entity, Plan};

/// Appends the display name of an author.
pub(crate) fn put_author(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    put_person(&mut plan.random(Entity::Authors, ordinal, Stream::Name), out);
}

/// Appends a person's name: given names, then family name; the family name first and unspaced in Chinese and Japanese.
pub(crate) fn put_person(random: &mut Random, out: &mut Vec<u8>) {
    let script = Script::draw(random);
    let vocabulary = script.vocabulary();
    let given = vocabulary.word(100 + random.skewed(1500, 2) as u32);
    let family =
        vocabulary.word(1600 + random.skewed(u64::from(vocabulary.len() - 1600), 2) as u32);
    put_capitalised(out, given);
    if script.spaced() {
        out.push(b' ');
        if script == Script::Latin && random.chance(350) {
            out.push(b'A' + random.below(26) as u8);
            out.extend_from_slice(b". ");
        }
    }
    put_capitalised(out, family);
    if script.spaced() && random.chance(80) {
        out.push(b'-');
        put_capitalised(out, vocabulary.word(1600 + random.below(2000) as u32));
    }
}

/// Appends the name of an organisation: a place name within one of a few patterns.
pub(crate) fn put_organisation(random: &mut Random, out: &mut Vec<u8>) {
    let script = if random.chance(850) { Script::Latin } else { Script::draw(random) };
    const PATTERNS: [(&str, &str); 8] = [
        ("University of ", ""),
        ("", " University"),
        ("Institute of ", ""),
        ("", " Hospital"),
        ("", " Laboratories"),
        ("National Centre for ", " Research"),
        ("", " College"),
        ("Museum & Archive of ", ""),
    ];
    let (before, after) = match script {
        Script::Latin => *random.choose(&PATTERNS),
        Script::Accented => ("Universidad de ", ""),
        Script::Cyrillic => ("Университет ", ""),
        Script::Greek => ("Πανεπιστήμιο ", ""),
        Script::Chinese => ("", "大学"),
        Script::Japanese => ("", "研究所"),
        Script::Korean => ("", " 대학교"),
        Script::Arabic => ("جامعة ", ""),
        Script::Thai => ("มหาวิทยาลัย", ""),
    };
    put!(out; before);
    let words = random.between(1, 3);
    put_phrase(out, script, random, words, true);
    put!(out; after);
}

/// An ORCID iD with its check digit, without quotes and URL.
pub(crate) struct Orcid(pub(crate) u64);

impl Emit for Orcid {
    fn emit(&self, out: &mut Vec<u8>) {
        let number = 15_000_000 + self.0 % 1_000_000_000;
        let mut digits = Vec::with_capacity(16);
        padded(&mut digits, number, 15);
        let total = digits.iter().fold(0, |total, digit| (total + u32::from(digit - b'0')) * 2);
        digits.push(check_digit((12 - total % 11) % 11));
        for (position, group) in digits.chunks(4).enumerate() {
            if position > 0 {
                out.push(b'-');
            }
            out.extend_from_slice(group);
        }
    }
}

/// An ISSN with its check digit, without quotes.
pub(crate) struct Issn(pub(crate) u64);

impl Emit for Issn {
    fn emit(&self, out: &mut Vec<u8>) {
        let number = self.0 % 10_000_000;
        let (mut rest, mut total) = (number, 0);
        for weight in 2..9 {
            total += rest % 10 * weight;
            rest /= 10;
        }
        padded(out, number / 1000, 4);
        out.push(b'-');
        padded(out, number % 1000, 3);
        out.push(check_digit(((11 - total % 11) % 11) as u32));
    }
}

fn check_digit(value: u32) -> u8 {
    if value == 10 { b'X' } else { b'0' + value as u8 }
}

/// A ROR id: a zero, six characters of Crockford's alphabet, two digits; the quoted URL.
pub(crate) struct Ror(pub(crate) u64);

impl Emit for Ror {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; "\"https://ror.org/0");
        let mut rest = self.0;
        for _ in 0..6 {
            out.push(b"0123456789abcdefghjkmnpqrstvwxyz"[(rest % 32) as usize]);
            rest /= 32;
        }
        padded(out, rest % 97, 2);
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issns_have_the_check_digit_of_the_standard() {
        let mut out = Vec::new();
        put!(&mut out; Issn(378_595));
        assert_eq!(out, b"0378-5955");
    }

    #[test]
    fn orcids_have_nineteen_characters() {
        for number in 0..1000 {
            let mut out = Vec::new();
            put!(&mut out; Orcid(number * 0x9E37_79B9));
            assert_eq!(out.len(), 19);
        }
    }
}
