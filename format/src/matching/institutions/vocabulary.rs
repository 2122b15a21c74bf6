//! Words of the names of institutions in several languages, and words that are no names.

use std::sync::LazyLock;

use hashbrown::{HashMap, HashSet};

/// Words for one thing in several languages, and their abbreviations. The first word of a group replaces the others.
const SAME: [&[&str]; 15] = [
    &[
        "university",
        "univ",
        "universitat",
        "universitaet",
        "universite",
        "universidad",
        "universidade",
        "universita",
        "universiteit",
        "univerzita",
        "uniwersytet",
        "universitet",
        "universiti",
        "universitas",
        "univerzitet",
        "sveuciliste",
        "universitatea",
        "universitaire",
        "universitaires",
        "universitari",
        "universitaria",
        "universitario",
        "uni",
    ],
    &[
        "institute",
        "institut",
        "instituto",
        "istituto",
        "istituti",
        "inst",
        "instytut",
        "institutet",
    ],
    &[
        "hospital",
        "hospitals",
        "hopital",
        "hopitaux",
        "hospitalier",
        "hosp",
        "klinikum",
        "krankenhaus",
        "nemocnice",
        "ospedale",
        "sjukhuset",
        "sygehus",
        "ziekenhuis",
    ],
    &["center", "centre", "centro", "zentrum", "centrum", "ctr", "cntr"],
    &["clinic", "clinica", "clinics", "clinique", "cliniques", "klinik", "poliklinik"],
    &["polyclinic", "policlinico", "policlinic"],
    &["saint", "sainte", "sint", "st", "ste"],
    &["national", "nacional", "nationale", "nazionale", "natl"],
    &["academy", "academia", "academie", "akademie", "acad"],
    &["sciences", "science", "sci", "ciencias", "scienze", "wissenschaften"],
    &["medical", "med", "medicine", "medica", "medicale", "medisch", "medizinische"],
    &["technology", "tech", "technol", "tecnologia", "technologie", "technological"],
    &["technical", "technische", "tecnica", "technicka", "techniczny", "techniczna", "technique"],
    &["general", "generale", "allgemeines"],
    &["regional", "regionale"],
];

/// Names of one city in several languages and spellings. The first replaces the others.
#[rustfmt::skip]
const CITIES: [&[&str]; 60] = [
    &["antwerp", "antwerpen", "anvers"], &["athens", "athina"], &["basel", "basle"],
    &["belgrade", "beograd"], &["bengaluru", "bangalore"], &["bruges", "brugge"],
    &["brussels", "brussel", "bruxelles"], &["bucharest", "bucuresti"], &["cologne", "koeln", "koln"],
    &["copenhagen", "kobenhavn"], &["dusseldorf", "duesseldorf"], &["florence", "firenze"],
    &["geneva", "geneve", "genf"], &["genoa", "genova"], &["ghent", "gent"],
    &["gothenburg", "goteborg", "goteburg"], &["gottingen", "goettingen"], &["hamadan", "hamedan"],
    &["hannover", "hanover"], &["kharkiv", "kharkov"], &["kolkata", "calcutta"],
    &["krakow", "cracow"], &["kyiv", "kiev"], &["liege", "luik"], &["lisbon", "lisboa"],
    &["lubeck", "luebeck"], &["lviv", "lvov"], &["lyon", "lyons"],
    &["marseille", "marseilles"], &["milan", "milano"], &["moscow", "moskva"], &["mumbai", "bombay"],
    &["munich", "muenchen", "munchen"], &["munster", "muenster"], &["naples", "napoli"],
    &["nuremberg", "nuernberg", "nurnberg"], &["osnabruck", "osnabrueck"], &["padua", "padova"],
    &["picardie", "picardy"], &["pondicherry", "puducherry"], &["porto", "oporto"],
    &["poznan", "posen"], &["prague", "praha"], &["pusan", "busan"], &["rome", "roma"],
    &["saarbrucken", "saarbruecken"], &["seville", "sevilla"], &["tabuk", "tabouk"],
    &["tehran", "teheran"], &["thessaloniki", "salonika"], &["tubingen", "tuebingen"],
    &["turin", "torino"], &["varanasi", "benares"], &["venice", "venezia"], &["vienna", "wien"],
    &["warsaw", "warszawa"], &["wroclaw", "breslau"], &["wurzburg", "wuerzburg"],
    &["zaragoza", "saragossa"], &["zurich", "zuerich"],
];

/// The word for a university.
pub(super) const UNIVERSITY: &str = SAME[0][0];

/// The word for a hospital.
pub(super) const HOSPITAL: &str = SAME[2][0];
/// The words of a medical center.
pub(super) const CENTER: &str = SAME[3][0];
pub(super) const MEDICAL: &str = "medical";

/// Words and abbreviations for a hospital.
pub(super) const HOSPITAL_LIKE: [&str; 9] =
    [HOSPITAL, SAME[4][0], SAME[5][0], "az", "chr", "chru", "chu", "umc", "uz"];

