//! The functions that JavaScript calls.
//!
//! ```text
//! input(n)                   where JavaScript writes n bytes for the next call
//! open()                     a line of JSON {publication, signature, keys}, then the manifest
//! ask(now)                   a line of JSON {method, target, headers, …}, then the body; returns the number of the request
//! attempt(request)           a reply: a line of JSON {status, headers, isInPieces}, then the body; or what is missing
//! piece(request)             the next piece of a body; or what is missing
//! give(request, index, from) bytes of a missing range, from a place of its file on; `MISSING` if nothing proves them yet
//! end(request)               forgets a request
//! output(), output_bytes()   where the result of the last call is, and its size
//! ```
//!
//! A call that may fail returns one of the numbers below. Missing ranges are a JSON array of `{path, from, to, size}`.

#![allow(unsafe_code, reason = "the attribute that names an export is unsafe")]

use std::{cell::RefCell, collections::BTreeMap};

use http::{HeaderMap, Response};
use pinakes_format::storage::absent::Missing;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::host::{Asking, Head, Outcome};
use crate::opened::{Opened, read_publication};

/// The result is in the output.
const DONE: u32 = 0;
/// Ranges are missing; the output lists them.
const MISSING: u32 = 1;
/// The output says why there is no result.
const FAILED: u32 = 2;
/// The body has no more pieces.
const ENDED: u32 = 3;

#[derive(Default)]
struct State {
    opened: Option<Opened>,
    input: Vec<u8>,
    output: Vec<u8>,
    requests: BTreeMap<u32, Asking>,
    last: u32,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The first line that `open` reads.
#[derive(Deserialize)]
struct Opening {
    publication: String,
    signature: String,
    keys: Vec<String>,
}

/// Bytes of a file of the snapshot that an attempt lacks.
#[derive(Serialize)]
struct Range<'m> {
    path: &'m str,
    from: u64,
    to: u64,
    /// The size of the file.
    size: u64,
}

/// The head of a reply.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplyHead {
    status: u16,
    headers: Vec<(String, String)>,
    is_in_pieces: bool,
}

/// A result of a call: its number, and the output.
type Result = std::result::Result<(u32, Vec<u8>), String>;

impl State {
    /// Does a call and keeps its output.
    fn call(&mut self, work: impl FnOnce(&mut State) -> Result) -> u32 {
        let (number, output) = work(self).unwrap_or_else(|error| (FAILED, error.into_bytes()));
        self.output = output;
        number
    }

    /// The first line of the input as JSON, and the rest.
    fn read<T: for<'t> Deserialize<'t>>(&mut self) -> std::result::Result<(T, Vec<u8>), String> {
        let input = std::mem::take(&mut self.input);
        let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let head = serde_json::from_slice(&input[..end]).map_err(|error| error.to_string())?;
        Ok((head, input.get(end + 1..).unwrap_or_default().to_vec()))
    }

    fn open(&mut self) -> Result {
        let (opening, manifest): (Opening, _) = self.read()?;
        let Opening { publication, signature, keys } = opening;
        let publication = read_publication(publication.as_bytes(), &signature, &keys)?;
        self.opened = Some(Opened::open(publication, &manifest)?);
        Ok((DONE, Vec::new()))
    }

    fn ask(&mut self) -> std::result::Result<u32, String> {
        let (head, body): (Head, _) = self.read()?;
        let asking = Asking::new(head, body)?;
        self.last += 1;
        self.requests.insert(self.last, asking);
        Ok(self.last)
    }

    /// Attempts a part of a request, and lists the ranges that the attempt lacks.
    fn work<T>(
        &mut self,
        request: u32,
        attempt: impl FnOnce(&mut Asking, &Opened) -> std::result::Result<Outcome<T>, String>,
        done: impl FnOnce(T) -> (u32, Vec<u8>),
    ) -> Result {
        let opened = self.opened.as_ref().ok_or("nothing is open")?;
        let asking = self.requests.get_mut(&request).ok_or("no such request")?;
        Ok(match attempt(asking, opened)? {
            Outcome::Done(value) => done(value),
            Outcome::Missing => (MISSING, list(&asking.missing)),
        })
    }
}

fn list(missing: &[Missing]) -> Vec<u8> {
    let range = |part: &Missing| (part.path().to_owned(), part.range(), part.file_bytes());
    let ranges: Vec<_> = missing.iter().map(range).collect();
    let ranges = ranges.iter().map(|(path, range, size)| Range {
        path,
        from: range.start,
        to: range.end,
        size: *size,
    });
    serde_json::to_vec(&ranges.collect::<Vec<_>>()).unwrap_or_default()
}

fn reply_bytes<B: AsRef<[u8]>>(response: &Response<B>, is_in_pieces: bool) -> Vec<u8> {
    let head = ReplyHead {
        status: response.status().as_u16(),
        headers: pairs(response.headers()),
        is_in_pieces,
    };
    let mut output = serde_json::to_vec(&head).unwrap_or_default();
    output.push(b'\n');
    output.extend_from_slice(response.body().as_ref());
    output
}

fn pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// Where the next call reads its input, of `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn input(bytes: usize) -> *mut u8 {
    STATE.with_borrow_mut(|state| {
        state.input = vec![0; bytes];
        state.input.as_mut_ptr()
    })
}

/// Where the output of the last call is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    STATE.with_borrow(|state| state.output.as_ptr())
}

/// The size of the output of the last call.
#[unsafe(no_mangle)]
pub extern "C" fn output_bytes() -> usize {
    STATE.with_borrow(|state| state.output.len())
}

/// Opens a publication at a time, in milliseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn open(now: f64) -> u32 {
    clock::set(now);
    STATE.with_borrow_mut(|state| state.call(State::open))
}

/// Begins a request; returns its number, or 0 with an error in the output.
#[unsafe(no_mangle)]
pub extern "C" fn ask(now: f64) -> u32 {
    clock::set(now);
    STATE.with_borrow_mut(|state| match state.ask() {
        Ok(request) => request,
        Err(error) => {
            state.output = error.into_bytes();
            0
        }
    })
}

/// Attempts the answer to a request.
#[unsafe(no_mangle)]
pub extern "C" fn attempt(request: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        state.call(|state| {
            state.work(request, Asking::attempt, |answered| {
                (DONE, reply_bytes(&answered.response, answered.is_in_pieces))
            })
        })
    })
}

/// Attempts the next piece of the body of a reply.
#[unsafe(no_mangle)]
pub extern "C" fn piece(request: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        state.call(|state| {
            state.work(request, Asking::piece, |piece| match piece {
                Some(piece) => (DONE, piece.to_vec()),
                None => (ENDED, Vec::new()),
            })
        })
    })
}

/// Takes bytes of a range that a request lacks, from a place of its file on.
#[unsafe(no_mangle)]
pub extern "C" fn give(request: u32, index: usize, from: u32) -> u32 {
    STATE.with_borrow_mut(|state| {
        state.call(|state| {
            let bytes = std::mem::take(&mut state.input);
            let asking = state.requests.get(&request).ok_or("no such request")?;
            let is_written = asking.give(index, from.into(), &bytes)?;
            Ok((if is_written { DONE } else { MISSING }, Vec::new()))
        })
    })
}

/// Forgets a request.
#[unsafe(no_mangle)]
pub extern "C" fn end(request: u32) {
    STATE.with_borrow_mut(|state| state.requests.remove(&request));
}
