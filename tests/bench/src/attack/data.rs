//! The snapshot that is attacked: outputs whose pages are long, and authors whose names take long to search.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use pinakes_generate::{Plan, VOCABULARY};

use crate::{
    Result, build,
    process::{measure, sibling_program},
};

/// Outputs of a page, and authors of each: a page has some 78 MB.
const OUTPUTS: u64 = 100;
const AUTHORSHIPS: u64 = 3_000;
/// The record that the honest client asks for.
const SMALL_OUTPUT: &str = "{\"id\":\"https://openalex.org/W1000\",\"title\":\"A small output\"}\n";
/// Authors with a record.
const AUTHORS: u64 = 200_000;

/// Generates the dump unless it exists, and builds a snapshot. Returns the directory of snapshots.
pub fn prepare(dir: &Path) -> Result<PathBuf> {
    let (names, works) = (dir.join("attack-names"), dir.join("attack-works"));
    let snapshots = dir.join("attack-snapshots");
    build::generate(&Plan::names(AUTHORS, VOCABULARY, 1), &names)?;
    fs::create_dir_all(&works)?;
    let path = works.join("works.jsonl");
    if !path.exists() {
        let lines: String = (1..=OUTPUTS).map(output).collect();
        fs::write(path, lines + SMALL_OUTPUT)?;
    }
    measure(
        Command::new(sibling_program("pinakes-compiler")?)
            .arg("build")
            .args([&names, &works])
            .arg("--out")
            .arg(&snapshots),
    )?;
    Ok(snapshots)
}

fn output(id: u64) -> String {
    let mut line = format!(
        "{{\"id\":\"https://openalex.org/W{id}\",\"title\":\"Collaboration {id}\",\"cited_by_count\":{id},\"authorships\":["
    );
    for at in 0..AUTHORSHIPS {
        let author = id * AUTHORSHIPS + at;
        let comma = if at > 0 { "," } else { "" };
        // Writing to a string does not fail.
        let _ = write!(
            line,
            "{comma}{{\"author\":{{\"id\":\"https://openalex.org/A{author}\",\"display_name\":\"Author {author}\"}},\
             \"institutions\":[{{\"id\":\"https://openalex.org/I{}\",\"display_name\":\"Institution of {}\",\
             \"country_code\":\"DE\"}}],\"countries\":[\"DE\",\"FR\"],\
             \"raw_affiliation_strings\":[\"Department {}, University {}, a city, a country and more text\"]}}",
            at % 50 + 1,
            at % 50,
            at % 97,
            at % 50
        );
    }
    line + "]}\n"
}
