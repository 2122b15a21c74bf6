//! Options of a host that change answers.

use std::{sync::Arc, time::Duration};

/// Which answers exist, and the limits of making one.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Timeout for finding a page of a list, candidates of autocompletion, or a GraphQL response.
    pub list_timeout: Duration,
    /// Processor time for finding a page of a list or candidates.
    pub list_cpu: Duration,
    /// The most bytes that a body in pieces may hold between two pieces.
    pub held_bytes_max: usize,
    /// Limits of a GraphQL operation.
    pub graphql: GraphqlSettings,
    /// Whether the documentation page exists.
    pub has_docs: bool,
    /// Whether the pages for people exist.
    pub has_browse: bool,
    /// Whether the Model Context Protocol is spoken.
    pub has_mcp: bool,
    /// Whether OpenAlex's dialect is spoken.
    pub has_openalex: bool,
    /// Whether clients reach the host by TLS.
    pub is_https: bool,
    /// Whether a content delivery network keeps the replies of named snapshots.
    pub is_behind_network: bool,
    /// The path of a proxy below which clients reach the host, as `/pinakes`.
    pub base_path: Option<Arc<str>>,
    /// The name and the contact of the collection, for the first page.
    pub collection: Option<Arc<Collection>>,
    /// Licence of the data, shown by `/` and `/health`; `None` shows the licence that the snapshot records.
    pub data_licence: Option<Arc<str>>,
}

/// The texts of the first page about the collection.
#[derive(Clone, Debug, Default)]
pub struct Collection {
    /// The name of the collection.
    pub name: Option<String>,
    /// A sentence about the records of the collection.
    pub about: Option<String>,
    /// An address of mail or a URL.
    pub contact: Option<String>,
}

impl Settings {
    /// All answers, without limits of time, for a host that has one caller.
    pub const ALL: Settings = Settings {
        list_timeout: Duration::MAX,
        list_cpu: Duration::MAX,
        held_bytes_max: usize::MAX,
        graphql: GraphqlSettings { cpu: Duration::MAX, ..GraphqlSettings::DEFAULT },
        has_docs: true,
        has_browse: true,
        has_mcp: true,
        has_openalex: true,
        is_https: false,
        is_behind_network: false,
        base_path: None,
        collection: None,
        data_licence: None,
    };

    /// The pages that pages for people link to.
    pub fn other_pages(&self) -> OtherPages {
        OtherPages { docs: self.has_docs, graphiql: self.graphql.has_page }
    }

    /// The licence of the data that the operator states.
    pub fn data_licence(&self) -> Option<&str> {
        self.data_licence.as_deref()
    }
}

/// The other pages of the server that exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherPages {
    /// Whether `/docs` exists.
    pub docs: bool,
    /// Whether `/graphiql` exists.
    pub graphiql: bool,
}

/// The limits of a GraphQL operation, and whether there is a page.
#[derive(Clone, Copy, Debug)]
pub struct GraphqlSettings {
    /// Whether `/graphiql` exists.
    pub has_page: bool,
    /// Records in an answer, including the records that others refer to.
    pub records: u64,
    /// Bytes of an answer.
    pub bytes: usize,
    /// Processor time of an answer, without the verification of chunks.
    pub cpu: Duration,
}

impl GraphqlSettings {
    /// The limits where a host states none.
    pub const DEFAULT: GraphqlSettings = GraphqlSettings {
        has_page: true,
        records: 2_000,
        bytes: 4_000_000,
        cpu: Duration::from_millis(100),
    };
}
