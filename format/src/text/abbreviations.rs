//! Abbreviations in the names of organisations and journals, which searches find by the whole words.
//!
//! The abbreviations are those of the list of title word abbreviations (LTWA) of the ISSN International Centre, by ISO 4,
//! and `dept` and `intl`, which affiliations have. Left out are abbreviations that more often stand for something else in
//! texts, such as `am`, `sci` and `soc`.

/// Abbreviations, and the words that each stands for.
const ABBREVIATIONS: [(&str, &[&str]); 15] = [
    ("acad", &["academy"]),
    ("assoc", &["association"]),
    ("coll", &["college"]),
    ("conf", &["conference"]),
    ("dept", &["department"]),
    ("hosp", &["hospital"]),
    ("inst", &["institute", "institution"]),
    ("int", &["international"]),
    ("intl", &["international"]),
    ("j", &["journal"]),
    ("lab", &["laboratory"]),
    ("natl", &["national"]),
    ("technol", &["technology"]),
    ("univ", &["university"]),
    ("univs", &["universities"]),
];

/// Letters from which on a whole word finds an abbreviation: texts have shorter ones for other things.
const FOUND_LETTERS_MIN: usize = 4;

/// Whether a folded word is an abbreviation.
pub fn is_abbreviation(word: &str) -> bool {
    ABBREVIATIONS.iter().any(|(short, _)| *short == word)
}

/// The words that a folded word of a search also finds: its long forms where the word is an abbreviation, its
/// abbreviations where the word is a long form.
///
/// ```text
/// univ → university    university → univ    j → journal    journal → none
/// ```
pub fn same_words(word: &str) -> impl Iterator<Item = &'static str> {
    ABBREVIATIONS.iter().flat_map(move |(short, words)| {
        let is_found = words.contains(&word) && short.len() >= FOUND_LETTERS_MIN;
        let stands_for = if *short == word { *words } else { &[] };
        stands_for.iter().copied().chain(is_found.then_some(*short))
    })
}
