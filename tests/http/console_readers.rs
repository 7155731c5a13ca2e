//! What the console shows to readers who may not do everything, and of models that predict more than one thing.

use crate::harness::{Answer, Service, waves};
use crate::key_files::{KeyFolder, keyed};
use axum::body::Body;
use axum::http::Request;
use serde_json::json;

async fn get(service: &Service, path: &str, key: &str) -> Answer {
    let request = Request::get(path).header("cookie", format!("bochner_key={key}"));
    service.send(request.body(Body::empty()).unwrap()).await
}

/// No page has a form that the key may not send, and each has the way to sign out.
#[tokio::test]
async fn a_read_only_key_sees_nothing_that_it_cannot_do() {
    let keys = KeyFolder::new();
    let (admin, reader, client) = (keys.admin(), keys.make("read", &[]), keys.make("predict", &[]));
    let service = Service::with(&["--api-keys-file", &keys.path()]);
    let upload = keyed(Request::post("/api/v1/datasets?name=waves"), Some(&admin)).header("content-type", "text/csv");
    let dataset = service.send(upload.body(Body::from(waves(300))).unwrap()).await.ok(201)["id"].clone();
    let spec = json!({"features": {"count": 32}, "guarantees": {"exact_rows": 0}});
    let job = json!({"model": "waves", "dataset": "waves", "spec": spec}).to_string();
    let submit = keyed(Request::post("/api/v1/jobs"), Some(&admin)).header("prefer", "wait=60");
    let job = service.send(submit.body(Body::from(job)).unwrap()).await.ok(200)["id"].clone();
    let [dataset, job] = [dataset, job].map(|id| id.as_str().unwrap().to_owned());
    let pages = ["/", "/datasets", "/train", "/jobs", "/models", "/models/waves", "/models/waves/try", "/models/none"];
    let own = [format!("/datasets/{dataset}"), format!("/jobs/{job}"), "/docs".to_owned(), "/datasets/none".to_owned()];
    for path in pages.into_iter().map(str::to_owned).chain(own) {
        let page = get(&service, &path, &reader).await.text();
        let forms: Vec<&str> = page.split("<form").skip(1).map(|form| form.split('>').next().unwrap()).collect();
        let may_send = |form: &&str| form.contains("action=\"/logout\"") || form.contains("role=\"search\"");
        assert!(forms.iter().all(may_send), "{path}: {forms:?}");
        assert!(page.contains("Sign out") && page.contains("read-only"), "{path}: {page}");
        assert!(!page.contains("href=\"/train") && !page.contains("/try\""), "{path}: {page}");
    }
    let all = get(&service, "/models/waves", &admin).await.text();
    assert!(all.contains("/try\"") && all.contains("Set the alias") && all.contains("/certify\""), "{all}");
    assert!(get(&service, "/models/waves/try", &admin).await.text().contains("<button>Predict</button>"));
    // A key that may not even look finds the way out.
    let refused = get(&service, "/", &client).await;
    assert!(refused.status == 403 && refused.text().contains("Sign out"), "{}", refused.text());
}

/// Targets in units that differ by many powers of ten: what is said of one is never said of another or of their mean.
#[tokio::test]
async fn each_of_several_targets_has_its_own_answer_and_errors() {
    let service = Service::start();
    let row = |i: usize| {
        let [x, noise] = [0.618_034, 0.414_214].map(|step| (i as f64 * step).fract());
        format!("{x:.5},{:.4},{:.9}\n", 1e5 * (6.0 * x).sin() + 1e3 * noise, 1e-4 * x + 1e-6 * noise)
    };
    let table: String = std::iter::once("x,large,small\n".to_owned()).chain((0..300).map(row)).collect();
    service.upload("name=two&target=large,small", table).await.ok(201);
    service.train("two", "two", &json!({"features": {"count": 64}, "explanations": true})).await;
    let report = service.get("/api/v1/models/two").await.ok(200)["latest"]["report"].clone();
    let page = service.get("/models/two").await.text();
    let measured = page.split("id=\"measured\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(measured.contains("errors in the units of each target"), "{measured}");
    for (place, name) in ["large", "small"].into_iter().enumerate() {
        let target = &report["targets"][place];
        assert_eq!(target["name"], name);
        let part = measured.split(&format!("<h3>{name}</h3>")).nth(1).unwrap().split("<h3>").next().unwrap();
        let shown = part.split("Typical error (root mean square)</dt><dd>").nth(1).unwrap().split('<').next().unwrap();
        assert!(near(shown, target["validation_mse"].as_f64().unwrap().sqrt()), "{shown} for {target}");
    }
    let tried = service.get("/models/two/try?c0=0.25").await.text();
    let request = json!({"rows": [[0.25]], "outputs": ["value"]});
    let predicted =
        service.post("/api/v1/models/two/predict", &request).await.ok(200)["predictions"][0]["value"].clone();
    let answers: Vec<&str> =
        tried.split("<p class=\"answer\">").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(answers.len(), 2, "{tried}");
    for (shown, name) in answers.iter().zip(["large", "small"]) {
        assert!(near(shown, predicted[name].as_f64().unwrap()), "{shown} for {predicted}");
        assert!(tried.contains(&format!("<h3>{name}</h3>")), "{tried}");
    }
    assert_eq!(tried.matches("contains the true value with probability at least 95%").count(), 2, "{tried}");
    assert_eq!(tried.matches("What each column contributes").count(), 2, "{tried}");
}

/// A number of the page, which has four digits, or a power of ten.
fn near(shown: &str, expected: f64) -> bool {
    let digit = |letter: char| match letter {
        '⁻' => '-',
        letter => {
            "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().zip('0'..='9').find(|(raised, _)| *raised == letter).map_or(letter, |(_, digit)| digit)
        }
    };
    let plain: String = shown.replace(',', "").replace('−', "-").replace(" × 10", "e").chars().map(digit).collect();
    (plain.parse::<f64>().unwrap() - expected).abs() <= 5e-3 * expected.abs()
}
