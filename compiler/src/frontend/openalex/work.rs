//! Works, which the interface calls outputs.

use pinakes_format::entity::Entity;
use pinakes_format::record::value::{Id, Orcid, Table};
use pinakes_format::record::{
    ApcPaid, Authorship, Award, Biblio, Funding, Goal, NormalizedPercentile, OpenAccess, Output,
    OutputIds, PercentileYear, PrimaryVenue, PrimaryVenueSource, SourceKind, Venue, VenueMetrics,
    VenueSource, YearCitations,
};
use serde::Deserialize;

use crate::frontend::derived::NodeId;
use crate::frontend::openalex::shared::{RawReference, node_of, openalex_identity};
use crate::frontend::openalex::{OpenAlexRecord, RawLine};
use crate::frontend::reader::{BadRecord, LineReader};
use crate::object::Origin;
use crate::object::segment::SegmentBuilder;
use crate::read::identifier::parse_reference;
use crate::read::inverted_index::Abstract;
use crate::read::lenient::{Bool, IdText, Length, List, Number, Object, Text};
use crate::read::{identifier, times};

/// A work as its line has it.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawWork<'a> {
    id: IdText<'a>,
    doi: Text<'a>,
    title: Text<'a>,
    display_name: Text<'a>,
    publication_year: Number,
    publication_date: Text<'a>,
    ids: Object<Ids<'a>>,
    language: Text<'a>,
    primary_location: Object<RawLocation<'a>>,
    host_venue: Object<RawHostVenue<'a>>,
    locations: List<Object<RawLocation<'a>>>,
    locations_count: Number,
    r#type: Text<'a>,
    indexed_in: List<Text<'a>>,
    open_access: Object<RawOpenAccess<'a>>,
    authorships: List<Object<RawAuthorship<'a>>>,
    fwci: Number,
    has_fulltext: Bool,
    cited_by_count: Number,
    referenced_works_count: Number,
    referenced_works: Length,
    citation_normalized_percentile: Object<RawNormalizedPercentile>,
    cited_by_percentile_year: Object<RawPercentileYear>,
    biblio: Object<RawBiblio<'a>>,
    is_retracted: Bool,
    is_paratext: Bool,
    apc_paid: Object<RawApc<'a>>,
    primary_topic: Object<RawTopic<'a>>,
    topics: List<Object<RawTopic<'a>>>,
    sustainable_development_goals: List<Object<RawReference<'a>>>,
    funders: List<Object<RawReference<'a>>>,
    awards: List<Object<RawAward<'a>>>,
    grants: List<Object<RawGrant<'a>>>,
    counts_by_year: List<Object<RawYearCitations>>,
    keywords: List<Object<RawKeyword<'a>>>,
    abstract_inverted_index: Abstract,
    updated_date: Text<'a>,
    created_date: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Ids<'a> {
    mag: IdText<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawLocation<'a> {
    id: Text<'a>,
    is_oa: Bool,
    landing_page_url: Text<'a>,
    pdf_url: Text<'a>,
    license: Text<'a>,
    version: Text<'a>,
    is_accepted: Bool,
    is_published: Bool,
    source: Object<RawLocationSource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawLocationSource<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    r#type: Text<'a>,
}

