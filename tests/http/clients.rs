//! What one client may do and have: the forms of its key, its models, its rate, its share.

use crate::harness::{Answer, Service, open_body, waves};
use crate::key_files::{KeyFolder, keyed};
use crate::process::Process;
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const PREDICT: &str = "/api/v1/models/waves/predict";

async fn send(service: &Service, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    service.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

async fn get(service: &Service, path: &str, key: &str) -> Answer {
    send(service, "GET", path, &[("x-api-key", key)], "").await
}

fn row() -> String {
    json!({"rows": [[0.5, "red", true]]}).to_string()
}

/// A service with keys and some models trained on one dataset.
async fn with_models(keys: &KeyFolder, admin: &str, models: &[&str], flags: &[&str]) -> Service {
    let file = keys.path();
    let service = Service::with(&["--api-keys-file", &file].iter().chain(flags).copied().collect::<Vec<_>>());
    let upload = keyed(Request::post("/api/v1/datasets?name=waves"), Some(admin)).header("content-type", "text/csv");
    service.send(upload.body(Body::from(waves(300))).unwrap()).await.ok(201);
    for model in models {
        let job = json!({"model": model, "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
        let submit = keyed(Request::post("/api/v1/jobs"), Some(admin)).header("prefer", "wait=60");
        assert_eq!(service.send(submit.body(Body::from(job)).unwrap()).await.ok(200)["status"], "succeeded");
    }
    service
}

#[tokio::test]
async fn a_key_is_taken_in_every_form_that_clients_send() {
    let keys = KeyFolder::new();
    let admin = keys.admin();
    let service = with_models(&keys, &admin, &["waves"], &[]).await;
    let basic = |text: String| format!("Basic {}", base64(text.as_bytes()));
    for (name, value) in [
        ("authorization", format!("Bearer {admin}")),
        ("Authorization", format!("bearer {admin}")),
        ("x-api-key", admin.clone()),
        ("authorization", basic(format!("anyone:{admin}"))),
    ] {
        send(&service, "POST", PREDICT, &[(name, &value)], &row()).await.ok(200);
        send(&service, "GET", "/api/v1/models", &[(name, &value)], "").await.ok(200);
    }
    for value in [format!("Bearer {}", &admin[1..]), format!("Basic {admin}"), basic(admin.clone()), admin.clone()] {
        let refused = send(&service, "POST", PREDICT, &[("authorization", &value)], &row()).await;
        refused.refused(401, "unknown_key");
    }
    // A path with an escape goes through the route table, which asks for the same.
    send(&service, "POST", "/api/v1/models/wave%73/predict", &[], &row()).await.refused(401, "missing_key");
    send(&service, "POST", "/api/v1/models/wave%73/predict", &[("x-api-key", &admin)], &row()).await.ok(200);
    send(&service, "GET", "/nowhere", &[], "").await.refused(401, "missing_key");
    send(&service, "GET", "/nowhere", &[("x-api-key", &admin)], "").await.refused(404, "route_not_found");
    assert_eq!(get(&service, "/api/v1/info", &admin).await.ok(200)["authentication"], true);
    let v2 = send(&service, "POST", "/v2/models/waves/infer", &[], "{}").await;
    assert_eq!((v2.status.as_u16(), v2.header("content-type")), (401, "application/json"));
    assert!(v2.json()["error"].as_str().unwrap().contains("key"), "{}", v2.text());
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, place| bits << 8 | u32::from(*chunk.get(place).unwrap_or(&0)));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[tokio::test]
async fn forms_need_a_key_that_no_form_can_send() {
    let keys = KeyFolder::new();
    let admin = keys.admin();
    let service = with_models(&keys, &admin, &[], &[]).await;
    let form = ("content-type", "text/plain");
    send(&service, "POST", "/api/v1/jobs/none/cancel", &[form], "").await.refused(415, "unsupported_media_type");
    let bearer = format!("Bearer {admin}");
    let answer = send(&service, "POST", "/api/v1/jobs/none/cancel", &[form, ("authorization", &bearer)], "").await;
    answer.refused(404, "job_not_found");
    let basic = format!("Basic {}", base64(format!("x:{admin}").as_bytes()));
    let answer = send(&service, "POST", "/api/v1/jobs/none/cancel", &[form, ("authorization", &basic)], "").await;
    answer.refused(415, "unsupported_media_type"); // a browser adds those by itself
    let foreign = [("authorization", bearer.as_str()), ("origin", "http://evil.example")];
    send(&service, "POST", "/api/v1/jobs/none/cancel", &foreign, "").await.refused(403, "origin_not_allowed");
}

#[tokio::test]
async fn a_key_for_some_models_sees_no_others() {
    let keys = KeyFolder::new();
    let admin = keys.admin();
    let service = with_models(&keys, &admin, &["waves", "waves-2", "secret"], &[]).await;
    let some = keys_in_force(&keys, &service, "admin", &["waves*"]).await;
    let names = |list: &Value, member: &str| {
        let list = if member.is_empty() { list } else { &list[member] };
        let name = |entry: &Value| entry["name"].as_str().or(entry["model"].as_str()).unwrap().to_owned();
        let mut names: Vec<String> = list.as_array().unwrap().iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&get(&service, "/api/v1/models", &some).await.ok(200), "models"), ["waves", "waves-2"]);
    assert_eq!(names(&get(&service, "/api/v1/jobs", &some).await.ok(200), "jobs"), ["waves", "waves-2"]);
    let page = get(&service, "/api/v1/jobs?limit=1", &some).await.ok(200);
    assert_eq!(names(&page, "jobs"), ["waves-2"], "the newest is passed over");
    let next = format!("/api/v1/jobs?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    assert_eq!(names(&get(&service, &next, &some).await.ok(200), "jobs"), ["waves"]);
    get(&service, "/api/v1/jobs?model=secret", &some).await.refused(403, "model_not_allowed");
    get(&service, "/api/v1/jobs?model=nobody", &some).await.refused(403, "model_not_allowed");
    let index = send(&service, "POST", "/v2/repository/index", &[("x-api-key", &some)], "{}").await.ok(200);
    assert_eq!(names(&index, ""), ["waves", "waves-2"]);
    let stats = get(&service, "/v2/models/stats", &some).await;
    assert!(!stats.text().contains("secret"), "{}", stats.text());
    get(&service, "/metrics", &some).await.refused(403, "model_not_allowed");
    assert_eq!(get(&service, "/metrics", &admin).await.status, 200);
    for path in
        ["/api/v1/models/secret/predict", "/api/v1/models/nobody@live/predict", "/api/v1/models/%73ecret/predict"]
    {
        let refused = send(&service, "POST", path, &[("x-api-key", &some)], &row()).await;
        refused.refused(403, "model_not_allowed");
    }
    for path in ["/api/v1/models/secret", "/api/v1/models/secret@x/guarantees", "/api/v1/models/%ff/guarantees"] {
        get(&service, path, &some).await.refused(403, "model_not_allowed");
    }
    for job in [json!({"model": "secret", "dataset": "waves"}), json!({"type": "certify", "model": "secret@live"})] {
        let refused = send(&service, "POST", "/api/v1/jobs", &[("x-api-key", &some)], &job.to_string()).await;
        refused.refused(403, "model_not_allowed");
    }
    let jobs = get(&service, "/api/v1/jobs?model=secret", &admin).await.ok(200);
    let job = format!("/api/v1/jobs/{}", jobs["jobs"][0]["id"].as_str().unwrap());
    get(&service, &job, &some).await.refused(404, "job_not_found");
    get(&service, &format!("{job}/events"), &some).await.refused(404, "job_not_found");
    send(&service, "DELETE", &job, &[("x-api-key", &some)], "").await.refused(404, "job_not_found");
    get(&service, &job, &admin).await.ok(200);
    // Several models, so that there is no default: a key for some of them is not told so.
    let answer = send(&service, "POST", "/invocations", &[("x-api-key", &some)], "{}").await;
    assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (403, &json!("model_not_allowed")));
    let ping = service.get("/ping").await;
    assert_eq!((ping.status.as_u16(), &ping.json()["code"]), (404, &json!("model_not_found")));
    assert!(!ping.text().contains("several"), "{}", ping.text());
}

/// A new key, when the service knows it.
async fn keys_in_force(keys: &KeyFolder, service: &Service, scopes: &str, models: &[&str]) -> String {
    let key = keys.make(scopes, models);
    let start = Instant::now();
    while get(service, "/version", &key).await.status != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "the key file is not read again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    key
}

#[tokio::test]
async fn metrics_are_open_by_choice() {
    let keys = KeyFolder::new();
    let admin = keys.admin();
    let service = with_models(&keys, &admin, &[], &["--open-metrics"]).await;
    assert_eq!(service.get("/metrics").await.status, 200);
    service.get("/api/v1/models").await.refused(401, "missing_key");
}

#[tokio::test]
async fn a_client_has_its_rate_and_is_told_of_it() {
    let keys = KeyFolder::new();
    let (admin, other) = (keys.admin(), keys.make("read", &[]));
    let service = with_models(&keys, &admin, &["waves"], &["--max-requests-per-second", "20"]).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let mut refused = None;
    for _ in 0..60 {
        let answer = send(&service, "POST", PREDICT, &[("x-api-key", &admin)], &row()).await;
        assert_eq!(answer.header("ratelimit-policy"), "\"client\";q=20;w=1");
        assert!(answer.header("ratelimit").starts_with("\"client\";r="), "{}", answer.header("ratelimit"));
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
        answer.ok(200);
    }
    let refused = refused.expect("60 requests in less than two seconds");
    refused.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    let route = get(&service, "/api/v1/models", &admin).await;
    if route.status == 429 {
        assert_eq!(route.header("ratelimit").split(';').nth(1), Some("r=0"));
    }
    assert_eq!(get(&service, "/api/v1/models", &other).await.ok(200)["models"].as_array().unwrap().len(), 1);
    let missing = get(&service, "/api/v1/models/none", &other).await;
    missing.refused(404, "model_not_found");
    assert!(missing.headers.contains_key("ratelimit"), "refusals have it too");
    service.get("/livez").await.ok(200);
    assert_eq!(get(&service, "/api/v1/info", &other).await.ok(200)["limits"]["requests_per_second"], 20);
}

#[tokio::test]
async fn a_client_has_its_share_of_uploads_and_of_the_queue() {
    let keys = KeyFolder::new();
    let (admin, other) = (keys.admin(), keys.make("train", &[]));
    let flags = ["--max-concurrent-uploads", "4", "--max-queued-jobs-per-client", "1"];
    let service = with_models(&keys, &admin, &[], &flags).await;
    let begin = |key: &str| {
        let (sender, body) = open_body();
        let request = keyed(Request::post("/api/v1/datasets"), Some(key)).header("content-type", "text/csv");
        (sender, request.body(body).unwrap())
    };
    let service = &service;
    let mut open = Vec::new();
    for _ in 0..3 {
        let (sender, request) = begin(&admin);
        let running = async { tokio::time::timeout(Duration::from_millis(100), service.send(request)).await };
        assert!(running.await.is_err(), "it waits for the rest");
        open.push(sender);
    }
    let (_sender, request) = begin(&admin);
    service.send(request).await.refused(429, "client_limit");
    let upload = keyed(Request::post("/api/v1/datasets?name=b"), Some(&other)).header("content-type", "text/csv");
    service.send(upload.body(Body::from(waves(30))).unwrap()).await.ok(201);
    drop(open);

    let job = json!({"model": "slow", "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
    let submit = async |key: &str| send(service, "POST", "/api/v1/jobs", &[("x-api-key", key)], &job).await;
    let start = Instant::now();
    let refused = loop {
        let answer = submit(&admin).await;
        if answer.status == 429 {
            break answer;
        }
        assert_eq!(answer.status, 202);
        assert!(start.elapsed() < Duration::from_secs(60), "the worker is always faster");
    };
    refused.refused(429, "client_limit");
    assert_eq!(refused.header("retry-after"), "10");
    assert_eq!(submit(&other).await.status, 202);
}

#[tokio::test]
async fn tables_have_a_limit_of_cells_and_streams_one_of_expansion() {
    let service = Service::with(&["--max-cells", "1199"]);
    let refused = service.upload("name=a", waves(300)).await.refused(422, "invalid_table");
    assert!(refused["detail"].as_str().unwrap().contains("1200 cells"), "{refused}");
    service.upload("name=a", waves(299)).await.ok(201);
    let bomb = zstd::encode_all(vec![b'1'; 64 << 20].as_slice(), 3).unwrap();
    let request = Request::post("/api/v1/datasets").header("content-type", "text/csv");
    let request = request.header("content-encoding", "zstd").body(Body::from(bomb.clone())).unwrap();
    let refused = service.send(request).await.refused(400, "unreadable_body");
    assert!(refused["detail"].as_str().unwrap().contains("256 times"), "{refused}");
}

#[test]
fn the_command_line_makes_lists_and_revokes_keys_of_a_running_service() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secrets/keys.json");
    let keys = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        let done = command.arg("keys").args(arguments).env("BOCHNER_API_KEYS_FILE", &file).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.success(), text(done.stdout), text(done.stderr))
    };
    let (fine, made, told) = keys(&["new", "--scopes", "admin", "--read-only", "--models", "w*", "--expires", "1h"]);
    assert!(fine, "{told}");
    let made: Vec<&str> = made.lines().collect();
    assert_eq!(made.len(), 2);
    for words in ["everything", "look at datasets", "for models w*, until ", "cannot be shown again"] {
        assert!(told.contains(words), "{told}");
    }
    assert!(!keys(&["new"]).0 && !keys(&["new", "--scopes", "write"]).0 && !keys(&["revoke", "nobody"]).0);

    let flags = ["--api-keys-file", file.to_str().unwrap()];
    let process = Process::start_with(&folder.path().join("data"), &flags);
    let status = |key: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let url = format!("http://{}/api/v1/models", process.address);
        agent.get(url).header("authorization", format!("Bearer {key}")).call().unwrap().status().as_u16()
    };
    assert_eq!((status(made[0]), status(made[1]), status("x")), (200, 200, 401));
    let listed = keys(&["list"]).1;
    assert!(listed.contains("read  models w*") && !listed.contains(&made[0][17..]), "{listed}");
    assert!(keys(&["revoke", "admin"]).0);
    let start = Instant::now();
    while status(made[0]) != 401 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(status(made[1]), 200);
    process.kill();
}

