//! The options that name a published tree for chunks that are not on this disk.

use std::path::PathBuf;

use clap::Args;

/// Where the chunks of a snapshot come from that are not on this disk. No variables of the environment: those of `pull` and of
/// the server would turn each reading of a local snapshot into one over the network.
#[derive(Args, Debug, Default)]
pub struct FromArgs {
    /// Published tree, as `https://…` or `s3://BUCKET/PREFIX`, from which the chunks are fetched that are read and not here.
    /// SNAPSHOTS is then a directory that keeps them; it may be empty.
    #[arg(long, value_name = "URL")]
    pub from: Option<String>,

    /// Public key of the publisher of `--from`. May be repeated; one of the keys must have signed.
    #[arg(long = "pubkey", value_name = "FILE", requires = "from")]
    pub pubkeys: Vec<PathBuf>,

    /// PEM file with root certificates for the host of `--from`.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub tls_ca: Option<PathBuf>,
}
