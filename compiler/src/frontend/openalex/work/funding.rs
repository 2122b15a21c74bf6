//! The funders of a work and their awards.

use pinakes_format::entity::Entity;
use pinakes_format::record::{Award, Funding};

use crate::frontend::openalex::shared::RawReference;
use crate::frontend::openalex::work::line::{RawAward, RawWork};
use crate::object::segment::SegmentBuilder;
use crate::read::identifier;
use crate::read::identifier::parse_reference;
use crate::read::lenient::Diagnostics;

impl RawWork<'_> {
    /// Funders with their awards; earlier dumps hold both in `grants`.
    pub(super) fn funders(
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
