//! Records of RIS: a tag and a value on each line, which ends with CRLF.

use crate::formats::names::{Name, one_line};
use crate::formats::reference::Reference;

/// Writes a record.
pub(super) fn write(reference: &Reference, database: &str, out: &mut Vec<u8>) {
    let (kind, container) = reference.kind().ris;
    let mut line = |tag: &str, value: &str| {
        out.extend_from_slice(format!("{tag}  - {value}\r\n").as_bytes());
    };
    // Programs read a record from its `TY` to its `ER`.
    line("TY", kind);
    let mut lines = |tag, value: Option<&str>| {
        if let Some(value) = value.map(one_line).filter(|value| !value.is_empty()) {
            line(tag, &value);
        }
    };
    lines("ID", reference.id.as_deref());
    reference.names().for_each(|name| lines("AU", Some(&author(&name))));
    lines("TI", reference.title().map(|title| title.text()).as_deref());
    lines(container, reference.container().as_deref());
    let date = reference.date();
    if let Some(year) = date.first() {
        lines("PY", Some(&year.to_string()));
    }
    // `DA` is a whole date; a year alone is in `PY`.
    if let [year, month, day] = date.as_slice() {
        lines("DA", Some(&format!("{year}/{month:02}/{day:02}")));
    }
    lines("VL", reference.volume());
    lines("IS", reference.issue());
    lines("SP", reference.first_page());
    lines("EP", reference.last_page());
    lines("DO", reference.doi());
    lines("UR", reference.address());
    lines("LA", reference.language());
    lines("AB", reference.r#abstract().as_deref());
    reference.keywords().for_each(|word| lines("KW", Some(word)));
    if reference.is_retracted {
        // RIS has no tag for retractions.
        lines("N1", Some("Retracted"));
    }
    lines("DB", Some(database));
    out.extend_from_slice(b"ER  - \r\n\r\n");
}

/// Last name, given name and suffix, as RIS has them.
fn author(name: &Name<'_>) -> String {
    match name {
        // A comma would end a last name.
        Name::Whole(name) => name.replace(", ", " - ").replace(',', " "),
        Name::Person { given, suffix: "", .. } => format!("{}, {given}", name.family()),
        Name::Person { given, suffix, .. } => format!("{}, {given}, {suffix}", name.family()),
    }
}
