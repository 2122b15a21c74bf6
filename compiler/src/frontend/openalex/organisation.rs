//! Institutions, publishers, funders, and institution types.

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    AssociatedInstitution, Funder, FunderIds, Geo, Id, Institution, InstitutionIds,
    InstitutionType, Publisher, PublisherIds, Timestamp, UtcTimestamp,
};

use crate::frontend::detect::is_native;
use crate::frontend::international::RawInternational;
use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::parent::RawParent;
use crate::frontend::openalex::shared::*;
use crate::frontend::reader::{BadRecord, Identity, LineReader};
use crate::object::SegmentBuilder;
use crate::read::institution_types::provisional_id;
use crate::read::{
    Diagnostics, MaybeBool, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, identifier,
    members, parse_reference, times,
};

members! {
    pub(crate) struct RawInstitution<'a> {
        id: MaybeId<'a>,
        ror: MaybeText<'a>,
        display_name: MaybeText<'a>,
        country_code: MaybeText<'a>,
        kind as "type": MaybeText<'a>,
        homepage_url: MaybeText<'a>,
        image_url: MaybeText<'a>,
        image_thumbnail_url: MaybeText<'a>,
        display_name_acronyms: MaybeList<MaybeText<'a>>,
        display_name_alternatives: MaybeList<MaybeText<'a>>,
        is_super_system: MaybeBool,
        x_concepts: MaybeList<MaybeObject<RawConcept<'a>>>,
        lineage: MaybeList<MaybeId<'a>>,
        repositories: MaybeList<MaybeObject<RawReference<'a>>>,
        works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        summary_stats: MaybeObject<RawSummaryStats>,
        associated_institutions: MaybeList<MaybeObject<RawAssociated<'a>>>,
        counts_by_year: MaybeList<MaybeObject<RawYearCounts>>,
        roles: MaybeList<MaybeObject<RawRole<'a>>>,
        geo: MaybeObject<RawGeo<'a>>,
        international: MaybeObject<RawInternational<'a>>,
        ids: MaybeObject<RawInstitutionIds<'a>>,
        topics: MaybeList<MaybeObject<RawTopicCount<'a>>>,
        topic_share: MaybeList<MaybeObject<RawTopicShare<'a>>>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawAssociated<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        relationship: MaybeText<'a>,
    }

    struct RawGeo<'a> {
        city: MaybeText<'a>,
        geonames_city_id: MaybeId<'a>,
        region: MaybeText<'a>,
        country_code: MaybeText<'a>,
        country: MaybeText<'a>,
        latitude: MaybeNumber,
        longitude: MaybeNumber,
    }

    struct RawInstitutionIds<'a> {
        grid: MaybeId<'a>,
        wikipedia: MaybeId<'a>,
        wikidata: MaybeId<'a>,
        mag: MaybeId<'a>,
    }
}

impl OpenAlexRecord for Institution {
    type Line<'a> = RawInstitution<'a>;

