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
    /// `search.exact` after percent-decoding.
    pub exact: Option<String>,
    /// The paths of `select`; the caller knows which members there are.
    pub select: Option<Vec<String>>,
    /// `sample`: the records to draw.
    pub sample: Option<u64>,
    /// `seed`.
    pub seed: Option<u64>,
    /// `format`: `ndjson` or `csv`.
    pub format: Option<String>,
}

/// Parses the text after the `?`.
pub fn parse(raw: &str) -> Result<Parameters, Refused> {
    let (mut page, mut per_page, mut filter, mut sort, mut search) = (None, None, None, None, None);
    let (mut select, mut sample, mut seed, mut format) = (None, None, None, None);
    let mut exact = None;
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
            "search.exact" => &mut exact,
            "select" => &mut select,
            "sample" => &mut sample,
            "seed" => &mut seed,
            "format" => &mut format,
            _ => return Err(Refused("no parameter of a list")),
        };
        if value.trim().is_empty() {
            return Err(Refused("an empty parameter"));
        }
        if given.replace(value).is_some() {
            return Err(Refused("a parameter twice"));
        }
    }
    let is_stream = format.is_some();
    if is_stream && (page.is_some() || per_page.is_some()) {
        return Err(Refused("a page of a stream"));
    }
    if format.as_ref().is_some_and(|format| !["ndjson", "csv"].contains(&format.as_str())) {
        return Err(Refused("no format of a stream"));
    }
    if seed.is_some() && sample.is_none() {
        return Err(Refused("a seed without a sample"));
    }
    let digits = |value: String| {
        let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse::<u64>().ok().filter(|_| is_plain).ok_or(Refused("no whole number"))
    };
    let (sample, seed) = (sample.map(digits).transpose()?, seed.map(digits).transpose()?);
    if sample.is_some_and(|records| !(1..=10_000).contains(&records)) {
        return Err(Refused("no size of a sample"));
    }
    let select: Option<Vec<String>> =
        select.map(|paths| paths.split(',').map(|path| path.trim().to_owned()).collect());
    if let Some(paths) = &select
        && paths.iter().enumerate().any(|(at, path)| path.is_empty() || paths[..at].contains(path))
    {
        return Err(Refused("no member, or one twice"));
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
        exact,
        select,
        sample,
        seed,
        format,
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
            "select=",
            "select=id,",
            "select=id,id",
            "sample=0",
            "sample=10001",
            "sample=+1",
            "seed=1",
            "sample=1&seed=-1",
            "sample=1&seed=18446744073709551616",
            "format=xml",
            "format=csv&page=1",
            "format=ndjson&per_page=100",
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
