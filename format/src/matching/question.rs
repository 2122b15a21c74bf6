//! Questions: the text or the parts that a client gives, and their checks.

use crate::entity::Entity;
use crate::query::nearest;

/// The longest text or part, in bytes.
pub const TEXT_BYTES_MAX: usize = 8_192;

/// The name of the text beside the parts.
const TEXT: &str = "text";
const TITLE: &str = "title";

/// The parts of a citation.
const CITATION_PARTS: [&str; 7] =
    ["title", "author", "year", "venue", "volume", "first_page", "doi"];
/// Parts that decide between people of one name.
const AUTHOR_HINTS: [&str; 3] = ["orcid", "affiliation", "title"];
/// Parts that tell organisations with one acronym apart.
const ORGANISATION_PARTS: [&str; 1] = ["country"];

/// A text, or parts of one, whose record a client asks for.
///
/// ```
/// use pinakes_format::entity::Entity;
/// use pinakes_format::matching::Question;
///
/// let mut question = Question::new(Entity::Output);
/// question.set("title", "The theory of planned behavior").unwrap();
/// question.set("year", "1991").unwrap();
/// assert!(question.check().is_ok());
/// assert!(question.set("tittle", "x").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    entity: Entity,
    /// Names and values, none of them blank.
    given: Vec<(&'static str, String)>,
}

/// An error in one part of a question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {reason}")]
pub struct QuestionError {
    /// The name of the part.
    pub name: String,
    /// The error, and a correction.
    pub reason: String,
}

impl Question {
    /// A question without a text.
    pub fn new(entity: Entity) -> Question {
        Question { entity, given: Vec::new() }
    }

    /// Whether texts are matched with records of an entity: those that autocomplete searches.
    pub fn is_about(entity: Entity) -> bool {
        entity.facts().autocomplete_order.is_some()
    }

    /// The names of what a question about an entity may give: `text`, and the parts.
    pub fn names(entity: Entity) -> impl Iterator<Item = &'static str> {
        let parts: &[&str] = match entity {
            Entity::Output => &CITATION_PARTS,
            Entity::Author => &AUTHOR_HINTS,
            Entity::Institution | Entity::Funder | Entity::Publisher => &ORGANISATION_PARTS,
            _ => &[],
        };
        [TEXT].into_iter().chain(parts.iter().copied())
    }

    /// The entity that the question is about.
    pub fn entity(&self) -> Entity {
        self.entity
    }

    /// Gives the text or a part. A blank value counts as none.
    ///
    /// # Errors
    ///
    /// If there is no such part, if the part is given already, or if the value is too long.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), QuestionError> {
        let fail = |reason: String| Err(QuestionError { name: name.to_owned(), reason });
        let names: Vec<&str> = Question::names(self.entity).collect();
        let Some(known) = names.iter().find(|known| **known == name) else {
            let route = self.entity.facts().route;
            return fail(match nearest(name, names.iter().copied()) {
                Some(near) => format!("is no part of a text about {route}; did you mean `{near}`?"),
                None => format!("is no part of a text about {route}: {}", names.join(", ")),
            });
        };
        if value.len() > TEXT_BYTES_MAX {
            let bytes = value.len();
            return fail(format!("is {bytes} bytes long; at most {TEXT_BYTES_MAX} are taken"));
        }
        if self.get(known).is_some() {
            return fail("is given twice; give it once".to_owned());
        }
        if !value.trim().is_empty() {
            self.given.push((known, value.to_owned()));
        }
        Ok(())
    }

    /// The text or a part, if it is given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The text, if it is given.
    pub fn text(&self) -> Option<&str> {
        self.get(TEXT)
    }

    /// Checks that the parts together are a question.
    ///
    /// # Errors
    ///
    /// If there is nothing to look for, if text and title name the same thing twice, or if nothing decides between people of
    /// one name.
    pub fn check(&self) -> Result<(), QuestionError> {
        let fail = |name: &str, reason: &str| {
            Err(QuestionError { name: name.to_owned(), reason: reason.to_owned() })
        };
        let has = |name| self.get(name).is_some();
        match self.entity {
            Entity::Output if has(TEXT) && has(TITLE) => {
                fail(TITLE, "stands beside `text`, which has the title; give one of them")
            }
            Entity::Output if self.given.is_empty() => {
                fail(TEXT, "is missing; give a citation, or parts of one such as `title`")
            }
            Entity::Output => Ok(()),
            _ if !has(TEXT) => fail(TEXT, "is missing; give the text to match"),
            Entity::Author if !AUTHOR_HINTS.iter().any(|hint| has(hint)) => fail(
                TEXT,
                "is a name alone, and many people have one name; add `orcid`, `affiliation` or the `title` of a work",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(entity: Entity, given: &[(&str, &str)], expected: &str) {
        let mut question = Question::new(entity);
        let set = given.iter().try_for_each(|(name, value)| question.set(name, value));
        let found = set.and_then(|()| question.check());
        let found = found.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }

    #[test]
    fn a_question_has_a_text_or_parts() {
        check(Entity::Output, &[("text", "Ajzen 1991")], "");
        check(Entity::Output, &[("title", "Planned behavior"), ("year", "1991")], "");
        check(Entity::Output, &[("doi", "10.1000/1")], "");
        check(Entity::Output, &[("text", "  ")], "`text` is missing");
        check(Entity::Output, &[("text", "a"), ("title", "b")], "`title` stands beside");
        check(Entity::Output, &[("text", "a"), ("text", "b")], "`text` is given twice");
        check(Entity::Output, &[("tittle", "a")], "did you mean `title`?");
        check(Entity::Topic, &[("country", "DE")], "`country` is no part");
        check(Entity::Source, &[("text", &"a".repeat(8_193))], "is 8193 bytes long");
        check(Entity::Institution, &[("country", "DE")], "`text` is missing");
        check(Entity::Author, &[("text", "Wang Wei")], "many people have one name");
        check(Entity::Author, &[("text", "Wang Wei"), ("affiliation", "MIT")], "");
    }
}
