//! Connections: what is under way when the service stops, several requests on one, and where a body ends.

use crate::harness::{Service, waves};
use crate::process::Process;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

const ROW: &str = r#"{"rows":[[0.5,"red",true]]}"#;

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.unwrap()
}

/// A request for the model of `Service::with_model`; `framing` says where its body ends.
fn request(framing: &str, body: &str) -> String {
    format!("POST /api/v1/models/waves/predict HTTP/1.1\r\nhost: localhost\r\n{framing}\r\n\r\n{body}")
}

/// All that comes until the connection ends.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut text)).await;
    ended.expect("the connection ends").unwrap();
    text
}

#[tokio::test]
async fn what_is_under_way_is_answered_when_the_service_stops() {
    let service = Service::with_model().await;
    let (stop, stopped) = oneshot::channel();
    let (address, serving) = service.listen_until(async { drop(stopped.await) }).await;
    let (mut busy, mut idle) = (connect(address).await, connect(address).await);
    let whole = request(&format!("content-length: {}", ROW.len()), ROW);
    let (first, second) = whole.split_at(whole.len() - 5);
    busy.write_all(first.as_bytes()).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answered = [0; 15];
    idle.read_exact(&mut answered).await.unwrap();
    assert_eq!(&answered, b"HTTP/1.1 200 OK");

    stop.send(()).unwrap();
    assert!(rest(&mut idle).await.ends_with("{\"live\":true}"), "nothing is waited for on an idle connection");
    assert!(!serving.is_finished());
    assert!(TcpStream::connect(address).await.is_err(), "no new connections");
    busy.write_all(second.as_bytes()).await.unwrap();
    let answer = rest(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"predictions\":["), "{answer}");
    tokio::time::timeout(Duration::from_secs(10), serving).await.expect("the last connection ended").unwrap();
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_a_row() {
    let service = Service::with_model().await;
    let mut stream = connect(service.listen().await).await;
    let one = request(&format!("content-length: {}", ROW.len()), ROW);
    let last = one.replacen("host: localhost", "host: localhost\r\nconnection: close", 1);
    stream.write_all(format!("{one}{one}{last}").as_bytes()).await.unwrap();
    let answers = rest(&mut stream).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
    assert_eq!(answers.matches("\"predictions\":[").count(), 3, "{answers}");
}

/// A chunked body ends with its last chunk, whatever length is announced beside it.
#[tokio::test]
async fn an_announced_length_does_not_cut_a_chunked_body() {
    let service = Service::with_model().await;
    let address = service.listen().await;
    let (length, chunked) = (format!("content-length: {}", ROW.len()), "transfer-encoding: chunked".to_owned());
    for framing in [format!("{length}\r\n{chunked}"), format!("{chunked}\r\n{length}")] {
        let mut stream = connect(address).await;
        let first = request(&format!("connection: close\r\n{framing}"), &format!("{:x}\r\n{ROW}\r\n", ROW.len()));
        stream.write_all(first.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await; // so that it comes as a piece of its own
        stream.write_all(b"5\r\n junk\r\n0\r\n\r\n").await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("malformed_json"), "{framing}: {answer}");
    }
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

#[tokio::test]
async fn a_connection_that_does_nothing_is_closed() {
    let service = Service::with(&["--connection-idle-seconds", "1"]);
    let address = service.listen().await;
    let (mut idle, mut slow, mut busy) = (connect(address).await, connect(address).await, connect(address).await);
    let dribble = tokio::spawn(async move {
        let mut sent = 0;
        while slow.write_all(b"G").await.is_ok() && sent < 100 {
            sent += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        sent
    });
    for _ in 0..12 {
        busy.write_all(get("/livez").as_bytes()).await.unwrap();
        let mut answer = [0; 4096];
        let count = busy.read(&mut answer).await.unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200 OK"));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert_eq!(rest(&mut idle).await, "", "closed without a word");
    let sent = dribble.await.unwrap();
    assert!((5..60).contains(&sent), "{sent} bytes of a head");
}

#[tokio::test]
async fn whoever_takes_nothing_of_an_answer_is_left_and_whoever_takes_it_slowly_is_not() {
    let service = Service::with(&["--connection-idle-seconds", "1"]);
    service.upload("name=waves", waves(300)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 16}, "lambda": 1e-3})).await;
    let address = service.listen().await;
    let table = waves(400_000);
    let framing = format!("content-type: text/csv\r\nconnection: close\r\ncontent-length: {}", table.len());
    let (mut deaf, mut slow) = (connect(address).await, connect(address).await);
    for stream in [&mut deaf, &mut slow] {
        stream.write_all(request(&framing, &table).as_bytes()).await.unwrap();
    }
    let (mut taken, mut buffer) = (0, vec![0; 1 << 20]);
    loop {
        let count = slow.read(&mut buffer).await.unwrap();
        if count == 0 {
            break;
        }
        taken += count;
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    let mut left = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(10), deaf.read_to_end(&mut left)).await;
    let end = end.expect("the connection ends"); // cut off, with or without an error
    assert!(end.is_err() || left.len() < taken, "{} of {taken} bytes", left.len());
}

