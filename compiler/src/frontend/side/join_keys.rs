//! The join keys of records, to match the keys of side-table rows.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use pinakes_format::json::record_reader::RecordReader;
use pinakes_format::record::gather::find_path;
use pinakes_format::record::{
    Author, Gather, Gathered, Institution, PathTree, Record, Source, schema_of,
};
use pinakes_format::storage::ReadError;

use crate::frontend::side::keys;

/// Records that side tables extend.
pub trait JoinKeys: Record {
    /// The keys of rows that belong to a packed record, ascending without duplicates.
    fn join_keys(packed: &[u8]) -> Result<Vec<u64>, ReadError>;
}

/// Implements [`JoinKeys`] by the texts at some paths, and the key of such a text.
macro_rules! join_keys {
    ($($record:ident by $parse:path: $($path:literal)*;)*) => {
        $(impl JoinKeys for $record {
            fn join_keys(packed: &[u8]) -> Result<Vec<u64>, ReadError> {
                static TREE: LazyLock<PathTree> = LazyLock::new(|| {
                    let mut tree = PathTree::default();
                    let schema = schema_of($record::ENTITY);
                    let found = [$($path),*].map(|path| find_path(&schema, path));
                    found.iter().flatten().for_each(|found| tree.add(&found.path, 0));
                    tree
                });
                let mut keys = BTreeSet::new();
                $record::gather(&mut RecordReader::new(packed)?, &TREE, &mut |_, value| {
                    if let Gathered::Text(text) = value {
                        keys.extend($parse(text));
                    }
                })?;
                Ok(keys.into_iter().collect())
            }
        })*
    };
}

join_keys! {
    Source by keys::parse_issn: "issn_l" "issn";
    Author by keys::parse_orcid: "orcid";
    Institution by keys::parse_ror: "ror";
}