/// Whether the words of a name, each as [`common`] has it, are of a hospital.
pub(super) fn is_hospital<'w>(mut words: impl Iterator<Item = &'w str> + Clone) -> bool {
    let has = |wanted: &str| words.clone().any(|word| word == wanted);
    has(MEDICAL) && has(CENTER) || words.any(|word| HOSPITAL_LIKE.contains(&word))
}

/// Words of the names of hospitals that one name has and another leaves out.
pub(super) const OF_HOSPITALS: [&str; 9] =
    [UNIVERSITY, CENTER, MEDICAL, "clinical", "general", "i", "nhs", "regional", "trust"];

/// Words between the words of names. The stop words of all languages would include `para` and `mit`.
const BETWEEN: [&str; 42] = [
    "a", "al", "am", "and", "at", "d", "da", "das", "de", "degli", "dei", "del", "della", "der",
    "des", "di", "die", "do", "dos", "du", "e", "el", "en", "et", "for", "fuer", "fur", "im", "in",
    "l", "la", "le", "les", "los", "of", "studi", "the", "und", "van", "von", "y", "zu",
];

/// Words of the faculties of a university, which are no institutions of their own.
const FACULTY: [&str; 18] = [
    "business",
    "college",
    "dental",
    "dentistry",
    "division",
    "engineering",
    "faculty",
    "graduate",
    "health",
    "law",
    "medical",
    "nursing",
    "pharmacy",
    "public",
    "school",
    "sciences",
    "social",
    "veterinary",
];

/// First words of segments that name a part of an institution.
pub(super) const DEPARTMENTS: [&str; 7] =
    ["department", "departments", "dept", "division", "section", "service", "unit"];

/// Words before `university` that make another university of the same place.
pub(super) const QUALIFIERS: [&str; 16] = [
    "agricultural",
    "autonomous",
    "catholic",
    "federal",
    "free",
    "islamic",
    "medical",
    "medizinische",
    "medizinischen",
    "national",
    "normal",
    "open",
    "pedagogical",
    "polytechnic",
    "state",
    "technical",
];

/// Compounds of two words.
const COMPOUNDS: [(&str, [&str; 2]); 9] = [
    ("postgraduate", ["post", "graduate"]),
    ("universitatsklinikum", ["university", "hospital"]),
    ("universitaetsklinikum", ["university", "hospital"]),
    ("universitatsklinik", ["university", "hospital"]),
    ("universitatskliniken", ["university", "hospital"]),
    ("uniklinik", ["university", "hospital"]),
    ("uniklinikum", ["university", "hospital"]),
    ("universitatsspital", ["university", "hospital"]),
    ("universitetssjukhuset", ["university", "hospital"]),
];

/// The longest word of [`BETWEEN`], in bytes, and the shortest of [`COMPOUNDS`].
const BETWEEN_BYTES_MAX: usize = 5;
const COMPOUND_BYTES_MIN: usize = 9;

/// Whether a folded word stands between the words of names, such as `of`.
pub(super) fn is_between(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| BETWEEN.into_iter().collect());
    word.len() <= BETWEEN_BYTES_MAX && WORDS.contains(word)
}

/// Whether a folded word names a faculty.
pub(super) fn is_faculty(word: &str) -> bool {
    FACULTY.binary_search(&word).is_ok()
}

/// The folded words of a text, compounds as two words.
pub(super) fn split(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let is_long = word.len() >= COMPOUND_BYTES_MIN;
        let compound = COMPOUNDS.iter().find(|(compound, _)| is_long && *compound == word);
        let parts = compound.map(|(_, parts)| *parts);
        let whole = parts.is_none().then_some(word);
        whole.into_iter().chain(parts.into_iter().flatten())
    })
}

/// A folded text with the word that stands for each word and its likes.
pub(super) fn common_words(folded: &str) -> String {
    folded.split(' ').map(common).collect::<Vec<_>>().join(" ")
}

/// The names of a city by the first of them; none of other words.
pub(super) fn names_of_city(common: &str) -> &'static [&'static str] {
    CITIES.binary_search_by_key(&common, |names| names[0]).map_or(&[], |at| CITIES[at])
}

/// The word that stands for a folded word and its likes.
pub(super) fn common(word: &str) -> &str {
    static WORDS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let groups = SAME.iter().chain(&CITIES);
        groups.flat_map(|group| group.iter().map(|word| (*word, group[0]))).collect()
    });
    WORDS.get(word).copied().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_bounds_are_those_of_the_lists() {
        assert!(BETWEEN.is_sorted() && FACULTY.is_sorted() && CITIES.is_sorted());
        assert_eq!(BETWEEN.iter().map(|word| word.len()).max(), Some(BETWEEN_BYTES_MAX));
        assert_eq!(COMPOUNDS.iter().map(|(word, _)| word.len()).min(), Some(COMPOUND_BYTES_MIN));
    }
}
