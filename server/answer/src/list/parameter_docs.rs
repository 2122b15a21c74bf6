//! The texts of the OpenAPI document about parameters of lists.

/// The filter syntax. A list of the keys follows it.
pub const FILTER_DOC: &str = "Expressions `key:value`, separated by commas; a record must match every expression. \
`a|b` matches any of several values, `!a|b` none of them, `null` no value and `!null` any value. \
Numbers and dates compare by `>`, `<`, `>=` and `<=`. Integers and the years of dates have ranges `a-b`, \
`a-` and `-b`. A date is a year, a month or a day, and matches its whole period. The dates of changes also \
compare with a time as records show times, to the microsecond. Text matches without regard to case, accents \
and punctuation. Spaces around expressions, keys, operators and values are ignored. A value with `,`, `|` or \
`\"` stands in `\"`; a `\"` inside is doubled. Keys of text compare the whole value, keys of words find records by \
the first letters of words of a name, and keys of a search take a full-text search. On a path through a list, any \
value of the list may match. At most 50 expressions, with at most 100 values each.";

/// The sort syntax. A list of the keys follows it.
pub const SORT_DOC: &str = "Up to three different keys, separated by commas, each as `key:asc`, `key:desc` or `key`; \
`key` alone ascends. Records without a value come last in both directions. Ties come in id order.";

/// The further key of `sort` in lists with a full-text search.
pub const SORT_RELEVANCE_DOC: &str = "With `search`, `relevance` is a key too: the best record first. Among other keys it sorts \
lists of at most 100,000 records.";

/// The full-text search of outputs.
pub const SEARCH_DOC: &str = "Finds records by their titles, abstracts, authors, venues and subjects, and lists the best first. \
Every word must occur, in any field and any inflected form. `AND`, `OR`, `NOT`, `-`, parentheses, fields such as \
`title:`, phrases in quotes with `~distance`, patterns with `*` and `?`, and `word~1` for misspelt words are \
operators. If no record has all words of a query without operators, the records with most of them match; \
`meta.search` says so. Each record has `relevance_score`.";

/// The syntax of `group_by`. A list of the keys follows it.
pub const GROUP_BY_DOC: &str = "Counts the matching records by the values of a key, or of two keys, instead of \
listing them. A record counts once for each of its values; those without a value are the group `null`. A key \
of which a record has several values may stand twice: then groups are pairs of different values of a record, each pair \
once. Groups come by `count`, \
descending, and then by `key`; `sort` takes `count`, `key` and, of two keys, `key2`. `group-by` is another name of this parameter.";

/// The syntax of `select`. A list of the members follows it.
pub const SELECT_DOC: &str = "Shows only these members of the records, separated by commas, in the order of the record. \
A path such as `authors.name` leads into objects and into the objects of lists; a member stands for all members \
below it. With `format`, also members that only single records show, such as `abstract`; the records then have the \
shape of single records. `references` are the ids that an output refers to. A stream with such members counts as one of \
four times as many records. Does not go with `group_by`.";

/// The rules of `sample`.
pub const SAMPLE_DOC: &str = "Draws this many of the matching records at random, each at most once, and lists them in the \
order of the draws, or of `sort`. The same snapshot, parameters and `seed` give the same records, and a smaller \
sample is the beginning of a larger one. `meta.count` counts the sample. Does not go with `group_by`.";

/// The rule of `versions`.
pub const VERSIONS_DOC: &str = "`one` lists each work in one version: of the matching outputs with the same title and first author, \
such as a preprint and its article, the most cited one. Compares at most 50,000 records.";

/// The rules of the formats of reference managers.
pub const CITATIONS_DOC: &str = " `bibtex`, `ris` and `csl-json` are files of reference managers; they go without `select` \
and `group_by`.";

/// The rules of `columns`.
pub const COLUMNS_DOC: &str = "With `format=csv` or `format=xlsx`: `references` has the columns that programs for reviews read, \
`title`, `authors`, `year`, `journal`, `abstract`, `keywords`, `doi` and others, each a text without markup; `members` has \
the members of records. Without `select` and `group_by`.";

/// The rules of `max_cell`.
pub const MAX_CELL_DOC: &str = "With `format=csv` or `format=xlsx`: cuts longer cells to so many characters, of UTF-16, the last of \
which is `…`. A cell of a workbook never has more than 32,767, which spreadsheets hold.";

/// The rules of `format`.
pub const FORMAT_DOC: &str = "Sends the whole list as one stream: `ndjson` has the JSON of a record on each line, `csv` has \
a header and a row for each record, `xlsx` is the same table as a workbook. A column is a member without members of its own, named by its path, such as \
`authors.name`. The values of a list are separated by `; `, and a null in a list is an empty value. With `group_by`, \
all groups are the lines or rows. `atom` is a feed of the 50 newest records. Without `page` and `per_page`. A stream that ends early is an incomplete reply.";
