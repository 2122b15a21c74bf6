//! The ten entities, their names in dumps and in routes, and the spellings of their ids.

use serde_json::Value;

/// One of the ten kinds of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    /// Works.
    Outputs,
    /// People.
    Authors,
    /// Journals, repositories and the like.
    Sources,
    /// Universities, companies and the like.
    Institutions,
    /// Publishing houses.
    Publishers,
    /// Organisations that fund research.
    Funders,
    /// Leaves of the taxonomy.
    Topics,
    /// Level 0 of the taxonomy.
    Domains,
    /// Level 1 of the taxonomy.
    Fields,
    /// Level 2 of the taxonomy.
    Subfields,
}

/// All ten entities, in the interface's order.
pub const ALL: [Entity; 10] = [
    Entity::Outputs,
    Entity::Authors,
    Entity::Sources,
    Entity::Institutions,
    Entity::Publishers,
    Entity::Funders,
    Entity::Topics,
    Entity::Domains,
    Entity::Fields,
    Entity::Subfields,
];

impl Entity {
    /// The plural in the server's routes.
    pub fn route(self) -> &'static str {
        match self {
            Entity::Outputs => "outputs",
            Entity::Authors => "authors",
            Entity::Sources => "sources",
            Entity::Institutions => "institutions",
            Entity::Publishers => "publishers",
            Entity::Funders => "funders",
            Entity::Topics => "topics",
            Entity::Domains => "domains",
            Entity::Fields => "fields",
            Entity::Subfields => "subfields",
        }
    }

    /// The plural in the dumps' paths and URLs.
    pub fn folder(self) -> &'static str {
        match self {
            Entity::Outputs => "works",
            other => other.route(),
        }
    }

    /// The letter in the entity's ids; `None` for the three levels with plain numbers as ids.
    pub fn letter(self) -> Option<char> {
        match self {
            Entity::Outputs => Some('W'),
            Entity::Authors => Some('A'),
            Entity::Sources => Some('S'),
            Entity::Institutions => Some('I'),
            Entity::Publishers => Some('P'),
            Entity::Funders => Some('F'),
            Entity::Topics => Some('T'),
            Entity::Domains | Entity::Fields | Entity::Subfields => None,
        }
    }

    /// Writes the id as the routes accept it: `HX_A1`, `17`.
    pub fn route_id(self, number: u64) -> String {
        match self.letter() {
            Some(letter) => format!("HX_{letter}{number}"),
            None => number.to_string(),
        }
    }

    /// Writes the id as the record itself, `children` and `siblings` show it.
    pub fn own_id(self, number: u64) -> Value {
        match self.letter() {
            Some(_) => self.route_id(number).into(),
            None => number.into(),
        }
    }

    /// Parses an id in any spelling; `None` unless it is an id of this entity.
    pub fn number(self, id: &Value) -> Option<u64> {
        match (self.letter(), id) {
            (Some(letter), Value::String(text)) => lettered(letter, text),
            (None, Value::Number(number)) => digits(&number.to_string()),
            (None, Value::String(text)) => match text.rsplit_once('/') {
                Some((before, number)) => {
                    let level = before.rsplit('/').next();
                    digits(number).filter(|_| level == Some(self.folder()))
                }
                None => digits(text),
            },
            _ => None,
        }
    }

    /// Detects the entity of an id; `None` for a plain number, which fits three entities.
    pub fn of_id(id: &Value) -> Option<Entity> {
        let is_own = |entity: &Entity| match id {
            Value::String(text) if entity.letter().is_some() || text.contains('/') => {
                entity.number(id).is_some()
            }
            _ => false,
        };
        ALL.into_iter().find(is_own)
    }
}

/// Rewrites an id in any spelling as `HX_<letter><digits>`.
pub fn prefixed(letter: char, id: &Value) -> Option<String> {
    let number = lettered(letter, id.as_str()?)?;
    Some(format!("HX_{letter}{number}"))
}

fn lettered(letter: char, text: &str) -> Option<u64> {
    let last = match text.contains("://") {
        true => text.rsplit('/').next()?,
        false => text,
    };
    let bare = last.strip_prefix("HX_").unwrap_or(last);
    let mut characters = bare.chars();
    let first = characters.next()?;
    digits(characters.as_str()).filter(|_| first.eq_ignore_ascii_case(&letter))
}

/// Parses 1 to 19 digits without a leading zero.
fn digits(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = text == "0" || !text.starts_with('0');
    if plain && canonical && (1..=19).contains(&text.len()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_id_is_one_number() {
        for text in ["W1", "w1", "HX_W1", "https://openalex.org/W1", "https://x/W1"] {
            assert_eq!(Entity::Outputs.number(&text.into()), Some(1), "{text}");
        }
        for text in ["", "W", " W1 ", "W001", "A1", "1", "W1x", "W12345678901234567890"] {
            assert_eq!(Entity::Outputs.number(&text.into()), None, "{text}");
        }
        for id in ["https://openalex.org/fields/17".into(), "17".into(), Value::from(17)] {
            assert_eq!(Entity::Fields.number(&id), Some(17), "{id}");
        }
        for id in ["https://openalex.org/domains/3".into(), "03".into(), Value::from(-3)] {
            assert_eq!(Entity::Fields.number(&id), None, "{id}");
        }
    }
}
