//! Features chosen by rows, over HTTP.

use crate::harness::{Service, waves};
use serde_json::{Value, json};

const ALL: [&str; 7] = ["leverage", "elss1", "elss2", "eerf", "lkrf", "pooled_ridge", "capped"];

/// 400 rows of x and y, so that every sampling takes them.
fn line(rows: u32) -> String {
    let row = |i: u32| {
        let x = f64::from(i * 37 % rows) / f64::from(rows);
        format!("{x},{}\n", (9.0 * x).sin() + 0.3 * (31.0 * x).cos())
    };
    std::iter::once("x,y\n".to_owned()).chain((0..rows).map(row)).collect()
}

#[tokio::test]
async fn every_sampling_is_trained_served_reported_and_exported() {
    let service = Service::start();
    service.upload("name=line&target=y", line(400)).await.ok(201);
    let info = service.get("/api/v1/info").await.ok(200);
    for sampling in ALL {
        assert!(info["offers"]["samplings"].as_array().unwrap().contains(&json!(sampling)));
        let spec = json!({"features": {"count": 40, "sampling": sampling}, "updatable": true});
        let job = service.train(sampling, "line", &spec).await;
        assert_eq!(job["status"], "succeeded", "{job}");
        let (report, features) = (&job["report"], &job["spec"]["features"]);
        assert!(report["validation_r2"].as_f64().unwrap() > 0.9, "{sampling}: {report}");
        assert!(report["stage_seconds"]["choose"].as_f64().unwrap() >= 0.0);
        let selection = &report["selection"];
        if sampling == "capped" {
            assert_eq!((&features["constants"], &selection["candidates"]), (&json!("practical"), &json!(0)));
        } else {
            assert_eq!((&features["pool"], &features["pool_rows"]), (&json!(400), &json!(100_000)));
            assert_eq!((&selection["candidates"], &selection["rows"]), (&json!(200), &json!(320)));
            assert_eq!(selection["score_quantiles"].as_array().unwrap().len(), 7);
        }
        let body = json!({"rows": [[0.21], [0.77]]});
        let path = format!("/api/v1/models/{sampling}/predict");
        let before = service.post(&path, &body).await.ok(200)["predictions"].clone();
        let model = service.get(&format!("/api/v1/models/{sampling}")).await.ok(200);
        assert_eq!(model["latest"]["report"]["selection"], *selection);
        let bytes = service.get(&format!("/api/v1/models/{sampling}/versions/1/artifact")).await.bytes;
        let read = bochner::model::decode(&bytes).unwrap();
        assert_eq!(bochner::model::Predictor::new(read).predict(&[&[0.21]])[[0, 0]], before[0].as_f64().unwrap());
        assert_eq!(service.get(&format!("/api/v1/models/{sampling}/versions/1/onnx")).await.status, 200);
        let updated = service.post(&format!("/api/v1/models/{sampling}/update"), &json!({"dataset": "line"})).await;
        assert!(updated.status.is_success(), "{}", updated.text());
    }
}

