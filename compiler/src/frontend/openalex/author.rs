//! Authors.

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    Affiliation, Author, AuthorIds, AuthorOrcid, Id, NameParts, OrcidProfile, name_parts,
};
use pinakes_format::text::fold::fold;

use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::shared::*;
use crate::frontend::reader::{BadRecord, LineReader};
use crate::object::SegmentBuilder;
use crate::read::{
    Diagnostics, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, identifier, members,
    times,
};

members! {
    pub(crate) struct RawAuthor<'a> {
        id: MaybeId<'a>,
        orcid: MaybeText<'a>,
        display_name: MaybeText<'a>,
        full_name: MaybeText<'a>,
        longest_name: MaybeText<'a>,
        parsed_longest_name: MaybeObject<RawNameParts<'a>>,
        works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        last_known_institutions: MaybeList<MaybeObject<RawReference<'a>>>,
        last_known_institution: MaybeObject<RawReference<'a>>,
        affiliations: MaybeList<MaybeObject<RawAffiliation<'a>>>,
        summary_stats: MaybeObject<RawSummaryStats>,
        topics: MaybeList<MaybeObject<RawTopicCount<'a>>>,
        topic_share: MaybeList<MaybeObject<RawTopicShare<'a>>>,
        counts_by_year: MaybeList<MaybeObject<RawYearCounts>>,
        ids: MaybeObject<RawAuthorIds<'a>>,
        display_name_alternatives: MaybeList<MaybeText<'a>>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawAffiliation<'a> {
        institution: MaybeObject<RawReference<'a>>,
        years: MaybeList<MaybeNumber>,
    }

    struct RawNameParts<'a> {
        first: MaybeText<'a>,
        middle: MaybeText<'a>,
        last: MaybeText<'a>,
        suffix: MaybeText<'a>,
    }

    struct RawAuthorIds<'a> {
        scopus: MaybeId<'a>,
    }
}

impl OpenAlexRecord for Author {
    type Line<'a> = RawAuthor<'a>;

    fn keep(raw: RawAuthor<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = identify::<Self>(reader, &raw.id, &raw.display_name, &raw.updated_date)?;
        reader.keep(identity, None, |segment| Author {
            id: Id(identity.id),
            orcid: raw
                .orcid
                .as_str()
                .and_then(identifier::bare_orcid)
                .map(|id| AuthorOrcid(OrcidProfile { id, ..OrcidProfile::default() })),
            name: raw.display_name.to_owned(),
            full_name: raw.longest().map(str::to_owned),
            name_parts: raw.parsed_longest_name.0.as_ref().map(|parts| parts.of(raw.longest())),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            last_known_institutions: raw.last_known(segment, diagnostics),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
            affiliations: raw.affiliations.map_objects(|raw| raw.build(segment, diagnostics)),
            summary_stats: summary_stats(&raw.summary_stats, diagnostics),
            topics: topic_shares(&raw.topics, &raw.topic_share, segment, diagnostics),
            counts_by_year: year_counts(&raw.counts_by_year, diagnostics),
            display_name_alternatives: texts(&raw.display_name_alternatives),
            ids: raw.ids.0.as_ref().and_then(RawAuthorIds::build),
        })
    }
}

impl RawNameParts<'_> {
    /// The parts of the longest name; none where the name gives the same.
    fn of(&self, name: Option<&str>) -> NameParts {
        let given = [&self.first, &self.middle, &self.last, &self.suffix];
        let given = given.map(|part| part.as_str().unwrap_or_default());
        let follow = name.is_some_and(|name| {
            given.iter().zip(name_parts(name)).all(|(given, part)| fold(given) == fold(part))
        });
        if follow {
            return NameParts::default();
        }
        let [first, middle, last, suffix] =
            given.map(|part| (!part.is_empty()).then(|| part.to_owned()));
        NameParts { first, middle, last, suffix }
    }
}

impl RawAuthor<'_> {
    /// The longest name, which has two names among dumps.
    fn longest(&self) -> Option<&str> {
        self.full_name.as_str().or(self.longest_name.as_str())
    }

    fn last_known<const E: u8>(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<pinakes_format::record::value::Ref<E>>> {
        let entity = Entity::Institution;
        let several = references(&self.last_known_institutions, entity, segment, diagnostics);
        let one = self.last_known_institution.0.as_ref();
        several.or_else(|| one.map(|raw| vec![raw.to_reference(entity, segment, diagnostics)]))
    }
}

impl RawAuthorIds<'_> {
    /// `None` without identifiers. The number in Scopus stands in a URL:
    /// `http://www.scopus.com/inward/authorDetails.url?authorID=7005496253&partnerID=MN8TOARS`.
    fn build(&self) -> Option<AuthorIds> {
        let url = self.scopus.0.as_str()?;
        let number = url.split_once("authorID=").and_then(|(_, rest)| rest.split('&').next());
        Some(AuthorIds { scopus: Some(number.unwrap_or(url).to_owned()) })
    }
}

impl RawAffiliation<'_> {
    fn build(&self, segment: &mut SegmentBuilder, diagnostics: &Diagnostics) -> Affiliation {
        let institution = self.institution.0.as_ref();
        Affiliation {
            institution: match institution {
                Some(raw) => raw.to_reference(Entity::Institution, segment, diagnostics),
                None => segment.reference(None, None),
            },
            years: self.years.filter_map(|year| year.year(diagnostics)),
        }
    }
}
