//! The front end for the taxonomy table: one topic per row, with its subfield, field and domain.

use csv::StringRecord;
use pinakes_format::entity::{Entity, parse_digits};
use pinakes_format::record::{Id, Topic, TopicIds};

use crate::error::{Error, Result};
use crate::frontend::reader::{BadRecord, LineReader, NO_PARENT};
use crate::object::{NamedBy, NodeRef, Origin, Provenance, hash_line};
use crate::read::{first_record, identifier};

/// The positions of the table's columns.
pub struct TaxonomyColumns {
    topic_id: usize,
    topic_name: usize,
    parents: [(Entity, Option<usize>, Option<usize>); 3],
    keywords: Option<usize>,
    summary: Option<usize>,
    wikipedia_url: Option<usize>,
}

/// Whether a line is the header of the table.
pub fn is_header(line: &str) -> bool {
    first_record(line).is_some_and(|header| TaxonomyColumns::find(&header).is_some())
}

impl TaxonomyColumns {
    /// Finds the columns by name; `None` where the id or name of the topic is missing.
    pub fn find(header: &StringRecord) -> Option<TaxonomyColumns> {
        let column = |name: &str| header.iter().position(|cell| cell.trim() == name);
        let parent = |entity: Entity| {
            let level = entity.facts().singular;
            (entity, column(&format!("{level}_id")), column(&format!("{level}_name")))
        };
        Some(TaxonomyColumns {
            topic_id: column("topic_id")?,
            topic_name: column("new_topic_label").or_else(|| column("topic_name"))?,
            parents: [Entity::Subfield, Entity::Field, Entity::Domain].map(parent),
            keywords: column("keywords"),
            summary: column("summary"),
            wikipedia_url: column("wikipedia_url"),
        })
    }

    /// Reads one row into the object.
    pub fn read_row(
        &self,
        row: &StringRecord,
        reader: &mut LineReader<'_>,
    ) -> std::result::Result<(), BadRecord> {
        let clean;
        let row = if row.as_slice().contains('\0') {
            reader.diagnostics.warn("nul_removed");
            clean = row.iter().map(|cell| cell.replace('\0', "")).collect::<StringRecord>();
            &clean
        } else {
            row
        };
        let cell = |column: Option<usize>| {
            let text = column.and_then(|column| row.get(column)).map(str::trim);
            text.filter(|text| !text.is_empty())
        };
        let bad =
            |code| BadRecord::Quarantine { code, id: cell(Some(self.topic_id)).map(str::to_owned) };
        // The table has no other ids in this column, so a bare number is the id of a topic.
        let id_text = cell(Some(self.topic_id)).ok_or(bad("no_id"))?;
        let id = parse_digits(id_text)
            .map_or_else(|| identifier::parse(Entity::Topic, id_text), Ok)
            .map_err(|error| bad(error.code()))?;
        let name = cell(Some(self.topic_name)).ok_or(bad("no_name"))?;
        // All parents are parsed before the object changes: a row with a bad parent is set aside whole.
        let mut above = [None; 3];
        for (node, (entity, id, name)) in above.iter_mut().zip(self.parents) {
            if let Some(id) = cell(id) {
                let id = identifier::parse(entity, id).map_err(|_| bad(NO_PARENT))?;
                *node = Some(NodeRef { id, name: cell(name) });
            }
        }
        let named_by = NamedBy::new(id, i64::MIN);
        reader.object.derive(&above, Origin::TableParent, named_by)?;

        // The table has no dates, so each dated record of the topic counts as newer.
        let provenance = Provenance {
            origin: Origin::Table,
            updated_micros: i64::MIN,
            line_hash: reader.line_hash,
            group: None,
        };
        let keywords = cell(self.keywords).map(|cell| {
            let words = cell.split(';').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        });
        let segment = reader.object.segment(Entity::Topic)?;
        /// The reference to a parent, if the row has it.
        macro_rules! parent_ref {
            ($at:literal) => {
                above[$at].as_ref().map(|node| segment.parent(Some(node.id), node.name))
            };
        }
        let topic = Topic {
            id: Id(id),
            name: Some(name.to_owned()),
            description: cell(self.summary).map(str::to_owned),
            keywords,
            ids: TopicIds { wikipedia: cell(self.wikipedia_url).map(str::to_owned) },
            subfield: parent_ref!(0),
            field: parent_ref!(1),
            domain: parent_ref!(2),
            ..Topic::default()
        };
        segment
            .push(&topic, provenance)
            .map(drop)
            .map_err(|error| BadRecord::Fatal(Error::Internal(error.to_string())))
    }
}

/// Hashes the cells of a row, joined by commas.
pub fn row_hash(row: &StringRecord) -> [u8; 16] {
    hash_line(row.iter().collect::<Vec<_>>().join(",").as_bytes())
}

/// Finds the columns in the header of a part.
pub fn find_columns(header: &StringRecord, path: &std::path::Path) -> Result<TaxonomyColumns> {
    TaxonomyColumns::find(header).ok_or_else(|| Error::Input {
        path: path.to_path_buf(),
        reason: "is not a taxonomy table; expected the columns `topic_id` and `topic_name`".into(),
    })
}
