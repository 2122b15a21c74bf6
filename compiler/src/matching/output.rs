//! The output: a new file, one that an earlier run left, or standard output.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use csv::ByteRecord;

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::matching::exists;
use crate::matching::options::{LineFormat, MatchArgs};
use crate::terminal::escape::escape_path;

/// The output, at its end.
pub(super) struct MatchedFile {
    sink: Sink,
    path: PathBuf,
    lines_done: u64,
}

enum Sink {
    File(File),
    Standard(io::Stdout),
}

impl MatchedFile {
    /// Opens the output, and writes the header of a new table.
    pub fn open(
        args: &MatchArgs,
        format: LineFormat,
        header: Option<&[u8]>,
    ) -> Result<MatchedFile> {
        let path = &args.out;
        if path == Path::new("-") {
            let path = PathBuf::from(STANDARD_OUTPUT);
            if args.resume {
                return Err(Error::Usage("`--resume` needs an output that is a file".into()));
            }
            let sink = Sink::Standard(io::stdout());
            let mut output = MatchedFile { sink, path, lines_done: 0 };
            output.write(header.unwrap_or_default())?;
            return Ok(output);
        }
        // An earlier run may have worked on the file for hours, so only `--resume` writes into it.
        if exists(path) && !args.resume {
            return Err(Error::Usage(format!(
                "the output `{}` exists; pass `--resume` to go on with it, or remove it",
                escape_path(path)
            )));
        }
        // `kept` reads the lines of the earlier run, so opening must not truncate the file.
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(Error::output(path))?;
        let kept = kept(&mut file, format, header).map_err(Error::output(path))?;
        let Some((bytes, lines_done)) = kept else {
            return Err(Error::Usage(format!(
                "the output `{}` has other columns; `--resume` needs the options of the earlier run",
                escape_path(path)
            )));
        };
        // A killed run may have left a part of a line, which is cut off.
        file.set_len(bytes).map_err(Error::output(path))?;
        file.seek(SeekFrom::End(0)).map_err(Error::output(path))?;
        let mut output = MatchedFile { sink: Sink::File(file), path: path.clone(), lines_done };
        // An empty file is new, or an earlier run was killed before the run wrote the header.
        if bytes == 0 {
            output.write(header.unwrap_or_default())?;
        }
        Ok(output)
    }

    /// The lines that an earlier run wrote.
    pub fn lines_done(&self) -> u64 {
        self.lines_done
    }

    /// Appends lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        let written = match &mut self.sink {
            Sink::File(file) => file.write_all(lines),
            Sink::Standard(out) => out.write_all(lines).and_then(|()| out.flush()),
        };
        written.map_err(Error::output(&self.path))
    }

    /// Syncs a file.
    pub fn finish(self) -> Result<()> {
        match self.sink {
            Sink::File(file) => file.sync_all().map_err(Error::output(&self.path)),
            Sink::Standard(_) => Ok(()),
        }
    }
}

/// The bytes of the whole lines of a file, and their number without the header; `None` if it has another header.
fn kept(
    file: &mut File,
    format: LineFormat,
    header: Option<&[u8]>,
) -> io::Result<Option<(u64, u64)>> {
    match (format, header) {
        (LineFormat::Csv, Some(header)) => kept_rows(file, header),
        _ => kept_lines(file).map(Some),
    }
}

fn kept_lines(file: &mut File) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::new(file);
    let (mut bytes, mut lines, mut line) = (0, 0, Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        bytes += line.len() as u64;
        lines += 1;
        line.clear();
    }
    Ok((bytes, lines))
}

/// A row is whole if the reader finds its end before that of the file: rows end with `\r\n`, and the reader stops between.
fn kept_rows(file: &mut File, header: &[u8]) -> io::Result<Option<(u64, u64)>> {
    let length = file.metadata()?.len();
    let table = || {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true);
        builder
    };
    let (mut names, mut row) = (ByteRecord::new(), ByteRecord::new());
    table().from_reader(header).read_byte_record(&mut names)?;
    let mut reader = table().from_reader(&mut *file);
    let (mut bytes, mut rows) = (0, 0_u64);
    while reader.read_byte_record(&mut row)? {
        let end = reader.position().byte() + 1;
        if end > length {
            break;
        }
        if rows == 0 && row != names {
            return Ok(None);
        }
        (bytes, rows) = (end, rows + 1);
    }
    Ok(Some((bytes, rows.saturating_sub(1))))
}
