//! The records of institutions, publishers and funders, and of the list of institution types.

use crate::record::declare::{object, record};
use crate::record::shared::*;
use crate::record::value::*;

object! {
    /// An institution.
    Institution {
        /// `HX_I` and a number.
        id: Id<INSTITUTION>,
        /// ROR as URL.
        ror: Option<String>,
        /// Display name.
        name: Option<String>,
        /// Country.
        country: Option<Country>,
        /// government, education, facility, company, healthcare or another type.
        kind as "type": Option<Code<{ Table::InstitutionType as u8 }>>,
        /// Home page.
        homepage_url: Option<String>,
        /// Picture.
        image_url: Option<String>,
        /// Small picture.
        image_thumbnail_url: Option<String>,
        /// Acronyms.
        display_name_acronyms: Option<Vec<String>>,
        /// Other names.
        display_name_alternatives: Option<Vec<String>>,
        /// Whether the institution is a system of systems, such as all universities of a state.
        @key is_super_system: Option<bool>,
        /// Numbers of the concepts of the record's outputs.
        @key concepts: Option<Vec<u64>>,
        /// The institution and all its ancestors.
        @key lineage: Option<Vec<Ref<INSTITUTION>>>,
        /// Repositories run by the institution.
        @single repositories: Option<Vec<Ref<SOURCE>>>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Citation indicators.
        summary_stats: Option<SummaryStats>,
        /// Parents, children and relatives.
        @single associated_institutions: Option<Vec<AssociatedInstitution>>,
        /// Counts by year.
        counts_by_year: Option<Vec<YearCounts>>,
        /// Other roles of the same organisation.
        @single roles: Option<Vec<Role>>,
        /// Location.
        geo: Option<Geo>,
        /// Names in other languages.
        @single international: Option<Json>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
        /// Identifiers in other systems.
        @single ids: InstitutionIds,
        /// Topics of the record's outputs.
        topics: Option<Vec<TopicShare>>,
    }
}

record!(Institution by outputs_count);

object! {
    /// A related institution.
    AssociatedInstitution {
        /// Reference to the institution.
        @flat institution: Ref<INSTITUTION>,
        /// parent, child, related or another relationship.
        relationship: Option<Code<{ Table::Relationship as u8 }>>,
    }

    /// Location of an institution.
    Geo {
        /// City.
        city: Option<String>,
        /// GeoNames number of the city.
        geonames_city_id: Option<String>,
        /// Region.
        region: Option<String>,
        /// Country code.
        country_code: Option<Code<{ Table::Country as u8 }>>,
        /// Country.
        country: Option<String>,
        /// Degrees north.
        latitude: Option<f64>,
        /// Degrees east.
        longitude: Option<f64>,
    }

    /// Identifiers of an institution in other systems.
    InstitutionIds {
        /// GRID.
        grid: Option<String>,
        /// Wikipedia.
        wikipedia: Option<String>,
        /// Wikidata.
        @key wikidata: Option<String>,
        /// Microsoft Academic Graph.
        @key mag: Option<String>,
        /// OpenAlex URL.
        openalex: Option<String>,
    }

    /// A publisher.
    Publisher {
        /// `HX_P` and a number.
        id: Id<PUBLISHER>,
        /// Display name.
        name: Option<String>,
        /// Other titles.
        alternate_titles: Option<Vec<String>>,
        /// Level in the hierarchy, 0 at the top.
        hierarchy_level: Option<i64>,
        /// Parent publisher.
        parent_publisher: Option<Ref<PUBLISHER>>,
        /// The publisher and all its ancestors.
        lineage: Option<Vec<Ref<PUBLISHER>>>,
        /// Countries.
        countries: Option<Vec<Country>>,
        /// Home page.
        homepage_url: Option<String>,
        /// Picture.
        image_url: Option<String>,
        /// Small picture.
        image_thumbnail_url: Option<String>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Citation indicators.
        summary_stats: Option<SummaryStats>,
        /// Identifiers in other systems.
        @single ids: PublisherIds,
        /// Counts by year.
        counts_by_year: Option<Vec<YearCounts>>,
        /// Other roles of the same organisation.
        @single roles: Option<Vec<Role>>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Publisher by outputs_count);

object! {
    /// Identifiers of a publisher in other systems.
    PublisherIds {
        /// OpenAlex URL.
        openalex: Option<String>,
        /// ROR as URL.
        ror: Option<String>,
        /// Wikidata.
        wikidata: Option<String>,
    }

    /// A funder.
    Funder {
        /// `HX_F` and a number.
        id: Id<FUNDER>,
        /// Display name.
        name: Option<String>,
        /// Other titles.
        alternate_titles: Option<Vec<String>>,
        /// Country.
        country: Option<Country>,
        /// Description.
        description: Option<String>,
        /// Home page.
        homepage_url: Option<String>,
        /// Picture.
        image_url: Option<String>,
        /// Small picture.
        image_thumbnail_url: Option<String>,
        /// Number of grants.
        grants_count: Option<u64>,
        /// Number of awards.
        awards_count: Option<u64>,
        /// Indexed outputs.
        outputs_count: Option<u64>,
        /// Citations received.
        cited_by_count: Option<u64>,
        /// Citation indicators.
        summary_stats: Option<SummaryStats>,
        /// Other roles of the same organisation.
        @single roles: Option<Vec<Role>>,
        /// Identifiers in other systems.
        @single ids: FunderIds,
        /// Counts by year.
        counts_by_year: Option<Vec<YearCounts>>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Funder by outputs_count);

object! {
    /// Identifiers of a funder in other systems.
    FunderIds {
        /// DOI as URL.
        doi: Option<String>,
        /// ROR as URL.
        ror: Option<String>,
        /// OpenAlex URL.
        openalex: Option<String>,
        /// Crossref.
        crossref: Option<String>,
        /// Wikidata.
        @key wikidata: Option<String>,
    }

    /// A type of institution.
    InstitutionType {
        /// Number.
        id: Id<INSTITUTION_TYPE>,
        /// Short code.
        code: Option<Code<{ Table::InstitutionType as u8 }>>,
        /// Its name.
        name: Option<String>,
        /// Description of the type.
        description: Option<String>,
        /// Outputs of the institutions of this type.
        outputs_count: Option<u64>,
        /// Citations of the institutions of this type.
        cited_by_count: Option<u64>,
        /// When the record was made.
        created_date: Option<UtcTimestamp>,
        /// When the record changed.
        updated_date: Option<UtcTimestamp>,
    }
}

record!(InstitutionType by id);
