//! The paths of names and identifiers in each suggested entity.

use crate::query::keys::Kind;

/// One entity whose records are suggested.
#[derive(Debug)]
pub struct Suggested {
    /// The plural of the route.
    pub route: &'static str,
    /// The `entity_type` of a candidate.
    pub entity_type: &'static str,
    /// Paths of alternative names.
    pub alternatives: &'static [&'static str],
    /// Paths of identifiers besides the record's own id.
    pub ids: &'static [(Kind, &'static str)],
    /// Paths of the shown identifier; the first path with a value counts.
    pub external_id: &'static [&'static str],
}

const ALTERNATIVES: &[&str] = &["display_name_alternatives"];
const TITLES: &[&str] = &["alternate_titles"];
const WIKIDATA: &[&str] = &["ids.wikidata"];

/// All suggested entities; their order decides between candidates of equal rank.
pub const SUGGESTED: [Suggested; 10] = [
    Suggested {
        route: "institutions",
        entity_type: "institution",
        alternatives: &["display_name_acronyms", "display_name_alternatives"],
        ids: &[(Kind::Ror, "ror")],
        external_id: &["ror"],
    },
    Suggested {
        route: "authors",
        entity_type: "author",
        alternatives: ALTERNATIVES,
        ids: &[(Kind::Orcid, "orcid.id")],
        external_id: &["orcid.id"],
    },
    Suggested {
        route: "outputs",
        entity_type: "output",
        alternatives: &[],
        ids: &[(Kind::Doi, "doi"), (Kind::Pmid, "ids.pmid")],
        external_id: &["doi"],
    },
    Suggested {
        route: "sources",
        entity_type: "source",
        alternatives: TITLES,
        ids: &[(Kind::Issn, "issn"), (Kind::Issn, "issn_l")],
        external_id: &["issn_l"],
    },
    Suggested {
        route: "publishers",
        entity_type: "publisher",
        alternatives: TITLES,
        ids: &[(Kind::Ror, "ids.ror")],
        external_id: &["ids.ror", "ids.wikidata"],
    },
    Suggested {
        route: "funders",
        entity_type: "funder",
        alternatives: TITLES,
        ids: &[(Kind::Doi, "ids.doi"), (Kind::Ror, "ids.ror")],
        external_id: &["ids.ror", "ids.doi"],
    },
    Suggested {
        route: "topics",
        entity_type: "topic",
        alternatives: ALTERNATIVES,
        ids: &[],
        external_id: &["ids.wikipedia"],
    },
    Suggested {
        route: "domains",
        entity_type: "domain",
        alternatives: ALTERNATIVES,
        ids: &[],
        external_id: WIKIDATA,
    },
    Suggested {
        route: "fields",
        entity_type: "field",
        alternatives: ALTERNATIVES,
        ids: &[],
        external_id: WIKIDATA,
    },
    Suggested {
        route: "subfields",
        entity_type: "subfield",
        alternatives: ALTERNATIVES,
        ids: &[],
        external_id: WIKIDATA,
    },
];

/// The routes that have an autocomplete of their own.
pub const ROUTES: [&str; 7] =
    ["outputs", "authors", "sources", "institutions", "publishers", "funders", "topics"];
