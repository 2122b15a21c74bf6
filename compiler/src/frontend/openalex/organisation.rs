//! Institutions, publishers, funders, and institution types.

use pinakes_format::entity::Entity;
use pinakes_format::record::value::{Id, Timestamp, UtcTimestamp};
use pinakes_format::record::{
    AssociatedInstitution, Funder, FunderIds, Geo, Institution, InstitutionIds, InstitutionType,
    Publisher, PublisherIds,
};
use serde::Deserialize;

use crate::frontend::detect::is_native;
use crate::frontend::international::RawInternational;
use crate::frontend::openalex::parent::RawParent;
use crate::frontend::openalex::shared::*;
use crate::frontend::openalex::{OpenAlexRecord, RawLine};
use crate::frontend::reader::{BadRecord, Identity, LineReader, require_name};
use crate::object::segment::SegmentBuilder;
use crate::read::identifier::parse_reference;
use crate::read::institution_types::provisional_id;
use crate::read::lenient::{IdText, List, Number, Object, Text, warn};
use crate::read::{identifier, times};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawInstitution<'a> {
    id: IdText<'a>,
    ror: Text<'a>,
    display_name: Text<'a>,
    country_code: Text<'a>,
    r#type: Text<'a>,
    homepage_url: Text<'a>,
    image_url: Text<'a>,
    image_thumbnail_url: Text<'a>,
    display_name_acronyms: List<Text<'a>>,
    display_name_alternatives: List<Text<'a>>,
    repositories: List<Object<RawReference<'a>>>,
    works_count: Number,
    cited_by_count: Number,
    summary_stats: Object<RawSummaryStats>,
    associated_institutions: List<Object<RawAssociated<'a>>>,
    counts_by_year: List<Object<RawYearCounts>>,
    roles: List<Object<RawRole<'a>>>,
    geo: Object<RawGeo<'a>>,
    international: Object<RawInternational<'a>>,
    ids: Object<RawInstitutionIds<'a>>,
    topics: List<Object<RawTopicCount<'a>>>,
    topic_share: List<Object<RawTopicShare<'a>>>,
    updated_date: Text<'a>,
    created_date: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawAssociated<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    relationship: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawGeo<'a> {
    city: Text<'a>,
    geonames_city_id: IdText<'a>,
    region: Text<'a>,
    country_code: Text<'a>,
    country: Text<'a>,
    latitude: Number,
    longitude: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawInstitutionIds<'a> {
    grid: IdText<'a>,
    wikipedia: IdText<'a>,
}

impl OpenAlexRecord for Institution {
    type Line<'a> = RawInstitution<'a>;
}

impl<'a> RawLine<'a> for RawInstitution<'a> {
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let raw = self;
        let updated_date = times::timestamp(&raw.updated_date);
        let identity = openalex_identity(reader.line, Entity::Institution, &raw.id, updated_date)?;
        require_name(&raw.id, &raw.display_name)?;
        let ids = raw.ids.0.as_ref();
        let ids = InstitutionIds {
            grid: ids.and_then(|ids| ids.grid.0.to_owned()),
            wikipedia: ids.and_then(|ids| ids.wikipedia.0.to_owned()),
            openalex: Some(identifier::openalex_url(Entity::Institution, identity.id)),
        };
        reader.keep(identity, None, |segment| Institution {
            id: Id(identity.id),
            ror: raw.ror.to_owned(),
            name: raw.display_name.to_owned(),
            country: segment.named(raw.country_code.as_str()),
            kind: segment.code(raw.r#type.as_str()),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            display_name_acronyms: texts(&raw.display_name_acronyms),
            display_name_alternatives: texts(&raw.display_name_alternatives),
            repositories: raw.repositories.filter_map(|source| {
                source.0.as_ref().map(|source| source.link(Entity::Source, segment))
            }),
            outputs_count: raw.works_count.count(),
            cited_by_count: raw.cited_by_count.count(),
            summary_stats: raw.summary_stats.0.as_ref().map(Into::into),
            associated_institutions: raw.associated_institutions.filter_map(|associated| {
                associated.0.as_ref().map(|associated| associated.value(segment))
            }),
            counts_by_year: year_counts(&raw.counts_by_year),
            roles: roles(&raw.roles, segment),
            geo: raw.geo.0.as_ref().map(|geo| geo.value(segment)),
            international: raw.international.0.as_ref().map(RawInternational::to_json),
            updated_date,
            created_date: times::timestamp(&raw.created_date),
            ids,
            topics: topic_shares(&raw.topics, &raw.topic_share, segment),
        })
    }
}

