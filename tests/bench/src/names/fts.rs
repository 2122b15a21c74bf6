//! The names of a dump in an FTS5 table of SQLite, with indexes of prefixes, and questions put to it.
//!
//! Rows are numbered by citations, most first, and by id, so that the ten best are the first ten: the table is given
//! its best case. It knows nothing of names that equal the query or start with it.

use std::{path::Path, time::Instant};

use rusqlite::{Connection, OpenFlags, Statement, params};

use super::authors::each_author;
use crate::Result;

/// Candidates of an answer.
const BEST: usize = 10;

const TABLES: &str = "
CREATE TEMP TABLE authors (id INTEGER, cited_by_count INTEGER, words TEXT) STRICT;
CREATE VIRTUAL TABLE names USING fts5(
    words, content = '', detail = none, columnsize = 0, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 0'
);
INSERT INTO names (names, rank) VALUES ('hashsize', 268435456);
";

const FILL: &str = "
INSERT INTO names (rowid, words)
    SELECT row_number() OVER (ORDER BY cited_by_count DESC, id), words FROM authors
    ORDER BY cited_by_count DESC, id;
INSERT INTO names (names) VALUES ('optimize');
DROP TABLE authors;
";

/// Loads the authors of a dump; the file appears when it is whole.
pub fn load(dump: &Path, file: &Path) -> Result<()> {
    let begun = Instant::now();
    let unfinished = file.with_extension("unfinished");
    let _ = std::fs::remove_file(&unfinished);
    let mut connection = Connection::open(&unfinished)?;
    connection.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -1000000;",
    )?;
    connection.execute_batch(TABLES)?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO authors VALUES (?, ?, ?)")?;
        each_author(dump, |author| {
            insert.execute(params![author.id(), author.cited_by_count, author.words()])?;
            Ok(())
        })?;
    }
    transaction.execute_batch(FILL)?;
    transaction.commit()?;
    drop(connection);
    std::fs::rename(&unfinished, file)?;
    println!("FTS5 loaded in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The file, opened to be read.
pub struct Fts(Connection);

/// The two statements of a question: the number of matches, and the best.
pub struct Prepared<'a> {
    count: Statement<'a>,
    best: Statement<'a>,
}

impl Fts {
    /// Opens the file with room for all of it in memory.
    pub fn open(file: &Path) -> Result<Fts> {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("PRAGMA cache_size = -4000000; PRAGMA mmap_size = 2147418112;")?;
        Ok(Fts(connection))
    }

    /// Makes ready for any question.
    pub fn prepare(&self) -> Result<Prepared<'_>> {
        let best =
            format!("SELECT rowid FROM names WHERE names MATCH ?1 ORDER BY rowid LIMIT {BEST}");
        Ok(Prepared {
            count: self.0.prepare("SELECT count(*) FROM names WHERE names MATCH ?1")?,
            best: self.0.prepare(&best)?,
        })
    }
}

impl Prepared<'_> {
    /// The number of matches and the places of the best.
    pub fn ask(&mut self, query: &str) -> Result<(u64, Vec<i64>)> {
        let expression = expression(query);
        let count = self.count.query_row([&expression], |row| row.get::<_, i64>(0))?;
        let best = self.best.query_map([&expression], |row| row.get(0))?;
        Ok((count.cast_unsigned(), best.collect::<rusqlite::Result<_>>()?))
    }
}

/// All words as prefixes, each of some word.
fn expression(query: &str) -> String {
    let words = query.split(' ').map(|word| format!("\"{word}\" *"));
    words.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_asked_as_prefixes() {
        assert_eq!(expression("jo"), "\"jo\" *");
        assert_eq!(expression("an j"), "\"an\" * AND \"j\" *");
    }
}
