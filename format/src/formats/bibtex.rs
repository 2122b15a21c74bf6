//! Entries of BibTeX, for bibtex and biber. Texts are UTF-8; signs of TeX are escaped, and braces keep capitals.

use crate::formats::names::{Name, one_line};
use crate::formats::reference::Reference;
use crate::formats::rich::{Rich, Style, has_balanced_braces};

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
        entry.raw("title", &title_text(&title));
    }
    entry.text(container, reference.container().as_deref());
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
    entry.text("abstract", reference.r#abstract().as_deref());
    let keywords: Vec<String> = reference.keywords().map(escaped).collect();
    entry.raw("keywords", &keywords.join(", "));
    if reference.is_retracted {
        entry.raw("note", "Retracted");
    }
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

/// A title, with braces around the words whose letters a style must keep: capitals, and what follows a colon, since some
/// readers begin a sentence there.
fn title_text(title: &Rich) -> String {
    let texts = title.0.iter().filter(|(style, _)| *style != Style::Formula);
    let is_balanced =
        has_balanced_braces(&texts.map(|(_, text)| text.as_str()).collect::<String>());
    let mut out = String::new();
    let mut is_in_emphasis = false;
    let mut is_after_colon = false;
    for (at, word) in words(title).iter().enumerate() {
        let letters: String = word.iter().map(|(_, text)| *text).collect();
        // The first letter of a title stays a capital.
        let mut alphabetic = letters.chars().filter(|letter| letter.is_alphabetic());
        let has_capital = alphabetic.clone().skip(usize::from(at == 0)).any(char::is_uppercase);
        let begins_small = alphabetic.next().is_some_and(char::is_lowercase);
        let is_kept = has_capital || (is_after_colon && begins_small);
        is_after_colon = letters.ends_with([':', '?', '!']);
        // Emphasis goes on over the words that have it.
        let is_emphasized = word.iter().all(|(style, _)| *style == Style::Italic);
        if is_in_emphasis && !is_emphasized {
            out.push('}');
        }
        if at > 0 {
            out.push(' ');
        }
        if is_emphasized && !is_in_emphasis {
            out.push_str("\\emph{");
        }
        is_in_emphasis = is_emphasized;
        let word: String = word
            .iter()
            .map(|(style, text)| tex(*style, text, is_emphasized, is_balanced))
            .collect();
        match is_kept && has_balanced_braces(&word) {
            true => out.push_str(&format!("{{{word}}}")),
            false => out.push_str(&word),
        }
    }
    if is_in_emphasis {
        out.push('}');
    }
    out
}

/// The words of a title, each in parts of one style. A formula is no more than a part of a word.
fn words(title: &Rich) -> Vec<Vec<(Style, &str)>> {
    let mut words: Vec<Vec<(Style, &str)>> = Vec::new();
    let mut is_begun = false;
    for (style, text) in &title.0 {
        let parts: Vec<&str> = match style {
            Style::Formula => vec![text],
            _ => text.split(' ').collect(),
        };
        for (at, part) in parts.into_iter().enumerate() {
            is_begun &= at == 0;
            if part.is_empty() {
                continue;
            }
            if !is_begun {
                words.push(Vec::new());
                is_begun = true;
            }
            if let Some(word) = words.last_mut() {
                word.push((*style, part));
            }
        }
        is_begun &= *style == Style::Formula || !text.ends_with(' ');
    }
    words
}

/// A part of a word as TeX sets it.
fn tex(style: Style, text: &str, is_in_emphasis: bool, is_balanced: bool) -> String {
    let escaped = || escaped_within(text, is_balanced);
    let is_simple = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte));
    let script = |sign: char, command: &str| match (is_simple, text.len()) {
        (true, 1) => format!("${sign}{text}$"),
        (true, _) => format!("${sign}{{{text}}}$"),
        (false, _) => format!("\\{command}{{{}}}", escaped()),
    };
    match style {
        Style::Plain => escaped(),
        Style::Italic if is_in_emphasis => escaped(),
        Style::Italic => format!("\\emph{{{}}}", escaped()),
        Style::Sub => script('_', "textsubscript"),
        Style::Super => script('^', "textsuperscript"),
        Style::Formula => text.to_owned(),
    }
}

/// A text in one line, whose signs TeX reads as letters.
fn escaped(text: &str) -> String {
    let text = one_line(text);
    escaped_within(&text, has_balanced_braces(&text))
}

/// A text or a part of one whose braces are balanced, or are not, as a whole.
fn escaped_within(text: &str, is_balanced: bool) -> String {
    // BibTeX counts escaped braces like others, so that only balanced braces may stand in a value. pandoc and
    // bibtexparser drop the commands that stand for single braces.
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
