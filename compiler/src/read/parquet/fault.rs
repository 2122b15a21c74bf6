//! Why a Parquet file is refused.

use std::{io, path::Path};

use crate::error::Error;

/// Why a Parquet file cannot be read.
#[derive(Debug)]
pub(super) enum ParquetFault {
    /// The file does not end as a Parquet file does.
    NoFooter,
    Footer(String),
    Read(io::Error),
    /// A page or a column that is not what the footer or its header says.
    Page(String),
    /// A feature of the format that the compiler does not read.
    Unsupported(String),
    /// The file holds no column of an id.
    NoId,
    /// The file holds records of the other kind; the kind to give.
    OtherKind(&'static str),
    /// More uncompressed bytes than the limit.
    TooManyBytes,
    /// A part of the file would take more memory than the share of the run.
    TooMuchMemory {
        what: &'static str,
        bytes: u64,
    },
}

impl ParquetFault {
    /// The error of the run.
    pub(super) fn into_error(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        let damaged = |reason: String| Error::Damaged { path: path.clone(), reason };
        let refused = |reason: String| Error::Input { path: path.clone(), reason };
        match self {
            ParquetFault::NoFooter => {
                damaged("truncated: it does not end in a Parquet footer; fetch it again".into())
            }
            ParquetFault::Footer(reason) | ParquetFault::Page(reason) => {
                damaged(format!("{reason}; fetch it again"))
            }
            ParquetFault::Read(error) => damaged(format!("{error}; fetch it again")),
            ParquetFault::Unsupported(what) => refused(format!(
                "has {what}, which the compiler does not read; write it again with snappy, zstd, gzip \
                 or no compression, and without encryption"
            )),
            ParquetFault::NoId => {
                refused("is a Parquet file without a column `id`; expected records of a dump".into())
            }
            ParquetFault::OtherKind(kind) => {
                refused(format!("holds records of another kind; give it as `{kind}:PATH`"))
            }
            ParquetFault::TooManyBytes => damaged(
                "more uncompressed bytes than `--max-inflated` allows; raise the limit if the part is \
                 really that large"
                    .into(),
            ),
            ParquetFault::TooMuchMemory { what, bytes } => damaged(format!(
                "{what} would take {bytes} bytes, more than the share of one part in `--memory`; if \
                 you trust the file, raise `--memory`"
            )),
        }
    }
}
