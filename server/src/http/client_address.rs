//! The address of a request's client: the peer, or the client that trusted proxies name in a header.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

/// Addresses read from the forwarding header, from the right.
const FORWARDED_MAX: usize = 32;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The header in which trusted proxies name their clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ForwardingHeader {
    /// `X-Forwarded-For`.
    XForwardedFor,
    /// `Forwarded`, RFC 7239; `X-Forwarded-For` is ignored then.
    Forwarded,
}

impl ForwardingHeader {
    /// Splits a line into its items, left to right; one empty item if the line is malformed.
    fn items(self, line: &[u8]) -> Vec<&[u8]> {
        match self {
            ForwardingHeader::XForwardedFor => line.split(|byte| *byte == b',').collect(),
            ForwardingHeader::Forwarded => split_unquoted(line, b',').unwrap_or_else(|| vec![b""]),
        }
    }
}

/// Splits a line at separators outside quotes, since a host that a client chose may contain separators.
///
/// `None` if a quote does not end: a client could hide the items that proxies appended after it.
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

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The address; of an unknown client, that of the proxy.
    pub address: IpAddr,
    /// Whether a trusted proxy sent a header that names no client. Such a request is
    /// counted, and not as a request of the proxy.
    pub is_unknown: bool,
}

/// The key of all unknown clients together. No client has it: like the keys of IPv4 addresses it lies
/// in the IPv6 multicast range.
const UNKNOWN_KEY: u64 = 0xffff_fffe_0000_0000;

impl Client {
    /// A client whose address is known.
    pub fn known(address: IpAddr) -> Client {
        Client { address: address.to_canonical(), is_unknown: false }
    }

    /// The key that limits count the client by.
    pub fn key(self) -> u64 {
        if self.is_unknown { UNKNOWN_KEY } else { client_key(self.address) }
    }
}

/// Finds the client of a request, and tells trusted proxies and exempt clients from others.
#[derive(Clone, Debug)]
pub struct ClientResolver {
    /// Networks of proxies whose header counts.
    pub trusted: Vec<IpNet>,
    /// The header that trusted proxies set.
    pub header: ForwardingHeader,
    /// Networks of clients without limits.
    pub exempt: Vec<IpNet>,
}

impl ClientResolver {
    /// Returns the client.
    ///
    /// Behind a trusted proxy this is the right-most address in the header that is not a trusted proxy;
    /// clients can forge addresses further left. If all addresses are trusted proxies, the left-most
    /// counts. If the peer is not trusted, or sent no header, the peer is the client. If the address is
    /// malformed, the client is unknown.
    ///
    /// ```text
    /// trusted 10.0.0.0/8, peer 10.0.0.1, X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.0.0.9  →  1.2.3.4
    /// ```
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let peer = Client::known(peer);
        if !is_in(&self.trusted, peer.address) {
            return peer;
        }
        let name = match self.header {
            ForwardingHeader::XForwardedFor => X_FORWARDED_FOR,
            ForwardingHeader::Forwarded => header::FORWARDED,
        };
        let lines = headers.get_all(name).iter().rev();
        let items = lines.flat_map(|line| self.header.items(line.as_bytes()).into_iter().rev());
        let mut client = peer;
        for item in items.take(FORWARDED_MAX) {
            let item = std::str::from_utf8(item).unwrap_or_default().trim();
            let text = match self.header {
                ForwardingHeader::XForwardedFor => Some(item),
                ForwardingHeader::Forwarded => for_parameter(item),
            };
            let Some(address) = text.and_then(parse_address) else {
                return Client { is_unknown: true, ..peer };
            };
            client = Client::known(address);
            if !is_in(&self.trusted, address) {
                break;
            }
        }
        client
    }

    /// Whether an address is a trusted proxy.
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        is_in(&self.trusted, address.to_canonical())
    }

    /// Whether a client has no limits. An unknown client has limits.
    pub fn is_exempt(&self, client: Client) -> bool {
        !client.is_unknown && is_in(&self.exempt, client.address)
    }
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The network of IPv6 addresses that stand for IPv4 addresses behind a NAT64 gateway (RFC 6052).
const NAT64: u128 = 0x0064_ff9b << 96;

/// The key that limits count a client by: the IPv4 address, also behind NAT64, or the /64 network of the
/// IPv6 address.
pub fn client_key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => key_of_ipv4(address.to_bits()),
        IpAddr::V6(address) if address.to_bits() & !u128::from(u32::MAX) == NAT64 => {
            key_of_ipv4(address.to_bits() as u32)
        }
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

/// The keys of the networks around a client's key, the largest first: /24 and /32 of an IPv4 address; /48,
/// /56 and /64 of an IPv6 address.
pub fn network_keys(client: u64) -> [u64; 3] {
    let middle = if client >> 32 == 0xffff_ffff { client } else { client & !0xff };
    [network_key(client), middle, client]
}

/// The key of the network that a client's key lies in: the /24 of an IPv4 address, the /48 of an IPv6
/// address.
pub fn network_key(client: u64) -> u64 {
    match client >> 32 {
        0xffff_ffff => client & !0xff,
        _ if client == UNKNOWN_KEY => client,
        _ => client & !0xffff,
    }
}

/// A key within the IPv6 multicast range, which no client has.
fn key_of_ipv4(address: u32) -> u64 {
    0xffff_ffff_0000_0000 | u64::from(address)
}

