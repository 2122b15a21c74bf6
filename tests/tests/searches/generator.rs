//! Random searches, from the words of real records.

use pinakes_oracle::Entry;
use pinakes_tests::SeededRng;
use pinakes_tests::values::{chance, pick};
use serde_json::Value;

/// A search, and what else the list is asked for.
#[derive(Debug)]
pub struct Asked {
    pub text: String,
    pub is_exact: bool,
    pub filter: Option<&'static str>,
    pub sort: Option<&'static str>,
}

const FILTERS: [&str; 6] = [
    "year:>2010",
    "is_oa:true",
    "type:article",
    "cited_by_count:>10",
    "language.code:!en",
    "venues_count:>1,year:<2021",
];
const SORTS: [&str; 3] = ["cited_by_count:asc", "year:desc,title:asc", "date:asc"];
const FIELDS: [&str; 5] = ["title", "abstract", "author", "venue", "subject"];

/// Pieces of searches that mean something to the syntax, or nearly so.
const SYNTAX: [&str; 40] = [
    "AND",
    "OR",
    "NOT",
    "-",
    "(",
    ")",
    "\"",
    "\"",
    "“",
    "”",
    "„",
    "~",
    "~1",
    "~2",
    "~3",
    "*",
    "?",
    "title:",
    "author:",
    "titel:",
    "doi:",
    "abstract:(",
    ":",
    "&",
    "?!",
    ".",
    "1999",
    "the",
    "of",
    "AND NOT",
    "or",
    "C++",
    ".NET",
    "R&D",
    "COVID-19",
    "l'état",
    "α-synuclein",
    "学习",
    "3.14",
    "271-280",
];

/// Makes searches of the words of records.
pub struct Generator {
    /// For each record its texts, and for each text its words.
    texts: Vec<Vec<Vec<String>>>,
}

impl Generator {
    pub fn new(outputs: &[Entry]) -> Generator {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let of_record = |entry: &Entry| {
            let mut texts = Vec::new();
            let record = &entry.single;
            let mut add = |value: &Value| match value {
                Value::String(text) if !text.trim().is_empty() => texts.push(words(text)),
                Value::Number(number) => texts.push(vec![number.to_string()]),
                _ => {}
            };
            // Titles and abstracts more often than others.
            [
                &record["title"],
                &record["title"],
                &record["name"],
                &record["abstract"],
                &record["abstract"],
            ]
            .into_iter()
            .chain([&record["year"], &record["biblio"]["volume"], &record["biblio"]["first_page"]])
            .chain([&record["primary_venue"]["source"]["name"]])
            .chain(record["authors"].as_array().into_iter().flatten().map(|author| &author["name"]))
            .chain(record["topics"].as_array().into_iter().flatten().map(|topic| &topic["name"]))
            .chain(record["keywords"].as_array().into_iter().flatten())
            .for_each(&mut add);
            texts
        };
        let texts = outputs.iter().map(of_record).filter(|texts: &Vec<_>| !texts.is_empty());
        Generator { texts: texts.collect() }
    }

    pub fn search(&self, rng: &mut SeededRng) -> Asked {
        let text = match rng.below(100) {
            0..35 => self.plain(rng),
            35..85 => {
                let record = rng.below(self.texts.len());
                let depth = 1 + rng.below(3);
                self.clauses(rng, record, depth, true)
            }
            85..95 => self.mixture(rng),
            _ => self.citation(rng),
        };
        Asked {
            text,
            is_exact: chance(rng, 15),
            filter: chance(rng, 25).then(|| *pick(rng, &FILTERS)),
            sort: chance(rng, 15).then(|| *pick(rng, &SORTS)),
        }
    }

    /// Some words in a row of a text of the record.
    fn words_in_a_row(&self, rng: &mut SeededRng, record: usize, words_max: usize) -> Vec<String> {
        let text = pick(rng, &self.texts[record]);
        let from = rng.below(text.len());
        let count = 1 + rng.below(words_max);
        text[from..].iter().take(count).cloned().collect()
    }

    /// A word of the record that the syntax takes for nothing else.
    fn word(&self, rng: &mut SeededRng, record: usize) -> String {
        // Another record's word now and then.
        let record = if chance(rng, 15) { rng.below(self.texts.len()) } else { record };
        loop {
            let word = self.words_in_a_row(rng, record, 1).swap_remove(0);
            let word = match chance(rng, 70) {
                true => word.to_lowercase(),
                false => word,
            };
            let word: String = word.chars().filter(|c| !"()\"“”„*?~:".contains(*c)).collect();
            let word = word.trim_start_matches('-').to_owned();
            if !word.is_empty() && !["AND", "OR", "NOT"].contains(&word.as_str()) {
                return word;
            }
            if chance(rng, 10) {
                return "the".to_owned();
            }
        }
    }

