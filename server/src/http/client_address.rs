//! Who asks: the peer's address, or behind proxies that are trusted the one they name.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

/// Addresses that are looked at of those a request names; a client needs one or two.
const NAMED_MAX: usize = 32;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The header that trusted proxies name their clients in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ForwardedBy {
    /// `X-Forwarded-For`.
    XForwardedFor,
    /// `Forwarded`, RFC 7239; the other is ignored then.
    Forwarded,
}

impl ForwardedBy {
    /// The items of a line, from left to right; one that is no item where they cannot be told.
    fn items(self, line: &[u8]) -> Vec<&[u8]> {
        match self {
            ForwardedBy::XForwardedFor => line.split(|byte| *byte == b',').collect(),
            ForwardedBy::Forwarded => split_unquoted(line, b',').unwrap_or_else(|| vec![b""]),
        }
    }
}

/// Splits where a separator stands outside of quotes: a host that a client chose may hold any. `None`
/// where a quote does not end: whoever began it would swallow what a proxy wrote after it.
fn split_unquoted(line: &[u8], separator: u8) -> Option<Vec<&[u8]>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_separator = |byte: &u8| {
        let was_escaped = is_escaped;
        is_escaped = is_quoted && *byte == b'\\' && !was_escaped;
        is_quoted ^= *byte == b'"' && !was_escaped;
        *byte == separator && !is_quoted
    };
    let parts = line.split(is_separator).collect();
    (!is_quoted).then_some(parts)
}

/// Which addresses are believed.
#[derive(Clone, Debug)]
pub struct Clients {
    /// Proxies whose word is taken.
    pub trusted: Vec<IpNet>,
    /// Where they give it.
    pub by: ForwardedBy,
    /// Clients that no limit is for.
    pub exempt: Vec<IpNet>,
}

impl Clients {
    /// The client's address.
    ///
    /// Behind a trusted proxy it is the right-most named that is no trusted proxy; where all are,
    /// the left-most. What was put there further left is anybody's word. Where the one that counts
    /// cannot be read it is the peer's, as it is where no proxy is trusted.
    pub fn address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !is_in(&self.trusted, peer) {
            return peer;
        }
        let name = match self.by {
            ForwardedBy::XForwardedFor => X_FORWARDED_FOR,
            ForwardedBy::Forwarded => header::FORWARDED,
        };
        let lines = headers.get_all(name).iter().rev();
        let items = lines.flat_map(|line| self.by.items(line.as_bytes()).into_iter().rev());
        let mut client = peer;
        for item in items.take(NAMED_MAX) {
            let item = std::str::from_utf8(item).unwrap_or_default().trim();
            let text = match self.by {
                ForwardedBy::XForwardedFor => Some(item),
                ForwardedBy::Forwarded => named_for(item),
            };
            let Some(address) = text.and_then(parse) else { return peer };
            client = address;
            if !is_in(&self.trusted, address) {
                break;
            }
        }
        client
    }

    /// Whether an address is a proxy's whose word is taken.
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        is_in(&self.trusted, address.to_canonical())
    }

    /// Whether no limit is for a client.
    pub fn is_exempt(&self, address: IpAddr) -> bool {
        is_in(&self.exempt, address.to_canonical())
    }
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// What limits count a client by: an address of four bytes, or the /64 of one of sixteen.
pub fn key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        // No client has a multicast address, which these are.
        IpAddr::V4(address) => 0xffff_ffff_0000_0000 | u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// The `for` of an element of `Forwarded`, out of its quotes.
fn named_for(element: &str) -> Option<&str> {
    let pairs = split_unquoted(element.as_bytes(), b';')?.into_iter();
    // What was cut at an ASCII byte is still UTF-8.
    let mut pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let value = value.trim();
    match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"'),
        None => Some(value),
    }
}

