//! Models: what is told about them, predictions, guarantees.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

async fn predict(service: &Service, body: &Value) -> Value {
    service.post("/api/v1/models/waves/predict", body).await.ok(200)["predictions"].clone()
}

#[tokio::test]
async fn rows_records_and_named_columns_agree() {
    let service = Service::with_model().await;
    let plain = predict(&service, &json!({"rows": [[0.3, "green", true]]})).await;
    let expected = (6.0_f64 * 0.3).sin() + 1.0;
    assert!((plain[0].as_f64().unwrap() - expected).abs() < 0.1, "{plain} is not {expected}");
    let named = json!({"columns": ["even", "unused", "colour", "x"], "rows": [[true, "?", "green", 0.3]]});
    assert_eq!(predict(&service, &named).await, plain);
    let records = json!({"records": [{"colour": "green", "even": true, "x": 0.3, "unused": [1]}]});
    assert_eq!(predict(&service, &records).await, plain);
    let objects = predict(&service, &json!({"rows": [[0.3, "green", true]], "outputs": ["value"]})).await;
    assert_eq!(objects, json!([{"value": plain[0]}]));
    let by_version =
        service.post("/api/v1/models/waves/versions/1/predict", &json!({"rows": [[0.3, "green", true]]})).await;
    assert_eq!(by_version.ok(200), json!({"model": "waves", "version": 1, "predictions": plain}));
}

#[tokio::test]
async fn missing_cells_and_unknown_levels_are_served_and_counted() {
    let service = Service::with_model().await;
    let missing = predict(&service, &json!({"rows": [[null, "green", null]]})).await;
    assert!(missing[0].is_f64());
    let unknown = predict(&service, &json!({"rows": [[0.3, "mauve", true], [0.3, "pink", true]]})).await;
    assert_eq!(unknown[0], unknown[1]);
    let metrics = service.get("/metrics").await.text();
    assert!(metrics.contains("bochner_unknown_levels_total{model=\"waves\",version=\"1\"} 2"), "{metrics}");
    assert!(metrics.contains("bochner_predicted_rows_total{model=\"waves\",version=\"1\"} 3"), "{metrics}");

    service.upload("name=whole", "a,y\n1,1\n2,4\n3,9\n4,16\n5,25\n").await.ok(201);
    let spec = json!({"missing": "refuse", "features": {"count": 8}});
    assert_eq!(service.train("strict", "whole", &spec).await["status"], "succeeded");
    let answer = service.post("/api/v1/models/strict/predict", &json!({"rows": [[null]]})).await;
    assert_eq!(answer.refused(422, "invalid_prediction_request")["errors"][0]["pointer"], "/rows/0/a");
    let request = json!({"model": "m", "dataset": "waves", "spec": spec});
    let body = service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job");
    assert!(body["detail"].as_str().unwrap().contains("column 'x' has 6 missing cells"), "{body}");
}

