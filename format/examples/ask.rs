//! Asks a snapshot three things. After `make run`:
//!
//! `cargo run -p pinakes-format --example ask -- target/sample-snapshots/current`

use std::{env, error::Error, path::Path};

use pinakes_format::entity::Entity;
use pinakes_format::json::render::{JsonWriter, Shape};
use pinakes_format::query::{Deadline, Query};
use pinakes_format::snapshot::{LookupResult, Snapshot};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("which snapshot?")?;
    let snapshot = Snapshot::open(Path::new(&directory))?;

    // How many outputs have open access since 2015?
    let mut query = Query::new(Entity::Output);
    query
        .add_filter("open_access.is_oa:true,year:>=2015")
        .map_err(|faults| format!("{faults:?}"))?;
    println!("{} outputs", query.count(&snapshot, Deadline::NEVER)?);

    // Which outputs fit some words best?
    let mut query = Query::new(Entity::Output);
    query.add_search("deep learning").map_err(|faults| format!("{faults:?}"))?;
    query.per_page = 3;
    let page = query.execute(&snapshot, Deadline::NEVER)?;
    for row in &page.rows {
        let mut writer = JsonWriter::new(&snapshot, Shape::List);
        snapshot.render(Entity::Output, *row, &mut writer)?;
        println!("{}", String::from_utf8(writer.out)?);
    }

    // Is there a record with the id HX_W2900000096?
    match snapshot.find(Entity::Output, 2_900_000_096)? {
        LookupResult::Row(row) => println!("in row {row}"),
        LookupResult::Merged(into) => println!("merged into HX_W{into}"),
        LookupResult::Absent => println!("no such record"),
    }
    Ok(())
}
