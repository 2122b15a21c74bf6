//! Topics, subfields, fields and domains.

use pinakes_format::entity::Entity;
use pinakes_format::record::{
    Domain, Field, Id, ParentRef, Record, Subfield, TaxonomyIds, Timestamp, Topic, TopicIds,
};

use crate::frontend::openalex::OpenAlexRecord;
use crate::frontend::openalex::parent::RawParent;
use crate::frontend::openalex::shared::*;
use crate::frontend::reader::{BadRecord, Identity, LineReader, NO_PARENT};
use crate::object::{NamedBy, Origin, SegmentBuilder};
use crate::read::{
    Diagnostics, MaybeId, MaybeList, MaybeNumber, MaybeObject, MaybeText, members, times,
};

members! {
    /// A line of a topic, subfield, field or domain.
    pub(crate) struct RawNode<'a> {
        id: MaybeId<'a>,
        display_name: MaybeText<'a>,
        description: MaybeText<'a>,
        keywords: MaybeList<MaybeText<'a>>,
        ids: MaybeObject<Ids<'a>>,
        display_name_alternatives: MaybeList<MaybeText<'a>>,
        subfield: RawParent<'a>,
        field: RawParent<'a>,
        domain: RawParent<'a>,
        topics: MaybeList<MaybeObject<RawReference<'a>>>,
        subfields: MaybeList<MaybeObject<RawReference<'a>>>,
        fields: MaybeList<MaybeObject<RawReference<'a>>>,
        siblings: MaybeList<MaybeObject<RawReference<'a>>>,
        works_count: MaybeNumber,
        cited_by_count: MaybeNumber,
        updated_date: MaybeText<'a>,
        created_date: MaybeText<'a>,
    }

    struct Ids<'a> {
        wikidata: MaybeId<'a>,
        wikipedia: MaybeId<'a>,
    }
}

impl RawNode<'_> {
    fn parents(&self) -> [(Entity, &RawParent<'_>); 3] {
        [
            (Entity::Subfield, &self.subfield),
            (Entity::Field, &self.field),
            (Entity::Domain, &self.domain),
        ]
    }

    /// Checks the id and name, and adds the parents to the derived nodes.
    fn identify<R: Record>(&self, reader: &mut LineReader<'_>) -> Result<Identity, BadRecord> {
        let identity = identify::<R>(reader, &self.id, &self.display_name, &self.updated_date)?;
        let above = self.parents().map(|(entity, raw)| raw.node(entity));
        let updated_micros = identity.updated.map_or(i64::MIN, |updated| updated.micros);
        let named_by = NamedBy::new(identity.id, updated_micros);
        reader.object.derive(&above, Origin::Embedded, named_by)?;
        Ok(identity)
    }

    /// Refuses a topic with a parent of a wrong level, or with several parents of one level.
    fn refuse_misplaced(&self) -> Result<(), BadRecord> {
        if self.parents().into_iter().any(|(entity, parent)| parent.is_misplaced(entity)) {
            let id = self.id.0.to_owned();
            return Err(BadRecord::Quarantine { code: NO_PARENT, id });
        }
        Ok(())
    }

    fn ids(&self) -> TaxonomyIds {
        TaxonomyIds {
            wikidata: self.ids.id(|ids| &ids.wikidata),
            wikipedia: self.ids.id(|ids| &ids.wikipedia),
        }
    }

    fn created_date(&self, diagnostics: &Diagnostics) -> Option<Timestamp> {
        times::timestamp(&self.created_date, diagnostics)
    }

    fn alternatives(&self) -> Option<Vec<String>> {
        texts(&self.display_name_alternatives)
    }
}

fn parent<const E: u8>(
    raw: &RawParent<'_>,
    entity: Entity,
    segment: &mut SegmentBuilder,
    diagnostics: &Diagnostics,
) -> Option<ParentRef<E>> {
    raw.reference(entity, diagnostics).map(|(number, name)| segment.parent(number, name))
}

impl OpenAlexRecord for Topic {
    type Line<'a> = RawNode<'a>;

    fn keep(raw: RawNode<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        raw.refuse_misplaced()?;
        let identity = raw.identify::<Self>(reader)?;
        reader.keep(identity, None, |segment| Topic {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            description: raw.description.to_owned(),
            keywords: texts(&raw.keywords),
            ids: TopicIds { wikipedia: raw.ids.id(|ids| &ids.wikipedia) },
            subfield: parent(&raw.subfield, Entity::Subfield, segment, diagnostics),
            field: parent(&raw.field, Entity::Field, segment, diagnostics),
            domain: parent(&raw.domain, Entity::Domain, segment, diagnostics),
            siblings: references(&raw.siblings, Entity::Topic, segment, diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            updated_date: identity.updated,
            created_date: raw.created_date(diagnostics),
        })
    }
}

impl OpenAlexRecord for Subfield {
    type Line<'a> = RawNode<'a>;

    fn keep(raw: RawNode<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = raw.identify::<Self>(reader)?;
        reader.keep(identity, None, |segment| Subfield {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            description: raw.description.to_owned(),
            ids: raw.ids(),
            display_name_alternatives: raw.alternatives(),
            field: parent(&raw.field, Entity::Field, segment, diagnostics),
            domain: parent(&raw.domain, Entity::Domain, segment, diagnostics),
            topics: references(&raw.topics, Entity::Topic, segment, diagnostics),
            siblings: references(&raw.siblings, Entity::Subfield, segment, diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            updated_date: identity.updated,
            created_date: raw.created_date(diagnostics),
        })
    }
}

impl OpenAlexRecord for Field {
    type Line<'a> = RawNode<'a>;

    fn keep(raw: RawNode<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = raw.identify::<Self>(reader)?;
        reader.keep(identity, None, |segment| Field {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            description: raw.description.to_owned(),
            ids: raw.ids(),
            display_name_alternatives: raw.alternatives(),
            domain: parent(&raw.domain, Entity::Domain, segment, diagnostics),
            subfields: references(&raw.subfields, Entity::Subfield, segment, diagnostics),
            siblings: references(&raw.siblings, Entity::Field, segment, diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            updated_date: identity.updated,
            created_date: raw.created_date(diagnostics),
        })
    }
}

impl OpenAlexRecord for Domain {
    type Line<'a> = RawNode<'a>;

    fn keep(raw: RawNode<'_>, reader: &mut LineReader<'_>) -> Result<(), BadRecord> {
        let diagnostics = reader.diagnostics;
        let identity = raw.identify::<Self>(reader)?;
        reader.keep(identity, None, |segment| Domain {
            id: Id(identity.id),
            name: raw.display_name.to_owned(),
            description: raw.description.to_owned(),
            ids: raw.ids(),
            display_name_alternatives: raw.alternatives(),
            fields: references(&raw.fields, Entity::Field, segment, diagnostics),
            siblings: references(&raw.siblings, Entity::Domain, segment, diagnostics),
            outputs_count: raw.works_count.count(diagnostics),
            cited_by_count: raw.cited_by_count.count(diagnostics),
            updated_date: identity.updated,
            created_date: raw.created_date(diagnostics),
        })
    }
}
