//! Queries the SQLite file.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Statement, params};

use super::{
    ListPage,
    terms::{Filter, PER_PAGE},
};
use crate::Result;

/// Timeout of one query.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// Instructions of SQLite's virtual machine between two checks of the timeout.
const CHECK_INSTRUCTIONS: i32 = 100_000;

/// Reads the first column of a row; ids and counts are never negative.
fn number(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    row.get::<_, i64>(0).map(i64::cast_unsigned)
}

/// The SQLite file, opened read-only.
pub struct Database {
    connection: Connection,
    opened: Instant,
    /// End of the running query's timeout, in microseconds after `opened`.
    deadline: Arc<AtomicU64>,
}

/// Prepared statements of a query: the number of matches, and the ids of a page.
pub struct Prepared<'a> {
    database: &'a Database,
    count: Statement<'a>,
    page: Statement<'a>,
}

impl Database {
    /// Opens the file with a cache and a memory map for the whole file.
    pub fn open(file: &Path) -> Result<Database> {
        let mut connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch(
            "PRAGMA cache_size = -4000000; PRAGMA mmap_size = 2147418112; PRAGMA temp_store = MEMORY;",
        )?;
        let (opened, deadline) = (Instant::now(), Arc::new(AtomicU64::new(u64::MAX)));
        let current_deadline = deadline.clone();
        let is_late =
            move || opened.elapsed().as_micros() as u64 > current_deadline.load(Ordering::Relaxed);
        connection.progress_handler(CHECK_INSTRUCTIONS, Some(is_late))?;
        Ok(Database { connection, opened, deadline })
    }

    /// Runs a statement that returns one integer.
    pub fn number(&self, sql: &str) -> Result<u64> {
        Ok(self.connection.query_row(sql, [], number)?)
    }

    /// Runs a statement that returns one integer in each row.
    pub fn numbers(&self, sql: &str) -> Result<Vec<u64>> {
        let mut statement = self.connection.prepare(sql)?;
        let numbers = statement.query_map([], number)?;
        Ok(numbers.collect::<rusqlite::Result<Vec<u64>>>()?)
    }

    /// Prepares the statements of a query.
    pub fn prepare(&self, filter: &Filter, order: &str) -> Result<Prepared<'_>> {
        let condition = filter.condition.as_ref();
        let where_clause = condition.map(|sql| format!(" WHERE {sql}")).unwrap_or_default();
        let page =
            format!("SELECT id FROM outputs{where_clause} ORDER BY {order} LIMIT ?1 OFFSET ?2");
        Ok(Prepared {
            database: self,
            count: self.connection.prepare(&filter.count)?,
            page: self.connection.prepare(&page)?,
        })
    }
}

impl Prepared<'_> {
    /// Runs the query; `None` after [`TIMEOUT`].
    pub fn run(&mut self, page: u32) -> Result<Option<ListPage>> {
        let deadline = self.database.opened.elapsed() + TIMEOUT;
        self.database.deadline.store(deadline.as_micros() as u64, Ordering::Relaxed);
        let found = self.find(page);
        self.database.deadline.store(u64::MAX, Ordering::Relaxed);
        match found {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Ok(None)
            }
            found => Ok(Some(found?)),
        }
    }

    fn find(&mut self, page: u32) -> rusqlite::Result<ListPage> {
        let offset = i64::from(page - 1) * i64::from(PER_PAGE);
        let count = self.count.query_row([], number)?;
        let ids = self.page.query_map(params![PER_PAGE, offset], number)?;
        Ok(ListPage { count, ids: ids.collect::<rusqlite::Result<Vec<u64>>>()? })
    }
}
