//! The record of an output, a scholarly work.

use crate::record::declare::{object, record};
use crate::record::derived;
use crate::record::shared::*;
use crate::record::source::SourceKind;
use crate::record::value::*;
use crate::record::venue_metrics::VenueMetrics;

object! {
    /// A scholarly work.
    Output derives derived::of_output {
        /// `HX_W` and a number.
        id: Id<OUTPUT>,
        /// DOI as URL.
        doi: Option<String>,
        /// Title.
        title: Option<String>,
        /// Display name.
        name: Option<String>,
        /// Year of publication.
        year: Option<i32>,
        /// Date of publication.
        date: Option<Date>,
        /// Identifiers in other systems.
        @single ids: OutputIds,
        /// Language.
        language: Option<Named<{ Table::Language as u8 }>>,
        /// Venue where the work first appeared.
        primary_venue: Option<PrimaryVenue>,
        /// Other venues that hold the work.
        @single additional_venues: Option<Vec<Venue>>,
        /// The best open-access venue: 0 is the primary venue, n the n-th of the additional venues.
        @key best_oa_venue: Option<u64>,
        /// Number of locations.
        venues_count: Option<u64>,
        /// Type of work, for example article or preprint.
        kind as "type": Option<Code<{ Table::OutputType as u8 }>>,
        /// Type of the work at Crossref.
        @key type_crossref: Option<Code<{ Table::CrossrefType as u8 }>>,
        /// Index providers.
        indexed_in: Option<Vec<Code<{ Table::Index as u8 }>>>,
        /// Open-access status.
        open_access: Option<OpenAccess>,
        /// Authors in their order.
        authors: Option<Vec<Authorship>>,
        /// The ORCID iDs that the work prints; null where there is none.
        @key raw_orcids: Option<Vec<PrintedOrcid>>,
        /// Institutions that assert that the work is theirs; null where there is none.
        @key institution_assertions: Option<Vec<Ref<INSTITUTION>>>,
        /// Field-weighted citation impact.
        fwci: Option<f64>,
        /// Whether a full text is known.
        has_fulltext: Option<bool>,
        /// Origin of the full text: pdf or ngrams.
        @key fulltext_origin: Option<Code<{ Table::FulltextOrigin as u8 }>>,
        /// The files that the producer has of the work.
        @key has_content: Option<Content>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Number of references cited by the work.
        cites: Option<u64>,
        /// Percentile among works of the same age and subfield.
        citation_normalized_percentile: Option<NormalizedPercentile>,
        /// Percentile range among works of the same year.
        cited_by_percentile_year: Option<PercentileYear>,
        /// Volume, issue and pages.
        biblio: Option<Biblio>,
        /// Whether the work was retracted.
        is_retracted: Option<bool>,
        /// Whether the work is paratext, such as front matter.
        is_paratext: Option<bool>,
        /// Whether the work is outside of what the producer shows by default; false where not known.
        @key is_xpac: bool,
        /// Article processing charge paid.
        apc_paid: Option<ApcPaid>,
        /// Article processing charge that the venue asks for.
        @key apc_list: Option<ApcPaid>,
        /// Primary topic.
        primary_topic: Option<Ref<TOPIC>>,
        /// Topics.
        topics: Option<Vec<Ref<TOPIC>>>,
        /// United Nations sustainable development goals of the work.
        sustainable_development_goals: Option<Vec<Goal>>,
        /// Funders and their awards.
        funders: Option<Vec<Funding>>,
        /// Citations by year.
        @single counts_by_year: Option<Vec<YearCitations>>,
        /// Keywords.
        keywords: Option<Vec<String>>,
        /// Ids of the keywords, in their order; null where `keyword_id` gives all of them.
        @key keyword_ids: Option<Vec<String>>,
        /// Number of concepts, which records do not keep.
        @key concepts_count: Option<u64>,
        /// Ids of the data sets of the work, `HX_W` and a number; null where there is none.
        @key datasets: Option<Vec<String>>,
        /// Abstract.
        @single abstract_text as "abstract": Option<LongText>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Output by cited_by_count);

object! {
    /// Identifiers of an output in other systems.
    OutputIds {
        /// Microsoft Academic Graph.
        mag: Option<String>,
        /// Number in PubMed.
        @key pmid: Option<String>,
        /// Number in PubMed Central.
        @key pmcid: Option<String>,
    }

