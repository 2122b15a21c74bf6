//! Works, which Pinakes calls outputs.

use pinakes_format::entity::Entity;
use pinakes_format::record::value::{Id, Orcid, Table};
use pinakes_format::record::{
    ApcPaid, Authorship, Award, Biblio, Funding, Goal, NormalizedPercentile, OpenAccess, Output,
    OutputIds, PercentileYear, PrimaryVenue, PrimaryVenueSource, SourceKind, Venue, VenueMetrics,
    VenueSource, YearCitations,
};

use crate::frontend::derived::NodeRef;
use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::shared::{RawReference, node_of, openalex_identity};
use crate::frontend::reader::{BadRecord, LineReader};
use crate::object::Origin;
use crate::object::segment::SegmentBuilder;
use crate::read::identifier::parse_reference;
use crate::read::inverted_index::Abstract;
use crate::read::lenient::{
    Diagnostics, MaybeBool, MaybeId, MaybeLength, MaybeList, MaybeNumber, MaybeObject, MaybeText,
    members,
};
use crate::read::{identifier, times};

members! {
    pub(crate) struct RawWork<'a> {
        id: MaybeId<'a>,
        doi: MaybeText<'a>,
        title: MaybeText<'a>,
        display_name: MaybeText<'a>,
        publication_year: MaybeNumber,
        publication_date: MaybeText<'a>,
        ids: MaybeObject<Ids<'a>>,
        language: MaybeText<'a>,
        primary_location: MaybeObject<RawLocation<'a>>,
        host_venue: MaybeObject<RawHostVenue<'a>>,
        locations: MaybeList<MaybeObject<RawLocation<'a>>>,
        locations_count: MaybeNumber,
        kind as "type": MaybeText<'a>,
        indexed_in: MaybeList<MaybeText<'a>>,
        open_access: MaybeObject<RawOpenAccess<'a>>,
        authorships: MaybeList<MaybeObject<RawAuthorship<'a>>>,
        fwci: MaybeNumber,
        has_fulltext: MaybeBool,
        cited_by_count: MaybeNumber,
        referenced_works_count: MaybeNumber,
        referenced_works: MaybeLength,
        citation_normalized_percentile: MaybeObject<RawNormalizedPercentile>,
        cited_by_percentile_year: MaybeObject<RawPercentileYear>,
        biblio: MaybeObject<RawBiblio<'a>>,
        is_retracted: MaybeBool,
        is_paratext: MaybeBool,
        apc_paid: MaybeObject<RawApc<'a>>,
        primary_topic: MaybeObject<RawTopic<'a>>,
        topics: MaybeList<MaybeObject<RawTopic<'a>>>,
        sustainable_development_goals: MaybeList<MaybeObject<RawReference<'a>>>,
        funders: MaybeList<MaybeObject<RawReference<'a>>>,
        awards: MaybeList<MaybeObject<RawAward<'a>>>,
        grants: MaybeList<MaybeObject<RawGrant<'a>>>,
        counts_by_year: MaybeList<MaybeObject<RawYearCitations>>,
        keywords: MaybeList<MaybeObject<RawKeyword<'a>>>,
        abstract_inverted_index: Abstract,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }
}

members! {
    struct Ids<'a> {
        mag: MaybeId<'a>,
    }
}

members! {
    struct RawLocation<'a> {
        id: MaybeText<'a>,
        is_oa: MaybeBool,
        landing_page_url: MaybeText<'a>,
        pdf_url: MaybeText<'a>,
        license: MaybeText<'a>,
        version: MaybeText<'a>,
        is_accepted: MaybeBool,
        is_published: MaybeBool,
        source: MaybeObject<RawLocationSource<'a>>,
    }
}

members! {
    struct RawLocationSource<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        kind as "type": MaybeText<'a>,
    }
}

members! {
    /// The predecessor of `primary_location`, in dumps until 2023.
    struct RawHostVenue<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        kind as "type": MaybeText<'a>,
        url: MaybeText<'a>,
        is_oa: MaybeBool,
        version: MaybeText<'a>,
        license: MaybeText<'a>,
    }
}

members! {
    struct RawOpenAccess<'a> {
        is_oa: MaybeBool,
        oa_status: MaybeText<'a>,
        oa_url: MaybeText<'a>,
    }
}

members! {
    struct RawAuthorship<'a> {
        author_position: MaybeText<'a>,
        author: MaybeObject<RawAuthor<'a>>,
        institutions: MaybeList<MaybeObject<RawReference<'a>>>,
        countries: MaybeList<MaybeText<'a>>,
        is_corresponding: MaybeBool,
        raw_affiliation_strings: MaybeList<MaybeText<'a>>,
        raw_affiliation_string: MaybeText<'a>,
    }
}

