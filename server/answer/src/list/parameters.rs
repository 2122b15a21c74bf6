//! The parameters of lists: a row each, from which the parser, the OpenAPI document and the schema of GraphQL are made.
//!
//! ```text
//! names               page          per_page per-page                 …
//! lists that have it  all           all
//! value               parse_page    one of 10, 25, 50, 100
//! does not go with    format        format
//! argument            page: Int     per_page: Int
//! ```
//!
//! A [`Dialect`] is a list of rows. [`pinakes_format::query`] parses the values of `filter` and `sort`, since it has the keys.

use std::num::NonZeroU32;

use pinakes_format::entity::{CATALOG, Entity};
use pinakes_format::formats::table::{Columns, TableOptions};
use pinakes_format::query::{
    GROUP_KEYS_MAX, Grouping, PAGE_SIZE_DEFAULT, PAGE_SIZES, ParamError, Query, REFERENCES,
    ResultKind, SAMPLE_RECORDS_MAX, STATISTICS_KEYS_MAX, Sample, StatisticsKeys, member_names,
};
use pinakes_format::record::View;
use pinakes_format::schema::{Key, Keys};
use serde_json::{Value, json};

use crate::define::charge::RECORDS_PER_REQUEST;
use crate::list::feed;
use crate::list::parameter_docs::{
    CITATIONS_DOC, COLUMNS_DOC, FILTER_DOC, FORMAT_DOC, GROUP_BY_DOC, MAX_CELL_DOC, SAMPLE_DOC,
    SEARCH_DOC, SELECT_DOC, SORT_DOC, SORT_RELEVANCE_DOC, VERSIONS_DOC,
};
use crate::list::stream::StreamFormat;
use crate::openapi;
use crate::openapi::{patterns, query_parameter};

/// The largest page number.
pub const PAGE_MAX: u32 = 2_147_483_647;

/// The parameter of a search without stemming.
pub const SEARCH_EXACT: &str = "search.exact";

/// The parameters of lists in one variant of the interface.
pub struct Dialect {
    pub parameters: &'static [&'static Parameter],
    /// Parameters of the other variant or of similar services, and the alternative here.
    pub foreign: &'static [(&'static str, &'static str)],
}

/// The parameters of current lists.
pub const CURRENT: Dialect = Dialect {
    parameters: &[
        &PAGE,
        &PER_PAGE,
        &FILTER,
        &SORT,
        &SEARCH,
        &EXACT_SEARCH,
        &GROUP_BY,
        &OF,
        &SELECT,
        &SAMPLE,
        &SEED,
        &VERSIONS,
        &FORMAT,
        &COLUMNS,
        &BOM,
        &MAX_CELL,
    ],
    foreign: &[("q", "use `search`")],
};

/// The parameters of statistics.
pub const STATISTICS: Dialect = Dialect {
    parameters: &[&FILTER, &SEARCH, &EXACT_SEARCH, &OF_STATISTICS],
    foreign: &[
        ("group_by", "statistics have no groups; lists have"),
        ("sort", "statistics have no order"),
        ("page", "statistics have one page"),
        ("sample", "statistics are of all matching records"),
        ("q", "use `search`"),
    ],
};

/// A parameter of lists.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// The names, of which a request has one; documents show the first.
    pub names: &'static [&'static str],
    /// Whether the list with these keys has it.
    pub is_of: fn(&Keys) -> bool,
    /// Whether it is parsed before the others: `sort` and `of` are of groups or of records, and `select` is of pages or of
    /// streams.
    pub comes_first: bool,
    pub parse: Parse,
    /// Why it does not go with the others.
    pub excluded: fn(&Draft) -> Option<&'static str>,
    pub describe: fn(&Keys, &openapi::Sample) -> Described,
    /// The argument in GraphQL; `None` where a document says the same by other means.
    pub argument: Option<Argument>,
}

/// How a value is parsed.
#[derive(Clone, Copy)]
pub enum Parse {
    /// As a whole.
    Whole(fn(&mut Draft, &str) -> Result<(), String>),
    /// In parts; the error has a refusal for each invalid part.
    Parts(fn(&mut Draft, &str) -> Result<(), Vec<ParamError>>),
}

