//! `inspect`: formats the contents of a snapshot as a table or as JSON.

use std::{collections::BTreeMap, fmt::Write};

use pinakes_format::entity::Entity;
use pinakes_format::schema::{Direction, keys_of};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::{FileKind, SubsetFilters};
use serde_json::{Value, json};

/// Formats the snapshot's contents as JSON.
pub fn as_json(snapshot: &Snapshot) -> Value {
    let manifest = snapshot.manifest();
    let entities: serde_json::Map<String, Value> = Entity::all()
        .filter_map(|entity| {
            let name = entity.facts().plural;
            let counts = manifest.counts.get(name)?;
            let prefix = format!("{name}/");
            let files: serde_json::Map<String, Value> = manifest
                .files
                .iter()
                .filter_map(|file| Some((file.path.strip_prefix(&prefix)?, file.size_bytes)))
                .map(|(file, bytes)| (file.to_string(), json!(bytes)))
                .collect();
            let value = json!({
                "records": counts.published,
                "unresolved": counts.rows - counts.published,
                "redirects": counts.redirects,
                "files_bytes": files,
                "indexes": index_sizes(snapshot, entity),
            });
            Some((name.to_string(), value))
        })
        .collect();
    json!({
        "path": snapshot.path(),
        "id": manifest.id,
        "root": manifest.root,
        "format_version": manifest.format_version,
        "newest_updated_date": manifest.source.newest_updated_date,
        "parts": manifest.source.parts.len(),
        "selection": manifest.selection,
        "suppressed": manifest.suppressed,
        "bytes": manifest.files.iter().map(|file| file.size_bytes).sum::<u64>(),
        "entities": entities,
    })
}

/// The size of one index of an entity.
#[derive(Debug, serde::Serialize)]
struct IndexSize {
    /// Path of the indexed member.
    path: String,
    /// Name of the file that contains the index.
    file: &'static str,
    /// Number of distinct terms; `None` for orders, and for further parts of an index.
    terms: Option<usize>,
    /// Size in bytes.
    bytes: u64,
}

/// Lists the sizes of an entity's indexes, the largest first.
fn index_sizes(snapshot: &Snapshot, entity: Entity) -> Vec<IndexSize> {
    let keys = keys_of(entity);
    let mut sizes = Vec::new();
    // An entity that lacks a file, or has a damaged one, has no line for it.
    if let Ok(file) = snapshot.term_lists(entity) {
        sizes.extend(keys.lists.iter().enumerate().map(|(at, lists)| IndexSize {
            path: lists.path.clone(),
            file: FileKind::TermLists.file_name(),
            terms: file.terms(at).ok(),
            bytes: file.bytes(at).unwrap_or_default(),
        }));
    }
    if let Ok(file) = snapshot.orders(entity) {
        sizes.extend(keys.orders.iter().enumerate().map(|(at, order)| IndexSize {
            path: order.path.clone(),
            file: FileKind::Orders.file_name(),
            terms: None,
            bytes: file.bytes(at).unwrap_or_default(),
        }));
    }
    let dictionaries = [
        ("words of names", FileKind::Words, snapshot.words(entity).ok()),
        ("alternative names", FileKind::Alternatives, snapshot.alternatives(entity).ok().flatten()),
    ];
    for (path, kind, dictionary) in dictionaries {
        sizes.extend(dictionary.map(|dictionary| IndexSize {
            path: path.to_owned(),
            file: kind.file_name(),
            terms: Some(dictionary.texts() as usize),
            bytes: dictionary.archive().len() as u64,
        }));
    }
    if let Ok(prefixes) = snapshot.prefix_stats(entity) {
        let (answers, sets) = prefixes.counts();
        sizes.push(IndexSize {
            path: format!("prefix statistics, {sets} with sets"),
            file: FileKind::PrefixStats.file_name(),
            terms: Some(answers),
            bytes: prefixes.archive().len() as u64,
        });
    }
    if let Ok(file) = snapshot.targets(entity) {
        sizes.extend(keys.targets.iter().enumerate().map(|(at, lists)| IndexSize {
            path: keys.lists[*lists].path.clone(),
            file: FileKind::Targets.file_name(),
            terms: None,
            bytes: file.bytes(at).unwrap_or_default(),
        }));
    }
    if let Ok(citations) = snapshot.citations(entity) {
        let links = citations.links(Direction::References);
        sizes.push(IndexSize {
            path: format!("citation graph, {links} references"),
            file: FileKind::Citations.file_name(),
            terms: None,
            bytes: citations.archive().len() as u64,
        });
    }
    if let Ok(Some(crossings)) = snapshot.crossings(entity) {
        sizes.push(IndexSize {
            path: "counts of frequent terms".to_owned(),
            file: FileKind::Crossings.file_name(),
            terms: Some(crossings.terms().len()),
            bytes: crossings.archive().len() as u64,
        });
    }
    if let Ok(Some(index)) = snapshot.full_text(entity) {
        // Each part of the file has a line, which tells which of them takes the space.
        let (postings, positions) = index.region_bytes();
        let whole = index.archive().len() as u64;
        let dictionaries = format!("full text: terms and {} forms", index.forms());
        let terms = usize::try_from(index.terms()).ok();
        sizes.extend(
            [
                (dictionaries, terms, whole - postings - positions),
                ("full text: postings".to_owned(), None, postings),
                ("full text: positions".to_owned(), None, positions),
            ]
            .map(|(path, terms, bytes)| IndexSize {
                path,
                file: FileKind::FullText.file_name(),
                terms,
                bytes,
            }),
        );
    }
    sizes.sort_by_key(|size| std::cmp::Reverse(size.bytes));
    sizes
}

