//! Where the value of a refused expression belongs.
//!
//! ```text
//! authors.id:Ada Lovelace     `authors.name.search:Ada Lovelace` finds words of names
//! topics.id:malaria           `/topics?search=malaria` finds ids by names
//! cites:HX_W7                 `references:HX_W7` finds the outputs that cite it
//! ```

use pinakes_format::entity::Entity;
use pinakes_format::schema::{Keys, Kind};

use crate::reply::truncate;
use crate::request::parameters::encoded;

/// Bytes of a value that the way repeats.
const VALUE_BYTES_MAX: usize = 64;
/// The number of the references of an output. Other services name what an output refers to so.
const CITES: &str = "cites";

/// Says what finds the records that a refused expression means; `None` if that is not known.
pub fn elsewhere(keys: &Keys, expression: &str) -> Option<String> {
    let (name, value) = expression.split_once(':')?;
    let (key, _) = keys.filter(name.trim())?;
    let value = truncate(value.trim().trim_start_matches('!').trim(), VALUE_BYTES_MAX);
    match key.kind {
        Kind::Integer if key.name == CITES && is_output(&value) => {
            Some(format!("`references:{value}` finds the outputs that cite it"))
        }
        Kind::Id(entity) if is_name(&value) => {
            let search = format!("{}name.search", key.name.strip_suffix("id")?);
            let route = entity.facts().route;
            Some(match keys.filter(&search) {
                Some(_) => format!("`{search}:{value}` finds words of names"),
                None => format!("`/{route}?search={}` finds ids by names", encoded(&value)),
            })
        }
        _ => None,
    }
}

fn is_output(value: &str) -> bool {
    Entity::Output.parse_id(value).is_some() || value.starts_with('W')
}

/// Whether a value has letters and no digits, as most names do and no id does.
fn is_name(value: &str) -> bool {
    value.contains(char::is_alphabetic) && !value.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use pinakes_format::schema::keys_of;

    use super::*;

    #[test]
    fn a_name_and_a_citation_have_keys_of_their_own() {
        let check = |expression: &str, expected: Option<&str>| {
            let found = elsewhere(keys_of(Entity::Output), expression);
            assert_eq!(found.as_deref(), expected, "{expression}");
        };
        check("authors.id:Ada", Some("`authors.name.search:Ada` finds words of names"));
        check(
            "id:!Origin of species",
            Some("`name.search:Origin of species` finds words of names"),
        );
        check(
            "topics.id:malaria vaccines",
            Some("`/topics?search=malaria%20vaccines` finds ids by names"),
        );
        check("cites:W7", Some("`references:W7` finds the outputs that cite it"));
        check("cites:HX_W7", Some("`references:HX_W7` finds the outputs that cite it"));
        for other in ["cites:many", "authors.id:X7", "year:two", "nothing:x", "authors.id"] {
            check(other, None);
        }
    }
}
