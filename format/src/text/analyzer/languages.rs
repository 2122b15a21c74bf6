//! The languages with a stemmer: codes, stemmers, endings that folding changed, and very frequent words.

use snowball_stemmers_rs::Algorithm;

/// A language whose words are stemmed.
pub(super) struct Language {
    /// ISO 639-1 codes.
    pub codes: &'static [&'static str],
    /// The script of its words. Words in other scripts are their own stems.
    pub script: Script,
    /// The algorithm of the Snowball project.
    pub algorithm: Algorithm,
    /// Endings without accents, and the endings that the algorithm knows for them; the first match
    /// counts.
    pub endings: &'static [(&'static str, &'static str)],
    /// Very frequent words, folded: articles, prepositions, conjunctions and forms of *to be* that are
    /// no content words in English.
    pub stop_words: &'static [&'static str],
}

/// A script in which words are inflected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    Arabic,
    Cyrillic,
    Greek,
    Latin,
}

impl Script {
    /// The script of a folded word, by its first letter; `None` of a word with a digit or a sign, and of other scripts.
    pub fn of(word: &str) -> Option<Script> {
        if !word.chars().all(char::is_alphabetic) {
            return None;
        }
        Some(match word.chars().next()? {
            ..'\u{370}' | '\u{1e00}'..'\u{1f00}' => Script::Latin,
            '\u{370}'..'\u{400}' | '\u{1f00}'..'\u{2000}' => Script::Greek,
            '\u{400}'..'\u{530}' => Script::Cyrillic,
            '\u{600}'..'\u{700}' | '\u{750}'..'\u{780}' => Script::Arabic,
            _ => return None,
        })
    }
}

/// A language in Latin script without changed endings.
const fn plain(
    codes: &'static [&'static str],
    algorithm: Algorithm,
    stop_words: &'static [&'static str],
) -> Language {
    Language { codes, script: Script::Latin, algorithm, endings: &[], stop_words }
}

/// In folded texts, `й` is `и`.
const CYRILLIC_ENDINGS: &[(&str, &str)] =
    &[("ии", "ий"), ("ыи", "ый"), ("ои", "ой"), ("еи", "ей"), ("аи", "ай"), ("іи", "ій")];