/// The report of draws by leverage says which theorems have features enough; those of others do not speak of them.
#[tokio::test]
async fn draws_by_leverage_tell_what_theorems_require() {
    let service = Service::start();
    service.upload("name=line&target=y", line(400)).await.ok(201);
    let spec = |sampling: &str| {
        json!({"lambda": 0.05, "features": {"count": 400, "pool": 1_000, "sampling": sampling}, "scaling": "none",
            "kernel": {"bandwidth": 0.5}})
    };
    let job = service.train("m", "line", &spec("leverage")).await;
    let selection = &job["report"]["selection"];
    assert_eq!(selection["lambda"], 0.05);
    let requirements = selection["requirements"].as_array().unwrap();
    assert!(requirements.iter().any(|found| found["id"] == "avron.lemma6" && found["met"] == true), "{selection}");
    let ids: Vec<&str> = requirements.iter().map(|found| found["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["shahrampour_kolouri.theorem1", "li.corollary2", "avron.lemma6"]);
    // The squared loss is not Lipschitz: there is a count, and the theorem does not cover the model.
    assert!(requirements[1]["features_needed"].as_f64().unwrap() > 100.0, "{selection}");
    assert_eq!(requirements[1]["status"], "not_applicable");
    let told = service.get("/api/v1/models/m/guarantees?all=true").await.ok(200);
    let found =
        |id: &str| told["guarantees"].as_array().unwrap().iter().find(|found| found["id"] == id).unwrap().clone();
    assert_eq!(found("avron.lemma6")["status"], "conditional", "{}", found("avron.lemma6"));
    for (id, part) in [("avron.theorem7", "chosen by the data"), ("shahrampour_kolouri.theorem1", "Lipschitz loss")] {
        let statement = found(id)["statement"].to_string();
        assert!(found(id)["status"] == "not_applicable" && statement.contains(part), "{statement}");
    }
    let job = service.train("m", "line", &spec("elss2")).await;
    assert!(job["report"]["selection"].get("requirements").is_none(), "{job}");
    let told = service.get("/api/v1/models/m/guarantees?id=avron.lemma6").await.ok(200);
    assert!(told["guarantees"][0]["statement"].to_string().contains("Use sampling leverage."), "{told}");
}

#[tokio::test]
async fn what_cannot_be_chosen_is_refused_with_the_reason() {
    let service = Service::with(&["--training-memory", "400MiB"]);
    service.upload("name=waves", waves(300)).await.ok(201);
    let errors = async |spec: Value| {
        let request = json!({"model": "m", "dataset": "waves", "spec": spec});
        service.post("/api/v1/jobs", &request).await.refused(422, "invalid_job")["errors"][0].clone()
    };
    for (spec, pointer, part) in [
        (json!({"features": {"count": 64, "sampling": "elss1", "pool": 32}}), "/spec/features/pool", "from 64"),
        (json!({"features": {"sampling": "leverage", "pool_rows": 1}}), "/spec/features/pool_rows", "from 2"),
        (json!({"features": {"sampling": "capped"}}), "/dataset", "Use sampling leverage"),
        (
            json!({"kernel": {"name": "laplace"}, "features": {"sampling": "capped"}}),
            "/spec/features/sampling",
            "use leverage",
        ),
        (json!({"features": {"sampling": "eerf"}, "error_bars": true}), "/spec/error_bars", "keeps the best draws"),
        (
            json!({"features": {"sampling": "elss1"}, "lambda": "certified"}),
            "/spec/lambda",
            "independently of the rows",
        ),
        (json!({"features": {"pool": 2_000}}), "/spec/features/pool", "plain chooses no features"),
        (json!({"learner": "exact_krr", "features": {"pool": 2_000}}), "/spec/features/pool", "remove it"),
        (
            json!({"kernel": {"name": "angular"}, "features": {"sampling": "orthogonal"}}),
            "/spec/features/sampling",
            "angular does not have one",
        ),
        (
            json!({"kernel": {"name": "gaussian"}, "features": {"sampling": "elss1", "map": "sign"}}),
            "/spec/features/map",
            "the gaussian kernel needs map pair or phase",
        ),
        (json!({"features": {"count": "auto", "sampling": "elss1", "pool": 512}}), "/spec/features/pool", "'auto'"),
    ] {
        let found = errors(spec.clone()).await;
        assert!(found["pointer"] == pointer && found["detail"].as_str().unwrap().contains(part), "{spec}: {found}");
    }
    let spec = json!({"features": {"count": 64, "sampling": "elss1", "pool": 20_000}});
    let request = json!({"model": "m", "dataset": "waves", "spec": spec});
    let found = service.post("/api/v1/jobs", &request).await.refused(507, "memory_budget");
    assert!(found["detail"].as_str().unwrap().contains("use a smaller pool"), "{found}");
    let compared = json!({"type": "compare", "dataset": "waves", "samplings": ["plain", "elss1"], "features": [64],
        "spec": {"features": {"pool": 20_000}}});
    let of_comparison = service.post("/api/v1/jobs", &compared).await.refused(507, "memory_budget");
    for detail in [&found, &of_comparison].map(|found| found["detail"].as_str().unwrap()) {
        let need = detail.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
        // Two matrices of 6,667 columns, 339 MiB each, and blocks of rows.
        assert!((Some(678)..Some(900)).contains(&need) && detail.contains("the limit is 400 MiB"), "{detail}");
    }
    // What a smaller pool needs is there.
    let spec = json!({"features": {"count": 64, "sampling": "elss1", "pool": 640}, "effort": "fast"});
    assert_eq!(service.train("m", "waves", &spec).await["status"], "succeeded");
}

/// Too little to choose by is a failed job with its reason, or a model; never a fault of the service.
#[tokio::test]
async fn jobs_with_too_little_to_choose_by_fail_with_the_reason() {
    let service = Service::start();
    let few: String = std::iter::once("x,y\n".to_owned())
        .chain((0..200).map(|i| if i % 50 == 0 { format!("{i},{}\n", i * i) } else { format!("{i},\n") }))
        .collect();
    service.upload("name=few&target=y", few).await.ok(201);
    let zeros: String = std::iter::once("x,y\n".to_owned())
        .chain((0..64).map(|i| if i < 16 { "0,1\n".to_owned() } else { format!("{i},{}\n", i % 7) }))
        .collect();
    service.upload("name=zeros&target=y", zeros).await.ok(201);
    for sampling in ["leverage", "elss1", "elss2", "eerf", "lkrf", "pooled_ridge"] {
        let spec = json!({"features": {"count": 20, "sampling": sampling}, "validation_fraction": 0.0});
        // Four rows with a target.
        let job = service.train("m", "few", &spec).await;
        assert_eq!(job["status"], "succeeded", "{sampling}: {job}");
        assert_eq!((&job["report"]["training_rows"], &job["report"]["unlabelled_rows"]), (&json!(4), &json!(196)));
        let warnings = job["report"]["warnings"].to_string();
        assert!(warnings.contains("Column 'y': 196 of 200 rows have no target"), "{warnings}");
        assert!(warnings.contains("fitted on 4 rows only: fill in more targets"), "{warnings}");
        let unsupervised = ["leverage", "elss1", "elss2"].contains(&sampling);
        assert_eq!(job["report"]["selection"]["rows"], if unsupervised { 200 } else { 4 }, "{sampling}");
        let spec = json!({"kernel": {"name": "linear"}, "scaling": "none", "lambda": 1.0, "validation_fraction": 0.0,
            "features": {"count": 4, "sampling": sampling, "pool_rows": 2}});
        let job = service.train("m", "zeros", &spec).await;
        assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("nothing_to_learn")), "{job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains("has the score 0"), "{job}");
    }
}

/// One row, or one target, is refused at the upload, so that no sampling meets it.
#[tokio::test]
async fn a_table_with_one_row_or_one_target_is_refused_at_the_upload() {
    let service = Service::start();
    let refused = service.upload("name=one&target=y", "x,y\n1,2\n".to_owned()).await.refused(422, "invalid_table");
    assert!(refused["detail"].as_str().unwrap().contains("at least two rows are required"), "{refused}");
    let targets = |count: u32| {
        let row = |i: u32| if i < count { format!("{i},{}\n", i * i) } else { format!("{i},\n") };
        std::iter::once("x,y\n".to_owned()).chain((0..50).map(row)).collect::<String>()
    };
    let refused = service.upload("name=one&target=y", targets(1)).await.refused(422, "invalid_column");
    assert_eq!(refused["errors"][0]["pointer"], "/columns/y", "{refused}");
    // Two are few, and what cannot be tried on them says so.
    let found = service.upload("name=two&target=y", targets(2)).await.ok(201);
    assert_eq!(
        (&found["labelled_rows"], &found["quality"]["findings"][0]["code"]),
        (&json!(2), &json!("unlabelled_rows"))
    );
    let spec = json!({"features": {"count": 20, "sampling": "elss1"}, "validation_fraction": 0.0});
    assert_eq!(service.train("m", "two", &spec).await["status"], "succeeded");
    for features in [json!({"count": "auto"}), json!({"count": 20, "sampling": "search"})] {
        let job = service.train("m", "two", &json!({"features": features, "validation_fraction": 0.0})).await;
        assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("nothing_to_learn")), "{job}");
        assert!(job["error"]["detail"].as_str().unwrap().contains("set features.count and features.sampling"), "{job}");
    }
}

