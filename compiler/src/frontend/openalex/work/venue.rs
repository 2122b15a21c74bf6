//! The venues of a work: its locations, and the host venues that preceded them until 2023.

use std::borrow::Cow;

use pinakes_format::entity::{Entity, parse_digits};
use pinakes_format::record::{
    PrimaryVenue, PrimaryVenueSource, SourceKind, Table, Venue, VenueMetrics, VenueSource,
};

use crate::frontend::openalex::work::line::{
    RawHostVenue, RawLocation, RawLocationSource, RawWork,
};
use crate::object::SegmentBuilder;
use crate::read::{
    Diagnostics, MaybeBool, MaybeId, MaybeObject, MaybeText, identifier, parse_reference,
};

impl RawWork<'_> {
    pub(super) fn primary_venue(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<PrimaryVenue> {
        let host_venue = || self.host_venue.0.as_ref().and_then(RawHostVenue::to_location);
        let host_venue = if self.primary_location().is_none() { host_venue() } else { None };
        let location = self.primary_location().or(host_venue.as_ref())?;
        Some(PrimaryVenue {
            id: location.id.to_owned(),
            is_oa: location.is_oa.0,
            landing_page_url: location.landing_page_url.to_owned(),
            pdf_url: location.pdf_url.to_owned(),
            license: segment.code(location.license.as_str()),
            version: segment.code(location.version.as_str()),
            is_accepted: location.is_accepted.0,
            is_published: location.is_published.0,
            source: location.source.0.as_ref().map(|source| source.primary(segment, diagnostics)),
            raw_source_name: location.printed_source(),
            raw_type: segment.code(location.raw_type.as_str()),
        })
    }

    /// The primary location. Some dumps write an object whose members are all null for none.
    fn primary_location(&self) -> Option<&RawLocation<'_>> {
        self.primary_location.0.as_ref().filter(|location| !location.is_null())
    }

    /// The locations without the primary one; in dumps without locations, the alternate host venues.
    pub(super) fn additional_venues(
        &self,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Option<Vec<Venue>> {
        let Some(additional) = self.additional_locations() else {
            return self.alternate_host_venues.filter_map(|venue| {
                let location = venue.0.as_ref()?.to_location()?;
                Some(location.venue(segment, diagnostics))
            });
        };
        Some(additional.map(|location| location.venue(segment, diagnostics)).collect())
    }

    /// The position of the best open-access location: 0 for the primary venue, n for the n-th of the
    /// additional venues. Locations are the same if their ids are; where one lacks an id, if all their
    /// members are.
    pub(super) fn best_oa_venue(&self) -> Option<u64> {
        let best = self.best_oa_location.0.as_ref().filter(|location| !location.is_null())?;
        let is_best = |location: &RawLocation<'_>| match (best.id.as_str(), location.id.as_str()) {
            (Some(best), Some(id)) => best == id,
            _ => best == location,
        };
        if self.primary_location().is_some_and(is_best) {
            return Some(0);
        }
        let position = self.additional_locations()?.position(is_best)?;
        Some(position as u64 + 1)
    }

    /// The locations without the primary one; `None` in dumps without locations.
    ///
    /// The primary location is the one with the same id. If the primary or the first location lacks an id,
    /// the first location is the primary.
    fn additional_locations(&self) -> Option<impl Iterator<Item = &RawLocation<'_>>> {
        let locations = self.locations.0.as_ref()?;
        let ids =
            || locations.iter().map(|location| location.0.as_ref().and_then(|own| own.id.as_str()));
        let position_of_primary = |primary_id: Option<&str>| {
            let same = primary_id.and_then(|id| ids().position(|own| own == Some(id)));
            let has_ids = primary_id.is_some() && ids().next().flatten().is_some();
            same.or((!has_ids).then_some(0))
        };
        let primary_at =
            self.primary_location().and_then(|primary| position_of_primary(primary.id.as_str()));
        let additional =
            locations.iter().enumerate().filter(move |(at, _)| Some(*at) != primary_at);
        Some(
            additional.filter_map(|(_, location)| {
                location.0.as_ref().filter(|location| !location.is_null())
            }),
        )
    }
}

impl RawLocationSource<'_> {
    fn is_null(&self) -> bool {
        [&self.id.0, &self.display_name, &self.kind].iter().all(|text| text.0.is_none())
    }

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
    /// Whether every member is null.
    fn is_null(&self) -> bool {
        let flags = [self.is_oa, self.is_accepted, self.is_published];
        let texts = [
            &self.id,
            &self.landing_page_url,
            &self.pdf_url,
            &self.license,
            &self.version,
            &self.raw_source_name,
        ];
        flags.iter().all(|flag| flag.0.is_none())
            && texts.iter().all(|text| text.0.is_none())
            && self.source.0.as_ref().is_none_or(RawLocationSource::is_null)
    }

    /// The printed name of the source, where the source itself has none.
    fn printed_source(&self) -> Option<String> {
        let source = self.source.0.as_ref();
        let is_named = source.is_some_and(|source| source.display_name.as_str().is_some());
        if is_named { None } else { self.raw_source_name.to_owned() }
    }

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
            raw_type: segment.code(self.raw_type.as_str()),
        }
    }
}

impl<'a> RawHostVenue<'a> {
    /// The location that the venue became in later dumps; `None` where every member is null.
    fn to_location(&self) -> Option<RawLocation<'a>> {
        let has_source = self.id.0.0.is_some() || self.display_name.0.is_some();
        let location = RawLocation {
            id: MaybeText(None),
            is_oa: self.is_oa,
            landing_page_url: self.url.clone(),
            pdf_url: MaybeText(None),
            license: self.license.clone(),
            version: self.version.clone(),
            is_accepted: MaybeBool(None),
            is_published: MaybeBool(None),
            source: MaybeObject(has_source.then(|| RawLocationSource {
                id: self.source_id(),
                display_name: self.display_name.clone(),
                kind: self.kind.clone(),
            })),
            raw_source_name: MaybeText(None),
            raw_type: MaybeText(None),
        };
        (!location.is_null()).then_some(location)
    }

    /// The id of the source. Until 2022 sources were venues, and `S1` was `V1`.
    fn source_id(&self) -> MaybeId<'a> {
        let name = self.id.0.as_str().map(identifier::last_part);
        let digits = name.and_then(|name| parse_digits(name.strip_prefix(['V', 'v'])?));
        match digits {
            Some(digits) => MaybeId(MaybeText(Some(Cow::Owned(format!("S{digits}"))))),
            None => self.id.clone(),
        }
    }
}
