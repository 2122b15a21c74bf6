//! Where an export goes: a directory of files, one file, or standard output. After a failure, a
//! directory or file has its earlier content.

use pinakes_store::directory::remove_tree;
use std::fs::File;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::{Error, Result, STANDARD_OUTPUT};
use crate::export::directory::ExportDirectory;
use crate::store::interrupt;
use crate::terminal::escape::escape_path;

/// Bytes buffered before a write.
const BUFFER_BYTES: usize = 1 << 20;

/// The files of an export, unfinished.
pub(crate) enum Output {
    Directory(ExportDirectory),
    File(ExportFile),
    Standard,
}

impl Output {
    /// Begins an export. `is_one_file` says whether it has one file at most.
    ///
    /// # Errors
    ///
    /// As [`ExportDirectory::begin`], and if several files are to go to standard output or into one file.
    pub(crate) fn begin(path: &Path, is_one_file: bool, message: &'static str) -> Result<Output> {
        if is_one_file && path == Path::new("-") {
            return Ok(Output::Standard);
        }
        if is_one_file && !names_directory(path) {
            return ExportFile::begin(path, message).map(Output::File);
        }
        if path.is_file() {
            return Err(Error::Usage(format!(
                "`{}` is a file, and the output is several files; give a directory, or name one ENTITY",
                escape_path(path)
            )));
        }
        ExportDirectory::begin(path, message).map(Output::Directory)
    }

    /// Begins a file; `name` is its name in a directory.
    pub(crate) fn create(&self, name: &str) -> Result<OutputFile> {
        Ok(OutputFile::new(match self {
            Output::Directory(directory) => Sink::File(buffered(directory.create(name)?)),
            Output::File(file) => Sink::File(buffered(file.create()?)),
            Output::Standard => {
                Sink::Standard(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()))
            }
        }))
    }

    /// Returns the name of a file for the table at the end.
    pub(crate) fn shown_name(&self, name: String) -> String {
        match self {
            Output::File(file) => {
                file.path.file_name().map_or(name, |name| name.to_string_lossy().into_owned())
            }
            Output::Directory(_) | Output::Standard => name,
        }
    }

    /// Returns the path of an unfinished file, for messages.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        match self {
            Output::Directory(directory) => directory.path_of(name),
            Output::File(file) => file.path.clone(),
            Output::Standard => PathBuf::from(STANDARD_OUTPUT),
        }
    }

    /// Moves the complete files to their final names.
    pub(crate) fn finish<'n>(self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        match self {
            Output::Directory(directory) => directory.finish(names),
            Output::File(file) => file.finish(),
            Output::Standard => Ok(()),
        }
    }
}

/// Whether an output is a directory, by its name or because there is one.
pub(crate) fn names_directory(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(BUFFER_BYTES, file)
}

/// One file of an export, which is written from its beginning to its end.
pub(crate) struct OutputFile {
    sink: Sink,
    bytes: u64,
}

enum Sink {
    File(BufWriter<File>),
    Standard(BufWriter<Stdout>),
}

impl OutputFile {
    fn new(sink: Sink) -> OutputFile {
        OutputFile { sink, bytes: 0 }
    }

    /// Writes what is buffered, and syncs a file. Returns the size of the file in bytes.
    pub(crate) fn finish(self) -> io::Result<u64> {
        match self.sink {
            Sink::File(file) => {
                file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            }
            Sink::Standard(mut out) => out.flush()?,
        }
        Ok(self.bytes)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.sink {
            Sink::File(file) => file.write(bytes),
            Sink::Standard(out) => out.write(bytes),
        }?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::File(file) => file.flush(),
            Sink::Standard(out) => out.flush(),
        }
    }
}

/// An unfinished file beside its final name.
pub(crate) struct ExportFile {
    path: PathBuf,
    scratch: PathBuf,
    is_finished: bool,
}

impl ExportFile {
    /// Removes what killed runs left beside the file.
    fn begin(path: &Path, interrupt_message: &'static str) -> Result<ExportFile> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::Usage(format!(
                "the output `{}` is no regular file; give `-` for standard output",
                escape_path(path)
            )));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.tmp-");
        let folder = folder_of(path);
        for entry in fs::read_dir(folder).map_err(Error::output(folder))?.flatten() {
            let is_unfinished = entry.file_name().to_string_lossy().starts_with(&prefix);
            if is_unfinished && !is_locked(&entry.path()) {
                remove_tree(&entry.path());
            }
        }
        let scratch = folder.join(format!("{prefix}{}", std::process::id()));
        interrupt::remove_on_signal(&scratch, interrupt_message);
        Ok(ExportFile { path: path.to_path_buf(), scratch, is_finished: false })
    }

    /// Creates the unfinished file, and locks it, so that no other run removes it.
    fn create(&self) -> Result<File> {
        let file = File::create_new(&self.scratch).map_err(Error::output(&self.path))?;
        file.try_lock().map_err(|error| Error::output(&self.path)(error.into()))?;
        Ok(file)
    }

    fn finish(mut self) -> Result<()> {
        interrupt::publish_uninterrupted(|| {
            fs::rename(&self.scratch, &self.path)?;
            File::open(folder_of(&self.path))?.sync_all()
        })
        .map_err(Error::output(&self.path))?;
        interrupt::keep_on_signal();
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for ExportFile {
    fn drop(&mut self) {
        if !self.is_finished {
            remove_tree(&self.scratch);
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_err())
}
