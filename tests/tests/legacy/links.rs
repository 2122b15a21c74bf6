//! Parses the `Link` header of a page.

use pinakes_tests::client::Response;

/// A link to another page of the same query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub relation: String,
    pub page: u64,
    /// Every other parameter, as sent.
    pub others: Vec<String>,
}

/// The links of a page in order; empty without the header.
#[track_caller]
pub fn read(response: &Response) -> Vec<Link> {
    let link = |(relation, target): (String, String)| {
        let (_, query) = target.split_once('?').expect("a link has a query");
        let page = query.split('&').filter_map(|pair| pair.strip_prefix("page="));
        let pages: Vec<u64> = page.map(|page| page.parse().unwrap()).collect();
        assert_eq!(pages.len(), 1, "{target}");
        Link { relation, page: pages[0], others: others(query) }
    };
    targets(response).into_iter().map(link).collect()
}

/// The target of the link with this relation.
#[track_caller]
pub fn target(response: &Response, relation: &str) -> Option<String> {
    targets(response).into_iter().find(|(known, _)| known == relation).map(|(_, target)| target)
}

/// The parameters of a query that a link keeps.
pub fn others(query: &str) -> Vec<String> {
    let kept = |pair: &&str| !pair.is_empty() && !pair.starts_with("page=");
    query.split('&').filter(kept).map(str::to_owned).collect()
}

/// Pairs of relation and target.
#[track_caller]
fn targets(response: &Response) -> Vec<(String, String)> {
    let Some(header) = response.header("link") else { return Vec::new() };
    let link = |link: &str| {
        let (target, relation) = link.split_once(">; rel=\"").expect("a link has a relation");
        let target = target.strip_prefix('<').expect("a target has angle brackets");
        let relation = relation.strip_suffix('"').expect("a relation has quotes");
        (relation.to_owned(), target.to_owned())
    };
    // A target may contain commas, but no angle bracket.
    let parts = header.replace(", <", "\n<");
    parts.lines().map(link).collect()
}
