//! What the entities' lines have in common.

use pinakes_format::entity::Entity;
use pinakes_format::record::value::{Ref, Timestamp};
use pinakes_format::record::{Record, Role, SummaryStats, TopicShare, YearCounts};
use serde::Deserialize;

use crate::error::Error;
use crate::frontend::derived::{Derived, NodeId};
use crate::frontend::native;
use crate::frontend::native::Told;
use crate::object::segment::{Provenance, SegmentBuilder};
use crate::object::{ObjectWriter, Origin};
use crate::read::identifier;
use crate::read::identifier::BadId;
use crate::read::lenient::{IdText, List, Number, Object, Text, warn};
use crate::read::strict::JsonError;

/// Why a line is set aside.
#[derive(Debug)]
pub enum BadRecord {
    /// The code it is reported under, and the id it gives itself.
    Quarantine {
        /// The code.
        code: &'static str,
        /// The id, where that much could be read.
        id: Option<String>,
    },
    /// Not the line's fault: the run cannot go on.
    Fatal(Error),
}

impl From<JsonError> for BadRecord {
    fn from(error: JsonError) -> BadRecord {
        BadRecord::Quarantine { code: error.fault.code(), id: None }
    }
}

impl From<Error> for BadRecord {
    fn from(error: Error) -> BadRecord {
        BadRecord::Fatal(error)
    }
}

/// Where a line's record goes.
pub struct Reader<'r> {
    /// The object under way.
    pub object: &'r mut ObjectWriter,
    /// Taxonomy nodes that lines name in passing.
    pub derived: &'r mut Derived,
    /// The first 16 bytes of the BLAKE3 hash of the line.
    pub line_hash: [u8; 16],
    /// The line; nothing where it is a row.
    pub line: &'r str,
}

/// A line's own id and date: what its record is chosen by.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The number of its identifier.
    pub id: u64,
    /// When it changed.
    pub updated: Option<Timestamp>,
}

impl Reader<'_> {
    /// Checks the own id of a line of OpenAlex.
    ///
    /// # Errors
    ///
    /// As [`Reader::identity`], and where the line is native.
    pub fn openalex_identity(
        &self,
        entity: Entity,
        id: &IdText<'_>,
        updated: Option<Timestamp>,
    ) -> Result<Identity, BadRecord> {
        // Only few lines have such ids, so few are read again to know.
        let text = id.0.as_str().unwrap_or_default();
        let may_be_native = identifier::bare(text).is_some() || entity.facts().letter.is_none();
        if may_be_native && native::tell(self.line) != Told::Other {
            return Err(BadRecord::Quarantine { code: "is_native", id: id.0.to_owned() });
        }
        Reader::identity(entity, id, updated)
    }

    /// Checks a line's own id.
    ///
    /// # Errors
    ///
    /// Where it has none, or another entity's, or one that is none.
    pub fn identity(
        entity: Entity,
        id: &IdText<'_>,
        updated: Option<Timestamp>,
    ) -> Result<Identity, BadRecord> {
        let text = id.0.as_str();
        let parsed = text.map_or(Err(BadId::Missing), |text| identifier::parse(entity, text));
        parsed
            .map(|id| Identity { id, updated })
            .map_err(|bad| BadRecord::Quarantine { code: bad.code(), id: text.map(str::to_owned) })
    }

    /// Demands a name, which every record but an output's must have.
    ///
    /// # Errors
    ///
    /// Where there is none.
    pub fn require_name(id: &IdText<'_>, name: &Text<'_>) -> Result<(), BadRecord> {
        match name.0 {
            Some(_) => Ok(()),
            None => Err(BadRecord::Quarantine { code: "no_name", id: id.0.to_owned() }),
        }
    }

    /// Makes a record of its own from a line and keeps it.
    ///
    /// # Errors
    ///
    /// Where it is too large, or the object cannot be written.
    pub fn keep<R: Record>(
        &mut self,
        identity: Identity,
        group: Option<u64>,
        make: impl FnOnce(&mut SegmentBuilder) -> R,
    ) -> Result<(), BadRecord> {
        let updated_micros = identity.updated.map_or(i64::MIN, |updated| updated.micros);
        let provenance =
            Provenance { origin: Origin::Own, updated_micros, line_hash: self.line_hash, group };
        let segment = self.object.segment(R::ENTITY)?;
        let record = make(segment);
        segment.push(&record, provenance).map_err(|_| BadRecord::Quarantine {
            code: "too_large",
            id: Some(identity.id.to_string()),
        })?;
        let newest = &mut self.object.report.newest_updated_micros;
        *newest = (*newest).max(identity.updated.map(|updated| updated.micros));
        Ok(())
    }
}