members! {
    struct RawAuthor<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        orcid: MaybeText<'a>,
    }
}

members! {
    struct RawNormalizedPercentile {
        value: MaybeNumber,
        is_in_top_1_percent: MaybeBool,
        is_in_top_10_percent: MaybeBool,
    }
}

members! {
    struct RawPercentileYear {
        min: MaybeNumber,
        max: MaybeNumber,
    }
}

members! {
    struct RawBiblio<'a> {
        volume: MaybeText<'a>,
        issue: MaybeText<'a>,
        first_page: MaybeText<'a>,
        last_page: MaybeText<'a>,
    }
}

members! {
    struct RawApc<'a> {
        value: MaybeNumber,
        currency: MaybeText<'a>,
        value_usd: MaybeNumber,
        provenance: MaybeText<'a>,
    }
}

members! {
    struct RawTopic<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        subfield: MaybeObject<RawReference<'a>>,
        field: MaybeObject<RawReference<'a>>,
        domain: MaybeObject<RawReference<'a>>,
    }
}

members! {
    struct RawAward<'a> {
        id: MaybeText<'a>,
        display_name: MaybeText<'a>,
        funder_award_id: MaybeId<'a>,
        funder_id: MaybeId<'a>,
        doi: MaybeText<'a>,
    }
}

members! {
    struct RawGrant<'a> {
        funder: MaybeId<'a>,
        funder_display_name: MaybeText<'a>,
        award_id: MaybeId<'a>,
    }
}

members! {
    struct RawYearCitations {
        year: MaybeNumber,
        cited_by_count: MaybeNumber,
    }
}

members! {
    struct RawKeyword<'a> {
        display_name: MaybeText<'a>,
        keyword: MaybeText<'a>,
    }
}

impl OpenAlexRecord for Output {
    type Line<'a> = RawWork<'a>;

    fn keep(work: RawWork<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let updated = times::timestamp(&work.updated_date, diagnostics);
        let identity = openalex_identity(reader.line, Entity::Output, &work.id, updated)?;
        let updated_micros = updated.map_or(i64::MIN, |updated| updated.micros);
        let topics = work.primary_topic.0.iter().chain(work.topics.objects());
        for topic in topics {
            let chain = topic.chain(diagnostics);
            reader.derived.add(&chain, Origin::OutputTopic, updated_micros, reader.object)?;
        }
        let primary_topic = work
            .primary_topic
            .0
            .as_ref()
            .and_then(|topic| parse_reference(Entity::Topic, &topic.id, diagnostics));
        reader.keep(identity, primary_topic, |segment| {
            work.output(identity.id, updated, segment, diagnostics)
        })
    }
}