/// An argument of lists in GraphQL.
#[derive(Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    pub type_name: &'static str,
    pub doc: fn(&Keys) -> &'static str,
}

/// A parameter in the OpenAPI document.
pub struct Described {
    pub doc: String,
    pub schema: Value,
    pub examples: Vec<Option<(&'static str, String)>>,
}

/// The values that the parameters of a request have set.
pub struct Draft {
    pub query: Query,
    pub seed: Option<u64>,
    /// The format of a stream.
    pub format: Option<StreamFormat>,
    pub is_feed: bool,
    pub columns: Columns,
    pub table: TableOptions,
    /// Whether `search` was given.
    pub is_searched: bool,
}

impl Dialect {
    /// The parameters of the list that has these keys.
    pub fn of(&self, keys: &Keys) -> impl Iterator<Item = &'static Parameter> + Clone {
        self.parameters.iter().copied().filter(move |parameter| (parameter.is_of)(keys))
    }

    /// The parameter with this name, of any list.
    pub fn named(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().copied().find(|parameter| parameter.names.contains(&name))
    }

    /// The parameters that are arguments of a list in GraphQL.
    pub fn arguments(&self, keys: &Keys) -> impl Iterator<Item = (&'static Parameter, Argument)> {
        self.of(keys).filter_map(|parameter| Some((parameter, parameter.argument?)))
    }

    /// Describes the parameters of the list that has these keys. Of two names of a parameter, the document shows the first:
    /// the server refuses both at once.
    pub fn describe(&self, keys: &Keys, sample: &openapi::Sample) -> Vec<Value> {
        let described = self.of(keys).map(|parameter| {
            let Described { doc, schema, examples } = (parameter.describe)(keys, sample);
            query_parameter(parameter.names[0], &doc, schema, examples)
        });
        described.collect()
    }
}

impl Draft {
    /// The draft of a request without parameters.
    pub fn new(query: Query) -> Draft {
        Draft {
            query,
            seed: None,
            format: None,
            is_feed: false,
            columns: Columns::Members,
            table: TableOptions::default(),
            is_searched: false,
        }
    }

    fn has_groups(&self) -> bool {
        matches!(self.query.result_kind, ResultKind::Groups(_))
    }

    fn is_citation(&self) -> bool {
        matches!(self.format, Some(StreamFormat::References(_)))
    }

    /// Excludes what a feed fixes.
    fn excluded_by_feed(&self) -> Option<&'static str> {
        let reason = "does not go with `format=atom`, a feed of the newest records; leave out one of the two";
        self.is_feed.then_some(reason)
    }

    /// Excludes what the columns of references fix.
    fn excluded_by_references(&self) -> Option<&'static str> {
        let reason =
            "does not go with the columns of references, which are fixed; leave out one of the two";
        (self.columns == Columns::References).then_some(reason)
    }

    /// Excludes what chooses or shows records.
    fn excluded_by_groups(&self) -> Option<&'static str> {
        let reason = "does not go with `group_by`, which counts records; leave out one of the two";
        self.has_groups().then_some(reason)
    }

    /// Excludes what is of tables.
    fn excluded_without_table(&self) -> Option<&'static str> {
        let is_table = matches!(self.format, Some(StreamFormat::Csv | StreamFormat::Xlsx));
        let reason = "is of tables; write `format=csv` or `format=xlsx` too, or leave it out";
        (!is_table).then_some(reason)
    }
}

impl Described {
    /// A parameter without examples.
    pub fn new(doc: impl Into<String>, schema: Value) -> Described {
        Described { doc: doc.into(), schema, examples: Vec::new() }
    }