/// Returns the `for` parameter of an element of `Forwarded`, without its quotes.
fn for_parameter(element: &str) -> Option<&str> {
    let pairs = split_unquoted(element.as_bytes(), b';')?.into_iter();
    // A split at an ASCII byte keeps UTF-8 valid.
    let mut pairs = pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim().split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    let value = value.trim();
    match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"'),
        None => Some(value),
    }
}

/// Parses an address with or without a port; IPv6 with or without brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
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

    fn clients(header: ForwardingHeader) -> ClientResolver {
        let trusted = ["10.0.0.0/8", "2001:db8:1::/48"].map(|network| network.parse().unwrap());
        ClientResolver {
            trusted: trusted.to_vec(),
            header,
            exempt: vec!["192.0.2.7/32".parse().unwrap()],
        }
    }

    /// Resolves the client of a request with these header lines; an unknown one has a question mark.
    fn client(header: ForwardingHeader, peer: &str, name: HeaderName, lines: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name.clone(), HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        let client = clients(header).client(peer.parse().unwrap(), &headers);
        assert_eq!(client.is_unknown, client.key() != client_key(client.address));
        format!("{}{}", client.address, if client.is_unknown { "?" } else { "" })
    }

    #[test]
    fn all_addresses_of_a_64_network_are_one_client() {
        let of = |address: u128| client_key(Ipv6Addr::from_bits(address).into());
        let network = 0x2001_0db8_0001_0002_u128 << 64;
        for low in 0..1 << 16 {
            for address in [network | low, network | low << 48] {
                assert_eq!(of(address), of(network), "{address:x}");
            }
        }
        assert!(of(network + (1 << 64)) != of(network), "the next /64 is another client");
        let four = |text: &str| client_key(text.parse().unwrap());
        assert_eq!(four("::ffff:192.0.2.1"), four("192.0.2.1"));
        assert!(four("192.0.2.1") != four("192.0.2.2"));
    }

    #[test]
    fn the_header_counts_from_trusted_proxies_only() {
        let check = |peer: &str, lines: &[&str], expected: &str| {
            let found = client(ForwardingHeader::XForwardedFor, peer, X_FORWARDED_FOR, lines);
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
            check("10.0.0.1", &[line], "10.0.0.1?");
        }
        // The left-most of the addresses that are read.
        let many = vec!["10.0.0.5"; 1_000].join(",");
        check("10.0.0.1", &[&many], "10.0.0.5");
        check("10.0.0.1", &[&format!("1.2.3.4,{many}")], "10.0.0.5");
    }

    #[test]
    fn forwarded_counts_when_it_is_the_chosen_header() {
        let check = |lines: &[&str], expected: &str| {
            let found = client(ForwardingHeader::Forwarded, "10.0.0.1", header::FORWARDED, lines);
            assert_eq!(found, expected, "{lines:?}");
        };
        check(&["for=\"[2001:db8::1]:443\""], "2001:db8::1");
        check(&["For=1.2.3.4;proto=https;by=10.0.0.1"], "1.2.3.4");
        check(&["for=6.6.6.6, proto=http; for=1.2.3.4"], "1.2.3.4");
        for wrong in ["for=unknown", "for=\"1.2.3.4", "proto=http", "1.2.3.4"] {
            check(&[wrong], "10.0.0.1?");
        }
        // A client chooses its host, including quotes and commas.
        for host in ["x,for=6.6.6.6;y", "a;for=6.6.6.6;b", r#"\",for=6.6.6.6;\""#, r"\\"] {
            check(&[&format!("for=1.2.3.4;host=\"{host}\"")], "1.2.3.4");
            check(&[&format!("host=\"{host}\";for=1.2.3.4")], "1.2.3.4");
        }
        check(&["for=6.6.6.6;x=\""], "10.0.0.1?");
        check(&["for=6.6.6.6;x=\", for=1.2.3.4"], "10.0.0.1?");
        check(&["for=6.6.6.6;x=\"", "for=1.2.3.4"], "1.2.3.4");
        let other = client(ForwardingHeader::Forwarded, "10.0.0.1", X_FORWARDED_FOR, &["1.2.3.4"]);
        assert_eq!(other, "10.0.0.1");
    }

    #[test]
    fn clients_are_counted_by_ipv4_address_or_ipv6_network() {
        let key = |address: &str| client_key(address.parse().unwrap());
        assert_eq!(key("1.2.3.4"), key("::ffff:1.2.3.4"));
        assert_ne!(key("1.2.3.4"), key("1.2.3.5"));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_ne!(key("::1"), key("0.0.0.0"));
        assert_eq!(key("64:ff9b::1.2.3.4"), key("1.2.3.4"));
        assert_ne!(key("64:ff9b::1.2.3.4"), key("64:ff9b::1.2.3.5"));
        assert_ne!(key("64:ff9b:1::1.2.3.4"), key("1.2.3.4"));
        let network = |address: &str| network_key(key(address));
        assert_eq!(network("1.2.3.4"), network("1.2.3.255"));
        assert_ne!(network("1.2.3.4"), network("1.2.4.4"));
        assert_eq!(network("2001:db8:0:1::"), network("2001:db8:0:ffff::"));
        assert_ne!(network("2001:db8:0:1::"), network("2001:db8:1:1::"));
        assert_eq!(network_key(UNKNOWN_KEY), UNKNOWN_KEY);
        let clients = clients(ForwardingHeader::XForwardedFor);
        let known = |address: &str| Client::known(address.parse().unwrap());
        assert!(clients.is_exempt(known("192.0.2.7")));
        assert!(!clients.is_exempt(known("192.0.2.8")));
        assert!(!clients.is_exempt(Client { is_unknown: true, ..known("192.0.2.7") }));
    }
}
