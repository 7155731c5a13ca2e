//! Reading a JSON request of 1,000 rows: by the service, by jiter, and by a scan that reads every number with
//! fast-float2. Each is shown with the whole batch (reading, computing on one thread, writing the answer) and with how
//! much longer the batch takes than by the service, in one run.
//!
//! `cargo bench --bench json_rows`

use bochner::linalg::use_one_blas_thread;
use bochner::model::{FittedModel, Predictor};
use bochner::serving::{
    Answer, AnswerWriter, Format, OutputRequest, Outputs, RequestRows, RowScan, ScoringRequest, read_request,
};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;
use synthetic::{Synthetic, fit};

mod synthetic;
mod trainer;

const ROWS: usize = 1_000;
const ROUNDS: usize = 21;

fn main() {
    use_one_blas_thread();
    for (d, s) in [(8, 512), (90, 2_048), (784, 8_192)] {
        let predictor = Predictor::new(fit(&Synthetic { n: 500, d }, s, 2, &json!(1e-3), false));
        for (digits, write) in [("four", (|number| format!("{number:.4}")) as fn(f64) -> String), ("all", shortest)] {
            println!("d = {d}, s = {s}, {digits} digits");
            measure(&predictor, &list_of_rows(d, write));
        }
    }
}

fn shortest(number: f64) -> String {
    format!("{number:?}")
}

fn list_of_rows(d: usize, write: fn(f64) -> String) -> String {
    let row = |row: usize| (0..d).map(|k| write(((row * d + k) as f64 * 0.37).sin())).collect::<Vec<_>>().join(",");
    format!("[[{}]]", (0..ROWS).map(row).collect::<Vec<_>>().join("],["))
}

fn measure(predictor: &Predictor, rows: &str) {
    let model = predictor.model();
    let native = format!("{{\"rows\":{rows}}}");
    let frame = format!("{{\"dataframe_split\":{{\"data\":{rows}}}}}"); // read by jiter
    let block = read(&native, model);
    let codes: Vec<&[f64]> = block.rows().collect();
    assert_eq!(fast_float_scan(rows.as_bytes()), Some(codes.concat()));
    let outputs = Outputs::check(&OutputRequest::default(), model).expect("the default outputs");
    let predictions = predictor.compute(&codes, outputs.extras());
    let [compute, write, ours, jiter, fast_float] = best([
        &mut || drop(black_box(predictor.compute(&codes, outputs.extras()))),
        &mut || write_answer(Answer { outputs: &outputs, model, predictions: &predictions, flags: None }),
        &mut || drop(black_box(read(&native, model))),
        &mut || drop(black_box(ScoringRequest::read(frame.as_bytes(), model, ROWS).expect("rows of the model"))),
        &mut || drop(black_box(fast_float_scan(rows.as_bytes()))),
    ]);
    println!("  compute {compute:.2} ms, write {write:.2} ms");
    for (name, time) in [("ours", ours), ("jiter", jiter), ("fast-float2 alone", fast_float)] {
        let batch = compute + write + time;
        let longer = 100.0 * (batch / (compute + write + ours) - 1.0);
        println!("  {name}: read {time:.2} ms, batch {batch:.2} ms, {longer:+.0}%");
    }
}

/// Milliseconds of each, the best of interleaved runs.
fn best<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (work, time) in works.iter_mut().zip(&mut times) {
            let start = Instant::now();
            work();
            *time = time.min(1e3 * start.elapsed().as_secs_f64());
        }
    }
    times
}

fn read(body: &str, model: &FittedModel) -> RequestRows {
    read_request(body.as_bytes(), RowScan::of_request(model, ROWS), model, ROWS).expect("rows of the model").block
}

fn write_answer(answer: Answer) {
    let mut writer = AnswerWriter::begin(Format::Json, Vec::with_capacity(64 * ROWS), "m", 1).expect("memory");
    writer.write(answer).expect("memory");
    black_box(writer.finish().expect("memory"));
}

/// A list of rows without blanks, each number by fast-float2.
fn fast_float_scan(text: &[u8]) -> Option<Vec<f64>> {
    let (mut numbers, mut rest) = (Vec::new(), text.strip_prefix(b"[[")?);
    loop {
        let (number, length) = fast_float2::parse_partial::<f64, _>(rest).ok()?;
        numbers.push(number);
        rest = match &rest[length..] {
            [b',', next @ ..] | [b']', b',', b'[', next @ ..] => next,
            [b']', b']'] => return Some(numbers),
            _ => return None,
        };
    }
}