    /// Venue where a work first appeared.
    PrimaryVenue {
        /// The location's identifier.
        id: Option<String>,
        /// Whether the work is open access at this venue.
        is_oa: Option<bool>,
        /// Landing page.
        landing_page_url: Option<String>,
        /// PDF.
        pdf_url: Option<String>,
        /// Licence.
        license: Option<Code<{ Table::License as u8 }>>,
        /// submittedVersion, acceptedVersion or publishedVersion.
        version: Option<Code<{ Table::Version as u8 }>>,
        /// Whether this is the accepted version or a later one.
        is_accepted: Option<bool>,
        /// Whether this is the published version.
        is_published: Option<bool>,
        /// The journal, repository or other source.
        source: Option<PrimaryVenueSource>,
        /// The name of the source as the location prints it; null where the source has a name.
        @key raw_source_name: Option<String>,
        /// The type of the work as the location prints it.
        @key raw_type: Option<Code<{ Table::RawType as u8 }>>,
    }

    /// Another venue that holds a work.
    Venue {
        /// The location's identifier.
        id: Option<String>,
        /// Whether the work is open access at this venue.
        is_oa: Option<bool>,
        /// Landing page.
        landing_page_url: Option<String>,
        /// PDF.
        pdf_url: Option<String>,
        /// Licence.
        license: Option<Code<{ Table::License as u8 }>>,
        /// submittedVersion, acceptedVersion or publishedVersion.
        version: Option<Code<{ Table::Version as u8 }>>,
        /// Whether this is the accepted version or a later one.
        is_accepted: Option<bool>,
        /// Whether this is the published version.
        is_published: Option<bool>,
        /// The journal, repository or other source.
        source: Option<VenueSource>,
        /// The type of the work as the location prints it.
        @key raw_type: Option<Code<{ Table::RawType as u8 }>>,
    }

    /// The source of a primary venue.
    PrimaryVenueSource {
        /// Reference to the source.
        @flat source: Ref<SOURCE>,
        /// journal, repository or another type.
        kind as "type": SourceKind,
        /// Selected metrics of the source.
        @single metrics: VenueMetrics,
    }

    /// The source of a venue.
    VenueSource {
        /// Reference to the source.
        @flat source: Ref<SOURCE>,
        /// journal, repository or another type.
        kind as "type": SourceKind,
    }

    /// The files that the producer has of a work.
    Content {
        /// Whether there is a PDF.
        pdf: Option<bool>,
        /// Whether there is a text that Grobid made.
        grobid_xml: Option<bool>,
    }

    /// An ORCID iD that a work prints.
    PrintedOrcid {
        /// The number of the author in the list of authors, from 0 on.
        author: u64,
        /// The iD; null where it is that of the author.
        orcid: Option<Orcid>,
    }

    /// Open-access status.
    OpenAccess {
        /// Whether a free copy is known.
        is_oa: Option<bool>,
        /// diamond, gold, green, hybrid, bronze or closed.
        oa_status: Option<Code<{ Table::OaStatus as u8 }>>,
        /// URL of a free copy.
        oa_url: Option<String>,
    }

    /// One author of a work.
    Authorship {
        /// first, middle or last.
        author_position: Option<Code<{ Table::AuthorPosition as u8 }>>,
        /// Reference to the author.
        @flat author: Ref<AUTHOR>,
        /// Name as printed.
        @key raw_author_name: Option<PrintedName<AUTHOR>>,
        /// ORCID iD as URL.
        orcid: Option<Orcid>,
        /// Institutions named in the work.
        affiliations: Option<Vec<Ref<INSTITUTION>>>,
        /// Countries of the affiliations.
        countries: Option<Vec<Country>>,
        /// Whether this is a corresponding author.
        is_corresponding: Option<bool>,
        /// Affiliations as printed.
        @single raw_affiliation_strings: Option<Vec<LongText>>,
    }

    /// Percentile among works of the same age and subfield.
    NormalizedPercentile {
        /// Percentile from 0 to 1.
        value: Option<f64>,
        /// Among the top 1 %.
        is_in_top_1_percent: Option<bool>,
        /// Among the top 10 %.
        is_in_top_10_percent: Option<bool>,
    }