/// The `{id, display_name}` of a record referred to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RawReference<'a> {
    /// Its id.
    pub id: IdText<'a>,
    /// The name it has here.
    pub display_name: Text<'a>,
}

impl RawReference<'_> {
    /// The number of its id; none, with a warning, where the id is no id of `entity`.
    pub fn number(&self, entity: Entity) -> Option<u64> {
        reference_number(entity, &self.id)
    }

    /// The reference.
    pub fn link<const E: u8>(&self, entity: Entity, segment: &mut SegmentBuilder) -> Ref<E> {
        segment.reference(self.number(entity), self.display_name.as_str())
    }

    /// The taxonomy node it names; `None` where it has no id.
    pub fn node(&self, entity: Entity) -> Option<NodeId<'_>> {
        let id = self.number(entity)?;
        Some(NodeId { id, name: self.display_name.as_str() })
    }
}

/// The taxonomy node that a member names.
pub fn node_of<'a>(raw: &'a Object<RawReference<'_>>, entity: Entity) -> Option<NodeId<'a>> {
    raw.0.as_ref().and_then(|reference| reference.node(entity))
}

/// The number of an id that refers to a record.
pub fn reference_number(entity: Entity, id: &IdText<'_>) -> Option<u64> {
    let text = id.0.as_str()?;
    let number = identifier::parse(entity, text).ok();
    if number.is_none() {
        warn("bad_reference");
    }
    number
}

/// Citation indicators.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawSummaryStats {
    #[serde(rename = "2yr_mean_citedness")]
    mean_citedness_2yr: Number,
    h_index: Number,
    i10_index: Number,
}

impl From<&RawSummaryStats> for SummaryStats {
    fn from(raw: &RawSummaryStats) -> SummaryStats {
        SummaryStats {
            mean_citedness_2yr: raw.mean_citedness_2yr.fraction(),
            h_index: raw.h_index.count(),
            i10_index: raw.i10_index.count(),
        }
    }
}

/// The counts of one year.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawYearCounts {
    year: Number,
    works_count: Number,
    oa_works_count: Number,
    cited_by_count: Number,
}

/// Counts by year.
pub fn year_counts(raw: &List<Object<RawYearCounts>>) -> Option<Vec<YearCounts>> {
    raw.filter_map(|counts| {
        let raw = counts.0.as_ref()?;
        Some(YearCounts {
            year: raw.year.year(),
            outputs_count: raw.works_count.count(),
            oa_outputs_count: raw.oa_works_count.count(),
            cited_by_count: raw.cited_by_count.count(),
        })
    })
}

/// A part the same organisation plays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RawRole<'a> {
    role: Text<'a>,
    id: IdText<'a>,
    works_count: Number,
}

/// Roles.
pub fn roles(raw: &List<Object<RawRole<'_>>>, segment: &mut SegmentBuilder) -> Option<Vec<Role>> {
    raw.filter_map(|role| {
        let raw = role.0.as_ref()?;
        let id = raw.id.0.as_str().and_then(|id| {
            let parsed = identifier::parse_any(id);
            if parsed.is_none() {
                warn("bad_reference");
            }
            parsed
        });
        Some(Role {
            role: segment.code(raw.role.as_str()),
            id: id.map(|(entity, id)| segment.any_reference(entity, id)),
            outputs_count: raw.works_count.count(),
        })
    })
}

/// A topic with a count.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RawTopicCount<'a> {
    id: IdText<'a>,
    display_name: Text<'a>,
    count: Number,
}

/// A topic with a share.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct RawTopicShare<'a> {
    id: IdText<'a>,
    value: Number,
}

/// Topics joined with their shares by id.
pub fn topic_shares(
    topics: &List<Object<RawTopicCount<'_>>>,
    shares: &List<Object<RawTopicShare<'_>>>,
    segment: &mut SegmentBuilder,
) -> Option<Vec<TopicShare>> {
    let share_of = |id: Option<u64>| {
        let id = id?;
        let mut shares = shares.objects();
        shares
            .find(|share| reference_number(Entity::Topic, &share.id) == Some(id))?
            .value
            .fraction()
    };
    topics.filter_map(|topic| {
        let raw = topic.0.as_ref()?;
        let id = reference_number(Entity::Topic, &raw.id);
        Some(TopicShare {
            topic: segment.reference(id, raw.display_name.as_str()),
            count: raw.count.count(),
            share: share_of(id),
        })
    })
}

/// Texts of a list.
pub fn texts(raw: &List<Text<'_>>) -> Option<Vec<String>> {
    raw.filter_map(Text::to_owned)
}
