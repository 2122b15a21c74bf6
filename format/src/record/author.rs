//! The record of an author.

use crate::json::record_reader::RecordReader;
use crate::json::render::{JsonWriter, Render, Shape};
use crate::record::declare::{object, record};
use crate::record::derived;
use crate::record::schema::{Describe, Schema};
use crate::record::shared::*;
use crate::record::stored::{StoredObject, wrapper};
use crate::record::value::*;
use crate::storage::ReadError;

object! {
    /// A person who wrote outputs.
    Author derives derived::of_author {
        /// `HX_A` and a number.
        id: Id<AUTHOR>,
        /// ORCID profile in single records, ORCID iD as URL in lists.
        orcid: Option<AuthorOrcid>,
        /// Display name.
        name: Option<String>,
        /// The longest form of the name.
        full_name: Option<String>,
        /// The parts of the longest form, all null where `name_parts` gives them; null where they are not known.
        @key name_parts: Option<NameParts>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Last known institutions.
        last_known_institutions: Option<Vec<Ref<INSTITUTION>>>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
        /// Affiliation history.
        @single affiliations: Option<Vec<Affiliation>>,
        /// Citation indicators.
        @single summary_stats: Option<SummaryStats>,
        /// Topics of the author's outputs.
        topics: Option<Vec<TopicShare>>,
        /// Counts by year.
        @single counts_by_year: Option<Vec<YearCounts>>,
        /// Other spellings of the name.
        @single display_name_alternatives: Option<Vec<String>>,
        /// Identifiers in other systems.
        @key ids: Option<AuthorIds>,
    }
}

record!(Author by outputs_count);

object! {
    /// Identifiers of an author in other systems.
    AuthorIds {
        /// Number in Scopus.
        scopus: Option<String>,
    }

    /// The parts of a name.
    NameParts {
        /// First name.
        first: Option<String>,
        /// Middle names.
        middle: Option<String>,
        /// Last name.
        last: Option<String>,
        /// Suffix, such as junior.
        suffix: Option<String>,
    }

    /// An institution and the years the author was there.
    Affiliation {
        /// Reference to the institution.
        @flat institution: Ref<INSTITUTION>,
        /// Years of the affiliation.
        years: Option<Vec<i32>>,
    }

    /// ORCID profile of a person.
    OrcidProfile {
        /// Bare ORCID iD.
        id: String,
        /// Name.
        name: Option<String>,
        /// Biography.
        biography: Option<String>,
        /// E-mail addresses.
        emails: Option<Vec<String>>,
        /// Identifiers in other systems.
        external_identifiers as "externalIdentifiers": Option<Vec<ExternalIdentifier>>,
        /// Web sites.
        websites: Option<Vec<Website>>,
        /// Outputs recorded by ORCID.
        outputs_count: Option<u64>,
    }

    /// An identifier in another system.
    ExternalIdentifier {
        /// Identifier.
        id: Option<String>,
        /// Name of the system.
        name: Option<String>,
        /// URL.
        url: Option<String>,
    }

    /// A web site.
    Website {
        /// URL.
        url: Option<String>,
        /// Its name.
        name: Option<String>,
    }
}

/// The first, middle and last name and the suffix of a whole name, of which some may be empty. The last word is the last name.
///
/// ```text
/// María Teresa Gómez Pérez    →  María, Teresa Gómez, Pérez, nothing
/// Plato                       →  Plato, nothing, nothing, nothing
/// ```
pub fn name_parts(name: &str) -> [&str; 4] {
    let name = name.trim();
    let Some((first, rest)) = name.split_once(char::is_whitespace) else {
        return [name, "", "", ""];
    };
    match rest.trim_start().rsplit_once(char::is_whitespace) {
        Some((middle, last)) => [first, middle.trim_end(), last, ""],
        None => [first, "", rest.trim_start(), ""],
    }
}

/// The ORCID of an author: the profile in single records, the iD as a URL in lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuthorOrcid(pub OrcidProfile);

impl Describe for AuthorOrcid {
    fn schema() -> Schema {
        Schema::ByShape {
            single: Box::new(OrcidProfile::schema()),
            list: Box::new(Schema::OrcidUrl),
        }
    }
}

wrapper!(AuthorOrcid(OrcidProfile));

by_shape!(AuthorOrcid, |from, writer| single OrcidProfile::render(from, writer), list {
    let [mut id, ..] = OrcidProfile::locate(from)?;
    writer.orcid_url(id.text()?);
    Ok(())
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_name_are_its_first_and_last_word_and_those_between() {
        for (name, parts) in [
            (
                "Mar\u{ed}a Teresa G\u{f3}mez P\u{e9}rez",
                ["Mar\u{ed}a", "Teresa G\u{f3}mez", "P\u{e9}rez", ""],
            ),
            ("Ada Lovelace", ["Ada", "", "Lovelace", ""]),
            (" Ada   King  Lovelace ", ["Ada", "King", "Lovelace", ""]),
            ("Plato", ["Plato", "", "", ""]),
            ("", ["", "", "", ""]),
        ] {
            assert_eq!(name_parts(name), parts, "{name}");
        }
    }
}
