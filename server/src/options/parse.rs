//! Parses the values of options.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use ipnet::IpNet;

/// The smallest memory of the server, in bytes.
const MEMORY_BYTES_MIN: usize = 64 << 20;

/// The smallest disk space of a mirror, in bytes.
const CACHE_BYTES_MIN: usize = 1 << 20;

/// Parses a size such as `256M` or `1G`, of at least 64M.
pub(super) fn parse_memory(text: &str) -> Result<usize, String> {
    parse_bytes(text, MEMORY_BYTES_MIN)
}

/// Parses the path of a proxy, which has no slash at its end.
pub(super) fn parse_base_path(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let is_path = text.starts_with('/') && !text.ends_with('/');
    match is_path && !text.contains("//") && text.bytes().all(is_plain) {
        true => Ok(text.to_owned()),
        false => {
            Err("expected a path such as `/pinakes`, of letters, digits and `/-._~`".to_owned())
        }
    }
}

/// Parses a size such as `256M` or `1G`, of at least 1M.
pub(super) fn parse_cache(text: &str) -> Result<usize, String> {
    parse_bytes(text, CACHE_BYTES_MIN)
}

fn parse_bytes(text: &str, bytes_min: usize) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number: Option<usize> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    let bytes = bytes.filter(|bytes| *bytes >= bytes_min);
    let least = bytes_min >> 20;
    bytes.ok_or_else(|| format!("expected a size of at least {least}M, such as 256M or 1G"))
}

/// Parses a share, above 0 and at most 1: `25%` or `0.25`.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.parse().ok().map(|number: f64| number / unit);
    let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share such as 25% or 0.25".to_owned())
}

/// Parses the address of a store of counts.
pub(super) fn parse_store(text: &str) -> Result<redis::Client, String> {
    redis::Client::open(text).map_err(|_| {
        "expected an address such as redis://host:6379/0, rediss://user:password@host or \
         unix:///run/redis/redis.sock"
            .to_owned()
    })
}

/// Parses a network in CIDR notation, or one address.
pub(super) fn parse_network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let network = text.parse::<IpNet>().ok().or_else(address);
    network.ok_or_else(|| "expected a network such as 10.0.0.0/8, or an address".to_owned())
}

/// Valid timeouts: one microsecond to one day.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=86_400.0;

/// Parses an address and port. Looks a host name up, and prefers its first IPv4 address.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| {
        format!("{error}; expected an address or host name and a port, such as 127.0.0.1:8080")
    })?;
    let mut addresses: Vec<SocketAddr> = found.collect();
    addresses.sort_by_key(|address| address.is_ipv6());
    addresses.first().copied().ok_or_else(|| "the host has no address".to_owned())
}

/// Parses a timeout in seconds, with or without decimals.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> =
        text.parse().ok().filter(|seconds| TIMEOUT_SECONDS.contains(seconds));
    let expected = || {
        format!(
            "expected a number of seconds from {} to {}",
            TIMEOUT_SECONDS.start(),
            TIMEOUT_SECONDS.end()
        )
    };
    seconds.map(Duration::from_secs_f64).ok_or_else(expected)
}
