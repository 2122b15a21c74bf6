//! The command line of `pinakes-server`: serving, speaking on standard input, and the commands that print or write and end.
//!
//! A configuration file stands for flags that neither the command line nor the environment gives. The keys
//! of the file are the names of the flags, so [`Options`] alone declares both.
//!
//! Imports `options`.

pub(crate) mod config_file;
pub(crate) mod effective;
mod short_help;

use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource::CommandLine;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use pinakes_format::storage::FORMAT_VERSION;

use crate::cli::config_file::{ConfigError, ConfigFile};
use crate::cli::effective::Configuration;
use crate::cli::short_help::on_one_screen;
use crate::options::{Options, SOURCE};

/// Serves REST and GraphQL from a snapshot that `pinakes-compiler` published.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version = version(), subcommand_negates_reqs = true,
          args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    options: Options,
}

const PROGRAM: &str = "pinakes-server";

#[derive(Debug, Subcommand)]
enum Command {
    /// Speak the Model Context Protocol on standard input and output, for a program on this machine: one message a
    /// line. Requests have no limits, their work has those below. The log goes to standard error.
    Mcp(Box<Options>),
    /// Print the effective configuration as TOML, as `--config` reads it, with the origin of each value.
    Config(Box<Options>),
    /// Print a completion script for a shell.
    Completions {
        /// Shell that reads the script.
        shell: Shell,
    },
    /// Write the manual pages into a directory.
    Man {
        /// The directory, which exists.
        directory: PathBuf,
    },
}

/// Name of the option that names the configuration file.
const CONFIG: &str = "config";

/// Name of the command that speaks the Model Context Protocol.
const MCP: &str = "mcp";
/// The options of this command. A configuration file and the environment may have those of serving too.
const MCP_OPTIONS: [&str; 12] = [
    CONFIG,
    "snapshots",
    "snapshot",
    "verify",
    "pin",
    "suppress",
    "list_timeout",
    "list_cpu",
    "disk_reads",
    "memory_bytes",
    "log_format",
    "data_licence",
];

/// A parsed command line.
#[derive(Debug)]
pub enum Cli {
    /// Serve.
    Serve(Box<Options>),
    /// Speak the Model Context Protocol on standard input and output.
    Converse(Box<Options>),
    /// Print this text.
    Print(Vec<u8>),
    /// Write the manual pages into this directory.
    WriteManual(PathBuf),
}

/// Why the command line cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A wrong argument or variable, or a request for help or the version.
    #[error(transparent)]
    Arguments(#[from] clap::Error),
    /// The configuration file cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// The version of the program, the commit that it is built from, and the version of the format that it reads.
fn version() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("PINAKES_COMMIT"));
    format!("{version} (commit {commit}, format {FORMAT_VERSION})")
}

/// The definition of the command line. `config` needs no snapshot.
fn definition() -> clap::Command {
    let file = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .env("PINAKES_CONFIG")
        .help_heading(None::<&str>)
        .value_parser(clap::value_parser!(PathBuf))
        .help(
            "File of options in TOML, as `listen = \"[::]:8080\"`. The command line and the environment win. \
             `pinakes-server config` prints all keys",
        );
    let is_shown = |arg: &Arg| MCP_OPTIONS.contains(&arg.get_id().as_str());
    let command = on_one_screen(Arguments::command().arg(file.clone()))
        .mut_subcommand(CONFIG, |command| {
            command.arg(file.clone()).mut_group(SOURCE, |group| group.required(false))
        });
    command.mut_subcommand(MCP, |command| {
        command.arg(file).mut_args(|arg| if is_shown(&arg) { arg } else { arg.hide(true) })
    })
}

/// Refuses options of serving on the command line of `mcp`.
fn refuse_unused(given: &ArgMatches) -> Result<(), clap::Error> {
    let mut definition = definition();
    definition.build();
    let Some(command) = definition.find_subcommand_mut(MCP) else { return Ok(()) };
    let is_given = |arg: &&Arg| {
        arg.is_hide_set() && given.value_source(arg.get_id().as_str()) == Some(CommandLine)
    };
    let Some(unused) = command.get_arguments().find(is_given) else { return Ok(()) };
    let message = format!("`{MCP}` serves no address, and takes no {unused}");
    Err(command.error(ErrorKind::UnknownArgument, message))
}

