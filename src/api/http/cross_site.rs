//! Requests that a web page of somebody else makes a browser send.
//!
//! A browser on this machine reaches a service that listens on loopback, whatever page it shows. Such a page can do two
//! things, and each has its own check:
//! - By DNS rebinding its own name resolves to our address, so that the browser takes our responses for its own. The
//!   name is then in `Host`: only known hosts are answered.
//! - It can send what HTML forms can send, without asking (a simple request in the words of CORS), and not see the
//!   response. Browsers name the page in `Origin`, and say `Sec-Fetch-Site: cross-site`; both are out of reach of
//!   scripts. A request with neither does not come from another page of a current browser, so that clients such as curl
//!   need no header. Old browsers send forms without `Origin`: the three content types of forms are refused where a
//!   request changes something. Uploads accept `multipart/form-data` with a header that shows where it comes from.
//!
//! Responses have no CORS header, so that pages of other origins never read one, unless `--cors-origins` lists them.

/// Pages of other origins that may read our responses.
mod cors;

pub(crate) use cors::preflight;

use super::error::ApiError;
use super::error_code::ErrorCode;
use crate::config::Config;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use cors::CorsOrigins;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The content types that HTML forms can send.
const FORM_TYPES: [&str; 3] = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];

/// The hosts that this service answers for.
pub(crate) struct AllowedHosts {
    /// In addition to loopback, as configured.
    names: Vec<String>,
    listen: IpAddr,
    /// Pages of other origins that may send requests and read responses.
    pub(crate) cors: CorsOrigins,
}

impl AllowedHosts {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            names: config.allowed_hosts.clone(),
            listen: config.listen.ip().to_canonical(),
            cors: CorsOrigins::new(&config.access.cors_origins),
        }
    }

    /// Checks what every request must satisfy. Nothing is allocated unless it is refused.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), ApiError> {
        let host = only_host(&parts.headers)?;
        self.check_host(host)?;
        if let Some(authority) = parts.uri.authority() {
            self.check_host(authority.as_str().as_bytes())?; // of a request line with a whole URL
        }
        if let Some(origin) = parts.headers.get(header::ORIGIN) {
            return self.check_origin(origin.as_bytes(), host);
        }
        if !parts.method.is_safe() && parts.headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
            return Err(foreign_origin(b"another site"));
        }
        Ok(())
    }

    fn check_host(&self, host: &[u8]) -> Result<(), ApiError> {
        let allowed = without_port(host).is_some_and(|name| self.is_trusted(name) || self.is_own_address(name));
        if allowed {
            return Ok(());
        }
        let detail = format!(
            "the host '{}' is not served here; to serve it, start the service with --allowed-hosts",
            String::from_utf8_lossy(host)
        );
        Err(ApiError::new(ErrorCode::HostNotAllowed, detail))
    }

    fn check_origin(&self, origin: &[u8], host: &[u8]) -> Result<(), ApiError> {
        let authority = origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
        let allowed = authority.is_some_and(|authority| {
            authority.eq_ignore_ascii_case(host) || without_port(authority).is_some_and(|name| self.is_trusted(name))
        });
        if allowed || self.cors.lists(origin) { Ok(()) } else { Err(foreign_origin(origin)) }
    }

    /// Loopback, or configured.
    fn is_trusted(&self, name: &[u8]) -> bool {
        name == b"127.0.0.1"
            || name.eq_ignore_ascii_case(b"localhost")
            || self.names.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
            || address(name).is_some_and(|address| address.is_loopback())
    }

    /// The address that the service listens on. If that is every address, any may be its own, by port forwarding too.
    /// There is no rebinding without a name: a browser that sends an address as `Host` was sent to that address.
    fn is_own_address(&self, name: &[u8]) -> bool {
        address(name).is_some_and(|address| address == self.listen || self.listen.is_unspecified())
    }
}

/// The route that takes files from forms.
const FORM_ROUTE: &str = "/api/v1/datasets";

/// Refuses the content types of HTML forms in a request that may change something. A form with a file may be uploaded if
/// it is not from a page of another site.
pub(crate) fn refuse_form(parts: &Parts) -> Result<(), ApiError> {
    let headers = &parts.headers;
    if parts.method.is_safe() {
        return Ok(());
    }
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return refuse_hidden_page(parts) };
    let media_type = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if media_type.eq_ignore_ascii_case(b"multipart/form-data") && parts.uri.path() == FORM_ROUTE {
        return if is_from_here(headers) {
            Ok(())
        } else {
            let detail = "a form is accepted from a page of this service, from curl, or with a header that no form of \
                          another site can have: `x-api-key` or `x-requested-with`";
            Err(ApiError::new(ErrorCode::UnsupportedMediaType, detail))
        };
    }
    match FORM_TYPES.iter().find(|form| form.as_bytes().eq_ignore_ascii_case(media_type)) {
        Some(form) => Err(ApiError::unsupported_media_type(
            form,
            "the type of the body (text/csv, application/json, application/octet-stream), or none if there is no body",
        )),
        None => Ok(()),
    }
}

