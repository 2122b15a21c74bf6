//! The indexes of an entity: which rows match a term, a range, a word or a prefix, and in which order.
//!
//! | folder | file | answers | cost of a look-up | written by | read by |
//! |---|---|---|---|---|---|
//! | [`term_lists`] | `lists` | term → rows | log2(terms) reads | `link/index/term_lists` | `query`, `autocomplete` |
//! | [`orders`] | `orders` | rank → row, row → value, range → rows | log2(values) reads | `link/index/orders` | `query`, `autocomplete` |
//! | [`dictionary`] | `words`, `alternatives` | text or prefix → rows | length of the text, and half a block | `link/index/dictionary` | `query`, `autocomplete` |
//! | [`prefix_stats`] | `prefixes` | frequent prefix → count, best ten, rows | length of the prefix | `link/index/prefix_stats` | `query`, `autocomplete` |
//! | [`citations`] | `citations` | output → outputs it refers to, outputs that refer to it | three reads | `link/citations` | `query` |
//! | [`targets`] | `targets` | record → rows it refers to, by path | two reads | `link/index/targets` | `query` |
//! | [`full_text`] | `full_text` | word → rows with impacts and positions | length of the word, and half a block | `link/index/full_text` | `query/search` |
//! | [`crossings`] | `crossings` | two frequent terms → common rows by chunk; frequent term → its rows along an order | log2(ranks ÷ 8,192) reads | `link/index/crossings` | `query` |
//!
//! Six modules serve these files:
//!
//! - [`postings`]: one list of ascending rows, in chunks of 65,536 rows.
//! - [`fst_shards`]: a sorted map from text to number, inside another file.
//! - `text_blocks`: sorted texts in blocks that share prefixes, led to by such a map.
//! - [`bitset`]: bitmaps of rows; `chunk_bits` sets and clears bits of one chunk, `doc_set` holds a computed set.
//! - [`kept_sets`]: computed sets, kept for later queries of the same filter.
//! - [`encoding`]: the term and the order value of a record's value. The compiler writes by it and a
//!   filter tests a record by it, so both agree.
//!
//! `check` holds the errors of full verification; each folder's `verify` checks its own file.
//!
//! The folder knows neither snapshots nor queries.
//!
//! Imports `entity`, `json`, `record`, `schema`, `storage`, `text`.

pub mod bitset;
pub mod check;
pub(crate) mod chunk_bits;
pub mod citations;
pub mod crossings;
pub mod dictionary;
pub(crate) mod doc_set;
pub mod encoding;
pub mod fst_shards;
pub mod full_text;
pub mod kept_sets;
pub mod orders;
pub mod postings;
pub mod prefix_stats;
pub mod targets;
pub mod term_lists;
mod text_blocks;
