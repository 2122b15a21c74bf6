//! Target: the PROXY protocol header, versions 1 and 2.

#![no_main]

use std::{io, net::IpAddr};

use libfuzzer_sys::fuzz_target;
use pinakes_server::parts::read_proxy_header;
use tokio::runtime::Builder;

/// The longest header, in bytes.
const BYTES_MAX: usize = 2_064;

/// Reads a header. Returns the client's address and the number of bytes read.
fn read(mut bytes: &[u8]) -> (io::Result<Option<IpAddr>>, usize) {
    let runtime = Builder::new_current_thread().build().expect("a runtime takes no file");
    let length = bytes.len();
    let client = runtime.block_on(read_proxy_header(&mut bytes));
    (client, length - bytes.len())
}

fuzz_target!(|bytes: &[u8]| {
    let (client, length) = read(bytes);
    assert!(length <= BYTES_MAX, "the header takes {length} bytes");
    let Ok(client) = client else { return };
    // The header alone has the same result; the header without its last byte fails.
    let (alone, alone_length) = read(&bytes[..length]);
    assert_eq!((alone.ok(), alone_length), (Some(client), length));
    assert!(read(&bytes[..length - 1]).0.is_err());
    if !bytes.starts_with(b"PROXY ") {
        return assert_eq!(length, 16 + usize::from(u16::from_be_bytes([bytes[14], bytes[15]])));
    }
    let line = std::str::from_utf8(&bytes[..length]).expect("version 1 is text");
    let line = line.strip_suffix("\r\n").expect("a line has its end");
    assert!(!line.contains("\r\n"), "{line:?}");
    let words: Vec<&str> = line.split(' ').collect();
    let expected = match words[1] {
        "UNKNOWN" => None,
        _ => Some(words[2].parse::<IpAddr>().expect("an address was read")),
    };
    assert_eq!(client, expected, "{line:?}");
});
