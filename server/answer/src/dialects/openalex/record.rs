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
use pinakes_format::storage::error::ReadError;
use pinakes_format::text::json;

use crate::dialects::openalex::members::{Make, Member, WriteElement, members};
use crate::dialects::openalex::stored::{Stored, StoredMembers};
use crate::dialects::openalex::values::{address_of, write_json};

/// The stored members that these members need.
pub fn stored_members(entity: Entity, selected: &[&'static Member]) -> StoredMembers {
    if selected.len() == members(entity).len() {
        return StoredMembers::All;
    }
    StoredMembers::at(entity, selected.iter().flat_map(|member| member.read()))
}

/// Appends the record with these members.
pub fn write(
    stored: &mut Stored<'_>,
    members: &[&Member],
    out: &mut Vec<u8>,
) -> Result<(), ReadError> {
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
            Make::Of(path) => write_json(stored.at(path), out)?,
            // A known member is left out where the record has no value; other members are null then.
            Make::Known(path) if stored.at(path).is_null() => false,
            Make::Known(path) => write_json(stored.at(path), out)?,
            Make::Id(path) => write_json(&address_of(stored.at(path)), out)?,
            Make::By(_, make) => match make(stored)? {
                Some(value) => write_json(&value, out)?,
                None => false,
            },
            Make::Each(path, make) => write_each(stored, path, make, out)?,
            Make::Write(_, write) => {
                write(stored, out)?;
                true
            }
        };
        // The comma, the name and the colon were written before the value was known to be absent.
        if !is_made {
            out.truncate(end);
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends a list with an element for each element of a stored list; tells whether the stored list is known.
fn write_each(
    stored: &mut Stored<'_>,
    name: &str,
    write: WriteElement,
    out: &mut Vec<u8>,
) -> Result<bool, ReadError> {
    out.push(b'[');
    let begin = out.len();
    let is_known = stored.visit_list(name, |stored, element| {
        if out.len() > begin {
            out.push(b',');
        }
        write(stored, element, out)
    })?;
    out.push(b']');
    Ok(is_known)
}