/// An address, with a port or without, that of six in brackets or without.
fn parse(text: &str) -> Option<IpAddr> {
    let bracketed = |text: &str| -> Option<Ipv6Addr> {
        text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
    };
    let address = text.parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse().ok().map(|with_port: SocketAddr| with_port.ip()));
    address.or_else(|| bracketed(text).map(IpAddr::V6)).map(|address| address.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn clients(by: ForwardedBy) -> Clients {
        let trusted = ["10.0.0.0/8", "2001:db8:1::/48"].map(|network| network.parse().unwrap());
        Clients { trusted: trusted.to_vec(), by, exempt: vec!["192.0.2.7/32".parse().unwrap()] }
    }

    /// The address of a client whose request has these lines of a header.
    fn address(by: ForwardedBy, peer: &str, name: HeaderName, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        clients(by).address(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn all_addresses_of_a_64_are_one_client() {
        let of = |address: u128| key(Ipv6Addr::from_bits(address).into());
        let network = 0x2001_0db8_0001_0002_u128 << 64;
        for low in 0..1 << 16 {
            for address in [network | low, network | low << 48] {
                assert_eq!(of(address), of(network), "{address:x}");
            }
        }
        assert!(of(network + (1 << 64)) != of(network), "the next /64 is another's");
        let four = |text: &str| key(text.parse().unwrap());
        assert_eq!(four("::ffff:192.0.2.1"), four("192.0.2.1"));
        assert!(four("192.0.2.1") != four("192.0.2.2"));
    }

    #[test]
    fn a_header_counts_where_a_trusted_proxy_wrote_it() {
        let check = |peer: &str, lines: &[&str], expected: &str| {
            let found = address(ForwardedBy::XForwardedFor, peer, X_FORWARDED_FOR, lines);
            assert_eq!(found, expected, "{lines:?}");
        };
        check("198.51.100.1", &["1.2.3.4"], "198.51.100.1");
        check("::ffff:198.51.100.1", &[], "198.51.100.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["1.2.3.4"], "1.2.3.4");
        check("10.0.0.1", &["6.6.6.6, 1.2.3.4"], "1.2.3.4");
        check("10.0.0.1", &["6.6.6.6, 1.2.3.4, 10.0.0.9"], "1.2.3.4");
        check("10.0.0.1", &["6.6.6.6", "1.2.3.4", "10.0.0.9"], "1.2.3.4");
        check("2001:db8:1::7", &["2001:db8:2::9"], "2001:db8:2::9");
        check("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3");
        for (line, expected) in [
            ("1.2.3.4:80", "1.2.3.4"),
            ("[::1]:80", "::1"),
            ("[::1]", "::1"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("[::ffff:1.2.3.4]:8", "1.2.3.4"),
        ] {
            check("10.0.0.1", &[line], expected);
        }
        for line in [
            "unknown",
            "_hidden",
            "1.2.3.4.5",
            "0x7f.1",
            "",
            " ",
            "1.2.3.4,",
            "127.1",
            "é",
            "1.2.3.4, ?",
        ] {
            check("10.0.0.1", &[line], "10.0.0.1");
        }
        // The left-most of those that are looked at.
        let many = vec!["10.0.0.5"; 1_000].join(",");
        check("10.0.0.1", &[&many], "10.0.0.5");
        check("10.0.0.1", &[&format!("1.2.3.4,{many}")], "10.0.0.5");
    }

    #[test]
    fn the_other_header_counts_where_it_is_chosen() {
        let check = |lines: &[&str], expected: &str| {
            let found = address(ForwardedBy::Forwarded, "10.0.0.1", header::FORWARDED, lines);
            assert_eq!(found, expected, "{lines:?}");
        };
        check(&["for=\"[2001:db8::1]:443\""], "2001:db8::1");
        check(&["For=1.2.3.4;proto=https;by=10.0.0.1"], "1.2.3.4");
        check(&["for=6.6.6.6, proto=http; for=1.2.3.4"], "1.2.3.4");
        for wrong in ["for=unknown", "for=\"1.2.3.4", "proto=http", "1.2.3.4"] {
            check(&[wrong], "10.0.0.1");
        }
        // A host is its client's to choose, quotes, commas and all.
        for host in ["x,for=6.6.6.6;y", "a;for=6.6.6.6;b", r#"\",for=6.6.6.6;\""#, r"\\"] {
            check(&[&format!("for=1.2.3.4;host=\"{host}\"")], "1.2.3.4");
            check(&[&format!("host=\"{host}\";for=1.2.3.4")], "1.2.3.4");
        }
        check(&["for=6.6.6.6;x=\", for=1.2.3.4"], "10.0.0.1");
        check(&["for=6.6.6.6;x=\"", "for=1.2.3.4"], "1.2.3.4");
        let other = address(ForwardedBy::Forwarded, "10.0.0.1", X_FORWARDED_FOR, &["1.2.3.4"]);
        assert_eq!(other, "10.0.0.1");
    }

    #[test]
    fn clients_are_counted_by_address_or_network() {
        let key = |address: &str| key(address.parse().unwrap());
        assert_eq!(key("1.2.3.4"), key("::ffff:1.2.3.4"));
        assert_ne!(key("1.2.3.4"), key("1.2.3.5"));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_ne!(key("::1"), key("0.0.0.0"));
        let clients = clients(ForwardedBy::XForwardedFor);
        assert!(clients.is_exempt("192.0.2.7".parse().unwrap()));
        assert!(!clients.is_exempt("192.0.2.8".parse().unwrap()));
    }
}
