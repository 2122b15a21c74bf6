//! The parts above the lists of a record: links, numbers, the line below its name, and affiliations.

use pinakes_format::entity::Entity;
use pinakes_format::formats::names::one_line;
use pinakes_format::formats::reference::Reference;
use pinakes_format::record::ObjectSchema;

use crate::pages::beginnings::Beginnings;
use crate::pages::labels::thousands;
use crate::pages::members::{LabelledMember, Node, declaration, member_at, members};
use crate::pages::preview::Preview;
use crate::pages::referred::Referred;
use crate::pages::tables;
use crate::pages::tables::Shown;

/// A number of a record, and the part of it that the snapshot has.
pub struct Number {
    pub number: String,
    pub words: String,
    /// The part in the snapshot, if it differs.
    pub here: Option<Here>,
    /// The list whose number this is.
    pub href: Option<String>,
}

/// The part of a number that the snapshot has.
pub struct Here {
    pub count: String,
    pub href: Option<String>,
}

/// An author of an output, with affiliations.
pub struct AuthorEntry {
    pub author: Node,
    pub orcid: Option<String>,
    pub is_corresponding: bool,
    pub affiliations: Option<Node>,
}

/// The parts above the lists of a record.
pub struct Profile {
    /// Nodes of the line below the name.
    pub about: Vec<Node>,
    /// Where an output was published, and the place in it.
    pub venue: Option<(Node, String)>,
    /// Words and addresses.
    pub links: Vec<(&'static str, String)>,
    pub numbers: Vec<Number>,
    /// The authors of an output, and how many are left out.
    pub authors: Vec<AuthorEntry>,
    pub authors_left_out: usize,
    pub is_retracted: bool,
}

impl Profile {
    /// Reads the parts of a record's value.
    pub fn new(
        entity: Entity,
        value: &Preview,
        reference: Option<&Reference>,
        lists: &Beginnings,
        referred: &Referred<'_>,
    ) -> Profile {
        let (shown, declared) = (tables::of(entity), declaration(entity));
        let node = |path: &str| member_at(declared, value, path).map(|member| member.node);
        let live = |node: Node| node.without_dead_links(referred);
        let (authors, authors_left_out) = authors(declared, value, referred);
        let venue = node("primary_venue.source").filter(|_| reference.is_some());
        Profile {
            about: shown.about.iter().filter_map(|path| node(path)).map(live).collect(),
            venue: venue.map(|venue| (live(venue), place(reference))),
            links: links(shown, declared, value),
            numbers: numbers(shown, declared, value, lists),
            authors,
            authors_left_out,
            is_retracted: *value.get("is_retracted") == Preview::Boolean(true),
        }
    }
}

/// Volume, issue and pages of an output.
fn place(reference: Option<&Reference>) -> String {
    let Some(reference) = reference else { return String::new() };
    let volume = reference.volume().map(one_line).unwrap_or_default();
    let issue = reference.issue().map(|issue| format!("({})", one_line(issue)));
    let number = format!("{volume}{}", issue.unwrap_or_default());
    let pages = reference.pages("–");
    let parts = [Some(number).filter(|number| !number.is_empty()), pages];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

/// The links of a record; of two with one address, the first.
fn links(shown: &Shown, declared: &ObjectSchema, value: &Preview) -> Vec<(&'static str, String)> {
    let mut links: Vec<(&'static str, String)> = Vec::new();
    for (path, words) in shown.links {
        if let Some(Node::Outside { href }) =
            member_at(declared, value, path).map(|member| member.node)
            && links.iter().all(|(_, known)| *known != href)
        {
            links.push((words, href));
        }
    }
    links
}

fn numbers(
    shown: &Shown,
    declared: &ObjectSchema,
    value: &Preview,
    lists: &Beginnings,
) -> Vec<Number> {
    let number = |(path, words, heading): &(&str, &str, Option<&str>)| {
        let Node::Text(number) = member_at(declared, value, path)?.node else { return None };
        let words = if number == "1" { words.trim_end_matches('s') } else { words };
        let list = heading.and_then(|heading| lists.list(heading));
        let has_list = heading.is_some_and(|heading| {
            tables::lists_from(shown.entity).any(|(known, ..)| known == heading)
        });
        let count = thousands(list.map_or(0, |list| list.found));
        let href = list.filter(|list| list.found > 0).map(|list| list.href.clone());
        let is_same = !has_list || count == number;
        Some(Number {
            number,
            words: words.to_owned(),
            here: (!is_same).then(|| Here { count, href: href.clone() }),
            href: href.filter(|_| is_same),
        })
    };
    shown.numbers.iter().filter_map(number).collect()
}

/// The authors of an output, each with affiliations: institutions, or else the texts that name them.
fn authors(
    declared: &ObjectSchema,
    value: &Preview,
    referred: &Referred<'_>,
) -> (Vec<AuthorEntry>, usize) {
    let authors = members(declared, value).into_iter().find(|member| member.name == "authors");
    let Some(Node::Entries(nodes, left_out)) = authors.map(|member| member.node) else {
        return (Vec::new(), 0);
    };
    let mut entries = Vec::new();
    for node in nodes {
        let (author, mut beside) = match node.without_dead_links(referred) {
            Node::Entry { head, members } => (*head, members),
            other => (other, Vec::new()),
        };
        let mut take = |name: &str| {
            let at = beside.iter().position(|member: &LabelledMember| member.name == name)?;
            Some(beside.swap_remove(at).node)
        };
        let orcid = match take("orcid") {
            Some(Node::Outside { href }) => Some(href),
            _ => None,
        };
        let affiliations = take("affiliations").or_else(|| take("raw_affiliation_strings"));
        entries.push(AuthorEntry {
            author,
            orcid,
            is_corresponding: take("is_corresponding").is_some(),
            affiliations,
        });
    }
    // Without affiliations and ORCID iDs, entries say no more than a line of names.
    let says_more = |entry: &AuthorEntry| entry.affiliations.is_some() || entry.orcid.is_some();
    if !entries.iter().any(says_more) {
        entries.clear();
    }
    (entries, left_out)
}
