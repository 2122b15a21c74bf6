//! Content codings, and which of them a request accepts. [`encode`] codes bodies, and [`stream`] bodies
//! piece by piece.

pub(crate) mod encode;
pub(crate) mod stream;

use http::{HeaderMap, header};

/// A value of `Content-Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// No coding.
    Identity,
    /// RFC 8878.
    Zstd,
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// Number of codings.
    pub const COUNT: usize = 4;
    /// All codings, by discriminant.
    pub const ALL: [Coding; Coding::COUNT] =
        [Coding::Identity, Coding::Zstd, Coding::Brotli, Coding::Gzip];
    /// Codings other than identity; the first of equal weight wins.
    pub const BY_PREFERENCE: [Coding; Coding::COUNT - 1] =
        [Coding::Zstd, Coding::Brotli, Coding::Gzip];

    /// Name in `Content-Encoding` and `Accept-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Identity => "identity",
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// Parses a name, ignoring case; `x-gzip` is gzip (RFC 9110, section 8.4.1.3).
    fn from_name(name: &[u8]) -> Option<Coding> {
        let name = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
        Coding::ALL.into_iter().find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}

/// The weight of each coding in one request, by `Accept-Encoding` (RFC 9110, section 12.5.3).
///
/// Several lines form one list. Malformed items and unknown codings are ignored; the first item of a
/// coding counts. `*` sets the weight of all codings not named.
///
/// Identity is always acceptable, even if a request refuses it: the RFC permits that if nothing else
/// fits, and a reply helps more than an error. A request without the header gets identity, the one
/// coding that every client reads.
///
/// Cost: linear in the header's length, without allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptedCodings {
    /// Thousandths, by discriminant. Identity has 0 if not named: acceptable, but not asked for.
    weights: [u16; Coding::COUNT],
}

impl AcceptedCodings {
    /// Parses the header.
    pub fn from_headers(headers: &HeaderMap) -> AcceptedCodings {
        let mut named = [None; Coding::COUNT];
        let mut others = None;
        for line in headers.get_all(header::ACCEPT_ENCODING) {
            for item in line.as_bytes().split(|byte| *byte == b',') {
                let Some((name, weight)) = parse_item(item) else { continue };
                let weight_slot = match Coding::from_name(name) {
                    Some(coding) => &mut named[coding as usize],
                    None if name == b"*" => &mut others,
                    None => continue,
                };
                weight_slot.get_or_insert(weight);
            }
        }
        AcceptedCodings { weights: named.map(|weight| weight.or(others).unwrap_or(0)) }
    }

    /// The coding with the largest weight.
    pub fn preferred(self) -> Coding {
        let weight = |coding: Coding| self.weights[coding as usize];
        let mut best = Coding::Identity;
        for coding in Coding::BY_PREFERENCE {
            let is_better = if best == Coding::Identity {
                // At equal weights the request named both; the smaller body wins.
                weight(coding) > 0 && weight(coding) >= weight(best)
            } else {
                weight(coding) > weight(best)
            };
            if is_better {
                best = coding;
            }
        }
        best
    }

    /// Whether a reply may use a coding.
    pub fn accepts(self, coding: Coding) -> bool {
        coding == Coding::Identity || self.weights[coding as usize] > 0
    }
}

/// Parses `name` or `name;q=0.5` into name and thousandths; `None` if malformed.
fn parse_item(item: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = item.splitn(2, |byte| *byte == b';');
    let name = trim(parts.next()?);
    let Some(parameter) = parts.next() else { return Some((name, 1000)) };
    let weight = match trim(parameter) {
        [b'q' | b'Q', b'=', weight @ ..] => weight,
        _ => return None,
    };
    Some((name, parse_thousandths(weight)?))
}

/// Parses a qvalue, 0 to 1 with up to three decimals, into thousandths.
pub(crate) fn parse_thousandths(text: &[u8]) -> Option<u16> {
    let (whole, decimals) = match text {
        [whole] => (whole, &[][..]),
        [whole, b'.', decimals @ ..] if decimals.len() <= 3 => (whole, decimals),
        _ => return None,
    };
    let digits = [whole].into_iter().chain(decimals).chain([&b'0'; 3]).take(4);
    let value = digits
        .map(|byte| char::from(*byte).to_digit(10))
        .try_fold(0, |value, digit| digit.map(|digit| value * 10 + digit))?;
    u16::try_from(value).ok().filter(|value| *value <= 1000)
}

