//! Tests of mirrors that fetch what requests touch: a server with `--from` before honest, absent and hostile hosts.

mod answers;
mod away;
mod bucket;
mod cache;
mod changed;
mod damage;
mod directory;
mod fill;
mod follow;
mod hostile;
mod redirect;
mod rotten;
mod rounds;
mod setup;
mod site;
mod writers;