#[tokio::test]
async fn wrong_cells_are_placed() {
    let service = Service::with_model().await;
    let green = json!([0.3, "green", true]);
    for (body, pointer) in [
        (json!({"rows": [green, [0.3, "green"]]}), "/rows/1"),
        (json!({"rows": [green, ["a", "green", true]]}), "/rows/1/x"),
        (json!({"rows": [green, [0.3, "green", 7]]}), "/rows/1/even"),
        (json!({"rows": [green, [[0.3], "green", true]]}), "/rows/1/x"),
        (json!({"rows": [green, [1e308, "green", true]]}), "/rows/1"),
        (json!({"rows": []}), "/rows"),
        (json!({"rows": 3}), "/rows"),
        (json!({"rows": [green], "records": []}), ""),
        (json!({}), ""),
        (json!({"rows": [green], "columns": ["x", "colour"]}), "/columns"),
        (json!({"records": [{"x": 1, "color": "red", "even": true}]}), "/records/0"),
        (json!({"row": [green]}), "/row"),
        (json!({"rows": [green], "outputs": ["value", "everything"]}), "/outputs/1"),
        (json!({"rows": [green], "outputs": ["spread"]}), "/outputs/0"),
        (json!({"rows": [green], "outputs": []}), "/outputs"),
    ] {
        let answer = service.post("/api/v1/models/waves/predict", &body).await;
        let refusal = answer.refused(422, "invalid_prediction_request");
        assert_eq!(refusal["errors"][0]["pointer"], pointer, "{body}: {refusal}");
    }
    let media = "application/json";
    for number in ["NaN", "-Infinity", "1e999"] {
        let text = format!("{{\"rows\": [[0.1, \"green\", true], [{number}, \"green\", true]]}}");
        let answer = service.post_as("/api/v1/models/waves/predict", media, text).await;
        let refusal = answer.refused(422, "invalid_prediction_request");
        assert_eq!(refusal["errors"], json!([{"pointer": "/rows/1/x", "detail": "not a finite number"}]));
    }
    for text in ["{", "\u{1}", "{\"rows\": [[1, \"green\", true]]} x", "{\"rows\": [[1,, \"green\", true]]}"] {
        service.post_as("/api/v1/models/waves/predict", media, text).await.refused(400, "malformed_json");
    }
    service.post_as("/api/v1/models/waves/predict", media, b"\xff".to_vec()).await.refused(400, "malformed_json");
}

#[tokio::test]
async fn a_batch_is_its_rows_one_by_one() {
    let service = Service::with_model().await;
    let colours = ["red", "blue"];
    let rows: Vec<Value> = (0..600).map(|i| json!([i as f64 / 600.0, colours[i % 2], true])).collect();
    let batch = predict(&service, &json!({"rows": rows})).await;
    for index in [0, 255, 256, 599] {
        let single = predict(&service, &json!({"rows": [rows[index]]})).await;
        assert_eq!(single[0], batch[index], "row {index}"); // the same bits
    }
}

#[tokio::test]
async fn the_spread_is_an_output_of_models_that_keep_it() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4, "spread": true});
    assert_eq!(service.train("spread", "waves", &spec).await["status"], "succeeded");
    let body = json!({"rows": [[0.3, "green", true], [40.0, "green", true]], "outputs": ["value", "spread"]});
    let answer = service.post("/api/v1/models/spread/predict", &body).await.ok(200);
    let spread = |row: usize| answer["predictions"][row]["spread"].as_f64().unwrap();
    assert!(spread(0) > 0.0, "{answer}");
    assert!(spread(1) > spread(0), "{answer}"); // far from the rows less is known
    let model = service.get("/api/v1/models/spread").await.ok(200);
    assert_eq!(
        model["latest"]["outputs"],
        json!([
            "value",
            "interval",
            "error_bar",
            "certified_error_bar",
            "spread",
            "contributions",
            "in_range",
            "warnings"
        ])
    );
}

#[tokio::test]
async fn intervals_are_as_wide_as_the_spread_says_where_that_is_asked_for() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4, "spread": true, "intervals": "scaled"});
    let job = service.train("scaled", "waves", &spec).await;
    assert_eq!((&job["status"], &job["spec"]["intervals"]), (&json!("succeeded"), &json!("scaled")), "{job}");
    let rows = json!([[0.3, "green", true], [40.0, "green", true]]);
    let ask = async |outputs: Value| {
        let body = json!({"rows": rows, "outputs": outputs, "delta": 0.1});
        service.post("/api/v1/models/scaled/predict", &body).await.ok(200)["predictions"].clone()
    };
    let both = ask(json!(["interval", "spread"])).await;
    let width =
        |row: usize| both[row]["interval"]["high"].as_f64().unwrap() - both[row]["interval"]["low"].as_f64().unwrap();
    let spread = |row: usize| both[row]["spread"].as_f64().unwrap();
    assert!(width(1) > 1.1 * width(0), "{both}");
    assert!((width(1) / width(0) / (spread(1) / spread(0)) - 1.0).abs() < 1e-9, "{both}");
    assert_eq!(ask(json!(["interval"])).await[0]["interval"], both[0]["interval"]);
    let spec = json!({"intervals": "scaled"});
    let refused = service.post("/api/v1/jobs", &json!({"model": "m", "dataset": "waves", "spec": spec})).await;
    assert_eq!(refused.refused(422, "invalid_job")["errors"][0]["pointer"], "/spec/intervals");
}