/// Trims the white space that RFC 9110 allows around a token.
fn trim(part: &[u8]) -> &[u8] {
    let is_other = |byte: &u8| !matches!(byte, b' ' | b'\t');
    let from = part.iter().position(is_other).unwrap_or(part.len());
    let to = part.iter().rposition(is_other).map_or(from, |last| last + 1);
    &part[from..to]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::{Coding::*, *};

    fn accepted(lines: &[&str]) -> AcceptedCodings {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers
                .append(header::ACCEPT_ENCODING, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        AcceptedCodings::from_headers(&headers)
    }

    #[test]
    fn the_coding_of_largest_weight_is_preferred() {
        let check = |lines: &[&str], expected: Coding| {
            assert_eq!(accepted(lines).preferred(), expected, "{lines:?}");
        };
        // No coding is asked for.
        check(&[], Identity);
        check(&[""], Identity);
        check(&[" , ,, "], Identity);
        check(&["deflate, compress, snappy"], Identity);
        check(&["identity"], Identity);
        // At equal weights the server's order.
        check(&["gzip, deflate, br, zstd"], Zstd);
        check(&["gzip, deflate, br"], Brotli);
        check(&["gzip, deflate"], Gzip);
        check(&["gzip;q=0.5, br;q=0.5"], Brotli);
        check(&["identity, gzip"], Gzip);
        check(&["identity;q=0.5, gzip;q=0.5"], Gzip);
        // Otherwise the request's order.
        check(&["gzip;q=1.0, br;q=0.9, zstd;q=0.899"], Gzip);
        check(&["zstd;q=0.001, br;q=0.002"], Brotli);
        check(&["identity;q=0.8, gzip;q=0.5"], Identity);
        check(&["identity, gzip;q=0.999"], Identity);
        check(&["zstd;q=0.4, identity;q=0.5, br;q=0.6"], Brotli);
        check(&["gzip;q=0.1"], Gzip);
        // Refused.
        check(&["zstd;q=0, gzip"], Gzip);
        check(&["zstd;q=0.000, br;q=0., gzip;q=0"], Identity);
        check(&["identity;q=0"], Identity);
        check(&["*;q=0"], Identity);
        check(&["identity;q=0, *;q=0"], Identity);
        check(&["identity;q=0, br"], Brotli);
        check(&["br, *;q=0"], Brotli);
        // `*` is every coding that is not named.
        check(&["*"], Zstd);
        check(&["zstd;q=0, *"], Brotli);
        check(&["*;q=0.5, gzip"], Gzip);
        check(&["gzip;q=0.2, *;q=0.1"], Gzip);
        check(&["*, zstd;q=0.5, br;q=0.5"], Gzip);
        check(&["*;q=0.5, identity"], Identity);
        // Names and white space.
        check(&["GZip"], Gzip);
        check(&["x-gzip"], Gzip);
        check(&["X-GZIP;Q=0.3"], Gzip);
        check(&["\t gzip \t; \tq=0.5\t "], Gzip);
        check(&["gzip,br"], Brotli);
        check(&["xgzip"], Identity);
        check(&["gzipped, brotli, zst"], Identity);
        // Several lines form one list; the first item of a coding counts.
        check(&["gzip", "br"], Brotli);
        check(&["gzip;q=0.5", "zstd;q=0.4"], Gzip);
        check(&["gzip;q=0", "gzip"], Identity);
        check(&["gzip, gzip;q=0, x-gzip;q=0"], Gzip);
        check(&["*;q=0", "*"], Identity);
    }

    #[test]
    fn a_malformed_item_is_ignored_and_the_others_count() {
        for malformed in [
            "zstd;q=",
            "zstd;q",
            "zstd;",
            "zstd;;q=1",
            "zstd;q =1",
            "zstd;q= 1",
            "zstd;q=1;q=1",
            "zstd;q=1.001",
            "zstd;q=2",
            "zstd;q=10",
            "zstd;q=1.1",
            "zstd;q=.5",
            "zstd;q=0.1234",
            "zstd;q=1.0000",
            "zstd;q=-1",
            "zstd;q=+1",
            "zstd;q=0,5;",
            "zstd;q=0x1",
            "zstd;q=1e0",
            "zstd;q=\"1\"",
            "zstd;q=0.5x",
            "zstd;q=NaN",
            "zstd;level=3",
            "zstd q=1",
            "\"zstd\"",
            "zstd/1",
            "z std",
            "zst\u{e4}",
            "**",
            "*zstd",
            "* ;",
            "zstd=1",
            "q=1",
            ";q=1",
            "\u{e9}",
        ] {
            let lines = [malformed, "gzip;q=0.1"];
            assert_eq!(accepted(&lines), accepted(&lines[1..]), "{malformed}");
            let line = format!("{malformed}, gzip;q=0.1");
            assert_eq!(accepted(&[&line]).preferred(), Gzip, "{malformed}");
        }
    }

    #[test]
    fn every_coding_that_is_not_refused_is_accepted() {
        let check = |line: &str, expected: [Coding; 1], refused: &[Coding]| {
            let accepted = accepted(&[line]);
            for coding in Coding::ALL {
                assert_eq!(
                    accepted.accepts(coding),
                    !refused.contains(&coding),
                    "{line} {coding:?}"
                );
            }
            assert_eq!([accepted.preferred()], expected, "{line}");
        };
        check("*", [Zstd], &[]);
        check("", [Identity], &[Zstd, Brotli, Gzip]);
        check("identity;q=0", [Identity], &[Zstd, Brotli, Gzip]);
        check("br;q=0.001", [Brotli], &[Zstd, Gzip]);
        check("*, br;q=0", [Zstd], &[Brotli]);
    }

    #[test]
    fn discriminants_index_the_table_of_codings() {
        for (at, coding) in Coding::ALL.into_iter().enumerate() {
            assert_eq!(coding as usize, at);
            assert_eq!(Coding::from_name(coding.name().as_bytes()), Some(coding));
        }
    }
}
