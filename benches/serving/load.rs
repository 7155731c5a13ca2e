//! A load generator: connections that send one request after the other and time each answer.

use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What came of a load.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    /// Of each answer, in microseconds, sorted.
    latencies: Vec<u32>,
    /// Answers other than 200.
    pub(crate) errors: usize,
}

impl Outcome {
    /// Answers.
    pub(crate) fn requests(&self) -> usize {
        self.latencies.len()
    }

    pub(crate) fn requests_per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds
    }

    /// In milliseconds.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let index = (share * self.latencies.len() as f64) as usize;
        f64::from(self.latencies.get(index.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or(0)) / 1000.0
    }
}

/// A POST request of JSON, ready to be sent again and again.
pub(crate) fn post(path: &str, body: &str) -> Arc<[u8]> {
    request(path, "content-type: application/json", body.as_bytes())
}

/// The same with a header.
pub(crate) fn post_with(path: &str, header: &str, body: &str) -> Arc<[u8]> {
    request(path, &format!("content-type: application/json\r\n{header}"), body.as_bytes())
}

/// Rows as one tensor of doubles in the Open Inference Protocol, as its stock clients send it.
pub(crate) fn infer(path: &str, rows: &[Vec<f64>]) -> Arc<[u8]> {
    let numbers: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    let (shape, parameters) = ([rows.len(), rows[0].len()], json!({"binary_data_size": numbers.len()}));
    let input = json!({"name": "input", "datatype": "FP64", "shape": shape, "parameters": parameters});
    let head = json!({"inputs": [input], "parameters": {"binary_data_output": true}}).to_string();
    let length = format!("inference-header-content-length: {}", head.len());
    request(path, &length, &[head.as_bytes(), &numbers].concat())
}

fn request(path: &str, header: &str, body: &[u8]) -> Arc<[u8]> {
    let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{header}\r\ncontent-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat().into()
}

/// Sends `request` over so many connections for some time. The generator never sleeps: it looks at its connections in
/// turn, so that the server pays for answering and not for waking someone up.
pub(crate) fn load(address: SocketAddr, request: &Arc<[u8]>, connections: usize, time: Duration) -> Outcome {
    let mut connections: Vec<Connection> = (0..connections).map(|_| Connection::open(address)).collect();
    let mut outcome = Outcome::default();
    let start = Instant::now();
    for connection in &mut connections {
        connection.send(request);
    }
    while !connections.is_empty() {
        let over = start.elapsed() >= time;
        connections.retain_mut(|connection| {
            let Some(status) = connection.poll() else { return true };
            let latency = connection.sent.elapsed().as_micros();
            outcome.latencies.push(u32::try_from(latency).unwrap_or(u32::MAX));
            outcome.errors += usize::from(status != 200);
            if !over {
                connection.send(request);
            }
            !over
        });
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    outcome.latencies.sort_unstable();
    outcome
}

/// A connection with a request on its way.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
    sent: Instant,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_nonblocking(true).unwrap();
        Self { stream, buffer: vec![0; 1 << 16], filled: 0, sent: Instant::now() }
    }

    fn send(&mut self, request: &[u8]) {
        self.filled = 0;
        self.sent = Instant::now();
        let mut rest = request;
        while !rest.is_empty() {
            match self.stream.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The status of the answer, once it is whole.
    fn poll(&mut self) -> Option<u16> {
        match self.stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => panic!("the server closed the connection"),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            Err(error) => panic!("{error}"),
        }
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.filled, 0);
        }
        let answer = &self.buffer[..self.filled];
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
        let text = std::str::from_utf8(&answer[..head]).unwrap();
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let whole = head + 4 + length.expect("answers say their length");
        (self.filled >= whole).then(|| text.split(' ').nth(1).unwrap().parse().unwrap())
    }
}
