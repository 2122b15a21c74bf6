//! Random autocomplete queries, made of the names and ids of records.

use pinakes_oracle::{Autocomplete, Library};
use pinakes_tests::SeededRng;

use pinakes_tests::values::{
    chance, identifier, openalex_id, percent_encode, pick, pick_word, random_case, text,
};

/// Longest accepted query in bytes.
pub const QUERY_BYTES_MAX: usize = 256;

/// Path segments that are not entity types of autocomplete.
pub const UNSUPPORTED: &[&str] =
    &["foo", "domains", "fields", "subfields", "Authors", "author", "works", "institution-types"];

/// Raw queries that are invalid for every dump, and valid queries that nearly are.
pub const WRONG: &[&str] = &[
    "",
    "query",
    "query=",
    "&&",
    "query=+",
    "query=%20%20",
    "query=%E3%80%80",
    "query=%C2%A0",
    "query=%09",
    "query=%C2%85",
    "mailto=a",
    "query=&query=",
    "query=+&query=a",
    "query=%C2%98a",
    "query=a&query=a",
    "query=a&query=b",
    "query=a&query=",
    "query=a&page=1",
    "query=a&per_page=10",
    "query=a&filter=id:HX_A1",
    "query=a&entity_type=author",
    "query=a&Query=b",
    "query=a&query[]=b",
    "query=a&=",
    "query=a&%ff=b",
    "query=%ff",
    "query=a%C0%80",
    "query=%ED%A0%80",
    "query=%F5%80%80%80",
    "query=%E6%9D",
    "query=%zz",
    "query=100%",
    "query=%4",
    "query=%00",
    "query=a%00",
    "query=%7F",
    "query=%1B[31m",
    "query=a%0D%0Ab",
    "query=a%09b",
    "query=a",
    "query=a&&",
    "&query=a&mailto=a&api_key=b&mailto=c",
    "q%75ery=a",
    "query=a=b",
    "query=%2525",
];

/// Queries that match few records or none.
const JUNK: &[&str] = &[
    "zzzzzzzz",
    "?!",
    "*",
    "^",
    "\\",
    "%",
    "a|b",
    "😀",
    "👩\u{200d}👩\u{200d}👧",
    "\u{202e}abc",
    "<i>",
    "<i></i>a",
    "<",
    "’",
    "\"",
    "null",
    "a,b",
    "!a",
    "hx_",
    "HX_A",
    "HX_W01",
    "10.",
    "10.1/x",
    "https://doi.org/",
    "doi:",
    "https://orcid.org/",
    "0000-0000-0000-0000",
    "https://ror.org/0",
    "-",
    "1234-5678",
    "京",
    "大学",
    "の",
    "ไทย",
    "한국",
    "大 学",
    "a大",
    "é",
    "e\u{301}",
    "ß",
    "ẞ",
    "İ",
    "ﬁ",
];

/// Generates queries for one entity type, or for all.
pub struct TextGenerator {
    pub entity_type: Option<&'static str>,
    /// All names of each record.
    names: Vec<Vec<String>>,
    ids: Vec<String>,
    /// Ids that redirect, of any entity type.
    merged: Vec<String>,
}

const ALL_ROUTES: [&str; 10] = [
    "institutions",
    "authors",
    "outputs",
    "sources",
    "publishers",
    "funders",
    "topics",
    "domains",
    "fields",
    "subfields",
];