impl RawAssociated<'_> {
    fn value(&self, segment: &mut SegmentBuilder) -> AssociatedInstitution {
        let id = parse_reference(Entity::Institution, &self.id);
        AssociatedInstitution {
            institution: segment.reference(id, self.display_name.as_str()),
            relationship: segment.code(self.relationship.as_str()),
        }
    }
}

impl RawGeo<'_> {
    fn value(&self, segment: &mut SegmentBuilder) -> Geo {
        Geo {
            city: self.city.to_owned(),
            geonames_city_id: self.geonames_city_id.0.to_owned(),
            region: self.region.to_owned(),
            country_code: segment.code(self.country_code.as_str()),
            country: self.country.to_owned(),
            latitude: self.latitude.fraction(),
            longitude: self.longitude.fraction(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawPublisher<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    alternate_titles: List<Text<'a>>,
    hierarchy_level: Number,
    parent_publisher: RawParent<'a>,
    lineage: List<IdText<'a>>,
    country_codes: List<Text<'a>>,
    homepage_url: Text<'a>,
    image_url: Text<'a>,
    image_thumbnail_url: Text<'a>,
    works_count: Number,
    cited_by_count: Number,
    summary_stats: Object<RawSummaryStats>,
    ids: Object<RawPublisherIds<'a>>,
    counts_by_year: List<Object<RawYearCounts>>,
    roles: List<Object<RawRole<'a>>>,
    updated_date: Text<'a>,
    created_date: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawPublisherIds<'a> {
    ror: IdText<'a>,
    wikidata: IdText<'a>,
}

impl OpenAlexRecord for Publisher {
    type Line<'a> = RawPublisher<'a>;
}

impl<'a> RawLine<'a> for RawPublisher<'a> {
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let raw = self;
        let updated_date = times::timestamp(&raw.updated_date);
        let identity = openalex_identity(reader.line, Entity::Publisher, &raw.id, updated_date)?;
        require_name(&raw.id, &raw.display_name)?;
        let ids = raw.ids.0.as_ref();
        let ids = PublisherIds {
            openalex: Some(identifier::openalex_url(Entity::Publisher, identity.id)),
            ror: ids.and_then(|ids| ids.ror.0.to_owned()),
            wikidata: ids.and_then(|ids| ids.wikidata.0.to_owned()),
        };
        if raw.parent_publisher.is_other {
            warn("not_an_object");
        }
        let parent = raw.parent_publisher.reference(Entity::Publisher);
        reader.keep(identity, None, |segment| Publisher {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            alternate_titles: texts(&raw.alternate_titles),
            hierarchy_level: raw.hierarchy_level.integer(),
            parent_publisher: parent.as_ref().map(|(id, name)| segment.reference(*id, *name)),
            lineage: raw.lineage.filter_map(|id| {
                let id = parse_reference(Entity::Publisher, id)?;
                // Of those above, the line names the next.
                let named = parent.filter(|(parent, _)| *parent == Some(id));
                Some(segment.reference(Some(id), named.and_then(|(_, name)| name)))
            }),
            countries: raw.country_codes.filter_map(|country| segment.named(country.as_str())),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            outputs_count: raw.works_count.count(),
            cited_by_count: raw.cited_by_count.count(),
            summary_stats: raw.summary_stats.0.as_ref().map(Into::into),
            ids,
            counts_by_year: year_counts(&raw.counts_by_year),
            roles: roles(&raw.roles, segment),
            updated_date,
            created_date: times::timestamp(&raw.created_date),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawFunder<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    alternate_titles: List<Text<'a>>,
    country_code: Text<'a>,
    description: Text<'a>,
    homepage_url: Text<'a>,
    image_url: Text<'a>,
    image_thumbnail_url: Text<'a>,
    grants_count: Number,
    awards_count: Number,
    works_count: Number,
    cited_by_count: Number,
    summary_stats: Object<RawSummaryStats>,
    roles: List<Object<RawRole<'a>>>,
    ids: Object<RawFunderIds<'a>>,
    counts_by_year: List<Object<RawYearCounts>>,
    updated_date: Text<'a>,
    created_date: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawFunderIds<'a> {
    doi: IdText<'a>,
    ror: IdText<'a>,
    crossref: IdText<'a>,
}

impl OpenAlexRecord for Funder {
    type Line<'a> = RawFunder<'a>;
}

impl<'a> RawLine<'a> for RawFunder<'a> {
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let raw = self;
        let updated_date = times::timestamp(&raw.updated_date);
        let identity = openalex_identity(reader.line, Entity::Funder, &raw.id, updated_date)?;
        require_name(&raw.id, &raw.display_name)?;
        let ids = raw.ids.0.as_ref();
        let ids = FunderIds {
            doi: ids.and_then(|ids| ids.doi.0.to_owned()),
            ror: ids.and_then(|ids| ids.ror.0.to_owned()),
            openalex: Some(identifier::openalex_url(Entity::Funder, identity.id)),
            crossref: ids.and_then(|ids| ids.crossref.0.to_owned()),
        };
        reader.keep(identity, None, |segment| Funder {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            alternate_titles: texts(&raw.alternate_titles),
            country: segment.named(raw.country_code.as_str()),
            description: raw.description.to_owned(),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            grants_count: raw.grants_count.count(),
            awards_count: raw.awards_count.count(),
            outputs_count: raw.works_count.count(),
            cited_by_count: raw.cited_by_count.count(),
            summary_stats: raw.summary_stats.0.as_ref().map(Into::into),
            roles: roles(&raw.roles, segment),
            ids,
            counts_by_year: year_counts(&raw.counts_by_year),
            updated_date,
            created_date: times::timestamp(&raw.created_date),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawInstitutionType<'a> {
    id: IdText<'a>,
    code: Text<'a>,
    display_name: Text<'a>,
    description: Text<'a>,
    updated_date: Text<'a>,
    created_date: Text<'a>,
}

impl OpenAlexRecord for InstitutionType {
    type Line<'a> = RawInstitutionType<'a>;
}

impl<'a> RawLine<'a> for RawInstitutionType<'a> {
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let raw = self;
        if is_native(reader.line) {
            return Err(BadRecord::Quarantine { code: "is_native", id: raw.id.0.to_owned() });
        }
        let name = raw.id.0.as_str().map(identifier::last_part).unwrap_or_default();
        let number = pinakes_format::entity::parse_digits(name);
        let code = raw.code.as_str().or((number.is_none() && !name.is_empty()).then_some(name));
        let Some(code) = code else {
            return Err(BadRecord::Quarantine { code: "no_id", id: raw.id.0.to_owned() });
        };
        // No more of the moment than the record shows: it may be the newest of the snapshot.
        let updated = times::timestamp(&raw.updated_date).map(|moment| Timestamp {
            micros: UtcTimestamp::from_micros(moment.micros).micros,
            ..moment
        });
        let identity = Identity { id: number.unwrap_or_else(|| provisional_id(code)), updated };
        reader.keep(identity, None, |segment| InstitutionType {
            id: Id(identity.id),
            code: segment.code(Some(code)),
            name: raw.display_name.to_owned(),
            description: raw.description.to_owned(),
            outputs_count: None,
            cited_by_count: None,
            created_date: times::utc_timestamp(&raw.created_date),
            updated_date: times::utc_timestamp(&raw.updated_date),
        })
    }
}
