//! The front end for OpenAlex dumps: one JSON line, one record.
//!
//! Each entity has a module with the line as it is read, leniently, and how the record is made of
//! it, member by member.

mod author;
mod organisation;
mod shared;
mod source;
mod taxonomy;
mod work;

use pinakes_format::entity::Entity;

pub use shared::{BadRecord, Reader};

/// Reads one line of an entity's part into the object under way.
///
/// # Errors
///
/// Why the line is set aside, or that the object cannot be written.
pub fn read_line(entity: Entity, line: &str, reader: &mut Reader<'_>) -> Result<(), BadRecord> {
    match entity {
        Entity::Output => work::read(line, reader),
        Entity::Author => author::read(line, reader),
        Entity::Source => source::read(line, reader),
        Entity::Institution => organisation::read_institution(line, reader),
        Entity::Publisher => organisation::read_publisher(line, reader),
        Entity::Funder => organisation::read_funder(line, reader),
        Entity::Topic => taxonomy::read_topic(line, reader),
        Entity::Subfield => taxonomy::read_subfield(line, reader),
        Entity::Field => taxonomy::read_field(line, reader),
        Entity::Domain => taxonomy::read_domain(line, reader),
        Entity::InstitutionType => organisation::read_institution_type(line, reader),
    }
}
