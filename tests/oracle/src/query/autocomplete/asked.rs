//! Parses the parameters of an autocomplete query, and names the reasons to reject them.

use crate::query::{Refused, parameters};

/// Maximum length of a decoded query in bytes.
const QUERY_BYTES_MAX: usize = 256;

/// The reason why the server must reject an autocomplete query with 400.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// `query` is missing or blank.
    Required,
    /// The parameters or the entity type are invalid, for this reason.
    Invalid(&'static str),
}

impl Unanswered {
    /// The message in the reply.
    pub fn message(self) -> &'static str {
        match self {
            Unanswered::Required => "Query parameter 'query' is required",
            Unanswered::Invalid(_) => "Bad Request - Invalid query parameters",
        }
    }
}

/// Parses the parameters and returns the decoded query.
pub fn parse(raw: &str) -> Result<String, Unanswered> {
    let (mut queries, mut is_wrong) = (Vec::new(), None);
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (parameters::decoded(name), parameters::decoded(value)) {
            (Ok(name), value) if name == "query" => queries.push(value),
            (Ok(name), Ok(_)) if matches!(name.as_str(), "mailto" | "api_key") => {}
            (Ok(_), Ok(_)) => is_wrong = Some("no parameter of autocomplete"),
            (Err(refused), _) | (_, Err(refused)) => is_wrong = Some(refused.0),
        }
    }
    let is_blank =
        |query: &Result<String, _>| matches!(query, Ok(query) if query.trim().is_empty());
    if queries.iter().all(is_blank) {
        return Err(Unanswered::Required);
    }
    let mut queries = queries.into_iter();
    let (first, second) = (queries.next(), queries.next());
    let query = first.ok_or(Unanswered::Required)?;
    let query = query.map_err(|refused: Refused| Unanswered::Invalid(refused.0))?;
    let is_control = |byte: u8| byte < b' ' || byte == 0x7f;
    match is_wrong {
        Some(wrong) => Err(Unanswered::Invalid(wrong)),
        None if second.is_some() => Err(Unanswered::Invalid("a parameter twice")),
        None if query.len() > QUERY_BYTES_MAX => Err(Unanswered::Invalid("too long a query")),
        None if query.bytes().any(is_control) => Err(Unanswered::Invalid("a control character")),
        None => Ok(query),
    }
}
