//! Questions put to the SQLite file.

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
    Answer,
    terms::{Filter, PER_PAGE},
};
use crate::Result;

/// How long it may think about one question.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Instructions of its machine between two looks at the clock.
const STEPS: i32 = 100_000;

/// The first column: ids and counts, neither below 0.
fn number(row: &rusqlite::Row<'_>) -> rusqlite::Result<u64> {
    row.get::<_, i64>(0).map(i64::cast_unsigned)
}

/// The file, opened to be read.
pub struct Database {
    connection: Connection,
    opened: Instant,
    /// When the question is to be given up, in microseconds after `opened`.
    deadline: Arc<AtomicU64>,
}

/// A question made ready: a list's answer is the number of matches and the ids of a page.
pub struct Prepared<'a> {
    database: &'a Database,
    count: Statement<'a>,
    page: Statement<'a>,
}

impl Database {
    /// Opens the file with room for all of it in memory.
    pub fn open(file: &Path) -> Result<Database> {
        let mut connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch(
            "PRAGMA cache_size = -4000000; PRAGMA mmap_size = 2147418112; PRAGMA temp_store = MEMORY;",
        )?;
        let (opened, deadline) = (Instant::now(), Arc::new(AtomicU64::new(u64::MAX)));
        let watched = deadline.clone();
        let is_late = move || opened.elapsed().as_micros() as u64 > watched.load(Ordering::Relaxed);
        connection.progress_handler(STEPS, Some(is_late))?;
        Ok(Database { connection, opened, deadline })
    }

    /// One whole number.
    pub fn number(&self, sql: &str) -> Result<u64> {
        Ok(self.connection.query_row(sql, [], number)?)
    }

    /// Whole numbers, one a row.
    pub fn numbers(&self, sql: &str) -> Result<Vec<u64>> {
        let mut statement = self.connection.prepare(sql)?;
        let numbers = statement.query_map([], number)?;
        Ok(numbers.collect::<rusqlite::Result<Vec<u64>>>()?)
    }

    /// Makes a question ready.
    pub fn prepare(&self, filter: &Filter, order: &str) -> Result<Prepared<'_>> {
        let of_matches = filter.condition.as_ref();
        let of_matches = of_matches.map(|sql| format!(" WHERE {sql}")).unwrap_or_default();
        let page =
            format!("SELECT id FROM outputs{of_matches} ORDER BY {order} LIMIT ?1 OFFSET ?2");
        Ok(Prepared {
            database: self,
            count: self.connection.prepare(&filter.count)?,
            page: self.connection.prepare(&page)?,
        })
    }
}

impl Prepared<'_> {
    /// Answers, or gives up.
    pub fn ask(&mut self, page: u32) -> Result<Option<Answer>> {
        let deadline = self.database.opened.elapsed() + PATIENCE;
        self.database.deadline.store(deadline.as_micros() as u64, Ordering::Relaxed);
        let answer = self.answer(page);
        self.database.deadline.store(u64::MAX, Ordering::Relaxed);
        match answer {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                Ok(None)
            }
            answer => Ok(Some(answer?)),
        }
    }

    fn answer(&mut self, page: u32) -> rusqlite::Result<Answer> {
        let offset = i64::from(page - 1) * i64::from(PER_PAGE);
        let count = self.count.query_row([], number)?;
        let ids = self.page.query_map(params![PER_PAGE, offset], number)?;
        Ok(Answer { count, ids: ids.collect::<rusqlite::Result<Vec<u64>>>()? })
    }
}
