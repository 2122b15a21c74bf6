//! Parses the parameters of a list's raw query.

use super::Refused;

/// The parameters of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The number of the page, from 1.
    pub page: u64,
    /// The number of records per page.
    pub per_page: u64,
    /// `filter` after percent-decoding.
    pub filter: Option<String>,
    /// `sort` after percent-decoding.
    pub sort: Option<String>,
    /// `search` after percent-decoding.
    pub search: Option<String>,
}

/// Parses the text after the `?`.
pub fn parse(raw: &str) -> Result<Parameters, Refused> {
    let (mut page, mut per_page, mut filter, mut sort, mut search) = (None, None, None, None, None);
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        let given = match name.as_str() {
            "mailto" | "api_key" => continue,
            "page" => &mut page,
            "per_page" | "per-page" => &mut per_page,
            "filter" => &mut filter,
            "sort" => &mut sort,
            "search" => &mut search,
            _ => return Err(Refused("no parameter of a list")),
        };
        if value.trim().is_empty() {
            return Err(Refused("an empty parameter"));
        }
        if given.replace(value).is_some() {
            return Err(Refused("a parameter twice"));
        }
    }
    let page = match page {
        Some(page) if page.bytes().all(|byte| byte.is_ascii_digit()) => page.parse().ok(),
        Some(_) => None,
        None => Some(1),
    };
    let page = page.filter(|page| (1..=2_147_483_647).contains(page));
    let per_page = match per_page.as_deref() {
        Some("10") => 10,
        Some("25") | None => 25,
        Some("50") => 50,
        Some("100") => 100,
        Some(_) => return Err(Refused("no size of a page")),
    };
    Ok(Parameters {
        page: page.ok_or(Refused("no number of a page"))?,
        per_page,
        filter,
        sort,
        search,
    })
}

/// Percent-decodes a text once, with `+` as a space.
pub fn decoded(raw: &str) -> Result<String, Refused> {
    let mut bytes = Vec::new();
    let mut rest = raw.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        bytes.push(match first {
            b'+' => b' ',
            b'%' => {
                let digits = after.split_at_checked(2).ok_or(Refused("a broken escape"))?;
                rest = digits.1;
                escaped(digits.0)?
            }
            other => *other,
        });
    }
    String::from_utf8(bytes).map_err(|_| Refused("no UTF-8"))
}

fn escaped(digits: &[u8]) -> Result<u8, Refused> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(digits[0]).zip(digit(digits[1])).map(|(high, low)| high * 16 + low);
    value.and_then(|value| u8::try_from(value).ok()).ok_or(Refused("a broken escape"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_once() {
        let check = |raw: &str, expected: Option<&str>| {
            let filter = parse(raw).ok().map(|parsed| parsed.filter.unwrap_or_default());
            assert_eq!(filter.as_deref(), expected, "{raw}");
        };
        check("", Some(""));
        check("&&filter=a:1&", Some("a:1"));
        check("filter=a:%22x%2Cy%22", Some("a:\"x,y\""));
        check("f%69lter=a+b%20c%2B%c3%A9", Some("a b c+é"));
        check("filter=%2525", Some("%25"));
        check("filter=a=b", Some("a=b"));
        check("mailto=a&api_key&mailto=b", Some(""));
        for raw in [
            "filter=",
            "filter",
            "sort=",
            "search=",
            "search=%20",
            "search=%E3%80%80",
            "filter=a:1&filter=a:1",
            "filter=%ff",
            "filter=%C0%AF",
            "filter=%ED%A0%80",
            "filter=%zz",
            "filter=%",
            "filter=%4",
            "Filter=a:1",
            "group_by=type",
            "=",
        ] {
            check(raw, None);
        }
    }

    #[test]
    fn a_page_has_one_of_four_sizes() {
        let check = |raw: &str, expected: Option<(u64, u64)>| {
            let parsed = parse(raw).ok().map(|parsed| (parsed.page, parsed.per_page));
            assert_eq!(parsed, expected, "{raw}");
        };
        check("", Some((1, 25)));
        check("page=007&per-page=100", Some((7, 100)));
        check("page=2147483647&per_page=10", Some((2_147_483_647, 10)));
        for raw in
            ["page=0", "page=2147483648", "page=-1", "page=+1", "page=1&page=1", "per_page=11"]
        {
            check(raw, None);
        }
    }
}
