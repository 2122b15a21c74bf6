//! The configuration file: one table of options in TOML, under the names of the flags.
//!
//! The file's values become arguments of a second parse, so each value passes the same checks as a flag.
//!
//! ```toml
//! snapshots = "/srv/pinakes"
//! minute-limit = 60
//! trusted-proxy = ["10.0.0.0/8"]
//! no-graphiql = true
//! ```

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Arg, ArgAction, ArgMatches, Command, error::ContextKind, parser::ValueSource};
use pinakes_format::query::nearest;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::cli::CliError;

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file `{path}`: {source}")]
    Read { path: PathBuf, source: io::Error },
    /// The file is not TOML.
    #[error("the configuration file is not TOML: `{path}`, line {line}: {reason}")]
    Syntax { path: PathBuf, line: usize, reason: String },
    /// No option has this name.
    #[error("unknown key `{key}` in the configuration file `{path}`, line {line}; {advice}")]
    UnknownKey { path: PathBuf, line: usize, key: String, advice: String },
    /// The value has a type that the option does not take.
    #[error(
        "wrong type of `{key}` in the configuration file `{path}`, line {line}: expected {expected}, found {found}"
    )]
    WrongType {
        path: PathBuf,
        line: usize,
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    /// An option refuses the value, or needs another option.
    #[error("configuration file `{path}`: {reason}")]
    Value { path: PathBuf, reason: String },
}

/// The values of a configuration file that nothing overrides.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    /// Flags with their values, by the id of the option.
    values: Vec<(String, OsString)>,
}

impl ConfigFile {
    /// Reads a file and checks its keys and types against the options of `command`, a built command.
    ///
    /// Leaves out options that `given` has from the command line or the environment, and options that exclude
    /// one of these.
    pub(crate) fn read(
        path: &Path,
        command: &Command,
        given: &ArgMatches,
    ) -> Result<ConfigFile, ConfigError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.into(), source })?;
        let file = FileText { path, text: &text };
        let table = DeTable::parse(&text).map_err(|error| ConfigError::Syntax {
            path: path.into(),
            line: file.line(error.span().map_or(0, |span| span.start)),
            reason: error.message().to_owned(),
        })?;
        let overridden = overridden(command, given);
        let mut values = Vec::new();
        for (key, value) in table.into_inner() {
            let Some(arg) = options(command).find(|arg| arg.get_long() == Some(key.get_ref()))
            else {
                return Err(file.unknown_key(&key, command));
            };
            let flags = file.flags(arg, key.get_ref(), &value)?;
            if !overridden.contains(arg.get_id().as_str()) {
                values.extend(flags.into_iter().map(|flag| (arg.get_id().to_string(), flag)));
            }
        }
        Ok(ConfigFile { path: path.into(), values })
    }

    /// The values as arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = OsString> {
        self.values.iter().map(|(_, flag)| flag.clone())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Tests whether the file gives the value of an option.
    pub(crate) fn gives(&self, id: &str) -> bool {
        self.values.iter().any(|(given, _)| given == id)
    }

    /// Names the file in an error about one of its values.
    pub(crate) fn explain(&self, error: clap::Error) -> CliError {
        let Some(arg) = error.get(ContextKind::InvalidArg) else { return error.into() };
        let arg = arg.to_string();
        let is_own = |(_, flag): &(String, OsString)| {
            let flag = flag.to_string_lossy();
            arg.split_whitespace().next() == flag.split('=').next()
        };
        if !self.values.iter().any(is_own) {
            return error.into();
        }
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let reason = reason.strip_prefix("error: ").unwrap_or(reason).to_owned();
        ConfigError::Value { path: self.path.clone(), reason }.into()
    }
}

/// The options that a configuration file may give.
pub(crate) fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_option = |arg: &&Arg| {
        use ArgAction::{Help, HelpLong, HelpShort, Version};
        !matches!(arg.get_action(), Help | HelpLong | HelpShort | Version)
    };
    command.get_arguments().filter(|arg| arg.get_long().is_some()).filter(is_option)
}

/// The options that are given, and those that cannot be combined with a given one.
fn overridden(command: &Command, given: &ArgMatches) -> BTreeSet<String> {
    let is_given = |id: &str| {
        let source = given.try_contains_id(id).is_ok().then(|| given.value_source(id)).flatten();
        matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
    };
    let ids = options(command).map(|arg| arg.get_id().to_string());
    let mut overridden: BTreeSet<String> = ids.filter(|id| is_given(id)).collect();
    for group in command.get_groups() {
        let members: Vec<String> = group.get_args().map(|id| id.to_string()).collect();
        let is_exclusive = !group.clone().is_multiple();
        if is_exclusive && members.iter().any(|member| overridden.contains(member)) {
            overridden.extend(members);
        }
    }
    overridden
}

/// A file and its text, for errors that name the line.
struct FileText<'t> {
    path: &'t Path,
    text: &'t str,
}

impl FileText<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn unknown_key(&self, key: &Spanned<DeString<'_>>, command: &Command) -> ConfigError {
        let name = key.get_ref().as_ref();
        let names = options(command).filter_map(Arg::get_long);
        let advice = match nearest(name, names) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`pinakes-server config` prints all keys".to_owned(),
        };
        let line = self.line(key.span().start);
        ConfigError::UnknownKey { path: self.path.into(), line, key: name.to_owned(), advice }
    }

    /// The arguments that mean the same as a key and its value.
    fn flags(
        &self,
        arg: &Arg,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<OsString>, ConfigError> {
        let flag = |value: String| OsString::from(format!("--{key}={value}"));
        let (expected, flags) = match arg.get_action() {
            ArgAction::SetTrue => {
                // A switch is off without its argument, so `false` needs none.
                let is_set = value.get_ref().as_bool();
                let flags = is_set.map(|is_set| match is_set {
                    true => vec![OsString::from(format!("--{key}"))],
                    false => Vec::new(),
                });
                ("true or false", flags)
            }
            ArgAction::Append => {
                let items = value.get_ref().as_array();
                let texts =
                    items.and_then(|items| items.iter().map(text).collect::<Option<Vec<_>>>());
                // A single string is an array of one.
                let flags = texts.or_else(|| text(value).map(|text| vec![text]));
                let expected = "an array of strings";
                (expected, flags.map(|texts| texts.into_iter().map(flag).collect()))
            }
            _ => ("a string or a number", text(value).map(|text| vec![flag(text)])),
        };
        flags.ok_or_else(|| ConfigError::WrongType {
            path: self.path.into(),
            line: self.line(value.span().start),
            key: key.to_owned(),
            expected,
            found: value.get_ref().type_str(),
        })
    }
}

/// The text of a string or a number.
fn text(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}
