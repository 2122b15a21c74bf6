//! Options of GraphQL: the page, and the limits of an operation.

use std::time::Duration;

use clap::{Args, builder::FalseyValueParser};
use pinakes_answer::GraphqlSettings;

const DEFAULT: GraphqlSettings = GraphqlSettings::DEFAULT;

/// Options of GraphQL.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "GraphQL")]
pub struct GraphqlOptions {
    /// Disable the page at /graphiql.
    #[arg(long, env = "PINAKES_NO_GRAPHIQL", value_parser = FalseyValueParser::new())]
    no_graphiql: bool,

    /// Largest number of records in one answer, including the records that others refer to.
    #[arg(long, value_name = "N", default_value_t = DEFAULT.records, env = "PINAKES_GRAPHQL_RECORDS")]
    graphql_records: u64,

    /// Largest size of one answer, in bytes.
    #[arg(long, value_name = "N", default_value_t = DEFAULT.bytes, env = "PINAKES_GRAPHQL_BYTES")]
    graphql_bytes: usize,

    /// Largest processor time for one answer, without the verification of chunks; `--list-timeout`
    /// limits the elapsed time.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = DEFAULT.cpu.as_millis() as u64, env = "PINAKES_GRAPHQL_CPU",
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    graphql_cpu: u64,
}

impl GraphqlOptions {
    /// The limits as answers take them.
    pub fn settings(&self) -> GraphqlSettings {
        GraphqlSettings {
            has_page: !self.no_graphiql,
            records: self.graphql_records,
            bytes: self.graphql_bytes,
            cpu: Duration::from_millis(self.graphql_cpu),
        }
    }
}
