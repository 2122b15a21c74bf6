//! Which of two media types a request prefers, by `Accept` (RFC 9110, section 12.5.1).

use http::{HeaderMap, header};

use crate::reply::coding::parse_thousandths;

/// Media type of JSON.
const JSON: &str = "application/json";

/// Whether a request prefers a media type to `application/json`. The type has to be named, and wins ties,
/// since clients name it to get it.
pub fn prefers(headers: &HeaderMap, media_type: &str) -> bool {
    // Thousandths by type; a more specific range replaces a less specific one.
    let (mut own, mut json) = (None, None);
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(|value| value.split(',')) {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parts
            .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
            .map_or(Some(1000), |weight| parse_thousandths(weight.as_bytes()));
        let Some(weight) = weight else { continue };
        let precision = match name.as_str() {
            name if name == media_type => {
                own = Some(weight);
                continue;
            }
            JSON => 2,
            "application/*" => 1,
            "*/*" => 0,
            _ => continue,
        };
        json = json.max(Some((precision, weight)));
    }
    let json = json.map_or(0, |(_, weight)| weight);
    own.is_some_and(|own| own > 0 && own >= json)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_page_is_preferred_where_its_type_is_named_and_weighs_as_much_as_json() {
        let check = |accept: &'static str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers(&headers, "text/html"), expected, "{accept}");
        };
        check("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true);
        check("TEXT/HTML", true);
        check("text/html, application/json", true);
        check("text/html;q=0.5, application/json;q=0.4", true);
        check("text/html;q=0.5, */*;q=0.4", true);
        check("text/html;q=0.5, */*", false);
        check("text/html;q=0.5, application/json", false);
        check("text/html;q=0, */*;q=0", false);
        check("text/html;q=x", false);
        check("text/*", false);
        check("*/*", false);
        check("application/json", false);
        check("", false);
        assert!(!prefers(&HeaderMap::new(), "text/html"));
    }
}
