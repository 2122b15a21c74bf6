//! Filters and sorts in the syntax of both engines, and positions of pages.

/// Rows in a page.
pub const PER_PAGE: u32 = 25;

#[derive(Clone, Debug)]
pub struct Filter {
    /// Value of the `filter` parameter; empty for no filter.
    pub text: String,
    /// SQL condition after `WHERE`, if any.
    pub condition: Option<String>,
    /// SQL statement that counts the matches.
    pub count: String,
}

impl Filter {
    /// No filter: all outputs match.
    pub fn none() -> Filter {
        Filter {
            text: String::new(),
            condition: None,
            count: "SELECT count(*) FROM outputs".into(),
        }
    }

    /// Filters by columns of the outputs.
    pub fn on_columns(text: &str, condition: &str) -> Filter {
        Filter {
            text: text.into(),
            condition: Some(condition.into()),
            count: format!("SELECT count(*) FROM outputs WHERE {condition}"),
        }
    }

    /// Filters by a table `output_{column}s` of ids that outputs refer to; any of the ids matches.
    pub fn on_list(key: &str, column: &str, letter: char, ids: &[u64]) -> Filter {
        let (numbers, text) = alternatives(letter, ids);
        let matches = format!("FROM output_{column}s WHERE {column} IN ({numbers})");
        let distinct = if ids.len() > 1 { "DISTINCT output" } else { "*" };
        Filter {
            text: format!("{key}:{text}"),
            condition: Some(format!("id IN (SELECT output {matches})")),
            count: format!("SELECT count({distinct}) {matches}"),
        }
    }
}

/// Ids as an SQL list (`1,2`) and as a filter value (`HX_A1|HX_A2`).
pub fn alternatives(letter: char, ids: &[u64]) -> (String, String) {
    let join = |texts: Vec<String>, mark: &str| texts.join(mark);
    (
        join(ids.iter().map(u64::to_string).collect(), ","),
        join(ids.iter().map(|id| format!("HX_{letter}{id}")).collect(), "|"),
    )
}

#[derive(Clone, Debug)]
pub struct Sort {
    /// Value of the `sort` parameter; empty for the default order.
    pub text: String,
    /// SQL terms after `ORDER BY`.
    pub order: String,
}

impl Sort {
    /// The order without a `sort` parameter: most cited first.
    pub fn default_order() -> Sort {
        Sort { text: String::new(), order: "cited_by_count DESC, id".into() }
    }

    /// Translates a `sort` parameter such as `year:desc,fwci:asc`.
    pub fn by(text: &str) -> Sort {
        let mut terms = Vec::new();
        for term in text.split(',') {
            // SQLite sorts nulls below all values, so descending order needs no NULLS LAST.
            terms.push(match term.split_once(':') {
                Some((key, "desc")) => format!("{key} DESC"),
                Some(("id", _)) => "id".into(),
                Some((key, _)) => format!("{key} NULLS LAST"),
                None => term.into(),
            });
        }
        terms.push("id".into());
        Sort { text: text.into(), order: terms.join(", ") }
    }
}

/// The position of a page in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePosition {
    First,
    Middle,
    Last,
}

impl PagePosition {
    /// Number of the page at this position; `None` if an earlier position is the same page.
    pub fn page(self, matches: u64) -> Option<u32> {
        let last = matches.div_ceil(u64::from(PER_PAGE)).max(1) as u32;
        match self {
            PagePosition::First => Some(1),
            PagePosition::Middle => Some(last.div_ceil(2)).filter(|&page| page > 1 && page < last),
            PagePosition::Last => Some(last).filter(|&page| page > 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_distinct_pages() {
        let pages = |matches| {
            [PagePosition::First, PagePosition::Middle, PagePosition::Last]
                .map(|position| position.page(matches))
        };
        assert_eq!(pages(0), [Some(1), None, None]);
        assert_eq!(pages(25), [Some(1), None, None]);
        assert_eq!(pages(26), [Some(1), None, Some(2)]);
        assert_eq!(pages(1_000), [Some(1), Some(20), Some(40)]);
    }

    #[test]
    fn a_sort_ends_with_the_id() {
        assert_eq!(Sort::by("year:desc,fwci:asc").order, "year DESC, fwci NULLS LAST, id");
    }
}
