//! Front ends: each turns the lines or rows of one kind of input into records of an object.
//!
//! - [`openalex`] and [`native`] read JSON lines and Parquet rows, [`taxonomy_csv`] reads the topic table, [`id_lists`]
//!   reads merged and deleted ids, and [`side`] reads tables that add members to records.
//! - [`detect`] finds the front end for a file or a line.
//! - [`reader`] and [`international`] hold what several front ends share.
//!
//! The front ends do not import one another.
//!
//! Imports `error`, `object`, `read`.

pub(crate) mod detect;
pub(crate) mod id_lists;
pub(crate) mod international;
pub(crate) mod native;
pub(crate) mod openalex;
pub(crate) mod reader;
pub(crate) mod side;
pub(crate) mod taxonomy_csv;

use pinakes_format::entity::Entity;

use crate::frontend::reader::{BadRecord, LineReader};
use crate::read::{JsonFault, Row, RowFault, Wanted};

/// A front end for records, as JSON lines or as rows of Parquet files.
#[derive(Clone, Copy)]
pub(crate) enum FrontEnd {
    OpenAlex,
    Native,
}

impl FrontEnd {
    /// Reads one line into the object under way.
    pub(crate) fn read_line(
        self,
        entity: Entity,
        line: &str,
        reader: &mut LineReader<'_>,
    ) -> Result<(), BadRecord> {
        match self {
            FrontEnd::OpenAlex => openalex::read_line(entity, line, reader),
            FrontEnd::Native => native::read_line(entity, line, reader),
        }
    }

    /// The members that the front end reads from a row.
    pub(crate) fn wanted(self, entity: Entity) -> Wanted {
        match self {
            FrontEnd::OpenAlex => openalex::wanted(entity),
            FrontEnd::Native => Wanted::All,
        }
    }

    /// Reads one row into the object under way.
    pub(crate) fn read_row(
        self,
        entity: Entity,
        row: Row<'_, '_>,
        reader: &mut LineReader<'_>,
    ) -> Result<(), BadRecord> {
        match self {
            FrontEnd::OpenAlex => openalex::read_row(entity, row, reader),
            FrontEnd::Native => native::read_row(entity, row, reader),
        }
    }

    /// Parses one row and drops it, as [`FrontEnd::parse_line`] does.
    pub(crate) fn parse_row(self, entity: Entity, row: Row<'_, '_>) -> Result<(), RowFault> {
        match self {
            FrontEnd::OpenAlex => openalex::parse_row(entity, row),
            FrontEnd::Native => native::parse_row(row),
        }
    }

    /// Parses one line and drops it. Benchmarks compare a build with this cost.
    pub(crate) fn parse_line(self, entity: Entity, line: &str) -> Result<(), JsonFault> {
        match self {
            FrontEnd::OpenAlex => openalex::parse_line(entity, line),
            FrontEnd::Native => native::parse_line(line),
        }
    }
}
