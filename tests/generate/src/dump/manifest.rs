//! Writes the manifest of each entity and the combined manifest.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::parts::Part;
use super::{Error, Written};
use crate::Entity;

/// Writes `jsonl/manifest.json` and, for each entity with parts, `jsonl/<entity>/manifest.json` below `root`.
pub(super) fn write(root: &Path, parts: &[Part], written: &[Written]) -> Result<(), Error> {
    let listed: Vec<(&Part, &Written)> = parts.iter().zip(written).collect();
    write_one(&root.join("jsonl/manifest.json"), &listed)?;
    for entity in Entity::ALL {
        let of_entity: Vec<_> =
            listed.iter().copied().filter(|(part, _)| part.entity == entity).collect();
        if of_entity.is_empty() {
            continue;
        }
        write_one(&root.join("jsonl").join(entity.folder()).join("manifest.json"), &of_entity)?;
    }
    Ok(())
}

fn write_one(path: &Path, parts: &[(&Part, &Written)]) -> Result<(), Error> {
    let entries: Vec<Value> = parts
        .iter()
        .map(|(part, written)| {
            let url = format!("s3://openalex/data/{}", part.path());
            json!({"url": url, "meta": meta(written.gz_bytes, part.lines.end - part.lines.start)})
        })
        .collect();
    let bytes = parts.iter().map(|(_, written)| written.gz_bytes).sum();
    let records = parts.iter().map(|(part, _)| part.lines.end - part.lines.start).sum();
    let manifest = json!({"entries": entries, "meta": meta(bytes, records)});
    fs::write(path, format!("{manifest:#}\n"))
        .map_err(|cause| Error::Write { path: path.to_owned(), cause })
}

fn meta(content_length: u64, record_count: u64) -> Value {
    json!({"content_length": content_length, "record_count": record_count})
}
