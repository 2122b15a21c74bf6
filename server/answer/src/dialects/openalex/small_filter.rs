//! Filters of a small list, whose entries are in memory.
//!
//! ```text
//! filter=works_count:>10,id:types/article|types/book        both conditions hold of an entry
//! ```

use pinakes_format::query::{nearest, split_filter};
use pinakes_format::text::fold::{fold, has_word};
use serde_json::Value;

use crate::dialects::openalex::filter_text::code_of;
use crate::reply::Detail;

/// The keys that OpenAlex has of these lists, and that no entry has a value of.
const WITHOUT_VALUES: [&str; 5] =
    ["cited_by_count", "from_created_date", "from_updated_date", "created_date", "updated_date"];

/// The conditions of a filter or a search. All hold of an entry.
#[derive(Debug, Default)]
pub struct EntryFilter(Vec<Condition>);

/// Whether one of the tests holds, or with `is_negated` none.
#[derive(Debug, PartialEq)]
struct Condition {
    is_negated: bool,
    tests: Vec<Test>,
}

#[derive(Debug, PartialEq)]
enum Test {
    /// The id ends in this code, in any case.
    Id(String),
    /// The name is this text, after folding.
    Name(String),
    /// Each of these is a prefix of a word in the name.
    Words(Vec<String>),
    /// The number of records lies between both, inclusive.
    Count(u64, u64),
}

impl EntryFilter {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the conditions of a `filter`. `count` is the member with the number of records.
    ///
    /// # Errors
    ///
    /// At a key that the list does not have, or a value of another type; one detail for each expression.
    pub fn add_filter(&mut self, text: &str, count: &str) -> Result<(), Vec<Detail>> {
        let mut wrong = Vec::new();
        for expression in split_filter(text).filter(|part| !part.trim().is_empty()) {
            match parse(expression, count) {
                Ok(condition) => self.0.push(condition),
                Err(reason) => wrong.push(Detail::new("filter", expression, reason)),
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    /// Adds a search for words of names.
    pub fn add_search(&mut self, text: &str) {
        self.0.push(Condition { is_negated: false, tests: vec![Test::words(text)] });
    }

    /// Whether an entry matches.
    pub fn holds(&self, entry: &Value, count: &str) -> bool {
        let text = |member: &str| entry[member].as_str().unwrap_or_default();
        let (id, name) = (text("id"), fold(text("display_name")));
        let id = id.rsplit('/').next().unwrap_or_default();
        let records = entry[count].as_u64().unwrap_or_default();
        self.0.iter().all(|Condition { is_negated, tests }| {
            let is_met = tests.iter().any(|test| match test {
                Test::Id(code) => id.eq_ignore_ascii_case(code),
                Test::Name(folded) => name == *folded,
                Test::Words(words) => words.iter().all(|word| has_word(&name, word)),
                Test::Count(low, high) => (*low..=*high).contains(&records),
            });
            is_met != *is_negated
        })
    }
}

impl Test {
    fn words(text: &str) -> Test {
        Test::Words(fold(text).split(' ').map(str::to_owned).collect())
    }
}

/// Parses `key:value|value`, `key:!value` and `key:>value`.
fn parse(expression: &str, count: &str) -> Result<Condition, String> {
    let lacks_colon = "lacks its colon; an expression is `key:value`";
    let (key, value) = expression.split_once(':').ok_or(lacks_colon)?;
    let (key, value) = (key.trim(), value.trim());
    let (is_negated, values) = match value.strip_prefix('!') {
        Some(values) => (true, values),
        None => (false, value),
    };
    let keys = ["id", "display_name", "display_name.search", "default.search", count];
    let test = |value: &str| -> Result<Test, String> {
        let value = value.trim().trim_matches('"');
        Ok(match key {
            "id" => Test::Id(code_of(value).rsplit('/').next().unwrap_or_default().to_owned()),
            "display_name" => Test::Name(fold(value)),
            "display_name.search" | "default.search" => Test::words(value),
            key if key == count => range(value)
                .ok_or("must be a whole number, a range such as `10-20`, or `>10` or `<10`")?,
            key if WITHOUT_VALUES.contains(&key) => {
                return Err("is known of records, and not of the values that they have".to_owned());
            }
            key => {
                let hint = nearest(key, keys.into_iter())
                    .map_or(String::new(), |known| format!("; did you mean `{known}`?"));
                return Err(format!("is no key of this list, which has {}{hint}", keys.join(", ")));
            }
        })
    };
    let tests: Result<Vec<Test>, String> = values.split('|').map(test).collect();
    Ok(Condition { is_negated, tests: tests? })
}

/// Parses `5`, `>5`, `<5`, `5-10`, `5-` and `-10`.
fn range(text: &str) -> Option<Test> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let bound = |text: &str, open: u64| match text.trim() {
        "" => Some(open),
        text => number(text),
    };
    let (low, high) = match (text.strip_prefix('>'), text.strip_prefix('<'), text.split_once('-')) {
        (Some(above), ..) => (number(above)?.checked_add(1)?, u64::MAX),
        (_, Some(below), _) => (0, number(below)?.checked_sub(1)?),
        (.., Some((low, high))) if text.len() > 1 => (bound(low, 0)?, bound(high, u64::MAX)?),
        _ => (number(text)?, number(text)?),
    };
    Some(Test::Count(low, high))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_hold_of_ids_names_and_counts() {
        let entry = json!({
            "id": "https://openalex.org/types/article",
            "display_name": "Journal article",
            "works_count": 12,
        });
        let check = |text: &str, expected: bool| {
            let mut filter = EntryFilter::default();
            filter.add_filter(text, "works_count").unwrap();
            assert_eq!(filter.holds(&entry, "works_count"), expected, "{text}");
        };
        for text in [
            "id:article",
            "id:types/Article|book",
            "id:https://openalex.org/types/article",
            "id:!book",
            "display_name:journal ARTICLE",
            "display_name.search:art jour",
            "works_count:12",
            "works_count:>11,works_count:<13",
            "works_count:10-12",
            "works_count:12-",
            "works_count:-12|99",
        ] {
            check(text, true);
        }
        for text in [
            "id:book",
            "id:!article|book",
            "display_name:article",
            "display_name.search:book",
            "works_count:>12",
            "works_count:<12",
            "works_count:13-14",
            "works_count:!12",
            "id:article,works_count:1",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn wrong_expressions_are_refused_with_a_reason() {
        let check = |text: &str, reason: &str| {
            let wrong = EntryFilter::default().add_filter(text, "works_count").unwrap_err();
            assert!(wrong[0].reason.contains(reason), "{text}: {}", wrong[0].reason);
        };
        check("article", "lacks its colon");
        check("works_count:many", "must be a whole number");
        check("works_count:<0", "must be a whole number");
        check("cited_by_count:1", "is known of records");
        check("works_coun:1", "did you mean `works_count`?");
    }
}
