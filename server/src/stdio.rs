//! The Model Context Protocol over standard input and output, for a program of the same person on the same machine.
//!
//! Each line is a message, answered as a POST to `/mcp` without limits of requests. Up to [`CALLS_MAX`] messages are
//! answered at the same time, each in a line as soon as its answer is complete.
//!
//! Imports `admission`, `endpoint`, `http`, `net`, `reply`, `run`, `serve`, `snapshots`.

use std::io;
use std::io::{BufRead, Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use http::{Request, header};
use pinakes_answer::{BODY_BYTES_MAX, INVALID_REQUEST, JSON, MCP, Message, RpcError, Settings};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::{AbortHandle, JoinSet};

use crate::admission::gate::{Gate, Peer};
use crate::http::body::RequestBody;
use crate::http::client_address::{ClientResolver, ForwardingHeader};
use crate::net::handler::Handler;
use crate::run::{activate, follow, keep_mirror};
use crate::serve::{Service, ServiceSettings};
use crate::snapshots::manager::SnapshotManager;

/// Messages that are answered at the same time: as many as one client has work permits, so that none waits for a permit.
const CALLS_MAX: usize = 4;
/// The notification that ends the answer to a request.
const CANCELLED: &str = "notifications/cancelled";

/// Answers messages until the end of standard input. Follows `current` meanwhile.
///
/// # Errors
///
/// Standard input cannot be read, or standard output cannot be written.
pub fn converse(snapshots: SnapshotManager, settings: ServiceSettings) -> io::Result<()> {
    let runtime = Runtime::new()?;
    let header = ForwardingHeader::XForwardedFor;
    let clients = ClientResolver { trusted: Vec::new(), header, exempt: Vec::new() };
    let answers = Settings { has_mcp: true, ..settings.answers };
    let settings = ServiceSettings { answers, ..settings };
    let service = Service::new(snapshots, Gate::new(clients, None, None), settings);
    let outcome = answer_lines(&runtime, Arc::new(service), io::stdin().lock());
    runtime.shutdown_background();
    outcome
}

fn answer_lines(
    runtime: &Runtime,
    service: Arc<Service>,
    mut input: impl BufRead,
) -> io::Result<()> {
    // The loops that follow the snapshot are tasks, which need the runtime of this thread.
    let _entered = runtime.enter();
    follow(Arc::clone(&service));
    tokio::spawn(activate(Arc::clone(&service)));
    keep_mirror(&service);
    tracing::info!("reading messages from standard input");
    let mut calls: JoinSet<io::Result<()>> = JoinSet::new();
    let mut cancellable: Vec<(Value, AbortHandle)> = Vec::new();
    while let Some(line) = read_line(&mut input)? {
        if line.len() > BODY_BYTES_MAX {
            let message = format!("a message has at most {BODY_BYTES_MAX} bytes");
            write_line(&RpcError::new(INVALID_REQUEST, message).answer(Value::Null))?;
            continue;
        }
        let message = serde_json::from_slice::<Message>(&line).ok();
        if let Some(message) = &message
            && message.method.as_deref() == Some(CANCELLED)
        {
            let named = cancellable.iter().filter(|(id, _)| *id == message.params["requestId"]);
            named.for_each(|(_, call)| call.abort());
            continue;
        }
        // The call waits until another has ended, so the calls of the client are bounded.
        while calls.len() >= CALLS_MAX {
            runtime.block_on(finish_one(&mut calls))?;
        }
        let call = calls.spawn(answer(Arc::clone(&service), line));
        cancellable.retain(|(_, call)| !call.is_finished());
        cancellable.extend(message.and_then(|message| message.id).map(|id| (id, call)));
    }
    // The client may close the input before it reads the last answers.
    while !calls.is_empty() {
        runtime.block_on(finish_one(&mut calls))?;
    }
    Ok(())
}

/// Waits until one of the calls has ended. A cancelled call has no answer.
async fn finish_one(calls: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    calls.join_next().await.and_then(Result::ok).unwrap_or(Ok(()))
}

/// Reads a line without its end; `None` after the last. A line that is longer than a message may be is cut, one byte
/// after the longest.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.by_ref().take(BODY_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop_if(|last| *last == b'\n').is_none() && line.len() > BODY_BYTES_MAX {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

/// Answers a message as the service answers a POST to `/mcp`.
async fn answer(service: Arc<Service>, line: Vec<u8>) -> io::Result<()> {
    let request = Request::post(MCP.path)
        .header(header::HOST, "")
        .header(header::CONTENT_TYPE, JSON)
        .extension(Peer::Known(Ipv4Addr::LOCALHOST.into()))
        .extension(RequestBody::read_already(line.into()))
        .body(());
    let (head, ()) = request.map_err(io::Error::other)?.into_parts();
    write_line(service.answer(Arc::new(head)).await.response.body())
}

/// Writes a line; a notification has none.
fn write_line(text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    let written =
        out.write_all(text).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    written.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot write to standard output: {error}"))
    })
}
