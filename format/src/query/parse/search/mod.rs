//! Parses the text of a search into a tree.
//!
//! ```text
//! query  = clause *( ['AND'] clause | 'OR' clause | ('NOT' | '-') clause )     OR binds less than AND
//! clause = [field ':'] ( word | pattern | word '~' edits | '"' phrase '"' [ '~' distance ] | '(' query ')' )
//! ```
//!
//! A query without operators, fields, stars and quotes is *plain*: a title or a citation as somebody typed it. Nothing in a
//! plain query is an error. A hyphen before a clause is an operator only in a query that is not plain without it: in texts
//! it is a dash.

mod parser;
mod plain;
mod tokens;
mod tree;

use crate::query::parse::search::parser::Parser;
use crate::query::parse::search::plain::{is_plain, plain};
use crate::query::parse::search::tokens::tokenize;
use crate::schema::ANY_FIELD;

pub use crate::query::parse::search::parser::CLAUSES_MAX;
pub use crate::query::parse::search::tree::SyntaxError;
pub(in crate::query) use crate::query::parse::search::tree::{
    Leaf, LeafKind, Node, PhrasePart, Unit,
};

/// The most bytes of a search.
pub const SEARCH_BYTES_MAX: usize = 16 << 10;

/// A search that a snapshot can be asked for: its text is parsed, and its limits are checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The search as the client wrote it.
    pub text: String,
    /// Whether words are compared as they are written, without stemming.
    pub is_exact: bool,
    /// Whether the search is plain.
    pub is_plain: bool,
    /// Whether records match that have all words as they are written, and no others, also where the search is plain.
    pub requires_all: bool,
    /// The parameter that the search is a value of.
    pub(in crate::query) parameter: &'static str,
    pub(in crate::query) tree: Node,
}

impl Search {
    /// Parses a search.
    ///
    /// # Errors
    ///
    /// Where the search is too long, or is not plain and breaks the syntax.
    pub fn parse(text: &str, is_exact: bool) -> Result<Search, SyntaxError> {
        let parameter = if is_exact { "search.exact" } else { "search" };
        Ok(Search { parameter, ..Search::parse_in(text, is_exact, ANY_FIELD)? })
    }

