//! `match`: adds to each line of a table the record that its text means.
//!
//! ```text
//! input ─► Rows: batches of 1,024 rows ─► all cores: Question, candidates, cells ─► output, in the order of the input
//! ```
//!
//! A batch is written before the next one is read, so memory does not depend on the number of lines. After any end of a
//! run, the output has whole lines but for the last: `--resume` cuts that one off, skips as many lines of the input as the output
//! has, and goes on.
//!
//! Imports `error`, `terminal`.

mod answer;
pub(crate) mod options;
mod output;
mod rows;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::{fs, io};

use pinakes_format::snapshot::Snapshot;
use rayon::prelude::*;

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::matching::answer::{Answerer, Outcome};
use crate::matching::options::{LineFormat, MatchArgs};
use crate::matching::output::MatchedFile;
use crate::matching::rows::Rows;
use crate::terminal::progress::Progress;

/// The path of standard input.
const STANDARD_INPUT: &str = "standard input";

/// Counts of rows by outcome.
#[derive(Default)]
struct Counts {
    lines: u64,
    /// Lines whose record is sure.
    sure: u64,
    /// Lines with candidates, none of them sure.
    unsure: u64,
    /// Lines that could not be read as a question.
    bad: u64,
}

impl Counts {
    fn add(&mut self, outcome: Outcome) {
        self.lines += 1;
        match outcome {
            Outcome::Sure => self.sure += 1,
            Outcome::Unsure => self.unsure += 1,
            Outcome::Nothing => {}
            Outcome::Bad => self.bad += 1,
        }
    }
}

/// Matches each line of the input.
pub(crate) fn run(args: &MatchArgs, snapshot: &Snapshot) -> Result<()> {
    let progress = Progress::detect(args.quiet);
    let is_standard = args.input == Path::new("-");
    let (input, bytes): (Box<dyn io::Read + Send>, u64) = match is_standard {
        true => (Box::new(io::stdin()), 0),
        false => {
            let file = File::open(&args.input).map_err(Error::input(&args.input))?;
            let bytes = file.metadata().map_or(0, |found| found.len());
            (Box::new(file), bytes)
        }
    };
    let shown = if is_standard { Path::new(STANDARD_INPUT) } else { &args.input };
    let format = args.format();
    let mut rows = Rows::open(input, format, shown)?;
    let answerer = Answerer::new(args, snapshot, rows.header())?;
    let header = answerer.header(rows.header());
    let mut output = MatchedFile::open(args, format, header.as_deref())?;
    // Rows that an earlier run answered are read and not answered again: lines of the output follow the input in order.
    for _ in 0..output.lines_done() {
        if rows.next_row()?.is_none() {
            return Err(Error::Usage(format!(
                "the output has {} lines, more than the input; `--resume` needs the same input",
                output.lines_done()
            )));
        }
    }
    let bar = progress.begin("match", "bytes", bytes, bytes);
    let mut counts = Counts::default();
    // Rows that were passed over count as progress.
    let mut read_before = rows.bytes_read();
    bar.advance(read_before);
    loop {
        let batch = rows.next_batch()?;
        if batch.is_empty() {
            break;
        }
        // Threads answer the rows of a batch, and `collect` keeps the order of the input.
        let answers: Vec<_> = batch.par_iter().map(|row| answerer.answer(row)).collect();
        let mut text = Vec::new();
        for answer in answers {
            // A record that cannot be read ends the run: an answer without the record could be wrong.
            let (line, outcome) = answer.map_err(|error| Error::Refused(error.to_string()))?;
            text.extend_from_slice(&line);
            counts.add(outcome);
        }
        output.write(&text)?;
        bar.advance(rows.bytes_read() - read_before);
        read_before = rows.bytes_read();
    }
    snapshot.check_readable().map_err(|error| Error::Refused(error.to_string()))?;
    output.finish()?;
    bar.end();
    report(&counts, progress);
    if args.out != Path::new("-") {
        // Scripts read the path of the output here.
        let line = format!("{}\n", args.out.display());
        io::stdout().write_all(line.as_bytes()).map_err(Error::output(STANDARD_OUTPUT))?;
    }
    Ok(())
}

fn report(counts: &Counts, progress: Progress) {
    let Counts { lines, sure, unsure, bad } = counts;
    if progress != Progress::Quiet {
        let nothing = lines - sure - unsure - bad;
        eprintln!(
            "{lines} lines: {sure} sure, {unsure} with candidates that are not sure, {nothing} without, {bad} bad"
        );
    }
    if *bad > 0 {
        eprintln!(
            "warning: {bad} lines are bad: no text, a text that is too long, or no row of the table; their columns are empty"
        );
    }
}

/// Whether a path names something that exists.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

impl LineFormat {
    /// The format that the end of a name implies.
    fn of_path(path: &Path) -> LineFormat {
        let is_lines = path.extension().is_some_and(|end| end == "ndjson" || end == "jsonl");
        if is_lines { LineFormat::Ndjson } else { LineFormat::Csv }
    }
}
