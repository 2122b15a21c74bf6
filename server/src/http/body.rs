//! Request bodies: read for the routes that take a body, within 5 s.
//!
//! The connection attaches the body to the head; the service reads the body once it knows the route.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use pinakes_answer::{Detail, Posted, Reply};
use tokio::time::timeout;

/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// The body of a request, in the extensions of its head.
#[derive(Debug, Default)]
pub struct RequestBody {
    incoming: Mutex<Option<Incoming>>,
    text: OnceLock<Bytes>,
    is_client_gone: AtomicBool,
}

/// Marks the client as gone when dropped; without effect after the reply.
#[derive(Debug)]
pub struct ClientGoneGuard(Arc<RequestBody>);

impl Drop for ClientGoneGuard {
    fn drop(&mut self) {
        self.0.is_client_gone.store(true, Ordering::Relaxed);
    }
}

/// A body as hyper received it.
#[derive(Debug)]
pub enum ReceivedBody {
    /// The route takes no body.
    Unclaimed(Incoming),
    /// The head owns the body too.
    Attached(Arc<RequestBody>),
}

/// Attaches a body to its request's head, where the service finds it.
pub fn attach(head: &mut Parts, body: Incoming) -> ReceivedBody {
    let body = RequestBody { incoming: Mutex::new(Some(body)), ..RequestBody::default() };
    let body = Arc::new(body);
    head.extensions.insert(Arc::clone(&body));
    ReceivedBody::Attached(body)
}

impl ReceivedBody {
    /// The body after the reply, if nobody read it.
    pub fn into_unread(self) -> Option<Incoming> {
        let body = match self {
            ReceivedBody::Unclaimed(body) => Some(body),
            ReceivedBody::Attached(body) => body.take(),
        };
        body.filter(|body| !body.is_end_stream())
    }
}

/// Reads and discards a body until its end, the timeout or `bytes_max`.
pub async fn discard(mut body: Incoming, duration_max: Duration, bytes_max: usize) {
    let discarding = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > bytes_max {
                break;
            }
        }
    };
    let _ = timeout(duration_max, discarding).await;
}

/// Returns the body that is attached to a head.
pub fn from_head(head: &Parts) -> Option<&Arc<RequestBody>> {
    head.extensions.get()
}

impl RequestBody {
    pub fn read_already(text: Bytes) -> Arc<RequestBody> {
        Arc::new(RequestBody { text: OnceLock::from(text), ..RequestBody::default() })
    }

    /// Makes the guard that lives as long as the client awaits the reply.
    pub fn client_gone_guard(self: &Arc<Self>) -> ClientGoneGuard {
        ClientGoneGuard(Arc::clone(self))
    }

    /// The body as endpoints see it: without bytes before [`RequestBody::read`].
    pub fn posted(&self) -> Posted<'_> {
        Posted {
            text: self.text.get().map_or(&[], |text| text),
            is_client_gone: &self.is_client_gone,
        }
    }

    fn take(&self) -> Option<Incoming> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reads a body of at most `bytes_max`; the error is the reply to a body that is too long, too slow or truncated.
    pub async fn read(&self, head: &Parts, bytes_max: usize) -> Result<(), Reply> {
        let Some(body) = self.take() else { return Ok(()) };
        if announced_bytes(head).is_some_and(|length| length > bytes_max as u64) {
            return Err(too_long(bytes_max));
        }
        let text = collect(body, bytes_max).await?;
        // The body was taken, so nobody else sets the text.
        let _ = self.text.set(text);
        Ok(())
    }
}

/// The length of a body by its head; `None` for a body in chunks.
pub fn announced_bytes(head: &Parts) -> Option<u64> {
    head.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn too_long(bytes_max: usize) -> Reply {
    let message = format!("Request body exceeds {bytes_max} bytes");
    Reply::error(StatusCode::PAYLOAD_TOO_LARGE, message).closing()
}

/// The reply to a body that ended early, or whose chunks are malformed.
fn incomplete() -> Reply {
    let reason =
        "ended before all that its head announced, or is not in chunks as RFC 9112 has them";
    Reply::bad_query(vec![Detail::new("body", "", reason)]).closing()
}

async fn collect<B>(body: B, bytes_max: usize) -> Result<Bytes, Reply>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    match timeout(BODY_TIMEOUT, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long(bytes_max)),
        Ok(Err(_)) => Err(incomplete()),
        Err(_) => Err(Reply::error(StatusCode::REQUEST_TIMEOUT, "Request timed out").closing()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        task::{Context, Poll},
    };

    use http::Method;
    use http_body_util::Full;
    use hyper::body::Frame;

    use pinakes_answer::BODY_BYTES_MAX;

    use super::*;

    /// A body that never ends.
    struct Stuck;

    impl Body for Stuck {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }

    fn status(refusal: Reply) -> (u16, bool) {
        let headers = pinakes_answer::SnapshotHeaders::new("0123");
        let response = refusal.into_response(&Method::POST, &headers);
        let is_closing = response.headers().get(header::CONNECTION).is_some();
        (response.status().as_u16(), is_closing)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_limited_in_time_and_bytes() {
        assert_eq!(collect(Stuck, BODY_BYTES_MAX).await.map_err(status), Err((408, true)));
        let whole = Bytes::from(vec![b' '; BODY_BYTES_MAX]);
        assert_eq!(
            collect(Full::new(whole.clone()), whole.len()).await.map_err(status),
            Ok(whole.clone())
        );
        let longer = Bytes::from([&whole[..], b" "].concat());
        assert_eq!(collect(Full::new(longer), whole.len()).await.map_err(status), Err((413, true)));
    }

    #[test]
    fn dropping_the_guard_marks_the_client_as_gone() {
        let body = Arc::new(RequestBody::default());
        let guard = body.client_gone_guard();
        assert!(!body.posted().is_client_gone.load(Ordering::Relaxed));
        drop(guard);
        assert!(body.posted().is_client_gone.load(Ordering::Relaxed));
    }
}
