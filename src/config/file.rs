//! A file of settings, beside flags and environment variables: TOML, one key for each flag.

use crate::request::suggest;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::path::Path;
use toml::{Table, Value};

/// Arguments for the settings of a file that neither a flag nor an environment variable gives. `command` has the flags
/// and `given` is what was parsed of the command line.
pub(crate) fn arguments(path: &Path, command: &Command, given: &ArgMatches) -> Result<Vec<OsString>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    from_text(&text, command, given).map_err(|detail| format!("{}: {detail}", path.display()))
}

/// The log filter in a file, which can be changed while the service runs.
pub(crate) fn log_filter(path: &Path) -> Result<Option<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let settings: Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(settings.get("log").and_then(Value::as_str).map(str::to_owned))
}

fn from_text(text: &str, command: &Command, given: &ArgMatches) -> Result<Vec<OsString>, String> {
    let settings: Table = text.parse().map_err(|error| format!("not TOML: {error}"))?;
    let is_setting = |name: &&str| !["config", "welcome", "help"].contains(name);
    let known: Vec<&str> = command.get_arguments().map(|flag| flag.get_id().as_str()).filter(is_setting).collect();
    let mut arguments = Vec::new();
    for (name, value) in &settings {
        if !known.contains(&name.as_str()) {
            let nearest = suggest::nearest(name, known.iter().copied());
            return Err(format!("unknown setting '{name}'{nearest}; settings are named as flags are, with _ for -"));
        }
        let is_given = matches!(given.value_source(name), Some(ValueSource::CommandLine | ValueSource::EnvVariable));
        if !is_given {
            arguments.extend(flags(name, value)?);
        }
    }
    Ok(arguments)
}

/// The flags that say what a setting says: one for each item of a list, none for a switch that is off.
fn flags(name: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let flag = name.replace('_', "-");
    let with_value = |value| scalar(name, value).map(|text| format!("--{flag}={text}").into());
    match value {
        Value::Boolean(true) => Ok(vec![format!("--{flag}").into()]),
        Value::Boolean(false) => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(with_value).collect(),
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Datetime(_) | Value::Table(_) => {
            Ok(vec![with_value(value)?])
        }
    }
}

fn scalar(name: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(_) | Value::Float(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {
            Err(format!("'{name}' must be a string, a whole number, true, false, or a list of strings"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use clap::Args;

    fn read(text: &str, flags: &[&str]) -> Result<Vec<String>, String> {
        let command = Config::augment_args(Command::new("serve"));
        let given = command.clone().get_matches_from(["serve"].iter().chain(flags));
        let arguments = from_text(text, &command, &given)?;
        Ok(arguments.into_iter().map(|argument| argument.into_string().unwrap()).collect())
    }

    #[test]
    fn settings_become_flags_unless_they_are_given_already() {
        let text = "listen = '127.0.0.1:9'\nmax_columns = 7\nallow_model_control = true\nallowed_hosts = ['a', 'b']\n";
        let all = [
            "--listen=127.0.0.1:9",
            "--max-columns=7",
            "--allow-model-control",
            "--allowed-hosts=a",
            "--allowed-hosts=b",
        ];
        let mut found = read(text, &[]).unwrap();
        found.sort_unstable_by_key(|argument| all.iter().position(|known| known == argument));
        assert_eq!(found, all);
        let fewer = read(text, &["--max-columns", "3"]).unwrap();
        assert!(!fewer.iter().any(|argument| argument.starts_with("--max-columns")), "{fewer:?}");
        assert_eq!(read("allow_model_control = false", &[]), Ok(vec![]));
    }

    #[test]
    fn an_unknown_setting_is_refused_with_the_nearest() {
        let refusal = read("max_colums = 7", &[]).unwrap_err();
        assert!(refusal.contains("'max_colums'") && refusal.contains("max_columns"), "{refusal}");
        for wrong in ["config = 'other.toml'", "max_columns = 1.5", "max_columns = ", "[server]\nlisten = 'x'"] {
            assert!(read(wrong, &[]).is_err(), "{wrong}");
        }
    }
}
