//! Parses the arguments of fields that find records, with the parsers of the REST parameters.

use pinakes_format::autocomplete::Completion;
use pinakes_format::entity::Entity;
use pinakes_format::query::Query;

use crate::complete::candidates::parse_entity_type;
use crate::complete::query;
use crate::complete::query::TextError;
use crate::dialects::graphql::error::Error;
use crate::list::query::{CURRENT, parameter_of, parse_pairs};
use crate::reply::{BAD_QUERY_MESSAGE, PREFIX_REQUIRED, QUERY_REQUIRED};

/// Parses the arguments of a list as the REST parameters of the same names.
pub fn parse_list_query(
    entity: Entity,
    arguments: Vec<(&'static str, String)>,
) -> Result<Query, Error> {
    let pairs =
        arguments.into_iter().map(|(name, value)| Ok((parameter_of(name).to_owned(), value)));
    let parsed = parse_pairs(Query::new(entity), &CURRENT, pairs);
    parsed.map_err(|details| Error::new(BAD_QUERY_MESSAGE).with_details(details))
}

/// Parses the arguments of `autocomplete`.
pub fn parse_autocomplete(text: &str, entity_type: Option<&str>) -> Result<Completion, Error> {
    query::check(text).map_err(|error| match error {
        TextError::Missing => Error::new(QUERY_REQUIRED),
        TextError::Invalid(details) => Error::new(BAD_QUERY_MESSAGE).with_details(details),
    })?;
    let entities = parse_entity_type(entity_type)
        .map_err(|detail| Error::new(BAD_QUERY_MESSAGE).with_details(vec![detail]))?;
    Ok(Completion::new(entities, text))
}

/// Parses an identifier; `None` for text that no record has as its identifier.
pub fn parse_id(entity: Entity, id: &str) -> Result<Option<u64>, Error> {
    if entity.facts().letter.is_some() && !id.starts_with("HX_") {
        return Err(Error::new(PREFIX_REQUIRED));
    }
    Ok(entity.parse_id(id))
}
