//! The console: pages, forms, keys in a cookie, and what other sites cannot do with it.

use crate::harness::{Answer, Service, waves};
use crate::key_files::{KeyFolder, keyed};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;
use std::time::Instant;

const OWN: (&str, &str) = ("origin", "http://localhost");

async fn get(service: &Service, path: &str, key: Option<&str>) -> Answer {
    let request = Request::get(path);
    let request = key.into_iter().fold(request, |request, key| request.header("cookie", format!("bochner_key={key}")));
    service.send(request.body(Body::empty()).unwrap()).await
}

async fn post(service: &Service, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    service.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

/// The token in the first form of a page.
fn token(page: &Answer) -> String {
    let page = page.text();
    let start = page.split("name=\"token\" value=\"").nth(1).unwrap_or_else(|| panic!("no form in {page}"));
    start.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn every_page_answers_with_and_without_data() {
    let pages =
        ["/", "/datasets", "/train", "/jobs", "/models", "/docs", "/docs/guarantees", "/docs?q=conformal", "/login"];
    let empty = Service::start();
    for path in pages {
        let page = empty.get(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        let text = page.text();
        assert!(!text.contains("style=\"") && !text.contains("<script>") && !text.contains("onclick"), "{path}");
        assert_eq!(text.matches("<h1").count(), 1, "{path}");
    }
    let service = Service::with_model().await;
    for path in pages.into_iter().chain([
        "/datasets/waves",
        "/train?dataset=waves&model=w",
        "/models/waves",
        "/models/waves/try",
    ]) {
        assert_eq!(service.get(path).await.status, 200, "{path}");
    }
    let model = service.get("/models/waves").await.text();
    let verdict = service.get("/api/v1/models/waves/guarantees").await.ok(200)["summary"]["verdict"].clone();
    let escaped = verdict.as_str().unwrap().replace('\'', "&#39;");
    assert!(model.contains(&escaped), "the verdict comes first: {model}");
    let missing = service.get("/models/nothing").await;
    assert!(missing.status == 404 && missing.text().contains("nothing"), "{}", missing.text());
    assert_eq!(service.get("/docs/nothing").await.status, 404);
    assert_eq!(service.get("/assets/nothing.js").await.status, 404);
    assert_eq!(service.get("/assets/console.js").await.header("content-type"), "text/javascript; charset=utf-8");
}

#[tokio::test]
async fn a_browser_gets_a_page_where_there_is_none_and_a_program_a_problem() {
    let service = Service::start();
    let ask = |method: &'static str, accept: &'static str| {
        let request = Request::builder().method(method).uri("/no%3Cb%3Ewhere").header("accept", accept);
        service.send(request.body(Body::empty()).unwrap())
    };
    let page = ask("GET", "text/html,application/xhtml+xml,*/*;q=0.8").await;
    assert_eq!(page.status, 404, "{}", page.text());
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.text().contains("There is nothing at /no%3Cb%3Ewhere."), "{}", page.text());
    assert!(page.text().contains("<a href=\"/train\""), "the navigation is that of other pages: {}", page.text());
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    for (method, accept) in [("GET", "*/*"), ("GET", "application/json, text/html;q=0"), ("PUT", "text/html")] {
        ask(method, accept).await.refused(404, "route_not_found");
    }
}

#[tokio::test]
async fn forms_train_and_switch_aliases_without_script() {
    let service = Service::start();
    let token = token(&service.get("/").await);
    let sample = post(&service, "/datasets/sample", &[OWN], &format!("token={token}")).await;
    assert_eq!(sample.status, 303, "{}", sample.text());
    let dataset = sample.header("location").strip_prefix("/datasets/").unwrap().to_owned();
    let form = format!("token={token}&dataset={dataset}&model=houses&features=16&explanations=on");
    for version in [1, 2] {
        let started = post(&service, "/train", &[OWN], &form).await;
        assert_eq!(started.status, 303, "{}", started.text());
        let job = format!("/api/v1{}", started.header("location"));
        while service.get(&job).await.ok(200)["finished_at"].is_null() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(service.get(&job).await.ok(200)["version"], version);
        assert!(service.get(started.header("location")).await.text().contains("Open the model"));
        let alias = format!("token={token}&alias=live&version={version}");
        assert_eq!(post(&service, "/models/houses/aliases", &[OWN], &alias).await.status, 303);
        assert_eq!(service.get("/api/v1/models/houses").await.ok(200)["aliases"]["live"], version);
    }
    let tried = service.get("/models/houses/try?c0=100&c1=4&c2=10&c3=hill&c4=true").await.text();
    let row = json!({"rows": [[100.0, 4.0, 10.0, "hill", true]]});
    let predicted =
        service.post("/api/v1/models/houses/predict", &row).await.ok(200)["predictions"][0].as_f64().unwrap();
    let shown = format!("{predicted:.1}");
    let shown = format!("<p class=\"answer\">{}</p>", shown.strip_suffix(".0").unwrap_or(&shown));
    assert!(tried.contains(&shown), "{shown} in {tried}");
    let wrong = post(&service, "/train", &[OWN], &form.replace("features=16", "features=many")).await;
    assert!(
        wrong.status == 422 && wrong.text().contains("role=\"alert\"") && wrong.text().contains("many"),
        "{}",
        wrong.text()
    );
    let bad_cell = service.get("/models/houses/try?c0=wide").await.text();
    assert!(bad_cell.contains("role=\"alert\"") && bad_cell.contains("area"), "{bad_cell}");
}

#[tokio::test]
async fn a_button_compares_a_version_with_the_exact_method() {
    let service = Service::start();
    service.upload("name=waves", waves(300)).await.ok(201);
    let spec = json!({"features": {"count": 256}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    service.train("waves", "waves", &spec).await;
    let before = service.get("/models/waves").await;
    assert!(before.text().contains("Compare with the exact method"), "{}", before.text());
    let form = format!("token={}&version=1", token(&before));
    let started = post(&service, "/models/waves/certify", &[OWN], &form).await;
    assert_eq!(started.status, 303, "{}", started.text());
    let job = format!("/api/v1{}", started.header("location"));
    while service.get(&job).await.ok(200)["finished_at"].is_null() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(service.get(&job).await.ok(200)["status"], "succeeded");
    let after = service.get("/models/waves").await.text();
    assert!(after.contains("Typical distance to the exact method") && !after.contains("Compare with the"), "{after}");
    // Without its rows a version cannot be compared, and no picture asks for a job that would be refused.
    service.train("later", "waves", &spec).await;
    let dataset = service.get("/api/v1/datasets/waves").await.ok(200)["id"].as_str().unwrap().to_owned();
    service.call("DELETE", &format!("/api/v1/datasets/{dataset}")).await.ok(204);
    let page = service.get("/models/later").await.text();
    assert!(!page.contains("Compare with the") && !page.contains("certify computes"), "{page}");
}

#[tokio::test]
async fn a_form_changes_the_role_of_a_column() {
    let service = Service::start();
    let token = token(&service.get("/").await);
    let sample = post(&service, "/datasets/sample", &[OWN], &format!("token={token}")).await;
    let place = sample.header("location").to_owned();
    let page = service.get(&place).await.text();
    assert!(page.contains("Treat rooms as codes") && page.contains("Role of area"), "{page}");
    assert!(
        page.contains("If their order means nothing, treat it as codes.") && !page.contains("categorical="),
        "{page}"
    );
    let change = async |place: &str, column: &str, role: &str| {
        let form = format!("token={token}&column={column}&role={role}");
        let answer = post(&service, &format!("{place}/roles"), &[OWN], &form).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        answer.header("location").to_owned()
    };
    let codes = change(&place, "rooms", "levels").await;
    assert_ne!(codes, place, "the old dataset stays");
    let kind = async |place: &str, column: usize| {
        let found = service.get(&format!("/api/v1{place}")).await.ok(200);
        (found["columns"][column]["kind"].clone(), found["columns"][column]["left_out"].clone())
    };
    assert_eq!(kind(&codes, 1).await.0, "categorical");
    assert_eq!(kind(&place, 1).await.0, "numeric");
    let without = change(&codes, "age", "left_out").await;
    assert_eq!(kind(&without, 2).await.1, "ignored");
    assert_eq!(kind(&without, 1).await.0, "categorical", "earlier changes stay");
    let back = change(&without, "age", "number").await;
    assert_eq!(kind(&back, 2).await, (json!("numeric"), json!(null)));
    let target = change(&back, "age", "target").await;
    assert_eq!(service.get(&format!("/api/v1{target}")).await.ok(200)["targets"], json!(["age"]));
    assert_eq!(change(&place, "garden", "").await, place, "nothing chosen, nothing changed");

    let refused =
        post(&service, &format!("{place}/roles"), &[OWN], &format!("token={token}&column=nothing&role=levels")).await;
    assert!(refused.status == 422 && refused.text().contains("role=\"alert\""), "{}", refused.text());
    assert_eq!(post(&service, &format!("{place}/roles"), &[OWN], "column=rooms&role=levels").await.status, 403);
}

#[tokio::test]
async fn sliders_have_the_curves_of_the_explanations() {
    let service = Service::start();
    service.upload("name=waves", waves(300)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 32}, "explanations": true})).await;
    let page = service.get("/models/waves/try?c0=0.5&c1=red&c2=true").await.text();
    assert_eq!(page.matches("<svg class=\"curve\"").count(), 1, "one column of numbers: {page}");
    let found = service.get("/api/v1/models/waves/explanations").await.ok(200);
    let curve = &found["columns"][0]["partial_dependence"];
    let points = curve["points"].as_array().unwrap();
    assert!(page.contains(&format!("min=\"{}\"", points[0].as_f64().unwrap())), "{page}");
    // The ends of the solid curve are predictions of the API, the ends of the dashed one those of its explanations.
    let rows = json!({"rows": [[points[0], "red", true], [points[20], "red", true]]});
    let predicted = service.post("/api/v1/models/waves/predict", &rows).await.ok(200)["predictions"].clone();
    let words = page.split("this prediction goes from ").nth(1).unwrap().split('<').next().unwrap().replace('−', "-");
    let shown: Vec<f64> = words.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let expected = [&predicted[0], &predicted[1], &curve["outputs"]["y"][0], &curve["outputs"]["y"][20]];
    assert_eq!(shown.len(), expected.len(), "{words}");
    for (shown, expected) in shown.iter().zip(expected.map(|value| value.as_f64().unwrap())) {
        assert!((shown - expected).abs() <= 1e-3 * expected.abs(), "{expected} in {words}");
    }
    service.train("plain", "waves", &json!({"features": {"count": 32}})).await;
    assert!(!service.get("/models/plain/try").await.text().contains("class=\"curve\""));
}

#[tokio::test]
async fn a_file_is_uploaded_by_a_form_and_refusals_are_shown() {
    let service = Service::start();
    let token = token(&service.get("/datasets").await);
    let send = async |token: &str, file: &str| {
        let field = |name: &str, value: &str| {
            format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let head = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"w.csv\"\r\n\r\n";
        let body = format!(
            "{}{}{}{head}{file}\r\n--b--\r\n",
            field("token", token),
            field("name", "form waves"),
            field("target", "y")
        );
        let request =
            Request::post("/datasets").header(OWN.0, OWN.1).header("content-type", "multipart/form-data; boundary=b");
        service.send(request.body(Body::from(body)).unwrap()).await
    };
    let done = send(&token, &waves(300)).await;
    assert_eq!(done.status, 303, "{}", done.text());
    assert!(service.get(done.header("location")).await.text().contains("form waves"));
    let broken = send(&token, "x,y\n1\n").await;
    assert!(broken.status == 422 && broken.text().contains("Line 2"), "{}", broken.text());
    assert_eq!(send("0123", &waves(20)).await.status, 403);
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn forms_of_other_origins_and_without_the_token_are_refused() {
    let service = Service::start();
    let token = token(&service.get("/").await);
    let body = format!("token={token}");
    for foreign in [
        &[][..],
        &[("origin", "http://evil.example")],
        &[("origin", "http://localhost:3000")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://localhost"), ("sec-fetch-site", "cross-site")],
    ] {
        post(&service, "/datasets/sample", foreign, &body).await.refused(403, "origin_not_allowed");
    }
    for wrong in ["", "token=", "token=00"] {
        assert_eq!(post(&service, "/datasets/sample", &[OWN], wrong).await.status, 403, "{wrong}");
    }
    // The API takes no form, wherever it comes from.
    post(&service, "/api/v1/jobs", &[OWN], &body).await.refused(415, "unsupported_media_type");
    assert_eq!(service.get("/api/v1/datasets").await.ok(200)["datasets"], json!([]));
    assert_eq!(post(&service, "/datasets/sample", &[OWN, ("sec-fetch-site", "same-origin")], &body).await.status, 303);
}

#[tokio::test]
async fn the_key_is_in_a_cookie_and_allows_what_it_allows_elsewhere() {
    let keys = KeyFolder::new();
    let (admin, reader, other) = (keys.admin(), keys.make("read", &[]), keys.make("read", &["other-*"]));
    let service = Service::with(&["--api-keys-file", &keys.path()]);
    let upload = keyed(Request::post("/api/v1/datasets?name=waves"), Some(&admin)).header("content-type", "text/csv");
    service.send(upload.body(Body::from(waves(300))).unwrap()).await.ok(201);
    let job = json!({"model": "waves", "dataset": "waves", "spec": {"features": {"count": 8}}}).to_string();
    let submit = keyed(Request::post("/api/v1/jobs"), Some(&admin)).header("prefer", "wait=60");
    service.send(submit.body(Body::from(job)).unwrap()).await.ok(200);

    for path in ["/", "/datasets", "/models/waves", "/docs", "/models/waves/versions/1/artifact"] {
        let away = get(&service, path, None).await;
        assert_eq!((away.status.as_u16(), away.header("location")), (303, "/login"), "{path}");
        assert_eq!(get(&service, path, Some("bochner_00000000_wrong")).await.status, 303, "{path}");
    }
    // The cookie is for the console alone: the API wants a header.
    get(&service, "/api/v1/models", Some(&admin)).await.refused(401, "missing_key");

    let token_of_nobody = token(&get(&service, "/login", None).await);
    let wrong = post(&service, "/login", &[OWN], &format!("token={token_of_nobody}&key=bochner_00000000_x")).await;
    assert!(wrong.status == 401 && wrong.headers.get("set-cookie").is_none(), "{}", wrong.text());
    let entered = post(&service, "/login", &[OWN], &format!("token={token_of_nobody}&key={reader}")).await;
    assert_eq!(entered.status, 303);
    assert_eq!(entered.header("set-cookie"), format!("bochner_key={reader}; Path=/; HttpOnly; SameSite=Strict"));
    let secure = [("origin", "https://localhost")];
    let entered = post(&service, "/login", &secure, &format!("token={token_of_nobody}&key={reader}")).await;
    assert!(entered.header("set-cookie").ends_with("; Secure"));

    let page = get(&service, "/models/waves", Some(&reader)).await;
    let text = page.text();
    assert!(
        page.status == 200
            && text.contains("read-only")
            && !text.contains("Set the alias")
            && !text.contains("/train\"")
    );
    assert!(get(&service, "/models/waves", Some(&admin)).await.text().contains("Set the alias"));
    let forbidden = get(&service, "/models/waves", Some(&other)).await;
    assert!(forbidden.status == 403 && forbidden.text().contains("not for this model"), "{}", forbidden.text());
    assert!(!get(&service, "/models", Some(&other)).await.text().contains("/models/waves"));

    // Even with a token of its own, a read-only key changes nothing.
    let cookie = format!("bochner_key={reader}");
    let form = format!("token={}&alias=live&version=1", token(&page));
    let refused = post(&service, "/models/waves/aliases", &[OWN, ("cookie", &cookie)], &form).await;
    assert!(refused.status == 403 && refused.text().contains("scope"), "{}", refused.text());
    let foreign = format!("bochner_key={admin}");
    assert_eq!(post(&service, "/models/waves/aliases", &[OWN, ("cookie", &foreign)], &form).await.status, 403);
}

#[tokio::test]
async fn values_are_escaped() {
    let service = Service::start();
    let table = waves(300).replacen("colour", "<b>\"x\"&'", 1).replace("red", "<script>alert(1)</script>");
    service.upload("name=%3Cimg%20src%3Dx%3E", table).await.ok(201);
    let dataset = service.get("/api/v1/datasets").await.ok(200)["datasets"][0]["id"].as_str().unwrap().to_owned();
    service.train("m", &dataset, &json!({"features": {"count": 8}, "explanations": true})).await;
    let column = "/models/m/versions/1/plots/partial-dependence.svg?column=%3Cb%3E%22x%22%26%27";
    for path in ["/datasets", &format!("/datasets/{dataset}"), "/train", "/models/m", "/models/m/try", column] {
        let text = service.get(path).await.text();
        assert!(
            !text.contains("<script>alert") && !text.contains("<b>") && !text.contains("<img src=x"),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn many_models_are_shown_in_pages_and_found_by_name() {
    let service = Service::start();
    let file = include_bytes!("../fixtures/artifacts/format-2/linear.bochner").to_vec();
    for index in 0..105 {
        let path = format!("/api/v1/models/model-{index:03}/versions");
        service.post_as(&path, "application/octet-stream", file.clone()).await.ok(201);
    }
    let first = service.get("/models").await.text();
    assert_eq!(first.matches("href=\"/models/model-").count(), 100, "{first}");
    let next = first.split("href=\"/models?cursor=").nth(1).unwrap().split('"').next().unwrap();
    let second = service.get(&format!("/models?cursor={next}")).await.text();
    assert_eq!(second.matches("href=\"/models/model-").count(), 5, "{second}");
    assert!(second.contains("First page") && !second.contains(">Next<"), "{second}");
    let found = service.get("/models?q=MODEL-09").await.text();
    assert!(found.contains("10 found") && found.contains("/models/model-094"), "{found}");
    assert!(service.get("/models?q=model").await.text().contains("105 found, the first 100 of them here"));
    assert!(service.get("/").await.text().contains("Newest models"));
}

/// Far from 50 ms even in a build without optimisation.
#[tokio::test]
async fn pages_of_many_jobs_and_models_are_quick() {
    let service = Service::with_model_and(&["--max-queued-jobs", "400"]).await;
    for index in 0..300 {
        let job = json!({"model": format!("m{index}"), "dataset": "waves", "spec": {"features": {"count": 8}}});
        service.post("/api/v1/jobs", &job).await.ok(202);
    }
    for path in ["/", "/jobs", "/models", "/models/waves"] {
        service.get(path).await;
        let start = Instant::now();
        assert_eq!(service.get(path).await.status, 200);
        assert!(start.elapsed().as_millis() < 1000, "{path} took {:?}", start.elapsed());
    }
}
