//! The list queries for both engines.

use super::{
    sqlite::Database,
    terms::{Filter, PagePosition, Sort, alternatives},
};
use crate::Result;

/// Sort keys; SQLite's columns have the same names.
const KEYS: [&str; 9] = [
    "cited_by_count",
    "cites",
    "created_date",
    "date",
    "fwci",
    "id",
    "updated_date",
    "venues_count",
    "year",
];

/// A kind of query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    TwoFilters,
    References,
    Ranges,
    Complements,
    OneKey,
    FilterAndKey,
    SeveralKeys,
}

impl Group {
    /// Heading of the group's table.
    pub fn title(self) -> &'static str {
        match self {
            Group::TwoFilters => "two filters, default order",
            Group::References => "an id, default order",
            Group::Ranges => "ranges, default order",
            Group::Complements => "negations and alternatives, default order",
            Group::OneKey => "no filter, one key",
            Group::FilterAndKey => "one filter, one key",
            Group::SeveralKeys => "two and three keys",
        }
    }

    /// Ceiling of a query's median at 10,000,000 outputs, in milliseconds.
    pub fn ceiling_millis(self) -> f64 {
        match self {
            Group::OneKey => 0.05,
            Group::TwoFilters | Group::References => 1.0,
            Group::Ranges | Group::Complements => 10.0,
            Group::FilterAndKey => 100.0,
            Group::SeveralKeys => 500.0,
        }
    }
}

/// A filter, a sort, and the positions of the requested pages.
#[derive(Clone, Debug)]
pub struct ListQuery {
    pub group: Group,
    pub filter: Filter,
    pub sort: Sort,
    pub positions: &'static [PagePosition],
}

const FIRST_AND_LAST: &[PagePosition] = &[PagePosition::First, PagePosition::Last];
const ALL_POSITIONS: &[PagePosition] =
    &[PagePosition::First, PagePosition::Middle, PagePosition::Last];

/// All queries; the database finds the most and the least frequent ids.
pub fn all(database: &Database) -> Result<Vec<ListQuery>> {
    let mut queries = queries_without_ids();
    let mut add = |group, filter: &Filter, sort, positions| {
        queries.push(ListQuery { group, filter: filter.clone(), sort, positions });
    };
    let by_frequency = |column: &str, table: &str, direction: &str, limit: u32| {
        database.numbers(&format!(
            "SELECT {column} FROM {table} WHERE {column} IS NOT NULL GROUP BY {column}
             ORDER BY count(*) {direction}, {column} LIMIT {limit}"
        ))
    };
    for direction in ["DESC", "ASC"] {
        let author = by_frequency("author", "output_authors", direction, 1)?;
        let topic = by_frequency("topic", "output_topics", direction, 1)?;
        let source = by_frequency("source_id", "outputs", direction, 1)?;
        let (number, text) = alternatives('S', &source);
        let source_key = format!("primary_venue.source.id:{text}");
        for filter in [
            Filter::on_list("authors.id", "author", 'A', &author),
            Filter::on_list("topics.id", "topic", 'T', &topic),
            Filter::on_columns(&source_key, &format!("source_id = {number}")),
        ] {
            add(Group::References, &filter, Sort::default_order(), FIRST_AND_LAST);
        }
    }
    let topics = by_frequency("topic", "output_topics", "DESC", 20)?;
    let frequent = Filter::on_list("topics.id", "topic", 'T', &topics[..1]);
    let any = Filter::on_list("topics.id", "topic", 'T', &topics);
    add(Group::Complements, &any, Sort::default_order(), FIRST_AND_LAST);
    let sources = by_frequency("source_id", "outputs", "DESC", 20)?;
    let (numbers, text) = alternatives('S', &sources);
    let any = Filter::on_columns(
        &format!("primary_venue.source.id:{text}"),
        &format!("source_id IN ({numbers})"),
    );
    add(Group::Complements, &any, Sort::default_order(), FIRST_AND_LAST);
    for (filter, positions) in [
        (Filter::on_columns("type:article", "type = 'article'"), ALL_POSITIONS),
        (frequent, FIRST_AND_LAST),
    ] {
        for key in KEYS {
            for direction in ["asc", "desc"] {
                let sort = Sort::by(&format!("{key}:{direction}"));
                add(Group::FilterAndKey, &filter, sort, positions);
            }
        }
    }
    queries.sort_by_key(|query| query.group as u8);
    Ok(queries)
}

/// The queries without ids.
fn queries_without_ids() -> Vec<ListQuery> {
    let mut queries = Vec::new();
    let mut add = |group, filter: &Filter, sort, positions| {
        queries.push(ListQuery { group, filter: filter.clone(), sort, positions });
    };
    for (group, text, condition) in [
        (Group::TwoFilters, "is_oa:true,type:article", "is_oa = 1 AND type = 'article'"),
        (Group::TwoFilters, "year:2020,is_oa:true", "year = 2020 AND is_oa = 1"),
        (Group::TwoFilters, "year:>2015,type:article", "year > 2015 AND type = 'article'"),
        (
            Group::TwoFilters,
            "language.code:en,open_access.oa_status:gold",
            "language = 'en' AND oa_status = 'gold'",
        ),
        (
            Group::TwoFilters,
            "type:dataset,language.code:es",
            "type = 'dataset' AND language = 'es'",
        ),
        (Group::Ranges, "year:2010-2019", "year BETWEEN 2010 AND 2019"),
        (Group::Ranges, "year:-1960", "year <= 1960"),
        (Group::Ranges, "date:>2015-06", "date > 20150631"),
        (Group::Ranges, "cited_by_count:>100", "cited_by_count > 100"),
        (Group::Ranges, "cites:>=50", "cites >= 50"),
        (Group::Ranges, "fwci:>2.5", "fwci > 2.5"),
        (
            Group::Ranges,
            "fwci:<1,venues_count:2-4,year:>=2000",
            "fwci < 1 AND venues_count BETWEEN 2 AND 4 AND year >= 2000",
        ),
        (Group::Complements, "type:!article", "type IS NOT 'article'"),
        (Group::Complements, "language.code:!en", "language IS NOT 'en'"),
        (Group::Complements, "fwci:null", "fwci IS NULL"),
        (
            Group::Complements,
            "type:!article|review,is_oa:true",
            "type NOT IN ('article', 'review') AND is_oa = 1",
        ),
    ] {
        add(group, &Filter::on_columns(text, condition), Sort::default_order(), FIRST_AND_LAST);
    }
    for key in KEYS {
        for direction in ["asc", "desc"] {
            let sort = Sort::by(&format!("{key}:{direction}"));
            add(Group::OneKey, &Filter::none(), sort, ALL_POSITIONS);
        }
    }
    for sort in [
        "year:desc,cited_by_count:desc",
        "venues_count:asc,fwci:desc",
        "fwci:asc,date:desc",
        "year:desc,venues_count:asc,cites:desc",
        "created_date:asc,year:desc,fwci:asc",
    ] {
        let open = Filter::on_columns("is_oa:true", "is_oa = 1");
        for filter in [Filter::none(), open] {
            add(Group::SeveralKeys, &filter, Sort::by(sort), ALL_POSITIONS);
        }
    }
    queries
}
