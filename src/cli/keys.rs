//! Make, list and revoke keys.

use super::written;
use crate::keys::{Key, KeyFile, ModelGlob, NewKey, Scope, Scopes};
use clap::{Args, Subcommand, ValueEnum};
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Make a key. It is printed once, to standard output, and cannot be shown again: the file keeps its SHA-256. A running
    /// service knows it within two seconds.
    New(NewArguments),
    /// List the keys of a file.
    List {
        /// The key file.
        #[arg(long, env = "BOCHNER_API_KEYS_FILE")]
        file: PathBuf,
    },
    /// Revoke keys, by id or name. A running service refuses them within two seconds.
    Revoke {
        /// The id or the name of the key.
        key: String,
        /// The key file.
        #[arg(long, env = "BOCHNER_API_KEYS_FILE")]
        file: PathBuf,
    },
    /// Print a key that the service made for itself at its first start (--create-keys).
    Secret {
        /// Which of them.
        #[arg(default_value = "admin")]
        key: FirstKey,
        /// The key file.
        #[arg(long, env = "BOCHNER_API_KEYS_FILE")]
        file: PathBuf,
    },
}

/// A key that a service makes for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FirstKey {
    /// The one that may do everything.
    Admin,
    /// The one that may only look.
    Read,
}

/// What is wanted of a new key.
#[derive(Debug, Args)]
pub struct NewArguments {
    /// The key file; made if it is not there.
    #[arg(long, env = "BOCHNER_API_KEYS_FILE")]
    file: PathBuf,
    /// A name to know the key by. Default: its scopes.
    #[arg(long)]
    name: Option<String>,
    /// What the key allows: some of read, predict, train and admin, separated by commas. Admin includes the others.
    #[arg(long, value_delimiter = ',', required_unless_present = "read_only")]
    scopes: Vec<Scope>,
    /// Also make a key that only reads, for the same models and as long; alone, make only that one.
    #[arg(long)]
    read_only: bool,
    /// The models that the key is for, separated by commas; * stands for any characters. Default: all.
    #[arg(long, value_delimiter = ',')]
    models: Vec<ModelGlob>,
    /// How long the key is valid, such as 12h, 90days or 1year, or until when, such as 2030-01-31T00:00:00Z. Default:
    /// until it is revoked.
    #[arg(long, value_parser = expiry)]
    expires: Option<SystemTime>,
}

/// Runs the command.
pub(super) fn run(command: KeysCommand) -> Result<(), String> {
    match command {
        KeysCommand::New(arguments) => new(arguments),
        KeysCommand::List { file } => {
            let ring = KeyFile::at(&file).read().map_err(|error| error.to_string())?;
            print(&ring.iter().map(line).collect::<String>())
        }
        KeysCommand::Revoke { key, file } => {
            let removed = KeyFile::at(&file).revoke(&key).map_err(|error| error.to_string())?;
            let mut text = String::new();
            for key in removed {
                let _ = writeln!(text, "revoked {} {}", key.id, key.name);
            }
            print(&text)
        }
        KeysCommand::Secret { key, file } => {
            let name = match key {
                FirstKey::Admin => "admin",
                FirstKey::Read => "read",
            };
            print(&format!("{}\n", KeyFile::at(&file).first_key(name).map_err(|error| error.to_string())?))
        }
    }
}

/// Keys go to standard output, one on a line; what they are for goes to standard error.
fn new(arguments: NewArguments) -> Result<(), String> {
    let NewArguments { file, name, scopes, read_only, models, expires: expires_at } = arguments;
    let asked = Some(scopes.into_iter().collect::<Scopes>()).filter(|scopes| !scopes.is_empty());
    let reading = read_only.then(|| Scopes::of(&[Scope::Read]));
    let both = asked.is_some() && reading.is_some();
    let named = |scopes: Scopes, is_second: bool| match &name {
        Some(name) if is_second => format!("{name} (read-only)"),
        Some(name) => name.clone(),
        None => scopes.to_string(),
    };
    let wanted = [(asked, false), (reading, both)].into_iter().filter_map(|(scopes, is_second)| {
        let scopes = scopes?;
        Some(NewKey { name: named(scopes, is_second), scopes, models: models.clone(), expires_at })
    });
    let made = KeyFile::at(&file).add(wanted.collect()).map_err(|error| error.to_string())?;
    for (key, text) in &made {
        eprint!("{}", explanation(key));
        print(&format!("{text}\n"))?;
    }
    eprintln!("Keep it now: it cannot be shown again. Clients send it as 'Authorization: Bearer KEY'.");
    Ok(())
}

fn explanation(key: &Key) -> String {
    let mut text = format!("Key {} ({}) lets its holder\n", key.id, key.name);
    for scope in key.scopes.iter() {
        let _ = writeln!(text, "  {:<8} {}", scope.name(), scope.meaning());
    }
    let models: Vec<String> = key.models.iter().map(ToString::to_string).collect();
    let models = if models.is_empty() { "all models".to_owned() } else { format!("models {}", models.join(", ")) };
    let _ = writeln!(text, "for {models}, {}.", end(key));
    text
}

fn end(key: &Key) -> String {
    match key.expires_at {
        None => "until it is revoked".into(),
        Some(end) => format!("until {}", humantime::format_rfc3339_seconds(end)),
    }
}

/// One key of the list.
fn line(key: &Key) -> String {
    let models: Vec<String> = key.models.iter().map(ToString::to_string).collect();
    let models = if models.is_empty() { "*".to_owned() } else { models.join(",") };
    let expired = if key.has_expired(SystemTime::now()) { " (expired)" } else { "" };
    let made = humantime::format_rfc3339_seconds(key.created_at);
    format!("{}  {}  {}  models {models}  made {made}  {}{expired}\n", key.id, key.name, key.scopes, end(key))
}

fn print(text: &str) -> Result<(), String> {
    let mut target = std::io::stdout();
    written("the keys", target.write_all(text.as_bytes()).and_then(|()| target.flush()))
}

/// A time from now on, or a point in time.
fn expiry(text: &str) -> Result<SystemTime, String> {
    if let Ok(time) = humantime::parse_rfc3339(text) {
        return Ok(time);
    }
    let wrong = "write how long, such as 90days, or until when, such as 2030-01-31T00:00:00Z";
    let length = humantime::parse_duration(text).map_err(|_| wrong.to_owned())?;
    let end = SystemTime::now().checked_add(length);
    // Later times cannot be written as RFC 3339.
    let last = humantime::parse_rfc3339("9999-12-31T23:59:59Z").map_err(|error| error.to_string())?;
    end.filter(|end| *end <= last).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_expiry_is_a_length_or_a_time() {
        let in_a_day = expiry("1day").unwrap();
        assert!(in_a_day > SystemTime::now() + Duration::from_secs(86_000));
        assert!(expiry("2001-01-01T00:00:00Z").unwrap() < SystemTime::now());
        for wrong in ["", "soon", "90", "2030-01-31", "9000000000years", "9999years"] {
            assert!(expiry(wrong).is_err(), "{wrong}");
        }
    }
}
