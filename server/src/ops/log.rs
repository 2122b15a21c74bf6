//! The log: events become lines, and a thread of its own writes them to whoever reads standard error.
//!
//! Nobody waits for that reader: where it takes too long lines are lost rather than requests, and counted. The
//! thread writes what came together in one go, and rests a moment after it: to wake it for each line took
//! more time of the processor than the rest of the line. What somebody should look at wakes it at once.

use std::{
    io::{self, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use tracing::{Level, Metadata};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::net::accept::LostLines;
use crate::options::LogFormat;

/// Bytes of lines that may wait to be written; as many again may be under way.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// Bytes from which on the thread does not rest.
const WAITING_BYTES_MANY: usize = 1 << 20;
/// Room for lines that is kept from one write to the next.
const KEPT_BYTES: usize = 64 << 10;
/// How long the thread rests after a write: so much later a line may be read.
const REST: Duration = Duration::from_millis(50);
/// How long the last lines may take once the server has ended.
const ENDING_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends all events, panics among them, to standard error; `PINAKES_LOG` says which. What waits is written
/// when the guard is dropped.
pub fn begin(format: LogFormat) -> io::Result<(Guard, LostLines)> {
    let chosen = EnvFilter::try_from_env("PINAKES_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    let lines = Lines::begin(io::stderr())?;
    let events = tracing_subscriber::fmt()
        .with_writer(lines.clone())
        .with_ansi(is_terminal)
        .with_env_filter(chosen);
    match format {
        LogFormat::Text => events.init(),
        LogFormat::Json => events.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(panic = %panic, "a thread panicked");
    }));
    let lost = Arc::clone(&lines.0);
    Ok((Guard(lines), Arc::new(move || lost.lost.load(Relaxed))))
}

/// Has what waits written when it is dropped.
pub struct Guard(Lines);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Lines on their way.
#[derive(Clone)]
struct Lines(Arc<Shared>);

struct Shared {
    waiting: Mutex<Waiting>,
    /// To wake the thread, and whoever waits for its end.
    changed: Condvar,
    /// Lines lost, ever.
    lost: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    /// Whole lines, one after another.
    text: Vec<u8>,
    thread: Thread,
    is_ending: bool,
}

/// What the thread is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Thread {
    /// It writes, and looks again afterwards.
    #[default]
    Writing,
    /// It has written, and lets lines come together.
    Resting,
    /// It waits for a line.
    Idle,
    /// It is gone.
    Ended,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in the lock panics half way through a line.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a line behind the others, or counts it as lost.
    fn push(&self, line: &[u8], is_urgent: bool) {
        let mut waiting = self.waiting();
        if waiting.text.len() + line.len() > WAITING_BYTES_MAX {
            drop(waiting);
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        let before = waiting.text.len();
        waiting.text.extend_from_slice(line);
        let is_many = before < WAITING_BYTES_MANY && waiting.text.len() >= WAITING_BYTES_MANY;
        let is_to_wake = match waiting.thread {
            Thread::Idle => true,
            Thread::Resting => is_urgent || is_many,
            Thread::Writing | Thread::Ended => false,
        };
        if is_to_wake {
            waiting.thread = Thread::Writing;
            drop(waiting);
            self.changed.notify_all();
        }
    }

    /// Takes all that waits, in exchange for room; `None` once there will be no more.
    fn take(&self, mut room: Vec<u8>) -> Option<Vec<u8>> {
        let mut waiting = self.waiting();
        if !waiting.is_ending {
            waiting.thread = Thread::Resting;
            let rests = |waiting: &mut Waiting| waiting.thread == Thread::Resting;
            let rested = self.changed.wait_timeout_while(waiting, REST, rests);
            (waiting, _) = rested.unwrap_or_else(PoisonError::into_inner);
        }
        while waiting.text.is_empty() {
            if waiting.is_ending {
                return None;
            }
            waiting.thread = Thread::Idle;
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.thread = Thread::Writing;
        std::mem::swap(&mut waiting.text, &mut room);
        Some(room)
    }

    /// Writes what comes until there is no more.
    fn write(&self, mut out: impl Write) {
        let mut room = Vec::new();
        while let Some(mut text) = self.take(room) {
            if out.write_all(&text).and_then(|()| out.flush()).is_err() {
                let lines = text.iter().filter(|byte| **byte == b'\n').count();
                self.lost.fetch_add(lines as u64, Relaxed);
            }
            text.clear();
            text.shrink_to(KEPT_BYTES);
            room = text;
        }
        self.waiting().thread = Thread::Ended;
        self.changed.notify_all();
    }
}

impl Lines {
    /// Lines that a thread writes.
    ///
    /// # Errors
    ///
    /// Where the system gives no thread.
    fn begin(out: impl Write + Send + 'static) -> io::Result<Lines> {
        let (waiting, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { waiting, changed, lost: AtomicU64::new(0) });
        let writing = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || writing.write(out))?;
        Ok(Lines(shared))
    }

    /// Has what waits written, and waits for that, but not forever: whoever reads it may not.
    fn end(&self) {
        let until = Instant::now() + ENDING_TIMEOUT;
        let mut waiting = self.0.waiting();
        waiting.is_ending = true;
        waiting.thread = Thread::Writing;
        self.0.changed.notify_all();
        while waiting.thread != Thread::Ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.changed.wait_timeout(waiting, left);
            (waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// An event's line on its way.
struct Line<'l> {
    shared: &'l Shared,
    is_urgent: bool,
}

impl<'l> MakeWriter<'l> for Lines {
    type Writer = Line<'l>;

    fn make_writer(&'l self) -> Line<'l> {
        Line { shared: &self.0, is_urgent: true }
    }

    fn make_writer_for(&'l self, event: &Metadata<'_>) -> Line<'l> {
        Line { shared: &self.0, is_urgent: *event.level() <= Level::WARN }
    }
}

impl Write for Line<'_> {
    /// Of an event, which is written in one go.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.shared.push(line, self.is_urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Whoever reads the log: each write is told, and may go on once that is allowed.
    struct Reader {
        told: Sender<Vec<u8>>,
        allowed: Receiver<()>,
    }

    impl Write for Reader {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.told.send(text.to_vec()).unwrap();
            self.allowed.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn begin() -> (Lines, Receiver<Vec<u8>>, Sender<()>) {
        let ((told, tells), (allows, allowed)) = (channel(), channel());
        (Lines::begin(Reader { told, allowed }).unwrap(), tells, allows)
    }

    #[test]
    fn what_comes_together_is_written_together_in_order_and_none_of_it_is_lost_at_the_end() {
        let (lines, tells, allows) = begin();
        lines.0.push(b"0\n", false);
        assert_eq!(tells.recv().unwrap(), b"0\n", "one alone comes by itself");
        let mut expected = Vec::new();
        for number in 1..10_000 {
            let line = format!("{number}\n");
            lines.0.push(line.as_bytes(), number % 7 == 0);
            expected.extend_from_slice(line.as_bytes());
        }
        allows.send(()).unwrap();
        let ending = lines.clone();
        let ending = thread::spawn(move || ending.end());
        assert_eq!(tells.recv().unwrap(), expected);
        allows.send(()).unwrap();
        ending.join().unwrap();
        assert!(tells.recv().is_err(), "the thread has let go of its reader");
        assert_eq!(lines.0.lost.load(Relaxed), 0);
    }

    #[test]
    fn what_nobody_takes_is_lost_and_counted_and_holds_nobody_up() {
        let (lines, tells, allows) = begin();
        let line = [b"x".repeat((64 << 10) - 1), b"\n".to_vec()].concat();
        lines.0.push(&line, true);
        assert_eq!(tells.recv().unwrap().len(), line.len());
        let room = WAITING_BYTES_MAX / line.len();
        for _ in 0..room + 5 {
            lines.0.push(&line, true);
        }
        assert_eq!(lines.0.lost.load(Relaxed), 5);
        assert_eq!(lines.0.waiting().text.len(), WAITING_BYTES_MAX);
        // Nobody reads any more: what was to be written is lost as well, and the end is not held up.
        drop(allows);
        lines.end();
        assert_eq!(lines.0.lost.load(Relaxed), 5 + 1 + room as u64);
        assert_eq!(lines.0.waiting().thread, Thread::Ended);
    }

    #[test]
    fn an_end_is_not_held_up_by_a_reader_that_is_stuck() {
        let (lines, tells, _allows) = begin();
        lines.0.push(b"0\n", true);
        tells.recv().unwrap();
        let begun = Instant::now();
        lines.end();
        assert!(begun.elapsed() >= ENDING_TIMEOUT, "it waits for a moment");
        assert_ne!(lines.0.waiting().thread, Thread::Ended);
    }
}
