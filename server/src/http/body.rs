//! Bodies: read for the one route that takes them, so many bytes and for so long.
//!
//! All others answer without reading. A body goes along with its request's head, where the service
//! finds it once it knows that it is wanted.

use std::{
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{StatusCode, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use crate::http::parameters::Detail;
use crate::http::reply::Reply;

/// Bytes of a body.
pub const BODY_BYTES_MAX: usize = 65_536;
/// How long a client may take to send it.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// A body that was sent with a request, in the extensions of its head.
#[derive(Debug, Default)]
pub struct Posted {
    body: Mutex<Option<Incoming>>,
    text: OnceLock<Bytes>,
    is_gone: AtomicBool,
}

/// Says, when it is dropped, that the client is gone; where it was answered before, nobody listens.
#[derive(Debug)]
pub struct Leaving(Arc<Posted>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.is_gone.store(true, Ordering::Relaxed);
    }
}

/// Where a request's body is.
#[derive(Debug)]
pub enum Left {
    /// Here: no route takes it.
    Body(Incoming),
    /// With the head.
    Posted(Arc<Posted>),
}

/// Puts a body into its request's head, where the service finds it.
pub fn take_along(head: &mut Parts, body: Incoming) -> Left {
    let posted = Posted { body: Mutex::new(Some(body)), ..Posted::default() };
    let posted = Arc::new(posted);
    head.extensions.insert(Arc::clone(&posted));
    Left::Posted(posted)
}

impl Left {
    /// The body of a request that was answered, where it has one that nobody read.
    pub fn unread(self) -> Option<Incoming> {
        let body = match self {
            Left::Body(body) => Some(body),
            Left::Posted(posted) => posted.take(),
        };
        body.filter(|body| !body.is_end_stream())
    }
}

/// Takes what comes of a body nobody wants, for so long and so many bytes.
pub async fn pass_over(mut body: Incoming, long: Duration, bytes_max: usize) {
    let passing = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > bytes_max {
                break;
            }
        }
    };
    // What is not here by then is not waited for.
    let _ = timeout(long, passing).await;
}

/// The body that came with a head.
pub fn of(head: &Parts) -> Option<&Arc<Posted>> {
    head.extensions.get()
}

impl Posted {
    /// To be kept for as long as the answer is awaited.
    pub fn leaving(self: &Arc<Self>) -> Leaving {
        Leaving(Arc::clone(self))
    }

    /// Whether the client is gone.
    pub fn is_gone(&self) -> &AtomicBool {
        &self.is_gone
    }

    /// The body, once it was read.
    pub fn text(&self) -> &[u8] {
        self.text.get().map_or(&[], |text| text)
    }

    fn take(&self) -> Option<Incoming> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reads the body.
    ///
    /// # Errors
    ///
    /// The reply to one that is too long, too slow or cut short.
    pub async fn read(&self, head: &Parts) -> Result<(), Reply> {
        let Some(body) = self.take() else { return Ok(()) };
        let announced = head.headers.get(header::CONTENT_LENGTH);
        let length = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if length.is_some_and(|length| length > BODY_BYTES_MAX as u64) {
            return Err(too_long());
        }
        let text = collect(body).await?;
        // Read once: the body was taken.
        let _ = self.text.set(text);
        Ok(())
    }
}

fn too_long() -> Reply {
    let message = format!("Request body exceeds {BODY_BYTES_MAX} bytes");
    Reply::error(StatusCode::PAYLOAD_TOO_LARGE, message).closing()
}

/// The reply to a body that ended before it was whole, or whose chunks are none.
fn incomplete() -> Reply {
    let reason =
        "ended before all that its head announced, or is not in chunks as RFC 9112 has them";
    Reply::BadQuery(vec![Detail::new("body", "", reason)]).closing()
}

async fn collect<B>(body: B) -> Result<Bytes, Reply>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    match timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES_MAX).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_long()),
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

    use super::*;

    /// A body of which no more comes.
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
        let stamp = crate::http::etag::Stamp::new("0123");
        let response = refusal.into_response(&Method::POST, &stamp);
        let is_closing = response.headers().get(header::CONNECTION).is_some();
        (response.status().as_u16(), is_closing)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_waited_for_so_long_and_taken_up_to_so_much() {
        assert_eq!(collect(Stuck).await.map_err(status), Err((408, true)));
        let whole = Bytes::from(vec![b' '; BODY_BYTES_MAX]);
        assert_eq!(collect(Full::new(whole.clone())).await.map_err(status), Ok(whole.clone()));
        let longer = Bytes::from([&whole[..], b" "].concat());
        assert_eq!(collect(Full::new(longer)).await.map_err(status), Err((413, true)));
    }

    #[test]
    fn whoever_stops_waiting_is_known_to_be_gone() {
        let posted = Arc::new(Posted::default());
        let leaving = posted.leaving();
        assert!(!posted.is_gone().load(Ordering::Relaxed));
        drop(leaving);
        assert!(posted.is_gone().load(Ordering::Relaxed));
    }
}
