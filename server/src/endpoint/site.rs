//! Options, snapshots and the state of the disk, which all endpoints of a server share.

use std::{sync::Arc, time::Duration};

use crate::endpoint::browse::OtherPages;
use crate::endpoint::graphql::options::Settings;
use crate::snapshots::disk_activity::DiskActivity;
use crate::snapshots::manager::SnapshotManager;

/// Options and limits of the service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// Timeout for finding a page of a list, candidates of autocompletion, or a GraphQL response.
    pub list_timeout: Duration,
    /// Records and candidates that are read from disk concurrently.
    pub disk_reads: usize,
    /// Processor time for finding a page of a list or candidates.
    pub list_cpu: Duration,
    /// Memory for replies that clients have not taken.
    pub reply_memory_bytes: usize,
    /// Time for a client to take a reply.
    pub reply_timeout: Duration,
    /// Limits of a GraphQL operation.
    pub graphql: Settings,
    /// Whether the documentation page exists.
    pub has_docs: bool,
    /// Whether the server itself speaks TLS.
    pub is_https: bool,
    /// Whether the pages for people exist.
    pub has_browse: bool,
    /// Whether the Model Context Protocol is spoken.
    pub has_mcp: bool,
    /// Whether OpenAlex's dialect is spoken.
    pub has_openalex: bool,
    /// Log lines per second of refused requests and of requests that no limit counts.
    pub refused_lines: u32,
    /// Whether a content delivery network keeps the replies of named snapshots.
    pub is_behind_network: bool,
    /// Licence of the data, shown by `/` and `/health`; `None` shows the licence that the snapshot records.
    pub data_licence: Option<Arc<str>>,
}

/// The parts of a server that endpoints read.
pub struct Site {
    pub settings: ServiceSettings,
    pub snapshots: SnapshotManager,
    pub disk_activity: DiskActivity,
}

impl Site {
    /// The pages that pages for people link to.
    pub fn other_pages(&self) -> OtherPages {
        OtherPages { docs: self.settings.has_docs, graphiql: self.settings.graphql.has_page }
    }

    /// The licence of the data that the operator states.
    pub fn data_licence(&self) -> Option<&str> {
        self.settings.data_licence.as_deref()
    }
}
