//! Options of GraphQL: the page, and the limits of an operation.

use std::time::Duration;

use clap::{Args, builder::FalseyValueParser};

/// Options of GraphQL.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "GraphQL")]
pub struct GraphqlOptions {
    /// Disable the page at /graphiql.
    #[arg(long, env = "PINAKES_NO_GRAPHIQL", value_parser = FalseyValueParser::new())]
    no_graphiql: bool,

    /// Largest number of records in one answer, including the records that others refer to.
    #[arg(long, value_name = "N", default_value_t = RECORDS_DEFAULT, env = "PINAKES_GRAPHQL_RECORDS")]
    graphql_records: u64,

    /// Largest size of one answer, in bytes.
    #[arg(long, value_name = "N", default_value_t = BYTES_DEFAULT, env = "PINAKES_GRAPHQL_BYTES")]
    graphql_bytes: usize,

    /// Largest processor time for one answer, without the verification of chunks; `--list-timeout`
    /// limits the elapsed time.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = CPU_MILLIS_DEFAULT, env = "PINAKES_GRAPHQL_CPU",
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    graphql_cpu: u64,
}

const RECORDS_DEFAULT: u64 = 2_000;
const BYTES_DEFAULT: usize = 4_000_000;
const CPU_MILLIS_DEFAULT: u64 = 100;

/// The limits of an operation, and whether the server has a page.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether `/graphiql` exists.
    pub has_page: bool,
    /// Records in an answer, including the records that others refer to.
    pub records: u64,
    /// Bytes of an answer.
    pub bytes: usize,
    /// Processor time of an answer, without the verification of chunks.
    pub cpu: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let cpu = Duration::from_millis(CPU_MILLIS_DEFAULT);
        Settings { has_page: true, records: RECORDS_DEFAULT, bytes: BYTES_DEFAULT, cpu }
    }
}

impl GraphqlOptions {
    pub fn settings(&self) -> Settings {
        Settings {
            has_page: !self.no_graphiql,
            records: self.graphql_records,
            bytes: self.graphql_bytes,
            cpu: Duration::from_millis(self.graphql_cpu),
        }
    }
}
