//! Spans reach a collector over OTLP, which this test plays: `cargo test --features otlp --test otlp`.
#![allow(clippy::unwrap_used)] // a test may panic

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The caller's trace and span.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// Path, content type and body of what the collector received.
type Received = Arc<Mutex<Vec<(String, String, Vec<u8>)>>>;

/// Takes what is sent, as a collector does.
fn start_collector() -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let received = Received::default();
    let kept = Arc::clone(&received);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let kept = Arc::clone(&kept);
            thread::spawn(move || collect(stream.unwrap(), &kept));
        }
    });
    (format!("http://{address}"), received)
}

fn collect(stream: TcpStream, kept: &Received) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let (mut length, mut media_type) = (0, String::new());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap(),
                "content-type" => value.trim().clone_into(&mut media_type),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let path = first.split(' ').nth(1).unwrap().to_owned();
        kept.lock().unwrap().push((path, media_type, body));
        let answer = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        (&stream).write_all(answer.as_bytes()).unwrap();
    }
}

/// The fields of a protobuf message: numbers and the bytes of those that have a length.
fn fields(mut message: &[u8]) -> Vec<(u64, &[u8])> {
    fn number(message: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = message.split_first().unwrap();
            *message = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = number(&mut message);
        let length = match tag & 7 {
            0 => {
                number(&mut message);
                continue;
            }
            1 => 8,
            2 => usize::try_from(number(&mut message)).unwrap(),
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (bytes, rest) = message.split_at(length);
        found.push((tag >> 3, bytes));
        message = rest;
    }
    found
}

fn field(message: &[u8], wanted: u64) -> Vec<&[u8]> {
    fields(message).into_iter().filter(|(number, _)| *number == wanted).map(|(_, bytes)| bytes).collect()
}

#[derive(Debug)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    attributes: String,
}

/// The spans of an `ExportTraceServiceRequest`, by the numbers of trace.proto.
fn spans(body: &[u8]) -> Vec<Span> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let only = |message: &[u8], number: u64| field(message, number).first().copied().unwrap_or_default().to_vec();
    let resources = field(body, 1);
    let scopes = resources.iter().flat_map(|resource| field(resource, 2));
    let all = scopes.flat_map(|scope| field(scope, 2));
    all.map(|span| Span {
        trace: hex(&only(span, 1)),
        id: hex(&only(span, 2)),
        parent: hex(&only(span, 4)),
        name: text(&only(span, 5)),
        attributes: field(span, 9).iter().map(|attribute| text(attribute)).collect::<Vec<_>>().join(" "),
    })
    .collect()
}

fn start(data_dir: &Path, collector: &str) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bochner"))
        .args(["serve", "--listen", "127.0.0.1:0", "--drain-delay", "0", "--log-format", "json", "--data-dir"])
        .arg(data_dir)
        // Spans are sent whatever the log shows.
        .args(["--log", "warn,bochner::cli=info"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let entries = log.by_ref().lines().map_while(Result::ok);
    let mut entries = entries.map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap_or_default());
    let listening = entries.find(|entry| entry["message"] == "listening").unwrap_or_default();
    let address = listening["address"].as_str().map(|address| format!("http://{address}"));
    thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    (child, address.unwrap_or_default())
}

fn post(url: &str, headers: &[(&str, &str)], body: &str) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request = headers.iter().fold(agent.post(url), |request, (name, value)| request.header(*name, *value));
    let mut answer = request.send(body).unwrap();
    let status = answer.status();
    assert!(status.is_success(), "{url}: {status} {}", answer.body_mut().read_to_string().unwrap());
}

#[test]
fn requests_jobs_and_predictions_reach_a_collector_in_the_trace_of_their_caller() {
    let folder = tempfile::tempdir().unwrap();
    let (collector, received) = start_collector();
    let (mut service, url) = start(folder.path(), &collector);
    assert!(!url.is_empty(), "the service ended before it listened");
    let rows: Vec<String> = (0..50).map(|row| format!("{row},{}\n", f64::from(row * row % 17))).collect();
    post(&format!("{url}/api/v1/datasets?name=d"), &[("content-type", "text/csv")], &format!("a,y\n{}", rows.concat()));
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let traced = [("content-type", "application/json"), ("traceparent", &parent), ("prefer", "wait=60")];
    let spec = r#"{"model": "m", "dataset": "d", "spec": {"features": {"count": 16}}}"#;
    post(&format!("{url}/api/v1/jobs"), &traced, spec);
    post(&format!("{url}/api/v1/models/m/predict"), &traced, r#"{"rows": [[3]]}"#);
    let terminated = Command::new("kill").args(["-TERM", &service.id().to_string()]).status().unwrap();
    assert!(terminated.success());
    assert_eq!(service.wait().unwrap().code(), Some(0));
    thread::sleep(Duration::from_millis(100)); // until the last request is kept

    let received = received.lock().unwrap();
    assert!(!received.is_empty(), "nothing was sent");
    for (path, media_type, body) in received.iter() {
        assert_eq!((path.as_str(), media_type.as_str()), ("/v1/traces", "application/x-protobuf"));
        let resource: Vec<_> = field(field(body, 1)[0], 1).concat();
        let resource = String::from_utf8_lossy(&resource).into_owned();
        assert!(resource.contains("service.name") && resource.contains("bochner"), "{resource}");
    }
    let all: Vec<Span> = received.iter().flat_map(|(_, _, body)| spans(body)).collect();
    let find = |name: &str, attribute: &str| {
        let found: Vec<&Span> =
            all.iter().filter(|span| span.name == name && span.attributes.contains(attribute)).collect();
        assert_eq!(found.len(), 1, "{name} {attribute}: {all:#?}");
        found[0]
    };
    let upload = find("request", "/api/v1/datasets");
    assert!(upload.parent.is_empty() && upload.trace.len() == 32 && upload.trace != TRACE, "{upload:?}");
    let submission = find("request", "/api/v1/jobs");
    assert_eq!((submission.trace.as_str(), submission.parent.as_str()), (TRACE, CALLER));
    let job = find("job", "train");
    assert_eq!((job.trace.as_str(), &job.parent), (TRACE, &submission.id), "the request submitted the job");
    let prediction = find("request", "/predict");
    assert_eq!((prediction.trace.as_str(), prediction.parent.as_str()), (TRACE, CALLER));
}
