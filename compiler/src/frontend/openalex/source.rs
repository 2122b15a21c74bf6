//! Sources: journals, repositories and other venues.

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    ApcPrice, HostName, Id, Society, Source, SourceIds, Standing, YearPrice, YearPrices,
};
use serde::de::{MapAccess, SeqAccess};

use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::shared::*;
use crate::frontend::reader::{BadRecord, LineReader};
use crate::object::SegmentBuilder;
use crate::read::{
    Diagnostics, Lenient, MaybeBool, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText,
    MemberName, identifier, members, times,
};

members! {
    pub(crate) struct RawSource<'a> {
        id: MaybeId<'a>,
        issn_l: MaybeText<'a>,
        issn: MaybeList<MaybeText<'a>>,
        display_name: MaybeText<'a>,
        host_organization: MaybeId<'a>,
        host_organization_name: MaybeText<'a>,
        works_count: MaybeNumber,
        oa_works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        summary_stats: MaybeObject<RawSummaryStats>,
        is_oa: MaybeBool,
        is_in_doaj: MaybeBool,
        is_in_doaj_since_year: MaybeNumber,
        is_high_oa_rate: MaybeBool,
        is_high_oa_rate_since_year: MaybeNumber,
        is_in_scielo: MaybeBool,
        is_ojs: MaybeBool,
        is_preprint_repository: MaybeBool,
        is_core: MaybeBool,
        oa_flip_year: MaybeNumber,
        first_publication_year: MaybeNumber,
        last_publication_year: MaybeNumber,
        homepage_url: MaybeText<'a>,
        apc_prices: MaybeList<MaybeObject<RawPrice<'a>>>,
        apc_usd: MaybeNumber,
        apc_usd_by_year: RawYearPrices,
        country_code: MaybeText<'a>,
        societies: MaybeList<MaybeObject<RawSociety<'a>>>,
        alternate_titles: MaybeList<MaybeText<'a>>,
        kind as "type": MaybeText<'a>,
        counts_by_year: MaybeList<MaybeObject<RawYearCounts>>,
        ids: MaybeObject<RawIds<'a>>,
        topics: MaybeList<MaybeObject<RawTopicCount<'a>>>,
        topic_share: MaybeList<MaybeObject<RawTopicShare<'a>>>,
        x_concepts: MaybeList<MaybeObject<RawConcept<'a>>>,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawPrice<'a> {
        price: MaybeNumber,
        currency: MaybeText<'a>,
    }

    struct RawSociety<'a> {
        url: MaybeText<'a>,
        organization: MaybeText<'a>,
    }

    struct RawIds<'a> {
        mag: MaybeId<'a>,
        wikidata: MaybeId<'a>,
    }
}

/// Prices by year: a list of `{year, price}`, or an object from year to price.
#[derive(Default)]
struct RawYearPrices(Option<Vec<YearPrice>>);

members! {
    struct RawYearPrice {
        year: MaybeNumber,
        price: MaybeNumber,
    }
}

impl<'de> Lenient<'de> for RawYearPrices {
    fn other(diagnostics: &Diagnostics) -> RawYearPrices {
        diagnostics.warn("not_an_array");
        RawYearPrices(None)
    }

    fn of_array<A: SeqAccess<'de>>(
        mut array: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let mut prices = Vec::new();
        while let Some(price) =
            array.next_element_seed(diagnostics.seed::<MaybeObject<RawYearPrice>>())?
        {
            let price = price.0.and_then(|raw| price_of(raw.year, raw.price, diagnostics));
            prices.extend(price);
        }
        Ok(RawYearPrices(Some(prices)))
    }

    fn of_object<A: MapAccess<'de>>(
        mut object: A,
        diagnostics: &Diagnostics,
    ) -> Result<Self, A::Error> {
        let mut prices = Vec::new();
        while let Some(MemberName(year)) = object.next_key::<MemberName<'de>>()? {
            let price = object.next_value_seed(diagnostics.seed())?;
            let year = year.parse().map_or(MaybeNumber::Null, MaybeNumber::Integer);
            prices.extend(price_of(year, price, diagnostics));
        }
        Ok(RawYearPrices(Some(prices)))
    }
}

