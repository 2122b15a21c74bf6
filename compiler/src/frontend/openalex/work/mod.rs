//! Works, which Pinakes calls outputs.
//!
//! [`line`] declares the members of a line; [`venue`] and [`funding`] convert the members that differ
//! most between vintages.

pub(crate) mod funding;
pub(crate) mod line;
pub(crate) mod venue;

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    ApcPaid, Authorship, Biblio, Content, Goal, Id, NormalizedPercentile, OpenAccess, Orcid,
    Output, OutputIds, PercentileYear, PrintedName, PrintedOrcid, Ref, Timestamp, YearCitations,
    is_keyword_id, keyword_id,
};
use pinakes_format::schema::Scheme;

use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::shared::{node_of, openalex_identity, references};
use crate::frontend::openalex::work::line::{
    Ids, RawApc, RawAuthorship, RawBiblio, RawGoal, RawKeyword, RawOpenAccess, RawTopic, RawWork,
};
use crate::frontend::reader::{BadRecord, LineReader};
use crate::object::{Chain, NodeRef, SegmentBuilder};
use crate::read::{Diagnostics, MaybeText, identifier, parse_reference, times};

/// The prefix of a keyword's id.
const KEYWORD_URL: &str = "https://openalex.org/keywords/";

impl OpenAlexRecord for Output {
    type Line<'a> = RawWork<'a>;

    fn keep(work: RawWork<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let updated = times::timestamp(&work.updated_date, diagnostics);
        let identity = openalex_identity(reader.line, Entity::Output, &work.id, updated)?;
        let primary_topic = work
            .primary_topic
            .0
            .as_ref()
            .and_then(|topic| parse_reference(Entity::Topic, &topic.id, diagnostics));
        reader.keep(identity, primary_topic, |segment| {
            segment.refer_to(&work.referenced_works.ids);
            for topic in work.primary_topic.0.iter().chain(work.topics.objects()) {
                segment.derive_from(&topic.chain(diagnostics));
            }
            work.output(identity.id, updated, segment, diagnostics)
        })
    }
}

impl RawWork<'_> {
    fn output(
        &self,
        id: u64,
        updated_date: Option<Timestamp>,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Output {
        // Members are made in the order of the declaration, because `SegmentBuilder::hash_content` expects symbols in
        // this order.
        Output {
            id: Id(id),
            doi: self.doi.to_owned(),
            title: self.title.to_owned(),
            // Lines have either name or both.
            name: self.display_name.to_owned().or_else(|| self.title.to_owned()),
            year: self.publication_year.year(diagnostics),
            date: times::date(&self.publication_date, diagnostics),
            ids: self.ids.0.as_ref().map(Ids::build).unwrap_or_default(),
            language: segment.named(self.language.as_str()),
            primary_venue: self.primary_venue(segment, diagnostics),
            additional_venues: self.additional_venues(segment, diagnostics),
            best_oa_venue: self.best_oa_venue(),
            // A line without the number may have the list.
            venues_count: self.locations_count.count(diagnostics).or(self.locations_length()),
            kind: segment.code(self.kind.as_str()),
            type_crossref: segment.code(self.type_crossref.as_str()),
            indexed_in: self.indexed_in.filter_map(|index| segment.code(index.as_str())),
            open_access: self.open_access.0.as_ref().map(|open| open.build(segment)),
            authors: self.authorships.filter_map(|author| {
                author.0.as_ref().map(|author| author.authorship(segment, diagnostics))
            }),
            raw_orcids: self.raw_orcids(),
            institution_assertions: references(
                &self.institution_assertions,
                Entity::Institution,
                segment,
                diagnostics,
            )
            .filter(|asserted| !asserted.is_empty()),
            fwci: self.fwci.fraction(),
            has_fulltext: self.has_fulltext.0,
            fulltext_origin: segment.code(self.fulltext_origin.as_str()),
            has_content: self
                .has_content
                .0
                .as_ref()
                .map(|has| Content { pdf: has.pdf.0, grobid_xml: has.grobid_xml.0 }),
            cited_by_count: self.cited_by_count.count(diagnostics),
            cites: self.referenced_works_count.count(diagnostics).or(self.referenced_works.length),
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
            is_xpac: self.is_xpac.0 == Some(true),
            apc_paid: self.apc_paid.0.as_ref().map(|apc| apc.build(segment, diagnostics)),
            apc_list: self.apc_list.0.as_ref().map(|apc| apc.build(segment, diagnostics)),
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
                keyword.0.as_ref().and_then(RawKeyword::name).map(str::to_owned)
            }),
            keyword_ids: self.keyword_ids(),
            concepts_count: self
                .concepts_count
                .count(diagnostics)
                .or_else(|| Some(self.concepts.0.as_ref()?.len() as u64)),
            datasets: self
                .datasets
                .filter_map(|id| {
                    let id = parse_reference(Entity::Output, id, diagnostics)?;
                    Some(Entity::Output.id_text(id))
                })
                .filter(|datasets| !datasets.is_empty()),
            abstract_text: self
                .abstract_inverted_index
                .0
                .as_ref()
                .map(|text| segment.long_text(text)),
            updated_date,
            created_date: times::timestamp(&self.created_date, diagnostics),
        }
    }

    /// The ids of the keywords; `None` where the names give all of them. A keyword without an id has
    /// the id that its name gives.
    fn keyword_ids(&self) -> Option<Vec<String>> {
        let has_other = self.keywords.objects().any(|keyword| {
            let given = keyword.name().zip(keyword.given_id());
            given.is_some_and(|(name, id)| !is_keyword_id(id, name))
        });
        if !has_other {
            return None;
        }
        self.keywords.filter_map(|keyword| {
            let keyword = keyword.0.as_ref()?;
            let name = keyword.name()?;
            Some(keyword.given_id().map_or_else(|| keyword_id(name), str::to_owned))
        })
    }

    /// The ORCID iDs that the work prints, without those that the authors have; `None` where there is none.
    fn raw_orcids(&self) -> Option<Vec<PrintedOrcid>> {
        let bare = |orcid: &MaybeText<'_>| orcid.as_str().and_then(identifier::bare_orcid);
        let printed = self.authorships.objects().enumerate().filter_map(|(at, authorship)| {
            let printed = bare(&authorship.raw_orcid)?;
            let of_author = authorship.author.0.as_ref().and_then(|author| bare(&author.orcid));
            let orcid = (of_author.as_ref() != Some(&printed)).then_some(Orcid(printed));
            Some(PrintedOrcid { author: at as u64, orcid })
        });
        let printed: Vec<PrintedOrcid> = printed.collect();
        (!printed.is_empty()).then_some(printed)
    }

    fn locations_length(&self) -> Option<u64> {
        self.locations.0.as_ref().map(|locations| locations.len() as u64)
    }
}