/// What the rows settled is in the report, with what was tried and by how much the best was better.
#[tokio::test]
async fn a_searched_sampling_and_an_open_count_are_reported_with_their_trials() {
    let service = Service::start();
    service.upload("name=line&target=y", line(400)).await.ok(201);
    let spec =
        json!({"features": {"count": 12, "sampling": "search"}, "kernel": {"name": "gaussian"}, "effort": "fast"});
    let job = service.train("searched", "line", &spec).await;
    let trials = &job["report"]["feature_trials"];
    let error = |name: &str| {
        let all = trials["samplings"].as_array().unwrap().iter();
        all.clone().find(|trial| trial["sampling"] == name).unwrap()["error"].as_f64().unwrap()
    };
    let best = ["plain", "leverage", "pooled_ridge"].into_iter().min_by(|a, b| error(a).total_cmp(&error(b))).unwrap();
    assert_eq!((&trials["sampling"], &trials["c0"]), (&json!(best), &json!(null)), "{trials}");
    let gain = trials["gain"].as_f64().unwrap();
    assert!((gain - (1.0 - error(best) / error("plain"))).abs() < 1e-12 && gain > 0.0, "{trials}");
    let spec = json!({"features": {"count": "auto"}, "kernel": {"name": "gaussian"}, "effort": "fast"});
    let job = service.train("open", "line", &spec).await;
    let trials = &job["report"]["feature_trials"];
    assert_eq!(
        (&trials["gain"], &trials["feature_count"]),
        (&json!(null), &job["report"]["feature_count"]),
        "{trials}"
    );
    // c0 = draws over sqrt(n)·log(108·sqrt(n)/delta) for the 240 fitted rows; kappa is 1 for the map pair.
    let root = 240.0_f64.sqrt();
    let c0 = trials["enough"].as_f64().unwrap() / 2.0 / (root * (108.0 * root / 0.05).ln());
    assert!((trials["c0"].as_f64().unwrap() / c0 - 1.0).abs() < 1e-12, "{trials}");
}
