//! The output (work) record.

use crate::record::declare::{object, record};
use crate::record::shared::*;
use crate::record::source::{SourceKind, VenueMetrics};
use crate::record::value::*;

object! {
    /// A scholarly work.
    Output {
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
        /// Identifiers elsewhere.
        @single ids: OutputIds,
        /// Language.
        language: Option<Named<{ Table::Language as u8 }>>,
        /// Where the work appeared first.
        primary_venue: Option<PrimaryVenue>,
        /// Where else it can be found.
        @single additional_venues: Option<Vec<Venue>>,
        /// Number of locations.
        venues_count: Option<u64>,
        /// For example article, preprint.
        kind as "type": Option<Code<{ Table::OutputType as u8 }>>,
        /// Index providers.
        indexed_in: Option<Vec<Code<{ Table::Index as u8 }>>>,
        /// Open-access status.
        open_access: Option<OpenAccess>,
        /// Authors in their order.
        authors: Option<Vec<Authorship>>,
        /// Field-weighted citation impact.
        fwci: Option<f64>,
        /// Whether a full text is known.
        has_fulltext: Option<bool>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// References cited by the work.
        cites: Option<u64>,
        /// Percentile among works of the same age and subfield.
        citation_normalized_percentile: Option<NormalizedPercentile>,
        /// Percentile range among works of the same year.
        cited_by_percentile_year: Option<PercentileYear>,
        /// Volume, issue and pages.
        biblio: Option<Biblio>,
        /// Whether it was retracted.
        is_retracted: Option<bool>,
        /// Whether it is front matter or the like.
        is_paratext: Option<bool>,
        /// Article processing charge paid.
        apc_paid: Option<ApcPaid>,
        /// Its foremost topic.
        primary_topic: Option<Ref<TOPIC>>,
        /// Its topics.
        topics: Option<Vec<Ref<TOPIC>>>,
        /// United Nations goals it serves.
        sustainable_development_goals: Option<Vec<Goal>>,
        /// Funders and their awards.
        funders: Option<Vec<Funding>>,
        /// Citations by year.
        @single counts_by_year: Option<Vec<YearCitations>>,
        /// Keywords.
        keywords: Option<Vec<String>>,
        /// Abstract.
        @single abstract_text as "abstract": Option<Cold>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Output by cited_by_count);

object! {
    /// Identifiers of an output elsewhere.
    OutputIds {
        /// Microsoft Academic Graph.
        mag: Option<String>,
    }
}

object! {
    /// Where a work appeared first.
    PrimaryVenue {
        /// The location's identifier.
        id: Option<String>,
        /// Whether it can be read there freely.
        is_oa: Option<bool>,
        /// Landing page.
        landing_page_url: Option<String>,
        /// PDF.
        pdf_url: Option<String>,
        /// Licence.
        license: Option<Code<{ Table::License as u8 }>>,
        /// submittedVersion, acceptedVersion or publishedVersion.
        version: Option<Code<{ Table::Version as u8 }>>,
        /// Whether it is the accepted version or a later one.
        is_accepted: Option<bool>,
        /// Whether it is the published version.
        is_published: Option<bool>,
        /// The journal, repository or other source.
        source: Option<PrimaryVenueSource>,
    }
}

object! {
    /// A further place where a work can be found.
    Venue {
        /// The location's identifier.
        id: Option<String>,
        /// Whether it can be read there freely.
        is_oa: Option<bool>,
        /// Landing page.
        landing_page_url: Option<String>,
        /// PDF.
        pdf_url: Option<String>,
        /// Licence.
        license: Option<Code<{ Table::License as u8 }>>,
        /// submittedVersion, acceptedVersion or publishedVersion.
        version: Option<Code<{ Table::Version as u8 }>>,
        /// Whether it is the accepted version or a later one.
        is_accepted: Option<bool>,
        /// Whether it is the published version.
        is_published: Option<bool>,
        /// The journal, repository or other source.
        source: Option<VenueSource>,
    }
}

object! {
    /// The source of a primary venue.
    PrimaryVenueSource {
        /// The source.
        @flat source: Ref<SOURCE>,
        /// journal, repository and so on.
        kind as "type": SourceKind,
        /// A cut of the source's metrics.
        @single metrics: VenueMetrics,
    }
}

object! {
    /// The source of a venue.
    VenueSource {
        /// The source.
        @flat source: Ref<SOURCE>,
        /// journal, repository and so on.
        kind as "type": SourceKind,
    }
}

object! {
    /// Open-access status.
    OpenAccess {
        /// Whether a free copy is known.
        is_oa: Option<bool>,
        /// diamond, gold, green, hybrid, bronze or closed.
        oa_status: Option<Code<{ Table::OaStatus as u8 }>>,
        /// The free copy.
        oa_url: Option<String>,
    }
}

object! {
    /// One author of a work.
    Authorship {
        /// first, middle or last.
        author_position: Option<Code<{ Table::AuthorPosition as u8 }>>,
        /// The author.
        @flat author: Ref<AUTHOR>,
        /// ORCID iD as URL.
        orcid: Option<Orcid>,
        /// Institutions named in the work.
        affiliations: Option<Vec<Ref<INSTITUTION>>>,
        /// Countries of those.
        countries: Option<Vec<Country>>,
        /// Whether to write to this author.
        is_corresponding: Option<bool>,
        /// Affiliations as printed.
        @single raw_affiliation_strings: Option<Vec<Cold>>,
    }
}

object! {
    /// Percentile among works of the same age and subfield.
    NormalizedPercentile {
        /// 0 to 1.
        value: Option<f64>,
        /// Among the top 1 %.
        is_in_top_1_percent: Option<bool>,
        /// Among the top 10 %.
        is_in_top_10_percent: Option<bool>,
    }
}

object! {
    /// Percentile range among works of the same year.
    PercentileYear {
        /// Lower end.
        min: Option<i64>,
        /// Upper end.
        max: Option<i64>,
    }
}

object! {
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
}

object! {
    /// An article processing charge.
    ApcPaid {
        /// The amount.
        value: Option<i64>,
        /// Its currency.
        currency: Option<Currency>,
        /// The amount in US dollars.
        value_usd: Option<i64>,
        /// Who reported it.
        provenance: Option<Code<{ Table::Provenance as u8 }>>,
    }
}

object! {
    /// A United Nations sustainable development goal.
    Goal {
        /// Its number.
        id: Option<i64>,
        /// Its name.
        name: Option<String>,
    }
}

object! {
    /// A funder of a work, with the awards it gave.
    Funding {
        /// The funder.
        @flat funder: Ref<FUNDER>,
        /// Its awards.
        awards: Option<Vec<Award>>,
    }
}

object! {
    /// A grant.
    Award {
        /// `HX_G…`.
        id: Option<String>,
        /// Name.
        name: Option<String>,
        /// The funder's own number.
        funder_award_id: Option<String>,
        /// DOI.
        doi: Option<String>,
    }
}

object! {
    /// Citations of one year.
    YearCitations {
        /// The year.
        year: Option<i32>,
        /// Citations received in it.
        cited_by_count: Option<u64>,
    }
}
