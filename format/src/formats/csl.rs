//! Items of CSL-JSON, which citation processors read.

use serde_json::{Map, Value, json};

use crate::formats::names::{Name, one_line};
use crate::formats::reference::Reference;
use crate::storage::ReadError;

/// Writes an item.
pub(super) fn write(reference: &Reference, out: &mut Vec<u8>) -> Result<(), ReadError> {
    let (kind, container) = reference.kind().csl;
    let mut item = Map::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            item.insert(name.to_owned(), Value::String(value));
        }
    };
    add("id", reference.id.clone());
    add("type", Some(kind.to_owned()));
    add("title", reference.title().map(|title| title.tagged()));
    add(container, reference.container());
    add("volume", reference.volume().map(one_line));
    add("issue", reference.issue().map(one_line));
    add("page", reference.pages("-"));
    add("DOI", reference.doi().map(str::to_owned));
    add("URL", reference.address().map(str::to_owned));
    add("language", reference.language().map(str::to_owned));
    add("abstract", reference.r#abstract());
    add("keyword", Some(reference.keywords().collect::<Vec<_>>().join(", ")));
    add("status", reference.is_retracted.then(|| "retracted".to_owned()));
    let authors: Vec<Value> = reference.names().map(|name| author(&name)).collect();
    if !authors.is_empty() {
        item.insert("author".to_owned(), authors.into());
    }
    let date = reference.date();
    if !date.is_empty() {
        item.insert("issued".to_owned(), json!({ "date-parts": [date] }));
    }
    serde_json::to_writer(out, &item).map_err(|_| ReadError::Internal("a reference is no JSON"))
}

fn author(name: &Name<'_>) -> Value {
    let Name::Person { given, particles, family, suffix } = name else {
        return json!({ "literal": (name.family()) });
    };
    let mut author = json!({ "family": family, "given": given });
    for (member, part) in [("non-dropping-particle", particles), ("suffix", suffix)] {
        if !part.is_empty() {
            author[member] = (*part).into();
        }
    }
    author
}
