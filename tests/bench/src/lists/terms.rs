//! Filters, sorts and places of pages, each in the words of either.

/// Rows of a page.
pub const PER_PAGE: u32 = 25;

/// A filter.
#[derive(Clone, Debug)]
pub struct Filter {
    /// As our parameter has it; empty for none.
    pub text: String,
    /// What follows `WHERE`, if there is one.
    pub condition: Option<String>,
    /// The statement that counts its matches.
    pub count: String,
}

impl Filter {
    /// All outputs.
    pub fn none() -> Filter {
        Filter {
            text: String::new(),
            condition: None,
            count: "SELECT count(*) FROM outputs".into(),
        }
    }

    /// On columns of the outputs.
    pub fn on_columns(text: &str, condition: &str) -> Filter {
        Filter {
            text: text.into(),
            condition: Some(condition.into()),
            count: format!("SELECT count(*) FROM outputs WHERE {condition}"),
        }
    }

    /// On a list, which is a table of its own: any of some ids.
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

/// Ids as a statement and as a filter list them.
pub fn alternatives(letter: char, ids: &[u64]) -> (String, String) {
    let join = |texts: Vec<String>, mark: &str| texts.join(mark);
    (
        join(ids.iter().map(u64::to_string).collect(), ","),
        join(ids.iter().map(|id| format!("HX_{letter}{id}")).collect(), "|"),
    )
}

/// A sort.
#[derive(Clone, Debug)]
pub struct Sort {
    /// As our parameter has it; empty for the default order.
    pub text: String,
    /// What follows `ORDER BY`.
    pub order: String,
}

impl Sort {
    /// What no sort means.
    pub fn default_order() -> Sort {
        Sort { text: String::new(), order: "cited_by_count DESC, id".into() }
    }

    /// By a text such as `year:desc,fwci:asc`.
    pub fn by(text: &str) -> Sort {
        let mut terms = Vec::new();
        for term in text.split(',') {
            // Nulls are the least of all, so descending they are last without being told.
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

/// Where in a list a page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    First,
    Middle,
    Last,
}

impl Place {
    /// The page of a list of so many matches; `None` where an earlier place is the same page.
    pub fn page(self, matches: u64) -> Option<u32> {
        let last = matches.div_ceil(u64::from(PER_PAGE)).max(1) as u32;
        match self {
            Place::First => Some(1),
            Place::Middle => Some(last.div_ceil(2)).filter(|&page| page > 1 && page < last),
            Place::Last => Some(last).filter(|&page| page > 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_different_pages() {
        let pages =
            |matches| [Place::First, Place::Middle, Place::Last].map(|place| place.page(matches));
        assert_eq!(pages(0), [Some(1), None, None]);
        assert_eq!(pages(25), [Some(1), None, None]);
        assert_eq!(pages(26), [Some(1), None, Some(2)]);
        assert_eq!(pages(1_000), [Some(1), Some(20), Some(40)]);
    }

    #[test]
    fn sorts_end_with_the_id() {
        assert_eq!(Sort::by("year:desc,fwci:asc").order, "year DESC, fwci NULLS LAST, id");
    }
}
