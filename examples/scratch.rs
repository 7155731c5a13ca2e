#[global_allocator]
static A: mimalloc::MiMalloc = mimalloc::MiMalloc;
use axum::body::Body;
use axum::http::Request;
use bochner::app::App;
use bochner::cli::{Cli, Command};
use bochner::model::{Extras, Predictor, decode};
use bochner::serving::*;
use clap::Parser;
use http_body_util::BodyExt;
use std::time::Instant;
use tower::ServiceExt;
fn main() {
    let folder = tempfile::tempdir().unwrap();
    let Command::Serve(config) =
        Cli::parse_from(["bochner", "serve", "--data-dir", folder.path().to_str().unwrap()]).command
    else {
        panic!()
    };
    bochner::telemetry::start_logging(&config).unwrap();
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let row: Vec<f64> = (0..8).map(|i| (i as f64 * 0.618034).fract()).collect();
    let body = serde_json::json!({"rows": [row]}).to_string();
    rt.block_on(async {
        let app = App::start(*config).unwrap();
        let mut csv = (0..8).map(|c| format!("x{c},")).collect::<String>() + "y\n";
        for r in 0..2000 { for c in 0..8 { csv += &format!("{:.4},", ((r * 8 + c) as f64 * 0.618034).fract()); } csv += &format!("{}\n", (r as f64).sin()); }
        let up = Request::post("/api/v1/datasets?name=d").header("content-type", "text/csv").body(Body::from(csv)).unwrap();
        app.router.clone().oneshot(up).await.unwrap();
        let job = serde_json::json!({"model":"m","dataset":"d","spec":{"features":{"count":512},"lambda":1e-3,"error_bars":false,"guarantees":{"exact_rows":0}}}).to_string();
        let r = app.router.clone().oneshot(Request::post("/api/v1/jobs").header("prefer","wait=60").body(Body::from(job)).unwrap()).await.unwrap();
        r.into_body().collect().await.unwrap();
        let n = 100_000;
        for (label, path) in [("predict", "/api/v1/models/m/predict"), ("livez", "/livez")] {
            let start = Instant::now();
            for _ in 0..n {
                let b = if label == "livez" { Request::get(path).body(Body::empty()) } else { Request::post(path).header("content-type", "application/json").body(Body::from(body.clone())) }.unwrap();
                let r = app.router.clone().oneshot(b).await.unwrap();
                r.into_body().collect().await.unwrap();
            }
            println!("{label} {:.2} us", start.elapsed().as_secs_f64() * 1e6 / n as f64);
        }
    });
    let artifact = std::fs::read_dir(folder.path().join("artifacts")).unwrap().next().unwrap().unwrap().path();
    let p = Predictor::new(decode(&std::fs::read(artifact).unwrap()).unwrap());
    let n = 200_000;
    let t = Instant::now();
    for _ in 0..n {
        std::hint::black_box(read_request(body.as_bytes(), p.model(), 100).unwrap());
    }
    println!("decode {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let t = Instant::now();
    for _ in 0..n {
        std::hint::black_box(p.compute(&[&row], Extras::default()));
    }
    println!("compute {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let t = Instant::now();
    for _ in 0..n {
        std::hint::black_box(p.model().inputs.prepare([row.as_slice()].into_iter()));
    }
    println!("prepare {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let proj = p.model().map.projector::<f32>();
    let x = p.model().inputs.prepare([row.as_slice()].into_iter());
    let t = Instant::now();
    for _ in 0..n {
        std::hint::black_box(proj.transform(x.view()));
    }
    println!("transform {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let f = proj.transform(x.view()); let w: Vec<f64> = (0..512).map(|i| i as f64).collect();
    let t = Instant::now(); for _ in 0..n { std::hint::black_box(bochner::linalg::mixed_dot(f.as_slice().unwrap(), &w)); } println!("dot {:.3}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let o = Outputs::check(&OutputRequest::default(), p.model()).unwrap();
    let pr = p.compute(&[&row], Extras::default());
    let t = Instant::now();
    for _ in 0..n {
        let mut w = AnswerWriter::begin(Format::Json, Vec::new(), "m", 1).unwrap();
        w.write(Answer { outputs: &o, model: p.model(), predictions: &pr }).unwrap();
        std::hint::black_box(w.finish().unwrap());
    }
    println!("encode {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
    let t = Instant::now();
    for _ in 0..n {
        std::hint::black_box(tracing::info_span!(
            "request",
            id = "abc",
            method = "POST",
            route = "x",
            trace = tracing::field::Empty
        ));
    }
    println!("span {:.2}", t.elapsed().as_secs_f64() * 1e6 / n as f64);
}
