//! Members that the lines of several entities share.

use pinakes_format::entity::Entity;
use pinakes_format::record::{Record, Ref, Role, SummaryStats, Timestamp, TopicShare, YearCounts};

use crate::frontend::detect::is_native;
use crate::frontend::reader::{BadRecord, Identity, LineReader, require_name};
use crate::object::{NodeRef, SegmentBuilder};
use crate::read::identifier::{self};
use crate::read::{
    Diagnostics, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, members,
    parse_any_reference, parse_reference, times,
};

members! {
    /// A reference to a record: `{id, display_name}`.
    pub struct RawReference<'a> {
        pub id: MaybeId<'a>,
        pub display_name: MaybeText<'a>,
    }
}

impl RawReference<'_> {
    /// The number of the id; a bad id is `None` and a warning.
    pub fn number(&self, entity: Entity, diagnostics: &Diagnostics) -> Option<u64> {
        parse_reference(entity, &self.id, diagnostics)
    }

    pub fn to_reference<const E: u8>(
        &self,
        entity: Entity,
        segment: &mut SegmentBuilder,
        diagnostics: &Diagnostics,
    ) -> Ref<E> {
        segment.reference(self.number(entity, diagnostics), self.display_name.as_str())
    }

    pub fn node(&self, entity: Entity, diagnostics: &Diagnostics) -> Option<NodeRef<'_>> {
        let id = self.number(entity, diagnostics)?;
        Some(NodeRef { id, name: self.display_name.as_str() })
    }
}

/// The taxonomy node of a reference member.
pub fn node_of<'a>(
    raw: &'a MaybeObject<RawReference<'_>>,
    entity: Entity,
    diagnostics: &Diagnostics,
) -> Option<NodeRef<'a>> {
    raw.0.as_ref().and_then(|reference| reference.node(entity, diagnostics))
}

/// The identity of an OpenAlex line; refuses a line of a native dump.
pub fn openalex_identity(
    line: &str,
    entity: Entity,
    id: &MaybeId<'_>,
    updated: Option<Timestamp>,
) -> Result<Identity, BadRecord> {
    // Parsing the line again is rare: almost no OpenAlex id looks native.
    let text = id.0.as_str().unwrap_or_default();
    let may_be_native = identifier::strip_prefix(text).is_some() || entity.facts().letter.is_none();
    if may_be_native && is_native(line) {
        return Err(BadRecord::Quarantine { code: "is_native", id: id.0.to_owned() });
    }
    Identity::parse(entity, id, updated)
}

/// The identity of an OpenAlex line whose record must have a name.
pub fn identify<R: Record>(
    reader: &LineReader<'_>,
    id: &MaybeId<'_>,
    name: &MaybeText<'_>,
    updated: &MaybeText<'_>,
) -> Result<Identity, BadRecord> {
    let updated = times::timestamp(updated, reader.diagnostics);
    let identity = openalex_identity(reader.line, R::ENTITY, id, updated)?;
    require_name(id, name)?;
    Ok(identity)
}

/// A reference; `None` of an object whose members are all null, as Parquet files have in place of null.
pub fn reference<const E: u8>(
    raw: &MaybeObject<RawReference<'_>>,
    entity: Entity,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> Option<Ref<E>> {
    let raw = raw.0.as_ref()?;
    let is_known = raw.id.0.as_str().is_some() || raw.display_name.as_str().is_some();
    is_known.then(|| raw.to_reference(entity, segment, diagnostics))
}

/// The references of a list.
pub fn references<const E: u8>(
    raw: &MaybeList<MaybeObject<RawReference<'_>>>,
    entity: Entity,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> Option<Vec<Ref<E>>> {
    raw.map_objects(|raw| raw.to_reference(entity, segment, diagnostics))
}

members! {
    pub struct RawSummaryStats {
        mean_citedness_2yr as "2yr_mean_citedness": MaybeNumber,
        h_index: MaybeNumber,
        i10_index: MaybeNumber,
    }
}

pub fn summary_stats(
    raw: &MaybeObject<RawSummaryStats>,
    diagnostics: &Diagnostics,
) -> Option<SummaryStats> {
    raw.0.as_ref().map(|raw| SummaryStats {
        mean_citedness_2yr: raw.mean_citedness_2yr.fraction(),
        h_index: raw.h_index.count(diagnostics),
        i10_index: raw.i10_index.count(diagnostics),
    })
}

members! {
    pub struct RawYearCounts {
        year: MaybeNumber,
        works_count: MaybeNumber,
        oa_works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
    }
}

pub fn year_counts(
    raw: &MaybeList<MaybeObject<RawYearCounts>>,
    diagnostics: &Diagnostics,
) -> Option<Vec<YearCounts>> {
    raw.map_objects(|raw| YearCounts {
        year: raw.year.year(diagnostics),
        outputs_count: raw.works_count.count(diagnostics),
        oa_outputs_count: raw.oa_works_count.count(diagnostics),
        cited_by_count: raw.cited_by_count.count(diagnostics),
    })
}

members! {
    /// The same organisation as a record of another entity.
    pub struct RawRole<'a> {
        role: MaybeText<'a>,
        id: MaybeId<'a>,
        works_count: MaybeNumber,
    }
}

pub fn roles(
    raw: &MaybeList<MaybeObject<RawRole<'_>>>,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> Option<Vec<Role>> {
    raw.map_objects(|raw| Role {
        role: segment.code(raw.role.as_str()),
        id: parse_any_reference(&raw.id, diagnostics)
            .map(|(entity, id)| segment.any_reference(entity, id)),
        outputs_count: raw.works_count.count(diagnostics),
    })
}

members! {
    pub struct RawTopicCount<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        count: MaybeNumber,
    }

    pub struct RawTopicShare<'a> {
        id: MaybeId<'a>,
        value: MaybeNumber,
    }
}

/// Joins topics with their shares by id. Each topic scans the shares: O(topics × shares).
pub fn topic_shares(
    topics: &MaybeList<MaybeObject<RawTopicCount<'_>>>,
    shares: &MaybeList<MaybeObject<RawTopicShare<'_>>>,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> Option<Vec<TopicShare>> {
    let share_of = |id: Option<u64>| {
        let id = id?;
        let mut shares = shares.objects();
        shares
            .find(|share| parse_reference(Entity::Topic, &share.id, diagnostics) == Some(id))?
            .value
            .fraction()
    };
    topics.map_objects(|raw| {
        let id = parse_reference(Entity::Topic, &raw.id, diagnostics);
        TopicShare {
            topic: segment.reference(id, raw.display_name.as_str()),
            count: raw.count.count(diagnostics),
            share: share_of(id),
        }
    })
}

members! {
    /// A concept of a work, or of a record's outputs.
    pub struct RawConcept<'a> {
        id: MaybeId<'a>,
    }
}

/// The numbers of concepts, `https://openalex.org/C41008148`.
pub fn concepts(raw: &MaybeList<MaybeObject<RawConcept<'_>>>) -> Option<Vec<u64>> {
    raw.filter_map(|concept| {
        let id = identifier::last_part(concept.0.as_ref()?.id.0.as_str()?);
        id.strip_prefix(['C', 'c'])?.parse().ok()
    })
}

pub fn texts(raw: &MaybeList<MaybeText<'_>>) -> Option<Vec<String>> {
    raw.filter_map(MaybeText::to_owned)
}
