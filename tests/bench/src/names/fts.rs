//! Loads the names of a dump into an FTS5 table of SQLite with prefix indexes, and queries the table.
//!
//! Row ids follow the number of citations, most cited first, then the id. The ten most cited matches are therefore
//! the first ten, which is the best case for FTS5. FTS5 does not rank names that equal or start with the query
//! first, as autocompletion does.

use std::{path::Path, time::Instant};

use rusqlite::{Connection, OpenFlags, Statement, params};

use super::authors::each_author;
use crate::Result;

/// Candidates of a reply.
const CANDIDATES_MAX: usize = 10;

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

/// Loads the authors of a dump; the finished file is renamed into place.
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

/// The FTS5 file, opened read-only.
pub struct Fts(Connection);

/// Prepared statements of a query: the number of matches, and the row ids of the best.
pub struct Prepared<'a> {
    count: Statement<'a>,
    best: Statement<'a>,
}

impl Fts {
    /// Opens the file with a cache and a memory map for the whole file.
    pub fn open(file: &Path) -> Result<Fts> {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.execute_batch("PRAGMA cache_size = -4000000; PRAGMA mmap_size = 2147418112;")?;
        Ok(Fts(connection))
    }

    /// Prepares the statements, which take any query.
    pub fn prepare(&self) -> Result<Prepared<'_>> {
        let best = format!(
            "SELECT rowid FROM names WHERE names MATCH ?1 ORDER BY rowid LIMIT {CANDIDATES_MAX}"
        );
        Ok(Prepared {
            count: self.0.prepare("SELECT count(*) FROM names WHERE names MATCH ?1")?,
            best: self.0.prepare(&best)?,
        })
    }
}

impl Prepared<'_> {
    /// Returns the number of matches and the row ids of the best.
    pub fn run(&mut self, query: &str) -> Result<(u64, Vec<i64>)> {
        let expression = expression(query);
        let count = self.count.query_row([&expression], |row| row.get::<_, i64>(0))?;
        let best = self.best.query_map([&expression], |row| row.get(0))?;
        Ok((count.cast_unsigned(), best.collect::<rusqlite::Result<_>>()?))
    }
}

/// Translates `an j` to `"an" * AND "j" *`: every word of the query is a prefix of a word of the name.
fn expression(query: &str) -> String {
    let words = query.split(' ').map(|word| format!("\"{word}\" *"));
    words.collect::<Vec<_>>().join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_query_become_prefixes() {
        assert_eq!(expression("jo"), "\"jo\" *");
        assert_eq!(expression("an j"), "\"an\" * AND \"j\" *");
    }
}
