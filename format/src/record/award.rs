//! The record of an award.

use crate::record::declare::{object, record};
use crate::record::shared::*;
use crate::record::value::*;

object! {
    /// A grant or another award of a funder.
    Award {
        /// `HX_G` and a number.
        id: Id<AWARD>,
        /// Display name.
        name: Option<String>,
        /// Description of the research.
        @single description: Option<LongText>,
        /// DOI as URL.
        doi: Option<String>,
        /// Landing page.
        landing_page_url: Option<String>,
        /// The funder's own number.
        funder_award_id: Option<String>,
        /// The funder of the award.
        funder: Option<Ref<FUNDER>>,
        /// Amount, in the currency of the award.
        amount: Option<f64>,
        /// Currency.
        currency: Option<Currency>,
        /// grant, fellowship, prize or another type.
        funding_type: Option<Code<{ Table::FundingType as u8 }>>,
        /// The funder's programme.
        funder_scheme: Option<String>,
        /// Origin of the record.
        provenance: Option<Code<{ Table::Provenance as u8 }>>,
        /// First day.
        start_date: Option<Date>,
        /// Last day.
        end_date: Option<Date>,
        /// First year.
        start_year: Option<i32>,
        /// Last year.
        end_year: Option<i32>,
        /// The person who leads the research.
        lead_investigator: Option<Investigator>,
        /// A second person who leads the research.
        @single co_lead_investigator: Option<Investigator>,
        /// Other people of the research.
        @single investigators: Option<Vec<Investigator>>,
        /// Institutions that received the award.
        institutions: Option<Vec<Ref<INSTITUTION>>>,
        /// Primary topic.
        primary_topic: Option<Ref<TOPIC>>,
        /// Topics.
        topics: Option<Vec<Ref<TOPIC>>>,
        /// Outputs that name the award.
        outputs_count: Option<u64>,
        /// When the record changed.
        updated_date: Option<Timestamp>,
        /// When the record was made.
        created_date: Option<Timestamp>,
    }
}

record!(Award by outputs_count);

object! {
    /// A person of an award.
    Investigator {
        /// Given name.
        given_name: Option<String>,
        /// Family name.
        family_name: Option<String>,
        /// ORCID iD as URL.
        orcid: Option<Orcid>,
        /// First day of the person in this role.
        role_start: Option<Date>,
        /// Affiliation, as the award names it.
        affiliation: Option<InvestigatorAffiliation>,
    }

    /// The affiliation of a person of an award, which is no record.
    InvestigatorAffiliation {
        /// Name.
        name: Option<String>,
        /// Country.
        country: Option<String>,
        /// Identifiers.
        ids: Option<Vec<AffiliationId>>,
    }

    /// An identifier of an affiliation.
    AffiliationId {
        /// Identifier, such as a ROR id.
        id: Option<String>,
        /// System of the identifier.
        kind as "type": Option<String>,
        /// Source of the identifier.
        asserted_by: Option<String>,
    }
}