fn goal_of(goal: &RawGoal<'_>) -> Goal {
    let number = goal.id.0.as_str().and_then(|id| identifier::last_part(id).parse().ok());
    Goal { id: number, name: goal.display_name.to_owned(), score: goal.score.fraction() }
}

impl Ids<'_> {
    fn build(&self) -> OutputIds {
        let pmid = self.pmid.0.as_str().map(|pmid| Scheme::Pmid.normal(pmid));
        let pmcid = self.pmcid.0.as_str().map(|pmcid| identifier::last_part(pmcid).to_owned());
        OutputIds {
            mag: self.mag.0.to_owned(),
            pmid: pmid.filter(|pmid| !pmid.is_empty()),
            pmcid: pmcid.filter(|pmcid| !pmcid.is_empty()),
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
        // Older dumps have one string in place of the list. Long texts are no symbols, so they may precede the members.
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
            raw_author_name: self
                .raw_author_name
                .as_str()
                .map(|name| PrintedName(segment.long_text(name))),
            orcid: author
                .and_then(|author| author.orcid.as_str())
                .and_then(identifier::bare_orcid)
                .map(Orcid),
            affiliations: self.institutions.filter_map(|institution| {
                let raw = institution.0.as_ref()?;
                let id = raw.number(Entity::Institution, diagnostics);
                let name = raw.display_name.as_str();
                // An institution without id and name says nothing.
                (id.is_some() || name.is_some()).then(|| segment.reference(id, name))
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

impl RawApc<'_> {
    fn build(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> ApcPaid {
        ApcPaid {
            value: self.value.integer(diagnostics),
            currency: segment.code(self.currency.as_str()),
            value_usd: self.value_usd.integer(diagnostics),
            provenance: segment.code(self.provenance.as_str()),
        }
    }
}

impl RawKeyword<'_> {
    fn name(&self) -> Option<&str> {
        self.display_name.as_str().or(self.keyword.as_str())
    }

    fn given_id(&self) -> Option<&str> {
        self.id.as_str().map(|id| id.strip_prefix(KEYWORD_URL).unwrap_or(id))
    }
}

impl RawTopic<'_> {
    fn to_reference<const E: u8>(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Ref<E> {
        segment.reference(
            parse_reference(Entity::Topic, &self.id, diagnostics),
            self.display_name.as_str(),
        )
    }

    fn chain(&self, diagnostics: &Diagnostics) -> Chain<'_> {
        let own = parse_reference(Entity::Topic, &self.id, diagnostics)
            .map(|id| NodeRef { id, name: self.display_name.as_str() });
        [
            own,
            node_of(&self.subfield, Entity::Subfield, diagnostics),
            node_of(&self.field, Entity::Field, diagnostics),
            node_of(&self.domain, Entity::Domain, diagnostics),
        ]
    }
}