/// What stood in the place of `primary_location` until 2023.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawHostVenue<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    r#type: Text<'a>,
    url: Text<'a>,
    is_oa: Bool,
    version: Text<'a>,
    license: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawOpenAccess<'a> {
    is_oa: Bool,
    oa_status: Text<'a>,
    oa_url: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawAuthorship<'a> {
    author_position: Text<'a>,
    author: Object<RawAuthor<'a>>,
    institutions: List<Object<RawReference<'a>>>,
    countries: List<Text<'a>>,
    is_corresponding: Bool,
    raw_affiliation_strings: List<Text<'a>>,
    raw_affiliation_string: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawAuthor<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    orcid: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawNormalizedPercentile {
    value: Number,
    is_in_top_1_percent: Bool,
    is_in_top_10_percent: Bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawPercentileYear {
    min: Number,
    max: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawBiblio<'a> {
    volume: Text<'a>,
    issue: Text<'a>,
    first_page: Text<'a>,
    last_page: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawApc<'a> {
    value: Number,
    currency: Text<'a>,
    value_usd: Number,
    provenance: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawTopic<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    subfield: Object<RawReference<'a>>,
    field: Object<RawReference<'a>>,
    domain: Object<RawReference<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawAward<'a> {
    id: Text<'a>,
    display_name: Text<'a>,
    funder_award_id: IdText<'a>,
    funder_id: IdText<'a>,
    doi: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawGrant<'a> {
    funder: IdText<'a>,
    funder_display_name: Text<'a>,
    award_id: IdText<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawYearCitations {
    year: Number,
    cited_by_count: Number,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawKeyword<'a> {
    display_name: Text<'a>,
    keyword: Text<'a>,
}

impl OpenAlexRecord for Output {
    type Line<'a> = RawWork<'a>;
}

impl<'a> RawLine<'a> for RawWork<'a> {
    fn keep(self, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let work = self;
        let updated = times::timestamp(&work.updated_date);
        let identity = openalex_identity(reader.line, Entity::Output, &work.id, updated)?;
        let updated_micros = updated.map_or(i64::MIN, |updated| updated.micros);
        let topics = work.primary_topic.0.iter().chain(work.topics.objects());
        for topic in topics {
            let chain = topic.chain();
            reader.derived.add(&chain, Origin::Mentioned, updated_micros, reader.object)?;
        }
        let primary_topic = work
            .primary_topic
            .0
            .as_ref()
            .and_then(|topic| parse_reference(Entity::Topic, &topic.id));
        reader.keep(identity, primary_topic, |segment| work.output(identity.id, updated, segment))
    }
}

impl RawWork<'_> {
    fn output(
        &self,
        id: u64,
        updated_date: Option<pinakes_format::record::value::Timestamp>,
        segment: &mut SegmentBuilder,
    ) -> Output {
        Output {
            id: Id(id),
            doi: self.doi.to_owned(),
            title: self.title.to_owned(),
            name: self.display_name.to_owned(),
            year: self.publication_year.year(),
            date: times::date(&self.publication_date),
            ids: OutputIds { mag: self.ids.0.as_ref().and_then(|ids| ids.mag.0.to_owned()) },
            language: segment.named(self.language.as_str()),
            primary_venue: self.primary_venue(segment),
            additional_venues: self.additional_venues(segment),
            venues_count: self.locations_count.count().or(self.locations_length()),
            kind: segment.code(self.r#type.as_str()),
            indexed_in: self.indexed_in.filter_map(|index| segment.code(index.as_str())),
            open_access: self.open_access.0.as_ref().map(|open| open.value(segment)),
            authors: self
                .authorships
                .filter_map(|author| author.0.as_ref().map(|author| author.authorship(segment))),
            fwci: self.fwci.fraction(),
            has_fulltext: self.has_fulltext.0,
            cited_by_count: self.cited_by_count.count(),
            cites: self.referenced_works_count.count().or(self.referenced_works.0),
            citation_normalized_percentile: self.citation_normalized_percentile.0.as_ref().map(
                |percentile| NormalizedPercentile {
                    value: percentile.value.fraction(),
                    is_in_top_1_percent: percentile.is_in_top_1_percent.0,
                    is_in_top_10_percent: percentile.is_in_top_10_percent.0,
                },
            ),
            cited_by_percentile_year: self.cited_by_percentile_year.0.as_ref().map(|percentile| {
                PercentileYear { min: percentile.min.integer(), max: percentile.max.integer() }
            }),
            biblio: self.biblio.0.as_ref().map(RawBiblio::value),
            is_retracted: self.is_retracted.0,
            is_paratext: self.is_paratext.0,
            apc_paid: self.apc_paid.0.as_ref().map(|apc| ApcPaid {
                value: apc.value.integer(),
                currency: segment.code(apc.currency.as_str()),
                value_usd: apc.value_usd.integer(),
                provenance: segment.code(apc.provenance.as_str()),
            }),
            primary_topic: self.primary_topic.0.as_ref().map(|topic| topic.link(segment)),
            topics: self
                .topics
                .filter_map(|topic| topic.0.as_ref().map(|topic| topic.link(segment))),
            sustainable_development_goals: self
                .sustainable_development_goals
                .filter_map(|goal| goal.0.as_ref().map(goal_of)),
            funders: self.funders(segment),
            counts_by_year: self.counts_by_year.filter_map(|counts| {
                let counts = counts.0.as_ref()?;
                Some(YearCitations {
                    year: counts.year.year(),
                    cited_by_count: counts.cited_by_count.count(),
                })
            }),
            keywords: self.keywords.filter_map(|keyword| {
                let keyword = keyword.0.as_ref()?;
                keyword.display_name.to_owned().or_else(|| keyword.keyword.to_owned())
            }),
            abstract_text: self.abstract_inverted_index.0.as_ref().map(|text| segment.cold(text)),
            updated_date,
            created_date: times::timestamp(&self.created_date),
        }
    }

    fn locations_length(&self) -> Option<u64> {
        self.locations.0.as_ref().map(|locations| locations.len() as u64)
    }

    fn primary_venue(&self, segment: &mut SegmentBuilder) -> Option<PrimaryVenue> {
        let Some(location) = &self.primary_location.0 else {
            return self.host_venue.0.as_ref().map(|venue| venue.value(segment));
        };
        let source = location.source.0.as_ref().map(|source| source.primary(segment));
        Some(PrimaryVenue {
            id: location.id.to_owned(),
            is_oa: location.is_oa.0,
            landing_page_url: location.landing_page_url.to_owned(),
            pdf_url: location.pdf_url.to_owned(),
            license: segment.code(location.license.as_str()),
            version: segment.code(location.version.as_str()),
            is_accepted: location.is_accepted.0,
            is_published: location.is_published.0,
            source,
        })
    }

    /// The locations but the primary one, if there is one: that with its id, or where not both have
    /// one, the first.
    fn additional_venues(&self, segment: &mut SegmentBuilder) -> Option<Vec<Venue>> {
        let locations = self.locations.0.as_ref()?;
        let ids =
            || locations.iter().map(|location| location.0.as_ref().and_then(|own| own.id.as_str()));
        let of_primary = |primary_id: Option<&str>| {
            let same = primary_id.and_then(|id| ids().position(|own| own == Some(id)));
            let is_told = primary_id.is_some() && ids().next().flatten().is_some();
            same.or((!is_told).then_some(0))
        };
        let primary = self.primary_location.0.as_ref();
        let primary_at = primary.and_then(|primary| of_primary(primary.id.as_str()));
        let additional = locations.iter().enumerate().filter(|(at, _)| Some(*at) != primary_at);
        let venues = additional.filter_map(|(_, location)| {
            location.0.as_ref().map(|location| location.venue(segment))
        });
        Some(venues.collect())
    }

    /// Funders with their awards; in older dumps, both out of grants.
    fn funders(&self, segment: &mut SegmentBuilder) -> Option<Vec<Funding>> {
        if let Some(funders) = &self.funders.0 {
            let funders = funders.iter().filter_map(|funder| funder.0.as_ref());
            return Some(funders.map(|funder| self.funding(funder, segment)).collect());
        }
        let mut fundings: Vec<(Option<u64>, Option<&str>, Vec<Award>)> = Vec::new();
        self.grants.0.as_ref()?;
        for grant in self.grants.objects() {
            let id = parse_reference(Entity::Funder, &grant.funder);
            let name = grant.funder_display_name.as_str();
            let known = fundings.iter().position(|(known, known_name, _)| match id {
                Some(_) => *known == id,
                None => known.is_none() && *known_name == name,
            });
            let at = known.unwrap_or_else(|| {
                fundings.push((id, name, Vec::new()));
                fundings.len() - 1
            });
            let numbers = grant.award_id.0.as_str().unwrap_or_default().split(", ");
            let numbers = numbers.map(str::trim).filter(|number| !number.is_empty());
            fundings[at].2.extend(numbers.map(|number| Award {
                funder_award_id: Some(number.to_owned()),
                ..Award::default()
            }));
        }
        let fundings = fundings.into_iter().map(|(id, name, awards)| Funding {
            funder: segment.reference(id, name),
            awards: Some(awards),
        });
        Some(fundings.collect())
    }

    fn funding(&self, funder: &RawReference<'_>, segment: &mut SegmentBuilder) -> Funding {
        let id = funder.number(Entity::Funder);
        let awards = self.awards.0.as_ref().map(|_| {
            let of_funder = |award: &&RawAward<'_>| {
                id.is_some() && parse_reference(Entity::Funder, &award.funder_id) == id
            };
            self.awards.objects().filter(of_funder).map(RawAward::value).collect()
        });
        Funding { funder: funder.link(Entity::Funder, segment), awards }
    }
}