    fn keep(raw: RawInstitution<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = identify::<Self>(reader, &raw.id, &raw.display_name, &raw.updated_date)?;
        // Members are made in the order of the declaration, because `SegmentBuilder::hash_content` expects symbols in
        // this order.
        reader.keep(identity, None, |segment| Institution {
            id: Id(identity.id),
            ror: raw.ror.to_owned(),
            name: raw.display_name.to_owned(),
            country: segment.named(raw.country_code.as_str()),
            kind: segment.code(raw.kind.as_str()),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            display_name_acronyms: texts(&raw.display_name_acronyms),
            display_name_alternatives: texts(&raw.display_name_alternatives),
            is_super_system: raw.is_super_system.0,
            concepts: concepts(&raw.x_concepts),
            lineage: raw.lineage.filter_map(|id| {
                let id = parse_reference(Entity::Institution, id, diagnostics)?;
                Some(segment.reference(Some(id), raw.name_of(id)))
            }),
            repositories: references(&raw.repositories, Entity::Source, segment, diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            summary_stats: summary_stats(&raw.summary_stats, diagnostics),
            associated_institutions: raw
                .associated_institutions
                .map_objects(|raw| raw.build(segment, diagnostics)),
            counts_by_year: year_counts(&raw.counts_by_year, diagnostics),
            roles: roles(&raw.roles, segment, diagnostics),
            geo: raw.geo.0.as_ref().map(|geo| geo.build(segment)),
            international: raw.international.0.as_ref().map(RawInternational::to_json),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
            ids: InstitutionIds {
                grid: raw.ids.id(|ids| &ids.grid),
                wikipedia: raw.ids.id(|ids| &ids.wikipedia),
                wikidata: raw.ids.id(|ids| &ids.wikidata),
                mag: raw.ids.id(|ids| &ids.mag),
                openalex: Some(identifier::openalex_url(Entity::Institution, identity.id)),
            },
            topics: topic_shares(&raw.topics, &raw.topic_share, segment, diagnostics),
        })
    }
}

impl RawInstitution<'_> {
    /// The name of an ancestor. The line names those among the associated institutions.
    fn name_of(&self, ancestor: u64) -> Option<&str> {
        let is_ancestor = |raw: &&RawAssociated<'_>| {
            let id = raw.id.0.as_str().map(|id| identifier::parse(Entity::Institution, id));
            id == Some(Ok(ancestor))
        };
        self.associated_institutions.objects().find(is_ancestor)?.display_name.as_str()
    }
}

impl RawAssociated<'_> {
    fn build(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> AssociatedInstitution {
        let id = parse_reference(Entity::Institution, &self.id, diagnostics);
        AssociatedInstitution {
            institution: segment.reference(id, self.display_name.as_str()),
            relationship: segment.code(self.relationship.as_str()),
        }
    }
}

impl RawGeo<'_> {
    fn build(&self, segment: &mut SegmentBuilder) -> Geo {
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

members! {
    pub(crate) struct RawPublisher<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        alternate_titles: MaybeList<MaybeText<'a>>,
        hierarchy_level: MaybeNumber,
        parent_publisher: RawParent<'a>,
        lineage: MaybeList<MaybeId<'a>>,
        country_codes: MaybeList<MaybeText<'a>>,
        homepage_url: MaybeText<'a>,
        image_url: MaybeText<'a>,
        image_thumbnail_url: MaybeText<'a>,
        works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        summary_stats: MaybeObject<RawSummaryStats>,
        ids: MaybeObject<RawPublisherIds<'a>>,
        counts_by_year: MaybeList<MaybeObject<RawYearCounts>>,
        roles: MaybeList<MaybeObject<RawRole<'a>>>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawPublisherIds<'a> {
        ror: MaybeId<'a>,
        wikidata: MaybeId<'a>,
    }
}

impl OpenAlexRecord for Publisher {
    type Line<'a> = RawPublisher<'a>;

    fn keep(raw: RawPublisher<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = identify::<Self>(reader, &raw.id, &raw.display_name, &raw.updated_date)?;
        if raw.parent_publisher.is_other {
            diagnostics.warn("not_an_object");
        }
        let parent = raw.parent_publisher.reference(Entity::Publisher, diagnostics);
        reader.keep(identity, None, |segment| Publisher {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            alternate_titles: texts(&raw.alternate_titles),
            hierarchy_level: raw.hierarchy_level.integer(diagnostics),
            parent_publisher: parent.as_ref().map(|(id, name)| segment.reference(*id, *name)),
            lineage: raw.lineage.filter_map(|id| {
                let id = parse_reference(Entity::Publisher, id, diagnostics)?;
                // The line names only the nearest publisher above.
                let named = parent.filter(|(parent, _)| *parent == Some(id));
                Some(segment.reference(Some(id), named.and_then(|(_, name)| name)))
            }),
            countries: raw.country_codes.filter_map(|country| segment.named(country.as_str())),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            summary_stats: summary_stats(&raw.summary_stats, diagnostics),
            ids: PublisherIds {
                openalex: Some(identifier::openalex_url(Entity::Publisher, identity.id)),
                ror: raw.ids.id(|ids| &ids.ror),
                wikidata: raw.ids.id(|ids| &ids.wikidata),
            },
            counts_by_year: year_counts(&raw.counts_by_year, diagnostics),
            roles: roles(&raw.roles, segment, diagnostics),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
        })
    }
}

members! {
    pub(crate) struct RawFunder<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        alternate_titles: MaybeList<MaybeText<'a>>,
        country_code: MaybeText<'a>,
        description: MaybeText<'a>,
        homepage_url: MaybeText<'a>,
        image_url: MaybeText<'a>,
        image_thumbnail_url: MaybeText<'a>,
        grants_count: MaybeNumber,
        awards_count: MaybeNumber,
        works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        summary_stats: MaybeObject<RawSummaryStats>,
        roles: MaybeList<MaybeObject<RawRole<'a>>>,
        ids: MaybeObject<RawFunderIds<'a>>,
        counts_by_year: MaybeList<MaybeObject<RawYearCounts>>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawFunderIds<'a> {
        doi: MaybeId<'a>,
        ror: MaybeId<'a>,
        crossref: MaybeId<'a>,
        wikidata: MaybeId<'a>,
    }
}

