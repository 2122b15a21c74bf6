//! Citations of a work in several styles, and with mistakes.

use serde_json::Value;

use crate::dump::number;

/// The members of a work that citations state.
#[derive(Clone, Default)]
pub struct Work {
    pub id: u64,
    title: String,
    authors: Vec<String>,
    year: i64,
    venue: String,
    volume: String,
    issue: String,
    first_page: String,
    last_page: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Work {
    pub fn read(work: &Value) -> Work {
        let authors = work["authorships"].as_array().into_iter().flatten();
        let authors = authors.map(|author| text(&author["author"]["display_name"]));
        let venue = [&work["primary_location"]["source"], &work["host_venue"]];
        let venue = venue.iter().map(|venue| text(&venue["display_name"]));
        let biblio = &work["biblio"];
        Work {
            id: number(work["id"].as_str().unwrap_or_default()).cast_unsigned(),
            title: text(&work["title"]),
            authors: authors.filter(|name| !name.is_empty()).collect(),
            year: work["publication_year"].as_i64().unwrap_or_default(),
            venue: venue.into_iter().find(|venue| !venue.is_empty()).unwrap_or_default(),
            volume: text(&biblio["volume"]),
            issue: text(&biblio["issue"]),
            first_page: text(&biblio["first_page"]),
            last_page: text(&biblio["last_page"]),
        }
    }

    pub fn is_citable(&self) -> bool {
        !self.title.is_empty() && !self.authors.is_empty() && self.year > 0
    }
}

/// A last name, and the initials of the other names.
fn name_of(author: &str, after: &str) -> (String, String) {
    let mut names: Vec<&str> = author.split_whitespace().collect();
    let last = names.pop().unwrap_or_default().to_owned();
    let initials = names.iter().filter_map(|name| name.chars().next());
    (last, initials.map(|initial| format!("{initial}{after}")).collect())
}

/// A name with each word cut, but for a single word: `J. Biol. Chem.`
pub fn abbreviated(name: &str) -> String {
    let small = ["of", "the", "and", "in", "for", "de", "la", "et", "und", "der", "on", "&"];
    let words = name.split_whitespace();
    let words: Vec<&str> =
        words.filter(|word| !small.contains(&word.to_lowercase().as_str())).collect();
    if words.len() < 2 {
        return name.to_owned();
    }
    let cut = |word: &&str| {
        let known = [
            ("journal", "J."),
            ("national", "Natl."),
            ("international", "Int."),
            ("american", "Am."),
            ("european", "Eur."),
        ];
        let lower = word.to_lowercase();
        let known = known.iter().find(|(long, _)| *long == lower);
        let letters: Vec<char> = word.chars().collect();
        match known {
            Some((_, short)) => (*short).to_owned(),
            None if letters.len() <= 6 => (*word).to_owned(),
            None => letters[..5].iter().collect::<String>() + ".",
        }
    };
    words.iter().map(cut).collect::<Vec<_>>().join(" ")
}

fn apa(work: &Work) -> String {
    let authors = work.authors.iter().take(3).map(|author| {
        let (last, initials) = name_of(author, ".");
        format!("{last}, {initials}")
    });
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    let authors = authors.collect::<Vec<_>>().join(", ");
    format!("{authors} ({year}). {title}. {venue}, {volume}({issue}), {first_page}-{last_page}.")
}

fn vancouver(work: &Work) -> String {
    let authors = work.authors.iter().take(6).map(|author| {
        let (last, initials) = name_of(author, "");
        format!("{last} {initials}")
    });
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    let venue = abbreviated(venue).replace('.', "");
    let authors = authors.collect::<Vec<_>>().join(", ");
    format!("{authors}. {title}. {venue}. {year};{volume}({issue}):{first_page}-{last_page}.")
}

fn mla(work: &Work) -> String {
    let (last, initials) = name_of(&work.authors[0], ". ");
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    format!(
        "{last}, {initials}et al. \"{title}.\" {venue} {volume}.{issue} ({year}): {first_page}-{last_page}."
    )
}

fn chicago(work: &Work) -> String {
    let authors = work.authors.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    format!(
        "{authors}. {year}. “{title}.” {venue} {volume}, no. {issue}: {first_page}–{last_page}."
    )
}

fn harvard(work: &Work) -> String {
    let (last, initials) = name_of(&work.authors[0], ".");
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    format!(
        "{last}, {initials} {year}, '{title}', {venue}, vol. {volume}, no. {issue}, pp. {first_page}-{last_page}"
    )
}

fn ieee(work: &Work) -> String {
    let authors = work.authors.iter().take(4).map(|author| {
        let (last, initials) = name_of(author, ". ");
        format!("{initials}{last}")
    });
    let Work { title, year, venue, volume, issue, first_page, last_page, .. } = work;
    let (authors, venue) = (authors.collect::<Vec<_>>().join(", "), abbreviated(venue));
    format!(
        "[1] {authors}, \"{title},\" {venue}, vol. {volume}, no. {issue}, pp. {first_page}-{last_page}, {year}."
    )
}

fn nature(work: &Work) -> String {
    let (last, initials) = name_of(&work.authors[0], ".");
    let Work { title, year, venue, volume, first_page, last_page, .. } = work;
    let venue = abbreviated(venue);
    format!(
        "{last}, {initials} et al. {title}. {venue} {volume}, {first_page}–{last_page} ({year})."
    )
}

/// Writes letters as scanners confuse them, one in each 40.
fn scanned(text: &str) -> String {
    let confused = [("rn", "m"), ("l", "1"), ("o", "0"), ("e", "c"), ("h", "b"), ("u", "n")];
    let mut text = text.to_owned();
    for at in 0..(text.len() / 40).max(2) {
        let (from, to) = confused[at % confused.len()];
        let places: Vec<usize> = text.match_indices(from).map(|(place, _)| place).collect();
        if !places.is_empty() {
            let place = places[at * 31 % places.len()];
            text.replace_range(place..place + from.len(), to);
        }
    }
    text
}

/// Writes the citation of a work in a style.
type Style = fn(&Work) -> String;

/// The citations of a work, by kind.
pub fn citations(work: &Work) -> Vec<(&'static str, String)> {
    let styles: [(&str, Style); 7] = [
        ("apa", apa),
        ("vancouver", vancouver),
        ("mla", mla),
        ("chicago", chicago),
        ("harvard", harvard),
        ("ieee", ieee),
        ("nature", nature),
    ];
    let style = styles[work.id as usize % styles.len()].1;
    let mut texts: Vec<_> = styles.iter().map(|(kind, style)| (*kind, style(work))).collect();
    let changed = |change: &dyn Fn(&mut Work)| {
        let mut work = work.clone();
        change(&mut work);
        style(&work)
    };
    texts.push(("wrong page", changed(&|work| work.first_page = "4711".to_owned())));
    texts.push(("one author", changed(&|work| work.authors.truncate(1))));
    if work.authors.len() > 1 {
        texts.push(("no first author", changed(&|work| drop(work.authors.remove(0)))));
    }
    texts.push(("year later", changed(&|work| work.year += 1)));
    texts.push(("scanned", scanned(&style(work))));
    let (last, _) = name_of(&work.authors[0], "");
    texts.push(("title alone", work.title.clone()));
    texts.push(("title, author, year", format!("{} {last} {}", work.title, work.year)));
    texts
}
