//! Join keys of side tables: an ISSN, ORCID iD or ROR id as one number.

use crate::read::identifier::last_part;

/// Parses an ISSN: seven digits and a check character, in any case, with or without a hyphen.
///
/// The check character may be wrong: a dump may hold the same wrong character, and then both join.
pub fn parse_issn(text: &str) -> Option<u64> {
    let text = text.trim();
    let bare = match text.split_once('-') {
        Some((first, second)) if first.len() == 4 => format!("{first}{second}"),
        Some(_) => return None,
        None => text.to_owned(),
    };
    digits_and_check(&bare, 8)
}

/// Digits of the shortest ISSN that is completed: a year or a count beside an ISSN is shorter.
const INCOMPLETE_DIGITS_MIN: usize = 5;

/// Completes an ISSN of fewer than eight characters. A spreadsheet drops leading zeros, and some lists drop
/// a final X. `None` unless exactly one completion has the right check character.
pub fn complete_issn(text: &str) -> Option<u64> {
    let (bare, is_hyphenated) = match text.split_once('-') {
        Some((first, second)) if first.len() == 4 => (format!("{first}{second}"), true),
        Some(_) => return None,
        None => (text.to_owned(), false),
    };
    if !(INCOMPLETE_DIGITS_MIN..8).contains(&bare.len()) {
        return None;
    }
    // The four digits before a hyphen are complete.
    let with_zeros = (!is_hyphenated).then(|| format!("{bare:0>8}"));
    let with_x = (bare.len() == 7).then(|| format!("{bare}X"));
    let completions = [with_zeros, with_x].into_iter().flatten();
    let mut valid = completions.filter_map(|issn| digits_and_check(&issn, 8)).filter(is_valid_issn);
    valid.next().filter(|_| valid.next().is_none())
}

/// Whether an ISSN has the right check character: the sum of all characters, weighted 8 to 1, is a multiple
/// of 11. `0000-0000` is no ISSN.
fn is_valid_issn(key: &u64) -> bool {
    let mut digits = key / 11;
    let mut sum = key % 11;
    for weight in 2..=8 {
        sum += weight * (digits % 10);
        digits /= 10;
    }
    *key > 0 && sum.is_multiple_of(11)
}

/// Formats an ISSN as `NNNN-NNNC`.
pub fn format_issn(key: u64) -> String {
    let text = format!("{:07}{}", key / 11, check_character(key));
    format!("{}-{}", &text[..4], &text[4..])
}

/// Parses an ORCID iD, bare or as a URL, with or without hyphens.
pub fn parse_orcid(text: &str) -> Option<u64> {
    let bare = last_part(text.trim()).replace('-', "");
    digits_and_check(&bare, 16)
}

/// Formats an ORCID iD as `NNNN-NNNN-NNNN-NNNC`.
pub fn format_orcid(key: u64) -> String {
    let text = format!("{:015}{}", key / 11, check_character(key));
    format!("{}-{}-{}-{}", &text[..4], &text[4..8], &text[8..12], &text[12..])
}

/// Parses a ROR id, bare or as a URL: `0`, six letters or digits, and two digits.
pub fn parse_ror(text: &str) -> Option<u64> {
    let bare = last_part(text.trim());
    let is_id = bare.len() == 9
        && bare.starts_with('0')
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && bare.bytes().skip(7).all(|byte| byte.is_ascii_digit());
    is_id.then(|| u64::from_str_radix(bare, 36).ok()).flatten()
}

/// The check character of a number in base 11 that [`digits_and_check`] parsed.
fn check_character(key: u64) -> char {
    // The remainder is below 11, and 10 is X.
    char::from(b"0123456789X"[(key % 11) as usize])
}

/// Parses `length - 1` digits and a check character, which is a digit or X, as a number in base 11.
fn digits_and_check(text: &str, length: usize) -> Option<u64> {
    if text.len() != length || !text.is_ascii() {
        return None;
    }
    let (digits, check) = text.split_at(length - 1);
    let check = match check {
        "x" | "X" => 10,
        digit => u64::from(digit.parse::<u8>().ok()?),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse::<u64>().ok()? * 11 + check)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_id_is_one_key() {
        let check = |read: fn(&str) -> Option<u64>, same: &[&str], none: &[&str]| {
            let keys: Vec<Option<u64>> = same.iter().map(|text| read(text)).collect();
            assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{same:?}");
            for text in none {
                assert_eq!(read(text), None, "{text}");
            }
        };
        check(
            parse_issn,
            &["2049-363X", "2049-363x", "2049363X", " 2049363x "],
            &["", "2049-36", "204-9363X", "2049--363X", "20493-63X", "2049363Y", "٢049363X", "-"],
        );
        check(
            parse_orcid,
            &["https://orcid.org/0000-0002-1694-233X", "0000-0002-1694-233x", "000000021694233X"],
            &["", "0000-0002-1694-233", "0000-0002-1694-233XX", "https://orcid.org/"],
        );
        check(
            parse_ror,
            &["https://ror.org/013meh722", "013meh722", "https://ror.org/013MEH722"],
            &["", "13meh722", "113meh722", "013meh7ab", "013meh72", "https://ror.org/"],
        );
    }

    #[test]
    fn an_incomplete_issn_is_completed_where_its_check_character_decides() {
        for (text, expected) in [
            // Leading zeros are lost.
            ("280836", Some("0028-0836")),
            ("10782", Some("0001-0782")),
            ("304405X", Some("0304-405X")),
            ("304405x", Some("0304-405X")),
            // The final X is lost.
            ("0304405", Some("0304-405X")),
            ("0304-405", Some("0304-405X")),
            // Both completions are right: 0100-0047 and 1000-047X.
            ("1000047", None),
            ("1000-047", Some("1000-047X")),
            // No completion is right.
            ("0304406", None),
            ("280837", None),
            ("0304-406", None),
            ("00000", None),
            // Zeros do not go missing before a hyphen.
            ("28-0836", None),
            ("0028-083", None),
            // Too short, complete, or no digits.
            ("2019", None),
            ("12345679", None),
            ("204936x3", None),
            ("123X56", None),
            ("", None),
        ] {
            assert_eq!(complete_issn(text).map(format_issn).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_key_is_formatted_with_hyphens() {
        for text in ["2049-363X", "0000-0019", "1542-4863"] {
            assert_eq!(parse_issn(text).map(format_issn).as_deref(), Some(text));
        }
        for text in ["0000-0002-1694-233X", "0009-0000-0000-0001"] {
            assert_eq!(parse_orcid(text).map(format_orcid).as_deref(), Some(text));
        }
    }
}
