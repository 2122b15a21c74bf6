//! OpenAlex's dialect: random queries against the oracle, records against the lines they were compiled from, and
//! what real clients ask.

mod awards;
mod clients;
mod keys;
mod listener;
mod properties;
mod queries;
mod records;
mod requests;

use pinakes_tests::server::{Server, Snapshots};

/// A server of the sample.
fn serve() -> (Snapshots, Server) {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    (snapshots, server)
}