impl TextGenerator {
    /// Makes a generator for each entity type and one for all types.
    pub fn all(library: &Library, autocomplete: &Autocomplete<'_>) -> Vec<TextGenerator> {
        let types = Autocomplete::routes().into_iter().map(Some).chain([None]);
        let generator = |entity_type: Option<&'static str>| {
            let is_asked = |route: &&str| entity_type.is_none_or(|of| of == *route);
            let routes: Vec<&str> = ALL_ROUTES.into_iter().filter(is_asked).collect();
            let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
            let names = routes.iter().flat_map(|route| autocomplete.names(route)).map(owned);
            let ids = routes.iter().flat_map(|route| autocomplete.ids(route)).flat_map(owned);
            let merged = library.redirects.iter().map(|redirect| redirect.from.clone());
            TextGenerator {
                entity_type,
                names: names.filter(|names| !names.is_empty()).collect(),
                ids: ids.collect(),
                merged: merged.collect(),
            }
        };
        types.map(generator).filter(|generator| !generator.names.is_empty()).collect()
    }

    /// Returns queries for up to 20 merged ids and about 40 other ids.
    pub fn id_queries(&self, rng: &mut SeededRng) -> Vec<String> {
        let some = self.ids.iter().step_by(self.ids.len() / 40 + 1);
        let asked = self.merged.iter().take(20).chain(some);
        asked.map(|id| format!("query={}", percent_encode(rng, id))).collect()
    }

    /// Generates a raw query, which the server usually accepts.
    pub fn query(&self, rng: &mut SeededRng) -> String {
        let query = match rng.below(10) {
            0 | 1 => self.id(rng),
            _ => self.text(rng),
        };
        let raw = format!("query={}", percent_encode(rng, &query));
        match rng.below(20) {
            0 => format!("mailto=a%40b.c&{raw}"),
            1 => format!("{raw}&api_key=x&"),
            _ => raw,
        }
    }

    /// Generates words, or prefixes of words, of one or two records' names.
    pub fn text(&self, rng: &mut SeededRng) -> String {
        let names = pick(rng, &self.names);
        let name = pick(rng, names).as_str();
        match rng.below(20) {
            0..3 => cut(name).to_owned(),
            3..6 => text(rng, Some(cut(name))),
            6 => name.chars().take(1).collect(),
            7 => infix(rng, name),
            8..10 => {
                let others = pick(rng, &self.names);
                beginnings(rng, &[names.as_slice(), others.as_slice()].concat())
            }
            10 => pick_word(rng, JUNK).to_owned(),
            11 => prefix(rng, name),
            12..15 => shortest(rng, names),
            _ => beginnings(rng, names),
        }
    }

    /// Picks the first name of a record, usually its display name.
    pub fn name(&self, rng: &mut SeededRng) -> &str {
        pick(rng, &self.names)[0].as_str()
    }

    /// Writes an id in one of its forms, sometimes damaged.
    fn id(&self, rng: &mut SeededRng) -> String {
        let is_merged = !self.merged.is_empty() && chance(rng, 15);
        let own = pick(rng, if is_merged { &self.merged } else { &self.ids });
        let prefixes: &[&str] = match own.as_str() {
            doi if doi.contains("doi.org/") => &[
                "",
                "doi:",
                "https://doi.org/",
                "http://doi.org/",
                "http://dx.doi.org/",
                "https://dx.doi.org/",
            ],
            ror if ror.contains("ror.org/") => &["", "https://ror.org/", "http://ror.org/"],
            hx if hx.starts_with("HX_") && chance(rng, 50) => return openalex_id(rng, hx),
            hx if hx.starts_with("HX_") => &[""],
            pmid if pmid.bytes().all(|byte| byte.is_ascii_digit()) => {
                &["pmid:", "https://pubmed.ncbi.nlm.nih.gov/"]
            }
            issn if issn.len() == 9 => &["", "https://portal.issn.org/resource/ISSN/"],
            _ => &["", "https://orcid.org/", "http://orcid.org/"],
        };
        let written = identifier(rng, Some(own), prefixes);
        match rng.below(12) {
            0 => format!("{written}{}", pick_word(rng, &["0", "x", "/", " a", "."])),
            1 => written.chars().skip(1).collect(),
            2 => {
                let length = written.chars().count();
                written.chars().take(length - 1).collect()
            }
            3 => format!(" {written} "),
            _ => written,
        }
    }
}

/// Cuts a name to the longest accepted query.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(QUERY_BYTES_MAX)]
}

/// Joins prefixes of up to four words in random order.
fn beginnings(rng: &mut SeededRng, names: &[String]) -> String {
    let words: Vec<&str> = names.iter().flat_map(|name| name.split_whitespace()).collect();
    let count = 1 + rng.below(4);
    let beginning = |_| {
        let own = pick(rng, &words);
        let letters = own.chars().count();
        let length = if chance(rng, 30) { letters } else { 1 + rng.below(letters.min(8)) };
        own.chars().take(length).collect::<String>()
    };
    let words = (0..count).map(beginning).collect::<Vec<_>>();
    let apart = pick_word(rng, &[" ", " ", " ", "-", ", ", "  "]);
    random_case(rng, &words.join(apart))
}

/// Joins the first one or two letters of one or two words, which match many names.
fn shortest(rng: &mut SeededRng, names: &[String]) -> String {
    let words: Vec<&str> = names.iter().flat_map(|name| name.split_whitespace()).collect();
    let count = 1 + rng.below(2);
    let beginning = |_| {
        let own = pick(rng, &words).chars();
        own.take(1 + rng.below(2)).collect::<String>()
    };
    (0..count).map(beginning).collect::<Vec<_>>().join(" ")
}

/// Returns a prefix of a name.
fn prefix(rng: &mut SeededRng, name: &str) -> String {
    let name = cut(name);
    let length = 1 + rng.below(name.chars().count().min(30));
    name.chars().take(length).collect()
}

/// Returns up to four letters from inside a name; scripts without spaces match such infixes.
fn infix(rng: &mut SeededRng, name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let unspaced = |letter: &char| *letter >= '\u{0e00}';
    let from = match letters.iter().position(unspaced) {
        Some(first) => first + rng.below(letters.len() - first),
        None => rng.below(letters.len()),
    };
    let length = 1 + rng.below(4);
    letters[from..].iter().take(length).collect()
}
