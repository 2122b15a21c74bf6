//! Streams that pass written bytes on to another stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

/// A stream that passes written bytes on, and may look at how many were taken.
pub trait WriteThrough: Unpin {
    /// The stream that takes the bytes.
    type Inner: AsyncWrite + Unpin;

    /// The stream that takes the bytes; an error if the stream is closed.
    fn inner(&mut self) -> io::Result<&mut Self::Inner>;

    /// Whether the stream takes several slices together.
    fn is_vectored(&self) -> bool;

    /// Learns the outcome of offering this many bytes.
    fn note_written(&mut self, _outcome: &Poll<io::Result<usize>>, _offered: usize) {}

    /// Offers bytes to the stream, with a method of [`AsyncWrite`].
    fn offer(
        &mut self,
        offered: usize,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut Self::Inner>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let outcome = write(Pin::new(self.inner()?), context);
        self.note_written(&outcome, offered);
        outcome
    }
}

/// Implements [`AsyncWrite`] for a stream that is [`WriteThrough`].
macro_rules! write_through {
    ($stream:ident<$inner:ident: $bound:path>) => {
        impl<$inner: $bound + Unpin> tokio::io::AsyncWrite for $stream<$inner> {
            fn poll_write(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                self.offer(bytes.len(), context, |inner, context| inner.poll_write(context, bytes))
            }

            fn poll_write_vectored(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
                slices: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let offered = slices.iter().map(|slice| slice.len()).sum();
                self.offer(offered, context, |inner, context| {
                    inner.poll_write_vectored(context, slices)
                })
            }

            fn is_write_vectored(&self) -> bool {
                self.is_vectored()
            }

            fn poll_flush(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(self.inner()?).poll_flush(context)
            }

            fn poll_shutdown(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::pin::Pin::new(self.inner()?).poll_shutdown(context)
            }
        }
    };
}

pub(crate) use write_through;
