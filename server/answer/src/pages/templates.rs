//! The sources of pages; a change of one changes the pages of the same snapshot.

const TEMPLATES: [&str; 14] = [
    include_str!("../../templates/browse/base.html"),
    include_str!("../../templates/browse/error.html"),
    include_str!("../../templates/browse/home.html"),
    include_str!("../../templates/browse/list.html"),
    include_str!("../../templates/browse/node.html"),
    include_str!("../../templates/browse/note.html"),
    include_str!("../../templates/browse/nothing.html"),
    include_str!("../../templates/browse/filters.html"),
    include_str!("../../templates/browse/group.html"),
    include_str!("../../templates/browse/record.html"),
    include_str!("../../templates/browse/row.html"),
    include_str!("../../templates/browse/search.html"),
    include_str!("../../templates/browse/taxonomy.html"),
    env!("CARGO_PKG_VERSION"),
];
/// Hex digits of the hash of all templates.
const DIGITS: usize = 12;

/// Digits that stand for the templates of this program.
pub fn digits() -> String {
    let mut hasher = blake3::Hasher::new();
    for template in TEMPLATES {
        hasher.update(template.as_bytes());
    }
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}