fn goal_of(goal: &RawReference<'_>) -> Goal {
    let number = goal.id.0.as_str().and_then(|id| identifier::last_part(id).parse().ok());
    Goal { id: number, name: goal.display_name.to_owned() }
}

impl RawLocationSource<'_> {
    fn primary(&self, segment: &mut SegmentBuilder) -> PrimaryVenueSource {
        let VenueSource { source, kind } = self.value(segment);
        PrimaryVenueSource { source, kind, metrics: VenueMetrics(source) }
    }

    fn value(&self, segment: &mut SegmentBuilder) -> VenueSource {
        source_of(&self.id, &self.display_name, &self.r#type, segment)
    }
}

fn source_of(
    id: &IdText<'_>,
    name: &Text<'_>,
    kind: &Text<'_>,
    segment: &mut SegmentBuilder,
) -> VenueSource {
    let source = segment.reference(parse_reference(Entity::Source, id), name.as_str());
    let code = segment.code_number(Table::SourceType as u8, kind.as_str());
    VenueSource { source, kind: SourceKind { source: source.0, code } }
}

impl RawLocation<'_> {
    fn venue(&self, segment: &mut SegmentBuilder) -> Venue {
        Venue {
            id: self.id.to_owned(),
            is_oa: self.is_oa.0,
            landing_page_url: self.landing_page_url.to_owned(),
            pdf_url: self.pdf_url.to_owned(),
            license: segment.code(self.license.as_str()),
            version: segment.code(self.version.as_str()),
            is_accepted: self.is_accepted.0,
            is_published: self.is_published.0,
            source: self.source.0.as_ref().map(|source| source.value(segment)),
        }
    }
}