    /// Parses the value of a filter: a search in some fields, which are a set of bits.
    pub(in crate::query) fn parse_in(
        text: &str,
        is_exact: bool,
        fields: u8,
    ) -> Result<Search, SyntaxError> {
        if text.len() > SEARCH_BYTES_MAX {
            let reason = format!("a search has at most {SEARCH_BYTES_MAX} bytes");
            return Err(SyntaxError { position: SEARCH_BYTES_MAX, reason });
        }
        let tokens = tokenize(text);
        let is_plain = is_plain(text, &tokens);
        let tree = match is_plain {
            true => plain(text, fields),
            false => Parser::new(&tokens, text.len()).parse(fields)?,
        };
        // A filter of some fields has all words there: no other record matches, whatever other fields say.
        let is_plain = is_plain && fields == ANY_FIELD;
        let (text, requires_all) = (text.to_owned(), false);
        Ok(Search { text, is_exact, is_plain, requires_all, parameter: "filter", tree })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::query::parse::search::tree::count_clauses;
    use crate::schema::texts::Field;

    /// A tree as text.
    fn show(node: &Node) -> String {
        let all =
            |nodes: &[Node], with: &str| nodes.iter().map(show).collect::<Vec<_>>().join(with);
        match node {
            Node::Or(nodes) => format!("({})", all(nodes, " or ")),
            Node::And { nodes, negated } => {
                let mut text = all(nodes, " and ");
                negated.iter().for_each(|node| text += &format!(" not {}", show(node)));
                format!("({})", text.trim_start())
            }
            Node::Leaf(Leaf { fields, kind }) => {
                let field = Field::ALL.into_iter().find(|field| field.bit() == *fields);
                let field =
                    field.and_then(Field::name).map_or(String::new(), |name| format!("{name}:"));
                let kind = match kind {
                    LeafKind::Word(unit) => match &unit.joined {
                        Some(joined) => format!("{}={joined}", unit.parts.join("+")),
                        None => unit.parts.join("+"),
                    },
                    LeafKind::Fuzzy(word, edits) => format!("{word}~{edits}"),
                    LeafKind::Pattern(pattern) => pattern.clone(),
                    LeafKind::Phrase { parts, distance } => {
                        let parts: Vec<&str> = parts
                            .iter()
                            .map(|part| match part {
                                PhrasePart::Word(text) | PhrasePart::Pattern(text) => text.as_str(),
                            })
                            .collect();
                        let distance =
                            distance.map_or(String::new(), |distance| format!("~{distance}"));
                        format!("[{}]{distance}", parts.join(" "))
                    }
                };
                format!("{field}{kind}")
            }
        }
    }

    #[test]
    fn operators_fields_patterns_and_phrases_are_parsed() {
        let check = |text: &str, expected: &str| {
            let search = Search::parse(text, false).unwrap();
            assert_eq!((show(&search.tree).as_str(), search.is_plain), (expected, false), "{text}");
        };
        check("a AND b OR c", "((a and b) or c)");
        check("a b OR c d", "((a and b) or (c and d))");
        check("a NOT b -c", "(a not b not c)");
        check("NOT b", "(not b)");
        check("\"a\" -b", "(a not b)");
        check("(a OR b) c", "((a or b) and c)");
        check("title:(a OR b) abstract:c", "((title:a or title:b) and abstract:c)");
        check("title:\"Deep Learning\"~5", "title:[deep learning]~5");
        check("\"deep learn*\" review", "([deep learn*] and review)");
        check("machin* wom?n", "(machin* and wom?n)");
        check("colour~1 OR Tumor~2", "(colour~1 or tumor~2)");
        check("COVID-19 OR sars", "(covid+19=covid19 or sars)");
        check("\"one\"", "one");
        check("cat~0 OR b", "(cat or b)");
        check("author:smith 2001", "(author:smith and 2001)");
        check("& AND a", "a");
        check("a NOT . AND \"?!\"", "a");
    }

    #[test]
    fn a_text_without_syntax_is_plain() {
        for text in [
            "deep learning",
            "What is life?",
            "notion of the types of messages?--that is, a check",
            "a (b",
            "unbalanced \" quote",
            "R & D",
            "Title: a subtitle",
            "people - wildlife",
            "people -wildlife",
            "-dash",
            "THE RELATION OF A AND B?",
            "Al-Khodairy, A. T. \"Has botulinum a place.\" Spinal Cord 36 (1998).",
            "and or not",
            "",
            "?!",
        ] {
            assert!(Search::parse(text, false).unwrap().is_plain, "{text}");
        }
    }

    #[test]
    fn a_compound_of_many_parts_is_cut() {
        let search = Search::parse(&vec!["a"; 150].join("-"), false).unwrap();
        let Node::And { nodes, .. } = &search.tree else { panic!("{:?}", search.tree) };
        let parts = nodes.iter().map(count_clauses);
        assert_eq!(parts.collect::<Vec<_>>(), [64, 64, 22]);
    }

    #[test]
    fn an_error_names_its_position() {
        let check = |text: &str, position: usize, reason: &str| {
            let error = Search::parse(text, false).unwrap_err();
            assert_eq!(error.position, position, "{text}: {}", error.reason);
            assert!(error.reason.contains(reason), "{text}: {}", error.reason);
        };
        check("(a OR b", 0, "not closed");
        check("a OR b)", 6, "not opened");
        check("a OR \"b", 5, "quote is not closed");
        check("a OR", 4, "missing");
        check("AND b c", 0, "before it");
        check("a NOT", 5, "after it");
        check("titel:a", 0, "did you mean `title:`");
        check("ab* c", 0, "at least 3 letters");
        check("word~3", 0, "at most 2 changes");
        check("word~99999999999", 0, "at most 2 changes");
        check("\"a b\"~1001", 0, "at most 1000");
        check(&format!("{}a{} OR b", "(".repeat(21), ")".repeat(21)), 20, "deep");
        check(&format!("x OR {}", "a ".repeat(1_001)), 2_003, "at most 1000 clauses");
        check(&format!("b OR {}", "a-".repeat(1_000)), 5, "at most 1000 clauses");
        check(&"a".repeat(17_000), SEARCH_BYTES_MAX, "at most 16384 bytes");
    }
}
