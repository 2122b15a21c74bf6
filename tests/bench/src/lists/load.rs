//! Loads the outputs of a dump into an SQLite file.

use std::{collections::HashSet, path::Path, time::Instant};

use rusqlite::{Connection, Statement, params};

use super::works::{Work, each_work};
use crate::Result;

const TABLES: &str = "
CREATE TABLE outputs (
    id INTEGER PRIMARY KEY, doi TEXT, year INTEGER, date INTEGER, cited_by_count INTEGER, cites INTEGER,
    venues_count INTEGER, fwci REAL, type TEXT, language TEXT, is_oa INTEGER, oa_status TEXT, source_id INTEGER,
    primary_topic_id INTEGER, updated_date INTEGER, created_date INTEGER
) STRICT;
CREATE TABLE output_authors (author INTEGER, output INTEGER, PRIMARY KEY (author, output)) WITHOUT ROWID, STRICT;
CREATE TABLE output_topics (topic INTEGER, output INTEGER, PRIMARY KEY (topic, output)) WITHOUT ROWID, STRICT;
";

/// Columns of each index; SQLite appends the ascending id.
///
/// - Each sort key has two indexes, one for each direction, because ids ascend among ties in both directions.
/// - Filters that a query combines share one composite index.
/// - One sort by several keys has an index; the number of possible combinations is too large for all.
const INDEXES: [&str; 25] = [
    "cited_by_count",
    "cited_by_count DESC",
    "cites",
    "cites DESC",
    "created_date",
    "created_date DESC",
    "date",
    "date DESC",
    "fwci",
    "fwci DESC",
    "updated_date",
    "updated_date DESC",
    "venues_count",
    "venues_count DESC",
    "year",
    "year DESC",
    "year DESC, cited_by_count DESC",
    "is_oa, year, cited_by_count DESC",
    "type, is_oa, cited_by_count DESC",
    "type, cited_by_count DESC",
    "type, language, cited_by_count DESC",
    "type, year, cited_by_count DESC",
    "language, oa_status, cited_by_count DESC",
    "source_id, cited_by_count DESC",
    "primary_topic_id, cited_by_count DESC",
];

/// Loads the works of a dump; the finished file is renamed into place.
pub fn load(dump: &Path, file: &Path) -> Result<()> {
    let begun = Instant::now();
    let unfinished = file.with_extension("unfinished");
    let _ = std::fs::remove_file(&unfinished);
    let mut connection = Connection::open(&unfinished)?;
    connection.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -4000000; PRAGMA threads = 2;",
    )?;
    connection.execute_batch(TABLES)?;
    fill(&mut connection, dump)?;
    let filled = begun.elapsed();
    for (number, columns) in INDEXES.iter().enumerate() {
        connection
            .execute_batch(&format!("CREATE INDEX outputs_{number} ON outputs ({columns})"))?;
    }
    connection.execute_batch("ANALYZE")?;
    drop(connection);
    std::fs::rename(&unfinished, file)?;
    println!(
        "SQLite loaded in {:.1} s: rows {:.1} s, indexes and ANALYZE {:.1} s",
        begun.elapsed().as_secs_f64(),
        filled.as_secs_f64(),
        (begun.elapsed() - filled).as_secs_f64()
    );
    Ok(())
}

fn fill(connection: &mut Connection, dump: &Path) -> Result<()> {
    let transaction = connection.transaction()?;
    let (mut authors, mut topics) = (Vec::new(), Vec::new());
    {
        let mut seen = HashSet::new();
        let marks = ["?"; 16].join(",");
        let mut insert = transaction.prepare(&format!("INSERT INTO outputs VALUES ({marks})"))?;
        each_work(dump, |work| {
            let id = work.id();
            if seen.insert(id) {
                authors.extend(work.authors().map(|author| (author, id)));
                topics.extend(work.topics().map(|topic| (topic, id)));
                insert_row(&mut insert, work)?;
            }
            Ok(())
        })?;
        for (table, mut pairs) in [("output_authors", authors), ("output_topics", topics)] {
            pairs.sort_unstable();
            pairs.dedup();
            let mut insert = transaction.prepare(&format!("INSERT INTO {table} VALUES (?, ?)"))?;
            for (value, output) in pairs {
                insert.execute(params![value, output])?;
            }
        }
    }
    transaction.commit()?;
    Ok(())
}

fn insert_row(insert: &mut Statement<'_>, work: &Work<'_>) -> Result<()> {
    insert.execute(params![
        work.id(),
        work.doi.as_deref(),
        work.publication_year,
        work.date(),
        work.cited_by_count,
        work.referenced_works_count,
        work.locations_count,
        work.fwci,
        work.r#type,
        work.language,
        work.open_access.is_oa,
        work.open_access.oa_status,
        work.source(),
        work.primary_topic(),
        work.updated(),
        work.created(),
    ])?;
    Ok(())
}