/// Formats the filters of a subset, one entity a line, and the number of excluded records.
fn selection_lines(selection: &SubsetFilters) -> String {
    let mut text = String::new();
    for (entity, expressions) in &selection.filters {
        let _ = writeln!(text, "where {entity}:{}", expressions.join(","));
    }
    let excluded = format_counts(&selection.excluded);
    let excluded = if excluded.is_empty() { "nothing".to_owned() } else { excluded };
    let _ = writeln!(text, "excluded {excluded}");
    text
}

/// Formats the counts above zero, as `3 authors, 5 outputs`.
fn format_counts(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().filter(|(_, count)| **count > 0);
    counts.map(|(entity, count)| format!("{count} {entity}")).collect::<Vec<_>>().join(", ")
}

/// Formats the snapshot's contents as a table.
pub fn as_table(snapshot: &Snapshot) -> String {
    let manifest = snapshot.manifest();
    let mut text = String::new();
    let newest = manifest.source.newest_updated_date.as_deref().unwrap_or("unknown");
    let _ = writeln!(text, "snapshot {} (format version {})", manifest.id, manifest.format_version);
    let _ = writeln!(text, "newest updated_date {newest}, {} parts", manifest.source.parts.len());
    if let Some(selection) = &manifest.selection {
        text.push_str(&selection_lines(selection));
    }
    if !manifest.suppressed.is_empty() {
        let _ = writeln!(text, "suppressed {}", format_counts(&manifest.suppressed));
    }
    let _ = writeln!(
        text,
        "\n{:<18}{:>12}{:>12}{:>10}{:>15}{:>13}{:>13}{:>11}",
        "entity", "records", "unresolved", "redirects", "records bytes", "ids", "names", "B/record"
    );
    for entity in Entity::all() {
        let name = entity.facts().plural;
        let Some(counts) = manifest.counts.get(name) else { continue };
        let bytes = |file: &str| {
            let path = format!("{name}/{file}");
            manifest.files.iter().find(|file| file.path == path).map_or(0, |file| file.size_bytes)
        };
        let _ = writeln!(
            text,
            "{name:<18}{:>12}{:>12}{:>10}{:>15}{:>13}{:>13}{:>11}",
            counts.published,
            counts.rows - counts.published,
            counts.redirects,
            bytes("records"),
            bytes("ids"),
            bytes("names"),
            bytes("records").checked_div(counts.published).unwrap_or(0),
        );
    }
    for entity in Entity::all() {
        let records = u64::from(snapshot.count(entity));
        let sizes = index_sizes(snapshot, entity);
        if sizes.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n{:<48}{:>12}{:>12}{:>15}{:>11}",
            format!("indexes of {entity}"),
            "file",
            "terms",
            "bytes",
            "B/record"
        );
        for IndexSize { path, file, terms, bytes } in sizes {
            let terms = terms.map_or(String::new(), |terms| terms.to_string());
            let each = bytes as f64 / records.max(1) as f64;
            let _ = writeln!(text, "  {path:<46}{file:>12}{terms:>12}{bytes:>15}{each:>11.1}");
        }
    }
    let total: u64 = manifest.files.iter().map(|file| file.size_bytes).sum();
    // The manifest does not list itself.
    let _ = writeln!(text, "\n{total} bytes in {} files", manifest.files.len() + 1);
    text
}