#[tokio::test]
async fn limits_on_rows_are_stated() {
    let service = Service::with(&["--max-prediction-rows", "2"]);
    service.upload("name=waves", waves(60)).await.ok(201);
    service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    let row = json!([0.1, "red", true]);
    let answer = service.post("/api/v1/models/waves/predict", &json!({"rows": [row, row, row]})).await;
    let body = answer.refused(422, "invalid_prediction_request");
    assert!(body["detail"].as_str().unwrap().contains("has 3 rows; the limit is 2"), "{body}");
}

#[tokio::test]
async fn a_model_is_described_with_a_row_that_works() {
    let service = Service::with_model().await;
    let model = service.get("/api/v1/models/waves/versions/1").await.ok(200);
    assert_eq!(model["target"], "y");
    assert_eq!(model["shapes"], json!({"inputs": 5, "features": 256, "draws": 128}));
    assert_eq!(model["spec"]["features"]["count"], 256);
    predict(&service, &json!({"rows": [model["example_row"]]})).await;
    assert_eq!(service.get("/api/v1/models/waves").await.ok(200)["latest"], model);
    assert_eq!(service.get("/api/v1/models").await.ok(200)["models"][0]["name"], "waves");
}

#[tokio::test]
async fn versions_count_on_and_can_be_deleted() {
    let service = Service::with_model().await;
    service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    service.call("DELETE", "/api/v1/models/waves/versions/2").await.ok(204);
    service.get("/api/v1/models/waves/versions/2").await.refused(404, "version_not_found");
    let job = service.train("waves", "waves", &json!({"features": {"count": 8}})).await;
    assert_eq!(job["version"], 3);
    service.call("DELETE", "/api/v1/models/waves").await.ok(204);
    service.get("/api/v1/models/waves").await.refused(404, "model_not_found");
    service
        .post("/api/v1/models/waves/predict", &json!({"rows": [[0.3, "red", true]]}))
        .await
        .refused(404, "model_not_found");
}

fn guarantee<'a>(answer: &'a Value, id: &str) -> &'a Value {
    answer["guarantees"].as_array().unwrap().iter().find(|guarantee| guarantee["id"] == id).unwrap()
}