#[test]
fn it_listens_beyond_loopback_only_with_keys_or_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let serve = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bochner"));
        command.args(["serve", "--listen", "0.0.0.0:0", "--data-dir"]).arg(&data).args(flags).output().unwrap()
    };
    let refusal = |flags: &[&str]| {
        let done = serve(flags);
        assert_eq!(done.status.code(), Some(1));
        String::from_utf8(done.stderr).unwrap()
    };
    let told = refusal(&[]);
    assert!(told.contains("bochner keys new") && told.contains("--insecure-no-keys"), "{told}");
    let file = folder.path().join("secrets/keys.json");
    let with_file = ["--api-keys-file", file.to_str().unwrap()];
    assert!(refusal(&with_file).contains("there is no key file"));
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    std::fs::write(&file, "{").unwrap();
    assert!(refusal(&with_file).contains("is not valid"));
    assert!(!data.join("bochner.sqlite").exists(), "nothing was made");
    std::fs::remove_file(&file).unwrap();
    let first = Process::start_with(&data, &["--listen", "0.0.0.0:0", with_file[0], with_file[1], "--create-keys"]);
    assert!(first.address.starts_with("0.0.0.0"));
    first.kill();
    let secret = std::fs::read_to_string(folder.path().join("secrets/admin.key")).unwrap();
    assert_eq!(secret.trim_end().len(), 60);
    let again = Process::start_with(&data, &["--listen", "0.0.0.0:0", with_file[0], with_file[1], "--create-keys"]);
    again.kill();
    assert_eq!(std::fs::read_to_string(folder.path().join("secrets/admin.key")).unwrap(), secret, "made once");
    Process::start_with(&data, &["--listen", "0.0.0.0:0", "--insecure-no-keys"]).kill();
}