impl OpenAlexRecord for Funder {
    type Line<'a> = RawFunder<'a>;

    fn keep(raw: RawFunder<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = identify::<Self>(reader, &raw.id, &raw.display_name, &raw.updated_date)?;
        // As of institutions, the order of the declaration is the order of the symbols.
        reader.keep(identity, None, |segment| Funder {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            alternate_titles: texts(&raw.alternate_titles),
            country: segment.named(raw.country_code.as_str()),
            description: raw.description.to_owned(),
            homepage_url: raw.homepage_url.to_owned(),
            image_url: raw.image_url.to_owned(),
            image_thumbnail_url: raw.image_thumbnail_url.to_owned(),
            grants_count: raw.grants_count.count(diagnostics),
            awards_count: raw.awards_count.count(diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            summary_stats: summary_stats(&raw.summary_stats, diagnostics),
            roles: roles(&raw.roles, segment, diagnostics),
            ids: FunderIds {
                doi: raw.ids.id(|ids| &ids.doi),
                ror: raw.ids.id(|ids| &ids.ror),
                openalex: Some(identifier::openalex_url(Entity::Funder, identity.id)),
                crossref: raw.ids.id(|ids| &ids.crossref),
                wikidata: raw.ids.id(|ids| &ids.wikidata),
            },
            counts_by_year: year_counts(&raw.counts_by_year, diagnostics),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
        })
    }
}

members! {
    pub(crate) struct RawInstitutionType<'a> {
        id: MaybeId<'a>,
        code: MaybeText<'a>,
        display_name: MaybeText<'a>,
        description: MaybeText<'a>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }
}

impl OpenAlexRecord for InstitutionType {
    type Line<'a> = RawInstitutionType<'a>;

    fn keep(raw: RawInstitutionType<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        if is_native(reader.line) {
            return Err(BadRecord::Quarantine { code: "is_native", id: raw.id.0.to_owned() });
        }
        let name = raw.id.0.as_str().map(identifier::last_part).unwrap_or_default();
        let number = pinakes_format::entity::parse_digits(name);
        let code = raw.code.as_str().or((number.is_none() && !name.is_empty()).then_some(name));
        let Some(code) = code else {
            return Err(BadRecord::Quarantine { code: "no_id", id: raw.id.0.to_owned() });
        };
        // Truncated to the precision of the record, as the moment may become the snapshot's date.
        let updated = times::timestamp(&raw.updated_date, diagnostics).map(|moment| Timestamp {
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
            created_date: times::utc_timestamp(&raw.created_date, diagnostics),
            updated_date: times::utc_timestamp(&raw.updated_date, diagnostics),
        })
    }
}
