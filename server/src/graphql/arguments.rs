//! Arguments of the fields that find records, read as REST reads its parameters.

use pinakes_format::entity::Entity;
use pinakes_format::query::Query;

use crate::api::autocomplete_query;
use crate::api::autocomplete_query::Refused;
use crate::api::handlers::{MISSING, UNPREFIXED, entities_completed};
use crate::api::list_query::{CURRENT, read};
use crate::graphql::error::Error;
use crate::http::reply::M1;

/// The question of a list, as REST would ask it by the same parameters.
///
/// # Errors
///
/// What REST would refuse.
pub fn query(entity: Entity, given: Vec<(&'static str, String)>) -> Result<Query, Error> {
    let pairs = given.into_iter().map(|(name, value)| Ok((name.to_owned(), value)));
    read(Query::new(entity), &CURRENT, pairs).map_err(|details| Error::new(M1).with(details))
}

/// The entities among whose names a text is to be completed.
///
/// # Errors
///
/// What REST would refuse.
pub fn completion(text: &str, entity_type: Option<&str>) -> Result<Vec<Entity>, Error> {
    autocomplete_query::check(text).map_err(|refused| match refused {
        Refused::Missing => Error::new(MISSING),
        Refused::Wrong(details) => Error::new(M1).with(details),
    })?;
    entities_completed(entity_type).map_err(|detail| Error::new(M1).with(vec![detail]))
}

/// The number of an identifier; `None` where no record can have it.
///
/// # Errors
///
/// What REST would refuse.
pub fn number(entity: Entity, id: &str) -> Result<Option<u64>, Error> {
    if entity.facts().letter.is_some() && !id.starts_with("HX_") {
        return Err(Error::new(UNPREFIXED));
    }
    Ok(entity.parse_id(id))
}
