//! The log: formats events as lines, and writes the lines to standard error on a thread of its own. The lines
//! of requests come formatted.
//!
//! A request never waits for the reader of standard error. When the reader is slow, the queue fills, and
//! further lines are dropped and counted. The thread writes all queued lines in one call and then rests
//! for 50 ms, because waking the thread for each line cost more processor time than the line itself.
//! Warnings and errors end the rest at once.
//!
//! `tracing-appender` is not used: it does not count lines whose write failed, it bounds its queue by
//! lines instead of bytes, and it wakes its thread and calls `write` for each line.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use pinakes_format::text::unseen::is_unseen;
use tracing::{Level, Metadata};
use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use crate::serve::access_log::{LineSink, send_lines_to};
use crate::serve::line_form::LineForm;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One line of text per event, for people.
    Text,
    /// One JSON object per event, for programs.
    Json,
}

/// Reads how many lines were dropped since the start.
pub type DroppedLines = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Bytes of queued lines; the thread may be writing as many again.
const QUEUE_BYTES_MAX: usize = 4 << 20;
/// Queued bytes that end the thread's rest.
const QUEUE_BYTES_URGENT: usize = 1 << 20;
/// Capacity that a written buffer keeps for the next lines.
const KEPT_BYTES: usize = 64 << 10;
/// How long the thread rests after a write; a line is written at most this much later.
const REST: Duration = Duration::from_millis(50);
/// How long the process waits for the last lines at its end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts to log all events and panics to standard error; `PINAKES_LOG` filters the events.
///
/// The guard flushes the queue when it is dropped.
pub fn start_log(format: LogFormat) -> io::Result<(LogGuard, DroppedLines)> {
    let filter = EnvFilter::try_from_env("PINAKES_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    let escapes = match format {
        LogFormat::Text => Escapes::Text { has_colours: is_terminal },
        LogFormat::Json => Escapes::Json,
    };
    let log = Log::start(io::stderr(), escapes)?;
    let events = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(is_terminal)
        .with_env_filter(filter);
    let form = match format {
        LogFormat::Text => {
            events.init();
            LineForm::Text
        }
        LogFormat::Json => {
            events.json().flatten_event(true).init();
            LineForm::Json
        }
    };
    let lines = log.clone();
    let push = Box::new(move |line: &[u8]| lines.shared.push(&lines.escapes.escape(line), false));
    send_lines_to(LineSink { form, push });
    // A panic goes through the queue, as events do: a direct write could cut a line.
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!(panic = %panic, "a thread panicked");
    }));
    let shared = Arc::clone(&log.shared);
    Ok((LogGuard(log), Arc::new(move || shared.dropped.load(Relaxed))))
}

/// Flushes the log when it is dropped.
pub struct LogGuard(Log);

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[derive(Clone)]
struct Log {
    shared: Arc<Shared>,
    escapes: Escapes,
}

/// How a line writes characters that are not visible, which clients may choose.
#[derive(Clone, Copy)]
enum Escapes {
    /// As `\u{202e}`.
    Text {
        /// Whether the formatter colours lines, by escape sequences that stay.
        has_colours: bool,
    },
    /// As `\u202e`.
    Json,
}

impl Escapes {
    /// Escapes a line that ends with a line feed.
    fn escape(self, line: &[u8]) -> Cow<'_, [u8]> {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let has_colours = matches!(self, Escapes::Text { has_colours: true });
        let is_escaped = |c: char| is_unseen(c) && !(has_colours && c == '\u{1b}');
        // Bytes above 0x7e are rare, and the only others that need a look are below 0x20.
        let is_plain = body.iter().all(|byte| (0x20..0x7f).contains(byte));
        if is_plain || !String::from_utf8_lossy(body).contains(is_escaped) {
            return Cow::Borrowed(line);
        }
        let mut escaped = String::with_capacity(line.len() + 16);
        for c in String::from_utf8_lossy(body).chars() {
            match self {
                _ if !is_escaped(c) => escaped.push(c),
                Escapes::Text { .. } => escaped.extend(c.escape_unicode()),
                Escapes::Json => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        // Writing to a string cannot fail.
                        let _ = write!(escaped, "\\u{unit:04x}");
                    }
                }
            }
        }
        escaped.push('\n');
        Cow::Owned(escaped.into_bytes())
    }
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Lines dropped since the start.
    dropped: AtomicU64,
}

