//! What rows of side tables are joined by: ISSN, ORCID iD and ROR id, each as one number.

use crate::read::identifier::last_part;

/// An ISSN: seven digits and a check character, in any case, with or without its hyphen.
///
/// The check character is not checked: a dump may hold the same wrong one, and then they join.
pub fn issn(text: &str) -> Option<u64> {
    let text = text.trim();
    let bare = match text.split_once('-') {
        Some((first, second)) if first.len() == 4 => format!("{first}{second}"),
        Some(_) => return None,
        None => text.to_owned(),
    };
    digits_and_check(&bare, 8)
}

/// An ISSN as it is written: `NNNN-NNNC`.
pub fn issn_text(key: u64) -> String {
    let digits = format!("{:07}", key / 11);
    let check = match key % 11 {
        10 => "X".to_owned(),
        check => check.to_string(),
    };
    format!("{}-{}{check}", &digits[..4], &digits[4..])
}

/// An ORCID iD, bare or as a URL, with or without its hyphens.
pub fn orcid(text: &str) -> Option<u64> {
    let bare = last_part(text.trim()).replace('-', "");
    digits_and_check(&bare, 16)
}

/// An ORCID iD as it is written.
pub fn orcid_text(key: u64) -> String {
    let digits = format!("{:015}", key / 11);
    let check = match key % 11 {
        10 => "X".to_owned(),
        check => check.to_string(),
    };
    format!("{}-{}-{}-{}{check}", &digits[..4], &digits[4..8], &digits[8..12], &digits[12..])
}

/// A ROR id, bare or as a URL: `0`, six letters or digits, and two digits.
pub fn ror(text: &str) -> Option<u64> {
    let bare = last_part(text.trim());
    let is_id = bare.len() == 9
        && bare.starts_with('0')
        && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && bare.bytes().skip(7).all(|byte| byte.is_ascii_digit());
    is_id.then(|| u64::from_str_radix(bare, 36).ok()).flatten()
}

/// All but the last of `length` characters digits, the last a digit or X.
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
    fn every_spelling_of_a_key_is_one_key() {
        let check = |read: fn(&str) -> Option<u64>, same: &[&str], none: &[&str]| {
            let keys: Vec<Option<u64>> = same.iter().map(|text| read(text)).collect();
            assert!(keys[0].is_some() && keys.iter().all(|key| *key == keys[0]), "{same:?}");
            for text in none {
                assert_eq!(read(text), None, "{text}");
            }
        };
        check(
            issn,
            &["2049-363X", "2049-363x", "2049363X", " 2049363x "],
            &["", "2049-36", "204-9363X", "2049--363X", "20493-63X", "2049363Y", "٢049363X", "-"],
        );
        check(
            orcid,
            &["https://orcid.org/0000-0002-1694-233X", "0000-0002-1694-233x", "000000021694233X"],
            &["", "0000-0002-1694-233", "0000-0002-1694-233XX", "https://orcid.org/"],
        );
        check(
            ror,
            &["https://ror.org/013meh722", "013meh722", "https://ror.org/013MEH722"],
            &["", "13meh722", "113meh722", "013meh7ab", "013meh72", "https://ror.org/"],
        );
    }

    #[test]
    fn keys_are_written_as_people_write_them() {
        for text in ["2049-363X", "0000-0019", "1542-4863"] {
            assert_eq!(issn(text).map(issn_text).as_deref(), Some(text));
        }
        for text in ["0000-0002-1694-233X", "0009-0000-0000-0001"] {
            assert_eq!(orcid(text).map(orcid_text).as_deref(), Some(text));
        }
    }
}
