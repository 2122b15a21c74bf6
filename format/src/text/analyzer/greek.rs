//! Names of Greek letters: `α-synuclein` and `alpha-synuclein` are the same words.

/// The names of the letters from `α` to `ω`, in the order of Unicode. Folding turns `ς` into `σ`.
const NAMES: [&str; 25] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon", "phi",
    "chi", "psi", "omega",
];

/// The name of a folded Greek letter.
pub(super) fn name(letter: char) -> Option<&'static str> {
    let place = u32::from(letter).checked_sub(u32::from('α'))?;
    NAMES.get(place as usize).copied()
}

/// The letter that a name means, as in `alpha`, `Alpha`, `varepsilon`, `upmu` and `textmu`.
pub(super) fn letter(name: &str) -> Option<char> {
    let find = |name: &str| NAMES.iter().rposition(|other| other.eq_ignore_ascii_case(name));
    let variant = || ["var", "up", "text"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let place = find(name).or_else(|| variant().and_then(find))?;
    char::from_u32(u32::from('α') + place as u32)
}

/// Replaces the Greek letters of a folded word by their names, from byte `from` to the end of a text.
///
/// Changes a single Greek letter, with or without digits, and Greek letters beside Latin letters.
/// Other Greek words stay.
pub(super) fn spell_out(text: &mut String, from: usize) {
    let word = &text[from..];
    let is_greek = |c: &char| name(*c).is_some();
    let greek = word.chars().filter(is_greek).count();
    let other = word.chars().filter(|c| c.is_alphabetic() && !is_greek(c)).count();
    let has_latin = word.contains(|c: char| c.is_ascii_lowercase());
    if greek == 0 || !(has_latin || (greek == 1 && other == 0)) {
        return;
    }
    let word = text.split_off(from);
    for c in word.chars() {
        match name(c) {
            Some(name) => text.push_str(name),
            None => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_names_agree() {
        for c in 'α'..='ω' {
            let expected = if c == 'ς' { 'σ' } else { c };
            assert_eq!(name(c).and_then(letter), Some(expected), "{c}");
        }
        assert_eq!(letter("varphi"), Some('φ'));
        assert_eq!(letter("Delta"), Some('δ'));
        assert_eq!(letter("upsilon"), Some('υ'));
        assert_eq!(letter("textmu"), Some('μ'));
        assert_eq!(letter("text"), None);
        assert_eq!(name('a'), None);
        assert_eq!(name('ϊ'), None);
    }
}