/// The languages, by their first codes.
///
/// Left out are languages whose algorithm needs marks that folding removes (Hindi, Tamil, Nepali), and
/// Persian, whose algorithm takes off the beginnings of common nouns.
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        script: Script::Arabic,
        ..plain(
            &["ar"],
            Algorithm::Arabic,
            &["في", "من", "على", "الى", "عن", "مع", "هذا", "هذه", "التي", "الذي", "ان", "او", "و"],
        )
    },
    Language {
        codes: &["ca"],
        script: Script::Latin,
        algorithm: Algorithm::Catalan,
        endings: &[("cio", "ció"), ("sio", "sió")],
        stop_words: &[
            "el", "la", "els", "les", "un", "una", "de", "del", "dels", "d", "l", "i", "o", "a",
            "al", "als", "en", "amb", "per", "que", "es",
        ],
    },
    plain(
        &["cs"],
        Algorithm::Czech,
        &[
            "a", "v", "ve", "na", "s", "se", "z", "ze", "o", "k", "ke", "i", "do", "od", "po",
            "pro", "pri", "je", "jsou", "jako", "ktere", "ktery", "ktera",
        ],
    ),
    plain(
        &["da"],
        Algorithm::Danish,
        &[
            "og", "i", "af", "en", "et", "den", "det", "de", "til", "for", "pa", "med", "som",
            "er", "fra", "ved", "om", "der", "at", "ved",
        ],
    ),
    plain(
        &["de"],
        Algorithm::German,
        &[
            "der", "die", "das", "des", "dem", "den", "ein", "eine", "einer", "eines", "einem",
            "einen", "und", "oder", "in", "im", "von", "vom", "zu", "zum", "zur", "mit", "fur",
            "auf", "bei", "aus", "als", "an", "am", "ist",
        ],
    ),
    Language {
        script: Script::Greek,
        ..plain(
            &["el"],
            Algorithm::Greek,
            &[
                "το",
                "οι",
                "τα",
                "του",
                "τησ",
                "των",
                "τον",
                "την",
                "τη",
                "τουσ",
                "τισ",
                "και",
                "σε",
                "στο",
                "στη",
                "στην",
                "στον",
                "με",
                "για",
                "απο",
                "ωσ",
                "ειναι",
            ],
        )
    },
    plain(
        &["en"],
        Algorithm::English,
        &[
            "a", "an", "the", "and", "or", "of", "in", "on", "at", "to", "for", "from", "by",
            "with", "as", "is", "are", "was", "were", "be", "it", "its", "this", "that", "which",
        ],
    ),
    plain(
        &["es"],
        Algorithm::Spanish,
        &[
            "el", "la", "los", "las", "un", "una", "de", "del", "y", "e", "o", "u", "a", "al",
            "en", "con", "por", "para", "que", "se", "su", "es", "como",
        ],
    ),
    plain(
        &["fi"],
        Algorithm::Finnish,
        &["ja", "tai", "on", "ei", "se", "ovat", "oli", "sen", "etta", "joka", "kuin", "seka"],
    ),
    Language {
        codes: &["fr"],
        script: Script::Latin,
        algorithm: Algorithm::French,
        endings: &[("ee", "ée"), ("ees", "ées")],
        stop_words: &[
            "le", "la", "les", "l", "un", "une", "des", "de", "du", "d", "et", "ou", "a", "au",
            "aux", "en", "dans", "par", "pour", "sur", "avec", "que", "qui", "est",
        ],
    },
    plain(
        &["hu"],
        Algorithm::Hungarian,
        &["a", "az", "es", "egy", "hogy", "is", "nem", "vagy", "mint", "meg", "ez", "volt"],
    ),
    plain(
        &["id"],
        Algorithm::Indonesian,
        &[
            "dan", "di", "ke", "dari", "yang", "untuk", "pada", "dengan", "dalam", "ini", "itu",
            "atau", "oleh", "sebagai", "adalah",
        ],
    ),
    plain(
        &["it"],
        Algorithm::Italian,
        &[
            "il", "lo", "la", "i", "gli", "le", "l", "un", "uno", "una", "di", "del", "della",
            "dello", "dei", "degli", "delle", "dell", "e", "ed", "o", "a", "al", "alla", "in",
            "nel", "nella", "da", "con", "per",
        ],
    ),
    plain(
        &["nl"],
        Algorithm::Dutch,
        &[
            "de", "het", "een", "en", "of", "van", "in", "op", "te", "voor", "met", "aan", "bij",
            "tot", "uit", "door", "om", "naar", "als", "is", "zijn", "dat", "die",
        ],
    ),
    plain(
        &["no", "nb", "nn"],
        Algorithm::Norwegian,
        &[
            "og", "i", "av", "en", "et", "ei", "den", "det", "de", "til", "for", "pa", "med",
            "som", "er", "fra", "ved", "om", "at",
        ],
    ),
    plain(
        &["pl"],
        Algorithm::Polish,
        &[
            "i", "w", "we", "z", "ze", "na", "do", "o", "od", "po", "za", "przez", "dla", "oraz",
            "lub", "a", "jest", "sie", "jako",
        ],
    ),
    Language {
        codes: &["pt"],
        script: Script::Latin,
        algorithm: Algorithm::Portuguese,
        // Plurals become singulars, because the algorithm leaves short words in `-ões` apart.
        endings: &[
            ("coes", "ção"),
            ("soes", "são"),
            ("oes", "ão"),
            ("cao", "ção"),
            ("sao", "são"),
            ("ao", "ão"),
        ],
        stop_words: &[
            "o", "a", "os", "as", "um", "uma", "de", "do", "da", "dos", "das", "e", "ou", "em",
            "no", "na", "nos", "nas", "ao", "aos", "com", "por", "para", "que", "se",
        ],
    },
    plain(
        &["ro"],
        Algorithm::Romanian,
        &[
            "si", "sau", "de", "din", "la", "in", "cu", "pe", "pentru", "prin", "un", "o", "al",
            "ale", "a", "ai", "este", "sunt", "ca",
        ],
    ),
    Language {
        codes: &["ru"],
        script: Script::Cyrillic,
        algorithm: Algorithm::Russian,
        endings: CYRILLIC_ENDINGS,
        stop_words: &[
            "и", "в", "во", "на", "с", "со", "к", "о", "об", "от", "по", "из", "за", "для", "при",
            "у", "а", "но", "или", "как", "что", "не",
        ],
    },
    plain(
        &["sv"],
        Algorithm::Swedish,
        &[
            "och", "i", "av", "en", "ett", "den", "det", "de", "till", "for", "pa", "med", "som",
            "ar", "fran", "vid", "om", "att", "hos",
        ],
    ),
    plain(
        &["tr"],
        Algorithm::Turkish,
        &["ve", "ile", "bir", "bu", "da", "de", "ya", "veya", "icin", "olarak", "olan", "gibi"],
    ),
    Language {
        codes: &["uk"],
        script: Script::Cyrillic,
        algorithm: Algorithm::Ukrainian,
        endings: CYRILLIC_ENDINGS,
        stop_words: &[
            "і", "и", "та", "в", "у", "на", "з", "із", "зі", "до", "від", "по", "за", "для", "при",
            "про", "або", "як", "що", "не", "є",
        ],
    },
];
