//! The options of GraphQL.

use std::time::Duration;

use clap::{Args, builder::FalseyValueParser};

/// What a question may come to.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "GraphQL")]
pub struct GraphqlOptions {
    /// No page to ask from at /graphiql.
    #[arg(long, env = "PINAKES_NO_GRAPHIQL", value_parser = FalseyValueParser::new())]
    no_graphiql: bool,

    /// Records that one question may come to, those referred to among them.
    #[arg(long, value_name = "N", default_value_t = RECORDS, env = "PINAKES_GRAPHQL_RECORDS")]
    graphql_records: u64,

    /// Bytes that its answer may have.
    #[arg(long, value_name = "N", default_value_t = BYTES, env = "PINAKES_GRAPHQL_BYTES")]
    graphql_bytes: usize,

    /// Processor time that answering it may take, without verifying what nobody touched before;
    /// `--list-timeout` bounds the whole of it.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = CPU_MILLIS, env = "PINAKES_GRAPHQL_CPU",
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    graphql_cpu: u64,
}

/// What each is where nothing else is said.
const RECORDS: u64 = 2_000;
const BYTES: usize = 4_000_000;
const CPU_MILLIS: u64 = 100;

/// The same, as the server goes by it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether there is a page to ask from.
    pub has_page: bool,
    /// Records a question may come to.
    pub records: u64,
    /// Bytes an answer may have.
    pub bytes: usize,
    /// Processor time answering may take.
    pub cpu: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        let cpu = Duration::from_millis(CPU_MILLIS);
        Settings { has_page: true, records: RECORDS, bytes: BYTES, cpu }
    }
}

impl GraphqlOptions {
    /// The settings they describe.
    pub fn settings(&self) -> Settings {
        Settings {
            has_page: !self.no_graphiql,
            records: self.graphql_records,
            bytes: self.graphql_bytes,
            cpu: Duration::from_millis(self.graphql_cpu),
        }
    }
}
