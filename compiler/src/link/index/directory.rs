//! The index files of one entity: their paths and headers in the directory of the new snapshot.

use std::path::{Path, PathBuf};
use std::{fs, io};

use pinakes_format::entity::Entity;
use pinakes_format::index::targets::TargetsWriter;
use pinakes_format::schema::{Keys, Terms, schema_hash};
use pinakes_format::snapshot::{OpenError, Snapshot, archive_path, open_draft_archive};
use pinakes_format::storage::{Archive, FileKind, Header, VALUES, Written};

use crate::error::{Error, Result};
use crate::link::context::WrittenFile;
use crate::link::index::unchanged::Taken;
use crate::link::take_over::TakeOver;

/// The directory of the snapshot, for the index files of one entity.
#[derive(Clone, Copy)]
pub(super) struct EntityDirectory<'a> {
    pub draft: &'a Snapshot,
    pub entity: Entity,
    pub path: &'a Path,
}

impl EntityDirectory<'_> {
    fn path_of(&self, kind: FileKind) -> PathBuf {
        self.path.join(archive_path(kind, Some(self.entity)))
    }

    /// The header of a file with one item for each record.
    pub(super) fn header(&self, kind: FileKind) -> Header {
        self.header_counting(kind, self.draft.count(self.entity).into())
    }

    pub(super) fn header_counting(&self, kind: FileKind, count: u64) -> Header {
        Header {
            kind,
            entity: Some(self.entity),
            published: count,
            rows: count,
            schema_hash: schema_hash(),
        }
    }

    /// Creates the file of target rows.
    pub(super) fn targets_writer(&self, keys: &Keys) -> Result<TargetsWriter> {
        let path = self.path_of(FileKind::Targets);
        let rows = keys.targets.iter().map(|number| match keys.lists[*number].terms {
            Terms::Rows(target) => self.draft.rows(target),
            _ => 0,
        });
        let writer = TargetsWriter::create(&path, self.header(FileKind::Targets), rows);
        writer.map_err(Error::output(&path))
    }

    /// Writes an index file and returns it with its path in the snapshot.
    pub(super) fn write(
        &self,
        kind: FileKind,
        write: impl FnOnce(&Path) -> Taken<Written>,
    ) -> std::result::Result<WrittenFile, TakeOver> {
        let path = self.path_of(kind);
        let written = write(&path).map_err(|error| error.map_failed(Error::output(&path)))?;
        Ok((archive_path(kind, Some(self.entity)), written))
    }

    /// Removes an index file that may be incomplete.
    pub(super) fn remove(&self, kind: FileKind) -> Result<()> {
        let path = self.path_of(kind);
        let mut values = path.clone().into_os_string();
        values.push(VALUES);
        for path in [path, values.into()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::output(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Opens a written file.
    pub(super) fn open(&self, kind: FileKind) -> Result<Archive> {
        open_draft_archive(&self.path_of(kind), kind, Some(self.entity)).map_err(|cause| {
            let file = archive_path(kind, Some(self.entity));
            Error::self_check(OpenError { path: self.path.into(), file, cause })
        })
    }
}