    /// Words as somebody types them, of one record or two.
    fn plain(&self, rng: &mut SeededRng) -> String {
        let record = rng.below(self.texts.len());
        let mut words = self.words_in_a_row(rng, record, 12);
        while chance(rng, 40) {
            let record = if chance(rng, 30) { rng.below(self.texts.len()) } else { record };
            words.extend(self.words_in_a_row(rng, record, 3));
        }
        if chance(rng, 20) {
            let turns = rng.below(words.len());
            words.rotate_left(turns);
        }
        while chance(rng, 30) {
            let word = rng.below(words.len());
            words[word] = mistyped(rng, &words[word]);
        }
        words.join(" ")
    }

    /// A citation with its title in quotes.
    fn citation(&self, rng: &mut SeededRng) -> String {
        let record = rng.below(self.texts.len());
        let title = self.words_in_a_row(rng, record, 8).join(" ");
        let others: Vec<String> = (0..2 + rng.below(4)).map(|_| self.word(rng, record)).collect();
        let year = pick(rng, &["1999", "(2013).", "2020", "20", ""]);
        format!("{} \"{title}\" {year}", others.join(", "))
    }

    /// Words and signs in any order.
    fn mixture(&self, rng: &mut SeededRng) -> String {
        let record = rng.below(self.texts.len());
        let mut text = String::new();
        for _ in 0..1 + rng.below(7) {
            match chance(rng, 50) {
                true => text += &self.word(rng, record),
                false => text += *pick(rng, &SYNTAX),
            }
            if chance(rng, 75) {
                text.push(' ');
            }
        }
        text
    }

    fn clauses(
        &self,
        rng: &mut SeededRng,
        record: usize,
        depth: usize,
        may_have_field: bool,
    ) -> String {
        let mut text = String::new();
        for number in 0..1 + rng.below(4) {
            if number > 0 {
                text +=
                    *pick(rng, &[" ", " ", " AND ", " OR ", " OR ", " NOT ", " -", " AND NOT "]);
            } else if chance(rng, 4) {
                text += *pick(rng, &["NOT ", "-"]);
            }
            text += &self.clause(rng, record, depth, may_have_field);
        }
        text
    }

    fn clause(
        &self,
        rng: &mut SeededRng,
        record: usize,
        depth: usize,
        may_have_field: bool,
    ) -> String {
        let has_field = may_have_field && chance(rng, 25);
        let field = if has_field { format!("{}:", pick(rng, &FIELDS)) } else { String::new() };
        let clause = match rng.below(100) {
            0..25 if depth > 0 => {
                format!("({})", self.clauses(rng, record, depth - 1, may_have_field && !has_field))
            }
            0..55 => self.word(rng, record),
            55..70 => self.pattern(rng, record),
            70..80 => {
                let word = self.word(rng, record);
                let word = if chance(rng, 60) { mistyped(rng, &word) } else { word };
                format!("{word}~{}", pick(rng, &[1, 1, 2, 2, 0]))
            }
            _ => self.phrase(rng, record),
        };
        field + &clause
    }

    /// A word with stars and question marks.
    fn pattern(&self, rng: &mut SeededRng, record: usize) -> String {
        let word = self.word(rng, record);
        let mut letters: Vec<char> = word.chars().collect();
        let first = if chance(rng, 95) { 3 } else { 1 + rng.below(3) };
        let first = first.min(letters.len());
        for _ in 0..1 + rng.below(2) {
            let at = first + rng.below(letters.len() - first + 1);
            match rng.below(3) {
                0 if at < letters.len() => letters[at] = '?',
                1 => {
                    let to = at + rng.below(letters.len() - at + 1);
                    letters.splice(at..to, ['*']);
                }
                _ => letters.truncate(at),
            }
        }
        let text: String = letters.into_iter().collect();
        if text.contains(['*', '?']) { text } else { text + "*" }
    }

    fn phrase(&self, rng: &mut SeededRng, record: usize) -> String {
        let mut words = self.words_in_a_row(rng, record, 4);
        words.iter_mut().for_each(|word| word.retain(|c| !"\"“”„*?".contains(c)));
        if chance(rng, 20) {
            words.push(self.word(rng, record));
        }
        if chance(rng, 20) {
            let at = rng.below(words.len());
            words[at] = self.pattern(rng, record);
        }
        let distance = match rng.below(3) {
            0 => {
                if chance(rng, 50) {
                    words.reverse();
                }
                if chance(rng, 30) && words.len() > 1 {
                    words.remove(rng.below(words.len()));
                }
                format!("~{}", pick(rng, &[0, 1, 2, 3, 5, 20, 1000]))
            }
            _ => String::new(),
        };
        format!("\"{}\"{distance}", words.join(" "))
    }
}

/// Changes, adds, drops or exchanges a letter.
fn mistyped(rng: &mut SeededRng, word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let at = rng.below(letters.len().max(1));
    let letter = char::from(b'a' + rng.below(26) as u8);
    match rng.below(4) {
        0 if letters.len() > 1 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letter),
        2 if at + 1 < letters.len() => letters.swap(at, at + 1),
        _ if !letters.is_empty() => letters[at] = letter,
        _ => {}
    }
    letters.into_iter().collect()
}