#[derive(Default)]
struct Queue {
    /// Whole lines, in order.
    text: Vec<u8>,
    /// Whether the thread is to write without resting.
    is_urgent: bool,
    is_ending: bool,
    /// Whether the thread has written the last line.
    has_ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a line to the queue, or counts the line as dropped when the queue is full.
    fn push(&self, line: &[u8], is_urgent: bool) {
        let mut queue = self.lock();
        if queue.text.len() + line.len() > QUEUE_BYTES_MAX {
            drop(queue);
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        let (was_empty, was_urgent) = (queue.text.is_empty(), queue.is_urgent);
        queue.text.extend_from_slice(line);
        queue.is_urgent |= is_urgent || queue.text.len() >= QUEUE_BYTES_URGENT;
        if was_empty || queue.is_urgent != was_urgent {
            drop(queue);
            self.changed.notify_all();
        }
    }

    /// Writes queued lines until the log ends.
    fn write_lines(&self, mut out: impl Write) {
        let mut text = Vec::new();
        let mut queue = self.lock();
        loop {
            let is_waiting = |queue: &mut Queue| queue.text.is_empty() && !queue.is_ending;
            queue = wait_while(&self.changed, queue, is_waiting);
            if queue.text.is_empty() {
                break;
            }
            std::mem::swap(&mut queue.text, &mut text);
            queue.is_urgent = false;
            drop(queue);
            if out.write_all(&text).and_then(|()| out.flush()).is_err() {
                let lines = text.iter().filter(|byte| **byte == b'\n').count();
                self.dropped.fetch_add(lines as u64, Relaxed);
            }
            text.clear();
            text.shrink_to(KEPT_BYTES);
            let is_resting = |queue: &mut Queue| !queue.is_urgent && !queue.is_ending;
            queue = wait_while_for(&self.changed, self.lock(), REST, is_resting);
        }
        queue.has_ended = true;
        drop(queue);
        self.changed.notify_all();
    }
}

fn wait_while<'q>(
    changed: &Condvar,
    queue: MutexGuard<'q, Queue>,
    condition: impl FnMut(&mut Queue) -> bool,
) -> MutexGuard<'q, Queue> {
    changed.wait_while(queue, condition).unwrap_or_else(PoisonError::into_inner)
}

fn wait_while_for<'q>(
    changed: &Condvar,
    queue: MutexGuard<'q, Queue>,
    timeout: Duration,
    condition: impl FnMut(&mut Queue) -> bool,
) -> MutexGuard<'q, Queue> {
    let waited = changed.wait_timeout_while(queue, timeout, condition);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

impl Log {
    /// Starts the thread that writes the lines.
    fn start(out: impl Write + Send + 'static, escapes: Escapes) -> io::Result<Log> {
        let (queue, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { queue, changed, dropped: AtomicU64::new(0) });
        let writing = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || writing.write_lines(out))?;
        Ok(Log { shared, escapes })
    }

    /// Lets the thread write the queued lines, and waits for the thread at most [`FLUSH_TIMEOUT`].
    fn end(&self) {
        let mut queue = self.shared.lock();
        queue.is_ending = true;
        self.shared.changed.notify_all();
        drop(wait_while_for(&self.shared.changed, queue, FLUSH_TIMEOUT, |queue| !queue.has_ended));
    }
}

/// Puts the line of one event into the queue.
struct LineWriter<'l> {
    log: &'l Log,
    is_urgent: bool,
}

impl<'l> MakeWriter<'l> for Log {
    type Writer = LineWriter<'l>;

    fn make_writer(&'l self) -> LineWriter<'l> {
        LineWriter { log: self, is_urgent: true }
    }

    fn make_writer_for(&'l self, event: &Metadata<'_>) -> LineWriter<'l> {
        LineWriter { log: self, is_urgent: *event.level() <= Level::WARN }
    }
}

