//! The PROXY protocol, versions 1 and 2: a proxy's word on its client, before the client's first byte.

use std::{io, net::IpAddr};

use ppp::{v1, v2};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What version 2 begins with.
const SIGNATURE: &[u8] = v2::PROTOCOL_PREFIX;
/// Bytes of version 2 that say how many follow: the signature, a version, a family, a length.
const FIXED_BYTES: usize = 16;
/// Bytes that may follow them; addresses take 36, and what else there is is not looked at.
const REST_BYTES_MAX: usize = 2_048;
/// Bytes of the line of version 1, by its text.
const LINE_BYTES_MAX: usize = 107;

/// Reads what stands before a connection's first byte, and not one byte more.
///
/// `None` where the proxy speaks for itself, or does not know: the client is the peer then.
///
/// # Errors
///
/// Where it is missing, cut short, or says what cannot be.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let mut bytes = vec![0; SIGNATURE.len()];
    stream.read_exact(&mut bytes).await?;
    if bytes == SIGNATURE { binary(stream, bytes).await } else { line(stream, bytes).await }
}

fn wrong(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no PROXY header: {what}"))
}

/// Version 1: a line of text, read byte by byte, since what follows is the client's.
async fn line(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<Option<IpAddr>> {
    if !bytes.starts_with(b"PROXY ") {
        return Err(wrong("it begins with something else"));
    }
    while !bytes.ends_with(b"\r\n") {
        if bytes.len() == LINE_BYTES_MAX {
            return Err(wrong("its line does not end"));
        }
        bytes.push(stream.read_u8().await?);
    }
    let header = v1::Header::try_from(bytes.as_slice()).map_err(wrong)?;
    if header.header.len() != bytes.len() {
        return Err(wrong("a carriage return stands within its line"));
    }
    match header.addresses {
        v1::Addresses::Unknown => Ok(None),
        v1::Addresses::Tcp4(addresses) => Ok(Some(addresses.source_address.into())),
        v1::Addresses::Tcp6(addresses) => Ok(Some(addresses.source_address.into())),
    }
}

/// Version 2: binary, and its length is told.
async fn binary(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<Option<IpAddr>> {
    bytes.resize(FIXED_BYTES, 0);
    stream.read_exact(&mut bytes[SIGNATURE.len()..]).await?;
    let rest = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    if rest > REST_BYTES_MAX {
        return Err(wrong(format_args!("{rest} bytes, at most {REST_BYTES_MAX} are read")));
    }
    bytes.resize(FIXED_BYTES + rest, 0);
    stream.read_exact(&mut bytes[FIXED_BYTES..]).await?;
    let header = v2::Header::try_from(bytes.as_slice()).map_err(wrong)?;
    Ok(match (header.command, header.addresses) {
        (v2::Command::Proxy, v2::Addresses::IPv4(of)) => Some(of.source_address.into()),
        (v2::Command::Proxy, v2::Addresses::IPv6(of)) => Some(of.source_address.into()),
        _ => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    fn said(mut bytes: &[u8]) -> Option<Option<IpAddr>> {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(read(&mut bytes)).ok()
    }

    #[test]
    fn a_line_ends_where_it_ends_and_not_before() {
        let client = Some("192.0.2.1".parse().unwrap());
        assert_eq!(said(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET"), Some(client));
        assert_eq!(said(b"PROXY UNKNOWN 1\n2\r\n"), Some(None));
        assert_eq!(said(b"PROXY UNKNOWN \r\0\xff\r\n"), None);
        assert_eq!(said(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX\r\n"), None);
        assert_eq!(said(b"PROXY UNKNOWN \xff\r\n"), None);
    }
}