    /// Percentile range among works of the same year.
    PercentileYear {
        /// Lower end.
        min: Option<i64>,
        /// Upper end.
        max: Option<i64>,
    }

    /// Volume, issue and pages.
    Biblio {
        /// Volume.
        volume: Option<String>,
        /// Issue.
        issue: Option<String>,
        /// First page.
        first_page: Option<String>,
        /// Last page.
        last_page: Option<String>,
    }

    /// An article processing charge.
    ApcPaid {
        /// Amount.
        value: Option<i64>,
        /// Currency.
        currency: Option<Currency>,
        /// The amount in US dollars.
        value_usd: Option<i64>,
        /// Origin of the amount.
        provenance: Option<Code<{ Table::Provenance as u8 }>>,
    }

    /// A United Nations sustainable development goal.
    Goal {
        /// Number.
        id: Option<i64>,
        /// Its name.
        name: Option<String>,
        /// How well the work fits the goal, from 0 to 1.
        @key score: Option<f64>,
    }

    /// A funder of a work, with the awards it gave.
    Funding {
        /// Reference to the funder.
        @flat funder: Ref<FUNDER>,
        /// Awards to the work.
        awards: Option<Vec<OutputAward>>,
    }

    /// An award, as an output names it.
    OutputAward {
        /// `HX_G…`.
        id: Option<String>,
        /// Name.
        name: Option<String>,
        /// The funder's own number.
        funder_award_id: Option<String>,
        /// DOI.
        doi: Option<String>,
    }

    /// Citations of one year.
    YearCitations {
        /// Year.
        year: Option<i32>,
        /// Citations received in that year.
        cited_by_count: Option<u64>,
    }
}

/// The id of a keyword at OpenAlex, after `https://openalex.org/keywords/`, as its name gives it.
///
/// The id is the name in lower case, with hyphens for white space, without a trailing parenthesis, commas and
/// angle brackets. The rule gives 1,678 of the 1,682 ids of keywords in 929 real outputs.
pub fn keyword_id(name: &str) -> String {
    let mut lower = name.to_lowercase();
    if lower.ends_with(')')
        && let Some(parenthesis) = lower.rfind(" (")
    {
        lower.truncate(parenthesis);
    }
    lower.retain(|character| !matches!(character, ',' | '<' | '>'));
    lower.split_whitespace().collect::<Vec<_>>().join("-")
}

/// Whether `id` is the [`keyword_id`] of `name`. Letters with single spaces between them, which most names are, take
/// no memory.
pub fn is_keyword_id(id: &str, name: &str) -> bool {
    let is_letters = name.len() == id.len()
        && name.bytes().zip(id.bytes()).all(|(of_name, of_id)| match of_name {
            b' ' => of_id == b'-',
            letter => letter.is_ascii_alphabetic() && of_id == letter.to_ascii_lowercase(),
        });
    let has_single_spaces = || name.trim_ascii().len() == name.len() && !name.contains("  ");
    (is_letters && has_single_spaces()) || keyword_id(name) == id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_keyword_follows_from_its_name() {
        for (name, id) in [
            ("Machine learning", "machine-learning"),
            ("Scheme (mathematics)", "scheme"),
            ("Land use, land-use change and forestry", "land-use-land-use-change-and-forestry"),
            ("Fish <Actinopterygii>", "fish-actinopterygii"),
            ("Human\u{2013}computer interaction", "human\u{2013}computer-interaction"),
            ("Artemether/lumefantrine", "artemether/lumefantrine"),
            ("Travelers' Diarrhea", "travelers'-diarrhea"),
            ("Mega-", "mega-"),
            ("Evaluaci\u{f3}n del Aprendizaje", "evaluaci\u{f3}n-del-aprendizaje"),
            ("(sic)", "(sic)"),
        ] {
            assert_eq!(keyword_id(name), id);
            assert!(is_keyword_id(id, name) && !is_keyword_id(&format!("{id}s"), name));
        }
        for (name, other) in [("a  b", "a--b"), (" a", "-a"), ("a ", "a-"), ("A b", "A-b")] {
            assert!(!is_keyword_id(other, name), "{name}");
        }
    }
}
