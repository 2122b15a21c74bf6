//! The help of `-h`, which fits a screen: some options, each with its first sentence. `--help` has all of them, whole.

use clap::{Arg, Command};

/// The options that `-h` shows, of each command that has them.
const SHOWN: [&str; 25] = [
    "out",
    "wheres",
    "suppress",
    "memory",
    "threads",
    "keep",
    "report",
    "quiet",
    "objects",
    "no_search",
    "from",
    "to",
    "key",
    "pubkey",
    "format",
    "columns",
    "search",
    "sort",
    "select",
    "limit",
    "text",
    "list",
    "since",
    "site",
    "help",
];

/// The command with both helps.
pub(super) fn on_one_screen(command: Command) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| {
            command.mut_args(|arg| {
                let is_shown = arg.is_positional()
                    || arg.is_required_set()
                    || SHOWN.contains(&arg.get_id().as_str());
                with_first_sentence(arg).hide_short_help(!is_shown)
            })
        })
    })
}

fn with_first_sentence(arg: Arg) -> Arg {
    let Some(mut whole) = arg.get_long_help().or(arg.get_help()).map(ToString::to_string) else {
        return arg;
    };
    let first = whole.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
    if let Some(variable) = arg.get_env() {
        whole.push_str(&format!(" [env: {}]", variable.display()));
    }
    arg.help(first).long_help(whole).hide_env(true)
}
