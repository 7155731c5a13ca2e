//! What the tour asks of the service, by HTTP as any client does.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) struct DemoClient {
    pub(super) address: SocketAddr,
}

impl DemoClient {
    pub(super) fn get(&self, path: &str) -> Result<Value, String> {
        self.ask("GET", path, "application/json", "")
    }

    pub(super) fn post(&self, path: &str, media_type: &str, body: &str) -> Result<Value, String> {
        self.ask("POST", path, media_type, body)
    }

    fn ask(&self, method: &str, path: &str, media_type: &str, body: &str) -> Result<Value, String> {
        let answer = self.send(method, path, media_type, body).map_err(|error| format!("{method} {path}: {error}"))?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| format!("{method} {path}: no answer"))?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        let value: Value = serde_json::from_str(body).map_err(|error| format!("{method} {path}: {error}"))?;
        if status.starts_with('2') {
            return Ok(value);
        }
        Err(format!("{method} {path}: {status} {}", value["detail"].as_str().unwrap_or_default()))
    }

    fn send(&self, method: &str, path: &str, media_type: &str, body: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: {media_type}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}
