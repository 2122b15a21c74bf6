//! Awards.

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    AffiliationId, Award, Id, Investigator, InvestigatorAffiliation, Orcid,
};

use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::shared::*;
use crate::frontend::reader::{BadRecord, LineReader};
use crate::read::{
    Diagnostics, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, identifier, members,
    times,
};

members! {
    pub(crate) struct RawAward<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        description: MaybeText<'a>,
        doi: MaybeText<'a>,
        landing_page_url: MaybeText<'a>,
        funder_award_id: MaybeId<'a>,
        funder: MaybeObject<RawReference<'a>>,
        amount: MaybeNumber,
        currency: MaybeText<'a>,
        funding_type: MaybeText<'a>,
        funder_scheme: MaybeText<'a>,
        provenance: MaybeText<'a>,
        start_date: MaybeText<'a>,
        end_date: MaybeText<'a>,
        start_year: MaybeNumber,
        end_year: MaybeNumber,
        lead_investigator: MaybeObject<RawInvestigator<'a>>,
        co_lead_investigator: MaybeObject<RawInvestigator<'a>>,
        investigators: MaybeList<MaybeObject<RawInvestigator<'a>>>,
        institution_awarded: MaybeList<MaybeObject<RawReference<'a>>>,
        primary_topic: MaybeObject<RawReference<'a>>,
        topics: MaybeList<MaybeObject<RawReference<'a>>>,
        funded_outputs_count: MaybeNumber,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct RawInvestigator<'a> {
        given_name: MaybeText<'a>,
        family_name: MaybeText<'a>,
        orcid: MaybeText<'a>,
        role_start: MaybeText<'a>,
        affiliation: MaybeObject<RawAffiliation<'a>>,
    }

    struct RawAffiliation<'a> {
        name: MaybeText<'a>,
        country: MaybeText<'a>,
        ids: MaybeList<MaybeObject<RawAffiliationId<'a>>>,
    }

    struct RawAffiliationId<'a> {
        id: MaybeId<'a>,
        kind as "type": MaybeText<'a>,
        asserted_by: MaybeText<'a>,
    }
}

impl OpenAlexRecord for Award {
    type Line<'a> = RawAward<'a>;

    fn keep(raw: RawAward<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let updated = times::timestamp(&raw.updated_date, diagnostics);
        let identity = openalex_identity(reader.line, Entity::Award, &raw.id, updated)?;
        // As of institutions, the order of the declaration is the order of the symbols.
        reader.keep(identity, None, |segment| Award {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            description: raw.description.as_str().map(|text| segment.long_text(text)),
            doi: raw.doi.to_owned(),
            landing_page_url: raw.landing_page_url.to_owned(),
            funder_award_id: raw.funder_award_id.0.to_owned(),
            funder: reference(&raw.funder, Entity::Funder, segment, diagnostics),
            amount: raw.amount.fraction(),
            currency: segment.code(raw.currency.as_str()),
            funding_type: segment.code(raw.funding_type.as_str()),
            funder_scheme: raw.funder_scheme.to_owned(),
            provenance: segment.code(raw.provenance.as_str()),
            start_date: times::date(&raw.start_date, diagnostics),
            end_date: times::date(&raw.end_date, diagnostics),
            start_year: raw.start_year.year(diagnostics),
            end_year: raw.end_year.year(diagnostics),
            lead_investigator: investigator(&raw.lead_investigator, diagnostics),
            co_lead_investigator: investigator(&raw.co_lead_investigator, diagnostics),
            investigators: raw.investigators.filter_map(|raw| investigator(raw, diagnostics)),
            institutions: references(
                &raw.institution_awarded,
                Entity::Institution,
                segment,
                diagnostics,
            ),
            primary_topic: reference(&raw.primary_topic, Entity::Topic, segment, diagnostics),
            topics: references(&raw.topics, Entity::Topic, segment, diagnostics),
            outputs_count: raw.funded_outputs_count.count(diagnostics),
            updated_date: identity.updated,
            created_date: times::timestamp(&raw.created_date, diagnostics),
        })
    }
}

/// A person; `None` of an object whose members are all null, as Parquet files have in place of null.
fn investigator(
    raw: &MaybeObject<RawInvestigator<'_>>,
    diagnostics: &Diagnostics,
) -> Option<Investigator> {
    let raw = raw.0.as_ref()?;
    let person = Investigator {
        given_name: raw.given_name.to_owned(),
        family_name: raw.family_name.to_owned(),
        orcid: raw.orcid.as_str().and_then(identifier::bare_orcid).map(Orcid),
        role_start: times::date(&raw.role_start, diagnostics),
        affiliation: raw.affiliation.0.as_ref().and_then(RawAffiliation::build),
    };
    (person != Investigator::default()).then_some(person)
}

impl RawAffiliation<'_> {
    fn build(&self) -> Option<InvestigatorAffiliation> {
        let affiliation = InvestigatorAffiliation {
            name: self.name.to_owned(),
            country: self.country.to_owned(),
            ids: self.ids.map_objects(|raw| AffiliationId {
                id: raw.id.0.to_owned(),
                kind: raw.kind.to_owned(),
                asserted_by: raw.asserted_by.to_owned(),
            }),
        };
        (affiliation != InvestigatorAffiliation::default()).then_some(affiliation)
    }
}
