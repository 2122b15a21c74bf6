//! Recognizes the syntax of other databases in a search, and says how it is written here.

use crate::schema::Field;

/// How proximity is written here.
const NEAR: &str = "`\"a b\"~5` finds words at most five positions apart";

/// Says how to write what a search has of the syntax of other databases; `None` if it has none.
///
/// ```text
/// TITLE-ABS-KEY(depression)     Scopus
/// depression ADJ3 exercise      Ovid; NEAR/5 of Web of Science, W/3 of Scopus
/// depression[tiab]              PubMed
/// depression.ti,ab.             Ovid; depression:ti,ab of Cochrane and Embase
/// TS=(depression)               Web of Science
/// ```
pub fn search_hint(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(found) = rest.split_whitespace().next() {
        let end = found.as_ptr() as usize - rest.as_ptr() as usize + found.len();
        let word = found.trim_matches(['(', ')', ',', ';']);
        if is_proximity(word) {
            return Some(format!("`{word}` is read as a word: {NEAR}"));
        }
        if let Some((seen, here)) = field_of(found) {
            return Some(format!("`{seen}` is read as words: write {here}"));
        }
        rest = &rest[end..];
    }
    None
}

/// Whether a word is an operator of proximity: `NEAR/5`, `ADJ3`, `W/3`, `PRE/2`, `NEAR`.
fn is_proximity(word: &str) -> bool {
    let is_number = |text: &str| text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered =
        ["NEAR/", "NEXT/", "PRE/", "W/", "N/"].iter().find_map(|name| word.strip_prefix(name));
    let adjacent = ["ADJ", "NEAR"].iter().find_map(|name| word.strip_prefix(name));
    numbered.is_some_and(|number| !number.is_empty() && is_number(number))
        || adjacent.is_some_and(is_number)
}

/// How fields are written here: in the title, in the abstract, in both, by author, in all fields.
const FIELDS: [(&str, &[&str]); 5] = [
    ("`title:…` before a word or a group", &["ti", "title", "ttl"]),
    ("`abstract:…` before a word or a group", &["ab", "abs", "abstract"]),
    (
        "`title:… OR abstract:…`, or the filter `title_and_abstract.search`",
        &["tiab", "tw", "ti,ab", "title-abs", "title-abs-key", "ts", "ti,ab,kw", "tw,kw", "topic"],
    ),
    ("`author:…` before a name", &["au", "auth", "author", "1au"]),
    ("`subject:…` before a word or a group", &["mesh", "mh", "majr", "kw", "key", "de", "exp"]),
];

/// The field that a text between spaces names in the syntax of another database, as it is seen, and how it is written here.
fn field_of(text: &str) -> Option<(&str, &'static str)> {
    let here = |name: &str| {
        let name = name.to_ascii_lowercase();
        let known = FIELDS.iter().find(|(_, names)| names.contains(&name.as_str()));
        known.map(|(here, _)| *here)
    };
    let capitals = |name: &str| {
        name.bytes().any(|byte| byte.is_ascii_uppercase())
            && !name.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    let start = text.trim_start_matches('(');
    // Scopus: TITLE-ABS-KEY(…). Web of Science: TS=(…).
    for sign in ['(', '='] {
        if let Some((name, _)) = start.split_once(sign)
            && capitals(name)
            && let Some(here) = here(name)
        {
            return Some((&start[..=name.len()], here));
        }
    }
    // PubMed: …[tiab], …[Title/Abstract].
    if let Some((from, rest)) = text.find('[').map(|from| (from, &text[from + 1..]))
        && let Some((name, _)) = rest.split_once(']')
        && let Some(here) =
            here(if name.eq_ignore_ascii_case("title/abstract") { "tiab" } else { name })
    {
        return Some((&text[from..from + name.len() + 2], here));
    }
    // Ovid: ….ti,ab. Cochrane and Embase: …:ti,ab
    let end = text.trim_end_matches(')');
    if let Some(ovid) = end.strip_suffix('.')
        && let Some((_, name)) = ovid.rsplit_once('.')
        && let Some(here) = here(name)
    {
        return Some((&end[ovid.len() - name.len() - 1..], here));
    }
    let (text, name) = end.rsplit_once(':')?;
    let is_own = Field::ALL.into_iter().filter_map(Field::name).any(|own| text.ends_with(own));
    let here = here(name).filter(|_| !is_own && name.len() <= "ti,ab,kw".len())?;
    Some((&end[end.len() - name.len() - 1..], here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_of_other_databases_is_named_with_what_to_write() {
        let check = |text: &str, seen: &str, here: &str| {
            let hint = search_hint(text).unwrap_or_default();
            assert!(
                hint.starts_with(&format!("`{seen}` ")) && hint.contains(here),
                "{text}: {hint}"
            );
        };
        check("TITLE-ABS-KEY(depression)", "TITLE-ABS-KEY(", "title_and_abstract.search");
        check("(TITLE(depression) AND x)", "TITLE(", "title:");
        check("depression ADJ3 exercise", "ADJ3", "~5");
        check("exercise NEAR/5 depression", "NEAR/5", "~5");
        check("(exercise W/3 depression)", "W/3", "~5");
        check("depression[tiab]", "[tiab]", "title_and_abstract.search");
        check("\"major depression\"[Title/Abstract]", "[Title/Abstract]", "abstract");
        check("depression.ti,ab.", ".ti,ab.", "title_and_abstract.search");
        check("(depression or anxiety).ti.", ".ti.", "title:");
        check("depression:ti,ab", ":ti,ab", "title_and_abstract.search");
        check("TS=(depression AND exercise)", "TS=", "title_and_abstract.search");
        check("smith[au]", "[au]", "author:");
    }

    #[test]
    fn texts_and_searches_of_this_syntax_have_no_hint() {
        for text in [
            "deep learning",
            "title:graphene AND \"a b\"~5",
            "Near-field optics: an abstract",
            "Proc. Natl. Acad. Sci. U.S.A.",
            "adjustment of near/far vision",
            "P(x) = ab",
            "[2+2] cycloaddition",
            "What is depression? A title: abstract",
            "",
        ] {
            assert_eq!(search_hint(text), None, "{text}");
        }
    }
}
