//! A request of the interface that a tool makes.

use bytes::Bytes;
use http::{Method, StatusCode, header};

use crate::define::{Call, Failure};
use crate::reply::pieces::PieceBudget;
use crate::reply::{Body, Reply};
use crate::request::path::URI_BYTES_MAX;

/// The longest reply that a request reads: a record of which a tool may give some members.
const READ_BYTES_MAX: usize = 4 << 20;
/// Redirects that a request follows, as from an identifier to its record, and from a merged id.
const REDIRECTS_MAX: usize = 3;

/// A reply of the interface.
pub enum Inner {
    /// The body of a reply 200, and the path that has it.
    Found(String, Bytes),
    /// The message of another reply, with its details.
    Refused(String),
}

/// Makes a GET request of a path and query.
pub fn get(address: String, call: &Call<'_>) -> Result<Inner, Failure> {
    let mut address = address;
    for _ in 0..=REDIRECTS_MAX {
        if address.len() > URI_BYTES_MAX {
            return Ok(Inner::Refused(format!(
                "The arguments are longer than {URI_BYTES_MAX} bytes"
            )));
        }
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        let asked = Call {
            method: &Method::GET,
            path,
            sent_path: path,
            query,
            uri_bytes: address.len(),
            posted: None,
            ..*call
        };
        let reply = call.interface.answer(&asked)?;
        let moved = reply.headers.iter().find(|(name, _)| *name == header::LOCATION);
        match moved.and_then(|(_, location)| location.to_str().ok()) {
            Some(location) => address = location.to_owned(),
            None => return read(&address, reply, &asked),
        }
    }
    Ok(Inner::Refused(format!("{address} leads from one address to the next")))
}

/// Reads the body of a reply, or its message.
fn read(address: &str, reply: Reply, call: &Call<'_>) -> Result<Inner, Failure> {
    let status = reply.status;
    let mut reply = reply;
    let source = reply.take_source();
    let bytes = match (source, reply.body) {
        (Some(mut source), _) => {
            let mut bytes = Vec::new();
            // A byte beyond the limit shows that the body is too long.
            while !source.is_done() && bytes.len() <= READ_BYTES_MAX {
                if call.limits().cpu_left().is_zero() {
                    return Err(Failure::Deadline);
                }
                let budget = PieceBudget::of_piece(call.host.clock());
                source.next_piece(call.snapshot, &budget, &mut bytes)?;
            }
            Bytes::from(bytes)
        }
        (None, Body::Text { bytes, .. }) => bytes,
        (None, Body::Message(message)) => {
            return Ok(Inner::Refused(message.in_lines()));
        }
        (None, _) => Bytes::new(),
    };
    if bytes.len() > READ_BYTES_MAX {
        return Ok(Inner::Refused(format!("{address} is longer than {READ_BYTES_MAX} bytes")));
    }
    match status {
        // With 300, several records have the identifier, and the body lists these.
        StatusCode::OK | StatusCode::MULTIPLE_CHOICES => {
            Ok(Inner::Found(address.to_owned(), bytes))
        }
        _ => Ok(Inner::Refused(format!("{address} has no answer"))),
    }
}
