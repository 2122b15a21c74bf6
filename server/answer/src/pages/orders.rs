//! The names of orders: a few of their own, and for other keys the end that comes first.

use pinakes_format::entity::Entity;
use pinakes_format::query::Query;
use pinakes_format::schema::Kind;

use crate::pages::labels::label;

/// Values of `sort` that people name.
const NAMED: [(&str, &str); 6] = [
    ("cited_by_count:desc", "Most cited"),
    ("outputs_count:desc", "Most outputs"),
    ("date:desc", "Newest"),
    ("date:asc", "Oldest"),
    ("created_date:desc", "Added last"),
    ("name:asc", "Name, A to Z"),
];

/// An order that a list offers.
#[derive(Debug, PartialEq, Eq)]
pub struct Order {
    /// The value of `sort`; empty for the order of a list without it.
    pub value: String,
    pub label: String,
    pub is_chosen: bool,
}

/// The orders of a list: those that people name, and all others.
pub fn orders(query: &Query, chosen: &str) -> (Vec<Order>, Vec<Order>) {
    let order = |value: &str, label: String| Order {
        value: value.to_owned(),
        is_chosen: value == chosen,
        label,
    };
    let default = match query.entity {
        _ if query.search().is_some() => ("", "Relevance"),
        Entity::Output => ("cited_by_count:desc", "Most cited"),
        Entity::InstitutionType => ("", "By id"),
        _ => ("outputs_count:desc", "Most outputs"),
    };
    let mut named = vec![order("", default.1.to_owned())];
    let sorts = |value: &str| query.keys.sorts().any(|key| value.split(':').next() == Some(key));
    let others = NAMED.iter().filter(|(value, _)| sorts(value) && *value != default.0);
    named.extend(others.map(|(value, words)| order(value, (*words).to_owned())));
    let mut other = Vec::new();
    for key in query.keys.keys.iter().filter(|key| key.sort.is_some()) {
        let directions = match key.kind {
            Kind::Text | Kind::Code | Kind::Words => [("asc", "A to Z"), ("desc", "Z to A")],
            Kind::Day(_) | Kind::Moment(_) => [("desc", "newest first"), ("asc", "oldest first")],
            _ => [("desc", "highest first"), ("asc", "lowest first")],
        };
        for (direction, words) in directions {
            let value = format!("{}:{direction}", key.name);
            if value != default.0 && NAMED.iter().all(|(known, _)| *known != value) {
                other.push(order(&value, format!("{}, {words}", label(key.name))));
            }
        }
    }
    // The default order may be asked for by its name, and an order may have several keys.
    if chosen == default.0 {
        named[0].is_chosen = true;
    } else if !named.iter().chain(&other).any(|order| order.is_chosen) {
        named.push(order(chosen, chosen.replace(',', ", ")));
    }
    (named, other)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_order_is_named_once() {
        let check = |sort: &str, expected: &str| {
            let mut query = Query::new(Entity::Output);
            if !sort.is_empty() {
                query.set_sort(sort).unwrap();
            }
            let (named, other) = orders(&query, sort);
            let chosen = named.iter().chain(&other).filter(|order| order.is_chosen);
            let labels: Vec<&str> = chosen.map(|order| order.label.as_str()).collect();
            assert_eq!(labels, [expected], "{sort}");
        };
        check("", "Most cited");
        check("cited_by_count:desc", "Most cited");
        check("date:desc", "Newest");
        check("fwci:asc", "Field-weighted citation impact, lowest first");
        check("year:desc,name:asc", "year:desc, name:asc");
    }
}