#[tokio::test]
async fn guarantees_follow_delta_and_the_ridge() {
    let service = Service::with_model().await;
    let small = service.get("/api/v1/models/waves/guarantees?all=true").await.ok(200);
    assert_eq!(small["guarantees"].as_array().unwrap().len(), 24);
    assert_eq!(guarantee(&small, "wang.theorem1")["status"], "not_applicable");
    assert!(small["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0);

    // Scaling, bandwidth, filled cells and levels that come from the rows violate an assumption.
    let scaled = service.train("scaled", "waves", &json!({"lambda": "certified"})).await;
    assert_eq!(scaled["status"], "succeeded");
    let scaled = service.get("/api/v1/models/scaled/guarantees?all=true").await.ok(200);
    let refused = guarantee(&scaled, "bochner.theorem1_relative");
    assert_eq!(refused["status"], "not_applicable");
    assert!(refused["statement"].as_str().unwrap().contains("fixed before the rows were seen"), "{refused}");
    let mut spec = json!({"design_fraction": 0.2, "lambda": "certified"});
    spec["features"] = json!({"count": 400});
    let job = service.train("safe", "waves", &spec).await;
    assert_eq!(job["status"], "succeeded");
    let safe = service.get("/api/v1/models/safe/guarantees?all=true&delta=0.05").await.ok(200);
    let certified = guarantee(&safe, "bochner.theorem1_relative");
    // Valid, and too weak for the features of one model.
    assert_eq!(certified["status"], "vacuous", "{certified}");
    assert!(certified["needs"]["features"].as_u64().unwrap() > 400, "{certified}");
    assert!(certified["statement"].as_str().unwrap().contains("95%"), "{certified}");
    assert!(safe["measured"]["exact_krr_error"].as_f64() < certified["value"].as_f64());
    assert!(certified["value"].as_f64() < certified["inputs"]["plain_bound"].as_f64());
    // Estimates and rates claim no probability, and what was not measured has no value.
    assert_eq!(guarantee(&safe, "wang.eq31")["form"], "estimate");
    assert_eq!(guarantee(&safe, "rudi_rosasco.theorem1")["probability"], Value::Null);
    assert_eq!(guarantee(&safe, "shahrampour_kolouri.theorem1")["value"], Value::Null);
    // Without a delta, the one the model was trained for counts.
    spec["guarantees"] = json!({"delta": 0.3});
    service.train("bold", "waves", &spec).await;
    let bold = service.get("/api/v1/models/bold/guarantees?all=true").await.ok(200);
    let status = &guarantee(&bold, "bochner.theorem1_relative")["status"];
    assert_eq!((&bold["delta"], status), (&json!(0.3), &json!("conditional")));
    // A smaller δ needs a larger λ.
    let stricter = service.get("/api/v1/models/safe/versions/1/guarantees?all=true&delta=0.0001").await.ok(200);
    assert_eq!(guarantee(&stricter, "bochner.theorem1_relative")["status"], "not_applicable");
    for wrong in ["0", "1", "-1", "x", "NaN"] {
        let answer = service.get(&format!("/api/v1/models/safe/guarantees?delta={wrong}")).await;
        answer.refused(422, "invalid_parameter");
    }
}

/// Intervals with a δ of the request's own, and error bars, beside the value they are about.
#[tokio::test]
async fn intervals_and_error_bars_come_with_predictions() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-4});
    assert_eq!(service.train("sure", "waves", &spec).await["status"], "succeeded");
    let ask = async |delta: Value| {
        let body =
            json!({"rows": [[0.3, "green", true]], "outputs": ["value", "interval", "error_bar"], "delta": delta});
        service.post("/api/v1/models/sure/predict", &body).await
    };
    let width = |prediction: &Value| {
        let end = |name: &str| prediction["interval"][name].as_f64().unwrap();
        let value = prediction["value"].as_f64().unwrap();
        assert!((end("low") + end("high") - 2.0 * value).abs() < 1e-9, "{prediction}");
        end("high") - end("low")
    };
    let (wide, narrow) = (ask(json!(0.05)).await.ok(200), ask(json!(0.5)).await.ok(200));
    let (wide, narrow) = (&wide["predictions"][0], &narrow["predictions"][0]);
    assert!(width(wide) > width(narrow) && width(narrow) > 0.0, "{wide} {narrow}");
    assert_eq!((&wide["interval"]["coverage"], &narrow["interval"]["coverage"]), (&json!(0.95), &json!(0.5)));
    assert!(wide["error_bar"].as_f64().unwrap() > 0.0, "{wide}");

    // So sure that all rows together are too few: no ends rather than wrong ones.
    let sure = ask(json!(1e-9)).await.ok(200);
    assert_eq!(sure["predictions"][0]["interval"]["low"], Value::Null);
    for wrong in [json!(0), json!(1.0), json!("0.1"), json!(-3)] {
        let refused = ask(wrong).await.refused(422, "invalid_prediction_request");
        assert_eq!(refused["errors"][0]["pointer"], "/delta");
    }
    let certified = async |delta: Value| {
        let outputs = json!(["error_bar", "certified_error_bar"]);
        let body = json!({"rows": [[0.3, "green", true]], "outputs": outputs, "delta": delta});
        service.post("/api/v1/models/sure/predict", &body).await
    };
    let answers = (certified(json!(0.05)).await.ok(200), certified(json!(0.5)).await.ok(200));
    let bar = |answer: &Value| answer["predictions"][0]["certified_error_bar"].as_f64().unwrap();
    assert!(bar(&answers.0) >= bar(&answers.1) && bar(&answers.1) > 0.0, "{answers:?}");
    let found = service.get("/api/v1/models/sure/guarantees?id=bochner.certificate_scaled&delta=0.05").await.ok(200);
    let inputs = &found["guarantees"][0]["inputs"];
    let input = |name: &str| inputs[name].as_f64().unwrap();
    let own = answers.0["predictions"][0]["error_bar"].as_f64().unwrap();
    let expected = input("factor") * (own * own + 0.3 * input("mean_square_bar")).sqrt() + input("solver_slack");
    assert!((bar(&answers.0) / expected - 1.0).abs() < 1e-12, "{expected} {answers:?}");
    let refused = certified(json!(1e-9)).await.refused(422, "invalid_prediction_request");
    assert_eq!(refused["errors"][0]["pointer"], "/outputs/1");
    assert!(refused["errors"][0]["detail"].as_str().unwrap().contains("need 197 rows"), "{refused}");
    let guarantees = service.get("/api/v1/models/sure/guarantees?all=true&delta=0.1").await.ok(200);
    let interval = guarantees["measured"]["jackknife_interval"].as_array().unwrap();
    let estimate = guarantees["measured"]["jackknife_error"].as_f64().unwrap();
    assert!(interval[0].as_f64().unwrap() < estimate && estimate < interval[1].as_f64().unwrap(), "{interval:?}");
    assert!(guarantees["measured"]["exact_krr_training_error"].as_f64().unwrap() > 0.0);
    let measured = &guarantees["measured"];
    for name in ["exact_krr_error", "jackknife_error", "spectral_delta"] {
        assert!(measured[name].as_f64().unwrap() > 0.0, "{name} {measured}");
    }
    assert!(measured["kernel_dimension"]["value"].as_f64().unwrap() > 1.0, "{measured}");
    assert_eq!(measured["exact_krr"]["converged"], true);
    let guarantee = |id: &str| {
        let all = guarantees["guarantees"].as_array().unwrap();
        all.iter().find(|guarantee| guarantee["id"] == id).unwrap().clone()
    };
    // Half the width of the interval at the same δ is the value of the guarantee.
    let tenth = ask(json!(0.1)).await.ok(200);
    let half = width(&tenth["predictions"][0]) / 2.0;
    assert!((guarantee("conformal")["value"].as_f64().unwrap() - half).abs() < 1e-9);
    for id in ["bochner.jackknife", "bochner.fresh_features"] {
        assert_eq!(guarantee(id)["form"], "estimate");
        assert!(guarantee(id)["value"].as_f64().unwrap() > 0.0, "{id}");
    }
    // 60 held-out rows are enough for both.
    assert_eq!(guarantee("bochner.certificate_tolerance")["status"], "conditional");
    assert_eq!(guarantee("bochner.certificate_mean")["status"], "conditional");
}

