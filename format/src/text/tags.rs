//! The tags in titles and abstracts: HTML, JATS and MathML.

/// The effect of a tag on its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagKind {
    /// Sets it in italics.
    Italic,
    /// Sets it in bold.
    Bold,
    /// Lowers it.
    Sub,
    /// Raises it.
    Super,
    /// Anything else that stands inside words: `<small>`, `<mi>`.
    Inline,
    /// Encloses a formula or a part of it, which is a word of its own.
    Formula,
    /// Begins or ends a line or a block.
    Block,
}

/// The kinds by the local names of tags, which have no prefix such as `jats:`.
const TAGS: [(TagKind, &[&str]); 7] = [
    (TagKind::Italic, &["em", "i", "it", "ital", "italic"]),
    (TagKind::Bold, &["b", "bold", "emph", "strong"]),
    (TagKind::Sub, &["inf", "sb", "sub"]),
    (TagKind::Super, &["sp", "sup"]),
    (
        TagKind::Inline,
        &[
            "a",
            "abbr",
            "bdi",
            "big",
            "cite",
            "code",
            "font",
            "kbd",
            "mark",
            "math",
            "mfrac",
            "mi",
            "mn",
            "mo",
            "monospace",
            "mover",
            "mroot",
            "mrow",
            "ms",
            "msqrt",
            "mstyle",
            "msub",
            "msubsup",
            "msup",
            "mtext",
            "munder",
            "named-content",
            "roman",
            "s",
            "sans-serif",
            "sc",
            "scp",
            "small",
            "smallcaps",
            "span",
            "strike",
            "styled-content",
            "tt",
            "u",
            "underline",
            "var",
        ],
    ),
    (
        TagKind::Formula,
        &["inline-formula", "mathvariant", "menclose", "mfenced", "mpadded", "semantics"],
    ),
    (
        TagKind::Block,
        &[
            "br", "div", "h1", "h2", "h3", "li", "mspace", "ol", "p", "sec", "subtitle", "td",
            "title", "ul",
        ],
    ),
];

impl TagKind {
    /// The kind of a tag by its name, with or without a prefix and in any case. `None` for unknown tags.
    pub fn of(name: &str) -> Option<TagKind> {
        let local = name.rsplit(':').next().unwrap_or(name);
        let is_local = |other: &&str| other.eq_ignore_ascii_case(local);
        TAGS.iter().find(|(_, names)| names.iter().any(is_local)).map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_known_by_their_local_names_in_any_case() {
        let check =
            |name: &str, kind: Option<TagKind>| assert_eq!(TagKind::of(name), kind, "{name}");
        check("i", Some(TagKind::Italic));
        check("jats:Italic", Some(TagKind::Italic));
        check("mml:msub", Some(TagKind::Inline));
        check("INF", Some(TagKind::Sub));
        check("BR", Some(TagKind::Block));
        check("mml:mfenced", Some(TagKind::Formula));
        check("script", None);
        check("", None);
    }

    #[test]
    fn each_tag_has_one_kind() {
        let mut names: Vec<&str> =
            TAGS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