/// Writes the completion script of a shell.
fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), PROGRAM, &mut script);
    // clap_complete 4.6.11 writes the hyphen of the program in two ways, so bash would complete no command.
    let [written, read] = ["__subcmd__", "__"].map(|hyphen| PROGRAM.replace('-', hyphen));
    String::from_utf8_lossy(&script).replace(&written, &read).into_bytes()
}

impl Cli {
    /// Parses a command line, and the configuration file that the command line or the environment names.
    ///
    /// # Errors
    ///
    /// An argument, a variable or the configuration file is wrong, or the arguments ask for help.
    pub fn parse(mut args: Vec<OsString>) -> Result<Cli, CliError> {
        // Tells which options are given; errors come from the second parse.
        let loose = definition().ignore_errors(true).try_get_matches_from(&args)?;
        let (given, at) = match loose.subcommand() {
            None => (&loose, 1),
            Some((name @ (CONFIG | MCP), given)) => {
                if name == MCP {
                    refuse_unused(given)?;
                }
                (given, args.iter().position(|arg| arg == name).map_or(1, |at| at + 1))
            }
            Some(_) => return Cli::from_matches(&definition().try_get_matches_from(&args)?, None),
        };
        let Some(path) = given.get_one::<PathBuf>(CONFIG) else {
            return Cli::from_matches(&definition().try_get_matches_from(&args)?, None);
        };
        let mut options = Arguments::command();
        // Fills the groups.
        options.build();
        let file = ConfigFile::read(path, &options, given)?;
        args.splice(at..at, file.arguments());
        match definition().try_get_matches_from(&args) {
            Ok(matches) => Cli::from_matches(&matches, Some(&file)),
            Err(error) => Err(file.explain(error)),
        }
    }

    fn from_matches(matches: &ArgMatches, file: Option<&ConfigFile>) -> Result<Cli, CliError> {
        let Arguments { command, options } = Arguments::from_arg_matches(matches)?;
        Ok(match command {
            None => Cli::Serve(Box::new(options)),
            Some(Command::Mcp(options)) => Cli::Converse(options),
            Some(Command::Config(_)) => {
                let (_, matches) = matches.subcommand().unwrap_or((CONFIG, matches));
                let configuration = Configuration { matches, file };
                Cli::Print(configuration.to_string().into_bytes())
            }
            Some(Command::Completions { shell }) => Cli::Print(completions(shell)),
            Some(Command::Man { directory }) => Cli::WriteManual(directory),
        })
    }
}

/// Prints a text to standard output.
pub fn print(text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush())
}

/// Writes one manual page for the program and one for each command.
pub fn write_manual(directory: &Path) -> io::Result<()> {
    clap_mangen::generate_to(definition(), directory)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::snapshots::manager::SnapshotSource;

    fn parse(args: &[&str]) -> Result<Cli, CliError> {
        Cli::parse(["pinakes-server"].iter().chain(args).map(OsString::from).collect())
    }

    #[test]
    fn the_option_definitions_are_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn exactly_one_snapshot_source_is_required() {
        let source = |args: &[&str]| match parse(args) {
            Ok(Cli::Serve(options)) => Some(options.snapshot_source()),
            _ => None,
        };
        let check = |args: &[&str], expected: Option<SnapshotSource>| {
            assert_eq!(source(args), expected, "{args:?}");
        };
        check(&["--snapshots", "a"], Some(SnapshotSource::Current("a".into())));
        check(&["--snapshot", "a"], Some(SnapshotSource::Fixed("a".into())));
        check(&["--snapshot", "a", "--listen", "[::1]:0"], Some(SnapshotSource::Fixed("a".into())));
        check(&["--snapshot", "a", "--snapshots", "b"], None);
        check(&["--snapshot", "a", "--listen", "8080"], None);
        check(&["--snapshot", "a", "--log-format", "xml"], None);
        check(&[], None);
    }

    #[test]
    fn a_command_stands_alone() {
        assert!(matches!(parse(&["completions", "bash"]), Ok(Cli::Print(_))));
        assert!(matches!(parse(&["config", "--snapshots", "a"]), Ok(Cli::Print(_))));
        assert!(parse(&["--snapshots", "a", "config"]).is_err());
        assert!(parse(&["completions", "cmd.exe"]).is_err());
    }
}