fn price_of(year: MaybeNumber, price: MaybeNumber, diagnostics: &Diagnostics) -> Option<YearPrice> {
    Some(YearPrice { year: year.year(diagnostics)?, price: price.integer(diagnostics) })
}

impl OpenAlexRecord for Source {
    type Line<'a> = RawSource<'a>;

    fn keep(raw: RawSource<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = identify::<Self>(reader, &raw.id, &raw.display_name, &raw.updated_date)?;
        // Members are made in the order of the declaration, because `SegmentBuilder::hash_content` expects symbols in
        // this order.
        reader.keep(identity, None, |segment| Source {
            id: Id(identity.id),
            issn_l: raw.issn_l.to_owned(),
            issn: texts(&raw.issn),
            name: raw.display_name.to_owned(),
            host_organization_name: raw.host_name(segment),
            host_organization: raw.host().map(|(host, id)| segment.any_reference(host, id)),
            outputs_count: raw.works_count.count(diagnostics),
            oa_outputs_count: raw.oa_works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            summary_stats: summary_stats(&raw.summary_stats, diagnostics),
            standing: raw.standing(diagnostics),
            first_publication_year: raw.first_publication_year.year(diagnostics),
            last_publication_year: raw.last_publication_year.year(diagnostics),
            homepage_url: raw.homepage_url.to_owned(),
            apc_prices: raw.apc_prices.map_objects(|raw| ApcPrice {
                price: raw.price.integer(diagnostics),
                currency: segment.code(raw.currency.as_str()),
            }),
            apc_usd: raw.apc_usd.integer(diagnostics),
            apc_usd_by_year: raw.apc_usd_by_year.0.clone().map(YearPrices),
            country: segment.named(raw.country_code.as_str()),
            societies: raw.societies.map_objects(|raw| Society {
                url: raw.url.to_owned(),
                organization: raw.organization.to_owned(),
            }),
            alternate_titles: texts(&raw.alternate_titles),
            kind: segment.code(raw.kind.as_str()),
            counts_by_year: year_counts(&raw.counts_by_year, diagnostics),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
            ids: SourceIds {
                mag: raw.ids.id(|ids| &ids.mag),
                openalex: Some(identifier::openalex_url(Entity::Source, identity.id)),
                wikidata: raw.ids.id(|ids| &ids.wikidata),
            },
            topics: topic_shares(&raw.topics, &raw.topic_share, segment, diagnostics),
            concepts: concepts(&raw.x_concepts),
            // Side tables fill these.
            metrics: None,
            doaj: None,
        })
    }
}

impl RawSource<'_> {
    fn standing(&self, diagnostics: &Diagnostics) -> Standing {
        Standing {
            is_oa: self.is_oa.0,
            is_in_doaj: self.is_in_doaj.0,
            is_high_oa_rate: self.is_high_oa_rate.0,
            is_in_scielo: self.is_in_scielo.0,
            is_ojs: self.is_ojs.0,
            is_preprint_repository: self.is_preprint_repository.0,
            is_core: self.is_core.0,
            is_in_doaj_since_year: self.is_in_doaj_since_year.year(diagnostics),
            is_high_oa_rate_since_year: self.is_high_oa_rate_since_year.year(diagnostics),
            oa_flip_year: self.oa_flip_year.year(diagnostics),
        }
    }

    fn host(&self) -> Option<(Entity, u64)> {
        self.host_organization.0.as_str().and_then(identifier::parse_any)
    }

    fn host_name(&self, segment: &mut SegmentBuilder) -> Option<HostName> {
        let given = self.host_organization_name.to_owned();
        let (publisher, institution) = match (&given, self.host()) {
            (None, Some((Entity::Publisher, id))) => {
                (Some(segment.reference(Some(id), None)), None)
            }
            (None, Some((Entity::Institution, id))) => {
                (None, Some(segment.reference(Some(id), None)))
            }
            (None, _) => return None,
            (Some(_), _) => (None, None),
        };
        Some(HostName { given, publisher, institution })
    }
}