impl RawHostVenue<'_> {
    fn value(&self, segment: &mut SegmentBuilder) -> PrimaryVenue {
        let has_source = self.id.0.0.is_some() || self.display_name.0.is_some();
        let source = has_source.then(|| {
            let VenueSource { source, kind } =
                source_of(&self.id, &self.display_name, &self.r#type, segment);
            PrimaryVenueSource { source, kind, metrics: VenueMetrics(source) }
        });
        PrimaryVenue {
            id: None,
            is_oa: self.is_oa.0,
            landing_page_url: self.url.to_owned(),
            pdf_url: None,
            license: segment.code(self.license.as_str()),
            version: segment.code(self.version.as_str()),
            is_accepted: None,
            is_published: None,
            source,
        }
    }
}

impl RawOpenAccess<'_> {
    fn value(&self, segment: &mut SegmentBuilder) -> OpenAccess {
        OpenAccess {
            is_oa: self.is_oa.0,
            oa_status: segment.code(self.oa_status.as_str()),
            oa_url: self.oa_url.to_owned(),
        }
    }
}

impl RawAuthorship<'_> {
    fn authorship(&self, segment: &mut SegmentBuilder) -> Authorship {
        let author = self.author.0.as_ref();
        let id = author.and_then(|author| parse_reference(Entity::Author, &author.id));
        let name = author.and_then(|author| author.display_name.as_str());
        let raw_strings =
            match (&self.raw_affiliation_strings.0, self.raw_affiliation_string.as_str()) {
                (Some(strings), _) => Some(
                    strings
                        .iter()
                        .filter_map(Text::as_str)
                        .map(|text| segment.cold(text))
                        .collect(),
                ),
                (None, Some(text)) => Some(vec![segment.cold(text)]),
                (None, None) => None,
            };
        Authorship {
            author_position: segment.code(self.author_position.as_str()),
            author: segment.reference(id, name),
            orcid: author
                .and_then(|author| author.orcid.as_str())
                .map(identifier::bare_orcid)
                .filter(|orcid| !orcid.is_empty())
                .map(Orcid),
            affiliations: self.institutions.filter_map(|institution| {
                institution.0.as_ref().map(|raw| raw.link(Entity::Institution, segment))
            }),
            countries: self.countries.filter_map(|country| segment.named(country.as_str())),
            is_corresponding: self.is_corresponding.0,
            raw_affiliation_strings: raw_strings,
        }
    }
}

impl RawBiblio<'_> {
    fn value(&self) -> Biblio {
        Biblio {
            volume: self.volume.to_owned(),
            issue: self.issue.to_owned(),
            first_page: self.first_page.to_owned(),
            last_page: self.last_page.to_owned(),
        }
    }
}

impl RawTopic<'_> {
    fn link<const E: u8>(
        &self,
        segment: &mut SegmentBuilder,
    ) -> pinakes_format::record::value::Ref<E> {
        segment.reference(parse_reference(Entity::Topic, &self.id), self.display_name.as_str())
    }

    fn chain(&self) -> [(Entity, Option<NodeId<'_>>); 4] {
        let own = parse_reference(Entity::Topic, &self.id)
            .map(|id| NodeId { id, name: self.display_name.as_str() });
        [
            (Entity::Topic, own),
            (Entity::Subfield, node_of(&self.subfield, Entity::Subfield)),
            (Entity::Field, node_of(&self.field, Entity::Field)),
            (Entity::Domain, node_of(&self.domain, Entity::Domain)),
        ]
    }
}

impl RawAward<'_> {
    fn value(&self) -> Award {
        let id = self.id.as_str().map(|id| {
            let name = identifier::last_part(id);
            let name = name.strip_prefix("HX_").unwrap_or(name);
            format!("HX_{}", name.to_ascii_uppercase())
        });
        Award {
            id,
            name: self.display_name.to_owned(),
            funder_award_id: self.funder_award_id.0.to_owned(),
            doi: self.doi.to_owned(),
        }
    }
}
