//! Requests made wrong in some way.

use crate::seeds::Seed;
use std::fmt::{self, Write};

/// Reproducible random numbers (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// A request as it is sent.
pub(crate) struct Message {
    pub(crate) method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// Whether head and body say the same of their lengths, so that the connection can be used again.
    pub(crate) framed: bool,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        f.write_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(1500)]))
    }
}

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "NONSENSE"];

const MODELS: [&str; 8] = ["houses", "ridge", "houses@live", "ridge@live", "scrap", "no.such-model", "@", "houses@7"];
const VERSIONS: [&str; 7] = ["1", "1", "2", "0", "-1", "4294967296", "one"];
const IDS: [&str; 6] = ["houses", "houses", "scrap", "ds-0", "job-01a1e3f4f832755fa763ded8379a1bda", "%00"];

/// Pieces that parsers like least.
const TOKENS: [&str; 32] = [
    "null",
    "NaN",
    "-Infinity",
    "1e999",
    "-0",
    "9007199254740993",
    "18446744073709551616",
    "1e-400",
    "[]",
    "{}",
    "[[[[[[[[",
    "}}",
    "\"",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{202e}",
    "\0",
    ",",
    ",,,,",
    "\r\n",
    "\r",
    "\n\n",
    "true",
    "'",
    "%s%n",
    "../../../etc/passwd",
    "houses",
    "rows",
    "data",
    "binary_data_size",
    "-1",
];

const PATHS: [&str; 10] = ["//", "/..", "/.", "%2e%2e", "%", "%zz", "%ff", "%00", ";a=b", "/\u{7f}"];

/// Headers that decide how a body is read, or who may send it.
const HEADERS: [(&str, &str); 32] = [
    ("content-type", "application/json; charset=utf-16"),
    ("content-type", "text/csv; header=absent"),
    ("content-type", "application/vnd.apache.arrow.stream"),
    ("content-type", "application/x-www-form-urlencoded"),
    ("content-type", "multipart/form-data; boundary=x"),
    ("content-type", ";;;"),
    ("content-encoding", "gzip"),
    ("content-encoding", "zstd"),
    ("content-encoding", "deflate"),
    ("content-encoding", "br, gzip"),
    ("accept", "text/csv;q=0.5, application/json;q=0.1"),
    ("accept", "application/vnd.apache.arrow.stream"),
    ("accept", "*/*;q=-1"),
    ("accept-encoding", "gzip, deflate"),
    ("expect", "100-continue"),
    ("expect", "nonsense"),
    ("connection", "close"),
    ("connection", "upgrade"),
    ("upgrade", "h2c"),
    ("host", "evil.example"),
    ("origin", "http://evil.example"),
    ("origin", "null"),
    ("inference-header-content-length", "7"),
    ("inference-header-content-length", "-1"),
    ("inference-header-content-length", "99999999999999999999"),
    ("x-timeout-ms", "1"),
    ("x-timeout-ms", "1e3"),
    ("prefer", "wait=0, respond-async"),
    ("idempotency-key", "the same"),
    ("traceparent", "00-zz-zz-01"),
    ("range", "bytes=0-1"),
    ("if-none-match", "*"),
];

impl Message {
    /// A request of a seed, with up to three mutations.
    pub(crate) fn draw(seed: &Seed, draw: &mut Draw) -> Self {
        let mut path = fill_in(&seed.path, draw);
        let mut query: Vec<(String, String)> = seed.query.iter().filter(|_| draw.one_in(2)).cloned().collect();
        let mut headers: Vec<(String, Vec<u8>)> = vec![("host".into(), b"localhost".to_vec())];
        let given = seed.headers.iter().filter(|(_, value)| !value.is_empty() && draw.one_in(3));
        headers.extend(given.map(|(name, value)| (name.clone(), value.clone().into_bytes())));
        headers
            .extend(seed.media_type.iter().map(|media_type| ("content-type".into(), media_type.clone().into_bytes())));
        let (mut method, mut body, mut framed) = (seed.method.clone(), seed.body.clone(), true);
        for _ in 0..draw.below(4) {
            match draw.below(12) {
                0 => draw.of(&METHODS).clone_into(&mut method),
                1 => mutate_path(&mut path, draw),
                2 => mutate_query(&mut query, draw),
                3 | 4 => {
                    let (name, value) = HEADERS[draw.below(HEADERS.len())];
                    headers.retain(|(known, _)| known != name || name == "host");
                    headers.push((name.into(), value.into()));
                }
                5 => framed &= mutate_header(&mut headers, draw),
                _ => mutate_bytes(&mut body, draw),
            }
        }
        let mut target = path;
        for (index, (name, value)) in query.iter().enumerate() {
            let _ = write!(target, "{}{name}={value}", if index == 0 { '?' } else { '&' });
        }
        framed &= frame(&method, &mut headers, &mut body, draw);
        Self { method, target: target.replace(' ', "%20"), headers, body, framed }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(name.as_bytes());
            bytes.extend(b": ");
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"\r\n");
        bytes.extend(&self.body);
        bytes
    }
}

