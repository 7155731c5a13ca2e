//! Who may do what, and how much of it.

use super::{at_least_one, host_name};
use clap::Args;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Keys, TLS, and the limits of one client.
#[derive(Debug, Clone, Args)]
pub struct AccessConfig {
    /// File with the keys of clients, made by `bochner keys new`. With it, every request but health checks needs a key.
    /// It is read again when it changes; if it is broken then, the keys that were read before stay in force.
    #[arg(long, env = "BOCHNER_API_KEYS_FILE")]
    pub api_keys_file: Option<PathBuf>,

    /// If there is no key file yet, make one with an admin key and a read-only key, whose texts are written beside it. For
    /// the first start of a container.
    #[arg(long, env = "BOCHNER_CREATE_KEYS", requires = "api_keys_file")]
    pub create_keys: bool,

    /// Listen beyond loopback without keys. Anyone who reaches the port can do anything: only for networks in which
    /// everybody may.
    #[arg(long, env = "BOCHNER_INSECURE_NO_KEYS")]
    pub insecure_no_keys: bool,

    /// Answer /metrics without a key. They name all models. Without this they need a key with the scope read that is for
    /// all models.
    #[arg(long, env = "BOCHNER_OPEN_METRICS")]
    pub open_metrics: bool,

    /// Origins whose web pages may send requests and read the answers, separated by commas, as browsers write them:
    /// https://app.example, or http://localhost:3000. Each is listed in full, there is no *. Such pages send a key in a
    /// header; cookies never count. Without it no page of another origin reads an answer.
    #[arg(long, env = "BOCHNER_CORS_ORIGINS", value_delimiter = ',', value_parser = web_origin)]
    pub cors_origins: Vec<String>,

    /// Certificate chain for TLS, a PEM file; read again when it changes. Without it the service speaks plain HTTP, for use
    /// on loopback or behind a proxy.
    #[arg(long, env = "BOCHNER_TLS_CERTIFICATE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,

    /// Private key of the certificate, a PEM file; read again when it changes.
    #[arg(long, env = "BOCHNER_TLS_KEY", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,

    /// Requests of one client in a second, on average and at once; more are refused with 429. A client is a key, or an
    /// address where there are no keys. Default: no limit. Protects other clients.
    #[arg(long, env = "BOCHNER_MAX_REQUESTS_PER_SECOND")]
    pub max_requests_per_second: Option<NonZeroU32>,

    /// Jobs of one client that may wait in the queue; more are refused with 429. Default: three quarters of
    /// --max-queued-jobs. Protects other clients.
    #[arg(long, env = "BOCHNER_MAX_QUEUED_JOBS_PER_CLIENT", value_parser = at_least_one)]
    pub max_queued_jobs_per_client: Option<usize>,
}

/// What one client may have of a number of places, so that it cannot take all: three quarters, rounded up.
pub(crate) fn share_of_one(places: usize) -> usize {
    places - places / 4
}

/// The origin of web pages, as browsers write it in `Origin`: in lower case, without a default port, path or `/`.
fn web_origin(text: &str) -> Result<String, String> {
    let origin = text.trim().to_ascii_lowercase();
    let refusal =
        || "write an origin in full, such as https://app.example or http://localhost:3000; * is not one".into();
    let (scheme, authority) = origin.split_once("://").ok_or_else(refusal)?;
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return Err(refusal()),
    };
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    let host_length = if authority.starts_with('[') {
        authority.find(']').ok_or_else(refusal)? + 1
    } else {
        authority.find(':').unwrap_or(authority.len())
    };
    let (host, port) = authority.split_at(host_length);
    let is_port =
        |port: &str| port.parse::<u16>().is_ok_and(|number| number > 0) && port.bytes().all(|b| b.is_ascii_digit());
    let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    if port_fits && host_name(host).is_ok() { Ok(format!("{scheme}://{authority}")) } else { Err(refusal()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_has_three_quarters() {
        assert_eq!([0, 1, 2, 3, 4, 8, 64, 100].map(share_of_one), [0, 1, 2, 3, 3, 6, 48, 75]);
    }

    #[test]
    fn origins_are_whole_and_written_as_browsers_do() {
        for (text, origin) in [
            ("https://app.example", "https://app.example"),
            (" HTTPS://App.Example:443", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:80", "http://[::1]"),
            ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ] {
            assert_eq!(web_origin(text), Ok(origin.to_owned()), "{text}");
        }
        for wrong in [
            "",
            "*",
            "null",
            "app.example",
            "//app.example",
            "https://",
            "https://*",
            "https://*.example",
            "https://app.example/",
            "https://app.example/path",
            "https://user@app.example",
            "https://app.example:",
            "https://app.example:0",
            "https://app.example:+1",
            "https://app.example:99999",
            "https://app.example:1:2",
            "ftp://app.example",
            "https://[::1",
            "https://::1",
        ] {
            assert!(web_origin(wrong).is_err(), "{wrong}");
        }
    }
}
