//! The help of `-h`, which fits a screen: some options, each with its first sentence. `--help` has all of them, whole.

use clap::{Arg, Command};

/// The options that `-h` shows.
const SHOWN: [&str; 17] = [
    "snapshots",
    "snapshot",
    "config",
    "listen",
    "from",
    "pubkey",
    "cache",
    "suppress",
    "memory_bytes",
    "admin",
    "no_limits",
    "minute_limit",
    "browse_limit",
    "tls_cert",
    "tls_key",
    "base_path",
    "help",
];

/// The command with both helps.
pub(super) fn on_one_screen(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_shown = arg.is_positional() || SHOWN.contains(&arg.get_id().as_str());
        with_first_sentence(arg).hide_short_help(!is_shown)
    });
    command
        .after_help("`--help` has every option, and `pinakes-server config` prints their values.")
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
