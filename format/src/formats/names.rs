//! Names of authors in parts, and words of keys.

use crate::text::fold::fold;

/// Words before a last name that belong to it, in the languages of western Europe and in Arabic names.
const PARTICLES: [&str; 32] = [
    "af", "al", "av", "bin", "da", "das", "de", "degli", "dei", "del", "dell'", "della", "delle",
    "den", "der", "di", "do", "dos", "du", "el", "la", "las", "le", "los", "ten", "ter", "van",
    "vande", "vander", "vom", "von", "zu",
];
/// Particles that also begin with a capital letter. The others are, so written, middle names or initials.
const CAPITAL_PARTICLES: [&str; 23] = [
    "Da", "De", "Degli", "Dei", "Del", "Della", "Delle", "Den", "Der", "Di", "Do", "Dos", "Du",
    "El", "La", "Las", "Le", "Los", "Ter", "Van", "Vande", "Vander", "Von",
];
/// Vietnamese last names, which stand first: `Van` and `Le` behind them are middle names.
const VIETNAMESE: [&str; 18] = [
    "bui", "cao", "dang", "dinh", "do", "doan", "duong", "ho", "hoang", "huynh", "le", "ngo",
    "nguyen", "pham", "phan", "tran", "trinh", "vu",
];
/// Words between the two last names of a person: `Ortega y Gasset`, `Prat i Soler`, `Eça e Silva`.
const BETWEEN_LAST_NAMES: [&str; 3] = ["e", "i", "y"];
/// Words after a last name.
const SUFFIXES: [&str; 7] = ["jr", "jr.", "sr", "sr.", "ii", "iii", "iv"];
/// Words that names of people do not have: kinds of organisations and their legal forms, without those that are last names
/// too (`Press`, `School`, `Church`).
const OF_ORGANISATIONS: [&str; 68] = [
    "academy",
    "administration",
    "agency",
    "and",
    "asociación",
    "associação",
    "association",
    "authority",
    "bureau",
    "center",
    "centre",
    "centro",
    "collaboration",
    "collaborators",
    "commission",
    "committee",
    "company",
    "confederation",
    "consortium",
    "corp",
    "corp.",
    "corporación",
    "corporation",
    "council",
    "department",
    "directorate",
    "federation",
    "fondation",
    "for",
    "foundation",
    "fundación",
    "fundação",
    "gmbh",
    "group",
    "hospital",
    "inc",
    "inc.",
    "initiative",
    "institut",
    "institute",
    "instituto",
    "investigators",
    "laboratories",
    "laboratory",
    "llc",
    "ltd",
    "ltd.",
    "ministerio",
    "ministry",
    "ministère",
    "museum",
    "network",
    "of",
    "office",
    "organisation",
    "organization",
    "programme",
    "secretariat",
    "sociedad",
    "società",
    "society",
    "société",
    "team",
    "union",
    "universidad",
    "universidade",
    "university",
    "université",
];
/// Characters that a word of a key keeps.
const WORD_MAX: usize = 32;

/// The name of an author.
#[derive(Debug, PartialEq, Eq)]
pub enum Name<'n> {
    /// Of a person: `Ada van Berg Jr.`
    Person {
        /// `Ada`
        given: &'n str,
        /// `van`
        particles: &'n str,
        /// `Berg`
        family: &'n str,
        /// `Jr.`
        suffix: &'n str,
    },
    /// Of an organisation, or one that has no parts.
    Whole(&'n str),
}