/// Without error bars none are kept, and asking for them is refused.
#[tokio::test]
async fn what_a_model_does_not_keep_is_refused_by_name() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 16}, "lambda": 1e-2, "error_bars": false, "validation_fraction": 0});
    assert_eq!(service.train("bare", "waves", &spec).await["status"], "succeeded");
    let model = service.get("/api/v1/models/bare").await.ok(200);
    assert_eq!(model["latest"]["outputs"], json!(["value", "contributions", "in_range", "warnings"]));
    for (output, word) in [
        ("error_bar", "error_bars"),
        ("certified_error_bar", "error_bars"),
        ("interval", "calibration_fraction"),
        ("label_set", "numbers"),
    ] {
        let body = json!({"rows": [[0.3, "green", true]], "outputs": [output]});
        let refused =
            service.post("/api/v1/models/bare/predict", &body).await.refused(422, "invalid_prediction_request");
        assert!(refused["errors"][0]["detail"].as_str().unwrap().contains(word), "{refused}");
    }
}

/// A certify job measures later what training left out: the version stays, its predictions too, and now the
/// guarantees have their numbers.
#[tokio::test]
async fn a_certify_job_measures_what_training_left_out() {
    let service = Service::with_model().await;
    let spec = json!({"features": {"count": 64}, "lambda": 1e-3, "guarantees": {"exact_rows": 0}});
    let trained = service.train("later", "waves", &spec).await;
    assert_eq!(trained["status"], "succeeded");
    let live = service.get("/api/v1/models/later/guarantees").await.ok(200);
    assert_eq!(trained["report"]["summary"], live["summary"], "the report advises what the live answer does");
    assert!(live["summary"]["advice"].to_string().contains("certify job"), "{live}");
    let bars = json!({"rows": [[0.3, "green", true]], "outputs": ["certified_error_bar"]});
    let refused = service.post("/api/v1/models/later/predict", &bars).await.refused(422, "invalid_prediction_request");
    assert!(refused["errors"][0]["detail"].as_str().unwrap().contains("run a certify job"), "{refused}");
    let rows = json!({"rows": [[0.3, "green", true]]});
    let before = service.post("/api/v1/models/later/predict", &rows).await.ok(200);
    let guarantees = service.get("/api/v1/models/later/guarantees?all=true").await.ok(200);
    assert_eq!(guarantees["measured"]["exact_krr_error"], Value::Null);
    let old = service.get("/api/v1/models/later/versions/1").await.ok(200);

    let job = service.submit_and_wait(&json!({"type": "certify", "model": "later"})).await;
    assert_eq!((&job["status"], &job["type"], &job["version"]), (&json!("succeeded"), &json!("certify"), &json!(1)));
    let guarantees = service.get("/api/v1/models/later/guarantees?all=true").await.ok(200);
    assert!(guarantees["measured"]["exact_krr_error"].as_f64().unwrap() > 0.0, "{guarantees}");
    assert_eq!(job["report"]["measured"], guarantees["measured"], "the job tells what it measured");
    service.post("/api/v1/models/later/predict", &bars).await.ok(200);
    assert_eq!(service.post("/api/v1/models/later/predict", &rows).await.ok(200), before);
    let new = service.get("/api/v1/models/later/versions/1").await.ok(200);
    assert_ne!(new["artifact_sha256"], old["artifact_sha256"]);
    assert_eq!(new["created_at"], old["created_at"]);

    // It equals what training would have measured.
    let spec = json!({"features": {"count": 64}, "lambda": 1e-3});
    service.train("at-once", "waves", &spec).await;
    let at_once = service.get("/api/v1/models/at-once/guarantees?all=true").await.ok(200);
    assert_eq!(at_once["measured"], guarantees["measured"]);
    assert_eq!(at_once["guarantees"], guarantees["guarantees"]);

    // Without its data set a model keeps what was measured, and no more can be.
    service.call("DELETE", "/api/v1/datasets/waves").await.ok(204);
    let kept = service.get("/api/v1/models/later/guarantees?all=true").await.ok(200);
    assert_eq!(kept["guarantees"], guarantees["guarantees"]);
    let certify = json!({"type": "certify", "model": "later"});
    service.post("/api/v1/jobs", &certify).await.refused(404, "dataset_not_found");
    for (wrong, status, code) in [
        (json!({"type": "certify", "model": "nobody"}), 404, "model_not_found"),
        (json!({"type": "certify"}), 422, "invalid_job"),
        (json!({"type": "certify", "model": "later", "version": "x"}), 422, "invalid_job"),
        (json!({"type": "certify", "model": "later", "dataset": "waves"}), 422, "invalid_job"),
    ] {
        service.post("/api/v1/jobs", &wrong).await.refused(status, code);
    }
}