impl RawWork<'_> {
    fn output(
        &self,
        id: u64,
        updated_date: Option<pinakes_format::record::value::Timestamp>,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Output {
        Output {
            id: Id(id),
            doi: self.doi.to_owned(),
            title: self.title.to_owned(),
            name: self.display_name.to_owned(),
            year: self.publication_year.year(diagnostics),
            date: times::date(&self.publication_date, diagnostics),
            ids: OutputIds { mag: self.ids.0.as_ref().and_then(|ids| ids.mag.0.to_owned()) },
            language: segment.named(self.language.as_str()),
            primary_venue: self.primary_venue(segment, diagnostics),
            additional_venues: self.additional_venues(segment, diagnostics),
            venues_count: self.locations_count.count(diagnostics).or(self.locations_length()),
            kind: segment.code(self.kind.as_str()),
            indexed_in: self.indexed_in.filter_map(|index| segment.code(index.as_str())),
            open_access: self.open_access.0.as_ref().map(|open| open.build(segment)),
            authors: self.authorships.filter_map(|author| {
                author.0.as_ref().map(|author| author.authorship(segment, diagnostics))
            }),
            fwci: self.fwci.fraction(),
            has_fulltext: self.has_fulltext.0,
            cited_by_count: self.cited_by_count.count(diagnostics),
            cites: self.referenced_works_count.count(diagnostics).or(self.referenced_works.0),
            citation_normalized_percentile: self.citation_normalized_percentile.0.as_ref().map(
                |percentile| NormalizedPercentile {
                    value: percentile.value.fraction(),
                    is_in_top_1_percent: percentile.is_in_top_1_percent.0,
                    is_in_top_10_percent: percentile.is_in_top_10_percent.0,
                },
            ),
            cited_by_percentile_year: self.cited_by_percentile_year.0.as_ref().map(|percentile| {
                PercentileYear {
                    min: percentile.min.integer(diagnostics),
                    max: percentile.max.integer(diagnostics),
                }
            }),
            biblio: self.biblio.0.as_ref().map(RawBiblio::build),
            is_retracted: self.is_retracted.0,
            is_paratext: self.is_paratext.0,
            apc_paid: self.apc_paid.0.as_ref().map(|apc| ApcPaid {
                value: apc.value.integer(diagnostics),
                currency: segment.code(apc.currency.as_str()),
                value_usd: apc.value_usd.integer(diagnostics),
                provenance: segment.code(apc.provenance.as_str()),
            }),
            primary_topic: self
                .primary_topic
                .0
                .as_ref()
                .map(|topic| topic.to_reference(segment, diagnostics)),
            topics: self.topics.filter_map(|topic| {
                topic.0.as_ref().map(|topic| topic.to_reference(segment, diagnostics))
            }),
            sustainable_development_goals: self
                .sustainable_development_goals
                .filter_map(|goal| goal.0.as_ref().map(goal_of)),
            funders: self.funders(segment, diagnostics),
            counts_by_year: self.counts_by_year.filter_map(|counts| {
                let counts = counts.0.as_ref()?;
                Some(YearCitations {
                    year: counts.year.year(diagnostics),
                    cited_by_count: counts.cited_by_count.count(diagnostics),
                })
            }),
            keywords: self.keywords.filter_map(|keyword| {
                let keyword = keyword.0.as_ref()?;
                keyword.display_name.to_owned().or_else(|| keyword.keyword.to_owned())
            }),
            abstract_text: self
                .abstract_inverted_index
                .0
                .as_ref()
                .map(|text| segment.long_text(text)),
            updated_date,
            created_date: times::timestamp(&self.created_date, diagnostics),
        }
    }

    fn locations_length(&self) -> Option<u64> {
        self.locations.0.as_ref().map(|locations| locations.len() as u64)
    }

    fn primary_venue(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<PrimaryVenue> {
        let Some(location) = &self.primary_location.0 else {
            return self.host_venue.0.as_ref().map(|venue| venue.build(segment, diagnostics));
        };
        let source = location.source.0.as_ref().map(|source| source.primary(segment, diagnostics));
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

    /// The locations without the primary one. The primary location is the one with the same id; if
    /// the primary or the first location lacks an id, the first location is the primary.
    fn additional_venues(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<Venue>> {
        let locations = self.locations.0.as_ref()?;
        let ids =
            || locations.iter().map(|location| location.0.as_ref().and_then(|own| own.id.as_str()));
        let position_of_primary = |primary_id: Option<&str>| {
            let same = primary_id.and_then(|id| ids().position(|own| own == Some(id)));
            let has_ids = primary_id.is_some() && ids().next().flatten().is_some();
            same.or((!has_ids).then_some(0))
        };
        let primary = self.primary_location.0.as_ref();
        let primary_at = primary.and_then(|primary| position_of_primary(primary.id.as_str()));
        let additional = locations.iter().enumerate().filter(|(at, _)| Some(*at) != primary_at);
        let venues = additional.filter_map(|(_, location)| {
            location.0.as_ref().map(|location| location.venue(segment, diagnostics))
        });
        Some(venues.collect())
    }

    /// Funders with their awards; earlier dumps hold both in `grants`.
    fn funders(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<Funding>> {
        if let Some(funders) = &self.funders.0 {
            let funders = funders.iter().filter_map(|funder| funder.0.as_ref());
            return Some(
                funders.map(|funder| self.funding(funder, segment, diagnostics)).collect(),
            );
        }
        let mut fundings: Vec<(Option<u64>, Option<&str>, Vec<Award>)> = Vec::new();
        self.grants.0.as_ref()?;
        for grant in self.grants.objects() {
            let id = parse_reference(Entity::Funder, &grant.funder, diagnostics);
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

    fn funding(
        &self,
        funder: &RawReference<'_>,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Funding {
        let id = funder.number(Entity::Funder, diagnostics);
        let awards = self.awards.0.as_ref().map(|_| {
            let of_funder = |award: &&RawAward<'_>| {
                id.is_some() && parse_reference(Entity::Funder, &award.funder_id, diagnostics) == id
            };
            self.awards.objects().filter(of_funder).map(RawAward::build).collect()
        });
        Funding { funder: funder.to_reference(Entity::Funder, segment, diagnostics), awards }
    }
}

fn goal_of(goal: &RawReference<'_>) -> Goal {
    let number = goal.id.0.as_str().and_then(|id| identifier::last_part(id).parse().ok());
    Goal { id: number, name: goal.display_name.to_owned() }
}

impl RawLocationSource<'_> {
    fn primary(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> PrimaryVenueSource {
        let VenueSource { source, kind } = self.build(segment, diagnostics);
        PrimaryVenueSource { source, kind, metrics: VenueMetrics(source) }
    }

    fn build(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> VenueSource {
        source_of(&self.id, &self.display_name, &self.kind, segment, diagnostics)
    }
}

fn source_of(
    id: &MaybeId<'_>,
    name: &MaybeText<'_>,
    kind: &MaybeText<'_>,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> VenueSource {
    let source = segment.reference(parse_reference(Entity::Source, id, diagnostics), name.as_str());
    let code = segment.code_number(Table::SourceType as u8, kind.as_str());
    VenueSource { source, kind: SourceKind { source: source.0, code } }
}

impl RawLocation<'_> {
    fn venue(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> Venue {
        Venue {
            id: self.id.to_owned(),
            is_oa: self.is_oa.0,
            landing_page_url: self.landing_page_url.to_owned(),
            pdf_url: self.pdf_url.to_owned(),
            license: segment.code(self.license.as_str()),
            version: segment.code(self.version.as_str()),
            is_accepted: self.is_accepted.0,
            is_published: self.is_published.0,
            source: self.source.0.as_ref().map(|source| source.build(segment, diagnostics)),
        }
    }
}

impl RawHostVenue<'_> {
    fn build(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> PrimaryVenue {
        let has_source = self.id.0.0.is_some() || self.display_name.0.is_some();
        let source = has_source.then(|| {
            let VenueSource { source, kind } =
                source_of(&self.id, &self.display_name, &self.kind, segment, diagnostics);
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
    fn build(&self, segment: &mut SegmentBuilder) -> OpenAccess {
        OpenAccess {
            is_oa: self.is_oa.0,
            oa_status: segment.code(self.oa_status.as_str()),
            oa_url: self.oa_url.to_owned(),
        }
    }
}

impl RawAuthorship<'_> {
    fn authorship(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> Authorship {
        let author = self.author.0.as_ref();
        let id = author.and_then(|author| parse_reference(Entity::Author, &author.id, diagnostics));
        let name = author.and_then(|author| author.display_name.as_str());
        let raw_strings =
            match (&self.raw_affiliation_strings.0, self.raw_affiliation_string.as_str()) {
                (Some(strings), _) => Some(
                    strings
                        .iter()
                        .filter_map(MaybeText::as_str)
                        .map(|text| segment.long_text(text))
                        .collect(),
                ),
                (None, Some(text)) => Some(vec![segment.long_text(text)]),
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
                institution
                    .0
                    .as_ref()
                    .map(|raw| raw.to_reference(Entity::Institution, segment, diagnostics))
            }),
            countries: self.countries.filter_map(|country| segment.named(country.as_str())),
            is_corresponding: self.is_corresponding.0,
            raw_affiliation_strings: raw_strings,
        }
    }
}

impl RawBiblio<'_> {
    fn build(&self) -> Biblio {
        Biblio {
            volume: self.volume.to_owned(),
            issue: self.issue.to_owned(),
            first_page: self.first_page.to_owned(),
            last_page: self.last_page.to_owned(),
        }
    }
}

impl RawTopic<'_> {
    fn to_reference<const E: u8>(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> pinakes_format::record::value::Ref<E> {
        segment.reference(
            parse_reference(Entity::Topic, &self.id, diagnostics),
            self.display_name.as_str(),
        )
    }

    fn chain(&self, diagnostics: &Diagnostics) -> [(Entity, Option<NodeRef<'_>>); 4] {
        let own = parse_reference(Entity::Topic, &self.id, diagnostics)
            .map(|id| NodeRef { id, name: self.display_name.as_str() });
        [
            (Entity::Topic, own),
            (Entity::Subfield, node_of(&self.subfield, Entity::Subfield, diagnostics)),
            (Entity::Field, node_of(&self.field, Entity::Field, diagnostics)),
            (Entity::Domain, node_of(&self.domain, Entity::Domain, diagnostics)),
        ]
    }
}

impl RawAward<'_> {
    fn build(&self) -> Award {
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
