//! Reads the records of a dump line by line.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use crate::Result;

/// Calls `each` with every line of an entity's folder, newest partition first. The newest copy of a record comes
/// first, and is the copy that the compiler publishes.
pub fn each_line(
    dump: &Path,
    folder: &str,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut line = Vec::new();
    for part in parts(&dump.join("data/jsonl").join(folder))? {
        let file = BufReader::with_capacity(1 << 18, File::open(part)?);
        let mut lines = BufReader::with_capacity(1 << 18, MultiGzDecoder::new(file));
        while lines.read_until(b'\n', &mut line)? > 0 {
            each(&line)?;
            line.clear();
        }
    }
    Ok(())
}

/// The number at the end of an id such as `https://openalex.org/W1`; -1 without a number.
pub fn number(id: &str) -> i64 {
    id.trim_start_matches(|char: char| !char.is_ascii_digit()).parse().unwrap_or(-1)
}

/// The part files in a folder, newest partition first.
fn parts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    for partition in std::fs::read_dir(folder)? {
        let partition = partition?.path();
        if partition.is_dir() {
            for part in std::fs::read_dir(partition)? {
                parts.push(part?.path());
            }
        }
    }
    parts.sort_unstable_by(|a, b| b.cmp(a));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_id_follows_its_letter() {
        assert_eq!(number("https://openalex.org/W2000000017"), 2_000_000_017);
        assert_eq!(number("https://openalex.org/"), -1);
    }
}