fn fill_in(template: &str, draw: &mut Draw) -> String {
    let path = template.replace("{model}", draw.of(&MODELS)).replace("{version}", draw.of(&VERSIONS));
    path.replace("{alias}", draw.of(&["live", "next", "7", "a b"])).replace("{id}", draw.of(&IDS))
}

fn mutate_path(path: &mut String, draw: &mut Draw) {
    match draw.below(4) {
        0 => path.push_str(draw.of(&PATHS)),
        1 => path.push_str(&"a".repeat(draw.below(9000))),
        2 => {
            let at = draw.below(path.len());
            path.insert_str(at.max(1), draw.of(&PATHS));
        }
        _ => {
            path.pop();
        }
    }
    if path.is_empty() {
        path.push('/');
    }
}

fn mutate_query(query: &mut Vec<(String, String)>, draw: &mut Draw) {
    let token = draw.of(&TOKENS).replace(['\r', '\n', '\0'], "%00");
    if query.is_empty() || draw.one_in(4) {
        query.push((draw.of(&["delta", "limit", "x", ""]).to_owned(), token));
    } else if draw.one_in(4) {
        query.extend_from_within(..1);
    } else {
        let at = draw.below(query.len());
        query[at].1 = token;
    }
}

/// Makes one header unlike any; whether the request can still be told from the next.
fn mutate_header(headers: &mut Vec<(String, Vec<u8>)>, draw: &mut Draw) -> bool {
    let at = draw.below(headers.len());
    match draw.below(if headers.is_empty() { 2 } else { 6 }) {
        0 => headers.extend((0..draw.below(200)).map(|number| (format!("x-{number}"), b"1".to_vec()))),
        1 => headers.push(("x-long".into(), vec![b'a'; draw.below(40_000)])),
        2 => headers.extend_from_within(at..=at),
        3 => {
            headers.remove(at);
        }
        4 => headers.push(("x-\u{1}".into(), b"\xff".to_vec())),
        _ => mutate_bytes(&mut headers[at].1, draw),
    }
    // Some of these are not HTTP any more; the connection is closed after them.
    false
}

fn mutate_bytes(bytes: &mut Vec<u8>, draw: &mut Draw) {
    let at = draw.below(bytes.len() + 1);
    match draw.below(7) {
        0 => bytes.truncate(at),
        1 => {
            bytes.splice(at..at, draw.of(&TOKENS).bytes());
        }
        2 if !bytes.is_empty() => {
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << draw.below(8);
        }
        3 => {
            let end = (at + draw.below(64)).min(bytes.len());
            let piece = bytes[at..end].repeat(1 + draw.below(20));
            bytes.splice(at..at, piece);
        }
        4 => {
            let end = (at + draw.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => {
            let noise: Vec<u8> = (0..draw.below(64)).map(|_| draw.next() as u8).collect();
            bytes.splice(at..at, noise);
        }
        _ => {
            let end = (at + 8).min(bytes.len());
            let number = [0_u64, 1, u64::MAX, 1 << 31, 1 << 63, f64::NAN.to_bits()][draw.below(6)].to_le_bytes();
            bytes.splice(at..end, number);
        }
    }
}

/// Says how long the body is; whether that is true.
fn frame(method: &str, headers: &mut Vec<(String, Vec<u8>)>, body: &mut Vec<u8>, draw: &mut Draw) -> bool {
    if body.is_empty() && matches!(method, "GET" | "HEAD" | "DELETE" | "OPTIONS") {
        return true;
    }
    let length = |length: usize| ("content-length".to_owned(), length.to_string().into_bytes());
    match draw.below(24) {
        0 => headers.push(length(body.len() + 1 + draw.below(1000))),
        1 => headers.push(length(draw.below(body.len() + 1))),
        2 => headers.push(("content-length".into(), draw.of(&["-1", "1e3", "99999999999999999999", "5, 6"]).into())),
        3 => headers.extend([length(body.len()), ("transfer-encoding".into(), b"chunked".to_vec())]),
        4 => headers.push(("transfer-encoding".into(), draw.of(&["chunked", "gzip, chunked", "nonsense"]).into())),
        5 => {
            headers.push(("transfer-encoding".into(), b"chunked".to_vec()));
            let mut chunks = Vec::new();
            for chunk in body.chunks(1 + draw.below(body.len().max(1))) {
                chunks.extend(format!("{:x}\r\n", chunk.len()).bytes());
                chunks.extend(chunk);
                chunks.extend(b"\r\n");
            }
            chunks.extend(b"0\r\n\r\n");
            *body = chunks;
            return true;
        }
        _ => {
            headers.push(length(body.len()));
            return true;
        }
    }
    false
}