impl<'n> Name<'n> {
    /// Finds the parts of a name that a work may print otherwise: a printed name with one comma says where the last name begins.
    pub fn printed_as(name: &'n str, printed: Option<&str>) -> Name<'n> {
        let found = Name::of(name);
        let Name::Person { suffix, .. } = found else { return found };
        let family = printed.and_then(|printed| printed.split_once(','));
        let Some((family, given)) = family.filter(|(_, given)| !given.contains(',')) else {
            return found;
        };
        if is_suffix(given.trim()) || is_of_organisation(family) || name.contains(',') {
            return found;
        }
        // The words of the last name are the last of the name, before a suffix.
        let words = family.split_whitespace().count();
        let whole = name.trim().strip_suffix(suffix).unwrap_or(name).trim_end();
        let mut begin = whole.len();
        for _ in 0..words {
            begin = whole[..begin].trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
        }
        let (before, last) = whole.split_at(begin);
        if words == 0 || before.trim().is_empty() || fold(last) != fold(family) {
            return found;
        }
        let (particles, family) = split_particles(last.trim());
        Name::Person { given: before.trim(), particles, family, suffix }
    }

    /// Finds the parts of a name. A name with a comma begins with the last name.
    pub fn of(name: &'n str) -> Name<'n> {
        let name = name.trim();
        if is_of_organisation(name) {
            return Name::Whole(name);
        }
        if let Some((family, given)) = name.split_once(',') {
            let (family, given) = (family.trim(), given.trim());
            if family.is_empty() || given.is_empty() || given.contains(',') {
                return Name::Whole(name);
            }
            if is_suffix(given) {
                return Name::of_words(family, given);
            }
            let (particles, family) = split_particles(family);
            return Name::Person { given, particles, family, suffix: "" };
        }
        match name.rsplit_once(char::is_whitespace) {
            Some((before, suffix)) if is_suffix(suffix) => {
                Name::of_words(before.trim_end(), suffix)
            }
            _ => Name::of_words(name, ""),
        }
    }

    /// Splits a name before the last word, the particles that precede the last word, and a first of two last names.
    fn of_words(name: &'n str, suffix: &'n str) -> Name<'n> {
        let Some((given, _)) = name.rsplit_once(char::is_whitespace) else {
            return Name::Whole(name);
        };
        let mut given = given.trim_end();
        if let Some((before, between)) = given.rsplit_once(char::is_whitespace)
            && BETWEEN_LAST_NAMES.contains(&between)
            && let Some((before, _)) = before.trim_end().rsplit_once(char::is_whitespace)
        {
            given = before.trim_end();
        }
        let first = name.split_whitespace().next().unwrap_or_default();
        let has_capital_particles = !VIETNAMESE.contains(&fold(first).as_str());
        while let Some((before, word)) = given.rsplit_once(char::is_whitespace)
            && (PARTICLES.contains(&word)
                || (has_capital_particles && CAPITAL_PARTICLES.contains(&word)))
        {
            given = before.trim_end();
        }
        let (particles, family) = split_particles(name[given.len()..].trim_start());
        Name::Person { given, particles, family, suffix }
    }

    /// The last name with its particles; the name of an organisation.
    pub fn family(&self) -> String {
        match self {
            Name::Person { particles: "", family, .. } => (*family).to_owned(),
            Name::Person { particles, family, .. } => format!("{particles} {family}"),
            Name::Whole(name) => (*name).to_owned(),
        }
    }

    /// The last name by which keys begin.
    pub fn family_without_particles(&self) -> &'n str {
        match self {
            Name::Person { family, .. } => family,
            Name::Whole(name) => name,
        }
    }
}

fn is_suffix(word: &str) -> bool {
    SUFFIXES.contains(&word.to_lowercase().as_str())
}

/// Splits particles from the last name; the last word is no particle.
fn split_particles(family: &str) -> (&str, &str) {
    let mut at = 0;
    for word in family.split_inclusive(char::is_whitespace) {
        let is_particle = word.trim_end().is_empty() || PARTICLES.contains(&word.trim_end());
        if !is_particle || at + word.len() == family.len() {
            break;
        }
        at += word.len();
    }
    let (particles, family) = family.split_at(at);
    (particles.trim_end(), family)
}

fn is_of_organisation(name: &str) -> bool {
    let mut words = name.split_whitespace();
    words.any(|word| OF_ORGANISATIONS.contains(&word.to_lowercase().as_str()))
}

/// A text in one line: white space and control characters are one space each time.
pub fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first ASCII letters and digits of a text in small letters, accents removed.
pub fn ascii_word(text: &str) -> String {
    fold(text).chars().filter(char::is_ascii_alphanumeric).take(WORD_MAX).collect()
}

/// The first word of a text that has ASCII letters or digits.
pub fn first_ascii_word(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split(' ').map(ascii_word);
    words.into_iter().find(|word| !word.is_empty()).unwrap_or_default()
}

