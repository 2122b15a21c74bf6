//! Parses the keys of statistics.

use crate::query::parse::error::{ParamError, suggest, suggest_others};
use crate::query::parse::grammar::trim;
use crate::schema::{Index, Key, Keys, Values};

/// The most keys of one request.
pub const STATISTICS_KEYS_MAX: usize = 10;
/// The key of the citation indexes, and of statistics where no other is named.
pub(in crate::query) const CITATIONS: &str = "cited_by_count";

/// The keys whose values are summed up, each with its order.
#[derive(Clone, Debug, Default)]
pub struct StatisticsKeys {
    text: String,
    keys: Vec<(&'static Key, usize)>,
}

impl StatisticsKeys {
    /// The key that requests without `of` ask for; none where records have no numbers.
    pub(super) fn default_of(keys: &'static Keys) -> StatisticsKeys {
        StatisticsKeys::parse(keys, StatisticsKeys::default_name(keys)).unwrap_or_default()
    }

    /// Parses the keys of `of`.
    pub(in crate::query) fn parse(
        keys: &'static Keys,
        text: &str,
    ) -> Result<StatisticsKeys, Vec<ParamError>> {
        let (mut parsed, mut errors) = (Vec::<(&'static Key, usize)>::new(), Vec::new());
        for name in text.split(',').map(trim).take(STATISTICS_KEYS_MAX + 1) {
            match numeric_key(keys, name) {
                Ok((_, order)) if parsed.iter().any(|(_, known)| *known == order) => {
                    errors.push(ParamError::new(name, "is named a second time; name it once"));
                }
                Ok(key) => parsed.push(key),
                Err(error) => errors.push(error),
            }
        }
        if text.split(',').count() > STATISTICS_KEYS_MAX {
            let reason = format!("names more than {STATISTICS_KEYS_MAX} keys");
            errors.push(ParamError::new(text, reason));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(StatisticsKeys { text: text.to_owned(), keys: parsed })
    }

    /// The parameter, as the client wrote it.
    pub(in crate::query) fn text(&self) -> &str {
        &self.text
    }

    /// The names of the keys.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'static str> + '_ {
        self.keys.iter().map(|(key, _)| key.name)
    }

    /// The orders of the keys.
    pub(in crate::query) fn orders(&self) -> impl Iterator<Item = usize> + '_ {
        self.keys.iter().map(|(_, order)| *order)
    }

    /// The key that requests without `of` ask for: citations, or outputs where records have no citations.
    pub fn default_name(keys: &Keys) -> &'static str {
        let has_citations = StatisticsKeys::all_names(keys).any(|name| name == CITATIONS);
        if has_citations { CITATIONS } else { "outputs_count" }
    }

    /// The names of all keys with numbers.
    pub fn all_names(keys: &Keys) -> impl Iterator<Item = &'static str> + Clone {
        keys.keys.iter().filter(|key| order_of(keys, key).is_some()).map(|key| key.name)
    }
}

/// The order of a key's numbers.
fn order_of(keys: &Keys, key: &Key) -> Option<usize> {
    let order = match (key.filter, key.sort) {
        (Some(Index::Order(order)), _) | (_, Some(order)) => order,
        _ => return None,
    };
    matches!(keys.orders[order].values, Values::Integers | Values::Numbers).then_some(order)
}

fn numeric_key(keys: &'static Keys, name: &str) -> Result<(&'static Key, usize), ParamError> {
    let known = keys.keys.iter().find(|key| key.name == name);
    let key = known.ok_or_else(|| unknown_statistics_key(keys, name))?;
    match order_of(keys, key) {
        Some(order) => Ok((key, order)),
        None => Err(not_numeric(keys, key)),
    }
}

fn unknown_statistics_key(keys: &Keys, name: &str) -> ParamError {
    let known = suggest(name, StatisticsKeys::all_names(keys));
    ParamError::new(name, format!("is no number of /{}; {known}", keys.route))
}

/// Says why a key has no statistics.
fn not_numeric(keys: &Keys, key: &Key) -> ParamError {
    let what = if key.is_many { "has several values a record" } else { "is no number" };
    let known = suggest_others(key.name, StatisticsKeys::all_names(keys));
    ParamError::new(key.name, format!("{what}, and has no statistics; {known}"))
}
