//! The record of an author.

use crate::json::record_reader::RecordReader;
use crate::json::render::{JsonWriter, Render, Shape};
use crate::record::declare::{object, record};
use crate::record::schema::{Describe, Schema};
use crate::record::shared::*;
use crate::record::stored::{StoredObject, wrapper};
use crate::record::value::*;
use crate::storage::ReadError;

object! {
    /// A person who wrote outputs.
    Author {
        /// `HX_A` and a number.
        id: Id<AUTHOR>,
        /// ORCID profile in single records, ORCID iD as URL in lists.
        orcid: Option<AuthorOrcid>,
        /// Display name.
        name: Option<String>,
        /// The longest form of the name.
        full_name: Option<String>,
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
