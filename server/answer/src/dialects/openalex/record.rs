//! The records in OpenAlex's members.
//!
//! ```text
//! stored record   {"id":"HX_W1","year":2020,"authors":[{"id":"HX_A5","affiliations":[{"id":"HX_I7"}]}],…}
//! table           publication_year is `year`, authorships are made
//! referred to     HX_I7: its ROR id, country and type, read from its own record
//! reply           {"id":"https://openalex.org/W1","publication_year":2020,"authorships":[…],…}
//! ```
//!
//! [`Stored`] is the record as the snapshot has it. Each member of the reply is made from it.

use pinakes_format::entity::Entity;
use pinakes_format::storage::ReadError;
use pinakes_format::text::json;

use crate::dialects::openalex::members::{Make, Member, members};
use crate::dialects::openalex::stored::{Stored, StoredMembers};
use crate::dialects::openalex::values::{write_address, write_reference};

/// The stored members that these members need.
pub fn stored_members(entity: Entity, selected: &[&'static Member]) -> StoredMembers {
    if selected.len() == members(entity).len() {
        return StoredMembers::All;
    }
    StoredMembers::at(entity, selected.iter().flat_map(|member| member.read()))
}

/// Appends the record with these members.
pub fn write(stored: &Stored<'_>, members: &[&Member], out: &mut Vec<u8>) -> Result<(), ReadError> {
    out.push(b'{');
    let begin = out.len();
    for member in members {
        let end = out.len();
        if end > begin {
            out.push(b',');
        }
        json::string(out, member.name);
        out.push(b':');
        let is_made = match member.make {
            // A known member is left out where the record has no value; other members are null then.
            Make::Known(path) if stored.at(path).is_null() => false,
            Make::Of(path) | Make::Known(path) => {
                out.extend_from_slice(stored.at(path).json());
                true
            }
            Make::Id(path, level) => {
                write_address(level, stored.at(path), out);
                true
            }
            Make::Reference(path, level) => {
                write_reference(level, stored.at(path), out);
                true
            }
            Make::References(path, _) | Make::Each(path, _) if !stored.at(path).is_list() => false,
            Make::References(path, level) => {
                json::list(out, stored.list(path), |reference, out| {
                    write_reference(level, reference, out);
                });
                true
            }
            Make::Each(path, write) => {
                let each = |element, out: &mut Vec<u8>| write(stored, element, out);
                json::try_list(out, stored.list(path), each)?;
                true
            }
            Make::By(_, write) => write(stored, out)?,
        };
        // The comma, the name and the colon were written before the value was known to be absent.
        if !is_made {
            out.truncate(end);
        }
    }
    out.push(b'}');
    Ok(())
}