#[tokio::test]
async fn events_of_a_job_that_waits_keep_their_connection() {
    let service = Service::with(&["--connection-idle-seconds", "1"]);
    service.upload("name=large", waves(200_000)).await.ok(201);
    let submit = async || {
        let job = json!({"model": "m", "dataset": "large", "spec": {"features": {"count": 4096}}});
        service.post("/api/v1/jobs", &job).await.ok(202)["id"].as_str().unwrap().to_owned()
    };
    let (running, waiting) = (submit().await, submit().await);
    let mut events = connect(service.listen().await).await;
    events.write_all(get(&format!("/api/v1/jobs/{waiting}/events")).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    service.call("POST", &format!("/api/v1/jobs/{waiting}/cancel")).await.ok(200);
    let told = rest(&mut events).await;
    assert!(told.contains("\"status\":\"canceled\""), "{told}");
    service.call("POST", &format!("/api/v1/jobs/{running}/cancel")).await.ok(202);
}

/// What comes on a new connection for a GET request, which may be cut off.
async fn ask(address: SocketAddr, path: &str) -> String {
    let mut stream = connect(address).await;
    stream.write_all(get(path).replacen("\r\n", "\r\nconnection: close\r\n", 1).as_bytes()).await.unwrap();
    rest(&mut stream).await
}

#[tokio::test]
async fn beyond_the_cap_only_health_is_answered_until_others_end() {
    for flags in [["--max-connections", "8"], ["--max-connections-per-address", "8"]] {
        let service = Service::with(&flags);
        let address = service.listen().await;
        let mut slow = Vec::new();
        for _ in 0..100 {
            let mut stream = connect(address).await;
            stream.write_all(b"GET /livez HTTP/1.1\r\nhost: lo").await.unwrap();
            slow.push(stream);
        }
        for path in ["/livez", "/readyz", "/v2/health/live", "/v2/health/ready"] {
            let answer = ask(address, path).await;
            assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("nosniff"), "{path}: {answer}");
        }
        let refused = ask(address, "/api/v1/models").await;
        assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\"code\":\"overloaded\""), "{refused}");
        assert!(refused.contains("retry-after: 1") && refused.contains("x-request-id: "), "{refused}");
        drop(slow);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(ask(address, "/api/v1/models").await.starts_with("HTTP/1.1 200 OK"));
    }
}

#[tokio::test]
async fn a_head_must_arrive_in_time_and_an_idle_connection_may_wait() {
    let service = Service::with(&["--head-timeout-seconds", "1"]);
    let address = service.listen().await;
    let (mut idle, mut slow, mut second) = (connect(address).await, connect(address).await, connect(address).await);
    slow.write_all(b"GET /livez HT").await.unwrap();
    second.write_all(get("/livez").as_bytes()).await.unwrap();
    second.read_exact(&mut [0; 15]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    second.write_all(b"GET").await.unwrap(); // the head of another request on the same connection
    assert_eq!(rest(&mut slow).await, "", "closed without an answer");
    assert!(rest(&mut second).await.ends_with("{\"live\":true}"), "and nothing after it");
    tokio::time::sleep(Duration::from_secs(2)).await;
    idle.write_all(get("/livez").as_bytes()).await.unwrap();
    idle.read_exact(&mut [0; 15]).await.unwrap();
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let service = Service::start();
    let mut stream = connect(service.listen().await).await;
    let mut head = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ".to_vec();
    head.resize(64 << 10, b'x');
    stream.write_all(&head).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 431");
}

/// More slow clients than the process may have files open.
#[test]
fn slow_clients_do_not_use_up_the_open_files() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start_with_files(256, folder.path());
    let before = process.status("VmRSS");
    let part = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx: {}", "x".repeat(60_000));
    let slow: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = process.connect();
            let _ = stream.write_all(part.as_bytes()); // some are closed meanwhile
            stream
        })
        .collect();
    let start = std::time::Instant::now();
    let mut health = process.connect();
    health.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    health.write_all(get("/livez").as_bytes()).unwrap();
    health.read_exact(&mut [0; 15]).unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    let more = process.status("VmRSS") - before;
    assert!(more < 40 << 10, "{more} kB for unfinished heads");
    drop(slow);
    process.kill();
}

#[test]
fn many_event_streams_need_few_threads() {
    use std::io::{Read, Write};
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    process.upload("large", &waves(200_000));
    let job = process.submit(&json!({"model": "m", "dataset": "large", "spec": {"features": {"count": 4096}}}));
    let streams: Vec<_> = (0..600)
        .map(|_| {
            let mut stream = process.connect();
            stream.write_all(get(&format!("/api/v1/jobs/{job}/events")).as_bytes()).unwrap();
            stream
        })
        .collect();
    let most = (0..100).map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        process.status("Threads")
    });
    let most = most.max().unwrap();
    for mut stream in streams {
        stream.read_exact(&mut [0; 15]).unwrap();
    }
    process.kill();
    assert!(most < 60, "{most} threads");
}
