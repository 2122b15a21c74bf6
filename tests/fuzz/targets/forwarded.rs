//! Target: headers by which proxies name the client's address.

#![no_main]

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use pinakes_server::parts::{Client, ClientResolver, ForwardingHeader};

const PEERS: [&str; 4] = ["10.0.0.1", "2001:db8:1::7", "::ffff:10.0.0.1", "192.0.2.1"];
const HEADERS: [(ForwardingHeader, &str); 2] = [
    (ForwardingHeader::XForwardedFor, "x-forwarded-for"),
    (ForwardingHeader::Forwarded, "forwarded"),
];

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let peer: IpAddr = PEERS[usize::from(first % 4)].parse().expect("an address");
    let (by, name) = HEADERS[usize::from(first / 4 % 2)];
    let lines = rest.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else { return };
    let network = |text: &str| text.parse().expect("a network");
    let trusted = vec![network("10.0.0.0/8"), network("2001:db8:1::/48")];
    let clients = ClientResolver { trusted, header: by, exempt: Vec::new() };
    let of = |lines: &[HeaderValue]| {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HeaderName::from_static(name), line.clone());
        }
        clients.client(peer, &headers)
    };
    let client = of(&lines);
    assert_eq!(client.address, client.address.to_canonical());
    if !clients.is_trusted(peer) {
        assert_eq!(client, Client::known(peer), "the header of an untrusted peer counts");
    }
    assert_eq!(of(&[]), Client::known(peer));
    // Several header lines equal one line joined by commas, unless a line has an unclosed quote.
    let is_whole = |line: &[u8]| by == ForwardingHeader::XForwardedFor || ends_its_quotes(line);
    let joined = lines.iter().map(HeaderValue::as_bytes).collect::<Vec<_>>().join(&b", "[..]);
    let of_joined =
        of(&[HeaderValue::from_bytes(&joined).expect("joined header values are a header value")]);
    if lines.iter().all(|line| is_whole(line.as_bytes())) {
        assert_eq!(client, of_joined);
    } else if !is_whole(&joined) {
        assert!(of_joined.is_unknown, "an address inside an unclosed quote counts");
    }
});

fn ends_its_quotes(line: &[u8]) -> bool {
    let mut is_quoted = false;
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => drop(bytes.next()),
            _ => {}
        }
    }
    !is_quoted
}
