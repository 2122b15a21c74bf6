//! Human names of members, keys and entities.
//!
//! A name is spelled out word by word: `open_access.oa_status` is "Open access: OA status". The table has
//! the words and names for which that would not be what people say.

use pinakes_format::entity::Facts;

/// Names that are not spelled out word by word.
const NAMES: [(&str, &str); 42] = [
    ("2yr_mean_citedness", "Mean citations in two years"),
    ("affiliations.id", "Institution, past or present"),
    ("apc_usd_by_year", "APC in USD by year"),
    ("authors.affiliations.id", "Institution"),
    ("authors.countries.code", "Country of an author"),
    ("authors.id", "Author"),
    ("countries.code", "Country"),
    ("country.code", "Country"),
    ("funders.id", "Funder"),
    ("is_core", "Core source of CWTS"),
    ("is_in_doaj", "In DOAJ"),
    ("is_oa", "Open access"),
    ("keywords.id", "Keyword"),
    ("last_known_institutions.id", "Institution, last known"),
    ("open_access.is_oa", "Open access, of any copy"),
    ("open_access.oa_status", "Open access status"),
    ("primary_topic.domain.id", "Domain"),
    ("primary_topic.field.id", "Field"),
    ("primary_topic.subfield.id", "Subfield"),
    ("primary_venue.source.id", "Journal or source"),
    ("topics.id", "Topic"),
    ("cited_by_count", "Citations"),
    ("cites", "Number of references"),
    ("country_code", "Country code"),
    ("display_name_acronyms", "Acronyms"),
    ("display_name_alternatives", "Other names"),
    ("alternate_titles", "Other titles"),
    ("externalIdentifiers", "Other identifiers"),
    ("fwci", "Field-weighted citation impact"),
    ("h_index", "h-index"),
    ("i10_index", "i10-index"),
    ("ids", "Identifiers"),
    ("international", "Names in other languages"),
    ("is_version_of", "Version of"),
    ("name.search", "Words in the name"),
    ("outputs_count", "Outputs"),
    ("referenced_by", "Referenced by"),
    ("references", "Refers to"),
    ("references.count", "Listed references"),
    ("siblings", "Beside it"),
    ("updated_date", "Updated"),
    ("created_date", "Created"),
];

/// Words that have capital letters, or that a name leaves out.
const WORDS: [(&str, &str); 29] = [
    ("abdc", "ABDC"),
    ("apc", "APC"),
    ("doaj", "DOAJ"),
    ("doi", "DOI"),
    ("eissn", "eISSN"),
    ("geonames", "GeoNames"),
    ("grid", "GRID"),
    ("has", "has"),
    ("id", "ID"),
    ("isni", "ISNI"),
    ("issn", "ISSN"),
    ("l", "L"),
    ("mag", "MAG"),
    ("oa", "OA"),
    ("ojs", "OJS"),
    ("openalex", "OpenAlex"),
    ("orcid", "ORCID"),
    ("org", "organisation"),
    ("pdf", "PDF"),
    ("pmid", "PMID"),
    ("pmcid", "PMCID"),
    ("ror", "ROR"),
    ("scielo", "SciELO"),
    ("sjr", "SJR"),
    ("snip", "SNIP"),
    ("url", "URL"),
    ("usd", "USD"),
    ("wikidata", "Wikidata"),
    ("xpac", "XPAC"),
];

/// The human name of a member, or of a key by its dotted path.
pub fn label(name: &str) -> String {
    if let Some((_, label)) = NAMES.iter().find(|(known, _)| *known == name) {
        return (*label).to_owned();
    }
    if let Some(path) = name.strip_suffix(".search") {
        return format!("{}: words", label(path));
    }
    // The identifier of a referenced record stands for the record, and a code for its meaning.
    let path = name.strip_suffix(".id").or_else(|| name.strip_suffix(".code")).unwrap_or(name);
    let parts: Vec<String> = path.split('.').map(spell_out).collect();
    capitalize(&parts.join(": "))
}

/// The human name of an entity's records.
pub fn plural(facts: &Facts) -> String {
    capitalize(&facts.plural.replace('-', " "))
}

/// A name between dots, word by word.
fn spell_out(name: &str) -> String {
    if let Some((_, label)) = NAMES.iter().find(|(known, _)| *known == name) {
        return lower_first(label);
    }
    let word = |word: &str| {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map_or_else(|| word.to_owned(), |(_, said)| (*said).to_owned())
    };
    name.split('_').map(word).collect::<Vec<String>>().join(" ")
}

fn capitalize(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        // Words such as eISSN and h-index keep their first letter.
        Some(first) if !text[first.len_utf8()..].starts_with(['-', 'I']) => {
            first.to_uppercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let has_capitals = text.chars().skip(1).take(1).any(char::is_uppercase);
    match characters.next() {
        Some(first) if !has_capitals => first.to_lowercase().chain(characters).collect(),
        _ => text.to_owned(),
    }
}

/// A whole number with spaces between thousands, which people of all languages read alike.
pub fn thousands(number: impl Into<i128>) -> String {
    let number = number.into();
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "−" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            // A narrow space that no line breaks at.
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use pinakes_format::entity::CATALOG;
    use pinakes_format::schema::keys::keys_of;

    use super::*;

    #[test]
    fn a_key_is_spelled_out_as_people_say_it() {
        for (name, expected) in [
            ("open_access.oa_status", "Open access status"),
            ("authors.affiliations.name", "Authors: affiliations: name"),
            ("primary_venue.source.type", "Primary venue: source: type"),
            ("repositories.id", "Repositories"),
            ("summary_stats.h_index", "Summary stats: h-index"),
            ("apc_paid.value_usd", "APC paid: value USD"),
            ("ids.pmid", "Identifiers: PMID"),
            ("ids.mag", "Identifiers: MAG"),
            ("cited_by_count", "Citations"),
            ("issn_l", "ISSN L"),
            ("eissn", "eISSN"),
            ("id", "ID"),
            ("type", "Type"),
        ] {
            assert_eq!(label(name), expected, "{name}");
        }
    }

    #[test]
    fn no_key_of_an_entity_keeps_an_underscore_or_shares_its_name() {
        for facts in &CATALOG {
            let keys = &keys_of(facts.entity).keys;
            let mut labels: Vec<String> = keys.iter().map(|key| label(key.name)).collect();
            assert!(labels.iter().all(|label| !label.contains(['_', '.'])), "{labels:?}");
            labels.sort_unstable();
            let count = labels.len();
            labels.dedup();
            assert_eq!(labels.len(), count, "{}", facts.plural);
        }
    }

    #[test]
    fn thousands_are_apart() {
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1\u{202f}000")] {
            assert_eq!(thousands(number), expected);
        }
        assert_eq!(thousands(-12_345_678), "−12\u{202f}345\u{202f}678");
    }
}
