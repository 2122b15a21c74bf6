//! Resolves host names, and refuses redirects into the network of this machine.
//!
//! A host on the internet must not make `pull` ask a service that only this machine or its neighbours can
//! reach. The addresses of the first host decide: if none of them is local, no later one may be.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::OnceLock,
};

use ureq::{
    Error,
    config::Config,
    http::Uri,
    unversioned::{
        resolver::{ResolvedSocketAddrs, Resolver},
        transport::NextTimeout,
    },
};

/// The resolver of one host and of its redirects.
#[derive(Debug)]
pub struct OriginResolver<R> {
    names: R,
    /// Whether the first host has a local address, once known.
    is_local: OnceLock<bool>,
}

impl<R> OriginResolver<R> {
    pub fn new(names: R) -> OriginResolver<R> {
        OriginResolver { names, is_local: OnceLock::new() }
    }
}

impl<R: Resolver> Resolver for OriginResolver<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.names.resolve(uri, config, timeout)?;
        let local = found.iter().map(|address| address.ip()).find(|address| is_local(*address));
        let may_be_local = *self.is_local.get_or_init(|| local.is_some());
        match local {
            Some(address) if !may_be_local => {
                let host = uri.host().unwrap_or_default();
                let reason = format!("leads to `{host}` at the local address {address}; refused");
                Err(io::Error::new(io::ErrorKind::InvalidData, reason).into())
            }
            _ => Ok(found),
        }
    }
}

/// The first 48 bits of `64:ff9b:1::/48`: translation of addresses for the use of a network alone.
const LOCAL_NAT64: u128 = 0x0064_ff9b_0001;

/// Whether an address is of this machine, its link or a private network.
fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_local_ipv4(address),
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_unique_local()
                || address.is_multicast()
                || address.to_bits() >> 80 == LOCAL_NAT64
                || embedded_ipv4(address).is_some_and(is_local_ipv4)
        }
    }
}

fn is_local_ipv4(address: Ipv4Addr) -> bool {
    // 0.0.0.0/8 is this machine, 100.64.0.0/10 the network of a provider, 198.18.0.0/15 a laboratory's. Clouds answer
    // for their machines at 168.63.129.16 and in 192.0.0.0/24.
    let [first, second, third, _] = address.octets();
    address.is_loopback()
        || address.is_link_local()
        || address.is_private()
        || address.is_broadcast()
        || address.is_multicast()
        || first == 0
        || (first == 100 && second & 0xc0 == 64)
        || (first == 198 && second & 0xfe == 18)
        || [first, second, third] == [192, 0, 0]
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

/// The IPv4 address in an IPv6 address for NAT64 (`64:ff9b::/96`), 6to4 (`2002::/16`), or in the last 32 bits
/// of `::/96`.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    match bits >> 32 {
        0 | 0x0064_ff9b_0000_0000_0000_0000 => Some(Ipv4Addr::from_bits(bits as u32)),
        _ if bits >> 112 == 0x2002 => Some(Ipv4Addr::from_bits((bits >> 80) as u32)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::SocketAddr;

    use ureq::{Timeout, unversioned::transport::time::Duration};

    use super::*;

    /// Resolves a host name to the address that the name spells, with `-` for `:` and `.`.
    #[derive(Debug)]
    struct Spelled;

    impl Resolver for Spelled {
        fn resolve(
            &self,
            uri: &Uri,
            _: &Config,
            _: NextTimeout,
        ) -> Result<ResolvedSocketAddrs, Error> {
            let mut found = self.empty();
            for text in uri.host().unwrap().split('_') {
                let v4 = text.replace('-', ".").parse().ok();
                let address = v4.unwrap_or_else(|| text.replace('-', ":").parse().unwrap());
                found.push(SocketAddr::new(address, 80));
            }
            Ok(found)
        }
    }

    fn resolve_all(names: &[&str]) -> Vec<bool> {
        let resolver = OriginResolver::new(Spelled);
        let resolve = |name: &&str| {
            let uri = format!("http://{name}/latest.json").parse().unwrap();
            let timeout = NextTimeout {
                after: Duration::NotHappening,
                reason: Timeout::Resolve,
                per_read: None,
                per_write: None,
            };
            resolver.resolve(&uri, &Config::default(), timeout).is_ok()
        };
        names.iter().map(resolve).collect()
    }

    #[test]
    fn a_host_elsewhere_leads_to_no_local_address() {
        for local in [
            "127-0-0-1",
            "127-9-9-9",
            "10-0-0-1",
            "172-16-3-4",
            "192-168-1-1",
            "169-254-169-254",
            "100-64-0-1",
            "0-0-0-0",
            "168-63-129-16",
            "192-0-0-192",
            "198-18-0-1",
            "198-19-255-254",
            "64-ff9b-1--a00-1",
            "64-ff9b-1--808-808",
            "255-255-255-255",
            "--1",
            "--",
            "fe80--1",
            "fd00--1",
            "--ffff-127-0-0-1".replace("127-0-0-1", "7f00-1").as_str(),
            "64-ff9b--a00-1",
            "2002-7f00-1--",
            "8-8-8-8_127-0-0-1",
        ] {
            let found = resolve_all(&["203-0-113-7", "198-51-100-1", local, "203-0-113-7"]);
            assert_eq!(found, [true, true, false, true], "{local}");
            assert_eq!(resolve_all(&[local, "203-0-113-7", "10-1-1-1"]), [true; 3], "{local}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_not_local() {
        let found = resolve_all(&[
            "203-0-113-7",
            "100-128-0-1",
            "172-32-0-1",
            "2606-4700--1",
            "11-0-0-1",
            "168-63-129-17",
            "192-0-1-1",
            "198-20-0-1",
            "198-17-0-1",
            "64-ff9b--808-808",
        ]);
        assert_eq!(found, [true; 10]);
    }
}
