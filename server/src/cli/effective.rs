//! Prints the effective configuration in the form of a configuration file.

use std::fmt::{self, Display, Formatter};

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, parser::ValueSource};
use toml::Value;

use crate::cli::config_file::{ConfigFile, options};
use crate::cli::{Arguments, version};

/// The values of all options, and where they come from.
pub(crate) struct Configuration<'c> {
    pub(crate) matches: &'c ArgMatches,
    /// The configuration file, if one was read.
    pub(crate) file: Option<&'c ConfigFile>,
}

impl Display for Configuration<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "# Effective configuration of pinakes-server {}.", version())?;
        writeln!(out, "# `pinakes-server --config FILE` reads a file of this form.")?;
        let command = Arguments::command();
        let mut heading = None;
        for arg in options(&command) {
            if arg.get_help_heading() != heading {
                heading = arg.get_help_heading();
                writeln!(out, "\n# {}", heading.unwrap_or("Server"))?;
            }
            self.write(out, arg)?;
        }
        Ok(())
    }
}

impl Configuration<'_> {
    /// Writes one option with the origin of its value. An option without a value is a comment.
    fn write(&self, out: &mut Formatter<'_>, arg: &Arg) -> fmt::Result {
        let Some(key) = arg.get_long() else { return Ok(()) };
        let id = arg.get_id().as_str();
        match self.value(arg) {
            Some(value) => writeln!(out, "{key} = {value}  # {}", self.origin(arg, id)),
            None => writeln!(out, "# {key} = {}  # not set", placeholder(arg)),
        }
    }

    fn value(&self, arg: &Arg) -> Option<Value> {
        let id = arg.get_id().as_str();
        if let ArgAction::SetTrue = arg.get_action() {
            return Some(Value::Boolean(self.matches.get_flag(id)));
        }
        let texts = self.matches.get_raw(id)?.map(|raw| raw.to_string_lossy().into_owned());
        let mut texts = texts.map(Value::String);
        match arg.get_action() {
            ArgAction::Append => Some(Value::Array(texts.collect())),
            _ => texts.next().map(number_or_text),
        }
    }

    fn origin(&self, arg: &Arg, id: &str) -> String {
        match self.matches.value_source(id) {
            Some(_) if self.file.is_some_and(|file| file.gives(id)) => {
                let path = self.file.map(ConfigFile::path).unwrap_or_else(|| "".as_ref());
                path.display().to_string()
            }
            Some(ValueSource::CommandLine) => "command line".to_owned(),
            Some(ValueSource::EnvVariable) => {
                arg.get_env().unwrap_or_default().to_string_lossy().into_owned()
            }
            _ => "default".to_owned(),
        }
    }
}

/// A decimal number stands without quotes.
fn number_or_text(value: Value) -> Value {
    let number = value.as_str().and_then(|text| {
        let number: i64 = text.parse().ok()?;
        (number.to_string() == text).then_some(number)
    });
    number.map_or(value, Value::Integer)
}

/// The value's name in the help, as a value of the type that the option takes.
fn placeholder(arg: &Arg) -> Value {
    let name = arg.get_value_names().and_then(|names| names.first());
    let name = Value::String(name.map(ToString::to_string).unwrap_or_default());
    match arg.get_action() {
        ArgAction::Append => Value::Array(vec![name]),
        _ => name,
    }
}
