//! A client that sends whatever it is given and reads whatever comes back.

use crate::mutation::{Draw, Message};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// No answer takes as long; a service that does not answer at all has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    statuses: Vec<u16>,
    wrong: Option<String>,
}

impl Outcome {
    pub(crate) fn statuses(&self) -> &[u16] {
        &self.statuses
    }

    /// An answer that should not have been, or none where one was due.
    pub(crate) fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    fn note(&mut self, status: u16, body: &[u8]) {
        self.statuses.push(status);
        // The last three are deliberate: overloaded, a deadline that the client set, a full disk.
        if status >= 500 && ![503, 504, 507].contains(&status) {
            self.wrong = Some(format!("{status}: {}", String::from_utf8_lossy(&body[..body.len().min(600)])));
        }
    }
}

/// A connection that is opened again when it was closed.
pub(crate) struct Connection<'a> {
    address: &'a str,
    open: Option<BufReader<TcpStream>>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(address: &'a str) -> Self {
        Self { address, open: None }
    }

    /// Sends a request, some as they should be, some pipelined, some cut off, and reads the answers.
    pub(crate) fn send(&mut self, message: &Message, draw: &mut Draw) -> Outcome {
        let bytes = message.bytes();
        let mut outcome = Outcome::default();
        if !message.framed || draw.one_in(50) {
            let cut = if draw.one_in(3) { draw.below(bytes.len()) } else { bytes.len() };
            self.send_and_shut(&bytes[..cut], &mut outcome);
            return outcome;
        }
        let copies = if draw.one_in(20) { 1 + draw.below(8) } else { 1 };
        for attempt in 0..2 {
            let sent = self.send_framed(&bytes.repeat(copies), copies, message.method == "HEAD", &mut outcome);
            let Err(error) = sent else { break };
            let answered = !outcome.statuses.is_empty();
            // A kept connection may have been closed by the service meanwhile; a new one may not. After an answer any may,
            // before the whole request was read.
            if !answered && attempt == 0 {
                continue;
            }
            if !answered || error.kind() == ErrorKind::WouldBlock {
                outcome.wrong = Some(format!("no answer: {error}"));
            }
            break;
        }
        outcome
    }

    fn connect(&self) -> std::io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }

    fn send_framed(&mut self, bytes: &[u8], count: usize, is_head: bool, outcome: &mut Outcome) -> std::io::Result<()> {
        let mut stream = match self.open.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        let written = stream.get_mut().write_all(bytes);
        for _ in 0..count {
            let answer = read_answer(&mut stream, is_head)?;
            outcome.note(answer.status, &answer.body);
            if answer.closes {
                return Ok(());
            }
        }
        written?;
        self.open = Some(stream);
        Ok(())
    }

    /// Sends on a connection of its own, says that nothing more will come, and reads what there is to read.
    fn send_and_shut(&self, bytes: &[u8], outcome: &mut Outcome) {
        let Ok(mut stream) = self.connect() else {
            outcome.wrong = Some("the connection was refused".into());
            return;
        };
        // It may be closed from the other side at any moment.
        let _ = stream.get_mut().write_all(bytes);
        let _ = stream.get_mut().shutdown(Shutdown::Write);
        match read_answer(&mut stream, bytes.starts_with(b"HEAD")) {
            Ok(answer) => outcome.note(answer.status, &answer.body),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                outcome.wrong = Some("the connection was neither answered nor closed".into());
            }
            Err(_) => {}
        }
    }
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    closes: bool,
}

fn read_answer(stream: &mut impl BufRead, is_head: bool) -> std::io::Result<Answer> {
    let malformed = |what: &str| std::io::Error::new(ErrorKind::InvalidData, what.to_owned());
    loop {
        let line = read_line(stream)?;
        let status = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|rest| rest.get(..3)?.parse().ok()).ok_or_else(|| malformed(&line))?;
        let (mut length, mut chunked, mut closes) = (None, false, false);
        loop {
            let line = read_line(stream)?.to_ascii_lowercase();
            let Some((name, value)) = line.split_once(':') else { break };
            match name {
                "content-length" => length = value.trim().parse::<usize>().ok(),
                "transfer-encoding" => chunked = true,
                "connection" => closes = value.contains("close"),
                _ => {}
            }
        }
        if status == 100 {
            continue;
        }
        let mut body = Vec::new();
        let without_body = is_head || status == 204 || status == 304;
        match length {
            _ if without_body => {}
            _ if chunked => read_chunks(stream, &mut body)?,
            Some(length) => {
                body.resize(length, 0);
                stream.read_exact(&mut body)?;
            }
            None => {
                stream.read_to_end(&mut body)?;
                closes = true;
            }
        }
        return Ok(Answer { status, body, closes });
    }
}

fn read_line(stream: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let size = usize::from_str_radix(&read_line(stream)?, 16)
            .map_err(|_| std::io::Error::new(ErrorKind::InvalidData, "the size of a chunk"))?;
        let begin = body.len();
        body.resize(begin + size, 0);
        stream.read_exact(&mut body[begin..])?;
        read_line(stream)?;
        if size == 0 {
            return Ok(());
        }
    }
}
