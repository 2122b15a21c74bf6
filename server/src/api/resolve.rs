//! `/resolve/{identifier}`: from an identifier in any spelling to the record that has it.

use http::StatusCode;
use pinakes_format::autocomplete::{ENTITIES, Identifier, find_identified};
use pinakes_format::entity::IdFormat;
use pinakes_format::snapshot::Snapshot;
use pinakes_format::text::fold::fold;

use crate::api::handlers::{Answer, query_error_reply, render_candidates};
use crate::api::request::Request;
use crate::api::work_limits::WorkLimits;
use crate::http::parameters::Detail;
use crate::http::path::{decode, echo};
use crate::http::reply::Reply;

/// Parses the rest of a path as an identifier: bare, with its label, or as a URL, raw or percent-encoded.
pub fn parse(raw: &str) -> Option<Identifier> {
    let decoded = decode(raw)?;
    let text = decoded.trim();
    // Proxies merge the two slashes of a raw URL.
    let merged = ["https:/", "http:/"].iter().find_map(|protocol| text.strip_prefix(protocol));
    Identifier::parse(text).or_else(|| Identifier::parse(merged?))
}

/// Whether the rest of a path is an identifier of another system.
pub fn is_foreign(raw: &str) -> bool {
    matches!(parse(raw), Some(Identifier::External(..)))
}

/// The detail of a 400 to an identifier in place of an id.
pub fn detail(raw: &str) -> Detail {
    let reason =
        "is an identifier of another system; `/resolve/` and the identifier finds its record";
    Detail::new("id", &echo(raw), reason.to_owned())
}

/// 404 to a text that is no identifier, or an identifier that no record has.
pub fn not_found(raw: &str) -> Reply {
    let message = format!("Nothing with identifier {} found", echo(raw));
    Reply::error(StatusCode::NOT_FOUND, message)
}

/// 303 to the record that has the identifier, or 300 with candidates where several records have it.
///
/// Cost: one look-up for each entity, and the best ten of the records found.
pub fn resolve(
    identifier: &Identifier,
    raw: &str,
    request: &Request<'_>,
    snapshot: &Snapshot,
    limits: WorkLimits,
) -> Answer {
    let folded = decode(raw).map(|text| fold(&text)).unwrap_or_default();
    let found =
        limits.run(|deadline| find_identified(identifier, &ENTITIES, &folded, snapshot, deadline));
    let found = match found {
        Ok(found) => found,
        Err(error) => return query_error_reply(error, request),
    };
    match found.best.as_slice() {
        [] => Ok(not_found(raw)),
        [record] if found.count == 1 => {
            let mut id = Vec::new();
            let number = snapshot.row_id(record.entity, record.row)?;
            IdFormat::CURRENT.write(record.entity, number, &mut id);
            let (id, facts) = (String::from_utf8_lossy(&id), record.entity.facts());
            Ok(Reply::Redirect {
                status: StatusCode::SEE_OTHER,
                location: format!("/{}/{id}", facts.route),
                message: format!("{} with identifier {} is {id}", facts.label, echo(raw)),
                vary: None,
            })
        }
        _ => Ok(Reply::Body {
            status: StatusCode::MULTIPLE_CHOICES,
            media_type: "application/json",
            body: render_candidates(&found, snapshot)?,
            headers: Vec::new(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_parsed_raw_encoded_and_with_merged_slashes() {
        let expected = Identifier::parse("10.1000/a(b)");
        assert!(expected.is_some());
        for raw in [
            "10.1000/a(b)",
            "10.1000%2Fa%28b%29",
            "https://doi.org/10.1000/a(b)",
            "https:/doi.org/10.1000/a(b)",
            "https%3A%2F%2Fdoi.org%2F10.1000%2Fa(b)",
            "doi:10.1000/a(b)",
            "%20DOI:10.1000/A(B)%20",
        ] {
            assert_eq!(parse(raw), expected, "{raw}");
        }
        for raw in ["", "x", "17", "%zz", "%ff", "https://example.org/10.1000/a"] {
            assert_eq!(parse(raw), None, "{raw}");
        }
    }
}
