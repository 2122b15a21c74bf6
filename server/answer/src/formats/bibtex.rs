//! Entries of BibTeX, for bibtex and biber. Texts are UTF-8; signs of TeX are escaped, and braces keep capitals.

use crate::formats::names::Name;
use crate::formats::reference::{Reference, one_line};

/// The names of months that styles know.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Writes an entry.
pub(super) fn write(reference: &Reference, key: &str, out: &mut Vec<u8>) {
    let (kind, container) = reference.kind().bibtex;
    // Readers want a comma after the key, also in an entry without members.
    let mut entry = Entry { text: format!("@{kind}{{{key},") };
    let authors: Vec<String> = reference.names().map(|name| author(&name)).collect();
    if !authors.is_empty() {
        entry.raw("author", &authors.join(" and "));
    }
    if let Some(title) = reference.title() {
        entry.raw("title", &title_text(title));
    }
    entry.text(container, reference.container());
    let date = reference.date();
    if let Some(year) = date.first() {
        entry.raw("year", &year.to_string());
    }
    let month = date.get(1).and_then(|month| usize::try_from(month - 1).ok());
    if let Some(month) = month.and_then(|month| MONTHS.get(month)) {
        entry.text.push_str(&format!("\n  month = {month},"));
    }
    entry.text("volume", reference.volume());
    entry.text("number", reference.issue());
    if let Some(first) = reference.first_page() {
        let last = reference.last_page().filter(|last| *last != first);
        let last = last.map_or(String::new(), |last| format!("--{}", escaped(last)));
        entry.raw("pages", &format!("{}{last}", escaped(first)));
    }
    // Readers take addresses as they are.
    entry.address("doi", reference.doi());
    entry.address("url", reference.address());
    entry.text("language", reference.language());
    entry.text("abstract", reference.r#abstract());
    let keywords: Vec<String> = reference.keywords().map(escaped).collect();
    entry.raw("keywords", &keywords.join(", "));
    out.extend_from_slice(entry.text.as_bytes());
    out.extend_from_slice(b"\n}\n\n");
}

struct Entry {
    text: String,
}

impl Entry {
    /// Adds a member whose value is escaped; nothing for an empty value.
    fn raw(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text.push_str(&format!("\n  {name} = {{{value}}},"));
        }
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        self.raw(name, &value.map(escaped).unwrap_or_default());
    }

    /// Adds an identifier or a web address. Braces and spaces in it are percent-encoded.
    fn address(&mut self, name: &str, value: Option<&str>) {
        let mut encoded = String::new();
        for letter in one_line(value.unwrap_or_default()).chars() {
            match letter {
                '{' | '}' | '\\' | ' ' => encoded.push_str(&format!("%{:02X}", letter as u32)),
                letter => encoded.push(letter),
            }
        }
        self.raw(name, &encoded);
    }
}

/// A name as `von Last, Jr, First`; braces keep the name of an organisation whole.
fn author(name: &Name<'_>) -> String {
    let family = escaped(&name.family());
    match name {
        Name::Whole(_) => format!("{{{family}}}"),
        Name::Person { given, suffix: "", .. } => format!("{family}, {}", escaped(given)),
        Name::Person { given, suffix, .. } => {
            format!("{family}, {}, {}", escaped(suffix), escaped(given))
        }
    }
}

/// A title, with braces around the words whose capitals a style must keep.
fn title_text(title: &str) -> String {
    let title = escaped(title);
    let words = title.split(' ').enumerate().map(|(at, word)| {
        // The first letter of a title stays a capital.
        let letters = word.chars().filter(|letter| letter.is_alphabetic());
        let is_capital = letters.skip(usize::from(at == 0)).any(char::is_uppercase);
        match is_capital && has_balanced_braces(word) {
            true => format!("{{{word}}}"),
            false => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A text in one line, whose signs TeX reads as letters.
fn escaped(text: &str) -> String {
    let text = one_line(text);
    // BibTeX counts escaped braces like others, so that only balanced braces may stand in a value. pandoc and
    // bibtexparser drop the commands that stand for single braces.
    let is_balanced = has_balanced_braces(&text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for letter in text.chars() {
        match letter {
            '{' if !is_balanced => out.push_str("\\textbraceleft{}"),
            '}' if !is_balanced => out.push_str("\\textbraceright{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            // TeX would join these signs to one.
            '-' | '`' | '\'' | ',' if before == letter => {
                out.push_str("{}");
                out.push(letter);
            }
            letter => out.push(letter),
        }
        before = letter;
    }
    out
}

/// Whether each brace of a text has its counterpart.
fn has_balanced_braces(text: &str) -> bool {
    let mut open = 0_usize;
    for letter in text.bytes() {
        match letter {
            b'{' => open += 1,
            b'}' if open == 0 => return false,
            b'}' => open -= 1,
            _ => {}
        }
    }
    open == 0
}