/// The letters that tell equal keys apart: `a` to `z`, then `aa`.
pub fn letters(number: u32) -> String {
    let mut rest = number + 1;
    let mut letters = Vec::new();
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_parts() {
        let check = |name: &str, expected: &str| {
            let text = match Name::of(name) {
                Name::Person { given, particles, family, suffix } => {
                    format!("{given}|{particles}|{family}|{suffix}")
                }
                Name::Whole(name) => name.to_owned(),
            };
            assert_eq!(text, expected, "{name}");
        };
        check("Ada Berg", "Ada||Berg|");
        check("Ada B. van der Berg", "Ada B.|van der|Berg|");
        check("Berg, Ada", "Ada||Berg|");
        check("van Berg, Ada", "Ada|van|Berg|");
        check("Ada Berg Jr.", "Ada||Berg|Jr.");
        check("Ada Berg, Jr.", "Ada||Berg|Jr.");
        check("Leonardo  da\u{a0}Vinci", "Leonardo|da|Vinci|");
        check("李学", "李学");
        check("van", "van");
        check("van Berg", "van||Berg|");
        check("Rossana De Leo", "Rossana||De Leo|");
        check("Robert M. La Follette", "Robert M.||La Follette|");
        check("Jean-François Le Bas", "Jean-François||Le Bas|");
        check("Juan De La Cruz Jr.", "Juan||De La Cruz|Jr.");
        check("José Ortega y Gasset", "José||Ortega y Gasset|");
        check("Jesús Vilá y Rico", "Jesús||Vilá y Rico|");
        check("Maria de Prat i Soler", "Maria|de|Prat i Soler|");
        check("Nguyen Van Anh", "Nguyen Van||Anh|");
        check("Nguyễn Thị Le Hoa", "Nguyễn Thị Le||Hoa|");
        check("Paul T. Costa, Jr.", "Paul T.||Costa|Jr.");
        check("Sandra Sand", "Sandra||Sand|");
        check("Sand and Gravel Association", "Sand and Gravel Association");
        check("Microsoft Corporation", "Microsoft Corporation");
        check("R Core Team", "R Core Team");
        check("American Psychiatric Association", "American Psychiatric Association");
        check(
            "Corporación Universitaria Remington, Manizales, Colombia",
            "Corporación Universitaria Remington, Manizales, Colombia",
        );
        check("Institute of Things", "Institute of Things");
        check(" , ", ",");
        check("a,b,c", "a,b,c");
    }

    #[test]
    fn a_printed_name_with_a_comma_says_where_the_last_name_begins() {
        let check = |name: &str, printed: &str, expected: [&str; 2]| {
            let found = Name::printed_as(name, Some(printed));
            let Name::Person { given, .. } = &found else { panic!("{name}") };
            assert_eq!([*given, &found.family()], expected, "{name}, {printed}");
        };
        check("Ana Garcia Lopez", "García López, A.", ["Ana", "Garcia Lopez"]);
        check("Ana Garcia Lopez", "Lopez, Ana Garcia", ["Ana Garcia", "Lopez"]);
        check("Ada van Berg Jr.", "van Berg, A.", ["Ada", "van Berg"]);
        check("Ada Berg", "Someone, Else", ["Ada", "Berg"]);
        check("Ada Berg", "Ada Berg", ["Ada", "Berg"]);
        check("Ada Berg", "Ada Berg, Jr.", ["Ada", "Berg"]);
        check("Ada Berg", "Ada Berg, ", ["Ada", "Berg"]);
    }

    #[test]
    fn words_of_keys_are_short_ascii() {
        assert_eq!(ascii_word("Łukasiewicz-Ørsted"), "lukasiewiczorsted");
        assert_eq!(ascii_word(&"x".repeat(1_000)).len(), WORD_MAX);
        assert_eq!(first_ascii_word("« <i>E. coli</i> »"), "e");
        assert_eq!(first_ascii_word("学 2 x"), "2");
        assert_eq!(first_ascii_word("学"), "");
    }

    #[test]
    fn letters_count_on() {
        let found = [0, 25, 26, 27, 701, 702].map(letters);
        assert_eq!(found, ["a", "z", "aa", "ab", "zz", "aaa"]);
    }
}