impl Write for LineWriter<'_> {
    /// Takes a whole line: the subscriber writes each event in one call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.log.shared.push(&self.log.escapes.escape(line), self.is_urgent);
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
    use std::time::Instant;

    use super::*;

    /// A reader of the log that reports each write and waits for permission to finish it.
    struct Reader {
        written: Sender<Vec<u8>>,
        permission: Receiver<()>,
    }

    impl Write for Reader {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.written.send(text.to_vec()).unwrap();
            self.permission.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start() -> (Log, Receiver<Vec<u8>>, Sender<()>) {
        let ((written, writes), (permit, permission)) = (channel(), channel());
        (Log::start(Reader { written, permission }, Escapes::Json).unwrap(), writes, permit)
    }

    #[test]
    fn lines_are_batched_in_order_and_flushed_at_the_end() {
        let (log, writes, permit) = start();
        log.shared.push(b"0\n", false);
        assert_eq!(writes.recv().unwrap(), b"0\n", "a single line is written at once");
        let mut expected = Vec::new();
        for number in 1..10_000 {
            let line = format!("{number}\n");
            log.shared.push(line.as_bytes(), number % 7 == 0);
            expected.extend_from_slice(line.as_bytes());
        }
        permit.send(()).unwrap();
        let ending = log.clone();
        let ending = thread::spawn(move || ending.end());
        assert_eq!(writes.recv().unwrap(), expected);
        permit.send(()).unwrap();
        ending.join().unwrap();
        assert!(writes.recv().is_err(), "the thread dropped its reader");
        assert_eq!(log.shared.dropped.load(Relaxed), 0);
    }

    #[test]
    fn lines_beyond_the_queue_or_after_a_failed_write_are_counted_as_dropped() {
        let (log, writes, permit) = start();
        let line = [b"x".repeat((64 << 10) - 1), b"\n".to_vec()].concat();
        log.shared.push(&line, true);
        assert_eq!(writes.recv().unwrap().len(), line.len());
        let queued = QUEUE_BYTES_MAX / line.len();
        for _ in 0..queued + 5 {
            log.shared.push(&line, true);
        }
        assert_eq!(log.shared.dropped.load(Relaxed), 5);
        assert_eq!(log.shared.lock().text.len(), QUEUE_BYTES_MAX);
        // The reader is gone: the queued lines are dropped too, and the end does not wait.
        drop(permit);
        log.end();
        assert_eq!(log.shared.dropped.load(Relaxed), 5 + 1 + queued as u64);
        assert!(log.shared.lock().has_ended);
    }

    #[test]
    fn the_end_waits_one_second_for_a_reader_that_is_stuck() {
        let (log, writes, _permit) = start();
        log.shared.push(b"0\n", true);
        writes.recv().unwrap();
        let started = Instant::now();
        log.end();
        assert!(started.elapsed() >= FLUSH_TIMEOUT);
        assert!(!log.shared.lock().has_ended);
    }

    #[test]
    fn a_line_shows_every_character() {
        let check = |escapes: Escapes, line: &str, expected: &str| {
            assert_eq!(String::from_utf8_lossy(&escapes.escape(line.as_bytes())), expected);
        };
        let plain = Escapes::Text { has_colours: false };
        for escapes in [plain, Escapes::Json] {
            check(escapes, "a \"b\" é 東\n", "a \"b\" é 東\n");
        }
        let line = "\u{9b}1m \u{202e}b\u{2028} \r\u{e0001}\u{1b}[0m\n";
        check(plain, line, "\\u{9b}1m \\u{202e}b\\u{2028} \\u{d}\\u{e0001}\\u{1b}[0m\n");
        check(Escapes::Json, line, "\\u009b1m \\u202eb\\u2028 \\u000d\\udb40\\udc01\\u001b[0m\n");
        let coloured = Escapes::Text { has_colours: true };
        check(coloured, "\u{1b}[2m\u{9b}\n", "\u{1b}[2m\\u{9b}\n");
    }
}