    fn with(self, examples: impl Into<Vec<Option<(&'static str, String)>>>) -> Described {
        Described { examples: examples.into(), ..self }
    }
}

/// The number of the page, from 1.
pub static PAGE: Parameter = Parameter {
    names: &["page"],
    is_of: |_| true,
    comes_first: false,
    parse: Parse::Whole(|draft, value| {
        // From 1 to `PAGE_MAX`.
        let page = NonZeroU32::new(parse_number(value, 1, PAGE_MAX.into())? as u32);
        draft.query.page = page.unwrap_or(NonZeroU32::MIN);
        Ok(())
    }),
    excluded: |draft| {
        let reason =
            "does not go with `format`, which sends the whole list; leave out one of the two";
        draft.format.map(|_| reason).or_else(|| draft.excluded_by_feed())
    },
    describe: |_, _| {
        Described::new(
            "Page number, from 1. A page past the end has no records.",
            json!({ "type": "integer", "minimum": 1, "maximum": PAGE_MAX, "default": 1 }),
        )
    },
    argument: Some(Argument { name: "page", type_name: "Int", doc: |_| "Page number, from 1." }),
};

/// The number of records on a page.
pub static PER_PAGE: Parameter = Parameter {
    names: &["per_page", "per-page"],
    parse: Parse::Whole(|draft, value| {
        let size = PAGE_SIZES.into_iter().find(|size| size.to_string() == value);
        draft.query.per_page = size.ok_or("must be 10, 25, 50 or 100")?;
        Ok(())
    }),
    describe: |_, _| {
        Described::new(
            "Number of records on a page. `per-page` is another name of this parameter.",
            json!({ "type": "integer", "enum": (&PAGE_SIZES[..]), "default": PAGE_SIZE_DEFAULT }),
        )
    },
    argument: Some(Argument {
        name: "per_page",
        type_name: "Int",
        doc: |_| "Number of records on a page: 10, 25, 50 or 100. The default is 25.",
    }),
    ..PAGE
};

/// Conditions that every record must meet.
pub static FILTER: Parameter = Parameter {
    names: &["filter"],
    is_of: |keys| keys.filters().next().is_some(),
    comes_first: false,
    parse: Parse::Parts(|draft, value| draft.query.add_filter(value)),
    excluded: |_| None,
    describe: |keys, sample| {
        let keys_doc = keys_by_kind(keys, |key| key.filter.is_some());
        Described::new(format!("{FILTER_DOC}\n\n{keys_doc}"), json!({ "type": "string" })).with([
            sample.order.as_ref().map(|key| ("counted", format!("{key}:>0"))),
            sample.word.as_ref().map(|word| ("named", format!("name.search:{word}"))),
        ])
    },
    argument: Some(Argument {
        name: "filter",
        type_name: "String",
        doc: |_| "Conditions that every record must meet, as in REST.",
    }),
};

/// The keys that order the records.
pub static SORT: Parameter = Parameter {
    names: &["sort"],
    is_of: |keys| keys.sorts().next().is_some(),
    parse: Parse::Parts(|draft, value| draft.query.set_sort(value)),
    describe: |keys, sample| {
        let relevance =
            if keys.has_full_text() { format!(" {SORT_RELEVANCE_DOC}") } else { String::new() };
        let keys_doc = keys_by_kind(keys, |key| key.sort.is_some());
        let doc = format!("{SORT_DOC}{relevance}\n\n{keys_doc}");
        Described::new(doc, json!({ "type": "string" }))
            .with([sample.order.as_ref().map(|key| ("two", format!("{key}:desc,name")))])
    },
    argument: Some(Argument {
        name: "sort",
        type_name: "String",
        doc: |_| "Up to three keys, as in REST.",
    }),
    ..FILTER
};

/// Of outputs a full-text search; of others, words that names must contain.
pub static SEARCH: Parameter = Parameter {
    names: &["search"],
    parse: Parse::Parts(|draft, value| {
        draft.is_searched = true;
        draft.query.add_search(value)
    }),
    describe: |keys, sample| {
        if !keys.has_full_text() {
            let doc = "Words. For each word, a name or alternative name of the record must have a \
                       word that begins with it. The same as `filter=name.search:…`.";
            let schema = json!({ "type": "string", "pattern": (patterns::printable()) });
            return Described::new(doc, schema)
                .with([sample.word.clone().map(|word| ("named", word))]);
        }
        let schema = json!({ "type": "string", "pattern": (patterns::words()) });
        Described::new(SEARCH_DOC, schema).with([
            sample.word.clone().map(|word| ("plain", word)),
            Some(("operators", "\"open access\" OR (title:review -protocol)".to_owned())),
            Some(("pattern", "deep learn*".to_owned())),
        ])
    },
    argument: Some(Argument {
        name: "search",
        type_name: "String",
        doc: |keys| {
            if keys.has_full_text() {
                "Words, or a query with operators, as in REST."
            } else {
                "Words; a name must have a word that begins with each, as in REST."
            }
        },
    }),
    ..FILTER
};

/// A full-text search whose words are compared as they are written.
pub static EXACT_SEARCH: Parameter = Parameter {
    names: &[SEARCH_EXACT],
    is_of: Keys::has_full_text,
    parse: Parse::Parts(|draft, value| draft.query.add_exact_search(value)),
    excluded: |draft| {
        draft.is_searched.then_some("does not go with `search`; leave out one of the two")
    },
    describe: |_, _| {
        let doc = "A search in place of `search`: nothing is stemmed, so that `works` does not find \
                   `working`.";
        // No example: generated clients would send it with that of `search`.
        Described::new(doc, json!({ "type": "string", "pattern": (patterns::words()) }))
    },
    argument: Some(Argument {
        // Names in GraphQL have no dots.
        name: "search_exact",
        type_name: "String",
        doc: |_| "A search whose words are compared as they are written, as in REST.",
    }),
    ..FILTER
};

/// The keys by which groups are counted.
pub static GROUP_BY: Parameter = Parameter {
    names: &["group_by", "group-by"],
    is_of: |keys| Grouping::key_names(keys).next().is_some(),
    comes_first: true,
    parse: Parse::Parts(|draft, value| draft.query.set_group_by(value)),
    excluded: |draft| {
        let reason =
            "does not go with this `format`, which has no groups; leave out one of the two";
        let of_citation = draft.is_citation().then_some(reason);
        of_citation.or_else(|| draft.excluded_by_feed()).or_else(|| draft.excluded_by_references())
    },
    describe: |keys, _| {
        let names: Vec<&str> = Grouping::key_names(keys).collect();
        let pattern = patterns::names(&names, Some(GROUP_KEYS_MAX));
        let doc = format!("{GROUP_BY_DOC}\n\nThe keys: {}.", quoted(&names));
        Described::new(doc, json!({ "type": "string", "pattern": pattern }))
    },
    argument: None,
};

/// The keys whose values are summed up for each group.
static OF: Parameter = Parameter {
    names: &["of"],
    comes_first: false,
    parse: Parse::Parts(|draft, value| draft.query.set_statistics(value)),
    excluded: |draft| {
        let reason =
            "sums up the groups of `group_by`; without `group_by`, `/statistics/` sums up the list";
        (!draft.has_groups()).then_some(reason)
    },
    describe: |keys, _| {
        describe_of(keys, |names| {
            format!(
                "Adds sum, mean and median of numbers to each group of `group_by`, which has one key. Up \
                 to {STATISTICS_KEYS_MAX} different keys, separated by commas. There are {names}."
            )
        })
    },
    ..GROUP_BY
};

/// The keys whose values are summed up for the whole list.
static OF_STATISTICS: Parameter = Parameter {
    excluded: |_| None,
    describe: |keys, sample| {
        let default = StatisticsKeys::default_name(keys);
        describe_of(keys, |names| {
            format!(
                "Up to {STATISTICS_KEYS_MAX} different keys with numbers, separated by commas; \
                 `{default}` without this parameter. There are {names}."
            )
        })
        .with([sample.order.clone().map(|key| ("one", key))])
    },
    ..OF
};

fn describe_of(keys: &Keys, doc: impl Fn(&str) -> String) -> Described {
    let names: Vec<&str> = StatisticsKeys::all_names(keys).collect();
    let pattern = patterns::names(&names, Some(STATISTICS_KEYS_MAX));
    Described::new(doc(&quoted(&names)), json!({ "type": "string", "pattern": pattern }))
}

/// The members to show.
static SELECT: Parameter = Parameter {
    names: &["select"],
    parse: Parse::Parts(|draft, value| match draft.format {
        Some(_) => draft.query.set_stream_select(value),
        None => draft.query.set_select(value),
    }),
    excluded: |draft| {
        let reason =
            "does not go with this `format`, whose members are fixed; leave out one of the two";
        let of_citation = draft.is_citation().then_some(reason);
        let of_others = || draft.excluded_by_references().or_else(|| draft.excluded_by_groups());
        of_citation.or_else(|| draft.excluded_by_feed()).or_else(of_others)
    },
    describe: |keys, _| {
        let facts = CATALOG.iter().find(|facts| facts.route == keys.route);
        let members_of =
            |view| facts.map(|facts| member_names(facts.entity, view)).unwrap_or_default();
        let members = members_of(View::List);
        let mut of_streams = members_of(View::Single);
        of_streams.retain(|name| !members.contains(name));
        of_streams.extend(keys.has_citations().then(|| REFERENCES.to_owned()));
        let names: Vec<&str> = members.iter().map(String::as_str).collect();
        let of_streams: Vec<&str> = of_streams.iter().map(String::as_str).collect();
        let doc = format!(
            "{SELECT_DOC}\n\nThe members: {}. With `format` also: {}.",
            quoted(&names),
            quoted(&of_streams)
        );
        let all: Vec<&str> = names.iter().chain(&of_streams).copied().collect();
        Described::new(doc, json!({ "type": "string", "pattern": (patterns::names(&all, None)) }))
            .with([Some(("two", "name,id".to_owned()))])
    },
    argument: None,
    ..PAGE
};

/// The number of records to draw at random.
static SAMPLE: Parameter = Parameter {
    names: &["sample"],
    parse: Parse::Whole(|draft, value| {
        let records = parse_number(value, 1, SAMPLE_RECORDS_MAX.into())?;
        // At most 10,000.
        draft.query.sample = Some(Sample { records: records as u32, seed: 0 });
        Ok(())
    }),
    excluded: |draft| draft.excluded_by_feed().or_else(|| draft.excluded_by_groups()),
    describe: |_, _| {
        let schema = json!({ "type": "integer", "minimum": 1, "maximum": SAMPLE_RECORDS_MAX });
        Described::new(SAMPLE_DOC, schema)
    },
    argument: None,
    ..PAGE
};

/// The seed of the draws.
static SEED: Parameter = Parameter {
    names: &["seed"],
    parse: Parse::Whole(|draft, value| {
        draft.seed = Some(parse_number(value, 0, u64::MAX)?);
        Ok(())
    }),
    excluded: |draft| {
        let reason = "is the seed of `sample`; write `sample=N` too, or leave it out";
        draft.excluded_by_groups().or_else(|| draft.query.sample.is_none().then_some(reason))
    },
    describe: |_, _| {
        // No `default`: generated clients would send it with lists that draw no sample.
        Described::new(
            "The seed of `sample`, which it goes with; 0 without it.",
            json!({ "type": "integer", "minimum": 0, "maximum": (u64::MAX) }),
        )
    },
    ..SAMPLE
};

/// Whether each work is listed in one version.
pub static VERSIONS: Parameter = Parameter {
    names: &["versions"],
    // Outputs alone have references and versions.
    is_of: Keys::has_citations,
    parse: Parse::Whole(|draft, value| {
        draft.query.one_of_versions = value == "one";
        let reason = "must be `one`; leave it out for all versions";
        if draft.query.one_of_versions { Ok(()) } else { Err(reason.to_owned()) }
    }),
    excluded: |_| None,
    describe: |_, _| Described::new(VERSIONS_DOC, json!({ "type": "string", "enum": ["one"] })),
    ..SAMPLE
};

/// The format of a stream of the whole list.
static FORMAT: Parameter = Parameter {
    names: &["format"],
    comes_first: true,
    parse: Parse::Whole(|draft, value| {
        draft.is_feed = value == feed::NAME && feed::is_of(draft.query.entity);
        if !draft.is_feed {
            draft.format = Some(parse_format(draft.query.entity, value)?);
        }
        Ok(())
    }),
    excluded: |_| None,
    describe: |keys, _| {
        let facts = CATALOG.iter().find(|facts| facts.route == keys.route);
        let of_list = facts.into_iter().flat_map(|facts| StreamFormat::of(facts.entity));
        let mut formats: Vec<&str> = of_list.map(StreamFormat::name).collect();
        let has_citations = formats.len() > StreamFormat::OF_ALL.len();
        formats.extend(facts.filter(|facts| feed::is_of(facts.entity)).map(|_| feed::NAME));
        let citations = if has_citations { CITATIONS_DOC } else { "" };
        let doc = format!(
            "{FORMAT_DOC}{citations} It counts as one request of the day for each \
             {RECORDS_PER_REQUEST} records begun."
        );
        Described::new(doc, json!({ "type": "string", "enum": formats }))
    },
    ..SAMPLE
};

/// The columns of a table.
static COLUMNS: Parameter = Parameter {
    names: &["columns"],
    is_of: Keys::has_citations,
    parse: Parse::Whole(|draft, value| {
        let columns = Columns::ALL.into_iter().find(|columns| columns.name() == value);
        draft.columns = columns.ok_or("must be `members` or `references`")?;
        Ok(())
    }),
    excluded: |draft| draft.excluded_without_table(),
    describe: |_, _| {
        let names: Vec<&str> = Columns::ALL.into_iter().map(Columns::name).collect();
        Described::new(COLUMNS_DOC, json!({ "type": "string", "enum": names }))
    },
    ..SAMPLE
};

/// Whether a table of CSV begins with a byte order mark.
static BOM: Parameter = Parameter {
    names: &["bom"],
    parse: Parse::Whole(|draft, value| {
        draft.table.has_bom = value.parse().map_err(|_| "must be `true` or `false`")?;
        Ok(())
    }),
    excluded: |draft| {
        let reason = "is of `csv`; write `format=csv` too, or leave it out";
        (draft.format != Some(StreamFormat::Csv)).then_some(reason)
    },
    describe: |_, _| {
        let doc = "With `format=csv`: begins with a byte order mark, by which Excel reads UTF-8.";
        Described::new(doc, json!({ "type": "boolean" }))
    },
    ..SAMPLE
};

/// Most characters of a cell.
static MAX_CELL: Parameter = Parameter {
    names: &["max_cell"],
    parse: Parse::Whole(|draft, value| {
        // At most `u32::MAX`.
        let most = parse_number(value, 1, u32::MAX.into())? as u32;
        draft.table.cell_max = NonZeroU32::new(most);
        Ok(())
    }),
    excluded: |draft| draft.excluded_without_table(),
    describe: |_, _| {
        let schema = json!({ "type": "integer", "minimum": 1, "maximum": (u32::MAX) });
        Described::new(MAX_CELL_DOC, schema)
    },
    ..SAMPLE
};

fn parse_format(entity: Entity, value: &str) -> Result<StreamFormat, String> {
    let format = StreamFormat::of(entity).find(|format| format.name() == value);
    format.ok_or_else(|| {
        let is_known = StreamFormat::of(Entity::Output).any(|format| format.name() == value);
        if is_known {
            return "is a format of outputs; here it must be `ndjson`, `csv` or `xlsx`".to_owned();
        }
        let known = StreamFormat::of(entity).map(StreamFormat::name);
        let feed = feed::is_of(entity).then_some(feed::NAME);
        let names: Vec<String> = known.chain(feed).map(|name| format!("`{name}`")).collect();
        let names = match names.as_slice() {
            [names @ .., last] => format!("{} or {last}", names.join(", ")),
            [] => String::new(),
        };
        format!("must be {names}; without `format`, pages are JSON")
    })
}

/// Parses a number of digits alone.
fn parse_number(value: &str, from: u64, to: u64) -> Result<u64, String> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse().ok().filter(|number| is_plain && (from..=to).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {from} to {to}"))
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

/// Lists the names of some keys in Markdown, one line for each kind of value.
fn keys_by_kind(keys: &Keys, is_listed: impl Fn(&Key) -> bool) -> String {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for key in keys.keys.iter().filter(|key| is_listed(key)) {
        let name = format!("`{}`", key.name);
        match kinds.iter_mut().find(|(kind, _)| *kind == key.kind.name()) {
            Some((_, names)) => names.push(name),
            None => kinds.push((key.kind.name(), vec![name])),
        }
    }
    let lines = kinds.iter().map(|(kind, names)| format!("- {kind}: {}", names.join(", ")));
    lines.collect::<Vec<_>>().join("\n")
}
