//! The join keys of records, to match the keys of side-table rows.

use std::collections::BTreeSet;

use pinakes_format::record::{ArchivedAuthor, ArchivedInstitution, ArchivedSource};

use crate::frontend::side::keys;

/// Records that side tables extend.
pub trait JoinKeys {
    /// The keys of rows that belong to the record, without duplicates.
    fn join_keys(&self) -> Vec<u64>;
}

impl JoinKeys for ArchivedSource {
    fn join_keys(&self) -> Vec<u64> {
        let all = self.issn.iter().flat_map(|all| all.iter());
        let texts = self.issn_l.iter().chain(all).map(|issn| issn.as_str());
        texts.filter_map(keys::parse_issn).collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl JoinKeys for ArchivedAuthor {
    fn join_keys(&self) -> Vec<u64> {
        self.orcid.iter().filter_map(|orcid| keys::parse_orcid(&orcid.0.id)).collect()
    }
}

impl JoinKeys for ArchivedInstitution {
    fn join_keys(&self) -> Vec<u64> {
        self.ror.iter().filter_map(|ror| keys::parse_ror(ror)).collect()
    }
}