/// Refuses a request without a content type from a browser that does not say what page it comes from. Scripts of old
/// browsers can send any bytes in this way; methods other than POST they have to ask for first.
fn refuse_hidden_page(parts: &Parts) -> Result<(), ApiError> {
    let headers = &parts.headers;
    let names_page = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    if parts.method != Method::POST || names_page || !starts(headers, "user-agent", b"Mozilla/") {
        return Ok(());
    }
    let detail =
        "a browser has to say what page a request comes from (`origin`), or what type its body has (`content-type`)";
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, detail))
}

/// Whether a form is not sent by a page of another site. An `Origin` was checked before, and forms have no other header
/// that a page chooses. Scripts can add some, in some browsers `user-agent` too; a browser then asks us before it sends
/// the form to another site, and is allowed to only where the configuration lists the origin of the page.
fn is_from_here(headers: &HeaderMap) -> bool {
    let is_browser = SENT_BY_BROWSERS.iter().any(|name| headers.contains_key(*name));
    headers.contains_key(header::ORIGIN)
        || headers.contains_key("x-requested-with")
        || starts(headers, "sec-fetch-site", b"same-origin")
        || (starts(headers, "user-agent", b"curl/") && !is_browser)
}

/// Headers that browsers send of their own accord and curl does not.
const SENT_BY_BROWSERS: [&str; 3] = ["sec-fetch-site", "accept-language", "referer"];

fn starts(headers: &HeaderMap, name: &str, start: &[u8]) -> bool {
    headers.get(name).is_some_and(|value| value.as_bytes().starts_with(start))
}

/// The `Host` header, which must be there once. [RFC 9112, section 3.2]
fn only_host(headers: &HeaderMap) -> Result<&[u8], ApiError> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Ok(host.as_bytes()),
        (None, _) => Err(ApiError::new(ErrorCode::MalformedHeader, "the header `host` is missing")),
        (Some(_), Some(_)) => Err(ApiError::new(ErrorCode::MalformedHeader, "the header `host` is given twice")),
    }
}

/// The host of `host`, `host:port` or `[address]:port`; an IPv6 address keeps its brackets.
fn without_port(authority: &[u8]) -> Option<&[u8]> {
    let name_length = match authority.first()? {
        b'[' => authority.iter().position(|byte| *byte == b']')? + 1,
        _ => authority.iter().position(|byte| *byte == b':').unwrap_or(authority.len()),
    };
    let (name, port) = authority.split_at(name_length);
    let is_port = port.is_empty() || (port[0] == b':' && port[1..].iter().all(u8::is_ascii_digit));
    is_port.then_some(name)
}

fn address(name: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(name).ok()?;
    match text.strip_prefix('[') {
        Some(rest) => {
            rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical())
        }
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

fn foreign_origin(origin: &[u8]) -> ApiError {
    let detail = format!(
        "requests of pages from {} are refused; to allow their host, start the service with --allowed-hosts; to let such \
         pages read answers too, list their origin in --cors-origins",
        String::from_utf8_lossy(origin)
    );
    ApiError::new(ErrorCode::OriginNotAllowed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn check(listen: &str, host: &str, origin: Option<&str>) -> bool {
        let cors = CorsOrigins::new(&["https://pages.example".into()]);
        let hosts = AllowedHosts { names: vec!["models.example".into()], listen: listen.parse().unwrap(), cors };
        let request = Request::post("/").header("host", host);
        let request = origin.into_iter().fold(request, |request, origin| request.header("origin", origin));
        hosts.check(&request.body(()).unwrap().into_parts().0).is_ok()
    }

    #[test]
    fn loopback_and_configured_hosts_pass_with_any_port() {
        for host in ["localhost", "LocalHost:3", "127.0.0.1:8080", "127.1.2.3", "[::1]", "[::1]:80", "Models.example:1"]
        {
            assert!(check("127.0.0.1", host, None), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "localhost:8080@evil.example",
            "192.0.2.1",
            "[::2]",
            "[::1",
            "::1",
            "xmodels.example",
            "localhost:",
            "localhost:80:80",
        ] {
            assert_eq!(check("127.0.0.1", host, None), host == "localhost:", "{host}");
        }
    }

    #[test]
    fn addresses_pass_if_the_service_listens_on_them() {
        assert!(check("192.0.2.1", "192.0.2.1:8080", None));
        assert!(!check("192.0.2.1", "192.0.2.2:8080", None));
        assert!(check("0.0.0.0", "192.0.2.2:8080", None));
        assert!(check("::", "[2001:db8::1]:8080", None));
        assert!(!check("0.0.0.0", "evil.example", None));
    }

    #[test]
    fn origins_pass_if_they_are_loopback_configured_or_the_host_itself() {
        for origin in [
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "https://models.example",
            "http://192.0.2.2:80",
            "https://pages.example",
        ] {
            assert!(check("0.0.0.0", "192.0.2.2:80", Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://192.0.2.3",
            "file://localhost",
            "http://192.0.2.2:81",
            "http://pages.example",
            "https://pages.example:444",
            "https://pages.example.evil.example",
            "https://pages.example/",
        ] {
            assert!(!check("0.0.0.0", "192.0.2.2:80", Some(origin)), "{origin}");
        }
    }
}
