//! The PROXY protocol, versions 1 and 2: a header in which a proxy names its client, before the client's
//! first byte.

use std::{io, net::IpAddr};

use ppp::{v1, v2};
use tokio::io::{AsyncRead, AsyncReadExt};

/// First bytes of version 2.
const SIGNATURE: &[u8] = v2::PROTOCOL_PREFIX;
/// Bytes of the fixed part of version 2: signature, version, family and length.
const FIXED_BYTES: usize = 16;
/// Bytes of the variable part of version 2; addresses take 36, and the parser ignores the rest.
const VARIABLE_BYTES_MAX: usize = 2_048;
/// Longest line of version 1 by its specification, in bytes.
const LINE_BYTES_MAX: usize = 107;

/// Reads a PROXY header, and not one byte more; the address of the client it names.
///
/// `None` if the proxy speaks for itself or does not know the client: the peer is the client then.
///
/// # Errors
///
/// The header is missing, truncated or invalid.
pub async fn read_header(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<IpAddr>> {
    let mut bytes = vec![0; SIGNATURE.len()];
    stream.read_exact(&mut bytes).await?;
    if bytes == SIGNATURE { read_v2(stream, bytes).await } else { read_v1(stream, bytes).await }
}

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("invalid PROXY header: {what}"))
}

/// Reads version 1, a line of text, byte by byte: the bytes after the line are the client's.
async fn read_v1(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<Option<IpAddr>> {
    if !bytes.starts_with(b"PROXY ") {
        return Err(invalid("it does not start with `PROXY `"));
    }
    while !bytes.ends_with(b"\r\n") {
        if bytes.len() == LINE_BYTES_MAX {
            return Err(invalid("its line is longer than 107 bytes"));
        }
        bytes.push(stream.read_u8().await?);
    }
    let header = v1::Header::try_from(bytes.as_slice()).map_err(invalid)?;
    if header.header.len() != bytes.len() {
        return Err(invalid("its line contains a carriage return"));
    }
    match header.addresses {
        v1::Addresses::Unknown => Ok(None),
        v1::Addresses::Tcp4(addresses) => Ok(Some(addresses.source_address.into())),
        v1::Addresses::Tcp6(addresses) => Ok(Some(addresses.source_address.into())),
    }
}

/// Reads version 2, which is binary and states its length.
async fn read_v2(
    stream: &mut (impl AsyncRead + Unpin),
    mut bytes: Vec<u8>,
) -> io::Result<Option<IpAddr>> {
    bytes.resize(FIXED_BYTES, 0);
    stream.read_exact(&mut bytes[SIGNATURE.len()..]).await?;
    let rest = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
    if rest > VARIABLE_BYTES_MAX {
        return Err(invalid(format_args!(
            "{rest} bytes follow the fixed part, at most {VARIABLE_BYTES_MAX} may"
        )));
    }
    bytes.resize(FIXED_BYTES + rest, 0);
    stream.read_exact(&mut bytes[FIXED_BYTES..]).await?;
    let header = v2::Header::try_from(bytes.as_slice()).map_err(invalid)?;
    Ok(match (header.command, header.addresses) {
        (v2::Command::Proxy, v2::Addresses::IPv4(v4)) => Some(v4.source_address.into()),
        (v2::Command::Proxy, v2::Addresses::IPv6(v6)) => Some(v6.source_address.into()),
        _ => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::runtime::Builder;

    use super::*;

    fn parsed(mut bytes: &[u8]) -> Option<Option<IpAddr>> {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(read_header(&mut bytes)).ok()
    }

    #[test]
    fn version_1_ends_at_the_first_line_end() {
        let client = Some("192.0.2.1".parse().unwrap());
        assert_eq!(parsed(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET"), Some(client));
        assert_eq!(parsed(b"PROXY UNKNOWN 1\n2\r\n"), Some(None));
        assert_eq!(parsed(b"PROXY UNKNOWN \r\0\xff\r\n"), None);
        assert_eq!(parsed(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX\r\n"), None);
        assert_eq!(parsed(b"PROXY UNKNOWN \xff\r\n"), None);
    }
}
