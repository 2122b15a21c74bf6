//! The funders of a work and their awards.

use pinakes_format::entity::Entity;
use pinakes_format::record::{Funding, OutputAward};

use crate::frontend::openalex::shared::RawReference;
use crate::frontend::openalex::work::line::{RawWork, RawWorkAward};
use crate::object::SegmentBuilder;
use crate::read::{Diagnostics, identifier, parse_reference};

/// The grants of one funder.
struct FunderGrants<'w> {
    id: Option<u64>,
    name: Option<&'w str>,
    awards: Vec<OutputAward>,
}

impl FunderGrants<'_> {
    /// Whether the grants are of a funder, by its id, or by its name if it has no id.
    fn is_of(&self, id: Option<u64>, name: Option<&str>) -> bool {
        self.id == id && (id.is_some() || self.name == name)
    }
}

impl RawWork<'_> {
    /// Funders with their awards. Earlier dumps hold both in `grants`; some dumps hold funders in
    /// `funders` and the award numbers in `grants`.
    pub(super) fn funders(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<Funding>> {
        let grants = self.grants_by_funder(diagnostics);
        if let Some(funders) = &self.funders.0 {
            let funders = funders.iter().filter_map(|funder| funder.0.as_ref());
            let funding =
                |funder: &RawReference<'_>| self.funding(funder, &grants, segment, diagnostics);
            return Some(funders.map(funding).collect());
        }
        self.grants.0.as_ref()?;
        let fundings = grants.into_iter().map(|FunderGrants { id, name, awards }| Funding {
            funder: segment.reference(id, name),
            awards: Some(awards),
        });
        Some(fundings.collect())
    }

    /// Groups the grants by funder, in the order of each funder's first grant.
    fn grants_by_funder(&self, diagnostics: &Diagnostics) -> Vec<FunderGrants<'_>> {
        let mut grants: Vec<FunderGrants<'_>> = Vec::new();
        for grant in self.grants.objects() {
            let id = parse_reference(Entity::Funder, &grant.funder, diagnostics);
            let name = grant.funder_display_name.as_str();
            let known = grants.iter().position(|known| known.is_of(id, name));
            let at = known.unwrap_or_else(|| {
                grants.push(FunderGrants { id, name, awards: Vec::new() });
                grants.len() - 1
            });
            let numbers = grant.award_id.0.as_str().unwrap_or_default().split(", ");
            let numbers = numbers.map(str::trim).filter(|number| !number.is_empty());
            grants[at].awards.extend(numbers.map(|number| OutputAward {
                funder_award_id: Some(number.to_owned()),
                ..OutputAward::default()
            }));
        }
        grants
    }

    /// A funder with its awards; the awards of its grants fill a funder without awards.
    fn funding(
        &self,
        funder: &RawReference<'_>,
        grants: &[FunderGrants<'_>],
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Funding {
        let id = funder.number(Entity::Funder, diagnostics);
        let name = funder.display_name.as_str();
        let mut awards = self.awards.0.as_ref().map(|_| {
            let of_funder = |award: &&RawWorkAward<'_>| {
                id.is_some() && parse_reference(Entity::Funder, &award.funder_id, diagnostics) == id
            };
            self.awards.objects().filter(of_funder).map(RawWorkAward::build).collect()
        });
        if awards.as_ref().is_none_or(Vec::is_empty) {
            let granted = grants.iter().find(|grants| grants.is_of(id, name));
            let granted = granted.filter(|grants| !grants.awards.is_empty());
            awards = granted.map(|grants| grants.awards.clone()).or(awards);
        }
        Funding { funder: segment.reference(id, name), awards }
    }
}

impl RawWorkAward<'_> {
    fn build(&self) -> OutputAward {
        let id = self.id.as_str().map(|id| {
            let name = identifier::last_part(id);
            let name = name.strip_prefix("HX_").unwrap_or(name);
            format!("HX_{}", name.to_ascii_uppercase())
        });
        OutputAward {
            id,
            name: self.display_name.to_owned(),
            funder_award_id: self.funder_award_id.0.to_owned(),
            doi: self.doi.to_owned(),
        }
    }
}
