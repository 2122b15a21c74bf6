//! What the indexes of lists cost on disk, beside the records they index.

use std::path::Path;

/// The bytes of a file, or of all files below a directory; 0 where there is neither.
pub fn bytes_of(path: &Path) -> u64 {
    let below = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| bytes_of(&entry.path())).sum()
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => below(path),
        Err(_) => 0,
    }
}

/// Prints a line for the indexes of a snapshot's outputs, if it has them.
pub fn print(snapshot: &Path, outputs: u64) {
    let bytes = |name: &str| bytes_of(&snapshot.join("outputs").join(name));
    let (lists, orders, records) = (bytes("lists"), bytes("orders"), bytes("records"));
    if lists + orders == 0 {
        println!("indexes of lists: none in this snapshot; records {records} bytes");
        return;
    }
    println!(
        "indexes of lists: lists {lists} + orders {orders} bytes, {:.1} an output, {:.3} of the records ({records} bytes)",
        (lists + orders) as f64 / outputs as f64,
        (lists + orders) as f64 / records as f64
    );
}
