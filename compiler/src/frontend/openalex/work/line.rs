//! The members that are read from a line of works.

use pinakes_format::entity::Entity;

use crate::frontend::openalex::shared::{RawConcept, RawReference};
use crate::read::id_list::MaybeIds;
use crate::read::inverted_index::Abstract;
use crate::read::{MaybeBool, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, members};

const OUTPUT: u8 = Entity::Output as u8;

members! {
    pub(crate) struct RawWork<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) doi: MaybeText<'a>,
        pub(super) title: MaybeText<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) publication_year: MaybeNumber,
        pub(super) publication_date: MaybeText<'a>,
        pub(super) ids: MaybeObject<Ids<'a>>,
        pub(super) language: MaybeText<'a>,
        pub(super) primary_location: MaybeObject<RawLocation<'a>>,
        pub(super) host_venue: MaybeObject<RawHostVenue<'a>>,
        pub(super) alternate_host_venues: MaybeList<MaybeObject<RawHostVenue<'a>>>,
        pub(super) locations: MaybeList<MaybeObject<RawLocation<'a>>>,
        pub(super) locations_count: MaybeNumber,
        pub(super) best_oa_location: MaybeObject<RawLocation<'a>>,
        pub(super) kind as "type": MaybeText<'a>,
        pub(super) type_crossref: MaybeText<'a>,
        pub(super) indexed_in: MaybeList<MaybeText<'a>>,
        pub(super) open_access: MaybeObject<RawOpenAccess<'a>>,
        pub(super) authorships: MaybeList<MaybeObject<RawAuthorship<'a>>>,
        pub(super) institution_assertions: MaybeList<MaybeObject<RawReference<'a>>>,
        pub(super) fwci: MaybeNumber,
        pub(super) has_fulltext: MaybeBool,
        pub(super) fulltext_origin: MaybeText<'a>,
        pub(super) has_content: MaybeObject<RawContent>,
        pub(super) cited_by_count: MaybeNumber,
        pub(super) referenced_works_count: MaybeNumber,
        pub(super) referenced_works: MaybeIds<OUTPUT>,
        pub(super) citation_normalized_percentile: MaybeObject<RawNormalizedPercentile>,
        pub(super) cited_by_percentile_year: MaybeObject<RawPercentileYear>,
        pub(super) biblio: MaybeObject<RawBiblio<'a>>,
        pub(super) is_retracted: MaybeBool,
        pub(super) is_paratext: MaybeBool,
        pub(super) is_xpac: MaybeBool,
        pub(super) apc_paid: MaybeObject<RawApc<'a>>,
        pub(super) apc_list: MaybeObject<RawApc<'a>>,
        pub(super) primary_topic: MaybeObject<RawTopic<'a>>,
        pub(super) topics: MaybeList<MaybeObject<RawTopic<'a>>>,
        pub(super) sustainable_development_goals: MaybeList<MaybeObject<RawGoal<'a>>>,
        pub(super) funders: MaybeList<MaybeObject<RawReference<'a>>>,
        pub(super) awards: MaybeList<MaybeObject<RawWorkAward<'a>>>,
        pub(super) grants: MaybeList<MaybeObject<RawGrant<'a>>>,
        pub(super) counts_by_year: MaybeList<MaybeObject<RawYearCitations>>,
        pub(super) keywords: MaybeList<MaybeObject<RawKeyword<'a>>>,
        pub(super) concepts: MaybeList<MaybeObject<RawConcept<'a>>>,
        pub(super) concepts_count: MaybeNumber,
        pub(super) datasets: MaybeList<MaybeId<'a>>,
        pub(super) abstract_inverted_index: Abstract,
        pub(super) updated_date: MaybeText<'a>,
        pub(super) created_date: MaybeText<'a>,
    }

    pub(super) struct Ids<'a> {
        pub(super) mag: MaybeId<'a>,
        pub(super) pmid: MaybeId<'a>,
        pub(super) pmcid: MaybeId<'a>,
    }

    #[derive(PartialEq)]
    pub(super) struct RawLocation<'a> {
        pub(super) id: MaybeText<'a>,
        pub(super) is_oa: MaybeBool,
        pub(super) landing_page_url: MaybeText<'a>,
        pub(super) pdf_url: MaybeText<'a>,
        pub(super) license: MaybeText<'a>,
        pub(super) version: MaybeText<'a>,
        pub(super) is_accepted: MaybeBool,
        pub(super) is_published: MaybeBool,
        pub(super) source: MaybeObject<RawLocationSource<'a>>,
        pub(super) raw_source_name: MaybeText<'a>,
        pub(super) raw_type: MaybeText<'a>,
    }

    #[derive(PartialEq)]
    pub(super) struct RawLocationSource<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) kind as "type": MaybeText<'a>,
    }

    /// The predecessor of `primary_location`, in dumps until 2023.
    pub(super) struct RawHostVenue<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) kind as "type": MaybeText<'a>,
        pub(super) url: MaybeText<'a>,
        pub(super) is_oa: MaybeBool,
        pub(super) version: MaybeText<'a>,
        pub(super) license: MaybeText<'a>,
    }

    pub(super) struct RawContent {
        pub(super) pdf: MaybeBool,
        pub(super) grobid_xml: MaybeBool,
    }

    pub(super) struct RawGoal<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) score: MaybeNumber,
    }

    pub(super) struct RawOpenAccess<'a> {
        pub(super) is_oa: MaybeBool,
        pub(super) oa_status: MaybeText<'a>,
        pub(super) oa_url: MaybeText<'a>,
    }

    pub(super) struct RawAuthorship<'a> {
        pub(super) author_position: MaybeText<'a>,
        pub(super) author: MaybeObject<RawAuthor<'a>>,
        pub(super) raw_author_name: MaybeText<'a>,
        pub(super) raw_orcid: MaybeText<'a>,
        pub(super) institutions: MaybeList<MaybeObject<RawReference<'a>>>,
        pub(super) countries: MaybeList<MaybeText<'a>>,
        pub(super) is_corresponding: MaybeBool,
        pub(super) raw_affiliation_strings: MaybeList<MaybeText<'a>>,
        pub(super) raw_affiliation_string: MaybeText<'a>,
    }

    pub(super) struct RawAuthor<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) orcid: MaybeText<'a>,
    }

    pub(super) struct RawNormalizedPercentile {
        pub(super) value: MaybeNumber,
        pub(super) is_in_top_1_percent: MaybeBool,
        pub(super) is_in_top_10_percent: MaybeBool,
    }

    pub(super) struct RawPercentileYear {
        pub(super) min: MaybeNumber,
        pub(super) max: MaybeNumber,
    }

    pub(super) struct RawBiblio<'a> {
        pub(super) volume: MaybeText<'a>,
        pub(super) issue: MaybeText<'a>,
        pub(super) first_page: MaybeText<'a>,
        pub(super) last_page: MaybeText<'a>,
    }

    pub(super) struct RawApc<'a> {
        pub(super) value: MaybeNumber,
        pub(super) currency: MaybeText<'a>,
        pub(super) value_usd: MaybeNumber,
        pub(super) provenance: MaybeText<'a>,
    }

    pub(super) struct RawTopic<'a> {
        pub(super) id: MaybeId<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) subfield: MaybeObject<RawReference<'a>>,
        pub(super) field: MaybeObject<RawReference<'a>>,
        pub(super) domain: MaybeObject<RawReference<'a>>,
    }

    pub(super) struct RawWorkAward<'a> {
        pub(super) id: MaybeText<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) funder_award_id: MaybeId<'a>,
        pub(super) funder_id: MaybeId<'a>,
        pub(super) doi: MaybeText<'a>,
    }

    pub(super) struct RawGrant<'a> {
        pub(super) funder: MaybeId<'a>,
        pub(super) funder_display_name: MaybeText<'a>,
        pub(super) award_id: MaybeId<'a>,
    }

    pub(super) struct RawYearCitations {
        pub(super) year: MaybeNumber,
        pub(super) cited_by_count: MaybeNumber,
    }

    pub(super) struct RawKeyword<'a> {
        pub(super) id: MaybeText<'a>,
        pub(super) display_name: MaybeText<'a>,
        pub(super) keyword: MaybeText<'a>,
    }
}
